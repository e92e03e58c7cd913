//! [`Html`], [`Links`] and [`SitemapFile`]: the answer as a page or a list of
//! pages.
//!
//! A page is parsed once for all extractors of an attempt, and what is not
//! HTML is never read for links.

use std::borrow::Cow;
use std::fmt;
use std::ops::{BitOr, Deref};
use std::sync::{Arc, OnceLock};

use encoding_rs::Encoding;
use url::Url;

use super::body::{self, Text, extract};
use super::target::Base;
use super::{Context, FromContext};
use crate::error::Result;
use crate::fetch::Response;
use crate::html::{self, Link, Page, PageOptions, RobotsDirectives};
use crate::http::{self, MediaType, Sniffed};
#[cfg(feature = "select")]
use crate::select::{Dom, Element};
use crate::sitemap::{self, Sitemap};

/// The body read as an HTML page, as a browser with scripting off reads it.
///
/// Cloning it is cheap; it can go to another thread.
///
/// ```
/// use canter::extract::Html;
/// fn handler(page: Html) {
///     let title = page.title().unwrap_or_default();
///     println!("{} {title} ({} links)", page.url(), page.links().len());
/// }
/// # let _ = canter::handler::boxed(handler);
/// ```
///
/// # Errors
/// [`ErrorKind::Extract`](crate::ErrorKind::Extract) when the answer is no
/// HTML. Its declared type decides; for a missing type, or one that says
/// nothing such as `application/octet-stream`, its first bytes do. A body that
/// is declared as HTML and is binary is none.
#[derive(Clone)]
pub struct Html {
    inner: Arc<Inner>,
}

struct Inner {
    response: Arc<Response>,
    page: Page,
    encoding: &'static Encoding,
    robots: RobotsDirectives,
    /// The links, when the header forbids to follow them and the page does not.
    forbidden: OnceLock<Vec<Link>>,
    /// The decoded body; empty while the body itself is UTF-8 and nobody has
    /// asked for it.
    source: OnceLock<Text>,
    visible: OnceLock<String>,
    /// The page with its `meta` elements and JSON-LD, which few ask for.
    detailed: OnceLock<Page>,
}

impl Html {
    pub(crate) fn read(cx: &Context) -> Result<Self> {
        let response = cx.response()?;
        is_html(&response)?;
        let services = cx.services();
        let mut options = services.page_options.clone().xml(is_xml(&response));
        if let Some(refresh) = response.header_bytes("refresh") {
            options = options.refresh(&String::from_utf8_lossy(refresh));
        }
        let parse = |text: &str, encoding| Page::parse(text, response.url(), encoding, &options);
        let source = OnceLock::new();
        let (page, encoding) = if let Some(text) = cx.known_text() {
            let _ = source.set(text.clone());
            (parse(text, text.encoding()), text.encoding())
        } else {
            let (text, encoding) = body::decode(&response);
            let page = parse(&text, encoding);
            // What had to be decoded is kept, so that nobody decodes it again.
            // UTF-8 need not be, and is copied only for those who ask.
            if let Cow::Owned(text) = text {
                let text = Text::new(text, encoding);
                cx.share_text(&text);
                let _ = source.set(text);
            }
            (page, encoding)
        };
        let robots = page.robots() | header_directives(&response, &services.agent);
        Ok(Html {
            inner: Arc::new(Inner {
                response,
                page,
                encoding,
                robots,
                forbidden: OnceLock::new(),
                source,
                visible: OnceLock::new(),
                detailed: OnceLock::new(),
            }),
        })
    }

    /// The page's URL: the last one, after redirects.
    #[must_use]
    pub fn url(&self) -> &Url {
        self.inner.response.url()
    }

