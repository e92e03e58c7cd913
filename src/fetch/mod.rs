//! [`Fetch`]: one request in, one response out, before a deadline.
//!
//! A fetcher never waits out of politeness, never follows a redirect and never
//! retries: all of that happens in the queue, so that every request on the
//! wire has passed the gate.
//!
//! [`HttpFetch`] is the fetcher over the network, [`MockSite`] the one for
//! tests; [`StatusPolicy`] says which answers are failures. Below `HttpFetch`
//! lie, each in its file, the resolver with its guard of addresses, the
//! connector, the pool of idle connections, the content codings and, with the
//! feature `cookies`, the cookie jar.

mod builder;
mod coding;
mod connector;
#[cfg(feature = "cookies")]
mod cookies;
mod credentials;
mod fault;
mod guard;
mod head;
mod http;
mod link;
mod media;
mod mock;
mod pool;
mod resolver;
mod socket;
mod status;
mod wire;

pub use builder::HttpFetchBuilder;
pub use guard::special_address;
pub use http::HttpFetch;
pub use media::ReadBody;
pub use mock::{Answer, MockRequest, MockSite};
pub use status::StatusPolicy;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use url::Url;

use crate::error::Result;
use crate::http::{self as web, Sniffed};
use crate::request::Request;

/// Turns a request into a response.
///
/// Implement it to plug in a browser or another client. An answer with any
/// status is a response; an error is for when no whole answer came, and its
/// kind decides whether the request is tried again.
///
/// ```
/// use std::time::Instant;
/// use canter::fetch::{Fetch, Response};
/// use canter::{Error, ErrorKind, Request, Result};
///
/// /// Answers from memory, and is out of order for one path.
/// struct Memory;
///
/// impl Fetch for Memory {
///     fn fetch(&self, request: &Request, _deadline: Instant) -> Result<Response> {
///         match request.url().path() {
///             "/" => Ok(Response::new(request.url().clone(), 200).with_body("<title>Home")),
///             "/broken" => Err(Error::new(ErrorKind::Connect).with_message("out of order")),
///             _ => Ok(Response::new(request.url().clone(), 404)),
///         }
///     }
/// }
///
/// let answer = Memory.fetch(&Request::get("http://a.test/x")?, Instant::now())?;
/// assert_eq!(answer.status(), 404);
/// # Ok::<(), canter::Error>(())
/// ```
pub trait Fetch: Send + Sync {
    /// Fetches one request. Returns by `deadline`, which bounds everything:
    /// lookup, connection, headers and body.
    ///
    /// # Errors
    /// [`Timeout`](crate::ErrorKind::Timeout), [`Connect`](crate::ErrorKind::Connect),
    /// [`TooLarge`](crate::ErrorKind::TooLarge) or [`Invalid`](crate::ErrorKind::Invalid).
    fn fetch(&self, request: &Request, deadline: Instant) -> Result<Response>;
}

impl<T: Fetch + ?Sized> Fetch for Arc<T> {
    fn fetch(&self, request: &Request, deadline: Instant) -> Result<Response> {
        (**self).fetch(request, deadline)
    }
}

/// An answer: status, headers as they came, and the decoded body.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says one thing of its own about the answer"
)]
pub struct Response {
    url: Url,
    status: u16,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    truncated: bool,
    body_skipped: bool,
    undecoded: bool,
    cookies_changed: bool,
    seen: Option<Sniffed>,
    elapsed: Duration,
}

impl Response {
    /// An answer without headers and body.
    #[must_use]
    pub fn new(url: Url, status: u16) -> Self {
        Response {
            url,
            status,
            headers: Vec::new(),
            body: Vec::new(),
            truncated: false,
            body_skipped: false,
            undecoded: false,
            cookies_changed: false,
            seen: None,
            elapsed: Duration::ZERO,
        }
    }

    /// Adds a header field. The value is kept byte for byte.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets all header fields, in order.
    #[must_use]
    pub fn with_headers(mut self, headers: Vec<(String, Vec<u8>)>) -> Self {
        self.headers = headers;
        self
    }

    /// Sets the body, without content coding.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Marks the body as the first part of a longer one.
    #[must_use]
    pub fn with_truncated(mut self, truncated: bool) -> Self {
        self.truncated = truncated;
        self
    }

    /// Marks the body as not read, since nobody wants its type.
    #[must_use]
    pub fn with_body_skipped(mut self, skipped: bool) -> Self {
        self.body_skipped = skipped;
        self
    }

