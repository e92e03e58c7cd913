//! [`Pace`]: how fast a crawl can be at most, by its settings alone. Every
//! figure is a bound: what sites, network and robots.txt add makes a crawl
//! slower, never faster.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::policy::Policy;

/// The bounds on a crawl's speed.
#[derive(Debug)]
pub(super) struct Pace<'a> {
    policy: &'a Policy,
    /// The hosts of the crawl; `None` when there is no saying.
    hosts: Option<&'a BTreeSet<String>>,
    /// Requests that are no pages, at least: a robots.txt for each host.
    beside_pages: u64,
}

/// How one host is treated.
#[derive(Debug, PartialEq)]
pub(super) struct HostPace {
    /// The least gap between two starts.
    pub(super) delay: Duration,
    /// Requests in flight at once.
    pub(super) concurrency: usize,
    /// Starts a minute, at most; `None` for no bound.
    pub(super) per_minute: Option<f64>,
}

/// How long a number of pages takes.
#[derive(Debug, PartialEq)]
pub(super) enum LeastTime {
    /// At least this long.
    Time(Duration),
    /// It is never reached: this key ends the run before.
    EndsBefore(&'static str),
}

const MINUTE: f64 = 60.0;

impl<'a> Pace<'a> {
    pub(super) fn new(
        policy: &'a Policy,
        hosts: Option<&'a BTreeSet<String>>,
        obey_robots: bool,
    ) -> Self {
        let hosts = hosts.filter(|hosts| !hosts.is_empty());
        let known = hosts.map_or(1, BTreeSet::len) as u64;
        Pace {
            policy,
            hosts,
            beside_pages: if obey_robots { known } else { 0 },
        }
    }

    /// How a host is treated; `None` for one without a rule.
    pub(super) fn host(&self, host: Option<&str>) -> HostPace {
        let rule = host.and_then(|host| self.policy.host_rule(host));
        self.rule(
            rule.and_then(|rule| rule.delay),
            rule.and_then(|rule| rule.concurrency),
        )
    }

    /// How a host is treated that a rule gives this.
    pub(super) fn rule(&self, delay: Option<Duration>, concurrency: Option<usize>) -> HostPace {
        let delay = delay.unwrap_or(self.policy.host_delay);
        let by_delay = (!delay.is_zero()).then(|| MINUTE / delay.as_secs_f64());
        HostPace {
            delay,
            concurrency: concurrency
                .unwrap_or(self.policy.host_concurrency)
                .min(self.policy.concurrency),
            per_minute: least(by_delay, self.policy.max_requests_per_minute),
        }
    }

    /// Starts a minute, all hosts together; `None` for no bound.
    pub(super) fn per_minute(&self) -> Option<f64> {
        least(
            self.gaps().map(|(_, per_second)| per_second * MINUTE),
            self.policy.max_requests_per_minute,
        )
    }

    /// How many hosts there are, and what their gaps let start each second,
    /// when every host is known and has a gap.
    fn gaps(&self) -> Option<(f64, f64)> {
        let mut per_second = 0.0;
        let hosts = self.hosts?;
        for host in hosts {
            let delay = self.host(Some(host)).delay;
            if delay.is_zero() {
                return None;
            }
            per_second += 1.0 / delay.as_secs_f64();
        }
        Some((hosts.len() as f64, per_second))
    }