    /// The text of the first `title`, white space collapsed. Never empty.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.inner.page.title()
    }

    /// The content of the first `meta name=description` that has any, white
    /// space collapsed.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.inner.page.description()
    }

    /// The target of the first `link rel=canonical` (RFC 6596).
    #[must_use]
    pub fn canonical(&self) -> Option<&Url> {
        self.inner.page.canonical()
    }

    /// The language that the `html` element names, as it is written.
    #[must_use]
    pub fn lang(&self) -> Option<&str> {
        self.inner.page.lang()
    }

    /// The content of the first `meta` with that name or property, whatever
    /// its case, such as `og:title`. The first call reads the page once more,
    /// for this and every later one.
    #[must_use]
    pub fn meta(&self, name: &str) -> Option<&str> {
        self.detailed().meta(name)
    }

    /// Every name or property of a `meta` with its content, in document order.
    /// The first call reads the page once more, as in [`meta`](Self::meta).
    pub fn metas(&self) -> impl Iterator<Item = (&str, &str)> {
        self.detailed().metas()
    }

    /// The objects of the page's JSON-LD, in document order, each as JSON on
    /// one line. A script that is no JSON is passed over, with a line in the
    /// debug log. Unless the crawl gathers it
    /// ([`page_json_ld`](crate::CrawlerBuilder::page_json_ld)), the first call
    /// reads the page once more, as in [`meta`](Self::meta).
    #[must_use]
    pub fn json_ld(&self) -> &[String] {
        let gathered = self.inner.page.json_ld();
        gathered
            .or_else(|| self.detailed().json_ld())
            .unwrap_or_default()
    }

    fn detailed(&self) -> &Page {
        self.inner
            .detailed
            .get_or_init(|| self.parse(PageOptions::new().metas(true).json_ld(true)))
    }

    fn parse(&self, options: PageOptions) -> Page {
        let options = options.xml(is_xml(&self.inner.response));
        Page::parse(self.source(), self.url(), self.inner.encoding, &options)
    }

    /// What the page asks crawlers not to do: by its `meta name=robots`, the
    /// one that names our agent, and the `X-Robots-Tag` of its header.
    #[must_use]
    pub fn robots(&self) -> RobotsDirectives {
        self.inner.robots
    }

    /// Anchors, areas, frames and refreshes that lead to web addresses, in
    /// document order, each URL once, fragments kept; first that of the header
    /// field `Refresh`. Those that are not to be
    /// followed are among them, and marked.
    #[must_use]
    pub fn links(&self) -> &[Link] {
        let Inner { page, robots, .. } = &*self.inner;
        if !robots.nofollow || page.robots().nofollow {
            return page.links();
        }
        self.inner.forbidden.get_or_init(|| {
            let mut links = page.links().to_vec();
            for link in &mut links {
                link.nofollow = true;
            }
            links
        })
    }

    /// How many different references on the page are no URL.
    #[must_use]
    pub fn malformed_links(&self) -> usize {
        self.inner.page.malformed_links()
    }

    /// What the page's links are resolved against: the URL of its base
    /// element, or its own.
    #[must_use]
    pub fn base(&self) -> Base<'_> {
        Base::new(self.inner.page.base(), self.inner.encoding)
    }

    /// The text that a reader sees ([`visible_text`](crate::html::visible_text)).
    /// Worked out when first asked for.
    #[must_use]
    pub fn text(&self) -> &str {
        if let Some(text) = self.inner.page.text() {
            return text;
        }
        self.inner.visible.get_or_init(|| {
            let page = self.parse(PageOptions::new().text(true));
            page.text().unwrap_or_default().to_owned()
        })
    }

    /// The page's source, decoded.
    #[must_use]
    pub fn source(&self) -> &str {
        self.inner.source.get_or_init(|| {
            let (text, encoding) = body::decode(&self.inner.response);
            Text::new(text.into_owned(), encoding)
        })
    }

    /// The whole answer.
    #[must_use]
    pub fn response(&self) -> &Arc<Response> {
        &self.inner.response
    }

    /// The page as a tree of elements, read anew by each call.
    ///
    /// # Errors
    /// Those of [`Dom::parse`].
    #[cfg(feature = "select")]
    pub fn dom(&self) -> Result<Dom> {
        Dom::parse(self.source(), self.url(), self.inner.encoding)
    }

    /// The elements that match a CSS selector, in the order of the page. Each
    /// call reads the page anew; for several selectors take its
    /// [`dom`](Self::dom) once.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when it is no
    /// selector, and those of [`Dom::parse`].
    #[cfg(feature = "select")]
    pub fn select(&self, css: &str) -> Result<Vec<Element>> {
        self.dom()?.select(css)
    }
}

impl fmt::Debug for Html {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Html")
            .field("url", &self.url().as_str())
            .field("title", &self.title())
            .finish_non_exhaustive()
    }
}

impl FromContext for Html {
    fn from_context(cx: &Context) -> Result<Self> {
        cx.page()
    }
}

/// Whether the page is XHTML by its type.
fn is_xml(response: &Response) -> bool {
    let content_type = response.content_type();
    MediaType::parse(content_type.as_deref().unwrap_or_default()).is_xml()
}

