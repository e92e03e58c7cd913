//! [`Breaker`]: the rules that end a run when the site says no. Keeps: only
//! what says something about the site counts, after retries.

use std::collections::VecDeque;

use crate::error::ErrorKind;
use crate::policy::Policy;

/// From how many outcomes on the error rate is judged.
const JUDGED_FROM: usize = 20;

/// What a request's end says about the site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// The site serves us.
    Good,
    /// The site fails or refuses.
    Bad,
    /// It is about this one URL, or about us.
    None,
}

impl Weight {
    /// What a failure says about the site: kinds `Http`, `Timeout`, `Connect`,
    /// and the statuses by which a site refuses a visitor.
    #[must_use]
    pub fn of_failure(kind: ErrorKind, status: Option<u16>) -> Weight {
        match kind {
            ErrorKind::Http | ErrorKind::Timeout | ErrorKind::Connect => Weight::Bad,
            ErrorKind::Rejected if matches!(status, Some(401 | 403 | 407)) => Weight::Bad,
            _ => Weight::None,
        }
    }
}

/// Which stop rule ended the run.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Trip {
    /// So many failures in a row.
    Consecutive(u32),
    /// This part of the recent requests failed.
    ErrorRate(f64),
}

impl std::fmt::Display for Trip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Trip::Consecutive(n) => write!(f, "{n} failures in a row (max_consecutive_failures)"),
            Trip::ErrorRate(rate) => {
                write!(
                    f,
                    "{:.0} % of the recent requests failed (max_error_rate)",
                    rate * 100.0
                )
            }
        }
    }
}

/// The stop rules.
#[derive(Debug, Clone)]
pub struct Breaker {
    max_consecutive: u32,
    max_rate: f64,
    window_size: usize,
    consecutive: u32,
    window: VecDeque<bool>,
    failed: usize,
}

impl Breaker {
    /// The stop rules of a policy.
    #[must_use]
    pub fn new(policy: &Policy) -> Self {
        Breaker {
            max_consecutive: policy.max_consecutive_failures,
            max_rate: policy.max_error_rate,
            window_size: policy.error_rate_window,
            consecutive: 0,
            window: VecDeque::new(),
            failed: 0,
        }
    }

    /// Notes the end of a request; says whether a rule ends the run.
    pub fn record(&mut self, weight: Weight) -> Option<Trip> {
        let bad = match weight {
            Weight::None => return None,
            Weight::Good => false,
            Weight::Bad => true,
        };
        self.consecutive = if bad { self.consecutive + 1 } else { 0 };
        if self.window.len() == self.window_size && self.window.pop_front() == Some(true) {
            self.failed -= 1;
        }
        self.window.push_back(bad);
        self.failed += usize::from(bad);
        if self.max_consecutive > 0 && self.consecutive >= self.max_consecutive {
            return Some(Trip::Consecutive(self.consecutive));
        }
        let judged_from = JUDGED_FROM.min(self.window_size);
        let rate = self.failed as f64 / self.window.len() as f64;
        (self.window.len() >= judged_from && rate > self.max_rate).then_some(Trip::ErrorRate(rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaker(consecutive: u32, rate: f64, window: usize) -> Breaker {
        let policy = Policy::builder()
            .max_consecutive_failures(consecutive)
            .max_error_rate(rate)
            .error_rate_window(window)
            .build()
            .expect("a valid policy");
        Breaker::new(&policy)
    }

    #[test]
    fn the_set_number_of_failures_in_a_row_trips_and_a_success_starts_again() {
        let mut breaker = breaker(3, 1.0, 200);
        let ends = [
            Weight::Bad,
            Weight::Bad,
            Weight::Good,
            Weight::Bad,
            Weight::None,
            Weight::Bad,
        ];
        assert!(ends.into_iter().all(|end| breaker.record(end).is_none()));
        assert_eq!(breaker.record(Weight::Bad), Some(Trip::Consecutive(3)));
    }

    #[test]
    fn the_error_rate_waits_for_twenty_outcomes() {
        let mut breaker = breaker(0, 0.5, 200);
        for i in 0..19 {
            assert_eq!(breaker.record(Weight::Bad), None, "outcome {i}");
        }
        assert_eq!(breaker.record(Weight::Bad), Some(Trip::ErrorRate(1.0)));
    }

    #[test]
    fn the_window_forgets_what_is_old() {
        let mut breaker = breaker(0, 0.5, 20);
        for _ in 0..100 {
            assert_eq!(breaker.record(Weight::Good), None);
        }
        let trips: Vec<_> = (0..11)
            .map(|_| breaker.record(Weight::Bad).is_some())
            .collect();
        assert_eq!(
            trips.iter().position(|tripped| *tripped),
            Some(10),
            "11 of 20 is over half"
        );
    }

    #[test]
    fn a_rate_of_one_and_a_count_of_zero_never_trip() {
        let mut breaker = breaker(0, 1.0, 50);
        assert!((0..500).all(|_| breaker.record(Weight::Bad).is_none()));
    }

    #[test]
    fn only_failures_that_say_something_about_the_site_count() {
        for kind in ErrorKind::ALL {
            let expected = matches!(
                kind,
                ErrorKind::Http | ErrorKind::Timeout | ErrorKind::Connect
            );
            assert_eq!(
                Weight::of_failure(kind, None) == Weight::Bad,
                expected,
                "{kind}"
            );
        }
        for (status, weight) in [
            (401, Weight::Bad),
            (403, Weight::Bad),
            (407, Weight::Bad),
            (404, Weight::None),
            (410, Weight::None),
            (400, Weight::None),
            (451, Weight::None),
        ] {
            assert_eq!(
                Weight::of_failure(ErrorKind::Rejected, Some(status)),
                weight,
                "{status}"
            );
        }
    }
}
