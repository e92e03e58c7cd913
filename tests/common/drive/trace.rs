//! [`Watch`]: what looks on while a crawl is driven, and [`Trace`]: a watch
//! that writes down every start with its instant, host and URL.

use std::time::{Duration, Instant};

use canter::crawler::{Ending, Engine, Job, JobId, Poll};
use canter::frontier::{Candidate, Kind};
use canter::ledger::Change;
use canter::{Admission, Request, Stats, Waiting, uri};

use super::Answer;

/// What looks on.
pub(crate) trait Watch {
    fn begun(&mut self, _at: Instant) {}
    fn pushed(&mut self, _at: Instant, _candidate: &Candidate, _admission: Admission) {}
    fn started(&mut self, _at: Instant, _job: &Job, _request: &Request, _answer: &Answer) {}
    fn ended(&mut self, _at: Instant, _ended: &Ended<'_>, _engine: &Engine) {}
    /// The engine was asked and had nothing to start; `free` workers wait.
    fn waited(&mut self, _at: Instant, _poll: &Poll, _free: usize, _engine: &Engine) {}
    /// The engine wrote something into its journal, if it keeps one.
    fn changed(&mut self, _at: Instant, _change: &Change) {}
    /// The stop handle was used.
    fn stopped(&mut self, _at: Instant) {}
    fn over(&mut self, _at: Instant, _stats: &Stats, _queue: &[Request]) {}
}

/// A job that has ended, and what came of it.
pub(crate) struct Ended<'a> {
    pub(crate) id: JobId,
    pub(crate) request: &'a Request,
    pub(crate) kind: Kind,
    pub(crate) answer: &'a Answer,
    /// What was found: links, a redirect's target, sitemaps.
    pub(crate) found: &'a [Candidate],
    pub(crate) ending: Option<&'a Ending>,
}

/// One request that was started.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Start {
    pub(crate) at: Duration,
    pub(crate) host: String,
    pub(crate) url: String,
    pub(crate) attempt: u32,
    pub(crate) robots: bool,
}

/// The trace of a crawl.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    base: Option<Instant>,
    pub(crate) starts: Vec<Start>,
    pub(crate) ends: Vec<(Duration, String, Ending)>,
    /// When the engine was asked, until when it said to wait, and for what.
    pub(crate) waits: Vec<(Duration, Option<Duration>, Waiting)>,
    pub(crate) peak: usize,
    in_flight: usize,
}

impl Trace {
    /// A run begins; times are counted from `base`.
    pub(super) fn begin(&mut self, base: Instant) {
        self.base = Some(base);
        self.in_flight = 0;
    }

    fn since(&self, at: Instant) -> Duration {
        at - self.base.expect("set by the driver")
    }

    /// Starts whose URL contains `part`, in seconds.
    pub(crate) fn seconds_of(&self, part: &str) -> Vec<f64> {
        let of_part = self.starts.iter().filter(|start| start.url.contains(part));
        of_part.map(|start| start.at.as_secs_f64()).collect()
    }

    /// Every start, in seconds.
    pub(crate) fn seconds(&self) -> Vec<f64> {
        self.seconds_of("")
    }

    /// Every start as `seconds url`.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.starts
            .iter()
            .map(|start| format!("{} {}", start.at.as_secs_f64(), start.url))
            .collect()
    }

    pub(crate) fn urls(&self) -> Vec<&str> {
        self.starts.iter().map(|start| start.url.as_str()).collect()
    }

    pub(crate) fn count(&self, part: &str) -> usize {
        self.starts
            .iter()
            .filter(|start| start.url.contains(part))
            .count()
    }

    /// The reasons for waiting, each once for a row of the same.
    pub(crate) fn reasons(&self) -> Vec<String> {
        let mut reasons: Vec<String> = self
            .waits
            .iter()
            .map(|(_, _, waiting)| waiting.to_string())
            .collect();
        reasons.dedup();
        reasons
    }
}

impl Watch for Trace {
    fn started(&mut self, at: Instant, job: &Job, request: &Request, _answer: &Answer) {
        self.in_flight += 1;
        self.peak = self.peak.max(self.in_flight);
        self.starts.push(Start {
            at: self.since(at),
            host: uri::host_key(request.url()).into_owned(),
            url: request.url().to_string(),
            attempt: request.attempt(),
            robots: matches!(job.kind(), Kind::Robots { .. }),
        });
    }

    fn ended(&mut self, at: Instant, ended: &Ended<'_>, _engine: &Engine) {
        self.in_flight -= 1;
        if let Some(ending) = ended.ending {
            self.ends.push((
                self.since(at),
                ended.request.url().to_string(),
                ending.clone(),
            ));
        }
    }

    fn waited(&mut self, at: Instant, poll: &Poll, _free: usize, engine: &Engine) {
        let until = match poll {
            Poll::Wait(until, _) => Some(self.since(*until)),
            _ => None,
        };
        let waiting = engine.stats(at).waiting.expect("a wait has a reason");
        self.waits.push((self.since(at), until, waiting));
    }
}
