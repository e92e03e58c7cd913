//! [`Metrics`]: how a run goes as a file in the text format of Prometheus
//! (exposition format 0.0.4), for the textfile collector of the node exporter.
//! Keeps: the file is whole whenever it is read, and tells of the last run's
//! end also while the next one goes on.
//!
//! Counters are those of the run, and begin again with each.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crossbeam::channel::{self, RecvTimeoutError, Sender};

use super::complain;
use super::exit::Exit;
use crate::admission::SkipReason;
use crate::config::Settings;
use crate::crawler::chronicle::{Wait, Word as _};
use crate::crawler::{Stats, StatsHandle};
use crate::error::{Error, ErrorKind, Result};
use crate::ledger;

/// How often the file is written: more often than anybody collects it.
const INTERVAL: Duration = Duration::from_secs(10);
/// How often it is looked whether the run has begun.
const FIRST_LOOK: Duration = Duration::from_millis(200);
/// What the names of the metrics about the last run begin with.
const LAST_RUN: &str = "canter_last_run_";
/// The longest file of an earlier run that is read.
const MAX_EARLIER: u64 = 1 << 20;

/// Writes the metrics of a run until it is told how the run ended.
pub(super) struct Metrics {
    sheet: Sheet,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Metrics {
    /// Writes metrics if they are wanted, from the moment the run has begun: a
    /// run that does not get the lock leaves the file to the one that has it.
    ///
    /// # Errors
    /// When the file could not be written.
    pub(super) fn start(
        settings: &Settings,
        began: SystemTime,
        stats: StatsHandle,
    ) -> Result<Option<Metrics>> {
        let Some(path) = &settings.output.metrics else {
            return Ok(None);
        };
        try_to_write(path).map_err(|error| {
            let text = format!("the metrics cannot be written to {}", path.display());
            Error::new(ErrorKind::Output)
                .with_message(text)
                .with_source(error)
        })?;
        let config = settings.file().map_or(String::new(), |file| {
            let whole = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
            whole.display().to_string()
        });
        let sheet = Sheet {
            last_run: earlier(path),
            path: path.clone(),
            config,
            per_minute: settings.policy.max_requests_per_minute,
            began,
        };
        let (stop, stopped) = channel::bounded(0);
        let own = sheet.clone();
        let thread = thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(move || {
                let mut interval = FIRST_LOOK;
                let mut told = false;
                while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                    let now = stats.stats();
                    // Without a cap nothing has begun.
                    if now.cap == 0 {
                        continue;
                    }
                    interval = INTERVAL;
                    if let Err(error) = own.write(&now, None)
                        && !told
                    {
                        told = true;
                        log::warn!("the metrics cannot be written: {error}");
                    }
                }
            })
            .ok();
        Ok(Some(Metrics {
            sheet,
            stop: Some(stop),
            thread,
        }))
    }

    /// Tells how the run ended.
    pub(super) fn end(mut self, stats: &Stats, exit: Exit) {
        self.stop();
        // The file is that of the run that goes on.
        if exit == Exit::Locked {
            return;
        }
        if let Err(error) = self.sheet.write(stats, Some(exit)) {
            let path = self.sheet.path.display();
            complain(&format!("the metrics cannot be written to {path}: {error}"));
        }
    }

    fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Finds out whether the file could be written, rather than in ten seconds.
fn try_to_write(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    ledger::whole_place(path)?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut trial = path.as_os_str().to_owned();
    trial.push(".trial");
    std::fs::File::create(&trial)?;
    std::fs::remove_file(&trial)
}

/// What the file of an earlier run tells of how that ended.
fn earlier(path: &Path) -> String {
    let short = path.metadata().is_ok_and(|file| file.len() <= MAX_EARLIER);
    let text = if short {
        std::fs::read_to_string(path).unwrap_or_default()
    } else {
        String::new()
    };
    let about = |line: &&str| {
        let line = line
            .strip_prefix("# HELP ")
            .or(line.strip_prefix("# TYPE "))
            .unwrap_or(line);
        line.starts_with(LAST_RUN)
    };
    text.lines()
        .filter(about)
        .fold(String::new(), |mut out, line| {
            out.push_str(line);
            out.push('\n');
            out
        })
}

/// What is written, but for the numbers.
#[derive(Debug, Clone)]
struct Sheet {
    path: PathBuf,
    /// The configuration: two crawls on one machine must differ in a label.
    config: String,
    per_minute: Option<f64>,
    began: SystemTime,
    /// The lines about the last run.
    last_run: String,
}

impl Sheet {
    fn write(&self, stats: &Stats, ended: Option<Exit>) -> io::Result<()> {
        let text = self.text(stats, ended, SystemTime::now());
        ledger::write_whole(&self.path, text.as_bytes())
    }

