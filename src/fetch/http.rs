//! [`HttpFetch`]: the fetcher over HTTP/1.1, with ureq.
//!
//! Invariant: one request on the wire for each call, so that whoever paces the
//! calls paces the requests; everything ends by the deadline; what is returned
//! as a body is whole, or marked as truncated.
//!
//! ureq writes requests and reads answers. Around it this module brings its
//! own resolver, connections, pool and cookies, and decodes bodies itself: ureq's
//! own decoding believes the header and its cookies reach other origins, so its
//! `gzip`, `brotli`, `charset` and `cookies` features are not turned on here.
//! Where another crate of the same program turns them on, ureq decodes such
//! bodies before we see them, and sends cookies of its own jar as well.

use std::io::Read as _;
#[cfg(feature = "cookies")]
use std::time::SystemTime;
use std::time::{Duration, Instant};

use ureq::http::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
};
#[cfg(feature = "cookies")]
use ureq::http::header::{COOKIE, SET_COOKIE};
use ureq::http::{self, Uri};
use url::{Position, Url};

use super::builder::HttpFetchBuilder;
use super::coding::{self, coded_limit, codings, decode, too_large};
use super::connector::{Dialer, GRACE};
#[cfg(feature = "cookies")]
use super::cookies::Jar;
use super::fault::error_of;
use super::media::TypeSet;
use super::wire::OUTPUT_SIZE;
use super::{Fetch, Response, credentials};
use crate::error::{Error, ErrorKind, Result};
use crate::http::{MediaType, Sniffed, sniff};
use crate::request::{BodyLimit, Method, Request};

/// Room for what a line of a request's head has beside its longest part: the
/// method or name, the version and the line end.
const LINE_ROOM: usize = 256;
/// How many bytes of a body of no declared type are read to see what it is: more
/// than are looked at (WHATWG MIME Sniffing section 5.2).
const SNIFFED: u64 = 1500;
/// A body's buffer is made this large at most before its bytes are there.
const MAX_RESERVED: u64 = 1024 * 1024;

/// Fetches over HTTP/1.1 and TLS.
///
/// One value serves all threads of a crawl: they share its connections, its
/// remembered names and, with the feature `cookies`, its cookies.
///
/// ```no_run
/// use std::time::{Duration, Instant};
/// use canter::Request;
/// use canter::fetch::{Fetch, HttpFetch};
///
/// let fetch = HttpFetch::builder()
///     .user_agent("examplebot/1.0 (+https://example.com/bot)")
///     .timeout(Duration::from_secs(20))
///     .build()?;
/// let request = Request::get("https://example.com/")?;
/// let response = fetch.fetch(&request, Instant::now() + Duration::from_secs(10))?;
/// println!("{}: {} bytes", response.status(), response.body().len());
/// # Ok::<(), canter::Error>(())
/// ```
///
/// - Any status is a response; [`StatusPolicy`](super::StatusPolicy) judges it.
///   Redirects are not followed.
/// - A user name and a password in the URL are sent as `Authorization`, unless
///   the request has a field of that name; they are in no message.
/// - The body is decoded from `gzip`, `deflate` and, with the feature, `br`.
///   A header that names a coding which the bytes do not have is not believed,
///   but what may be the start of something packed is an error; in a coding
///   that is not understood the body stays as it is, marked as
///   [`undecoded`](Response::undecoded).
/// - An address that is not public is refused with
///   [`Invalid`](ErrorKind::Invalid) unless
///   [`allow_private`](HttpFetchBuilder::allow_private) is on or its host is
///   [named](HttpFetchBuilder::allow_host), also where a public name resolves
///   to it.
/// - A kept connection that is found closed is replaced. If it breaks when the
///   request is under way, before any answer, that is a
///   [`Connect`](ErrorKind::Connect) error, which a crawl does not count as an
///   attempt: it asks again when it is that URL's turn.
/// - An answer that is not HTTP, or whose head is over 64 KiB, is
///   [`Invalid`](ErrorKind::Invalid) too: asking again would bring the same. Of
///   a head that browsers read, lines that are no fields or have control
///   characters are left out, and all but some 120 fields.
#[derive(Debug)]
pub struct HttpFetch {
    agent: ureq::Agent,
    dialer: Dialer,
    settings: Settings,
    #[cfg(feature = "cookies")]
    jar: Jar,
}

