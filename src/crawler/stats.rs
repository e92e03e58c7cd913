//! [`Stats`]: how a run goes, and how it ended. Keeps: the counts of URLs add
//! up to what was found.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::admission::SkipReason;
use crate::error::ErrorKind;
use crate::politeness::Trip;
use crate::request::Tag;

/// How a run goes, or how it ended. It displays as one line.
///
/// ```
/// use canter::extract::Links;
/// use canter::fetch::MockSite;
/// use canter::{Crawler, ErrorKind};
///
/// let site = MockSite::new().page("http://a.test/", |page| page.html("<a href=/gone>"));
/// let stats = Crawler::builder()
///     .seed("http://a.test/")
///     .fetcher(site)
///     .handler(|links: Links, queue: canter::extract::Queue| {
///         queue.follow_all(links);
///     })
///     .build()?
///     .run()?;
/// assert_eq!((stats.succeeded, stats.failed), (1, 1));
/// assert_eq!(stats.failed_by_kind[&ErrorKind::Rejected], 1);
/// assert_eq!(stats.requests, 3, "the two, and robots.txt");
/// assert!(stats.adds_up());
/// # Ok::<(), canter::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Requests started: every attempt and hop, robots.txt and sitemaps too.
    pub requests: u64,
    /// URLs that were found and are in one of the counts below.
    pub discovered: u64,
    /// URLs whose handler is done with them, unchanged ones included.
    pub succeeded: u64,
    /// Of these, pages: the others are sitemaps.
    pub pages: u64,
    /// Of the pages, those that were as on an earlier pass (status 304).
    pub unchanged: u64,
    /// URLs that led to another URL.
    pub redirected: u64,
    /// URLs that failed for good.
    pub failed: u64,
    /// The same by kind.
    pub failed_by_kind: BTreeMap<ErrorKind, u64>,
    /// URLs that are not asked for.
    pub skipped: u64,
    /// The same by reason.
    pub skipped_by_reason: BTreeMap<SkipReason, u64>,
    /// URLs that are queued.
    pub queued: u64,
    /// URLs that are in flight.
    pub in_flight: u64,
    /// Attempts that were followed by another.
    pub retried: u64,
    /// Requests that were given up in flight after a stop; their URLs are queued.
    pub cancelled: u64,
    /// URLs that were queued when the run began.
    pub began_with: u64,
    /// The number of the pass over the site, with a state; 1 for the first.
    pub pass: u64,
    /// Records that were emitted and committed.
    pub records: u64,
    /// Decoded body bytes.
    pub bytes: u64,
    /// Requests that may be in flight at once, as things are.
    pub cap: usize,
    /// How long the run has taken.
    pub elapsed: Duration,
    /// What the next start waits for, if it waits.
    pub waiting: Option<Waiting>,
    /// How the run ended, if it has.
    pub end: Option<RunEnd>,
    /// Hosts whose URLs are left for the next run, and why.
    pub parked: Vec<Parked>,
    /// Paths that were found with many different queries, and with how many,
    /// most first. One of them without end is what may have spent a bound.
    pub many_queries: Vec<(String, u32)>,
    /// Names of host rules that no host has met.
    pub unmatched_host_rules: Vec<String>,
}

/// A host whose remaining URLs are left for the next run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parked {
    /// Its name, with the port when that port's robots.txt is the reason and it
    /// is not the usual one.
    pub host: Arc<str>,
    /// Why.
    pub reason: ParkReason,
}

/// Why a host is left for the next run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParkReason {
    /// So many of its URLs failed in a row.
    Failures(u32),
    /// Its robots.txt cannot be read.
    RobotsUnreachable,
    /// It has had as many pages as the policy allows in a run.
    PageLimit,
}

impl fmt::Display for ParkReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParkReason::Failures(n) => write!(f, "{n} failures in a row (max_host_failures)"),
            ParkReason::RobotsUnreachable => f.write_str("its robots.txt cannot be read"),
            ParkReason::PageLimit => f.write_str("max_pages_per_host is reached"),
        }
    }
}

