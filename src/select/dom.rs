//! [`Dom`] and [`Element`]: a page as a tree that can be asked.

use std::borrow::Cow;
use std::fmt;
use std::rc::Rc;

use encoding_rs::Encoding;
use scraper::{ElementRef, Html};
use url::Url;

use super::css::Css;
use super::text::text_of;
use super::tree::{NodeId, parse};
use crate::error::Result;
use crate::uri;

/// A page as a tree of elements. It stays on the thread that made it; cloning
/// it gives another handle to the same tree.
///
/// ```
/// use canter::{Url, select::Dom};
/// let url = Url::parse("http://a.test/").unwrap();
/// let dom = Dom::parse("<ul><li>one<li><a href=/2>two</a></ul>", &url, encoding_rs::UTF_8)?;
/// let items = dom.select("li")?;
/// assert_eq!(items[0].text(), "one");
/// assert_eq!(items[1].select("a")?[0].url("href").unwrap().as_str(), "http://a.test/2");
/// # Ok::<(), canter::Error>(())
/// ```
#[derive(Clone)]
pub struct Dom {
    inner: Rc<Inner>,
}

struct Inner {
    html: Html,
    url: Url,
    base: Url,
    encoding: &'static Encoding,
}

impl Dom {
    /// Reads a page as browsers do with scripting off (WHATWG HTML section
    /// 13.2). `url` is where it was found, and `encoding` what its bytes were
    /// in, which its links' queries are in too.
    ///
    /// # Errors
    /// [`Extract`](crate::ErrorKind::Extract) when its elements are nested more than 1000 deep
    /// or its tags make many times more elements than there are tags.
    pub fn parse(source: &str, url: &Url, encoding: &'static Encoding) -> Result<Dom> {
        let html = parse(source)?;
        let base = base_of(&html, url, encoding);
        Ok(Dom {
            inner: Rc::new(Inner {
                html,
                url: url.clone(),
                base,
                encoding,
            }),
        })
    }

    /// Where the page was found.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.inner.url
    }

    /// What the page's references are resolved against.
    #[must_use]
    pub fn base(&self) -> &Url {
        &self.inner.base
    }

    /// The elements that match a CSS selector, in the order of the page.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when it is no selector.
    pub fn select(&self, css: &str) -> Result<Vec<Element>> {
        let css = Css::new(css)?;
        let found = self.html().select(&css.selector);
        Ok(found.map(|element| self.element(element)).collect())
    }

    /// The `html` element, which holds all others.
    #[must_use]
    pub fn root(&self) -> Element {
        self.element(self.html().root_element())
    }

    pub(super) fn html(&self) -> &Html {
        &self.inner.html
    }

    /// Resolves a reference as a link of the page; without user and password.
    pub(super) fn resolve(&self, reference: &str) -> Option<Url> {
        let Inner { base, encoding, .. } = &*self.inner;
        let url = uri::resolve_with_encoding(base, reference, encoding)?;
        Some(match uri::without_credentials(&url) {
            Cow::Borrowed(_) => url,
            Cow::Owned(bare) => bare,
        })
    }

    fn element(&self, element: ElementRef<'_>) -> Element {
        Element {
            dom: self.clone(),
            id: element.id(),
        }
    }
}

impl fmt::Debug for Dom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dom")
            .field("url", &self.inner.url.as_str())
            .finish_non_exhaustive()
    }
}

/// An element of a page. It keeps the page's tree.
#[derive(Clone)]
pub struct Element {
    dom: Dom,
    id: NodeId,
}

impl Element {
    /// Its name, such as `h1`: lower case but for those of SVG.
    #[must_use]
    pub fn name(&self) -> &str {
        self.as_ref().value().name()
    }

    /// The value of an attribute, as it is written.
    #[must_use]
    pub fn attr(&self, name: &str) -> Option<&str> {
        self.as_ref().attr(name)
    }

    /// Its text as a reader sees it: white space collapsed, lines joined,
    /// without scripts and styles.
    #[must_use]
    pub fn text(&self) -> String {
        text_of(self.as_ref())
    }

    /// What is between its tags, as HTML.
    #[must_use]
    pub fn html(&self) -> String {
        self.as_ref().inner_html()
    }

    /// The web address in an attribute, resolved as a link of the page.
    /// `None` for what gives no http or https URL.
    #[must_use]
    pub fn url(&self, attr: &str) -> Option<Url> {
        self.dom.resolve(self.attr(attr)?)
    }

