//! [`Pacer`]: a token bucket over every start of the crawl. Keeps: no window
//! of 60 s holds more than the rate plus what the bucket holds beyond one.

use std::time::{Duration, Instant};

/// A token bucket, kept as the theoretical arrival time of the generic cell
/// rate algorithm: one instant instead of a count that has to be refilled.
#[derive(Debug, Clone)]
pub struct Pacer {
    interval: Duration,
    /// How far ahead of its time a start may be: `(burst - 1) · interval`.
    tolerance: Duration,
    due: Option<Instant>,
}

impl Pacer {
    /// A pacer that lets one start pass each `interval` (none: all of them),
    /// and up to `burst` at once after idling.
    #[must_use]
    pub fn new(interval: Option<Duration>, burst: u32) -> Self {
        let interval = interval.unwrap_or(Duration::ZERO);
        Pacer {
            interval,
            tolerance: interval.saturating_mul(burst.saturating_sub(1)),
            due: None,
        }
    }

    /// The first instant at which a start may pass: `now`, or later.
    #[must_use]
    pub fn next(&self, now: Instant) -> Instant {
        let earliest = self.due.and_then(|due| due.checked_sub(self.tolerance));
        earliest.map_or(now, |earliest| earliest.max(now))
    }

    /// Says when an earlier run may last have started something.
    pub fn assume_started(&mut self, at: Instant) {
        self.due = Some(self.due.map_or(at, |due| due.max(at)) + self.interval);
    }

    /// Takes a token for a start at `now`, which [`next`](Self::next) allowed.
    pub fn take(&mut self, now: Instant) {
        debug_assert!(self.next(now) <= now, "a token is taken when one is there");
        self.due = Some(self.due.map_or(now, |due| due.max(now)) + self.interval);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(pacer: &mut Pacer, mut now: Instant, count: usize) -> Vec<Duration> {
        let origin = now;
        (0..count)
            .map(|_| {
                now = pacer.next(now);
                pacer.take(now);
                now - origin
            })
            .collect()
    }

    #[test]
    fn starts_are_spaced_evenly() {
        let mut pacer = Pacer::new(Some(Duration::from_secs(1)), 1);
        let seconds: Vec<_> = starts(&mut pacer, Instant::now(), 4)
            .iter()
            .map(Duration::as_secs)
            .collect();
        assert_eq!(seconds, [0, 1, 2, 3]);
    }

    #[test]
    fn idling_saves_up_no_more_than_the_burst() {
        let origin = Instant::now();
        let mut pacer = Pacer::new(Some(Duration::from_secs(1)), 3);
        pacer.take(origin);
        let later = origin + Duration::from_secs(100);
        let seconds: Vec<_> = starts(&mut pacer, later, 5)
            .iter()
            .map(Duration::as_secs)
            .collect();
        assert_eq!(seconds, [0, 0, 0, 1, 2]);
    }

    #[test]
    fn no_window_of_a_minute_holds_more_than_the_rate() {
        for rate in [1_u32, 7, 59, 60, 601, 997] {
            let interval = Duration::from_nanos((60e9 / f64::from(rate)).ceil() as u64);
            let mut pacer = Pacer::new(Some(interval), 1);
            let at = starts(&mut pacer, Instant::now(), rate as usize * 3);
            for (i, start) in at.iter().enumerate() {
                let window = at[i..]
                    .iter()
                    .take_while(|t| **t < *start + Duration::from_secs(60));
                assert!(window.count() <= rate as usize, "rate {rate} at {start:?}");
            }
        }
    }

    #[test]
    fn without_a_rate_everything_passes_at_once() {
        let mut pacer = Pacer::new(None, 1);
        assert!(
            starts(&mut pacer, Instant::now(), 50)
                .iter()
                .all(Duration::is_zero)
        );
    }
}
