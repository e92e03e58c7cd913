//! [`HostTable`]: all hosts that the crawl owes something to. Keeps: a host is
//! forgotten only when nothing that matters would be lost.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use super::host::Host;
use crate::policy::Policy;

/// The fewest hosts before idle ones are looked for.
const SWEEP_FROM: usize = 1024;

/// The number of a host in the table.
pub type HostId = u32;

/// All hosts of the crawl that are not idle.
#[derive(Debug)]
pub struct HostTable {
    hosts: Vec<Option<Host>>,
    free: Vec<HostId>,
    by_name: HashMap<Arc<str>, HostId>,
    rule_used: Vec<bool>,
    counts_pages: bool,
    /// When an earlier run may last have asked any host.
    assumed_start: Option<Instant>,
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
            assumed_start: None,
            sweep_at: SWEEP_FROM,
        }
    }

    /// Says when an earlier run may last have asked any host: the gap of each
    /// counts from then.
    pub fn assume_started(&mut self, at: Instant) {
        self.assumed_start = Some(at);
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
        let gap = rule
            .and_then(|rule| rule.delay)
            .unwrap_or(policy.host_delay);
        let concurrency = rule
            .and_then(|rule| rule.concurrency)
            .unwrap_or(policy.host_concurrency);
        let host = Host::new(Arc::clone(&name), gap, concurrency, self.assumed_start);
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
            host.new_run();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::host::{Hold, Verdict};
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
