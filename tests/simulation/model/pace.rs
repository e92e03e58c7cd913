//! The pace of the whole crawl by the letter of the design: the token bucket,
//! the window of a minute, the cap on requests in flight, the stop rules.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use canter::Policy;

/// The window in which starts are counted.
const MINUTE: Duration = Duration::from_secs(60);

/// A bucket of whole tokens that fills in nanoseconds.
pub(super) struct Bucket {
    interval: u128,
    burst: u128,
    /// What is in the bucket, as the time it took to fill.
    level: u128,
    at: Option<Instant>,
    /// The last starts, as many as a window may hold.
    starts: VecDeque<Instant>,
    window: Option<usize>,
}

impl Bucket {
    pub(super) fn new(policy: &Policy) -> Self {
        let rate = policy.max_requests_per_minute;
        let interval = rate.map_or(0, |rate| (60e9 / rate).ceil() as u128);
        let burst = u128::from(policy.burst);
        Bucket {
            interval,
            burst,
            level: interval * burst,
            at: None,
            starts: VecDeque::new(),
            window: rate.map(|rate| rate as usize + policy.burst as usize - 1),
        }
    }

    fn level(&self, now: Instant) -> u128 {
        let passed = self.at.map_or(0, |at| (now - at).as_nanos());
        (self.level + passed).min(self.interval * self.burst)
    }

    /// When a token is there.
    pub(super) fn next(&self, now: Instant) -> Instant {
        let missing = self.interval.saturating_sub(self.level(now));
        now + Duration::from_nanos(missing as u64)
    }

    pub(super) fn take(&mut self, now: Instant) {
        if self.next(now) > now {
            violated!(
                "rate",
                "a start without a token, {:?} too early",
                self.next(now) - now
            );
        }
        self.level = self.level(now) - self.interval;
        self.at = Some(now);
        // The same once more, without any bucket.
        let Some(window) = self.window else { return };
        if self.starts.len() == window
            && let Some(first) = self.starts.pop_front()
            && now - first < MINUTE
        {
            violated!("rate", "{} starts within {:?}", window + 1, now - first);
        }
        self.starts.push_back(now);
    }
}

/// The cap on requests in flight.
pub(super) struct Cap {
    concurrency: usize,
    warmup: Duration,
    began: Instant,
    adaptive: Option<Adaptive>,
}

struct Adaptive {
    cap: usize,
    window: VecDeque<bool>,
    round: usize,
    peak: usize,
}

impl Cap {
    pub(super) fn new(policy: &Policy, began: Instant) -> Self {
        Cap {
            concurrency: policy.concurrency,
            warmup: policy.warmup,
            began,
            adaptive: policy.adaptive_concurrency.then(|| Adaptive {
                cap: policy.concurrency,
                window: VecDeque::new(),
                round: 0,
                peak: 0,
            }),
        }
    }

    fn adapted(&self) -> usize {
        self.adaptive
            .as_ref()
            .map_or(self.concurrency, |adaptive| adaptive.cap)
    }

    /// Linear from 1 at the beginning to the concurrency at the end, in whole
    /// requests.
    fn warm(&self, now: Instant) -> usize {
        let passed = now - self.began;
        if passed >= self.warmup {
            return self.concurrency;
        }
        let part = passed.as_nanos() * (self.concurrency as u128 - 1) / self.warmup.as_nanos();
        1 + part as usize
    }

    pub(super) fn at(&self, now: Instant) -> usize {
        self.warm(now).min(self.adapted())
    }

    /// When the warm-up lets one more in flight, if that is what is waited for.
    pub(super) fn rises(&self, now: Instant) -> Option<Instant> {
        let warm = self.warm(now);
        (warm < self.adapted()).then(|| {
            let steps = self.concurrency as u128 - 1;
            let after = (warm as u128 * self.warmup.as_nanos()).div_ceil(steps);
            self.began + Duration::from_nanos(after as u64)
        })
    }

    pub(super) fn started(&mut self, in_flight: usize) {
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.peak = adaptive.peak.max(in_flight);
        }
    }

    pub(super) fn ended(&mut self, failed: bool) {
        let Some(adaptive) = &mut self.adaptive else {
            return;
        };
        adaptive.window.push_back(failed);
        if adaptive.window.len() > 200 {
            adaptive.window.pop_front();
        }
        adaptive.round += 1;
        let attempts = adaptive.window.len();
        let failures = adaptive.window.iter().filter(|failed| **failed).count();
        if attempts >= 20 && failures * 10 > attempts * 3 {
            adaptive.cap = usize::max(1, adaptive.cap / 2);
            adaptive.window.clear();
        } else if adaptive.round < adaptive.cap {
            return;
        } else if adaptive.peak * 10 >= adaptive.cap * 9 {
            adaptive.cap = usize::min(self.concurrency, adaptive.cap + 1);
        }
        adaptive.round = 0;
        adaptive.peak = 0;
    }
}

/// The two stop rules.
pub(super) struct StopRules {
    most_in_a_row: u32,
    in_a_row: u32,
    rate: f64,
    size: usize,
    window: VecDeque<bool>,
}

impl StopRules {
    pub(super) fn new(policy: &Policy) -> Self {
        StopRules {
            most_in_a_row: policy.max_consecutive_failures,
            in_a_row: 0,
            rate: policy.max_error_rate,
            size: policy.error_rate_window,
            window: VecDeque::new(),
        }
    }

    /// Whether a rule ends the run with this end of a request.
    pub(super) fn ended(&mut self, failed: bool) -> bool {
        self.in_a_row = if failed { self.in_a_row + 1 } else { 0 };
        self.window.push_back(failed);
        if self.window.len() > self.size {
            self.window.pop_front();
        }
        let failures = self.window.iter().filter(|failed| **failed).count();
        let judged = self.window.len() >= self.size.min(20);
        self.most_in_a_row > 0 && self.in_a_row >= self.most_in_a_row
            || judged && failures as f64 / self.window.len() as f64 > self.rate
    }
}
