//! [`Progress`]: one line on a terminal while a crawl runs, and in the log what
//! it waits for. A thread of its own looks at the crawl from time to time; the
//! crawl never waits for it.

use std::fmt::Write as _;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam::channel::{self, RecvTimeoutError, Sender};

use super::term::{self, STDERR, sanitize};
use crate::config::{show_duration, units};
use crate::crawler::{Stats, StatsHandle, Waiting};

/// How often the line is drawn: often enough to be alive, seldom enough to
/// cost nothing.
const REDRAW: Duration = Duration::from_millis(200);

/// What is shown while a crawl runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct View {
    /// Whether the line is drawn.
    pub(super) draw: bool,
    /// The most requests a minute, if that is bounded.
    pub(super) per_minute: Option<f64>,
}

/// The progress line, drawn until it is dropped; and what the next start waits
/// for, logged whenever it changes.
pub(super) struct Progress {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Looks at the crawl now and again, if anybody wants to know.
    pub(super) fn start(view: View, stats: StatsHandle) -> Self {
        let (stop, stopped) = channel::bounded(0);
        let logs = log::log_enabled!(log::Level::Info);
        if !view.draw && !logs {
            return Progress {
                stop: None,
                thread: None,
            };
        }
        let width = term::width();
        let mut waiting = None;
        let thread = thread::Builder::new()
            .name("progress".to_owned())
            .spawn(move || {
                while stopped.recv_timeout(REDRAW) == Err(RecvTimeoutError::Timeout) {
                    let now = stats.stats();
                    if logs && let Some(change) = changed(&mut waiting, &now) {
                        log::info!("waiting for {change}");
                    }
                    if view.draw {
                        STDERR.show(&shorten(&line(&now, view.per_minute), width));
                    }
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

/// What is waited for, if it is not what was waited for last. A start in
/// between does not make the same thing a change.
fn changed<'a>(last: &mut Option<Waiting>, now: &'a Stats) -> Option<&'a Waiting> {
    let waiting = now.waiting.as_ref()?;
    if last.as_ref() == Some(waiting) {
        return None;
    }
    *last = Some(waiting.clone());
    Some(waiting)
}

/// The progress line, most telling part first.
fn line(now: &Stats, per_minute: Option<f64>) -> String {
    let mut out = format!(
        "{} done, {} queued, {} in flight",
        grouped(now.succeeded),
        grouped(now.queued),
        grouped(now.in_flight)
    );
    if now.failed > 0 {
        let _ = write!(out, ", {} failed", grouped(now.failed));
    }
    let minutes = now.elapsed.as_secs_f64() / 60.0;
    if now.elapsed >= Duration::from_secs(1) {
        let rate = (now.requests as f64 / minutes).round() as u64;
        let _ = write!(out, ", {}", grouped(rate));
        if let Some(bound) = per_minute {
            let _ = write!(out, " of {}", grouped(bound.round() as u64));
        }
        out.push_str(" requests a minute");
    }
    let _ = write!(out, ", {}", whole_seconds(now.elapsed));
    if let Some(waiting) = &now.waiting {
        let _ = write!(out, ", waiting for {}", sanitize(&waiting.to_string()));
    }
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

pub(super) fn whole_seconds(duration: Duration) -> String {
    show_duration(if duration < Duration::from_secs(1) {
        Duration::from_millis(duration.as_millis() as u64)
    } else {
        Duration::from_secs(duration.as_secs())
    })
}

/// A size with one digit behind the point: `45.2 MiB`.
pub(super) fn rounded_size(bytes: u64) -> String {
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

    fn stats() -> Stats {
        Stats {
            requests: 1_300,
            succeeded: 1_234,
            failed: 3,
            skipped: 20,
            queued: 56,
            in_flight: 4,
            elapsed: Duration::from_millis(1_263_500),
            waiting: Some(Waiting::Rate),
            ..Stats::default()
        }
    }

    #[test]
    fn the_line_says_how_far_how_fast_and_what_it_waits_for() {
        assert_eq!(
            line(&stats(), Some(60.0)),
            "1,234 done, 56 queued, 4 in flight, 3 failed, 62 of 60 requests a minute, 21m 3s, \
             waiting for rate"
        );
        assert_eq!(
            line(&Stats::default(), None),
            "0 done, 0 queued, 0 in flight, 0s"
        );
    }

    #[test]
    fn each_change_of_what_is_waited_for_is_told_once() {
        let mut last = None;
        let mut told = |waiting: Option<Waiting>| {
            let now = Stats {
                waiting,
                ..Stats::default()
            };
            changed(&mut last, &now).map(ToString::to_string)
        };
        let gap = || Some(Waiting::HostGap("a.test".into()));
        assert_eq!(told(None), None);
        assert_eq!(told(Some(Waiting::Rate)).as_deref(), Some("rate"));
        assert_eq!(told(Some(Waiting::Rate)), None);
        assert_eq!(told(None), None);
        assert_eq!(told(Some(Waiting::Rate)), None);
        assert_eq!(told(gap()).as_deref(), Some("gap of a.test"));
        assert_eq!(told(Some(Waiting::Rate)).as_deref(), Some("rate"));
    }

    #[test]
    fn a_line_never_passes_the_width() {
        let line = line(&stats(), None);
        for width in 0..120 {
            let short = shorten(&line, width);
            assert!(short.chars().count() <= width, "{width}: {short}");
            assert!(line.starts_with(short.trim_end_matches('.')));
        }
        assert_eq!(shorten("abcdef", 5), "abc..");
        assert_eq!(shorten("abcde", 5), "abcde");
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let grouped: Vec<_> = [0, 999, 1_000, 12_345, 1_000_000].map(grouped).into();
        assert_eq!(grouped, ["0", "999", "1,000", "12,345", "1,000,000"]);
    }
}
