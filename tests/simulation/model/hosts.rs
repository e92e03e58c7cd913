//! What is owed to each host, by the letter of the design, and what waits for
//! it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use canter::{Policy, Tag};

/// The number of a host, and of an origin, in the model.
pub(super) type HostId = usize;
pub(super) type OriginId = usize;

/// URLs of one origin and tag that wait for nothing of their own.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Group {
    pub(super) pages: u32,
    pub(super) private_pages: u32,
    pub(super) maps: u32,
    pub(super) private_maps: u32,
}

impl Group {
    pub(super) fn count(&mut self, map: bool, private: bool) -> &mut u32 {
        match (map, private) {
            (false, false) => &mut self.pages,
            (false, true) => &mut self.private_pages,
            (true, false) => &mut self.maps,
            (true, true) => &mut self.private_maps,
        }
    }

    pub(super) fn all(&self) -> u32 {
        self.pages + self.private_pages + self.maps + self.private_maps
    }
}

/// A host.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) name: String,
    own_gap: Duration,
    /// The gap that throttling has led to; none while it has not.
    widened: Duration,
    pub(super) limit: usize,
    last_start: Option<Instant>,
    pub(super) paused: Option<Instant>,
    slowed: Option<Instant>,
    pub(super) in_flight: usize,
    pub(super) failures: u32,
    pub(super) parked: bool,
    pub(super) pages: u64,
    pub(super) groups: BTreeMap<(OriginId, Tag), Group>,
    /// Origins whose robots.txt is to be asked for here, and could be.
    pub(super) robots: BTreeSet<OriginId>,
    /// When one of these could start, as it is entered in the model's index.
    pub(super) opens: Option<Instant>,
}

impl Host {
    pub(super) fn new(name: &str, policy: &Policy) -> Self {
        let rule = policy.hosts.iter().find(|rule| rule.name == name);
        let delay = rule.and_then(|rule| rule.delay);
        let limit = rule.and_then(|rule| rule.concurrency);
        Host {
            name: name.to_owned(),
            own_gap: delay.unwrap_or(policy.host_delay),
            widened: Duration::ZERO,
            limit: limit.unwrap_or(policy.host_concurrency),
            last_start: None,
            paused: None,
            slowed: None,
            in_flight: 0,
            failures: 0,
            parked: false,
            pages: 0,
            groups: BTreeMap::new(),
            robots: BTreeSet::new(),
            opens: None,
        }
    }

    pub(super) fn gap(&self) -> Duration {
        self.own_gap.max(self.widened)
    }

    pub(super) fn gap_over(&self) -> Option<Instant> {
        self.last_start.map(|last| last + self.gap())
    }

    /// When gap and pause are over.
    pub(super) fn rested(&self) -> Option<Instant> {
        self.gap_over().max(self.paused)
    }

    pub(super) fn has_queued(&self) -> bool {
        !self.groups.is_empty() || !self.robots.is_empty()
    }

    pub(super) fn start(&mut self, at: Instant) {
        let name = &self.name;
        if self.parked {
            violated!("parked", "a start on {name}, which failed too often");
        }
        if self.in_flight >= self.limit {
            violated!("host limit", "{} in flight on {name}", self.in_flight + 1);
        }
        if let Some(over) = self.gap_over().filter(|over| *over > at) {
            violated!("gap", "a start on {name}, {:?} too early", over - at);
        }
        if let Some(over) = self.paused.filter(|over| *over > at) {
            violated!("pause", "a start on {name}, {:?} too early", over - at);
        }
        self.last_start = Some(at);
        self.in_flight += 1;
    }

    pub(super) fn crawl_delay(&mut self, delay: Duration) {
        self.own_gap = self.own_gap.max(delay);
    }

    pub(super) fn pause(&mut self, until: Instant) {
        self.paused = self.paused.max(Some(until));
    }

    /// It said how long it wants to be left alone.
    pub(super) fn asked_to_wait(&mut self, now: Instant, until: Instant) {
        self.slowed = Some(now);
        self.pause(until);
    }

    /// It throttled a request without saying how long to wait.
    pub(super) fn throttled(&mut self, started: Instant, now: Instant, most: Duration) {
        if self.slowed.is_some_and(|slowed| slowed >= started) {
            return;
        }
        self.slowed = Some(now);
        let doubled = if self.gap().is_zero() {
            Duration::from_secs(1)
        } else {
            self.gap() * 2
        };
        self.widened = doubled.min(most);
        self.pause(now + self.gap());
    }

    /// It answered.
    pub(super) fn served(&mut self) {
        let halved = self.widened / 2;
        let back = self
            .own_gap
            .max(Duration::from_secs(u64::from(self.own_gap.is_zero())));
        let is_back = halved <= self.own_gap || halved < back;
        self.widened = if is_back { Duration::ZERO } else { halved };
    }

    pub(super) fn new_run(&mut self) {
        self.parked = false;
        self.failures = 0;
        self.pages = 0;
    }
}