    /// The elements inside it that match a CSS selector, in their order;
    /// `:scope` is the element itself.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when it is no selector.
    pub fn select(&self, css: &str) -> Result<Vec<Element>> {
        let css = Css::new(css)?;
        let found = self.as_ref().select(&css.selector);
        Ok(found.map(|element| self.dom.element(element)).collect())
    }

    fn as_ref(&self) -> ElementRef<'_> {
        let node = self.dom.html().tree.get(self.id);
        node.and_then(ElementRef::wrap)
            .expect("an element is made of one of the tree's")
    }
}

impl fmt::Debug for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

/// The document base URL (WHATWG HTML section 2.4.1).
fn base_of(html: &Html, url: &Url, encoding: &'static Encoding) -> Url {
    let elements = html.tree.nodes().filter_map(ElementRef::wrap);
    let mut bases = elements.filter(|element| element.value().name() == "base");
    bases
        .find_map(|base| base.attr("href"))
        .and_then(|href| uri::join(url, href, encoding))
        .filter(|base| !matches!(base.scheme(), "data" | "javascript"))
        .unwrap_or_else(|| url.clone())
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use encoding_rs::UTF_8;

    use super::*;
    use crate::error::ErrorKind;

    fn dom(html: &str) -> Dom {
        let url = Url::parse("http://u:p@a.test/dir/page").expect("a URL");
        Dom::parse(html, &url, UTF_8).expect("a page")
    }

    #[test]
    fn elements_are_found_in_their_order_and_asked() {
        let dom = dom(
            "<base href=/new/><ul><li id=a>1<li id=b>2<ul><li id=c>3</ul></ul>\
             <p>x<a href='?q=1#f'>y</a><a href=mailto:a@b>z</a>",
        );
        let ids = |elements: Vec<Element>| -> Vec<String> {
            let id = |element: &Element| element.attr("id").expect("an id").to_owned();
            elements.iter().map(id).collect()
        };
        assert_eq!(ids(dom.select("li").expect("CSS")), ["a", "b", "c"]);
        let second = &dom.select("#b").expect("CSS")[0];
        assert_eq!(ids(second.select("li").expect("CSS")), ["c"]);
        assert_eq!(second.select(":scope > li").expect("CSS").len(), 0);
        assert_eq!(second.html(), "2<ul><li id=\"c\">3</li></ul>");
        assert_eq!((second.name(), second.text().as_str()), ("li", "2 3"));
        let links = dom.select("a").expect("CSS");
        let url = links[0].url("href").expect("a URL");
        assert_eq!(url.as_str(), "http://a.test/new/?q=1#f", "no password");
        assert!(links[1].url("href").is_none());
        assert_eq!(dom.root().name(), "html");
        assert!(dom.select("p:").is_err());
    }

    #[test]
    fn noscript_holds_elements_as_with_scripting_off() {
        let dom = dom("<p><noscript><img src=/a.png></noscript>");
        assert_eq!(dom.select("noscript img").expect("CSS").len(), 1);
    }

    #[test]
    fn a_page_that_is_made_to_take_time_or_memory_is_not_read() {
        let began = Instant::now();
        let url = Url::parse("http://a.test/").expect("a URL");
        let colours: String = (0..900).map(|n| format!("<font color={n}>")).collect();
        for (html, what) in [
            ("<div>".repeat(400_000), "deeply"),
            ("<b><p>".repeat(400_000), "many"),
            ("<table><tr><td>".repeat(200_000), "deeply"),
            (format!("{}<!--x-->", "<ul><li>".repeat(400_000)), "deeply"),
            (format!("<p>{colours}{}", "<p>x".repeat(400_000)), "many"),
        ] {
            let error = Dom::parse(&html, &url, UTF_8).expect_err(what);
            assert_eq!(error.kind(), ErrorKind::Extract);
            assert!(error.to_string().contains(what), "{error}");
        }
        // Without the bounds each takes minutes, or all memory.
        assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
    }

    #[test]
    fn a_page_that_is_large_or_untidy_is_read() {
        for html in [
            "<p>x".repeat(100_000),
            "<li>a<b>b".repeat(300),
            format!("{}x", "<div>".repeat(900)),
            "<tr><td>1<td>2".repeat(50_000),
        ] {
            assert!(!dom(&html).root().text().is_empty());
        }
        assert_eq!(dom("").root().text(), "");
    }
}