/// What the next start waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Waiting {
    /// The rate of the whole crawl.
    Rate,
    /// The gap between two starts on this host.
    HostGap(Arc<str>),
    /// This host's pause.
    HostPause(Arc<str>),
    /// A request in flight, since every host with work has as many as allowed.
    HostLimit,
    /// The pause of this tag.
    TagPause(Tag),
    /// A pause of the whole crawl.
    CrawlPause,
    /// A robots.txt.
    Robots,
    /// The delay before a retry on this host.
    RetryDelay(Arc<str>),
    /// A request in flight, since as many are as the cap allows.
    Cap,
    /// The warm-up.
    WarmUp,
    /// The next part of the queue, which is being read from the disk.
    Queue,
    /// Requests in flight, since nothing is queued.
    NothingQueued,
    /// Requests in flight, since the run is stopping.
    Stopping,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Waiting::Rate => f.write_str("rate"),
            Waiting::HostGap(host) => write!(f, "gap of {host}"),
            Waiting::HostPause(host) => write!(f, "pause of {host}"),
            Waiting::HostLimit => f.write_str("host limit"),
            Waiting::TagPause(tag) => write!(f, "pause of tag {tag}"),
            Waiting::CrawlPause => f.write_str("pause of the crawl"),
            Waiting::Robots => f.write_str("robots.txt"),
            Waiting::RetryDelay(host) => write!(f, "retry on {host}"),
            Waiting::Cap => f.write_str("concurrency"),
            Waiting::WarmUp => f.write_str("warm-up"),
            Waiting::Queue => f.write_str("the disk"),
            Waiting::NothingQueued => f.write_str("answers"),
            Waiting::Stopping => f.write_str("requests in flight"),
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum RunEnd {
    /// Nothing is left to do.
    Complete,
    /// A bound of the policy was reached; the rest is pending.
    Bound(Bound),
    /// A stop rule ended it, since the site refuses.
    Refused(Trip),
    /// Everything else is done, but some hosts are left for the next run.
    HostsParked,
    /// No page could be fetched.
    Nothing,
    /// A handler or the stop handle ended it; the rest is pending.
    Stopped,
    /// An error ended it.
    Error,
}

/// Which bound of the policy ended a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bound {
    /// `max_requests`
    Requests,
    /// `deadline`
    Deadline,
    /// `max_pages_per_host`
    PagesPerHost,
}

impl Stats {
    /// Whether the counts of URLs add up to what was found.
    #[must_use]
    pub fn adds_up(&self) -> bool {
        let ended = self.succeeded + self.redirected + self.failed + self.skipped;
        self.discovered == ended + self.queued + self.in_flight
            && self.failed == self.failed_by_kind.values().sum::<u64>()
            && self.skipped == self.skipped_by_reason.values().sum::<u64>()
    }

    /// URLs that have not ended.
    #[must_use]
    pub fn pending(&self) -> u64 {
        self.queued + self.in_flight
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} done", self.succeeded)?;
        if self.unchanged > 0 {
            write!(f, " ({} unchanged)", self.unchanged)?;
        }
        write!(
            f,
            ", {} redirected, {} failed",
            self.redirected, self.failed
        )?;
        list(f, &self.failed_by_kind)?;
        write!(f, ", {} skipped", self.skipped)?;
        list(f, &self.skipped_by_reason)?;
        write!(
            f,
            ", {} pending; {} requests, {} retried, {} bytes, {:.1} s",
            self.pending(),
            self.requests,
            self.retried,
            self.bytes,
            self.elapsed.as_secs_f64()
        )
    }
}

fn list<K: fmt::Display>(f: &mut fmt::Formatter<'_>, counts: &BTreeMap<K, u64>) -> fmt::Result {
    for (at, (name, count)) in counts.iter().enumerate() {
        write!(f, "{}{name} {count}", if at == 0 { " (" } else { ", " })?;
    }
    if counts.is_empty() {
        Ok(())
    } else {
        f.write_str(")")
    }
}
