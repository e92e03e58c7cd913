//! [`Progress`]: one line on a terminal while a crawl runs, and in the log what
//! it waits for. A thread of its own looks at the crawl from time to time; the
//! crawl never waits for it.

use std::collections::VecDeque;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam::channel::{self, RecvTimeoutError, Sender};

use super::progress_line::ProgressLine;
use super::term::{STDERR, Terminal};
use crate::config::{Settings, Sitemaps, show_duration, units};
use crate::crawler::{Stats, StatsHandle, Waiting};

/// How often the line is drawn: often enough to be alive, seldom enough to
/// cost nothing.
const REDRAW: Duration = Duration::from_millis(200);

/// What is shown while a crawl runs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct View {
    /// Whether the line is drawn.
    pub(super) draw: bool,
    /// The most requests a minute, if that is bounded.
    pub(super) per_minute: Option<f64>,
    /// Whether all URLs are known from the start.
    pub(super) all_known: bool,
    /// When no more requests start, if that is bounded.
    pub(super) deadline: Option<Duration>,
    /// The most requests, if that is bounded.
    pub(super) max_requests: Option<u64>,
}

impl View {
    /// What a configuration says about it.
    pub(super) fn new(settings: &Settings, draw: bool) -> Self {
        View {
            draw,
            per_minute: settings.policy.max_requests_per_minute,
            all_known: !settings.crawl.follow && settings.crawl.sitemaps == Sitemaps::Off,
            deadline: settings.policy.deadline,
            max_requests: settings.policy.max_requests,
        }
    }
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
        let thread = thread::Builder::new()
            .name("progress".to_owned())
            .spawn(move || {
                let terminal = view.draw.then(Terminal::of_stderr);
                let mut waiting = None;
                let mut pace = Pace::default();
                while stopped.recv_timeout(REDRAW) == Err(RecvTimeoutError::Timeout) {
                    let now = stats.stats();
                    if logs && let Some(change) = changed(&mut waiting, &now) {
                        log::info!("waiting for {change}");
                    }
                    if let Some(terminal) = &terminal {
                        pace.note(now.elapsed, now.requests);
                        let line = ProgressLine::new(&now, &view, pace.a_minute(view.per_minute));
                        let width = terminal.width();
                        STDERR.show_painted(&line.fitted(width), terminal.colours());
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

/// How long the pace looks back.
const WINDOW: Duration = Duration::from_secs(60);
/// How far apart the points of it are.
const POINTS: Duration = Duration::from_millis(900);
/// Before this there is no pace to speak of.
const FIRST_PACE: Duration = Duration::from_secs(5);

/// The starts of the last minute.
#[derive(Debug, Default)]
struct Pace {
    /// When it was, and how many requests had started by then.
    points: VecDeque<(Duration, u64)>,
    now: (Duration, u64),
}

impl Pace {
    fn note(&mut self, elapsed: Duration, requests: u64) {
        self.now = (elapsed, requests);
        if self
            .points
            .back()
            .is_none_or(|(last, _)| elapsed >= *last + POINTS)
        {
            self.points.push_back(self.now);
        }
        // The window is never longer than a minute: a minute's bound holds in it.
        while self.points.len() > 1 && self.points[0].0 + WINDOW < elapsed {
            self.points.pop_front();
        }
    }

    /// Starts a minute, of late. `None` before there is anything to say.
    ///
    /// Where the window begins just before a start it holds one more than is
    /// its due: that does not make a pace that is within its bound a faster one.
    fn a_minute(&self, bound: Option<f64>) -> Option<f64> {
        let (elapsed, requests) = self.now;
        if elapsed < FIRST_PACE {
            return None;
        }
        let (from, before) = *self.points.front()?;
        let window = elapsed.saturating_sub(from).as_secs_f64();
        if window <= 0.0 {
            return None;
        }
        let a_minute = |starts: u64| starts as f64 * 60.0 / window;
        let starts = requests.saturating_sub(before);
        let rate = a_minute(starts);
        let within = bound.filter(|bound| a_minute(starts.saturating_sub(1)) <= *bound);
        Some(within.map_or(rate, |bound| rate.min(bound)))
    }
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

/// So many of something: `1 page`, `1,300 pages`, `2 entries`.
pub(super) fn counted(number: u64, name: &str) -> String {
    let (stem, end) = match name.strip_suffix('y') {
        _ if number == 1 => (name, ""),
        Some(stem) => (stem, "ies"),
        None => (name, "s"),
    };
    format!("{} {stem}{end}", grouped(number))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn the_pace_is_that_of_the_last_minute_and_never_above_the_bound() {
        let mut pace = Pace::default();
        let mut told: Vec<u64> = Vec::new();
        // One a second, then after two minutes one every four seconds.
        for tick in 1..2_000_u64 {
            let elapsed = REDRAW * tick as u32;
            let seconds = elapsed.as_secs();
            let requests = if seconds < 120 {
                seconds + 1
            } else {
                121 + (seconds - 120) / 4
            };
            pace.note(elapsed, requests);
            match pace.a_minute(Some(60.0)) {
                None => assert!(elapsed < FIRST_PACE, "{elapsed:?}"),
                Some(rate) => told.push(rate.round() as u64),
            }
        }
        assert!(told.iter().all(|rate| *rate <= 60), "{told:?}");
        assert!((58..=60).contains(&told[300]), "{told:?}");
        assert!((14..=16).contains(told.last().expect("some")), "{told:?}");
        assert!(pace.points.len() < 100);

        // What is faster than its bound is told as it is.
        let mut pace = Pace::default();
        for tick in 1..200_u64 {
            pace.note(REDRAW * tick as u32, tick);
        }
        let rate = pace.a_minute(Some(60.0)).expect("long enough");
        assert!((299.0..303.0).contains(&rate), "{rate}");
    }

    #[test]
    fn one_is_not_several() {
        assert_eq!(counted(0, "page"), "0 pages");
        assert_eq!(counted(1, "page"), "1 page");
        assert_eq!(counted(1_300, "page"), "1,300 pages");
        assert_eq!(counted(1, "entry"), "1 entry");
        assert_eq!(counted(2, "entry"), "2 entries");
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let grouped: Vec<_> = [0, 999, 1_000, 12_345, 1_000_000].map(grouped).into();
        assert_eq!(grouped, ["0", "999", "1,000", "12,345", "1,000,000"]);
    }
}