    fn text(&self, stats: &Stats, ended: Option<Exit>, now: SystemTime) -> String {
        let mut lines = Lines {
            out: String::with_capacity(8 * 1024),
            config: escape_label(&self.config),
        };
        lines.one(
            "canter_build_info",
            "gauge",
            "Always 1; the label tells the version.",
            &[("version", env!("CARGO_PKG_VERSION"))],
            1.0,
        );
        self.run(&mut lines, stats, ended.is_none(), now);
        Self::urls(&mut lines, stats);
        Self::waits(&mut lines, stats, ended.is_none());
        match ended {
            None => lines.out.push_str(&self.last_run),
            Some(exit) => Self::end(&mut lines, stats, exit, now),
        }
        lines.out
    }

    fn run(&self, lines: &mut Lines, stats: &Stats, goes_on: bool, now: SystemTime) {
        let mut gauge = |name, help, value| lines.one(name, "gauge", help, &[], value);
        gauge(
            "canter_run_in_progress",
            "Whether a run goes on: 1 or 0.",
            f64::from(u8::from(goes_on)),
        );
        gauge(
            "canter_run_start_timestamp_seconds",
            "When the run began, in seconds since 1970.",
            since_1970(self.began),
        );
        gauge(
            "canter_run_elapsed_seconds",
            "How long the run has taken.",
            to_millis(stats.elapsed),
        );
        gauge(
            "canter_updated_timestamp_seconds",
            "When these numbers were taken, in seconds since 1970.",
            since_1970(now),
        );
        gauge(
            "canter_pass",
            "The number of the pass over the site.",
            stats.pass as f64,
        );
        gauge(
            "canter_requests_in_flight",
            "Requests in flight.",
            stats.in_flight as f64,
        );
        gauge(
            "canter_requests_in_flight_limit",
            "Requests that may be in flight at once, as things are.",
            stats.cap as f64,
        );
        if let Some(bound) = self.per_minute {
            gauge(
                "canter_requests_per_minute_limit",
                "The most requests that may start in a minute.",
                bound,
            );
        }
        gauge(
            "canter_urls_queued",
            "URLs in the queue.",
            stats.queued as f64,
        );
        let mut counter = |name, help, value| lines.one(name, "counter", help, &[], value as f64);
        counter(
            "canter_requests_total",
            "Requests started in this run, of every kind.",
            stats.requests,
        );
        counter(
            "canter_retries_total",
            "Attempts that were followed by another.",
            stats.retried,
        );
        counter(
            "canter_body_bytes_total",
            "Decoded body bytes.",
            stats.bytes,
        );
        counter("canter_records_total", "Records written.", stats.records);
    }

    fn urls(lines: &mut Lines, stats: &Stats) {
        lines.head(
            "canter_urls_ended_total",
            "counter",
            "URLs that were asked for and came to an end, by how.",
        );
        for (end, count) in [
            ("done", stats.succeeded - stats.unchanged),
            ("unchanged", stats.unchanged),
            ("redirected", stats.redirected),
            ("failed", stats.failed),
        ] {
            lines.value("canter_urls_ended_total", &[("end", end)], count as f64);
        }
        lines.head(
            "canter_urls_failed_total",
            "counter",
            "URLs that failed for good, by kind.",
        );
        // The others end a run, not a URL.
        let of_urls = |kind: &ErrorKind| !kind.is_fatal() && *kind != ErrorKind::Cancelled;
        for kind in ErrorKind::ALL.into_iter().filter(of_urls) {
            let count = stats.failed_by_kind.get(&kind).copied().unwrap_or(0);
            lines.value(
                "canter_urls_failed_total",
                &[("kind", kind.as_str())],
                count as f64,
            );
        }
        // A URL that is too deep may be found nearer to a seed: no counter.
        lines.head(
            "canter_urls_skipped",
            "gauge",
            "URLs that are not asked for, by reason.",
        );
        // The others are answers to handlers, and nothing ends so.
        let of_urls =
            |reason: &SkipReason| !matches!(reason, SkipReason::NoFollow | SkipReason::Invalid);
        for reason in SkipReason::ALL.into_iter().filter(of_urls) {
            let count = stats.skipped_by_reason.get(&reason).copied().unwrap_or(0);
            lines.value(
                "canter_urls_skipped",
                &[("reason", reason.as_str())],
                count as f64,
            );
        }
    }

