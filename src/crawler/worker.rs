//! A worker's part: a job in, a report out. Everything that takes time happens
//! here, outside the lock.

use std::sync::Arc;
use std::time::{Duration, Instant};

use log::{debug, warn};
use url::Url;

use super::Run;
use super::admit::Redirect;
use super::chronicle::Attempt;
use super::conditions::{ONCE_MORE, remember};
use super::engine::Engine;
use super::event::Event;
use super::finish::{Ending, Standing};
use super::job::{Done, Finished, Job, Report, RobotsAnswer, Then};
use crate::error::{Error, ErrorKind};
use crate::extract::Context;
use crate::frontier::{Candidate, ChunkId, Kind};
use crate::handler::{self, Ended};
use crate::ledger::{BesideLine, End};
use crate::outcome::Outcome;
use crate::request::{Purpose, Request};
use crate::uri;

/// What is remembered of a job while its report is on the way.
pub(super) struct Memo {
    request: Request,
    status: Option<u16>,
    bytes: u64,
    elapsed: Duration,
    error: Option<ErrorKind>,
    /// Whether the site said how long it wants to be left alone.
    asked: bool,
    message: Option<String>,
    /// The links that it found, by their fingerprints, but for those that may
    /// be let in when they are found again.
    links: Vec<u64>,
}

