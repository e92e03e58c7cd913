//! [`Request`] and [`Tag`]: what is to be fetched, and what the crawl knows of
//! it before it is fetched.

use std::fmt;
use std::sync::Arc;

use url::Url;

use crate::error::{Error, ErrorKind, Result};
use crate::uri;

/// A label on requests: it chooses the route, and pauses and aborts speak of
/// it. Untagged is a tag of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(Option<Arc<str>>);

impl Tag {
    /// The tag of requests that carry none.
    pub const UNTAGGED: Tag = Tag(None);

    /// The tag's name; `None` for untagged.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl From<&str> for Tag {
    fn from(name: &str) -> Self {
        Tag(if name.is_empty() {
            None
        } else {
            Some(name.into())
        })
    }
}

impl From<String> for Tag {
    fn from(name: String) -> Self {
        Tag::from(name.as_str())
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name().unwrap_or("untagged"))
    }
}

/// The request methods a crawl uses (RFC 9110 section 9).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// `GET`
    #[default]
    Get,
    /// `HEAD`
    Head,
    /// `POST`
    Post,
    /// `PUT`
    Put,
}

impl Method {
    /// The method's name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Post => "POST",
            Method::Put => "PUT",
        }
    }

    /// The method of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Method> {
        [Method::Get, Method::Head, Method::Post, Method::Put]
            .into_iter()
            .find(|m| m.as_str() == name)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a URL is fetched for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// A page for the handler.
    #[default]
    Page,
    /// A sitemap or feed, read for its URLs.
    Sitemap,
}

/// What to do with a body that is longer than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyLimit {
    /// The longest body, in decoded bytes.
    pub bytes: u64,
    /// `true` keeps the first `bytes` and marks the response as truncated;
    /// `false` fails with [`ErrorKind::TooLarge`].
    pub keep_start: bool,
}

/// One redirect that led to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hop {
    /// The URL that redirected.
    pub url: Url,
    /// Its status: 301, 302, 303, 307 or 308.
    pub status: u16,
}

/// A request, from the moment it is found to its end.
///
/// ```
/// use canter::Request;
/// let request = Request::get("https://example.com/item/1")?.with_tag("product").with_priority(5);
/// assert_eq!(request.tag().name(), Some("product"));
/// # Ok::<(), canter::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Request {
    url: Url,
    tag: Tag,
    referrer: Option<Arc<str>>,
    /// The fingerprint, once somebody has asked for it.
    fingerprint: Option<u64>,
    method: Method,
    priority: i32,
    depth: u32,
    attempt: u32,
    rare: Option<Box<Rare>>,
}

/// What few requests have. A page has dozens of links, and each is moved about
/// as a request before most of them turn out to be known.
#[derive(Debug, Clone, Default)]
struct Rare {
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    hops: Vec<Hop>,
    cookie_set: bool,
    again: bool,
    body_limit: Option<BodyLimit>,
}

impl Request {
    /// A request for a parsed URL.
    #[must_use]
    pub fn new(method: Method, url: Url) -> Self {
        Request {
            url,
            tag: Tag::UNTAGGED,
            referrer: None,
            fingerprint: None,
            method,
            priority: 0,
            depth: 0,
            attempt: 1,
            rare: None,
        }
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// A `GET` of an absolute http or https URL.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when it is not such a URL.
    pub fn get(url: impl AsRef<str>) -> Result<Self> {
        Ok(Request::new(Method::Get, parse_url(url.as_ref())?))
    }

    /// A `POST` with a body.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn post(url: impl AsRef<str>, body: impl Into<Vec<u8>>) -> Result<Self> {
        Ok(Request::new(Method::Post, parse_url(url.as_ref())?).with_body(body))
    }

    /// Asks for another URL instead.
    #[must_use]
    pub fn with_url(mut self, url: Url) -> Self {
        self.url = url;
        self.fingerprint = None;
        self
    }

    /// Takes out of the URL what tells no requests apart: the fragment, and
    /// what `clean` drops.
    #[must_use]
    pub(crate) fn with_clean_url(mut self, clean: impl FnOnce(Url) -> Url) -> Self {
        self.url.set_fragment(None);
        let before = self.url.as_str().len();
        self.url = clean(self.url);
        if self.url.as_str().len() != before {
            self.fingerprint = None;
        }
        self
    }

    /// The [fingerprint](uri::fingerprint), worked out when first asked for.
    pub(crate) fn fingerprint(&mut self) -> u64 {
        let known = self.fingerprint;
        let body = self.rare.as_ref().map_or(&[][..], |rare| &rare.body);
        *self.fingerprint.insert(
            known.unwrap_or_else(|| uri::fingerprint(self.method.as_str(), &self.url, body)),
        )
    }

    /// Sets the tag.
    #[must_use]
    pub fn with_tag(mut self, tag: impl Into<Tag>) -> Self {
        self.tag = tag.into();
        self
    }

