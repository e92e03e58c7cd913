//! [`Page`]: what a page says about itself and where it leads, from one pass
//! over its text.

use std::sync::{Arc, OnceLock};

use encoding_rs::Encoding;
use html5gum::Tokenizer;
use log::debug;
use url::Url;

use super::collect::{Collector, Wanted};
use super::directives::{RobotsDirectives, product_token, refresh_target};
use super::emitter::Emitter;
use super::json_ld;
use super::links::{Link, LinkKind, References, Resolved};
use super::source::{Source, Unwanted};
use crate::uri;

/// What [`Page::parse`] gathers besides title, description, canonical URL,
/// language, robots directives and links.
///
/// ```
/// use canter::html::PageOptions;
/// let options = PageOptions::new().metas(true).text(true).agent("canter");
/// # let _ = options;
/// ```
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is asked for on its own"
)]
#[derive(Debug, Clone, Default)]
#[must_use = "options do nothing until a page is parsed with them"]
pub struct PageOptions {
    metas: bool,
    text: bool,
    json_ld: bool,
    xml: bool,
    agent: Option<Arc<str>>,
    refresh: Option<Arc<str>>,
}

impl PageOptions {
    /// Nothing besides.
    pub fn new() -> Self {
        PageOptions::default()
    }

    /// Whether every `meta` is kept for [`Page::meta`].
    pub fn metas(mut self, keep: bool) -> Self {
        self.metas = keep;
        self
    }

    /// Whether the visible text is kept for [`Page::text`].
    pub fn text(mut self, keep: bool) -> Self {
        self.text = keep;
        self
    }

    /// Whether JSON-LD is kept for [`Page::json_ld`].
    pub fn json_ld(mut self, keep: bool) -> Self {
        self.json_ld = keep;
        self
    }

    /// Whether the page is XHTML by its media type. It is read as HTML all the
    /// same, but for elements such as `<title/>`, which are empty there and
    /// would take in what follows, and for CDATA sections, which are text. Names
    /// with a prefix, such as `<h:title>`, are none of HTML.
    pub fn xml(mut self, xml: bool) -> Self {
        self.xml = xml;
        self
    }

    /// Our product token, or a user-agent string that starts with it:
    /// directives in a `meta` of that name count as well.
    pub fn agent(mut self, agent: &str) -> Self {
        self.agent = Some(product_token(agent).into());
        self
    }

    /// The value of the answer's `Refresh` field. What it leads to is the first
    /// link of the page, as that of a `meta http-equiv=refresh` is one (WHATWG
    /// HTML section 7.5.1). It is relative to the page's URL, whatever its base.
    pub fn refresh(mut self, value: &str) -> Self {
        self.refresh = Some(value.into());
        self
    }
}

/// A page that has been read.
///
/// ```
/// use canter::{Url, html::{Page, PageOptions}};
/// let url = Url::parse("http://example.com/shop/").unwrap();
/// let html = "<html lang=en><title> A  shop </title><base href=/new/><a href=1>One</a>";
/// let page = Page::parse(html, &url, encoding_rs::UTF_8, &PageOptions::new());
/// assert_eq!(page.title(), Some("A shop"));
/// assert_eq!(page.lang(), Some("en"));
/// assert_eq!(page.links()[0].url.as_str(), "http://example.com/new/1");
/// ```
#[derive(Debug, Clone)]
pub struct Page {
    base: Url,
    encoding: &'static Encoding,
    title: Option<String>,
    description: Option<String>,
    canonical: Option<Url>,
    lang: Option<String>,
    robots: RobotsDirectives,
    metas: Vec<(String, String)>,
    text: Option<String>,
    json_ld: Option<Vec<String>>,
    references: References,
    // Resolving costs about as much as reading the page, and not every handler
    // wants the links.
    resolved: OnceLock<Resolved>,
}

impl Page {
    /// Reads a page as browsers do with scripting off (WHATWG HTML section
    /// 13.2). There is no invalid page. `url` is where the page was found, and
    /// `encoding` what its bytes were in, which its links' queries are in too.
    #[must_use]
    pub fn parse(
        html: &str,
        url: &Url,
        encoding: &'static Encoding,
        options: &PageOptions,
    ) -> Self {
        let wanted = Wanted {
            xml: options.xml,
            links: true,
            head: true,
            metas: options.metas,
            text: options.text,
            json_ld: options.json_ld,
        };
        let mut collected = Collector::new(wanted, options.agent.clone());
        if let Some(target) = options.refresh.as_deref().and_then(refresh_of_header)
            && let Some(target) = uri::join(url, target, encoding_rs::UTF_8)
        {
            let target = target.as_str().as_bytes();
            collected.references.push(LinkKind::Refresh, target, false);
        }
        read(html, &mut collected);
        collected.references.shrink();
        let base = base_url(url, collected.base.as_deref(), encoding);
        Page {
            title: collected.title(),
            canonical: collected
                .canonical
                .as_deref()
                .filter(|href| !href.trim_ascii().is_empty())
                .and_then(|href| uri::resolve_with_encoding(&base, href, encoding)),
            text: collected.take_text(),
            json_ld: options.json_ld.then(|| json_ld_of(&collected, url)),
            base,
            encoding,
            description: collected.description,
            lang: collected
                .lang
                .map(|lang| lang.trim_ascii().to_owned())
                .filter(|lang| !lang.is_empty()),
            robots: collected.robots,
            metas: collected.metas,
            references: collected.references,
            resolved: OnceLock::new(),
        }
    }