impl Memo {
    fn attempt<'a>(&'a self, ending: &'a Ending, standing: Standing) -> Attempt<'a> {
        Attempt {
            url: self.request.url(),
            ended: Instant::now(),
            took: self.elapsed,
            status: self.status,
            bytes: self.bytes,
            error: self.error,
            asked: self.asked,
            message: self.message.as_deref().unwrap_or_default(),
            ending,
            standing,
        }
    }
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
                    self.after(
                        turn.spawn,
                        turn.ending.as_ref(),
                        memo.as_ref(),
                        turn.journal_full,
                    );
                    self.pool
                        .rest(Instant::now() + self.policy.jitter.mul_f64(rng.f64()));
                    self.pool.turn(None)
                }
                report => self.pool.turn(report),
            };
            self.after(
                turn.spawn,
                turn.ending.as_ref(),
                memo.as_ref(),
                turn.journal_full,
            );
            if !turn.load.is_empty() {
                self.load(turn.load);
                continue;
            }
            if turn.waits {
                continue;
            }
            let Some(job) = turn.job.take() else { return };
            last = Some(self.perform(*job));
        }
    }

    /// Reads parts of the queue that were put away. Without them URLs would be
    /// forgotten, so that an error ends the run; the state has them all.
    fn load(&self, chunks: Vec<ChunkId>) {
        let Some(overflow) = &self.overflow else {
            return;
        };
        for id in chunks {
            match overflow.read(id) {
                // It asks for a job next, and so looks at what can start now.
                Ok(bytes) => {
                    let loaded = |engine: &mut Engine| engine.loaded(id, bytes, Instant::now());
                    self.pool.with_engine_mut(loaded);
                }
                Err(error) => return self.pool.fail(error),
            }
        }
    }

    /// What follows from a report, outside the lock.
    fn after(
        self: &Arc<Self>,
        spawn: bool,
        ending: Option<&(Ending, Standing)>,
        memo: Option<&Memo>,
        journal_full: bool,
    ) {
        if spawn {
            self.spawn();
        }
        if let (Some((ending, standing)), Some(memo)) = (ending, memo) {
            if let Some(recorder) = &self.recorder {
                recorder.ended(&memo.attempt(ending, *standing));
            }
            if matches!(ending, Ending::Ended(End::Done)) {
                for &fingerprint in &memo.links {
                    self.known.note(fingerprint);
                }
            }
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
                let times = if attempt == 1 { "attempt" } else { "attempts" };
                warn!(
                    "{}: failed after {attempt} {times} ({kind}): {message}",
                    shown()
                );
            }
            Ending::Retrying { delay } => {
                debug!(
                    "{}: attempt {attempt} failed, next in {delay:?}: {message}",
                    shown()
                );
            }
            Ending::Returned if !message.is_empty() => {
                debug!("{}: asked for again at its turn: {message}", shown());
            }
            Ending::RobotsUnreachable => {
                warn!(
                    "{}: its host is left for the next run after {attempt} failed {}: {message}",
                    shown(),
                    if attempt == 1 { "attempt" } else { "attempts" }
                );
            }
            // It leads back, but is asked for once more.
            Ending::Ended(End::Redirected) => {}
            Ending::Ended(_) | Ending::Robots if !message.is_empty() => {
                warn!("{}: {message}", shown());
            }
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
        if let Some(recorder) = &self.recorder {
            recorder.started(request.url(), job.started);
        }
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
        let Answer {
            status,
            bytes,
            finished,
        } = answer;
        let error = match &finished {
            Finished::Failed(error) | Finished::Fatal(error) => Some(error),
            _ => None,
        };
        let (error, asked) = (
            error.map(Error::kind),
            error.is_some_and(|error| error.retry_after().is_some()),
        );
        let message = match &finished {
            Finished::Failed(error) | Finished::Fatal(error) | Finished::Unanswered(error) => {
                Some(error.to_string())
            }
            Finished::Done(done) => done.message.clone(),
            Finished::Redirected(target) if target.leads_back => {
                Some(target.loop_error(status).to_string())
            }
            Finished::Retry { .. } if self.conditions.has(job.entry.fingerprint) => {
                Some(ONCE_MORE.to_owned())
            }
            Finished::Retry { .. } | Finished::Backoff { .. } => {
                Some("the handler asked for another attempt".to_owned())
            }
            Finished::Robots(RobotsAnswer::Rules { note, .. }) => note.clone(),
            _ => None,
        };
        let links = match &finished {
            Finished::Done(done) => settled(&done.links),
            _ => Vec::new(),
        };
        let url = uri::without_credentials(request.url()).as_str().to_owned();
        let memo = Memo {
            request,
            status,
            bytes,
            elapsed: start.elapsed(),
            error,
            asked,
            message,
            links,
        };
        (
            Report {
                id: job.id,
                url,
                status,
                bytes,
                finished,
            },
            memo,
        )
    }

    /// Headers that the configuration gives to the request's host. Worked out
    /// for each hop anew, so that none follows to another origin.
    fn with_host_headers(&self, mut request: Request) -> Request {
        if self.policy.hosts.is_empty() || !self.may_have_host_headers(request.url()) {
            return request;
        }
        if let Some(rule) = self.policy.host_rule(&uri::host_key(request.url())) {
            for (name, value) in &rule.headers {
                if !request
                    .headers()
                    .iter()
                    .any(|(own, _)| own.eq_ignore_ascii_case(name))
                {
                    request = request.with_header(name, value);
                }
            }
        }
        request
    }

    /// Whether a URL's origin is one that its host's headers are meant for.
    /// They may be credentials, and a rule names no port: so they go to where a
    /// seed lies, to the usual port with https, and without it only on hosts
    /// that no seed lies on.
    fn may_have_host_headers(&self, url: &Url) -> bool {
        let usual_port = url.port().is_none();
        let safe =
            url.scheme() == "https" || !self.plan.seeds.hosts().contains(&*uri::host_key(url));
        usual_port && safe || self.plan.seeds.origins().contains(&uri::origin(url))
    }

    fn page(&self, request: Request, job: &Job) -> (Request, Answer) {
        let known = self.pages.as_ref().and_then(|pages| {
            let fingerprint = job.entry.fingerprint;
            pages
                .get(fingerprint)
                .or_else(|| pages.not_due(fingerprint))
        });
        let request = match &known {
            Some(known) => {
                let fingerprint = job.entry.fingerprint;
                self.conditions.put_to(request, fingerprint, &known.memory)
            }
            None => request,
        };
        let cx = Context::new(request, Arc::clone(&self.services))
            .with_previous(known.as_ref().and_then(|known| known.memory.hash));
        let report = handler::run(&*self.handler, cx);
        let status = report.response.as_ref().map(|response| response.status());
        let bytes = report
            .response
            .as_ref()
            .map_or(0, |response| response.body().len() as u64);
        let ended = match report.ended {
            Ended::Redirected { status, target } => {
                let response = report.response.as_deref();
                let redirect = Redirect::new(status, target, Purpose::Page, response);
                let hop = self.admit.hop(&job.request(), redirect, job.entry.seed);
                Err(Finished::Redirected(Box::new(hop)))
            }
            Ended::Unchanged => Err(Finished::Done(Box::new(Done {
                unchanged: true,
                ..Done::default()
            }))),
            Ended::Unanswered(error) => Err(Finished::Unanswered(error)),
            Ended::Outcome(outcome) => match outcome {
                Outcome::Done => Ok(Then::Go),
                Outcome::Stop => Ok(Then::Stop),
                Outcome::Abort(scope) => Ok(Then::Abort(scope)),
                Outcome::Fail(error)
                    if known.is_some()
                        && report.request.attempt() <= self.policy.retry.max_retries
                        && self
                            .conditions
                            .fell(&report.request, job.entry.fingerprint, &error) =>
                {
                    Err(Finished::Retry { after: None })
                }
                Outcome::Fail(error)
                    if known.is_some() && matches!(error.status(), Some(404 | 410)) =>
                {
                    let error = error.with_message("gone: it was there on an earlier pass");
                    Err(Finished::Failed(error))
                }
                other => Err(unfinished(other)),
            },
        };
        let then = match ended {
            Ok(then) => then,
            Err(finished) => {
                return (
                    report.request,
                    Answer {
                        status,
                        bytes,
                        finished,
                    },
                );
            }
        };
        let page = report
            .response
            .as_deref()
            .filter(|_| self.pages.is_some())
            .map(|response| Box::new(remember(response)));
        let done = Done {
            links: report
                .effects
                .links
                .into_iter()
                .map(|link| self.admit.link(link))
                .collect(),
            records: report
                .effects
                .records
                .into_iter()
                .map(crate::extract::Record::into_bytes)
                .collect(),
            beside: report
                .effects
                .beside
                .into_iter()
                .map(|beside| BesideLine {
                    output: beside.output,
                    line: beside.line.into_bytes(),
                    counts: beside.counts,
                })
                .collect(),
            page,
            then,
            ..Done::default()
        };
        (
            report.request,
            Answer {
                status,
                bytes,
                finished: Finished::Done(Box::new(done)),
            },
        )
    }
}

/// What came of a job, and what is counted of it.
pub(super) struct Answer {
    pub(super) status: Option<u16>,
    pub(super) bytes: u64,
    pub(super) finished: Finished,
}

/// The fingerprints of links that are duplicates when they are found again.
fn settled(links: &[Candidate]) -> Vec<u64> {
    links
        .iter()
        .filter(|link| !link.too_deep)
        .map(|link| link.fingerprint)
        .collect()
}

/// What an outcome that does not end the request means to the engine.
pub(super) fn unfinished(outcome: Outcome) -> Finished {
    match outcome {
        Outcome::Retry { after } => Finished::Retry { after },
        Outcome::Backoff { scope, duration } => Finished::Backoff { scope, duration },
        Outcome::Fail(error) => Finished::Failed(error),
        Outcome::Fatal(error) => Finished::Fatal(error),
        Outcome::Done | Outcome::Abort(_) | Outcome::Stop => Finished::Done(Box::default()),
    }
}
