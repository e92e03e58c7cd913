//! [`Entry`]: a queued request, as small as it can be kept: a crawl holds
//! millions of them.

use std::sync::Arc;

use url::{Position, Url};

use super::schedule::OriginId;
use crate::request::{Hop, Method, Purpose, Request, Tag};

/// What an entry is fetched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A page for the handler.
    Page,
    /// A sitemap or feed, read for its URLs.
    Sitemap,
    /// The robots.txt of an origin, perhaps after redirects to elsewhere.
    Robots {
        /// The origin whose rules are wanted.
        of: OriginId,
    },
}

impl Kind {
    /// What the ledger calls it; `None` for robots.txt, which is no URL of the
    /// crawl.
    #[must_use]
    pub fn purpose(self) -> Option<Purpose> {
        match self {
            Kind::Page => Some(Purpose::Page),
            Kind::Sitemap => Some(Purpose::Sitemap),
            Kind::Robots { .. } => None,
        }
    }
}

impl From<Purpose> for Kind {
    fn from(purpose: Purpose) -> Self {
        match purpose {
            Purpose::Page => Kind::Page,
            Purpose::Sitemap => Kind::Sitemap,
        }
    }
}

/// What few requests have.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extra {
    /// The method.
    pub method: Method,
    /// Headers of the request's own.
    pub headers: Vec<(String, String)>,
    /// The request's body.
    pub body: Vec<u8>,
    /// The redirects that led here.
    pub hops: Vec<Hop>,
    /// Whether one of the redirects set a cookie.
    pub cookie_set: bool,
    /// The user and password of the URL.
    pub user: Option<(String, Option<String>)>,
}

/// A queued request. Origin and tag are those of its lane.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Fingerprint of method, canonical URL and body.
    pub fingerprint: u64,
    /// Path and query, as on the wire.
    pub path: Box<str>,
    /// Which page it was found on.
    pub referrer: Option<Arc<str>>,
    /// What few requests have.
    pub extra: Option<Arc<Extra>>,
    /// When it was queued, as a count; it keeps this over retries.
    pub age: u64,
    /// Higher goes first.
    pub priority: i32,
    /// Links from a seed.
    pub depth: u32,
    /// The attempt that comes next; the first is 1.
    pub attempt: u32,
    /// What it is fetched for.
    pub kind: Kind,
    /// Whether it is a seed, or a redirect's target that began at one.
    pub seed: bool,
}

impl Entry {
    /// The entry of a request; what the lane holds is left out.
    #[must_use]
    pub fn new(request: &Request, fingerprint: u64, kind: Kind, seed: bool, age: u64) -> Self {
        let url = request.url();
        let user = (!url.username().is_empty() || url.password().is_some())
            .then(|| (url.username().to_owned(), url.password().map(str::to_owned)));
        let plain = user.is_none()
            && request.method() == Method::Get
            && request.headers().is_empty()
            && request.body().is_empty()
            && request.hops().is_empty();
        Entry {
            fingerprint,
            path: url[Position::BeforePath..Position::AfterQuery].into(),
            referrer: request.referrer().cloned(),
            extra: (!plain).then(|| {
                Arc::new(Extra {
                    method: request.method(),
                    headers: request.headers().to_vec(),
                    body: request.body().to_vec(),
                    hops: request.hops().to_vec(),
                    cookie_set: request.cookie_set(),
                    user,
                })
            }),
            age,
            priority: request.priority(),
            depth: request.depth(),
            attempt: request.attempt(),
            kind,
            seed,
        }
    }

    /// The request again, for the origin and tag of its lane.
    #[must_use]
    pub fn request(&self, origin: &str, tag: &Tag) -> Request {
        let mut url = Url::parse(&format!("{origin}{}", self.path))
            .expect("origin and path were cut from a parsed URL");
        let extra = self.extra.as_deref();
        if let Some((user, password)) = extra.and_then(|extra| extra.user.as_ref()) {
            // Cannot fail: the origin has a host, and is http or https.
            let _ = url.set_username(user);
            let _ = url.set_password(password.as_deref());
        }
        let method = extra.map_or(Method::Get, |extra| extra.method);
        let mut request = Request::new(method, url)
            .with_tag(tag.clone())
            .with_priority(self.priority)
            .with_depth(self.depth)
            .with_attempt(self.attempt)
            .with_referrer(self.referrer.clone());
        if let Some(extra) = extra {
            for (name, value) in &extra.headers {
                request = request.with_header(name, value);
            }
            request = request
                .with_body(extra.body.clone())
                .with_hops(extra.hops.clone())
                .with_cookie_set(extra.cookie_set);
        }
        request
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_gives_its_request_back() {
        let url = "https://me:secret@example.com:8443/a%20b?x=1&y=";
        let request = Request::post(url, "body")
            .expect("a URL")
            .with_header("X-A", "1")
            .with_tag("t")
            .with_priority(-3)
            .with_depth(7)
            .with_attempt(2)
            .with_referrer(Some("https://example.com/".into()))
            .with_hops(vec![Hop {
                url: Url::parse("http://old.test/").expect("a URL"),
                status: 301,
            }])
            .with_cookie_set(true);
        let entry = Entry::new(&request, 9, Kind::Page, false, 0);
        let again = entry.request("https://example.com:8443", &Tag::from("t"));
        assert_eq!(again.url().as_str(), url);
        assert_eq!(format!("{again:?}"), format!("{request:?}"));
    }

    #[test]
    fn an_ordinary_request_needs_no_extra() {
        let request = Request::get("http://example.com/a?b#c").expect("a URL");
        let entry = Entry::new(&request, 1, Kind::Page, true, 0);
        assert!(entry.extra.is_none());
        assert_eq!(&*entry.path, "/a?b", "a fragment is not queued");
    }
}
