//! [`Progress`]: one line on a terminal while a crawl runs, and the line that
//! sums it up. A thread of its own looks at the crawl from time to time; the
//! crawl never waits for it.

use std::fmt::Write as _;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam::channel::{self, RecvTimeoutError, Sender};

use super::exit::Exit;
use super::term::{self, STDERR, sanitize};
use crate::config::{show_duration, units};

/// How often the line is drawn: often enough to be alive, seldom enough to
/// cost nothing.
const REDRAW: Duration = Duration::from_millis(200);

/// What a crawl has done so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Snapshot {
    /// Requests sent, of every kind.
    pub(super) requests: u64,
    /// URLs that are done.
    pub(super) done: u64,
    /// URLs that failed for good.
    pub(super) failed: u64,
    /// URLs that were skipped, for whatever reason.
    pub(super) skipped: u64,
    /// URLs that redirected elsewhere.
    pub(super) redirected: u64,
    /// URLs that wait for their turn.
    pub(super) pending: u64,
    /// Requests on the wire.
    pub(super) in_flight: u64,
    /// Bytes of bodies.
    pub(super) bytes: u64,
    /// How long the run has lasted.
    pub(super) elapsed: Duration,
    /// What the next start waits for.
    pub(super) waiting: Option<String>,
}

/// The progress line, drawn until it is dropped.
pub(super) struct Progress {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Draws what `look` sees, now and again.
    pub(super) fn start(look: impl Fn() -> Snapshot + Send + 'static) -> Self {
        let (stop, stopped) = channel::bounded(0);
        let width = term::width();
        let thread = thread::Builder::new()
            .name("progress".to_owned())
            .spawn(move || {
                while stopped.recv_timeout(REDRAW) == Err(RecvTimeoutError::Timeout) {
                    STDERR.show(&shorten(&line(&look()), width));
                }
            })
            // Without the thread the crawl runs as well, only unseen.
            .ok();
        Progress {
            stop: Some(stop),
            thread,
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        STDERR.show("");
    }
}

/// The progress line, most telling part first.
fn line(now: &Snapshot) -> String {
    let mut out = format!(
        "{} done, {} queued, {} in flight",
        grouped(now.done),
        grouped(now.pending),
        grouped(now.in_flight)
    );
    if now.failed > 0 {
        let _ = write!(out, ", {} failed", grouped(now.failed));
    }
    let minutes = now.elapsed.as_secs_f64() / 60.0;
    if now.elapsed >= Duration::from_secs(1) {
        let rate = (now.requests as f64 / minutes).round() as u64;
        let _ = write!(out, ", {} requests a minute", grouped(rate));
    }
    let _ = write!(out, ", {}", whole_seconds(now.elapsed));
    if let Some(waiting) = &now.waiting {
        let _ = write!(out, ", waiting for {}", sanitize(waiting));
    }
    out
}

/// One line on how a run ended.
pub(super) fn summary(exit: Exit, end: &Snapshot) -> String {
    let how = match exit {
        Exit::Complete => "complete",
        Exit::Bound => "a bound was reached, the rest is pending",
        Exit::Refused => "stopped, since the site refuses",
        Exit::Nothing => "nothing could be fetched",
        Exit::Signal(_) => "interrupted, the rest is pending",
        Exit::Failure | Exit::Usage | Exit::Locked | Exit::State => "ended by an error",
    };
    let mut out = format!("canter: {how}: {} done", grouped(end.done));
    for (count, what) in [
        (end.failed, "failed"),
        (end.redirected, "redirected"),
        (end.skipped, "skipped"),
        (end.pending, "pending"),
    ] {
        if count > 0 {
            let _ = write!(out, ", {} {what}", grouped(count));
        }
    }
    let _ = write!(
        out,
        "; {} requests, {} in {}",
        grouped(end.requests),
        rounded_size(end.bytes),
        whole_seconds(end.elapsed)
    );
    out
}

/// Cuts a line to a width; what was cut is told by two dots.
fn shorten(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let kept = width.saturating_sub(2);
    let mut out: String = line.chars().take(kept).collect();
    out.extend("..".chars().take(width));
    out
}

fn whole_seconds(duration: Duration) -> String {
    show_duration(if duration < Duration::from_secs(1) {
        Duration::from_millis(duration.as_millis() as u64)
    } else {
        Duration::from_secs(duration.as_secs())
    })
}

/// A size with one digit behind the point: `45.2 MiB`.
fn rounded_size(bytes: u64) -> String {
    for (unit, size) in [("GiB", 1_u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)] {
        if bytes >= size {
            return format!("{:.1} {unit}", bytes as f64 / size as f64);
        }
    }
    units::show_size(bytes)
}

/// A number with a comma at every thousand.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> Snapshot {
        Snapshot {
            requests: 1_300,
            done: 1_234,
            failed: 3,
            skipped: 20,
            redirected: 0,
            pending: 56,
            in_flight: 4,
            bytes: 47_395_635,
            elapsed: Duration::from_millis(1_263_500),
            waiting: Some("rate".to_owned()),
        }
    }

    #[test]
    fn the_line_says_how_far_how_fast_and_what_it_waits_for() {
        assert_eq!(
            line(&snapshot()),
            "1,234 done, 56 queued, 4 in flight, 3 failed, 62 requests a minute, 21m 3s, \
             waiting for rate"
        );
        assert_eq!(
            line(&Snapshot::default()),
            "0 done, 0 queued, 0 in flight, 0s"
        );
    }

    #[test]
    fn a_line_never_passes_the_width() {
        let line = line(&snapshot());
        for width in 0..120 {
            let short = shorten(&line, width);
            assert!(short.chars().count() <= width, "{width}: {short}");
            assert!(line.starts_with(short.trim_end_matches('.')));
        }
        assert_eq!(shorten("abcdef", 5), "abc..");
        assert_eq!(shorten("abcde", 5), "abcde");
    }

    #[test]
    fn the_summary_is_one_line_with_the_counts_that_are_not_zero() {
        assert_eq!(
            summary(Exit::Bound, &snapshot()),
            "canter: a bound was reached, the rest is pending: 1,234 done, 3 failed, 20 skipped, \
             56 pending; 1,300 requests, 45.2 MiB in 21m 3s"
        );
        assert_eq!(
            summary(Exit::Complete, &Snapshot::default()),
            "canter: complete: 0 done; 0 requests, 0 B in 0s"
        );
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let grouped: Vec<_> = [0, 999, 1_000, 12_345, 1_000_000].map(grouped).into();
        assert_eq!(grouped, ["0", "999", "1,000", "12,345", "1,000,000"]);
    }
}
