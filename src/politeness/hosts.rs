//! [`HostTable`]: what is owed to each host: gap, pause, requests in flight,
//! failures in a row. Keeps: two starts on a host are never nearer than its
//! gap, none falls into its pause, and no more are in flight than allowed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::policy::{MAX_DURATION, Policy};

/// The gap that throttling starts from on a host without a delay.
const FIRST_GAP: Duration = Duration::from_secs(1);
/// How long a host's failures and its widened gap are remembered after its last
/// start, when nothing is queued for it. A queue that comes back to a host
/// later than this finds it rested.
const MEMORY: Duration = Duration::from_secs(3600);
/// The fewest hosts before idle ones are looked for.
const SWEEP_FROM: usize = 1024;

/// The number of a host in the table.
pub type HostId = u32;

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
    fn is_idle(&self, now: Instant) -> bool {
        let clean = self.failures == 0 && self.throttle_gap.is_zero();
        let rested = || self.last_start.is_none_or(|last| now >= last + MEMORY);
        self.refs == 0
            && self.in_flight == 0
            && !self.parked
            && (clean || rested())
            && matches!(self.may_start(now), Verdict::Now)
    }
}

/// All hosts of the crawl that are not idle.
#[derive(Debug)]
pub struct HostTable {
    hosts: Vec<Option<Host>>,
    free: Vec<HostId>,
    by_name: HashMap<Arc<str>, HostId>,
    rule_used: Vec<bool>,
    counts_pages: bool,
    sweep_at: usize,
}

impl HostTable {
    /// An empty table for a policy.
    #[must_use]
    pub fn new(policy: &Policy) -> Self {
        HostTable {
            hosts: Vec::new(),
            free: Vec::new(),
            by_name: HashMap::new(),
            rule_used: vec![false; policy.hosts.len()],
            counts_pages: policy.max_pages_per_host.is_some(),
            sweep_at: SWEEP_FROM,
        }
    }

    /// Whether no host is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// How many hosts are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// The host of that name, made known if it was not.
    pub fn find_or_add(&mut self, name: &str, policy: &Policy) -> HostId {
        if let Some(id) = self.by_name.get(name) {
            return *id;
        }
        let rule = policy.hosts.iter().position(|rule| rule.matches(name));
        if let Some(at) = rule {
            self.rule_used[at] = true;
        }
        let rule = rule.map(|at| &policy.hosts[at]);
        let name: Arc<str> = name.into();
        let host = Host {
            name: Arc::clone(&name),
            base_gap: rule
                .and_then(|rule| rule.delay)
                .unwrap_or(policy.host_delay),
            throttle_gap: Duration::ZERO,
            concurrency: rule
                .and_then(|rule| rule.concurrency)
                .unwrap_or(policy.host_concurrency),
            last_start: None,
            paused_until: None,
            slowed_at: None,
            in_flight: 0,
            failures: 0,
            parked: false,
            pages: 0,
            refs: 0,
        };
        let id = if let Some(id) = self.free.pop() {
            self.hosts[id as usize] = Some(host);
            id
        } else {
            self.hosts.push(Some(host));
            (self.hosts.len() - 1) as HostId
        };
        self.by_name.insert(name, id);
        id
    }

