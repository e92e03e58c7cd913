//! A worker's part: a job in, a report out. Everything that takes time happens
//! here, outside the lock.

use std::sync::Arc;
use std::time::{Duration, Instant};

use log::{debug, warn};

use super::Run;
use super::event::Event;
use super::finish::Ending;
use super::job::{Done, Finished, Job, Report, RobotsAnswer, Then};
use super::origins::OriginRules;
use crate::error::{Error, ErrorKind, Result};
use crate::extract::Context;
use crate::fetch::Response;
use crate::frontier::Kind;
use crate::handler::{self, Ended};
use crate::http;
use crate::ledger::{End, PageMemory};
use crate::outcome::Outcome;
use crate::request::{BodyLimit, Hop, Purpose, Request};
use crate::robots::Robots;
use crate::sitemap;
use crate::uri;

/// How much of a robots.txt is read (RFC 9309 section 2.5 asks for 500 KiB).
const ROBOTS_BYTES: u64 = 1024 * 1024;
/// Redirects of a robots.txt that are followed (RFC 9309 section 2.3.1.2).
const ROBOTS_HOPS: usize = 5;
/// How deep indexes of sitemaps may be nested. The protocol knows one level.
const SITEMAP_NESTING: u32 = 5;
/// How much of a sitemap is read, compressed or not. It is asked for as what
/// it is, so neither the types nor the size that pages may have hold for it.
const SITEMAP_BYTES: u64 = sitemap::MAX_TEXT as u64;

/// What is remembered of a job while its report is on the way.
pub(super) struct Memo {
    request: Request,
    status: Option<u16>,
    bytes: u64,
    elapsed: Duration,
    message: Option<String>,
}

impl Run {
    /// Takes jobs until there are none.
    pub(super) fn work(self: &Arc<Self>) {
        let mut rng = fastrand::Rng::new();
        let mut last: Option<(Report, Memo)> = None;
        loop {
            let (report, memo) = last.take().unzip();
            let mut turn = match report {
                Some(report) if !self.policy.jitter.is_zero() => {
                    let turn = self.pool.report(report);
                    self.after(turn.spawn, turn.ending.as_ref(), memo.as_ref(), turn.journal_full);
                    self.pool.rest(Instant::now() + self.policy.jitter.mul_f64(rng.f64()));
                    self.pool.turn(None)
                }
                report => self.pool.turn(report),
            };
            self.after(turn.spawn, turn.ending.as_ref(), memo.as_ref(), turn.journal_full);
            let Some(job) = turn.job.take() else { return };
            last = Some(self.perform(*job));
        }
    }

    /// What follows from a report, outside the lock.
    fn after(
        self: &Arc<Self>,
        spawn: bool,
        ending: Option<&Ending>,
        memo: Option<&Memo>,
        journal_full: bool,
    ) {
        if spawn {
            self.spawn();
        }
        if let (Some(ending), Some(memo)) = (ending, memo) {
            self.tell(ending, memo);
        }
        if journal_full {
            self.pool.wait_for_room();
        }
    }

    /// Logs how a request ended, and tells those who look on.
    fn tell(&self, ending: &Ending, memo: &Memo) {
        let url = memo.request.url();
        let shown = || uri::without_credentials(url);
        let attempt = memo.request.attempt();
        let message = memo.message.as_deref().unwrap_or_default();
        match ending {
            Ending::Ended(End::Failed(kind)) => {
                warn!("{}: failed after {attempt} attempts ({kind}): {message}", shown());
            }
            Ending::Ended(_) if !message.is_empty() => warn!("{}: {message}", shown()),
            Ending::Retrying { delay } => {
                debug!("{}: attempt {attempt} failed, next in {delay:?}: {message}", shown());
            }
            Ending::Robots if !message.is_empty() => warn!("{}: {message}", shown()),
            _ => {}
        }
        if !self.events.wanted() {
            return;
        }
        match ending {
            Ending::Ended(end) => self.events.send(&Event::Ended {
                url: url.clone(),
                end: *end,
                status: memo.status,
                attempts: attempt,
                bytes: memo.bytes,
                elapsed: memo.elapsed,
            }),
            Ending::Retrying { delay } => self.events.send(&Event::Retrying {
                url: url.clone(),
                attempt,
                delay: *delay,
                message: message.to_owned(),
            }),
            _ => {}
        }
    }