    /// What relative links are resolved against: the page's own URL or what
    /// its first `base href` makes of it (WHATWG HTML section 4.2.3).
    #[must_use]
    pub fn base(&self) -> &Url {
        &self.base
    }

    /// The text of the first `title`, white space collapsed. Never empty.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// The content of the first `meta name=description` that has any, white
    /// space collapsed.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// The target of the first `link rel=canonical` (RFC 6596).
    #[must_use]
    pub fn canonical(&self) -> Option<&Url> {
        self.canonical.as_ref()
    }

    /// The language that the `html` element names, as it is written.
    #[must_use]
    pub fn lang(&self) -> Option<&str> {
        self.lang.as_deref()
    }

    /// What the page asks crawlers not to do, by its `meta name=robots` and
    /// those that name the agent of the options.
    #[must_use]
    pub fn robots(&self) -> RobotsDirectives {
        self.robots
    }

    /// The links in document order, each URL once. Resolved when first asked
    /// for.
    #[must_use]
    pub fn links(&self) -> &[Link] {
        &self.resolved().links
    }

    /// How many different references on the page are no URL.
    #[must_use]
    pub fn malformed_links(&self) -> usize {
        self.resolved().malformed
    }

    /// The content of the first `meta` with that name or property, whatever
    /// its case, such as `og:title`. Needs [`PageOptions::metas`].
    #[must_use]
    pub fn meta(&self, name: &str) -> Option<&str> {
        self.metas()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, content)| content)
    }

    /// Every name or property of a `meta` with its content, in document order.
    /// Needs [`PageOptions::metas`].
    pub fn metas(&self) -> impl Iterator<Item = (&str, &str)> {
        self.metas
            .iter()
            .map(|(name, content)| (name.as_str(), content.as_str()))
    }

    /// The visible text, as [`visible_text`] gives it. Needs
    /// [`PageOptions::text`].
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// The objects of the page's JSON-LD, in document order, each as JSON on one
    /// line. A script that is no JSON is passed over. Needs
    /// [`PageOptions::json_ld`].
    #[must_use]
    pub fn json_ld(&self) -> Option<&[String]> {
        self.json_ld.as_deref()
    }

    fn resolved(&self) -> &Resolved {
        self.resolved.get_or_init(|| {
            self.references
                .resolve(&self.base, self.encoding, self.robots.nofollow)
        })
    }
}

/// The links of a page at `base`: anchors, areas, frames and refreshes, in
/// document order, each URL once. Queries are read as UTF-8; see
/// [`Page::parse`] for pages in other encodings.
///
/// The page is read as browsers read it with scripting off. A link of a page
/// whose `meta name=robots` says `nofollow` or `none` is `nofollow` too.
///
/// ```
/// use canter::{Url, html::page_links};
/// let base = Url::parse("http://example.com/dir/").unwrap();
/// let links = page_links("<a href=a>1</a><!-- <a href=b> --><a href='?x=1&amp;y' rel=nofollow>", &base);
/// assert_eq!(links[0].url.as_str(), "http://example.com/dir/a");
/// assert_eq!(links[1].url.as_str(), "http://example.com/dir/?x=1&y");
/// assert!(links[1].nofollow);
/// ```
#[must_use]
pub fn page_links(html: &str, base: &Url) -> Vec<Link> {
    let wanted = Wanted {
        links: true,
        ..Wanted::default()
    };
    let mut collected = Collector::new(wanted, None);
    read(html, &mut collected);
    let encoding = encoding_rs::UTF_8;
    let base = base_url(base, collected.base.as_deref(), encoding);
    collected
        .references
        .resolve(&base, encoding, collected.robots.nofollow)
        .links
}

/// The text of a page that a reader sees. Blocks, table rows and `br` end
/// lines, cells are set apart by tabs, and other white space is collapsed but
/// for `pre`. Scripts, style sheets, templates, the head, what form fields hold,
/// the fallbacks of embedded content, alternative texts and hidden elements are
/// left out.
///
/// Hidden is what is `display: none` by its own `style` attribute, or else has
/// the attribute `hidden` or `popover`, or is a `dialog` that is not open; style
/// sheets are not read. Closed `details` and `hidden=until-found` are kept, as a
/// search on the page finds them, and so are `noscript`, since nothing here runs
/// scripts, `aria-hidden`, `rp`, and a whole body that is hidden until a script
/// shows it.
///
/// ```
/// use canter::html::visible_text;
/// let html = "<title>T</title><h1>Tea &amp; cake</h1><script>x()</script><p>At  <b>four</b>.";
/// assert_eq!(visible_text(html), "Tea & cake\nAt four.");
/// ```
#[must_use]
pub fn visible_text(html: &str) -> String {
    let wanted = Wanted {
        text: true,
        ..Wanted::default()
    };
    let mut collected = Collector::new(wanted, None);
    read(html, &mut collected);
    collected.take_text().unwrap_or_default()
}

