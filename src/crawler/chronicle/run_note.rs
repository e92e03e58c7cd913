//! [`RunNote`]: one run in a few numbers: what it was told, when it began, how
//! it ended.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::urls::start_of;
use crate::crawler::stats::{Bound, RunEnd, Stats};
use crate::policy::Policy;

/// Hosts left for the next run that are named.
const MAX_PARKED: usize = 20;
/// Bytes of a name or a reason that are kept.
const MAX_TEXT: usize = 200;

/// One run of a crawl.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RunNote {
    /// Its number; 1 for the first of the crawl.
    pub number: u64,
    /// The number of its pass.
    pub pass: u64,
    /// When it began, in milliseconds since 1970.
    pub began: u64,
    /// How long it took, or has taken so far, in milliseconds.
    pub elapsed: u64,
    /// How it ended, in a word; `None` while it goes on, and for ever if it
    /// was killed.
    pub end: Option<String>,
    /// What there is to say about the end besides.
    pub detail: Option<String>,
    /// The most starts a minute that it was allowed.
    pub per_minute: Option<f64>,
    /// Starts that might follow at once after idling.
    pub burst: u32,
    /// Requests that might be in flight.
    pub concurrency: u64,
    /// The least gap on each host, in milliseconds.
    pub host_delay: u64,
    /// URLs that were queued when it began.
    pub began_with: u64,
    /// Requests started.
    pub requests: u64,
    /// URLs that were found.
    pub urls: u64,
    /// URLs whose handler is done with them.
    pub done: u64,
    /// Of these, those that were as on an earlier pass.
    pub unchanged: u64,
    /// URLs that led to another.
    pub redirected: u64,
    /// URLs that failed for good.
    pub failed: u64,
    /// URLs that are not asked for.
    pub skipped: u64,
    /// URLs that are left.
    pub pending: u64,
    /// Attempts that were followed by another.
    pub retried: u64,
    /// Requests that were given up after a stop.
    pub cancelled: u64,
    /// Records that were written.
    pub records: u64,
    /// Decoded body bytes.
    pub bytes: u64,
    /// Hosts that are left for the next run, and why.
    pub parked: BTreeMap<String, String>,
}

impl RunNote {
    /// A run that begins.
    #[must_use]
    pub fn new(policy: &Policy, number: u64, pass: u64) -> Self {
        RunNote {
            number,
            pass,
            per_minute: policy.max_requests_per_minute,
            burst: policy.burst,
            concurrency: policy.concurrency as u64,
            host_delay: millis(policy.host_delay),
            ..RunNote::default()
        }
    }

    /// Takes in how it goes.
    pub(super) fn update(&mut self, stats: &Stats) {
        self.elapsed = millis(stats.elapsed);
        self.began_with = stats.began_with;
        self.requests = stats.requests;
        self.urls = stats.discovered;
        self.done = stats.succeeded;
        self.unchanged = stats.unchanged;
        self.redirected = stats.redirected;
        self.failed = stats.failed;
        self.skipped = stats.skipped;
        self.pending = stats.pending();
        self.retried = stats.retried;
        self.cancelled = stats.cancelled;
        self.records = stats.records;
        self.bytes = stats.bytes;
    }

    /// Takes in how it ended.
    pub(super) fn end(&mut self, stats: &Stats) {
        self.update(stats);
        let (end, detail) = match stats.end {
            Some(RunEnd::Complete) => ("complete", None),
            Some(RunEnd::Bound(bound)) => {
                let key = match bound {
                    Bound::Requests => "max_requests",
                    Bound::Deadline => "deadline",
                    Bound::PagesPerHost => "max_pages_per_host",
                };
                ("bound", Some(format!("{key} is reached")))
            }
            Some(RunEnd::Refused(trip)) => ("refused", Some(trip.to_string())),
            Some(RunEnd::HostsParked) => ("refused", Some("some hosts are left".to_owned())),
            Some(RunEnd::Nothing) => ("nothing", None),
            Some(RunEnd::Stopped) => ("interrupted", None),
            Some(RunEnd::Error) | None => ("error", None),
        };
        self.end = Some(end.to_owned());
        self.detail = detail.map(|text| start_of(&text, MAX_TEXT));
        self.parked = stats
            .parked
            .iter()
            .take(MAX_PARKED)
            .map(|parked| {
                let reason = start_of(&parked.reason.to_string(), MAX_TEXT);
                (start_of(&parked.host, MAX_TEXT), reason)
            })
            .collect();
    }
}

/// Whole milliseconds.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
