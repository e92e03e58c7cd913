//! [`Summary`]: how a run ended, as one line for people and as JSON for
//! programs. Keeps: the counts of URLs add up to those that were found.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use serde::Serialize;

use super::exit::Exit;
use super::logger;
use super::progress::{counted, grouped, rounded_size, whole_seconds};
use super::signal;
use crate::admission::SkipReason;
use crate::config::{Settings, rfc3339};
use crate::crawler::{Bound, ParkReason, Parked, RunEnd, Stats};
use crate::error::ErrorKind;
use crate::ledger;

/// How many hosts that are left for the next run the line names.
const NAMED_HOSTS: usize = 3;

/// How a run ended.
pub(super) struct Summary<'a> {
    settings: &'a Settings,
    stats: &'a Stats,
    began: SystemTime,
}

/// The summary file, in the order of its keys.
#[derive(Serialize)]
struct Report<'a> {
    end: &'a str,
    exit: u8,
    why: String,
    began: String,
    seconds: f64,
    pass: u64,
    began_with: u64,
    urls: u64,
    done: u64,
    redirected: u64,
    failed: BTreeMap<&'a str, u64>,
    skipped: BTreeMap<&'a str, u64>,
    pending: u64,
    pages: u64,
    unchanged: u64,
    records: u64,
    requests: u64,
    retried: u64,
    cancelled: u64,
    bytes: u64,
    robots_obeyed: bool,
    parked: Vec<ParkedHost<'a>>,
    unmatched_hosts: Vec<String>,
}

/// A host that is left for the next run.
#[derive(Serialize)]
struct ParkedHost<'a> {
    host: &'a str,
    reason: &'a str,
    message: String,
}

impl<'a> Summary<'a> {
    pub(super) fn new(settings: &'a Settings, stats: &'a Stats, began: SystemTime) -> Self {
        Summary {
            settings,
            stats,
            began,
        }
    }

    /// One line on how the run ended.
    pub(super) fn line(&self, exit: Exit) -> String {
        let stats = self.stats;
        let mut out = format!("{}: {} done", self.why(exit), grouped(stats.succeeded));
        if stats.unchanged > 0 {
            let _ = write!(out, " ({} unchanged)", grouped(stats.unchanged));
        }
        for (count, what) in [
            (stats.failed, "failed"),
            (stats.redirected, "redirected"),
            (stats.skipped, "skipped"),
            (stats.pending(), "pending"),
        ] {
            if count > 0 {
                let _ = write!(out, ", {} {what}", grouped(count));
            }
        }
        let _ = write!(
            out,
            "; began with {}, {}, ",
            grouped(stats.began_with),
            counted(stats.requests, "request")
        );
        if self.settings.has_rules() {
            // Not one for each page: items are what such a crawl is for.
            let _ = write!(out, "{}, ", counted(stats.records, "record"));
        }
        let _ = write!(
            out,
            "{} in {}",
            rounded_size(stats.bytes),
            whole_seconds(stats.elapsed)
        );
        if !self.settings.robots.obey {
            out.push_str("; robots.txt was not obeyed");
        }
        // The counts are of what happened, committed or not.
        if stats.end == Some(RunEnd::Error) {
            match &self.settings.state {
                Some(_) => out.push_str("; what was not written is done again in the next run"),
                None if exit == Exit::Failure => out.push_str("; not all of it was written"),
                None => {}
            }
        }
        out
    }

    /// What ended the run.
    fn why(&self, exit: Exit) -> String {
        let rest = if self.stats.pending() > 0 {
            ", the rest is pending"
        } else {
            ""
        };
        match (exit, self.stats.end) {
            (Exit::Signal(signal::PIPE), _) => {
                format!("nobody reads the records any more{rest}")
            }
            (Exit::Signal(number), _) => format!("stopped by {}{rest}", signal::name(number)),
            (_, Some(RunEnd::Bound(bound))) => {
                let key = match bound {
                    Bound::Requests => "max_requests",
                    Bound::Deadline => "deadline",
                    Bound::PagesPerHost => "max_pages_per_host",
                };
                format!("{key} is reached{rest}")
            }
            (_, Some(RunEnd::Refused(trip))) => {
                format!("stopped, since the site refuses: {trip}")
            }
            (_, Some(RunEnd::HostsParked)) => {
                format!("some hosts are left for the next run ({})", self.parked())
            }
            (Exit::Nothing, _) if !self.stats.parked.is_empty() => {
                format!("nothing could be fetched ({})", self.parked())
            }
            (Exit::Complete, _) => "complete".to_owned(),
            // What is done and no page is a sitemap.
            (Exit::Nothing, _) if self.stats.succeeded > 0 => {
                "no page could be fetched, only sitemaps".to_owned()
            }
            (Exit::Nothing, _) => "nothing could be fetched".to_owned(),
            _ => format!("ended by an error{rest}"),
        }
    }

