//! Whole crawls in virtual time: each test drives the pure engine over a
//! scripted site and asserts what was asked for at which instant.

#![allow(clippy::float_cmp, reason = "the instants of virtual time are exact")]

#[path = "../common/drive/mod.rs"]
mod drive;

mod bounds;
mod ends;
mod handlers;
mod hosts;
mod pace;
mod redirects;
mod retries;
mod robots;
mod runs;
mod waiting;

use std::time::Duration;

use canter::{PolicyBuilder, RetryPolicy};

/// So many seconds.
fn secs(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// A policy without any pace: what a test is about is added to it.
fn unpaced() -> PolicyBuilder {
    canter::Policy::builder()
        .concurrency(8)
        .host_concurrency(8)
        .max_consecutive_failures(0)
        .max_error_rate(1.0)
        .max_host_failures(0)
        .retry(exact_retries(3))
}

/// Retries after exactly 0.5 s, 1 s, 2 s and so on up to 30 s.
fn exact_retries(max: u32) -> RetryPolicy {
    RetryPolicy {
        jitter: 0.0,
        ..RetryPolicy::new(max)
    }
}
