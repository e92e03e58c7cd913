//! [`Latencies`]: how long requests took, as a histogram of fixed bounds.
//! Keeps: at most [`BUCKETS`] counts, and a percentile is off by less than a
//! tenth of itself.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Counts to each doubling of the time: 19 % from one bound to the next, so
/// that the middle of a count is within 10 % of all in it.
const PER_DOUBLING: f64 = 4.0;
/// Counts in all: the last one begins at 185 s, beyond any sensible timeout.
pub(super) const BUCKETS: u8 = 72;

/// How long requests took.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Latencies {
    /// Place and count, in the order of places. Place 0 is below 1 ms.
    counts: Vec<(u8, u64)>,
}

fn place(took: Duration) -> u8 {
    let millis = took.as_secs_f64() * 1e3;
    if millis < 1.0 {
        return 0;
    }
    ((millis.log2() * PER_DOUBLING).floor() as u8 + 1).min(BUCKETS - 1)
}

/// Where a place begins, in milliseconds.
fn bound(place: u8) -> f64 {
    match place {
        0 => 0.0,
        place => (f64::from(place - 1) / PER_DOUBLING).exp2(),
    }
}

impl Latencies {
    /// Counts one request.
    pub fn add(&mut self, took: Duration) {
        self.count(place(took), 1);
    }

    fn count(&mut self, place: u8, count: u64) {
        let place = place.min(BUCKETS - 1);
        match self.counts.binary_search_by_key(&place, |(at, _)| *at) {
            Ok(found) => {
                let (_, held) = &mut self.counts[found];
                *held = held.saturating_add(count);
            }
            Err(free) => self.counts.insert(free, (place, count)),
        }
    }

    /// Adds what another has counted.
    pub fn merge(&mut self, other: &Latencies) {
        for (place, count) in &other.counts {
            self.count(*place, *count);
        }
    }

    /// How many requests were counted.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.counts
            .iter()
            .fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// Whether none was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The time that a part of the requests, 0 to 1, did not exceed; `None`
    /// when there were none.
    ///
    /// ```
    /// use canter::crawler::chronicle::Latencies;
    /// use std::time::Duration;
    /// let mut latencies = Latencies::default();
    /// for n in 1..=100 {
    ///     latencies.add(Duration::from_millis(10 * n));
    /// }
    /// let median = latencies.percentile(0.5).unwrap().as_secs_f64();
    /// assert!((0.45..0.55).contains(&median));
    /// ```
    #[must_use]
    pub fn percentile(&self, part: f64) -> Option<Duration> {
        let all = self.len();
        if all == 0 {
            return None;
        }
        let wanted = part.clamp(0.0, 1.0) * all as f64;
        let mut below = 0.0;
        for (place, count) in &self.counts {
            let count = *count as f64;
            if below + count >= wanted {
                let (from, to) = (bound(*place), bound(place + 1));
                let within = if count > 0.0 {
                    ((wanted - below) / count).clamp(0.0, 1.0)
                } else {
                    0.0
                };
                let millis = from + (to - from) * within;
                return Some(Duration::from_secs_f64(millis / 1e3));
            }
            below += count;
        }
        None
    }

    /// Keeps it bounded, whatever was read.
    pub(super) fn bounded(self) -> Self {
        let mut bounded = Latencies::default();
        for (place, count) in self.counts {
            bounded.count(place, count);
        }
        bounded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_lies_between_the_bounds_of_its_place() {
        assert!(bound(0).abs() < f64::EPSILON);
        assert!((bound(1) - 1.0).abs() < 1e-9);
        assert!((bound(5) - 2.0).abs() < 1e-9);
        let mut rng = fastrand::Rng::with_seed(3);
        for _ in 0..10_000 {
            let took = Duration::from_micros(rng.u64(0..180_000_000));
            let (at, millis) = (place(took), took.as_secs_f64() * 1e3);
            assert!(bound(at) <= millis + 1e-6, "{took:?} {at}");
            assert!(millis < bound(at + 1) + 1e-6, "{took:?} {at}");
        }
        assert_eq!(place(Duration::from_secs(1_000_000)), BUCKETS - 1);
    }

    #[test]
    fn percentiles_are_near_the_true_ones() {
        let mut rng = fastrand::Rng::with_seed(5);
        let mut all: Vec<u64> = (0..5_000).map(|_| 5 + rng.u64(0..80).pow(2)).collect();
        let mut latencies = Latencies::default();
        for millis in &all {
            latencies.add(Duration::from_millis(*millis));
        }
        all.sort_unstable();
        for part in [0.1, 0.5, 0.9, 0.99] {
            let truth = all[(part * all.len() as f64) as usize] as f64;
            let told = latencies.percentile(part).expect("some").as_secs_f64() * 1e3;
            assert!(
                (told / truth - 1.0).abs() < 0.1,
                "{part}: {told} for {truth}"
            );
        }
        assert_eq!(latencies.len(), 5_000);
        assert_eq!(Latencies::default().percentile(0.5), None);
    }

    #[test]
    fn it_reads_back_and_stays_bounded() {
        let mut latencies = Latencies::default();
        for millis in 0..100_000 {
            latencies.add(Duration::from_millis(millis * 3));
        }
        let json = serde_json::to_string(&latencies).expect("JSON");
        let back: Latencies = serde_json::from_str(&json).expect("JSON");
        assert_eq!(back, latencies);
        let forged: Latencies = serde_json::from_str("[[250,1],[3,2],[3,1]]").expect("JSON");
        let forged = forged.bounded();
        assert_eq!(forged.counts, [(3, 3), (BUCKETS - 1, 1)]);
    }
}