    fn perform(&self, job: Job) -> (Report, Memo) {
        let start = Instant::now();
        let request = self.with_host_headers(job.request());
        if self.events.wanted() {
            self.events.send(&Event::Started {
                url: request.url().clone(),
                attempt: request.attempt(),
            });
        }
        let (request, answer) = match job.kind() {
            Kind::Robots { .. } => self.robots(request),
            Kind::Sitemap => self.sitemap(request, &job),
            Kind::Page => self.page(request, &job),
        };
        let Answer { status, bytes, finished } = answer;
        let message = match &finished {
            Finished::Failed(error) | Finished::Fatal(error) => Some(error.to_string()),
            Finished::Done(done) => done.message.clone(),
            Finished::Robots(RobotsAnswer::Rules { note, .. }) => note.clone(),
            _ => None,
        };
        let url = uri::without_credentials(request.url()).as_str().to_owned();
        let memo = Memo { request, status, bytes, elapsed: start.elapsed(), message };
        (Report { id: job.id, url, status, bytes, finished }, memo)
    }

    /// Headers that the configuration gives to the request's host. Worked out
    /// for each hop anew, so that none follows to another host.
    fn with_host_headers(&self, mut request: Request) -> Request {
        if self.policy.hosts.is_empty() {
            return request;
        }
        if let Some(rule) = self.policy.host_rule(&uri::host_key(request.url())) {
            for (name, value) in &rule.headers {
                if !request.headers().iter().any(|(own, _)| own.eq_ignore_ascii_case(name)) {
                    request = request.with_header(name, value);
                }
            }
        }
        request
    }

    fn page(&self, request: Request, job: &Job) -> (Request, Answer) {
        let known = self.pages.as_ref().and_then(|pages| pages.get(job.entry.fingerprint));
        let request = match &known {
            Some(known) => with_validators(request, &known.memory),
            None => request,
        };
        let cx = Context::new(request, Arc::clone(&self.services))
            .with_previous(known.as_ref().and_then(|known| known.memory.hash));
        let report = handler::run(&*self.handler, cx);
        let status = report.response.as_ref().map(|response| response.status());
        let bytes = report.response.as_ref().map_or(0, |response| response.body().len() as u64);
        let then = match report.ended {
            Ended::Redirected { status, target } => {
                let seed = job.entry.seed;
                let hop = self.admit.hop(&report.request, status, target, Purpose::Page, seed);
                let finished = Finished::Redirected(Box::new(hop));
                return (report.request, Answer { status: Some(status), bytes, finished });
            }
            Ended::Unchanged => {
                let done = Done { unchanged: true, ..Done::default() };
                let finished = Finished::Done(Box::new(done));
                return (report.request, Answer { status, bytes, finished });
            }
            Ended::Outcome(outcome) => match outcome {
                Outcome::Done => Then::Go,
                Outcome::Stop => Then::Stop,
                Outcome::Abort(scope) => Then::Abort(scope),
                Outcome::Fail(error)
                    if known.is_some() && matches!(error.status(), Some(404 | 410)) =>
                {
                    let error = error.with_message("gone: it was there on an earlier pass");
                    let finished = Finished::Failed(error);
                    return (report.request, Answer { status, bytes, finished });
                }
                other => {
                    let finished = unfinished(other);
                    return (report.request, Answer { status, bytes, finished });
                }
            },
        };
        let page = report.response.as_deref().filter(|_| self.pages.is_some()).map(remember);
        let done = Done {
            links: report.effects.links.into_iter().map(|link| self.admit.link(link)).collect(),
            records: report.effects.records.into_iter().map(|record| record.into_bytes()).collect(),
            page,
            then,
            ..Done::default()
        };
        (report.request, Answer { status, bytes, finished: Finished::Done(Box::new(done)) })
    }

