//! [`Counts`]: how many URLs of a crawl stand how. Keeps: each is counted once.

use std::collections::BTreeMap;

use super::change::End;
use super::table::{Entry, Table};
use crate::admission::SkipReason;
use crate::error::ErrorKind;

/// How the URLs of a crawl stand. Each is counted once, but for those that a
/// redirect led to in an earlier pass and none has in this one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// URLs that wait.
    pub pending: u64,
    /// URLs that are done, the unchanged ones among them.
    pub done: u64,
    /// URLs that were as on an earlier pass.
    pub unchanged: u64,
    /// URLs that led to others.
    pub redirected: u64,
    /// URLs that failed for good.
    pub failed: BTreeMap<ErrorKind, u64>,
    /// URLs that were not asked for.
    pub skipped: BTreeMap<SkipReason, u64>,
}

impl Counts {
    pub(super) fn of(table: &Table, due: u32) -> Self {
        let mut counts = Counts::default();
        let left = |entry: &&Entry| entry.is_left_to_redirects(due);
        for entry in table.entries().iter().filter(|entry| !left(entry)) {
            match entry.standing.end() {
                None => counts.pending += 1,
                Some(End::Done) => counts.done += 1,
                Some(End::Unchanged) => {
                    counts.done += 1;
                    counts.unchanged += 1;
                }
                Some(End::Redirected) => counts.redirected += 1,
                Some(End::Failed(kind)) => *counts.failed.entry(kind).or_default() += 1,
                Some(End::Skipped(reason)) => *counts.skipped.entry(reason).or_default() += 1,
            }
        }
        counts
    }

    /// All URLs that were found.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.pending
            + self.done
            + self.redirected
            + self.failed.values().sum::<u64>()
            + self.skipped.values().sum::<u64>()
    }
}