/// Fails when the answer is no HTML.
fn is_html(response: &Response) -> Result<()> {
    body::is_decoded(response)?;
    let seen = http::sniff(response.body());
    let content_type = response.content_type().unwrap_or_default();
    let media = MediaType::parse(&content_type);
    let declared = if media.is_unspecific() {
        // An empty body of no type is an empty page.
        matches!(seen, Sniffed::Html | Sniffed::Empty)
    } else {
        media.is_html() || media.is_xml() && seen == Sniffed::Html
    };
    if declared && (!seen.is_binary() || body::is_wide(response, seen)) {
        return Ok(());
    }
    Err(extract(format!(
        "no HTML: declared as {}, it looks like {}",
        body::declared(response),
        seen.as_str()
    )))
}

/// The page's links that may be followed, in document order: all but those
/// that it asks not to follow (`rel=nofollow`, `meta name=robots`,
/// `X-Robots-Tag`).
///
/// [`Html::links`] has them all.
///
/// ```
/// use canter::extract::{Links, Queue};
/// fn handler(links: Links, queue: Queue) {
///     queue.follow_all(links);
/// }
/// # let _ = canter::handler::boxed(handler);
/// ```
///
/// # Errors
/// As [`Html`].
#[derive(Debug, Clone)]
pub struct Links {
    links: Vec<Link>,
}

impl Deref for Links {
    type Target = [Link];

    fn deref(&self) -> &[Link] {
        &self.links
    }
}

impl IntoIterator for Links {
    type Item = Link;
    type IntoIter = std::vec::IntoIter<Link>;

    fn into_iter(self) -> Self::IntoIter {
        self.links.into_iter()
    }
}

impl<'a> IntoIterator for &'a Links {
    type Item = &'a Link;
    type IntoIter = std::slice::Iter<'a, Link>;

    fn into_iter(self) -> Self::IntoIter {
        self.links.iter()
    }
}

impl FromContext for Links {
    fn from_context(cx: &Context) -> Result<Self> {
        let page = cx.page()?;
        let links = page.links().iter().filter(|link| !link.nofollow);
        Ok(Links {
            links: links.cloned().collect(),
        })
    }
}

/// The body read as a sitemap, sitemap index, feed or list of URLs, gzipped or
/// not ([`sitemap::parse`](crate::sitemap::parse)).
///
/// ```
/// use canter::extract::{Queue, SitemapFile};
/// fn handler(file: SitemapFile, queue: Queue) {
///     queue.follow_all(&file.entries);
/// }
/// # let _ = canter::handler::boxed(handler);
/// ```
///
/// # Errors
/// [`ErrorKind::Extract`](crate::ErrorKind::Extract) when it is none of them.
/// A file that is broken somewhere gives what could be read, and says so in
/// `error`.
#[derive(Debug, Clone)]
pub struct SitemapFile {
    response: Arc<Response>,
    sitemap: Sitemap,
}

impl SitemapFile {
    /// The file's URL: the last one, after redirects.
    #[must_use]
    pub fn url(&self) -> &Url {
        self.response.url()
    }

    /// What was read, taken out.
    #[must_use]
    pub fn into_inner(self) -> Sitemap {
        self.sitemap
    }
}

impl Deref for SitemapFile {
    type Target = Sitemap;

    fn deref(&self) -> &Sitemap {
        &self.sitemap
    }
}

impl FromContext for SitemapFile {
    fn from_context(cx: &Context) -> Result<Self> {
        let response = cx.response()?;
        read_sitemap(&response)
            .map(|sitemap| SitemapFile { response, sitemap })
            .map_err(|error| cx.locate(error))
    }
}

fn read_sitemap(response: &Response) -> Result<Sitemap> {
    body::is_decoded(response)?;
    let sitemap = sitemap::parse(response.body());
    if sitemap.kind != sitemap::Kind::Unknown {
        return Ok(sitemap);
    }
    let error = extract(format!(
        "no sitemap: declared as {}, it looks like {}",
        body::declared(response),
        http::sniff(response.body()).as_str()
    ));
    Err(match sitemap.error {
        Some(fault) => error.with_source(fault),
        None => error,
    })
}

/// What an answer's `X-Robots-Tag` fields ask of the agent, whatever its body.
pub(crate) fn header_directives(response: &Response, agent: &str) -> RobotsDirectives {
    response
        .header_all("x-robots-tag")
        .map(|value| html::robots_directives(&String::from_utf8_lossy(value), agent))
        .fold(RobotsDirectives::default(), BitOr::bitor)
}
