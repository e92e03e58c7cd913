//! [`Record`]: what happened over a stretch of the crawl: one run, or all runs
//! before it. Keeps: bounded space, and the sums of the timeline are `totals`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::hosts::Hosts;
use super::spans::Spans;
use super::timeline::{Part, Timeline};
use super::urls::{Failing, Slowest};

/// Statuses that are told apart: far more than any site answers with.
const MAX_STATUSES: usize = 100;

/// What happened over a stretch of the crawl.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Record {
    /// Everything together.
    pub totals: Part,
    /// What happened when.
    pub timeline: Timeline,
    /// How often each status was answered; 0 stands for those beyond the first
    /// hundred different ones.
    pub statuses: BTreeMap<u16, u64>,
    /// What happened on each host.
    pub hosts: Hosts,
    /// Pauses of the whole crawl, in the last run.
    pub pauses: Spans,
    /// The requests that took longest.
    pub slowest: Slowest,
    /// The URLs with the most failed attempts.
    pub failing: Failing,
    /// The most starts in any minute that begins with a second of the run.
    pub busiest_minute: u64,
}

impl Record {
    /// Nothing yet, from `origin` on, in milliseconds since 1970.
    #[must_use]
    pub fn new(origin: u64) -> Self {
        Record {
            timeline: Timeline::new(origin),
            ..Record::default()
        }
    }

    /// Counts a status.
    pub(super) fn count_status(&mut self, status: u16, count: u64) {
        let known = self.statuses.contains_key(&status);
        let status = if known || self.statuses.len() < MAX_STATUSES {
            status
        } else {
            0
        };
        *self.statuses.entry(status).or_default() += count;
    }

    /// Takes in what happened later. Pauses and gaps are about one run and are
    /// not kept.
    pub fn merge(&mut self, later: &Record) {
        self.totals.merge(&later.totals);
        self.timeline.merge(&later.timeline);
        for (status, count) in &later.statuses {
            self.count_status(*status, *count);
        }
        self.hosts.merge(&later.hosts);
        self.slowest.merge(&later.slowest);
        self.failing.merge(&later.failing);
        self.busiest_minute = self.busiest_minute.max(later.busiest_minute);
    }

    /// Keeps it bounded, whatever was read.
    pub(super) fn bounded(mut self) -> Self {
        while self.statuses.len() > MAX_STATUSES + 1 {
            self.statuses.pop_last();
        }
        self.timeline = self.timeline.bounded();
        self.hosts = self.hosts.bounded();
        self.pauses = self.pauses.bounded();
        self.slowest = self.slowest.bounded();
        self.failing = self.failing.bounded();
        self.totals.latencies = std::mem::take(&mut self.totals.latencies).bounded();
        self
    }
}
