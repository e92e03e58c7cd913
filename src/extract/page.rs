//! [`Html`], [`Links`] and [`SitemapFile`]: the answer as a page or a list of
//! pages.
//!
//! A page is parsed once for all extractors of an attempt, and what is not
//! HTML is never read for links.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use url::Url;

use super::body::{self, Text, extract};
use super::{Context, FromContext, Services};
use crate::error::Result;
use crate::fetch::Response;
use crate::html::{self, Link, Page, PageOptions, RobotsDirectives};
use crate::http::{self, MediaType, Sniffed};
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
    /// The decoded body; empty while the body itself is UTF-8 and nobody has
    /// asked for it.
    source: OnceLock<Text>,
    visible: OnceLock<String>,
}

impl Html {
    pub(crate) fn read(cx: &Context) -> Result<Self> {
        let response = cx.response()?;
        is_html(&response)?;
        let source = OnceLock::new();
        let base = response.url();
        let options = page_options(cx.services(), &response);
        let page = if let Some(text) = cx.known_text() {
            let _ = source.set(text.clone());
            Page::parse(text, base, text.encoding(), &options)
        } else {
            let (text, encoding) = body::decode(&response);
            let page = Page::parse(&text, base, encoding, &options);
            // What had to be decoded is kept, so that nobody decodes it again.
            // UTF-8 need not be, and is copied only for those who ask.
            if let std::borrow::Cow::Owned(text) = text {
                let text = Text::new(text, encoding);
                cx.share_text(&text);
                let _ = source.set(text);
            }
            page
        };
        Ok(Html {
            inner: Arc::new(Inner {
                response,
                page,
                source,
                visible: OnceLock::new(),
            }),
        })
    }

    /// The page's URL: the last one, after redirects.
    #[must_use]
    pub fn url(&self) -> &Url {
        self.inner.response.url()
    }

    /// What the page's links are resolved against: its base element's URL, or
    /// its own.
    #[must_use]
    pub fn base(&self) -> &Url {
        self.inner.page.base()
    }

    /// The title.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.inner.page.title()
    }

    /// The description.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.inner.page.description()
    }

    /// The URL that the page names as its canonical one (RFC 6596).
    #[must_use]
    pub fn canonical(&self) -> Option<&Url> {
        self.inner.page.canonical()
    }

    /// The language that the page declares, as it is written.
    #[must_use]
    pub fn lang(&self) -> Option<&str> {
        self.inner.page.lang()
    }

    /// What page and answer ask crawlers not to do: `meta name=robots`, or one
    /// with our name, and `X-Robots-Tag`.
    #[must_use]
    pub fn robots(&self) -> RobotsDirectives {
        self.inner.page.robots()
    }

    /// The page's links. Those that must not be followed are marked so.
    #[must_use]
    pub fn links(&self) -> &[Link] {
        self.inner.page.links()
    }

    /// The visible text: no markup, scripts or styles, white space collapsed.
    /// Worked out when first asked for.
    #[must_use]
    pub fn text(&self) -> &str {
        if let Some(text) = self.inner.page.text() {
            return text;
        }
        self.inner
            .visible
            .get_or_init(|| html::visible_text(self.source()))
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

/// What the page is parsed for, with what its answer says of it.
fn page_options(services: &Services, response: &Response) -> PageOptions {
    let mut options = services.page_options.clone();
    let mut asked = RobotsDirectives::default();
    for value in response.header_all("x-robots-tag") {
        let value = String::from_utf8_lossy(value);
        asked = asked | html::robots_directives(&value, options.known_agent());
    }
    if asked != RobotsDirectives::default() {
        options = options.directives(asked);
    }
    options
}

/// Fails when the answer is no HTML.
fn is_html(response: &Response) -> Result<()> {
    body::is_decoded(response)?;
    let seen = http::sniff(response.body());
    let content_type = response.header("content-type").unwrap_or_default();
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
/// that the page asks not to follow (`rel=nofollow`, or `meta name=robots`).
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
///     queue.follow_all(file.entries.iter().map(|entry| entry.loc.as_str()));
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
