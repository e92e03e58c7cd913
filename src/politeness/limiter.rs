//! [`Limiter`]: how many requests may be in flight: the concurrency, the
//! warm-up ramp and the adaptive cap, whichever is least. Keeps: at least 1,
//! never above the concurrency.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::policy::Policy;

/// How many attempts the adaptive cap looks back on.
const WINDOW: usize = 200;
/// From how many attempts on the failures are judged.
const JUDGED_FROM: usize = 20;
/// The failed part of the window above which the cap halves.
const TOO_MANY: f64 = 0.3;
/// The part of the cap that a round must have used for the cap to grow.
const USED: f64 = 0.9;

/// The cap on requests in flight.
#[derive(Debug, Clone)]
pub struct Limiter {
    concurrency: usize,
    warmup: Duration,
    started: Option<Instant>,
    adaptive: Option<Adaptive>,
}

#[derive(Debug, Clone)]
struct Adaptive {
    cap: usize,
    window: VecDeque<bool>,
    failed: usize,
    outcomes: usize,
    peak: usize,
}

impl Limiter {
    /// The limiter that a policy asks for.
    #[must_use]
    pub fn new(policy: &Policy) -> Self {
        Limiter {
            concurrency: policy.concurrency,
            warmup: policy.warmup,
            started: None,
            adaptive: policy.adaptive_concurrency.then(|| Adaptive {
                cap: policy.concurrency,
                window: VecDeque::with_capacity(WINDOW),
                failed: 0,
                outcomes: 0,
                peak: 0,
            }),
        }
    }

    /// Starts the warm-up ramp, once; later calls change nothing.
    pub fn start(&mut self, now: Instant) {
        self.started.get_or_insert(now);
    }

    /// How many requests may be in flight at `now`.
    #[must_use]
    pub fn cap(&self, now: Instant) -> usize {
        let adaptive = self.adaptive.as_ref().map_or(self.concurrency, |a| a.cap);
        self.ramp(now).min(adaptive)
    }

    /// When the warm-up next lets one more in flight, if the warm-up is what
    /// holds the cap down at `now`.
    #[must_use]
    pub fn next_rise(&self, now: Instant) -> Option<Instant> {
        let ramp = self.ramp(now);
        let adaptive = self.adaptive.as_ref().map_or(self.concurrency, |a| a.cap);
        (ramp < adaptive).then(|| self.started.unwrap_or(now) + self.step(ramp))
    }

