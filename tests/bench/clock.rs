//! How benches take time: by the CPU time of their thread, since other programs
//! use the machine as well.

use std::sync::OnceLock;
use std::time::Instant;

/// CPU time of this thread where the system tells it, else the time of day.
pub(crate) fn cpu_seconds() -> f64 {
    let nanoseconds = std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|line| line.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(
        || {
            static START: OnceLock<Instant> = OnceLock::new();
            START.get_or_init(Instant::now).elapsed().as_secs_f64()
        },
        |nanoseconds| nanoseconds / 1e9,
    )
}
