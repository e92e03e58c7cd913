//! [`Asker`]: a few requests, one after the other, at the pace of a crawl.
//! Keeps: no two start closer together than the settings say, redirects
//! included.

use std::thread;
use std::time::{Duration, Instant};

use super::args::Given;
use crate::Url;
use crate::config::{Settings, Source};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{Fetch, HttpFetch, Response, StatusPolicy};
use crate::request::{Hop, Method, Request};
use crate::uri;

/// Asks for what a command needs.
pub(super) struct Asker {
    settings: Settings,
    fetch: HttpFetch,
    began: Instant,
    last: Option<Instant>,
    sent: u64,
}

/// What became of a request.
pub(super) enum Asked {
    /// It was answered.
    Answer(Response),
    /// It was not sent: a bound of the settings is reached.
    Bound,
}

impl Asker {
    /// An asker for a command line that names one URL, and that URL.
    ///
    /// # Errors
    /// What is wrong with the command line, ready to be shown.
    pub(super) fn new(given: &Given) -> std::result::Result<(Asker, Url), String> {
        let settings = given
            .source()
            .and_then(Source::read)
            .map_err(|error| error.to_string())?;
        let [url] = settings.crawl.seeds.as_slice() else {
            return Err("one URL is needed".to_owned());
        };
        let url = url.clone();
        let fetch = settings
            .fetcher_for([&url])
            .map_err(|error| error.to_string())?;
        let asker = Asker {
            settings,
            fetch,
            began: Instant::now(),
            last: None,
            sent: 0,
        };
        Ok((asker, url))
    }

    /// The product token that robots.txt knows us by.
    pub(super) fn agent(&self) -> &str {
        self.settings.fetch.product_token()
    }

    /// From now on leaves at least this long between two starts.
    pub(super) fn slow_down(&mut self, delay: Duration) {
        let held = &mut self.settings.policy.host_delay;
        *held = delay.max(*held);
    }

    /// Sends a request when its time has come. Redirects are answers.
    pub(super) fn ask(&mut self, request: &Request) -> Result<Asked> {
        let policy = &self.settings.policy;
        let gap = policy
            .interval()
            .unwrap_or(Duration::ZERO)
            .max(policy.host_delay);
        let now = Instant::now();
        let at = self.last.map_or(now, |last| now.max(last + gap));
        if policy.max_requests.is_some_and(|max| self.sent >= max)
            || policy
                .deadline
                .is_some_and(|after| at >= self.began + after)
        {
            return Ok(Asked::Bound);
        }
        thread::sleep(at - now);
        let start = Instant::now();
        self.last = Some(start);
        self.sent += 1;
        // Its own timeout is the shorter one.
        let deadline = start + self.settings.fetch.timeout;
        match self.fetch.fetch(request, deadline) {
            // A few times at the most: such connections are soon not kept.
            Err(error) if error.is_of_stale_connection() => self.ask(request),
            result => result.map(Asked::Answer),
        }
    }

    /// Asks for a URL and follows redirects to the answer, which is one that
    /// holds what was asked for.
    ///
    /// # Errors
    /// The failure, or what an answer of another status means.
    pub(super) fn get(&mut self, url: Url, prepare: impl Fn(Request) -> Request) -> Result<Asked> {
        let mut request = prepare(Request::new(Method::Get, url));
        loop {
            let response = match self.ask(&request)? {
                Asked::Answer(response) => response,
                Asked::Bound => return Ok(Asked::Bound),
            };
            if !response.is_redirect() {
                StatusPolicy::Classify.check(&response, None)?;
                return Ok(Asked::Answer(response));
            }
            request = prepare(self.next_hop(&request, &response)?);
        }
    }

    /// Where an answer leads.
    ///
    /// # Errors
    /// Of kind [`Rejected`](ErrorKind::Rejected): to no web address, or it is
    /// one redirect too many.
    pub(super) fn next_hop(&self, request: &Request, response: &Response) -> Result<Request> {
        let rejected = |message: String| {
            Error::new(ErrorKind::Rejected)
                .with_status(response.status())
                .with_message(message)
        };
        let target = response
            .header_bytes("location")
            .and_then(|raw| uri::resolve_location(request.url(), raw))
            .ok_or_else(|| rejected("a redirect to no web address".to_owned()))?;
        let mut hops = request.hops().to_vec();
        if hops.len() >= self.settings.policy.max_redirects {
            return Err(rejected(format!("too many redirects: {}", hops.len())));
        }
        hops.push(Hop {
            url: request.url().clone(),
            status: response.status(),
        });
        Ok(Request::new(Method::Get, target).with_hops(hops))
    }
}
