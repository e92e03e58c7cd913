//! [`Timeline`]: what happened when, in parts of equal length. Keeps: at most
//! [`MAX_PARTS`] parts, whose length grows as the time does, and all parts
//! together hold everything that was noted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::latency::Latencies;
use super::tally::Tally;
use super::words::{Answer, EndWord, Wait};
use crate::admission::SkipReason;
use crate::error::ErrorKind;

/// Parts of a timeline: more than a page has columns for.
pub const MAX_PARTS: usize = 360;

const SECOND: u64 = 1;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
/// How long a part may be, in seconds. Each length holds a whole number of the
/// one before it, so that parts can be joined. Beyond the last it doubles.
const LENGTHS: [u64; 13] = [
    SECOND,
    5 * SECOND,
    15 * SECOND,
    30 * SECOND,
    MINUTE,
    2 * MINUTE,
    6 * MINUTE,
    12 * MINUTE,
    HOUR,
    2 * HOUR,
    4 * HOUR,
    8 * HOUR,
    DAY,
];

/// The next longer length of a part, in seconds.
fn longer(length: u64) -> u64 {
    let next = LENGTHS.iter().find(|known| **known > length);
    next.copied().unwrap_or_else(|| length.saturating_mul(2))
}

/// What happened in a part of the time, or in all of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Part {
    /// How long a run was going on in it, in milliseconds.
    pub active: u64,
    /// Requests that started.
    pub starts: u64,
    /// What came of attempts that ended.
    #[serde(skip_serializing_if = "Tally::is_empty")]
    pub answers: Tally<Answer>,
    /// Attempts that failed, by kind, those that were tried again included.
    #[serde(skip_serializing_if = "Tally::is_empty")]
    pub errors: Tally<ErrorKind>,
    /// URLs that were asked for and came to an end.
    #[serde(skip_serializing_if = "Tally::is_empty")]
    pub ends: Tally<EndWord>,
    /// Of these, those that failed, by kind.
    #[serde(skip_serializing_if = "Tally::is_empty")]
    pub failed: Tally<ErrorKind>,
    /// URLs that are not asked for, by reason.
    #[serde(skip_serializing_if = "Tally::is_empty")]
    pub skipped: Tally<SkipReason>,
    /// Attempts that were followed by another.
    pub retried: u64,
    /// Decoded body bytes.
    pub bytes: u64,
    /// How long attempts took, the handler's time included.
    #[serde(skip_serializing_if = "Latencies::is_empty")]
    pub latencies: Latencies,
    /// The longest of them, in milliseconds.
    pub slowest: u64,
    /// Milliseconds in flight, all requests together: over `active` it is how
    /// many were in flight on average.
    pub in_flight: u64,
    /// The most in flight at once that was seen.
    pub most_in_flight: u64,
    /// The cap on requests in flight, times the milliseconds that it held.
    pub cap: u64,
    /// URLs that were queued when it was last looked at.
    pub queued: u64,
    /// What the next start waited for, in milliseconds.
    #[serde(skip_serializing_if = "Tally::is_empty")]
    pub waits: Tally<Wait>,
}

impl Part {
    /// Takes in a part of the same time, or the time after it.
    pub fn merge(&mut self, later: &Part) {
        self.active = self.active.saturating_add(later.active);
        self.starts = self.starts.saturating_add(later.starts);
        self.answers.merge(&later.answers);
        self.errors.merge(&later.errors);
        self.ends.merge(&later.ends);
        self.failed.merge(&later.failed);
        self.skipped.merge(&later.skipped);
        self.retried = self.retried.saturating_add(later.retried);
        self.bytes = self.bytes.saturating_add(later.bytes);
        self.latencies.merge(&later.latencies);
        self.slowest = self.slowest.max(later.slowest);
        self.in_flight = self.in_flight.saturating_add(later.in_flight);
        self.most_in_flight = self.most_in_flight.max(later.most_in_flight);
        self.cap = self.cap.saturating_add(later.cap);
        if later.active > 0 {
            self.queued = later.queued;
        }
        self.waits.merge(&later.waits);
    }
}

/// What happened when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// When it begins, in milliseconds since 1970.
    origin: u64,
    /// How long a part is, in seconds.
    length: u64,
    /// The parts that hold anything, by their number; number 0 begins at the
    /// origin.
    parts: BTreeMap<u64, Part>,
}

impl Default for Timeline {
    fn default() -> Self {
        Timeline::new(0)
    }
}

impl Timeline {
    /// An empty timeline that begins at `origin`, in milliseconds since 1970.
    #[must_use]
    pub fn new(origin: u64) -> Self {
        Timeline {
            origin,
            length: LENGTHS[0],
            parts: BTreeMap::new(),
        }
    }

    /// When it begins, in milliseconds since 1970.
    #[must_use]
    pub fn origin(&self) -> u64 {
        self.origin
    }

