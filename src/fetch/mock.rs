//! [`MockSite`]: scripted pages instead of the network, for tests and examples.
//!
//! Invariant: what is answered depends only on the script and on how often a
//! URL was asked for, never on time or chance.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use url::Url;

use super::coding::{decode, too_large};
use super::{Fetch, Response};
use crate::error::{Error, ErrorKind, Result};
use crate::request::{BodyLimit, Method, Request, parse_url};

/// Any number of scripted sites as one fetcher.
///
/// A URL's answers are given in the order in which they were added; the last
/// one is repeated for ever. A URL without answers is a 404, which for
/// `/robots.txt` allows everything. Clones share script and log.
///
/// ```
/// use std::time::{Duration, Instant};
/// use canter::fetch::{Fetch, MockSite};
/// use canter::{ErrorKind, Request};
///
/// let site = MockSite::new()
///     .page("http://a.test/", |page| page.html("<a href='/busy'>busy</a>"))
///     .page("http://a.test/busy", |page| page.status(503).header("Retry-After", "7"))
///     .page("http://a.test/busy", |page| page.html("<p>now it is there"))
///     .page("http://a.test/moved", |page| page.redirect(301, "/"))
///     .page("http://a.test/down", |page| page.fail(ErrorKind::Connect, "connection refused"));
///
/// let get = |url: &str| site.fetch(&Request::get(url)?, Instant::now() + Duration::from_secs(1));
/// assert_eq!(get("http://a.test/busy")?.status(), 503);
/// assert_eq!(get("http://a.test/busy")?.status(), 200);
/// assert_eq!(get("http://a.test/none")?.status(), 404);
/// assert_eq!(get("http://a.test/down").unwrap_err().kind(), ErrorKind::Connect);
/// assert_eq!(site.count("http://a.test/busy"), 2);
/// # Ok::<(), canter::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct MockSite {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    pages: HashMap<(Method, String), Script>,
    otherwise: Option<Arc<OtherwiseFn>>,
    log: Vec<MockRequest>,
    in_flight: usize,
    peak: usize,
}

type OtherwiseFn = dyn Fn(&Request) -> Option<Answer> + Send + Sync;

#[derive(Default)]
struct Script {
    answers: Vec<Answer>,
    asked: usize,
}

/// A request as a [`MockSite`] got it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MockRequest {
    /// Its method.
    pub method: Method,
    /// Its URL.
    pub url: Url,
    /// The headers of its own.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
    /// Which attempt it said it was; the first is 1.
    pub attempt: u32,
}

/// One scripted answer: status 200 with an empty body until it is told
/// otherwise.
#[derive(Debug, Clone)]
#[must_use = "an answer is returned from the closure that makes it"]
pub struct Answer {
    status: u16,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    error: Option<Error>,
    latency: Duration,
    sleep: Duration,
    times: usize,
}

impl Default for Answer {
    fn default() -> Self {
        Answer {
            status: 200,
            headers: Vec::new(),
            body: Vec::new(),
            error: None,
            latency: Duration::ZERO,
            sleep: Duration::ZERO,
            times: 1,
        }
    }
}

impl Answer {
    /// A 200 without a body.
    pub fn new() -> Self {
        Answer::default()
    }

    /// Sets the status.
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Adds a header field, byte for byte.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the body alone.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// A body with its `Content-Type`.
    pub fn typed(self, media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        self.header("content-type", media_type).body(body)
    }

    /// An HTML page in UTF-8.
    pub fn html(self, page: impl Into<String>) -> Self {
        self.typed("text/html; charset=utf-8", page.into())
    }

    /// Plain text in UTF-8: a robots file, say.
    pub fn text(self, text: impl Into<String>) -> Self {
        self.typed("text/plain; charset=utf-8", text.into())
    }

    /// A redirect with this status and `Location`.
    pub fn redirect(self, status: u16, location: impl Into<Vec<u8>>) -> Self {
        self.status(status).header("location", location)
    }

    /// No answer but a failure of this kind.
    pub fn fail(self, kind: ErrorKind, message: impl Into<String>) -> Self {
        self.error(Error::new(kind).with_message(message))
    }

    /// No answer but this error.
    pub fn error(mut self, error: Error) -> Self {
        self.error = Some(error);
        self
    }

    /// How long the answer is said to take. Nothing sleeps: it is what
    /// [`Response::elapsed`] reports, and past the deadline the answer is a
    /// [`Timeout`](ErrorKind::Timeout).
    pub fn latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// How long the answer really takes: the thread sleeps, until the deadline
    /// at most. For tests of parallelism.
    pub fn sleep(mut self, sleep: Duration) -> Self {
        self.sleep = sleep;
        self
    }