fn refresh_of_header(value: &str) -> Option<&str> {
    refresh_target(value.as_bytes()).and_then(|target| std::str::from_utf8(target).ok())
}

fn json_ld_of(collected: &Collector, url: &Url) -> Vec<String> {
    let mut objects = Vec::new();
    for script in collected.scripts() {
        match json_ld::objects(&script) {
            Ok(found) => objects.extend(found),
            Err(why) => {
                let url = uri::without_credentials(url);
                debug!("{url}: JSON-LD that cannot be read: {why}");
            }
        }
    }
    objects
}

fn read(html: &str, collector: &mut Collector) {
    let html = html.strip_prefix('\u{FEFF}').unwrap_or(html);
    let unwanted = Unwanted::default();
    let emitter = Emitter::new(collector, &unwanted);
    let tokenizer = Tokenizer::new_with_emitter(Source::new(html, &unwanted), emitter);
    let Ok(()) = tokenizer.finish();
}

/// The document base URL (WHATWG HTML section 2.4.1): a base that is no URL,
/// or a `data:` or `javascript:` one, does not count.
fn base_url(url: &Url, href: Option<&str>, encoding: &'static Encoding) -> Url {
    href.and_then(|href| uri::join(url, href, encoding))
        .filter(|base| !matches!(base.scheme(), "data" | "javascript"))
        .unwrap_or_else(|| url.clone())
}

#[cfg(test)]
mod tests {
    use encoding_rs::UTF_8;

    use super::*;

    #[test]
    fn a_link_in_svg_may_have_its_address_in_the_older_attribute() {
        let html =
            "<a xlink:href=no><svg><a xlink:href=old></a><a xlink:href=no href=new></a></svg>";
        let base = Url::parse("http://a.test/").expect("a URL");
        let links = page_links(html, &base);
        let paths: Vec<_> = links.iter().map(|link| link.url.path()).collect();
        assert_eq!(paths, ["/old", "/new"]);
    }

    #[test]
    fn empty_elements_are_empty_in_xhtml_alone() {
        let html = "<html><head><title/><script src='s'/><style/></head><body><textarea/>\
            <template/><a href='x'/>t<svg><a href='y'/><script/><a href='z'/></svg></body></html>";
        let base = Url::parse("http://a.test/x/").expect("a URL");
        let found = |xml: bool| {
            let options = PageOptions::new().xml(xml).text(true);
            let page = Page::parse(html, &base, UTF_8, &options);
            let links = page.links().iter();
            let links: Vec<_> = links.map(|link| link.url.path().to_owned()).collect();
            (links, page.text().map(str::to_owned))
        };
        let links = ["/x/x", "/x/y", "/x/z"].map(str::to_owned).to_vec();
        assert_eq!(found(true), (links, Some("t".to_owned())));
        assert!(found(false).0.is_empty(), "the title takes in all of it");
    }

    #[test]
    fn cdata_sections_are_text_in_xhtml_alone() {
        let html = "<html><head><title><![CDATA[A & B]]> c<![CDATA[ <d>]]></title></head>\
            <body><p><![CDATA[x < y <a href='/no'>]]></p><a href='/a'/></body></html>";
        let base = Url::parse("http://a.test/").expect("a URL");
        let read = |xml: bool| {
            let options = PageOptions::new().xml(xml).text(true);
            Page::parse(html, &base, UTF_8, &options)
        };
        let page = read(true);
        assert_eq!(page.title(), Some("A & B c <d>"));
        assert_eq!(page.text(), Some("x < y <a href='/no'>"));
        assert_eq!(page.links().len(), 1);
        assert_eq!(read(false).text(), Some("]]>"), "a comment in HTML");
    }

    #[test]
    fn a_refresh_of_the_header_is_the_first_link_and_knows_no_base() {
        let url = Url::parse("http://a.test/x/y").expect("a URL");
        let links = |refresh: &str, html: &str| {
            let options = PageOptions::new().refresh(refresh);
            let page = Page::parse(html, &url, UTF_8, &options);
            let links = page.links().iter();
            links
                .map(|link| (link.url.path().to_owned(), link.kind, link.nofollow))
                .collect::<Vec<_>>()
        };
        let refresh = ("/x/z".to_owned(), LinkKind::Refresh, false);
        let anchor = ("/b/a".to_owned(), LinkKind::Anchor, false);
        let html = "<base href=/b/><a href=a>";
        assert_eq!(links("5; URL='z'", html), [refresh.clone(), anchor.clone()]);
        assert_eq!(links("0;z", "<frameset>"), [refresh]);
        for nothing in ["", "5", "z", "0;url=http://[", "0;url=mailto:x@a.test"] {
            let found = links(nothing, html);
            assert_eq!(found, std::slice::from_ref(&anchor), "{nothing}");
        }
        let forbidden = links("0;z", "<meta name=robots content=nofollow>");
        assert!(forbidden[0].2, "the page forbids all of its links");
    }
}