/// What the fetcher itself has to know of its settings.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) timeout: Duration,
    pub(super) max_body: u64,
    pub(super) types: Option<TypeSet>,
    /// Bytes of the longest header value that every request has.
    pub(super) longest_default: usize,
}

impl HttpFetch {
    /// Starts from the defaults; see [`HttpFetchBuilder`].
    pub fn builder() -> HttpFetchBuilder {
        HttpFetchBuilder::default()
    }

    pub(super) fn new(agent: ureq::Agent, dialer: Dialer, settings: Settings) -> HttpFetch {
        HttpFetch {
            agent,
            dialer,
            settings,
            #[cfg(feature = "cookies")]
            jar: Jar::default(),
        }
    }

    /// How many connections are kept open at the moment without being used.
    #[must_use]
    pub fn idle_connections(&self) -> usize {
        self.dialer.pool().len()
    }

    fn exchange(&self, request: &Request, started: Instant, deadline: Instant) -> Result<Response> {
        if started >= deadline {
            return Err(Error::new(ErrorKind::Timeout).with_message("timed out before it began"));
        }
        if self.dialer.is_proxied() {
            let host = request.url().host_str().unwrap_or_default();
            let checked = self.dialer.resolver().check_literal(host);
            checked.map_err(|fault| error_of(fault.into()))?;
        }
        #[cfg_attr(not(feature = "cookies"), expect(unused_mut))]
        let mut head = Head::of(request)?;
        #[cfg(feature = "cookies")]
        head.take_along(&self.jar, request.url());
        let answer = self.send(request, &head, deadline).map_err(error_of)?;
        // Whatever becomes of the body, the cookies have come.
        #[cfg(feature = "cookies")]
        let cookies_changed = {
            let lines = answer.headers().get_all(SET_COOKIE).iter();
            let lines = lines.map(HeaderValue::as_bytes);
            self.jar.store(request.url(), lines, SystemTime::now())
        };
        let response = self.response(request, answer)?;
        #[cfg(feature = "cookies")]
        let response = response.with_cookies_changed(cookies_changed);
        Ok(response.with_elapsed(started.elapsed()))
    }

    fn send(
        &self,
        request: &Request,
        head: &Head,
        deadline: Instant,
    ) -> Result<http::Response<ureq::Body>, ureq::Error> {
        // What must not be done twice goes out on a new connection: with a kept
        // one it may be open whether the server has read it.
        let fresh = request.method() == Method::Post;
        let method = match request.method() {
            Method::Get => http::Method::GET,
            Method::Head => http::Method::HEAD,
            Method::Post => http::Method::POST,
            Method::Put => http::Method::PUT,
        };
        let mut message = http::Request::builder()
            .method(method)
            .uri(head.uri.clone());
        if let Some(headers) = message.headers_mut() {
            headers.clone_from(&head.headers);
        }
        let sends_body = matches!(request.method(), Method::Post | Method::Put);
        if sends_body || !request.body().is_empty() {
            let message = self.timed(message.body(request.body())?, head, deadline, fresh);
            self.agent.run(message)
        } else {
            let message = self.timed(message.body(())?, head, deadline, fresh);
            self.agent.run(message)
        }
    }