    /// The first hosts that are left for the next run, and why.
    fn parked(&self) -> String {
        let parked = &self.stats.parked;
        let shown: Vec<String> = parked
            .iter()
            .take(NAMED_HOSTS)
            .map(|Parked { host, reason, .. }| format!("{host}: {reason}"))
            .collect();
        let mut out = shown.join("; ");
        if parked.len() > NAMED_HOSTS {
            let _ = write!(out, "; and {} more", parked.len() - NAMED_HOSTS);
        }
        out
    }

    /// The same for machines: a line of the log with the whole summary in it.
    pub(super) fn object(&self, exit: Exit) -> Vec<u8> {
        let line = self.line(exit);
        let mut more = b",\"summary\":".to_vec();
        more.extend(serde_json::to_vec(&self.report(exit)).unwrap_or_else(|_| b"null".to_vec()));
        logger::object(SystemTime::now(), "info", "canter", &line, &more)
    }

    /// The summary as one JSON object, with a line for each key.
    fn json(&self, exit: Exit) -> Vec<u8> {
        serde_json::to_vec_pretty(&self.report(exit)).unwrap_or_default()
    }

    fn report(&self, exit: Exit) -> Report<'_> {
        let stats = self.stats;
        let mut began = Vec::new();
        rfc3339::write(self.began, &mut began);
        let unmatched = self
            .settings
            .hosts()
            .filter(|host| stats.unmatched_host_rules.contains(&host.rule.name));
        Report {
            end: exit.word(),
            exit: exit.code(),
            why: self.why(exit),
            began: String::from_utf8_lossy(&began).into_owned(),
            // The clock's nanoseconds say nothing.
            seconds: (stats.elapsed.as_secs_f64() * 1e3).round() / 1e3,
            pass: stats.pass,
            began_with: stats.began_with,
            urls: stats.discovered,
            done: stats.succeeded,
            redirected: stats.redirected,
            failed: words(&stats.failed_by_kind, ErrorKind::as_str),
            skipped: words(&stats.skipped_by_reason, SkipReason::as_str),
            pending: stats.pending(),
            pages: stats.pages,
            unchanged: stats.unchanged,
            records: stats.records,
            requests: stats.requests,
            retried: stats.retried,
            cancelled: stats.cancelled,
            bytes: stats.bytes,
            robots_obeyed: self.settings.robots.obey,
            parked: stats.parked.iter().map(parked_host).collect(),
            unmatched_hosts: unmatched.map(|host| host.shown_name().to_owned()).collect(),
        }
    }

    /// Writes the summary file, whole or not at all, with the folders that
    /// lead to it.
    pub(super) fn write(&self, path: &Path, exit: Exit) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut text = self.json(exit);
        text.push(b'\n');
        ledger::write_whole(path, &text)
    }
}

fn words<K: Copy>(
    counts: &BTreeMap<K, u64>,
    word: impl Fn(K) -> &'static str,
) -> BTreeMap<&'static str, u64> {
    counts
        .iter()
        .map(|(key, count)| (word(*key), *count))
        .collect()
}