    /// Sets the priority: higher goes first; 0 is the ordinary one.
    #[must_use]
    pub fn with_priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Adds a header. It is sent to this request's origin only: a redirect to
    /// another origin goes without it.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.rare().headers.push((name.into(), value.into()));
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        if !(body.is_empty() && self.rare.is_none()) {
            self.rare().body = body;
        }
        self.fingerprint = None;
        self
    }

    /// Sets the depth: how many links away from a seed. Seeds have depth 0.
    #[must_use]
    pub fn with_depth(mut self, depth: u32) -> Self {
        self.depth = depth;
        self
    }

    /// Sets the attempt; the first is 1.
    #[must_use]
    pub fn with_attempt(mut self, attempt: u32) -> Self {
        self.attempt = attempt;
        self
    }

    /// Names the page that the request was found on.
    #[must_use]
    pub fn with_referrer(mut self, referrer: Option<Arc<str>>) -> Self {
        self.referrer = referrer;
        self
    }

    /// Names the redirects that led here, oldest first.
    #[must_use]
    pub fn with_hops(mut self, hops: Vec<Hop>) -> Self {
        if !(hops.is_empty() && self.rare.is_none()) {
            self.rare().hops = hops;
        }
        self
    }

    /// Says that a redirect led back to it which set a cookie: it may answer
    /// otherwise now, and is to be asked for once more.
    pub(crate) fn with_again(mut self, again: bool) -> Self {
        if again || self.rare.is_some() {
            self.rare().again = again;
        }
        self
    }

    /// Says whether one of the redirects that led here set a cookie.
    pub(crate) fn with_cookie_set(mut self, set: bool) -> Self {
        if set || self.rare.is_some() {
            self.rare().cookie_set = set;
        }
        self
    }

    /// Limits the body otherwise than the fetcher's own setting.
    #[must_use]
    pub fn with_body_limit(mut self, limit: BodyLimit) -> Self {
        self.rare().body_limit = Some(limit);
        self
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> Method {
        self.method
    }

    /// The URL that is asked for; a fragment is never sent.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Headers of this request's own, in the order they were added.
    #[must_use]
    pub fn headers(&self) -> &[(String, String)] {
        self.rare.as_ref().map_or(&[], |rare| &rare.headers)
    }

    /// The request's body; empty for none.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        self.rare.as_ref().map_or(&[], |rare| &rare.body)
    }

    /// The tag.
    #[must_use]
    pub fn tag(&self) -> &Tag {
        &self.tag
    }

    /// The priority; higher goes first.
    #[must_use]
    pub fn priority(&self) -> i32 {
        self.priority
    }

    /// How many links away from a seed.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Which attempt this is; the first is 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The page that the request was found on.
    #[must_use]
    pub fn referrer(&self) -> Option<&Arc<str>> {
        self.referrer.as_ref()
    }

    /// The redirects that led here, oldest first.
    #[must_use]
    pub fn hops(&self) -> &[Hop] {
        self.rare.as_ref().map_or(&[], |rare| &rare.hops)
    }

    /// Whether it is to be asked for once more, although it was before.
    pub(crate) fn again(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.again)
    }

    /// Whether one of the redirects that led here set a cookie.
    pub(crate) fn cookie_set(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.cookie_set)
    }

    /// The URL that was asked for before any redirect.
    #[must_use]
    pub fn requested(&self) -> &Url {
        self.hops().first().map_or(&self.url, |hop| &hop.url)
    }

    /// A limit on the body of this request's own.
    #[must_use]
    pub fn body_limit(&self) -> Option<BodyLimit> {
        self.rare.as_ref()?.body_limit
    }
}

/// Parses an absolute http or https URL with a host.
///
/// # Errors
/// [`ErrorKind::Invalid`], naming the text.
pub fn parse_url(text: &str) -> Result<Url> {
    let invalid =
        |why: String| Error::new(ErrorKind::Invalid).with_message(format!("{why}: {text:?}"));
    let url = Url::parse(text.trim()).map_err(|e| invalid(format!("not a URL ({e})")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(invalid("not an http or https URL".to_owned()));
    }
    Ok(uri::encode_carets(url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_follows_url_and_body() {
        let anew = |request: &Request| {
            uri::fingerprint(request.method().as_str(), request.url(), request.body())
        };
        let mut request = Request::get("http://a.test/p?q#f").expect("a URL");
        let first = request.fingerprint();
        assert_eq!(first, anew(&request));
        let mut bare = request.clone().with_clean_url(|url| url);
        assert_eq!(bare.url().as_str(), "http://a.test/p?q");
        assert_eq!(bare.fingerprint(), first);
        let mut cleaned = bare.with_clean_url(|mut url| {
            url.set_query(None);
            url
        });
        assert_eq!(cleaned.fingerprint(), anew(&cleaned));
        assert_ne!(cleaned.fingerprint(), first);
        let elsewhere = Url::parse("http://b.test/").expect("a URL");
        for mut other in [request.clone().with_url(elsewhere), request.with_body("b")] {
            assert_eq!(other.fingerprint(), anew(&other));
            assert_ne!(other.fingerprint(), first);
        }
    }

    #[test]
    fn a_request_is_as_small_as_it_can_be_and_what_few_have_is_not_lost() {
        assert!(size_of::<Request>() <= size_of::<Url>() + 72);
        let bare = Request::get("http://a.test/")
            .expect("a URL")
            .with_body("")
            .with_hops(Vec::new())
            .with_again(false)
            .with_cookie_set(false);
        assert!(bare.rare.is_none());
        let full = bare
            .with_header("a", "1")
            .with_header("b", "2")
            .with_body("body")
            .with_again(true)
            .with_cookie_set(true);
        assert_eq!(full.headers().len(), 2);
        assert_eq!(full.body(), b"body");
        assert!(full.again() && full.cookie_set());
        let less = full.with_body("").with_again(false).with_cookie_set(false);
        assert_eq!(less.headers().len(), 2);
        assert!(less.body().is_empty() && !less.again() && !less.cookie_set());
    }

    #[test]
    fn only_absolute_http_and_https_urls_are_requests() {
        assert!(Request::get("https://example.com/").is_ok());
        for bad in [
            "/relative",
            "ftp://example.com/",
            "http://",
            "mailto:a@b.test",
            "",
        ] {
            let error = Request::get(bad).expect_err(bad);
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.to_string().contains(bad), "{error}");
        }
    }

    #[test]
    fn untagged_is_a_tag_of_its_own() {
        assert_eq!(Tag::from(""), Tag::UNTAGGED);
        assert_ne!(Tag::from("untagged"), Tag::UNTAGGED);
    }
}