    fn timed<B: ureq::AsSendBody>(
        &self,
        message: http::Request<B>,
        head: &Head,
        deadline: Instant,
        fresh: bool,
    ) -> http::Request<B> {
        let left = deadline.saturating_duration_since(Instant::now()) + GRACE;
        let line = head.longest.max(self.settings.longest_default) + LINE_ROOM;
        let mut config = self
            .agent
            .configure_request(message)
            .timeout_global(Some(left))
            .output_buffer_size(line.max(OUTPUT_SIZE));
        if fresh {
            // Our connector takes no kept connection then.
            config = config.max_idle_age(Duration::ZERO);
        }
        config.build()
    }

    fn response(&self, request: &Request, answer: http::Response<ureq::Body>) -> Result<Response> {
        let (parts, body) = answer.into_parts();
        let status = parts.status.as_u16();
        let limit = request.body_limit().unwrap_or(BodyLimit {
            bytes: self.settings.max_body,
            keep_start: false,
        });
        let mut response = Response::new(request.url().clone(), status);
        let has_body = request.method() != Method::Head
            && !matches!(status, 100..=199 | 204 | 304)
            && body.content_length() != Some(0);
        if has_body {
            let fields = parts.headers.get_all(CONTENT_ENCODING).iter();
            let codings = codings(fields.map(HeaderValue::as_bytes));
            // A limit of the request's own means that this body is wanted.
            let wanted = match request.body_limit() {
                Some(_) => Wanted::Yes,
                None => self.wants(&parts.headers, !codings.is_empty()),
            };
            let read = match wanted {
                // Dropped unread, which closes the connection: to drain a
                // body that has no end would take for ever.
                Wanted::No => Read::Nothing(None),
                wanted => read_body(body, &codings, limit, wanted)?,
            };
            response = match read {
                Read::Body(decoded) => response
                    .with_body(decoded.body)
                    .with_truncated(decoded.truncated)
                    .with_undecoded(decoded.undecoded),
                Read::Nothing(None) => response.with_body_skipped(true),
                Read::Nothing(Some(seen)) => response.with_body_skipped(true).with_seen(seen),
            };
        }
        let headers = parts.headers.iter();
        Ok(response.with_headers(
            headers
                .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
                .collect(),
        ))
    }

    fn wants(&self, headers: &HeaderMap, is_coded: bool) -> Wanted {
        let Some(types) = &self.settings.types else {
            return Wanted::Yes;
        };
        let fields = headers.get_all(CONTENT_TYPE).iter();
        let fields: Vec<&[u8]> = fields.map(HeaderValue::as_bytes).collect();
        let declared = fields.join(&b", "[..]);
        let declared = String::from_utf8_lossy(&declared);
        let media = MediaType::parse(&declared);
        if types.wants(&media) {
            return Wanted::Yes;
        }
        if media.is_unspecific() && !is_coded {
            Wanted::IfText
        } else {
            Wanted::No
        }
    }
}

/// Whether a body is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Yes,
    /// If its first bytes are text: its type says nothing of it, and a page may
    /// be sent so as well as a disk image.
    IfText,
    No,
}

impl Fetch for HttpFetch {
    fn fetch(&self, request: &Request, deadline: Instant) -> Result<Response> {
        let started = Instant::now();
        let own = started.checked_add(self.settings.timeout);
        let deadline = own.map_or(deadline, |own| own.min(deadline));
        self.exchange(request, started, deadline).map_err(|error| {
            let error = if error.kind() == ErrorKind::Timeout {
                let message = format!(
                    "{} after {:.1} s",
                    error.message(),
                    started.elapsed().as_secs_f64()
                );
                error.with_message(message)
            } else {
                error
            };
            error.with_url(credentials::without(request.url()))
        })
    }
}

/// What was read of a body.
enum Read {
    Body(coding::Decoded),
    /// It is not wanted; its first bytes looked like this.
    Nothing(Option<Sniffed>),
}

