//! `canter status`: what the state of a crawl holds, read without its lock,
//! also while a run goes on.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::exit::Exit;
use super::progress::{counted, grouped, rounded_size, whole_seconds};
use super::term::sanitize;
use super::{complain, print};
use crate::config::{ConfigError, Settings, rfc3339};
use crate::error::{Error, Result};
use crate::ledger::{Counts, FailedUrl, Fault, Ledger, Status, Totals};

/// What `canter status` is told.
#[derive(Debug, Default, PartialEq)]
pub(super) struct StatusArgs {
    /// List the URLs that failed, instead of counting.
    pub(super) failed: bool,
    /// For machines.
    pub(super) json: bool,
}

/// Shows the state of a crawl.
pub(super) fn status(settings: Result<Settings, ConfigError>, args: &StatusArgs) -> Exit {
    let settings = match settings {
        Ok(settings) => settings,
        Err(error) => {
            complain(&error.to_string());
            return Exit::Usage;
        }
    };
    let Some(dir) = &settings.state else {
        complain("the configuration keeps no state: it has no state.dir");
        return Exit::Usage;
    };
    match report(dir, args) {
        Ok(text) => print(&text),
        // That is how a crawl stands that is still to begin.
        Err(error) if is_before_first_run(&error) => {
            complain(&nothing_yet(dir));
            print(&if args.json && !args.failed {
                format!("{}\n", as_json(&before_first_run()))
            } else {
                String::new()
            })
        }
        Err(error) => {
            complain(&error.to_string());
            Exit::of_error(&error)
        }
    }
}

/// Whether there is no state to read.
pub(super) fn is_before_first_run(error: &Error) -> bool {
    matches!(Fault::of(error), Some(Fault::Io(error)) if error.kind() == io::ErrorKind::NotFound)
}

/// What is said of a crawl that has no state.
pub(super) fn nothing_yet(dir: &Path) -> String {
    format!(
        "nothing has been run yet: there is no state in {}; `canter run` begins the crawl",
        dir.display()
    )
}

fn before_first_run() -> Status {
    Status {
        counts: Counts::default(),
        totals: Totals::default(),
        runs: 0,
        pass: 0,
        finished: false,
        at: rfc3339::EPOCH,
        bytes: 0,
        uncommitted: 0,
    }
}

fn report(dir: &Path, args: &StatusArgs) -> Result<String> {
    if args.failed {
        let failed = Ledger::failed(dir)?;
        return Ok(failed
            .iter()
            .map(|url| failed_line(url, args.json))
            .collect());
    }
    let status = Ledger::status(dir)?;
    Ok(if args.json {
        format!("{}\n", as_json(&status))
    } else {
        as_text(dir, &status)
    })
}

/// One URL that failed: a JSON object, or columns parted by tabs.
fn failed_line(failed: &FailedUrl, json: bool) -> String {
    if json {
        let line = json!({
            "url": failed.url,
            "kind": failed.kind.as_str(),
            "status": failed.status,
            "attempts": failed.attempts,
            "message": failed.message,
        });
        return format!("{line}\n");
    }
    let status = failed
        .status
        .map_or("-".to_owned(), |status| status.to_string());
    format!(
        "{}\t{}\t{status}\t{}\t{}\n",
        sanitize(&failed.url),
        failed.kind,
        failed.attempts,
        sanitize(&failed.message)
    )
}

fn as_json(status: &Status) -> Value {
    let counts = &status.counts;
    let by_kind: Map<String, Value> = counts
        .failed
        .iter()
        .map(|(kind, count)| (kind.to_string(), json!(count)))
        .collect();
    let by_reason: Map<String, Value> = counts
        .skipped
        .iter()
        .map(|(reason, count)| (reason.to_string(), json!(count)))
        .collect();
    json!({
        "at": (status.runs > 0).then(|| rfc3339_text(status)),
        "pass": status.pass,
        "finished": status.finished,
        "runs": status.runs,
        "urls": counts.total(),
        "pending": counts.pending,
        "done": counts.done,
        "unchanged": counts.unchanged,
        "redirected": counts.redirected,
        "failed": by_kind,
        "skipped": by_reason,
        "requests": status.totals.requests,
        "retried": status.totals.retried,
        "bytes": status.totals.bytes,
        "seconds": status.totals.elapsed.as_secs_f64(),
        "state_bytes": status.bytes,
        "uncommitted_bytes": status.uncommitted,
    })
}

fn rfc3339_text(status: &Status) -> String {
    let mut text = Vec::new();
    rfc3339::write(status.at, &mut text);
    String::from_utf8(text).unwrap_or_default()
}

fn as_text(dir: &Path, status: &Status) -> String {
    let counts = &status.counts;
    let totals = &status.totals;
    let mut out = String::new();
    let stands = if status.finished {
        "complete"
    } else {
        "not complete"
    };
    let _ = writeln!(
        out,
        "{}: pass {} is {stands}, as of {}",
        sanitize(&dir.display().to_string()),
        status.pass,
        rfc3339_text(status)
    );
    let failed: u64 = counts.failed.values().sum();
    let skipped: u64 = counts.skipped.values().sum();
    let mut row = |name: &str, count: u64| {
        let _ = writeln!(out, "  {name:<24}{:>12}", grouped(count));
    };
    row("URLs", counts.total());
    row("pending", counts.pending);
    row("done", counts.done);
    if counts.unchanged > 0 {
        row("  of these unchanged", counts.unchanged);
    }
    row("redirected", counts.redirected);
    row("failed", failed);
    for (kind, count) in &counts.failed {
        row(&format!("  {kind}"), *count);
    }
    row("skipped", skipped);
    for (reason, count) in &counts.skipped {
        row(&format!("  {reason}"), *count);
    }
    let _ = writeln!(
        out,
        "{}, {} retried, {} in {} over {}; the state takes {}",
        counted(totals.requests, "request"),
        grouped(totals.retried),
        rounded_size(totals.bytes),
        whole_seconds(totals.elapsed),
        counted(status.runs, "run"),
        rounded_size(status.bytes)
    );
    if status.uncommitted > 0 {
        let _ = writeln!(
            out,
            "{} behind the last checkpoint",
            rounded_size(status.uncommitted)
        );
    }
    out
}