    /// Marks the body as still in a content coding that is not understood.
    #[must_use]
    pub fn with_undecoded(mut self, undecoded: bool) -> Self {
        self.undecoded = undecoded;
        self
    }

    /// Says that the fetcher keeps a cookie that came with the answer, or has
    /// dropped one for it. A redirect back to a page that led to it is followed
    /// only then: the page may answer otherwise now.
    #[must_use]
    pub fn with_cookies_changed(mut self, changed: bool) -> Self {
        self.cookies_changed = changed;
        self
    }

    /// Says what the first bytes of a body looked like that was then not read.
    #[must_use]
    pub fn with_seen(mut self, seen: Sniffed) -> Self {
        self.seen = Some(seen);
        self
    }

    /// Sets how long the fetch took.
    #[must_use]
    pub fn with_elapsed(mut self, elapsed: Duration) -> Self {
        self.elapsed = elapsed;
        self
    }

    /// The URL that was asked.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The status code.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// All header fields in order, values byte for byte.
    #[must_use]
    pub fn headers(&self) -> &[(String, Vec<u8>)] {
        &self.headers
    }

    /// The first field of that name, whatever its case, byte for byte.
    #[must_use]
    pub fn header_bytes(&self, name: &str) -> Option<&[u8]> {
        self.headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_slice())
    }

    /// Every field of that name, in order.
    pub fn header_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> + 'a {
        self.headers
            .iter()
            .filter(move |(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_slice())
    }

    /// The first field of that name as text; bytes that are not UTF-8 are read
    /// as Latin-1 (RFC 9110 section 5.5).
    #[must_use]
    pub fn header(&self, name: &str) -> Option<Cow<'_, str>> {
        self.header_bytes(name).map(text_of)
    }

    /// The `Content-Type`. Several fields are joined by commas, as RFC 9110
    /// section 5.3 has it.
    #[must_use]
    pub fn content_type(&self) -> Option<Cow<'_, str>> {
        let mut fields = self.header_all("content-type");
        match (fields.next(), fields.next()) {
            (Some(_), Some(_)) => {
                let all: Vec<&[u8]> = self.header_all("content-type").collect();
                let joined = all.join(&b", "[..]);
                Some(text_of(&joined).into_owned().into())
            }
            (first, _) => first.map(text_of),
        }
    }

    /// The body, decoded unless [`undecoded`](Self::undecoded).
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The body, taken out.
    #[must_use]
    pub fn into_body(self) -> Vec<u8> {
        self.body
    }

    /// Whether the body is only the first part of a longer one.
    #[must_use]
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// Whether the body was not read, since nobody wants its type.
    #[must_use]
    pub fn body_skipped(&self) -> bool {
        self.body_skipped
    }

    /// Whether the body is still in a content coding that is not understood.
    #[must_use]
    pub fn undecoded(&self) -> bool {
        self.undecoded
    }

    /// Whether the answer has changed the cookies that later requests carry.
    #[must_use]
    pub fn cookies_changed(&self) -> bool {
        self.cookies_changed
    }

    /// What the body's first bytes look like
    /// ([`sniff`](crate::http::sniff)), whatever type is declared. `None` if
    /// nobody looked.
    #[must_use]
    pub fn seen(&self) -> Option<Sniffed> {
        if self.seen.is_some() || self.body_skipped {
            return self.seen;
        }
        Some(web::sniff(&self.body))
    }

    /// How long the fetch took, from its start to the end of the body.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// Whether the answer is a part of a page and says of which (RFC 9110
    /// section 15.3.7).
    pub(crate) fn is_part(&self) -> bool {
        let is_whole = |range: &str| {
            let range = range.trim().strip_prefix("bytes 0-")?;
            let (last, length) = range.split_once('/')?;
            let length = length.parse::<u64>().ok()?;
            Some(last.parse::<u64>().ok()?.checked_add(1)? == length)
        };
        let range = self.header("content-range");
        self.status == 206 && range.is_some_and(|range| is_whole(&range) != Some(true))
    }

    /// Whether the status is one that points elsewhere: 301, 302, 303, 307 or
    /// 308 (RFC 9110 section 15.4).
    #[must_use]
    pub fn is_redirect(&self) -> bool {
        matches!(self.status, 301 | 302 | 303 | 307 | 308)
    }
}

/// A header field's value as text.
fn text_of(value: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(value) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(value.iter().map(|&byte| char::from(byte)).collect()),
    }
}