/// Reads a body, or finds that it is not wanted.
fn read_body(
    body: ureq::Body,
    codings: &[coding::Coding],
    limit: BodyLimit,
    wanted: Wanted,
) -> Result<Read> {
    let most = if codings.is_empty() {
        limit.bytes
    } else {
        coded_limit(limit.bytes)
    };
    let announced = body.content_length();
    let mut reader = body.into_reader().take(most.saturating_add(1));
    let mut bytes = Vec::new();
    if wanted == Wanted::IfText {
        let start = (&mut reader).take(SNIFFED).read_to_end(&mut bytes);
        start.map_err(|error| error_of(error.into()))?;
        let seen = sniff(&bytes);
        if seen.is_binary() {
            return Ok(Read::Nothing(Some(seen)));
        }
    }
    if !limit.keep_start && announced.is_some_and(|length| length > most) {
        return Err(too_large(limit.bytes));
    }
    let reserved = announced.unwrap_or(0).min(most).min(MAX_RESERVED);
    let reserved = usize::try_from(reserved).unwrap_or(0);
    bytes.reserve_exact(reserved.saturating_sub(bytes.len()));
    let read = reader.read_to_end(&mut bytes);
    read.map_err(|error| error_of(error.into()))?;
    let over = bytes.len() as u64 > most;
    if over && !limit.keep_start {
        return Err(too_large(limit.bytes));
    }
    if over {
        bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    }
    decode(bytes, codings, over, limit).map(Read::Body)
}

/// A request as it goes out, but for its body.
struct Head {
    uri: Uri,
    headers: HeaderMap,
    /// Bytes of its longest line, without the parts of [`LINE_ROOM`].
    longest: usize,
}

impl Head {
    fn of(request: &Request) -> Result<Head> {
        let url = request.url();
        let uri = uri_of(url)?;
        let target = uri.path_and_query().map_or(0, |part| part.as_str().len());
        let host = uri.authority().map_or(0, |part| part.as_str().len());
        let mut longest = target.max(host);
        let mut headers = HeaderMap::with_capacity(request.headers().len() + 8);
        for (name, value) in request.headers() {
            // The value may be a secret: it is not in the message.
            let unsendable =
                |what| Error::invalid(format!("the {what} of header {name:?} cannot be sent"));
            let field = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unsendable("name"))?;
            let content =
                HeaderValue::from_bytes(value.as_bytes()).map_err(|_| unsendable("value"))?;
            longest = longest.max(name.len() + value.len());
            headers.append(field, content);
        }
        if !headers.contains_key(AUTHORIZATION)
            && let Some(credentials) = credentials::of_url(url)
        {
            longest = longest.max(credentials.len());
            let value = HeaderValue::from_maybe_shared(credentials.into_bytes());
            let value = value.map_err(|_| Error::invalid("the credentials cannot be sent"))?;
            headers.append(AUTHORIZATION, value);
        }
        Ok(Head {
            uri,
            headers,
            longest,
        })
    }

    /// Adds what the jar has for the URL, in one field (RFC 6265 section 5.4).
    #[cfg(feature = "cookies")]
    fn take_along(&mut self, jar: &Jar, url: &Url) {
        let own = self.headers.get_all(COOKIE).iter();
        let own: Vec<&[u8]> = own.map(HeaderValue::as_bytes).collect();
        if let Some(cookies) = jar.header(url, &own, SystemTime::now()) {
            self.longest = self.longest.max(cookies.len());
            let value = HeaderValue::from_maybe_shared(cookies);
            self.headers
                .insert(COOKIE, value.expect("the jar keeps no control characters"));
        }
    }
}

/// The URL as ureq takes it: without fragment and credentials.
fn uri_of(url: &Url) -> Result<Uri> {
    let plain = url.username().is_empty() && url.password().is_none();
    let uri = if plain {
        Uri::try_from(&url[..Position::AfterQuery])
    } else {
        let site = &url[..Position::BeforeUsername];
        let rest = &url[Position::BeforeHost..Position::AfterQuery];
        Uri::try_from(format!("{site}{rest}"))
    };
    uri.map_err(|error| Error::invalid(format!("the URL cannot be sent: {error}")))
}