    fn sitemap(&self, request: Request, job: &Job) -> (Request, Answer) {
        let limit = BodyLimit { bytes: SITEMAP_BYTES, keep_start: true };
        let request = request.with_body_limit(limit);
        let cx = Context::new(request, Arc::clone(&self.services));
        let report = handler::run(&*self.fetch_only, cx);
        let status = report.response.as_ref().map(|response| response.status());
        let bytes = report.response.as_ref().map_or(0, |response| response.body().len() as u64);
        let finished = match (report.ended, report.response.as_deref()) {
            (Ended::Redirected { status, target }, _) => Finished::Redirected(Box::new(
                self.admit.hop(&report.request, status, target, Purpose::Sitemap, job.entry.seed),
            )),
            (Ended::Outcome(Outcome::Done), Some(response)) => {
                match self.read_sitemap(&report.request, response) {
                    Ok(done) => Finished::Done(Box::new(done)),
                    Err(error) => Finished::Failed(error),
                }
            }
            // Nobody has said that there is one.
            (Ended::Outcome(Outcome::Fail(error)), _)
                if report.request.referrer().is_none()
                    && matches!(error.status(), Some(404 | 410)) =>
            {
                Finished::Done(Box::default())
            }
            (Ended::Outcome(outcome), _) => unfinished(outcome),
            (Ended::Unchanged, _) => {
                Finished::Done(Box::new(Done { unchanged: true, ..Done::default() }))
            }
        };
        (report.request, Answer { status, bytes, finished })
    }

    fn read_sitemap(&self, request: &Request, response: &Response) -> Result<Done> {
        let read = sitemap::parse(response.body());
        let is_index = read.kind == sitemap::Kind::Index;
        if read.entries.is_empty()
            && (read.error.is_some() || read.kind == sitemap::Kind::Unknown)
        {
            let why = read.error.map_or_else(|| "nothing it knows".to_owned(), |e| e.to_string());
            return Err(Error::new(ErrorKind::Extract)
                .with_message(format!("not a sitemap: {why}"))
                .with_status(response.status()));
        }
        let referrer: Arc<str> = uri::without_credentials(response.url()).as_str().into();
        let nested = request.depth() + 1;
        let mut done = Done {
            message: read.error.map(|error| format!("the sitemap was read in part: {error}")),
            ..Done::default()
        };
        for entry in read.entries {
            let Some(url) = uri::resolve(response.url(), &entry.loc) else { continue };
            let found = Request::new(crate::Method::Get, url).with_referrer(Some(referrer.clone()));
            if !is_index {
                done.links.push(self.admit.link(found.with_depth(1)));
            } else if nested <= SITEMAP_NESTING {
                done.links.push(self.admit.sitemap(found.with_depth(nested)));
            } else {
                done.message = Some(format!("sitemap indexes are nested over {SITEMAP_NESTING} deep"));
            }
        }
        Ok(done)
    }

    fn robots(&self, request: Request) -> (Request, Answer) {
        let limit = BodyLimit { bytes: ROBOTS_BYTES, keep_start: true };
        let request = request.with_body_limit(limit);
        let fetched = self.services.fetch_now(&request);
        let (status, bytes, answer) = match fetched {
            Ok(response) => {
                let (status, bytes) = (response.status(), response.body().len() as u64);
                (Some(status), bytes, self.read_robots(&request, &response))
            }
            // It will be said of each page: nothing is sent anyway.
            Err(error) if error.kind() == ErrorKind::Invalid => (None, 0, Ok(self.no_robots())),
            Err(error) => (None, 0, Err(error)),
        };
        let finished = match answer {
            Ok(answer) => Finished::Robots(answer),
            Err(error) => Finished::Failed(error),
        };
        (request, Answer { status, bytes, finished })
    }