    /// The host of that name, if it is known.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<HostId> {
        self.by_name.get(name).copied()
    }

    /// The host of that number.
    #[must_use]
    pub fn get(&self, id: HostId) -> &Host {
        self.hosts[id as usize]
            .as_ref()
            .expect("a host that is referred to is not evicted")
    }

    /// The host of that number, to be changed.
    pub fn get_mut(&mut self, id: HostId) -> &mut Host {
        self.hosts[id as usize]
            .as_mut()
            .expect("a host that is referred to is not evicted")
    }

    /// All hosts, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter().flatten()
    }

    /// Which of the policy's host rules has met a host.
    #[must_use]
    pub fn rule_used(&self) -> &[bool] {
        &self.rule_used
    }

    /// Whether so many hosts are known that a sweep is worth its time.
    #[must_use]
    pub fn wants_sweep(&self) -> bool {
        self.by_name.len() >= self.sweep_at
    }

    /// Forgets the hosts that are idle. With a bound on pages per host none
    /// is: it is counted over the run.
    pub fn sweep(&mut self, now: Instant) {
        if !self.counts_pages {
            for (id, slot) in self.hosts.iter_mut().enumerate() {
                if let Some(host) = slot
                    && host.is_idle(now)
                {
                    self.by_name.remove(&host.name);
                    self.free.push(id as HostId);
                    *slot = None;
                }
            }
        }
        // Doubling keeps the cost of sweeping a constant for each new host.
        self.sweep_at = (self.by_name.len() * 2).max(SWEEP_FROM);
    }

    /// A new run begins: parked hosts get another chance, counts start afresh.
    pub fn new_run(&mut self) {
        for host in self.hosts.iter_mut().flatten() {
            host.parked = false;
            host.failures = 0;
            host.pages = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::HostRule;

    const MAX_GAP: Duration = Duration::from_secs(60);

    fn host(delay: f64) -> (HostTable, HostId) {
        let policy = Policy::builder()
            .host_delay(Duration::from_secs_f64(delay))
            .host_concurrency(1)
            .build()
            .expect("a valid policy");
        let mut table = HostTable::new(&policy);
        let id = table.find_or_add("a.test", &policy);
        (table, id)
    }

    fn seconds(s: f64) -> Duration {
        Duration::from_secs_f64(s)
    }

    #[test]
    fn the_gap_counts_from_the_last_start() {
        let (mut table, id) = host(2.0);
        let now = Instant::now();
        let host = table.get_mut(id);
        host.on_start(now);
        host.on_end();
        assert_eq!(
            host.may_start(now + seconds(1.9)),
            Verdict::At(now + seconds(2.0), Hold::Gap)
        );
        assert_eq!(host.may_start(now + seconds(2.0)), Verdict::Now);
    }

    #[test]
    fn a_host_at_its_limit_is_busy_until_a_request_ends() {
        let (mut table, id) = host(0.0);
        let now = Instant::now();
        let host = table.get_mut(id);
        host.on_start(now);
        assert_eq!(host.may_start(now), Verdict::Busy);
        host.on_end();
        assert_eq!(host.may_start(now), Verdict::Now);
    }

    #[test]
    fn the_gap_of_a_throttling_host_doubles_and_halves_back() {
        let (mut table, id) = host(0.0);
        let mut now = Instant::now();
        let host = table.get_mut(id);
        let mut gaps = Vec::new();
        for _ in 0..8 {
            now += seconds(1.0);
            host.on_throttled(now, now, MAX_GAP);
            gaps.push(host.gap().as_secs());
        }
        assert_eq!(gaps, [1, 2, 4, 8, 16, 32, 60, 60]);
        gaps.clear();
        for _ in 0..7 {
            host.on_success();
            gaps.push(host.gap().as_millis() as u64);
        }
        assert_eq!(gaps, [30_000, 15_000, 7_500, 3_750, 1_875, 0, 0]);
    }

    #[test]
    fn a_configured_delay_is_where_doubling_starts_and_halving_ends() {
        let (mut table, id) = host(3.0);
        let now = Instant::now();
        let host = table.get_mut(id);
        host.on_throttled(now, now, MAX_GAP);
        assert_eq!(host.gap(), seconds(6.0));
        host.on_success();
        assert_eq!(host.gap(), seconds(3.0));
    }

    #[test]
    fn a_request_in_flight_when_the_host_was_slowed_down_does_not_slow_it_again() {
        let (mut table, id) = host(0.0);
        let now = Instant::now();
        let host = table.get_mut(id);
        host.on_throttled(now, now + seconds(1.0), MAX_GAP);
        host.on_throttled(now + seconds(0.5), now + seconds(1.5), MAX_GAP);
        assert_eq!(host.gap(), seconds(1.0));
        host.on_throttled(now + seconds(2.0), now + seconds(2.5), MAX_GAP);
        assert_eq!(host.gap(), seconds(2.0));
    }

    #[test]
    fn a_crawl_delay_raises_the_gap_whatever_its_size_and_never_lowers_it() {
        let (mut table, id) = host(3.0);
        let now = Instant::now();
        let host = table.get_mut(id);
        host.raise_gap(seconds(0.2));
        assert_eq!(host.gap(), seconds(3.0));
        host.raise_gap(seconds(301.0));
        assert_eq!(host.gap(), seconds(301.0));
        host.on_throttled(now, now, MAX_GAP);
        assert_eq!(
            host.gap(),
            seconds(301.0),
            "the bound on throttling is no bound on it"
        );
    }

    #[test]
    fn the_longer_of_two_pauses_wins() {
        let (mut table, id) = host(0.0);
        let now = Instant::now();
        let host = table.get_mut(id);
        host.on_asked_to_wait(now, now + seconds(10.0));
        host.on_asked_to_wait(now, now + seconds(5.0));
        assert_eq!(
            host.may_start(now),
            Verdict::At(now + seconds(10.0), Hold::Pause)
        );
        assert!(
            host.gap().is_zero(),
            "the host said how long: its gap is not widened as well"
        );
    }

    #[test]
    fn failures_in_a_row_park_a_host_and_a_success_starts_again() {
        let (mut table, id) = host(0.0);
        let host = table.get_mut(id);
        assert!(!host.on_failure(2));
        host.on_success();
        assert!(!host.on_failure(2));
        assert!(host.on_failure(2));
        assert_eq!(host.may_start(Instant::now()), Verdict::Parked);
    }

    #[test]
    fn a_rule_sets_delay_and_concurrency_and_is_known_to_have_been_used() {
        let mut rule = HostRule::new("*.slow.test");
        rule.delay = Some(seconds(2.5));
        rule.concurrency = Some(7);
        let policy = Policy::builder()
            .host(rule)
            .host(HostRule::new("never.test"))
            .build()
            .expect("valid");
        let mut table = HostTable::new(&policy);
        let id = table.find_or_add("www.slow.test", &policy);
        assert_eq!(table.get(id).gap(), seconds(2.5));
        assert_eq!(table.get(id).concurrency(), 7);
        assert_eq!(table.rule_used(), [true, false]);
        let plain = table.find_or_add("slow.test", &policy);
        assert!(table.get(plain).gap().is_zero());
    }

    #[test]
    fn only_a_host_whose_gap_and_pause_have_passed_is_forgotten() {
        let (mut table, id) = host(2.0);
        let now = Instant::now();
        table.get_mut(id).on_start(now);
        table.get_mut(id).on_end();
        table.sweep(now + seconds(1.0));
        assert_eq!(table.len(), 1, "the gap has not passed");
        table.get_mut(id).pause(now + seconds(10.0));
        table.sweep(now + seconds(5.0));
        assert_eq!(table.len(), 1, "the pause has not passed");
        table.get_mut(id).refs = 1;
        table.sweep(now + seconds(20.0));
        assert_eq!(table.len(), 1, "something is queued for it");
        table.get_mut(id).refs = 0;
        table.sweep(now + seconds(20.0));
        assert_eq!(table.len(), 0);
    }
}
