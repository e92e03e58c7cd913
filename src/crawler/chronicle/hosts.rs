//! [`Hosts`]: what happened on each host. Keeps: at most [`MAX_HOSTS`] hosts
//! of their own, those with the most requests; all others are one sum.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::latency::Latencies;
use super::spans::{Spans, Steps, Strip};
use super::tally::Tally;
use super::urls::boundary;
use super::words::{Answer, EndWord};
use crate::error::ErrorKind;

/// Hosts of their own. Many more than a page shows, since one that is small
/// now may be the largest in the end.
pub const MAX_HOSTS: usize = 200;
/// How many stay when there is no more room: making room takes a look at all,
/// so it should not be needed for each host that is new.
const KEEP_HOSTS: usize = MAX_HOSTS / 2;
/// The longest name of a host (RFC 1035 section 2.3.4), in bytes.
const MAX_NAME: usize = 255;

/// What happened on a host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Host {
    /// Requests that started.
    pub starts: u64,
    /// What came of attempts that ended.
    #[serde(skip_serializing_if = "Tally::is_empty")]
    pub answers: Tally<Answer>,
    /// Attempts that failed, by kind.
    #[serde(skip_serializing_if = "Tally::is_empty")]
    pub errors: Tally<ErrorKind>,
    /// URLs that came to an end.
    #[serde(skip_serializing_if = "Tally::is_empty")]
    pub ends: Tally<EndWord>,
    /// Attempts that were followed by another.
    pub retried: u64,
    /// Decoded body bytes.
    pub bytes: u64,
    /// How long attempts took.
    pub latencies: Latencies,
    /// The longest of them, in milliseconds.
    pub slowest: u64,
    /// How long it was left alone, in milliseconds.
    pub paused: u64,
    /// The widest gap between two starts, in milliseconds.
    pub widest_gap: u64,
    /// Whether its URLs were left for the next run.
    pub parked: bool,
    /// Its pauses in the last run.
    #[serde(skip_serializing_if = "Spans::is_empty")]
    pub pauses: Spans,
    /// Its gap in the last run.
    pub gaps: Steps,
    /// Its starts in the last run.
    pub activity: Strip,
    /// When it was last heard of; tells which of two small hosts stays.
    pub(super) last: u64,
}

impl Host {
    /// Takes in what happened later. Of what is told about one run alone
    /// nothing is kept.
    pub fn merge(&mut self, later: &Host) {
        self.starts = self.starts.saturating_add(later.starts);
        self.answers.merge(&later.answers);
        self.errors.merge(&later.errors);
        self.ends.merge(&later.ends);
        self.retried = self.retried.saturating_add(later.retried);
        self.bytes = self.bytes.saturating_add(later.bytes);
        self.latencies.merge(&later.latencies);
        self.slowest = self.slowest.max(later.slowest);
        self.paused = self.paused.saturating_add(later.paused);
        self.widest_gap = self.widest_gap.max(later.widest_gap);
        self.parked |= later.parked;
        self.last = self.last.max(later.last);
    }

    /// What lasts beyond the run it happened in.
    fn lasting(&self) -> Host {
        Host {
            parked: false,
            ..self.without_marks()
        }
    }

    fn without_marks(&self) -> Host {
        Host {
            pauses: Spans::default(),
            gaps: Steps::default(),
            activity: Strip::default(),
            ..self.clone()
        }
    }

    /// The run is over at `end`: pauses end there.
    pub(super) fn close(&mut self, end: u64) {
        self.pauses.clip(end);
        self.paused = self.pauses.sum();
    }
}

/// What happened on each host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hosts {
    by_name: BTreeMap<String, Host>,
    rest: Host,
    /// How often a host was put to the rest.
    dropped: u64,
}

impl Hosts {
    /// The host of a name, made if it is not there.
    pub fn at(&mut self, name: &str) -> &mut Host {
        // Found twice rather than owned for nothing: names are known mostly.
        if !self.by_name.contains_key(name) {
            if self.by_name.len() >= MAX_HOSTS {
                self.make_room();
            }
            let mut name = name.to_owned();
            name.truncate(boundary(&name, MAX_NAME));
            return self.by_name.entry(name).or_default();
        }
        self.by_name.get_mut(name).expect("it was found just now")
    }

    /// Puts the hosts with the fewest requests, and of these those that were
    /// heard of the longest ago, to the rest.
    fn make_room(&mut self) {
        let mut order: Vec<(u64, u64, String)> = self
            .by_name
            .iter()
            .map(|(name, host)| (host.starts, host.last, name.clone()))
            .collect();
        order.sort_unstable_by(|a, b| b.cmp(a));
        for (_, _, name) in order.split_off(KEEP_HOSTS.min(order.len())) {
            if let Some(host) = self.by_name.remove(&name) {
                self.rest.merge(&host);
                self.dropped += 1;
            }
        }
    }

    /// The hosts that are told apart, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Host)> {
        self.by_name
            .iter()
            .map(|(name, host)| (name.as_str(), host))
    }

    /// All others together.
    #[must_use]
    pub fn rest(&self) -> &Host {
        &self.rest
    }

    /// How often a host was put to the others; one that comes back and is put
    /// there again counts twice.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Takes in what happened later.
    pub fn merge(&mut self, later: &Hosts) {
        for (name, host) in later.iter() {
            self.at(name).merge(&host.lasting());
        }
        self.rest.merge(&later.rest);
        self.dropped += later.dropped;
    }

    pub(super) fn each(&mut self, change: impl FnMut(&mut Host)) {
        self.by_name.values_mut().for_each(change);
    }

    /// Keeps it bounded, whatever was read.
    pub(super) fn bounded(mut self) -> Self {
        if self.by_name.len() > MAX_HOSTS {
            self.make_room();
        }
        self.each(|host| {
            host.latencies = std::mem::take(&mut host.latencies).bounded();
            host.pauses = std::mem::take(&mut host.pauses).bounded();
            host.gaps = std::mem::take(&mut host.gaps).bounded();
            host.activity = std::mem::take(&mut host.activity).bounded();
        });
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_hosts_stay_and_the_rest_is_summed() {
        let mut hosts = Hosts::default();
        let mut last = 0;
        for round in 0..20 {
            for n in 0..1_000 {
                last += 1;
                let host = hosts.at(&format!("h{n}.test"));
                host.starts += 1;
                host.last = last;
            }
            for _ in 0..50 {
                last += 1;
                let host = hosts.at("large.test");
                host.starts += 1;
                host.last = last;
            }
            assert!(hosts.by_name.len() <= MAX_HOSTS, "{round}");
        }
        let apart: u64 = hosts.iter().map(|(_, host)| host.starts).sum();
        assert_eq!(apart + hosts.rest().starts, 20 * 1_050);
        assert_eq!(hosts.at("large.test").starts, 1_000);
        assert!(hosts.dropped() > 800);
    }

    #[test]
    fn a_name_is_bounded() {
        let mut hosts = Hosts::default();
        hosts.at(&"\u{e9}".repeat(1_000)).starts = 1;
        let (name, _) = hosts.iter().next().expect("one");
        assert!(name.len() <= MAX_NAME);
    }
}