    fn read_robots(&self, request: &Request, response: &Response) -> Result<RobotsAnswer> {
        let status = response.status();
        match status {
            200..=299 => {
                let body = response.body();
                let robots = if response.truncated() {
                    Robots::parse_truncated(body)
                } else {
                    Robots::parse(body)
                };
                let note = if robots.looks_like_html() {
                    Some("robots.txt is HTML: it has no rules".to_owned())
                } else if robots.truncated() {
                    Some("robots.txt is over-long: only its first part is obeyed".to_owned())
                } else {
                    None
                };
                let rules = robots.rules_for(&self.product_token);
                let crawl_delay = robots.crawl_delay(&self.product_token);
                Ok(RobotsAnswer::Rules {
                    rules: Arc::new(OriginRules { rules, crawl_delay }),
                    body: if self.pages.is_some() { body.into() } else { Arc::default() },
                    sitemaps: self.sitemaps_of(request, robots.sitemaps()),
                    note,
                })
            }
            429 | 500..=599 => {
                let error = Error::new(ErrorKind::Http).with_status(status);
                let after = http::retry_after_fields(
                    response.header_all("retry-after"),
                    response.header_bytes("date"),
                    self.services.wall_now(),
                );
                Err(after.into_iter().fold(error, Error::with_retry_after))
            }
            _ if response.is_redirect() && request.hops().len() < ROBOTS_HOPS => {
                let target = response
                    .header_bytes("location")
                    .and_then(|raw| uri::resolve_location(request.url(), raw));
                Ok(match target {
                    Some(target) => {
                        let mut hops = request.hops().to_vec();
                        hops.push(Hop { url: request.url().clone(), status });
                        let next = Request::new(crate::Method::Get, target)
                            .with_priority(request.priority())
                            .with_hops(hops);
                        RobotsAnswer::Redirected(Box::new(next))
                    }
                    None => self.no_robots(),
                })
            }
            // 4xx: there is none (RFC 9309 section 2.3.1.3). The same after
            // too many redirects (section 2.3.1.2).
            _ => Ok(RobotsAnswer::Rules {
                rules: Arc::default(),
                body: Arc::default(),
                sitemaps: self.sitemaps_of(request, &[]),
                note: None,
            }),
        }
    }

    fn no_robots(&self) -> RobotsAnswer {
        RobotsAnswer::Rules {
            rules: Arc::default(),
            body: Arc::default(),
            sitemaps: Vec::new(),
            note: None,
        }
    }

    /// The sitemaps of a seed's origin: those its robots.txt names, or the
    /// usual place.
    fn sitemaps_of(&self, request: &Request, named: &[String]) -> Vec<crate::frontier::Candidate> {
        if !self.sitemaps || !self.seed_hosts.contains(&*uri::host_key(request.requested())) {
            return Vec::new();
        }
        let base = request.requested();
        let sitemap = |text: &str, referrer: Option<Arc<str>>| {
            let url = uri::resolve(base, text)?;
            let found = Request::new(crate::Method::Get, url).with_referrer(referrer);
            Some(self.admit.sitemap(found))
        };
        if named.is_empty() {
            return sitemap("/sitemap.xml", None).into_iter().collect();
        }
        let referrer: Arc<str> = base.as_str().into();
        named.iter().filter_map(|text| sitemap(text, Some(referrer.clone()))).collect()
    }
}

/// What came of a job, and what is counted of it.
struct Answer {
    status: Option<u16>,
    bytes: u64,
    finished: Finished,
}

/// What an outcome that does not end the request means to the engine.
fn unfinished(outcome: Outcome) -> Finished {
    match outcome {
        Outcome::Retry { after } => Finished::Retry { after },
        Outcome::Backoff { scope, duration } => Finished::Backoff { scope, duration },
        Outcome::Fail(error) => Finished::Failed(error),
        Outcome::Fatal(error) => Finished::Fatal(error),
        Outcome::Done | Outcome::Abort(_) | Outcome::Stop => Finished::Done(Box::default()),
    }
}

/// Asks for a page only if it has changed (RFC 9110 section 13.1).
fn with_validators(mut request: Request, known: &PageMemory) -> Request {
    if let Some(etag) = &known.etag {
        request = request.with_header("If-None-Match", etag);
    }
    if let Some(date) = &known.last_modified {
        request = request.with_header("If-Modified-Since", date);
    }
    request
}

/// What is kept of a page for a later pass.
fn remember(response: &Response) -> Box<PageMemory> {
    let text = |name| response.header(name).map(std::borrow::Cow::into_owned);
    Box::new(PageMemory {
        etag: text("etag"),
        last_modified: text("last-modified"),
        hash: Some(uri::hash(response.body())),
        bytes: response.body().len() as u64,
        elapsed: response.elapsed(),
    })
}