    /// The least time from the first start to the last, for so many pages.
    /// `None` when no setting bounds it.
    pub(super) fn least_time(&self, pages: u64) -> Option<LeastTime> {
        let policy = self.policy;
        let requests = pages.saturating_add(self.beside_pages);
        if policy.max_requests.is_some_and(|most| most < requests) {
            return Some(LeastTime::EndsBefore("max_requests"));
        }
        if let (Some(most), Some(hosts)) = (policy.max_pages_per_host, self.hosts)
            && most.saturating_mul(hosts.len() as u64) < pages
        {
            return Some(LeastTime::EndsBefore("max_pages_per_host"));
        }
        let requests = requests as f64;
        let by_rate = policy.interval().map(|interval| {
            let waits = (requests - f64::from(policy.burst)).max(0.0);
            waits * interval.as_secs_f64()
        });
        // Each host's first start waits for nothing.
        let by_gaps = self
            .gaps()
            .map(|(hosts, per_second)| ((requests - hosts) / per_second).max(0.0));
        let seconds = match (by_rate, by_gaps) {
            (None, None) => return None,
            (rate, gaps) => rate.unwrap_or(0.0).max(gaps.unwrap_or(0.0)),
        };
        let time = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        if policy.deadline.is_some_and(|deadline| deadline < time) {
            return Some(LeastTime::EndsBefore("deadline"));
        }
        Some(LeastTime::Time(time))
    }
}

fn least(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{HostRule, PolicyBuilder};

    fn hosts(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn seconds(pace: &Pace<'_>, pages: u64) -> Option<f64> {
        match pace.least_time(pages)? {
            LeastTime::Time(time) => Some(time.as_secs_f64()),
            LeastTime::EndsBefore(key) => panic!("{key}"),
        }
    }

    fn policy() -> PolicyBuilder {
        Policy::builder()
    }

    #[test]
    fn a_rate_bounds_whatever_the_hosts() {
        let policy = policy().max_requests_per_minute(60).build().unwrap();
        let pace = Pace::new(&policy, None, false);
        assert_eq!(pace.per_minute(), Some(60.0));
        assert_eq!(seconds(&pace, 1), Some(0.0));
        assert_eq!(seconds(&pace, 100), Some(99.0));
        // The robots.txt of the one host there is at least.
        assert_eq!(seconds(&Pace::new(&policy, None, true), 100), Some(100.0));
        let burst = Policy {
            burst: 10,
            ..policy
        };
        assert_eq!(seconds(&Pace::new(&burst, None, false), 100), Some(90.0));
    }

    #[test]
    fn gaps_bound_only_when_every_host_is_known_and_has_one() {
        let policy = policy().host_delay(Duration::from_secs(2)).build().unwrap();
        let one = hosts(&["a.test"]);
        let pace = Pace::new(&policy, Some(&one), false);
        assert_eq!(pace.per_minute(), Some(30.0));
        assert_eq!(seconds(&pace, 100), Some(198.0));
        let two = hosts(&["a.test", "b.test"]);
        let pace = Pace::new(&policy, Some(&two), false);
        assert_eq!(pace.per_minute(), Some(60.0));
        assert_eq!(seconds(&pace, 100), Some(98.0));
        assert_eq!(seconds(&Pace::new(&policy, None, false), 100), None);
        let mut free = HostRule::new("b.test");
        free.delay = Some(Duration::ZERO);
        let policy = Policy {
            hosts: vec![free],
            ..policy
        };
        assert_eq!(seconds(&Pace::new(&policy, Some(&two), false), 100), None);
    }

    #[test]
    fn a_host_has_its_rules_values_within_the_whole_crawls() {
        let mut rule = HostRule::new("slow.test");
        rule.delay = Some(Duration::from_millis(2500));
        rule.concurrency = Some(9);
        let policy = policy()
            .concurrency(4)
            .host(rule)
            .max_requests_per_minute(60)
            .build()
            .unwrap();
        let pace = Pace::new(&policy, None, true);
        assert_eq!(
            pace.host(Some("slow.test")),
            HostPace {
                delay: Duration::from_millis(2500),
                concurrency: 4,
                per_minute: Some(24.0),
            }
        );
        assert_eq!(
            pace.host(None),
            HostPace {
                delay: Duration::ZERO,
                concurrency: 2,
                per_minute: Some(60.0),
            }
        );
    }

    #[test]
    fn a_bound_that_comes_first_is_named() {
        let base = policy().max_requests_per_minute(60).build().unwrap();
        let one = hosts(&["a.test"]);
        let ends = |policy: &Policy| Pace::new(policy, Some(&one), true).least_time(100);
        let policy = Policy {
            max_requests: Some(100),
            ..base.clone()
        };
        assert_eq!(ends(&policy), Some(LeastTime::EndsBefore("max_requests")));
        let policy = Policy {
            max_requests: Some(101),
            ..base.clone()
        };
        assert_eq!(
            ends(&policy),
            Some(LeastTime::Time(Duration::from_secs(100)))
        );
        let policy = Policy {
            deadline: Some(Duration::from_secs(99)),
            ..base.clone()
        };
        assert_eq!(ends(&policy), Some(LeastTime::EndsBefore("deadline")));
        let policy = Policy {
            max_pages_per_host: Some(99),
            ..base
        };
        assert_eq!(
            ends(&policy),
            Some(LeastTime::EndsBefore("max_pages_per_host"))
        );
    }
}