    /// Gives this answer so many times before the next one's turn.
    pub fn times(mut self, times: usize) -> Self {
        self.times = times;
        self
    }
}

impl MockSite {
    /// No pages yet: everything is a 404.
    #[must_use]
    pub fn new() -> Self {
        MockSite::default()
    }

    /// Adds an answer to `GET` of this URL, and to `HEAD` without its body.
    ///
    /// # Panics
    /// When it is not an absolute http or https URL.
    #[must_use]
    pub fn page(self, url: &str, answer: impl FnOnce(Answer) -> Answer) -> Self {
        self.on(Method::Get, url, answer)
    }

    /// Adds an answer to another method.
    ///
    /// # Panics
    /// As [`page`](Self::page).
    #[must_use]
    pub fn on(self, method: Method, url: &str, answer: impl FnOnce(Answer) -> Answer) -> Self {
        let url = parse_url(url).unwrap_or_else(|error| panic!("mock site: {error}"));
        let answer = answer(Answer::new());
        let script = (method, key(&url));
        self.lock()
            .pages
            .entry(script)
            .or_default()
            .answers
            .push(answer);
        self
    }

    /// Answers what no page is there for; `None` is a 404. For sites that are
    /// easier computed than listed.
    ///
    /// ```
    /// use canter::fetch::{Answer, MockSite};
    /// let chain = MockSite::new().otherwise(|request| {
    ///     let page: u32 = request.url().path().strip_prefix("/page/")?.parse().ok()?;
    ///     Some(Answer::new().html(format!("<a href='/page/{}'>next</a>", page + 1)))
    /// });
    /// ```
    #[must_use]
    pub fn otherwise(
        self,
        answer: impl Fn(&Request) -> Option<Answer> + Send + Sync + 'static,
    ) -> Self {
        self.lock().otherwise = Some(Arc::new(answer));
        self
    }

    /// Every request so far, in the order in which they came.
    #[must_use]
    pub fn requests(&self) -> Vec<MockRequest> {
        self.lock().log.clone()
    }

    /// The URLs of every request so far, in the order in which they came.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        let inner = self.lock();
        inner
            .log
            .iter()
            .map(|asked| asked.url.to_string())
            .collect()
    }

    /// How often a URL was asked for, by whatever method.
    ///
    /// # Panics
    /// As [`page`](Self::page).
    #[must_use]
    pub fn count(&self, url: &str) -> usize {
        let url = parse_url(url).unwrap_or_else(|error| panic!("mock site: {error}"));
        let url = key(&url);
        let inner = self.lock();
        inner
            .log
            .iter()
            .filter(|asked| key(&asked.url) == url)
            .count()
    }

    /// The most requests that were in flight at once.
    #[must_use]
    pub fn peak_in_flight(&self) -> usize {
        self.lock().peak
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, request: &Request) -> Answer {
        let mut inner = self.lock();
        inner.log.push(MockRequest {
            method: request.method(),
            url: request.url().clone(),
            headers: request.headers().to_vec(),
            body: request.body().to_vec(),
            attempt: request.attempt(),
        });
        let mut script = (request.method(), key(request.url()));
        if script.0 == Method::Head && !inner.pages.contains_key(&script) {
            script.0 = Method::Get;
        }
        if let Some(answer) = inner.pages.get_mut(&script).and_then(Script::next) {
            return answer;
        }
        // The user's function may ask this site for its log.
        let otherwise = inner.otherwise.clone();
        drop(inner);
        otherwise
            .and_then(|otherwise| otherwise(request))
            .unwrap_or_else(|| Answer::new().status(404).text("there is no such page"))
    }
}

impl Script {
    fn next(&mut self) -> Option<Answer> {
        let mut turn = self.asked;
        self.asked += 1;
        for answer in &self.answers {
            if turn < answer.times {
                return Some(answer.clone());
            }
            turn -= answer.times;
        }
        self.answers.last().cloned()
    }
}

/// A fragment is never sent, so it tells no pages apart.
fn key(url: &Url) -> String {
    url[..url::Position::AfterQuery].to_owned()
}

impl Fetch for MockSite {
    fn fetch(&self, request: &Request, deadline: Instant) -> Result<Response> {
        let _flight = Flight::begin(self);
        let result = respond(self.answer(request), request, deadline);
        result.map_err(|error| error.with_url(super::credentials::without(request.url())))
    }
}

/// Counts a request as in flight until it is dropped, also by a panic in the
/// user's function.
struct Flight<'a>(&'a MockSite);

