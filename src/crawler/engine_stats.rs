//! What the engine tells of itself: how the run goes, what it waits for, and
//! how it ended. Keeps: looking changes nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::engine::{Engine, Homeless};
use super::job::Why;
use super::origins::RobotsState;
use super::stats::{Bound, ParkReason, Parked, RunEnd, Stats, Waiting};
use crate::admission::SkipReason;
use crate::error::Error;
use crate::frontier::{ChunkId, Entry, Kind};
use crate::ledger::{Change, Totals};
use crate::politeness::{Host, Trip};
use crate::request::Request;

/// How many paths with many queries are named at the end of a run.
const PATHS_NAMED: usize = 10;

impl Engine {
    /// Notes what the run begins with, for those who ask how it goes.
    pub(super) fn note_beginning(&mut self, began_with: u64, pass: u64) {
        self.counts.began_with = began_with;
        self.counts.pass = pass;
    }

    /// Whether the run is stopping.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.stopped.is_some()
    }

    /// The error that ended the run, if one did.
    pub fn take_fatal(&mut self) -> Option<Error> {
        self.fatal.take()
    }

    /// The changes since they were last taken, oldest first.
    pub fn take_changes(&mut self) -> Vec<Change> {
        self.journal.take()
    }

    /// The sums of this run so far.
    #[must_use]
    pub fn totals(&self, now: Instant) -> Totals {
        Totals {
            requests: self.counts.requests,
            retried: self.counts.retried,
            unchanged: self.counts.unchanged,
            bytes: self.counts.bytes,
            elapsed: self.elapsed(now),
        }
    }

    fn elapsed(&self, now: Instant) -> Duration {
        self.started.map_or(Duration::ZERO, |started| {
            now.saturating_duration_since(started)
        })
    }

    /// How much memory the changes take that are kept, in bytes, roughly.
    #[must_use]
    pub fn backlog(&self) -> usize {
        self.journal.bytes()
    }

    /// URLs that are queued or in flight.
    #[must_use]
    pub fn pending(&self) -> u64 {
        self.counts.queued + self.pages_in_flight()
    }

    /// URLs in flight: requests but for those of robots.txt.
    fn pages_in_flight(&self) -> u64 {
        (self.in_flight.len() - self.robots_in_flight) as u64
    }

    /// Requests in flight, those for robots.txt included.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// How many requests may be in flight at `now`.
    #[must_use]
    pub fn cap(&self, now: Instant) -> usize {
        self.limiter.cap(now)
    }

    /// What is known of a host, by its name.
    #[must_use]
    pub fn host(&self, name: &str) -> Option<&Host> {
        self.hosts.find(name).map(|id| self.hosts.get(id))
    }

    /// Hosts that are known.
    #[must_use]
    pub fn hosts_known(&self) -> usize {
        self.hosts.len()
    }

    /// Everything that is queued, in no order. `read` gives what was put away;
    /// what it does not give is left out.
    pub fn queue(&self, read: impl Fn(ChunkId) -> Option<Arc<[u8]>>) -> Vec<Request> {
        let mut all = Vec::new();
        let mut add = |origin, tag, entry: &Entry| {
            if !matches!(entry.kind, Kind::Robots { .. }) {
                let origin = &self.origins.get(origin).name;
                all.push(entry.request(origin, self.tags.name(tag)));
            }
        };
        self.schedule
            .each(read, |lane, entry| add(lane.origin, lane.tag, entry));
        for held in self.delayed.iter() {
            add(held.origin, held.tag, &held.entry);
        }
        all
    }

    /// How the run goes at `now`.
    #[must_use]
    pub fn stats(&self, now: Instant) -> Stats {
        let mut stats = self.counts.clone();
        stats.in_flight = self.pages_in_flight();
        stats.cap = self.limiter.cap(now);
        stats.elapsed = self.started.map_or(Duration::ZERO, |started| {
            now.saturating_duration_since(started)
        });
        stats.waiting = self.why.map(|why| self.waiting(why));
        stats
    }

    fn waiting(&self, why: Why) -> Waiting {
        let host = |id| Arc::clone(&self.hosts.get(id).name);
        match why {
            Why::Rate => Waiting::Rate,
            Why::Gap(id) => Waiting::HostGap(host(id)),
            Why::Pause(id) => Waiting::HostPause(host(id)),
            Why::HostLimit => Waiting::HostLimit,
            Why::Tag(id) => Waiting::TagPause(self.tags.name(id).clone()),
            Why::Crawl => Waiting::CrawlPause,
            Why::Robots => Waiting::Robots,
            Why::Retry(id) => Waiting::RetryDelay(host(id)),
            Why::Cap => Waiting::Cap,
            Why::WarmUp => Waiting::WarmUp,
            Why::Load => Waiting::Queue,
            Why::Nothing => Waiting::NothingQueued,
            Why::Stopping => Waiting::Stopping,
        }
    }

    /// Ends the run: says how it went, and lets go of URLs that stayed too deep.
    pub fn end_run(&mut self, now: Instant) -> Stats {
        let deep: Vec<Homeless> = {
            let mut deep: Vec<_> = std::mem::take(&mut self.deep).into_values().collect();
            deep.sort_by_key(|homeless| homeless.entry.age);
            deep
        };
        for homeless in deep {
            self.journal_skip(&homeless, SkipReason::Depth);
            self.release(homeless.origin);
        }
        self.why = None;
        let mut stats = self.stats(now);
        stats.parked = self.parked();
        let many = self.variants.many().into_iter().take(PATHS_NAMED);
        stats.many_queries = many.map(|(path, count)| (path.to_owned(), count)).collect();
        stats.unmatched_host_rules = self
            .policy
            .hosts
            .iter()
            .zip(self.hosts.rule_used())
            .filter(|(_, used)| !**used)
            .map(|(rule, _)| rule.name.clone())
            .collect();
        stats.end = Some(self.run_end(&stats));
        stats
    }

    fn run_end(&self, stats: &Stats) -> RunEnd {
        let fetched_nothing = stats.pages == 0 && self.done_before == 0;
        match self.stopped {
            Some((_, end @ (RunEnd::Refused(_) | RunEnd::Error))) => end,
            // A stop or a bound that came when all was done changed nothing.
            Some((_, end)) if stats.pending() > 0 => end,
            _ if fetched_nothing && stats.discovered > 0 => RunEnd::Nothing,
            _ if stats.pending() == 0 => RunEnd::Complete,
            _ if stats
                .parked
                .iter()
                .all(|parked| parked.reason == ParkReason::PageLimit) =>
            {
                RunEnd::Bound(Bound::PagesPerHost)
            }
            _ => RunEnd::HostsParked,
        }
    }

    fn parked(&self) -> Vec<Parked> {
        let mut parked: Vec<Parked> = self
            .hosts
            .iter()
            .filter(|host| host.parked())
            .map(|host| Parked {
                host: Arc::clone(&host.name),
                reason: ParkReason::Failures(host.failures()),
            })
            .collect();
        let unreachable = |origin: &&super::origins::Origin| {
            matches!(origin.robots, RobotsState::GivenUp) && origin.refs > 0
        };
        parked.extend(
            self.origins
                .iter()
                .filter(unreachable)
                .map(|origin| Parked {
                    host: authority(&origin.name),
                    reason: ParkReason::RobotsUnreachable,
                }),
        );
        parked.extend(self.full.keys().map(|host| Parked {
            host: Arc::clone(&self.hosts.get(*host).name),
            reason: ParkReason::PageLimit,
        }));
        parked.sort_by(|a, b| a.host.cmp(&b.host));
        parked.dedup_by(|a, b| a.host == b.host);
        parked
    }

    /// Which stop rule ended the run, if one did.
    #[must_use]
    pub fn tripped(&self) -> Option<Trip> {
        match self.stopped {
            Some((_, RunEnd::Refused(trip))) => Some(trip),
            _ => None,
        }
    }
}

/// An origin without its scheme: a host, and its port if it is not the usual
/// one.
fn authority(origin: &Arc<str>) -> Arc<str> {
    match origin.split_once("://") {
        Some((_, authority)) => authority.into(),
        None => Arc::clone(origin),
    }
}