    /// Notes a start, `in_flight` counting it.
    pub fn on_start(&mut self, in_flight: usize) {
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.peak = adaptive.peak.max(in_flight);
        }
    }

    /// Notes how an attempt ended.
    pub fn on_outcome(&mut self, failed: bool) {
        let Some(adaptive) = &mut self.adaptive else {
            return;
        };
        if adaptive.window.len() == WINDOW && adaptive.window.pop_front() == Some(true) {
            adaptive.failed -= 1;
        }
        adaptive.window.push_back(failed);
        adaptive.failed += usize::from(failed);
        adaptive.outcomes += 1;
        let judged = adaptive.window.len();
        if judged >= JUDGED_FROM && adaptive.failed as f64 > TOO_MANY * judged as f64 {
            adaptive.cap = (adaptive.cap / 2).max(1);
            adaptive.window.clear();
            adaptive.failed = 0;
            adaptive.outcomes = 0;
            adaptive.peak = 0;
        } else if adaptive.outcomes >= adaptive.cap {
            if adaptive.peak as f64 >= USED * adaptive.cap as f64 {
                adaptive.cap = (adaptive.cap + 1).min(self.concurrency);
            }
            adaptive.outcomes = 0;
            adaptive.peak = 0;
        }
    }

    /// The warm-up's cap: 1 at the start, one more after each step.
    fn ramp(&self, now: Instant) -> usize {
        let Some(started) = self.started else {
            return if self.warmup.is_zero() {
                self.concurrency
            } else {
                1
            };
        };
        let passed = now.saturating_duration_since(started);
        if passed >= self.warmup || self.concurrency == 1 {
            return self.concurrency;
        }
        let steps = (self.concurrency - 1) as u128 * passed.as_nanos() / self.warmup.as_nanos();
        1 + steps as usize
    }

    /// How long after its start the ramp has taken `n` steps.
    fn step(&self, n: usize) -> Duration {
        let nanos =
            (n as u128 * self.warmup.as_nanos()).div_ceil((self.concurrency - 1).max(1) as u128);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter(concurrency: usize, warmup: u64, adaptive: bool) -> Limiter {
        let policy = Policy::builder()
            .concurrency(concurrency)
            .warmup(Duration::from_secs(warmup))
            .adaptive_concurrency(adaptive)
            .build()
            .expect("a valid policy");
        Limiter::new(&policy)
    }

    #[test]
    fn the_warm_up_rises_in_even_steps_and_says_when() {
        let start = Instant::now();
        let mut limiter = limiter(5, 8, false);
        limiter.start(start);
        let at = |s: f64| start + Duration::from_secs_f64(s);
        for (second, cap) in [
            (0.0, 1),
            (1.99, 1),
            (2.0, 2),
            (4.0, 3),
            (7.99, 4),
            (8.0, 5),
            (99.0, 5),
        ] {
            assert_eq!(limiter.cap(at(second)), cap, "at {second} s");
        }
        assert_eq!(limiter.next_rise(at(0.0)), Some(at(2.0)));
        assert_eq!(limiter.next_rise(at(2.0)), Some(at(4.0)));
        assert_eq!(limiter.next_rise(at(8.0)), None);
    }

    #[test]
    fn every_rise_is_announced_at_the_instant_it_happens() {
        let start = Instant::now();
        for concurrency in [2, 3, 7, 64] {
            let mut limiter = limiter(concurrency, 10, false);
            limiter.start(start);
            let mut now = start;
            while let Some(rise) = limiter.next_rise(now) {
                let before = limiter.cap(
                    start.max(
                        rise.checked_sub(Duration::from_nanos(1))
                            .expect("after the start"),
                    ),
                );
                assert_eq!(limiter.cap(rise), before + 1);
                now = rise;
            }
            assert_eq!(limiter.cap(now), concurrency);
        }
    }

    #[test]
    fn more_than_three_failures_in_ten_halve_the_cap_and_start_the_window_afresh() {
        let now = Instant::now();
        let mut limiter = limiter(16, 0, true);
        limiter.start(now);
        for i in 0..20 {
            assert_eq!(
                limiter.cap(now),
                16,
                "judged from 20 attempts on, not at {i}"
            );
            limiter.on_outcome(i % 2 == 0);
        }
        assert_eq!(limiter.cap(now), 8);
        for _ in 0..19 {
            limiter.on_outcome(true);
        }
        assert_eq!(
            limiter.cap(now),
            8,
            "a fresh window is judged from 20 on again"
        );
        limiter.on_outcome(true);
        assert_eq!(limiter.cap(now), 4);
        for _ in 0..200 {
            limiter.on_outcome(true);
        }
        assert_eq!(limiter.cap(now), 1, "never below one");
    }

    #[test]
    fn exactly_three_in_ten_is_not_too_many() {
        let now = Instant::now();
        let mut limiter = limiter(10, 0, true);
        for i in 0..400 {
            limiter.on_outcome(i % 10 >= 7);
        }
        assert_eq!(limiter.cap(now), 10);
    }

    #[test]
    fn the_cap_grows_by_one_after_a_round_that_used_it_and_not_above_the_concurrency() {
        let now = Instant::now();
        let mut limiter = limiter(4, 0, true);
        for _ in 0..20 {
            limiter.on_outcome(true);
        }
        assert_eq!(limiter.cap(now), 2);
        limiter.on_start(1);
        limiter.on_outcome(false);
        limiter.on_outcome(false);
        assert_eq!(limiter.cap(now), 2, "half of the cap was used");
        limiter.on_start(2);
        limiter.on_outcome(false);
        limiter.on_outcome(false);
        assert_eq!(limiter.cap(now), 3);
        for _ in 0..100 {
            limiter.on_start(4);
            limiter.on_outcome(false);
        }
        assert_eq!(limiter.cap(now), 4);
    }
}