    /// How long a part is, in milliseconds.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length.saturating_mul(1000)
    }

    /// The parts that hold anything: where each begins, in milliseconds since
    /// the origin, and what it holds.
    #[must_use]
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = (u64, &Part)> {
        self.parts
            .iter()
            .map(|(number, part)| (number.saturating_mul(self.length()), part))
    }

    /// The part that a time falls into, in milliseconds since the origin. It is
    /// made if it is not there; longer parts make room for it.
    pub fn at(&mut self, millis: u64) -> &mut Part {
        while !self.parts.contains_key(&(millis / self.length())) && self.parts.len() >= MAX_PARTS {
            self.lengthen();
        }
        self.parts.entry(millis / self.length()).or_default()
    }

    /// Calls with each part between two times, and how much of the time lies in
    /// it, in milliseconds.
    pub(super) fn spread(&mut self, from: u64, to: u64, mut note: impl FnMut(&mut Part, u64)) {
        let mut from = from;
        while from < to {
            // Making room may make parts longer, so that comes first.
            self.at(from);
            let length = self.length();
            let end = (from / length + 1).saturating_mul(length).min(to);
            note(self.at(from), end - from);
            from = end;
        }
    }

    /// Makes parts longer.
    fn lengthen(&mut self) {
        let length = longer(self.length);
        let factor = length / self.length;
        let mut parts: BTreeMap<u64, Part> = BTreeMap::new();
        for (number, part) in std::mem::take(&mut self.parts) {
            parts.entry(number / factor).or_default().merge(&part);
        }
        self.parts = parts;
        self.length = length;
    }

    /// Takes in another timeline, each of its parts by where it begins.
    pub fn merge(&mut self, other: &Timeline) {
        while self.length < other.length {
            self.lengthen();
        }
        for (from, part) in other.parts() {
            let wall = other.origin.saturating_add(from);
            self.at(wall.saturating_sub(self.origin)).merge(part);
        }
    }

    /// Keeps it bounded, whatever was read.
    pub(super) fn bounded(mut self) -> Self {
        if !LENGTHS.contains(&self.length) && !self.length.is_multiple_of(DAY) || self.length == 0 {
            return Timeline::new(self.origin);
        }
        while self.parts.len() > MAX_PARTS {
            self.lengthen();
        }
        for part in self.parts.values_mut() {
            part.latencies = std::mem::take(&mut part.latencies).bounded();
        }
        self
    }

    /// Takes skips away that turned out to be none, from the last ones back.
    pub(super) fn take_skips(&mut self, reason: SkipReason, mut count: u64) {
        for part in self.parts.values_mut().rev() {
            if count == 0 {
                return;
            }
            count = part.skipped.take(reason, count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(timeline: &Timeline) -> Part {
        let mut sum = Part::default();
        for (_, part) in timeline.parts() {
            sum.merge(part);
        }
        sum
    }

    #[test]
    fn each_length_is_a_multiple_of_the_one_before() {
        let mut length = 1;
        for _ in 0..30 {
            let next = longer(length);
            assert!(
                next > length && next.is_multiple_of(length),
                "{length} {next}"
            );
            length = next;
        }
    }

    #[test]
    fn parts_grow_longer_and_nothing_is_lost() {
        let mut timeline = Timeline::new(0);
        let mut rng = fastrand::Rng::with_seed(9);
        let mut at = 0;
        for _ in 0..50_000 {
            at += rng.u64(0..4_000);
            let part = timeline.at(at);
            part.starts += 1;
            part.bytes += 7;
            part.answers.add(Answer::Success, 1);
        }
        let parts = timeline.parts().count();
        assert!((MAX_PARTS / 8..=MAX_PARTS).contains(&parts), "{parts}");
        assert_eq!(sum(&timeline).starts, 50_000);
        assert_eq!(sum(&timeline).bytes, 350_000);
        assert_eq!(sum(&timeline).answers.sum(), 50_000);
    }

    #[test]
    fn a_time_is_spread_over_the_parts_it_covers() {
        let mut timeline = Timeline::new(0);
        timeline.spread(500, 3_250, |part, millis| part.active += millis);
        let active: Vec<u64> = timeline.parts().map(|(_, part)| part.active).collect();
        assert_eq!(active, [500, 1000, 1000, 250]);
        // A stretch that needs longer parts on the way loses nothing either.
        let mut timeline = Timeline::new(0);
        timeline.spread(999, 10_000_001, |part, millis| part.active += millis);
        assert_eq!(sum(&timeline).active, 10_000_001 - 999);
        assert!(timeline.parts().count() <= MAX_PARTS);
        timeline.spread(u64::MAX - 5, u64::MAX, |part, millis| part.active += millis);
        timeline.spread(7, 7, |_, _| panic!("nothing to spread"));
    }

    #[test]
    fn runs_far_apart_share_a_timeline() {
        let mut crawl = Timeline::default();
        for day in 0..1_000 {
            let mut run = Timeline::new(1_700_000_000_000 + day * DAY * 1000 + 12_345);
            for minute in 0..30 {
                run.at(minute * 60_000).starts += 2;
            }
            crawl.merge(&run);
        }
        assert!(crawl.parts().count() <= MAX_PARTS);
        assert_eq!(sum(&crawl).starts, 60_000);
        let first = crawl.parts().next().map(|(from, _)| from);
        assert!(
            first.is_some_and(|from| from > 1_690_000_000_000),
            "{first:?}"
        );
    }

    #[test]
    fn skips_are_taken_back_from_the_last() {
        let mut timeline = Timeline::new(0);
        timeline.at(0).skipped.add(SkipReason::Depth, 3);
        timeline.at(5_000).skipped.add(SkipReason::Depth, 2);
        timeline.take_skips(SkipReason::Depth, 4);
        let left: Vec<u64> = timeline
            .parts()
            .map(|(_, part)| part.skipped.get(SkipReason::Depth))
            .collect();
        assert_eq!(left, [1, 0]);
    }

    #[test]
    fn what_is_read_is_bounded() {
        let timeline: Timeline = serde_json::from_str(
            r#"{"origin":0,"length":7,"parts":{"1":{"active":0,"starts":1,"retried":0,"bytes":0}}}"#,
        )
        .expect("JSON");
        assert_eq!(timeline.bounded(), Timeline::new(0));
    }
}