fn parked_host(parked: &Parked) -> ParkedHost<'_> {
    ParkedHost {
        host: &parked.host,
        reason: match parked.reason {
            ParkReason::Failures(_) => "failures",
            ParkReason::RobotsUnreachable => "robots",
            ParkReason::PageLimit => "page_limit",
        },
        message: parked.reason.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::Source;

    fn settings(text: &str) -> Settings {
        Source::text(format!("crawl.seeds = [\"http://a.test/\"]\n{text}"))
            .environment(|name| (name == "NAME").then(|| "secret.test".to_owned()))
            .read()
            .unwrap_or_else(|error| panic!("{error}"))
    }

    fn stats() -> Stats {
        Stats {
            requests: 1_300,
            discovered: 1_315,
            began_with: 1,
            pass: 1,
            succeeded: 1_234,
            pages: 1_233,
            unchanged: 12,
            failed: 5,
            failed_by_kind: [(ErrorKind::Rejected, 3), (ErrorKind::TooLarge, 2)].into(),
            skipped: 20,
            skipped_by_reason: [(SkipReason::TrapRepeat, 20)].into(),
            queued: 56,
            bytes: 47_395_635,
            elapsed: Duration::from_millis(1_263_500),
            ..Stats::default()
        }
    }

    fn line(settings: &Settings, stats: &Stats, exit: Exit) -> String {
        Summary::new(settings, stats, rfc3339::EPOCH).line(exit)
    }

    #[test]
    fn the_line_has_what_ended_it_and_the_counts_that_are_not_zero() {
        let plain = settings("");
        let mut stats = stats();
        stats.end = Some(RunEnd::Bound(Bound::Requests));
        assert_eq!(
            line(&plain, &stats, Exit::Bound),
            "max_requests is reached, the rest is pending: 1,234 done (12 unchanged), 5 failed, \
             20 skipped, 56 pending; began with 1, 1,300 requests, 45.2 MiB in 21m 3s"
        );
        let rude = settings("robots.obey = false");
        let stats = Stats {
            end: Some(RunEnd::Complete),
            ..Stats::default()
        };
        assert_eq!(
            line(&rude, &stats, Exit::Complete),
            "complete: 0 done; began with 0, 0 requests, 0 B in 0s; \
             robots.txt was not obeyed"
        );
    }

    #[test]
    fn hosts_that_are_left_are_named_and_the_signal_is() {
        let plain = settings("");
        let mut stats = stats();
        stats.end = Some(RunEnd::HostsParked);
        let parked = |host: &str| Parked {
            host: host.into(),
            reason: ParkReason::Failures(20),
        };
        stats.parked = vec![parked("wall.test")];
        let text = line(&plain, &stats, Exit::Refused);
        assert!(
            text.contains("(wall.test: 20 failures in a row (max_host_failures))"),
            "{text}"
        );
        stats.parked = ["a", "b", "c", "d", "e"].map(parked).into();
        let text = line(&plain, &stats, Exit::Refused);
        assert!(text.contains("; and 2 more)"), "{text}");
        stats.end = Some(RunEnd::Stopped);
        let text = line(&plain, &stats, Exit::Signal(15));
        assert!(text.starts_with("stopped by SIGTERM"), "{text}");
    }

    #[test]
    fn a_rest_is_spoken_of_only_where_something_is_pending() {
        let plain = settings("");
        let mut stats = stats();
        stats.end = Some(RunEnd::Error);
        for (queued, has_rest) in [(56, true), (0, false)] {
            stats.queued = queued;
            for exit in [Exit::Failure, Exit::Signal(signal::PIPE), Exit::Signal(15)] {
                let text = line(&plain, &stats, exit);
                assert_eq!(text.contains("the rest is pending"), has_rest, "{text}");
            }
        }
    }

    #[test]
    fn after_an_error_a_state_makes_good_what_was_not_written() {
        let mut stats = stats();
        for (text, end, exit, is_said) in [
            ("[state]\ndir = \"s\"", RunEnd::Error, Exit::Failure, true),
            (
                "[state]\ndir = \"s\"",
                RunEnd::Error,
                Exit::Signal(signal::PIPE),
                true,
            ),
            (
                "[state]\ndir = \"s\"",
                RunEnd::Complete,
                Exit::Failure,
                false,
            ),
            ("", RunEnd::Error, Exit::Failure, false),
        ] {
            stats.end = Some(end);
            let has_state = !text.is_empty();
            let text = line(&settings(text), &stats, exit);
            assert_eq!(
                text.ends_with("; not all of it was written"),
                end == RunEnd::Error && !has_state,
                "{text}"
            );
            let says = text.ends_with("; what was not written is done again in the next run");
            assert_eq!(says, is_said, "{text}");
        }
    }

    #[test]
    fn sitemaps_that_were_read_are_not_called_nothing() {
        let plain = settings("");
        let mut stats = stats();
        stats.end = Some(RunEnd::Nothing);
        for (done, why) in [
            (0, "nothing could be fetched: 0 done"),
            (5, "no page could be fetched, only sitemaps: 5 done"),
        ] {
            stats.succeeded = done;
            let text = line(&plain, &stats, Exit::Nothing);
            assert!(text.starts_with(why), "{text}");
        }
    }

    #[test]
    fn the_file_has_every_key_and_its_counts_add_up() {
        let text = "[[host]]\nname = \"${NAME}\"\n[[host]]\nname = \"b.test\"\n";
        let settings = settings(text);
        let mut stats = stats();
        assert!(stats.adds_up());
        stats.end = Some(RunEnd::Complete);
        stats.unmatched_host_rules = vec!["secret.test".to_owned(), "b.test".to_owned()];
        let json = Summary::new(&settings, &stats, rfc3339::EPOCH).json(Exit::Bound);
        let value: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
        assert_eq!(value["end"], "bound");
        assert_eq!(value["exit"], 3);
        assert_eq!(value["began"], "1970-01-01T00:00:00.000Z");
        assert_eq!(value["seconds"], 1_263.5);
        assert_eq!(
            value["failed"],
            serde_json::json!({"rejected": 3, "too_large": 2})
        );
        assert_eq!(value["skipped"], serde_json::json!({"trap_repeat": 20}));
        assert_eq!(value["pending"], 56);
        assert_eq!(value["robots_obeyed"], true);
        assert_eq!(
            value["unmatched_hosts"],
            serde_json::json!(["***", "b.test"])
        );
    }
}