    fn waits(lines: &mut Lines, stats: &Stats, goes_on: bool) {
        let now = goes_on.then(|| Wait::of(stats.waiting.as_ref()));
        lines.head(
            "canter_waiting",
            "gauge",
            "What the next start waits for: 1 for that, 0 for all else.",
        );
        for wait in Wait::ALL {
            let is = f64::from(u8::from(now == Some(*wait)));
            lines.value("canter_waiting", &[("for", wait.word())], is);
        }
    }

    fn end(lines: &mut Lines, stats: &Stats, exit: Exit, now: SystemTime) {
        let mut gauge = |name, help, value| lines.one(name, "gauge", help, &[], value);
        gauge(
            "canter_last_run_end_timestamp_seconds",
            "When the last run ended, in seconds since 1970.",
            since_1970(now),
        );
        gauge(
            "canter_last_run_duration_seconds",
            "How long the last run took.",
            to_millis(stats.elapsed),
        );
        gauge(
            "canter_last_run_exit_code",
            "The exit code of the last run; 0 when the crawl was complete.",
            f64::from(exit.code()),
        );
        gauge(
            "canter_last_run_urls_pending",
            "URLs that the last run has left.",
            stats.pending() as f64,
        );
        lines.head(
            "canter_last_run_end",
            "gauge",
            "How the last run ended: 1 for that, 0 for all else.",
        );
        for end in Exit::WORDS {
            let is = f64::from(u8::from(exit.word() == end));
            lines.value("canter_last_run_end", &[("end", end)], is);
        }
    }
}

fn since_1970(time: SystemTime) -> f64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    to_millis(since)
}

/// Seconds, to the millisecond: the clock's other digits say nothing.
fn to_millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e3).round() / 1e3
}

/// The value of a label: backslash, quote and line end are escaped, as the
/// format asks.
fn escape_label(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

/// The lines of the file.
struct Lines {
    out: String,
    /// Escaped.
    config: String,
}

impl Lines {
    /// A metric with one value.
    fn one(&mut self, name: &str, kind: &str, help: &str, labels: &[(&str, &str)], value: f64) {
        self.head(name, kind, help);
        self.value(name, labels, value);
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn value(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let _ = write!(self.out, "{name}{{config=\"{}\"", self.config);
        for (label, text) in labels {
            let _ = write!(self.out, ",{label}=\"{}\"", escape_label(text));
        }
        let _ = writeln!(self.out, "}} {value}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawler::{RunEnd, Waiting};

    fn sheet(config: &str) -> Sheet {
        Sheet {
            path: PathBuf::new(),
            config: config.to_owned(),
            per_minute: Some(60.0),
            began: UNIX_EPOCH + Duration::from_secs(1_700_000_000),
            last_run: String::new(),
        }
    }

    fn stats() -> Stats {
        Stats {
            requests: 1_300,
            succeeded: 1_234,
            unchanged: 4,
            failed: 3,
            failed_by_kind: [(ErrorKind::Timeout, 3)].into(),
            skipped_by_reason: [(SkipReason::Robots, 20)].into(),
            queued: 56,
            in_flight: 2,
            cap: 4,
            bytes: 47_395_635,
            elapsed: Duration::from_millis(1_263_500),
            waiting: Some(Waiting::Rate),
            end: Some(RunEnd::Complete),
            ..Stats::default()
        }
    }

    #[test]
    fn a_label_is_escaped_and_so_every_line_whole() {
        let text = sheet("a\\b\"c\nd").text(&stats(), None, UNIX_EPOCH);
        assert!(
            text.contains(r#"canter_requests_total{config="a\\b\"c\nd"} 1300"#),
            "{text}"
        );
        assert!(
            text.lines()
                .all(|line| line.starts_with("# ") || line.starts_with("canter_"))
        );
    }

    #[test]
    fn the_last_run_is_told_of_while_the_next_goes_on() {
        let dir = std::env::temp_dir().join(format!("canter-metrics-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a folder");
        let mut sheet = sheet("c.toml");
        sheet.path = dir.join("canter.prom");
        sheet.write(&stats(), Some(Exit::Bound)).expect("written");
        sheet.last_run = earlier(&sheet.path);
        let text = sheet.text(&stats(), None, UNIX_EPOCH);
        for line in [
            "canter_run_in_progress{config=\"c.toml\"} 1",
            "canter_waiting{config=\"c.toml\",for=\"rate\"} 1",
            "canter_last_run_exit_code{config=\"c.toml\"} 3",
            "# TYPE canter_last_run_end gauge",
            "canter_last_run_end{config=\"c.toml\",end=\"bound\"} 1",
            "canter_last_run_end{config=\"c.toml\",end=\"complete\"} 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
        assert_eq!(earlier(&dir.join("none")), "");
        std::fs::remove_dir_all(&dir).expect("the folder goes");
    }
}