impl Flight<'_> {
    fn begin(site: &MockSite) -> Flight<'_> {
        let mut inner = site.lock();
        inner.in_flight += 1;
        inner.peak = inner.peak.max(inner.in_flight);
        Flight(site)
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        self.0.lock().in_flight -= 1;
    }
}

fn respond(answer: Answer, request: &Request, deadline: Instant) -> Result<Response> {
    let left = deadline.saturating_duration_since(Instant::now());
    if !answer.sleep.is_zero() {
        thread::sleep(answer.sleep.min(left));
    }
    if answer.latency.max(answer.sleep) > left {
        return Err(Error::new(ErrorKind::Timeout).with_message("timed out"));
    }
    if let Some(error) = answer.error {
        return Err(error);
    }
    let mut response = Response::new(request.url().clone(), answer.status)
        .with_headers(answer.headers)
        .with_elapsed(answer.latency.max(answer.sleep));
    if request.method() != Method::Head {
        let limit = request.body_limit().unwrap_or(BodyLimit {
            bytes: u64::MAX,
            keep_start: false,
        });
        if !limit.keep_start && answer.body.len() as u64 > limit.bytes {
            return Err(too_large(limit.bytes));
        }
        let decoded = decode(answer.body, &[], false, limit)?;
        response = response
            .with_body(decoded.body)
            .with_truncated(decoded.truncated);
    }
    Ok(response)
}

impl fmt::Debug for MockSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.lock();
        f.debug_struct("MockSite")
            .field("pages", &inner.pages.len())
            .field("requests", &inner.log.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(site: &MockSite, url: &str) -> Result<Response> {
        let request = Request::get(url).expect("url");
        site.fetch(&request, Instant::now() + Duration::from_secs(30))
    }

    #[test]
    fn answers_come_in_order_and_the_last_one_stays() {
        let site = MockSite::new()
            .page("http://a.test/", |page| page.status(500).times(2))
            .page("http://a.test/", |page| page.html("there"));
        let statuses: Vec<u16> = (0..5)
            .map(|_| get(&site, "http://a.test/#part").expect("answer").status())
            .collect();
        assert_eq!(statuses, [500, 500, 200, 200, 200]);
    }

    #[test]
    fn latency_is_told_and_not_slept_and_ends_at_the_deadline() {
        let long = Duration::from_secs(20);
        let site = MockSite::new()
            .page("http://a.test/slow", |page| page.html("x").latency(long))
            .page("http://a.test/late", |page| {
                page.html("x").latency(long * 2)
            });
        let begin = Instant::now();
        let slow = get(&site, "http://a.test/slow").expect("in time");
        assert_eq!(slow.elapsed(), long);
        let late = get(&site, "http://a.test/late").expect_err("too late");
        assert_eq!(late.kind(), ErrorKind::Timeout);
        assert!(begin.elapsed() < long);
    }

    #[test]
    fn the_log_says_what_was_asked() {
        let site = MockSite::new().on(Method::Post, "http://a.test/", |page| page.status(201));
        let request = Request::post("http://a.test/", "data")
            .expect("url")
            .with_header("X-Own", "1")
            .with_attempt(3);
        let answer = site.fetch(&request, Instant::now()).expect("answer");
        assert_eq!(answer.status(), 201);
        assert_eq!(get(&site, "http://a.test/").expect("answer").status(), 404);
        let log = site.requests();
        assert_eq!(log.len(), 2);
        assert_eq!(log[0].method, Method::Post);
        assert_eq!(log[0].headers, [("X-Own".to_owned(), "1".to_owned())]);
        assert_eq!(log[0].body, b"data");
        assert_eq!(log[0].attempt, 3);
        assert_eq!(site.count("http://a.test/"), 2);
    }

    #[test]
    fn a_head_has_the_headers_of_the_page_and_no_body_and_limits_hold() {
        let site = MockSite::new().page("http://a.test/", |page| page.html("0123456789"));
        let url = parse_url("http://a.test/").expect("url");
        let head = Request::new(Method::Head, url);
        let answer = site.fetch(&head, Instant::now()).expect("answer");
        assert!(answer.body().is_empty());
        assert!(answer.header("content-type").is_some());
        let limited = |keep_start| {
            let limit = BodyLimit {
                bytes: 4,
                keep_start,
            };
            let request = Request::get("http://a.test/").expect("url");
            site.fetch(&request.with_body_limit(limit), Instant::now())
        };
        let start = limited(true).expect("the start");
        assert_eq!((start.body(), start.truncated()), (&b"0123"[..], true));
        assert_eq!(
            limited(false).expect_err("over").kind(),
            ErrorKind::TooLarge
        );
    }
}
