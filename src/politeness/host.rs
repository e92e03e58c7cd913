//! [`Host`]: what is owed to one host: gap, pause, requests in flight, failures
//! in a row. Keeps: two starts are never nearer than the gap, none falls into
//! a pause, and no more are in flight than allowed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::policy::MAX_DURATION;

/// The gap that throttling starts from on a host without a delay.
const FIRST_GAP: Duration = Duration::from_secs(1);
/// How long a host's failures and its widened gap are remembered after its last
/// start, when nothing is queued for it. A queue that comes back to a host
/// later than this finds it rested.
const MEMORY: Duration = Duration::from_secs(3600);

/// Whether a request to a host may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Now.
    Now,
    /// At this instant, for this reason.
    At(Instant, Hold),
    /// When a request in flight to it has ended.
    Busy,
    /// Not in this run.
    Parked,
}

/// What holds a host back until an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// The gap after its last start.
    Gap,
    /// A pause it asked for, or that its refusals brought on.
    Pause,
}

/// What is known of one host.
#[derive(Debug, Clone)]
pub struct Host {
    /// The name: lower case, no final dot, no port.
    pub name: Arc<str>,
    /// The gap by configuration or by the host's Crawl-delay.
    base_gap: Duration,
    /// The gap that throttling has widened; zero while it has not.
    throttle_gap: Duration,
    concurrency: usize,
    last_start: Option<Instant>,
    paused_until: Option<Instant>,
    slowed_at: Option<Instant>,
    in_flight: usize,
    failures: u32,
    parked: bool,
    /// Pages of this run that are in flight or have ended.
    pub pages: u64,
    /// What else refers to this host; it is kept as long as anything does.
    pub refs: usize,
}

impl Host {
    /// A host that was last asked at `last_start`, if it was.
    pub(super) fn new(
        name: Arc<str>,
        gap: Duration,
        concurrency: usize,
        last_start: Option<Instant>,
    ) -> Self {
        Host {
            name,
            base_gap: gap,
            throttle_gap: Duration::ZERO,
            concurrency,
            last_start,
            paused_until: None,
            slowed_at: None,
            in_flight: 0,
            failures: 0,
            parked: false,
            pages: 0,
            refs: 0,
        }
    }

    /// A new run begins: a parked host gets another chance.
    pub(super) fn new_run(&mut self) {
        self.parked = false;
        self.failures = 0;
        self.pages = 0;
    }

    /// The gap between two starts, as it is now.
    #[must_use]
    pub fn gap(&self) -> Duration {
        self.base_gap.max(self.throttle_gap)
    }

    /// Requests in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// The most requests in flight.
    #[must_use]
    pub fn concurrency(&self) -> usize {
        self.concurrency
    }

    /// Until when the host is left alone.
    #[must_use]
    pub fn paused_until(&self) -> Option<Instant> {
        self.paused_until
    }

    /// Whether the host has failed too often in this run.
    #[must_use]
    pub fn parked(&self) -> bool {
        self.parked
    }

    /// Failures in a row, after retries.
    #[must_use]
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Whether a request may start at `now`.
    #[must_use]
    pub fn may_start(&self, now: Instant) -> Verdict {
        if self.parked {
            return Verdict::Parked;
        }
        let gap_over = self
            .last_start
            .map(|last| last + self.gap())
            .filter(|at| *at > now);
        let pause_over = self.paused_until.filter(|at| *at > now);
        match (gap_over, pause_over) {
            (Some(gap), Some(pause)) if gap > pause => Verdict::At(gap, Hold::Gap),
            (_, Some(pause)) => Verdict::At(pause, Hold::Pause),
            (Some(gap), None) => Verdict::At(gap, Hold::Gap),
            (None, None) if self.in_flight >= self.concurrency => Verdict::Busy,
            (None, None) => Verdict::Now,
        }
    }

    /// Notes a start at `now`.
    pub fn on_start(&mut self, now: Instant) {
        debug_assert_eq!(self.may_start(now), Verdict::Now, "{}", self.name);
        self.last_start = Some(now);
        self.in_flight += 1;
    }

    /// Notes that a request is no longer in flight.
    pub fn on_end(&mut self) {
        self.in_flight -= 1;
    }

    /// A request ended well: the run of failures is over.
    pub fn on_success(&mut self) {
        self.failures = 0;
        self.on_served();
    }

    /// The host gave an answer: a widened gap halves, back to its base.
    pub fn on_served(&mut self) {
        self.throttle_gap /= 2;
        let floor = if self.base_gap.is_zero() {
            FIRST_GAP
        } else {
            self.base_gap
        };
        if self.throttle_gap < floor || self.throttle_gap <= self.base_gap {
            self.throttle_gap = Duration::ZERO;
        }
    }

    /// The host throttled a request that started at `started`, without saying
    /// how long to wait: the gap doubles and the host is left alone that long.
    /// A request that was in flight when the host was last slowed down changes
    /// nothing.
    pub fn on_throttled(&mut self, started: Instant, now: Instant, max_gap: Duration) {
        if self.slowed_at.is_some_and(|slowed| started <= slowed) {
            return;
        }
        self.slowed_at = Some(now);
        let wider = if self.gap().is_zero() {
            FIRST_GAP
        } else {
            self.gap() * 2
        };
        self.throttle_gap = wider.min(max_gap);
        self.pause(now + self.gap());
    }

    /// The host asked, at `now`, to be left alone until `until`.
    pub fn on_asked_to_wait(&mut self, now: Instant, until: Instant) {
        self.slowed_at = Some(now);
        self.pause(until);
    }

    /// Leaves the host alone until `until`, or longer if it already is.
    pub fn pause(&mut self, until: Instant) {
        self.paused_until = Some(self.paused_until.map_or(until, |held| held.max(until)));
    }

    /// Raises the gap to what the host's robots.txt asks for; never lowers it.
    /// A delay of any size is kept, up to the longest that a policy may name.
    pub fn raise_gap(&mut self, crawl_delay: Duration) {
        self.base_gap = self.base_gap.max(crawl_delay.min(MAX_DURATION));
    }

    /// A request failed for good. Parks the host after `max` in a row, and
    /// says whether that happened just now.
    pub fn on_failure(&mut self, max: u32) -> bool {
        self.failures = self.failures.saturating_add(1);
        let park = max > 0 && self.failures >= max && !self.parked;
        self.parked |= park;
        park
    }

    /// Whether nothing that matters would be lost by forgetting the host.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        let clean = self.failures == 0 && self.throttle_gap.is_zero();
        let rested = || self.last_start.is_none_or(|last| now >= last + MEMORY);
        self.refs == 0
            && self.in_flight == 0
            && !self.parked
            && (clean || rested())
            && matches!(self.may_start(now), Verdict::Now)
    }
}
