//! The crawl so far: how its URLs stand, its runs, and what failed.

use std::fmt::Write as _;

use super::chart::{Chart, Legend, column, legend};
use super::names::Shown;
use super::scale::{Scale, Time};
use super::series::Columns;
use super::table::{Kind, Table, bars};
use super::text::{count, date_and_time, escape, millis, number, percent, size};
use crate::crawler::chronicle::{Answer, Chronicle, Record, RunNote};
use crate::ledger::{FailedUrl, Status};

/// Runs in the table.
const RUNS: usize = 20;
/// URLs that failed in the list, the last ones.
const FAILED: usize = 50;

/// How the URLs stand: one bar that is all of them.
pub(super) fn standing(status: &Status) -> String {
    let counts = &status.counts;
    let failed: u64 = counts.failed.values().sum();
    let skipped: u64 = counts.skipped.values().sum();
    let all = counts.total().max(1);
    let parts = [
        ("blue", "done", counts.done - counts.unchanged),
        ("sky", "unchanged", counts.unchanged),
        ("grey", "redirected", counts.redirected),
        ("red", "failed", failed),
        ("pale", "skipped", skipped),
        ("green", "pending", counts.pending),
    ];
    let mut out = String::from("<figure class=\"chart\"><div class=\"whole\">");
    for (class, name, held) in parts {
        if held > 0 {
            let _ = write!(
                out,
                "<i class=\"{class}\" style=\"flex-grow:{held}\" title=\"{}\"></i>",
                escape(&format!("{} {name}, {}", count(held), percent(held, all)))
            );
        }
    }
    out.push_str("</div>");
    let names: Vec<Legend> = parts
        .into_iter()
        .filter(|(_, _, held)| *held > 0)
        .map(|(class, name, held)| Legend {
            class,
            name: name.to_owned(),
            total: count(held),
        })
        .collect();
    out.push_str(&legend(&names));
    out.push_str("</figure>");
    out
}

/// Failed URLs by kind, and skipped ones by reason.
pub(super) fn reasons(status: &Status) -> String {
    let failed = status
        .counts
        .failed
        .iter()
        .map(|(kind, held)| (kind.class(), kind.name().to_owned(), *held));
    let skipped = status
        .counts
        .skipped
        .iter()
        .map(|(reason, held)| (reason.class(), reason.name().to_owned(), *held));
    format!(
        "<div class=\"charts\">{}{}</div>",
        block("Failed, by kind", failed.collect()),
        block("Not asked for, by reason", skipped.collect())
    )
}

/// Counts by name under a heading, or that there are none.
pub(super) fn block(title: &str, counts: Vec<(&'static str, String, u64)>) -> String {
    let none = counts.iter().all(|(_, _, held)| *held == 0);
    let body = if none {
        "<p>None.</p>".to_owned()
    } else {
        bars(counts)
    };
    format!(
        "<figure class=\"chart\"><figcaption><h3>{}</h3></figcaption>{body}</figure>",
        escape(title)
    )
}

/// Answers of all runs over the calendar.
pub(super) fn calendar(crawl: &Record) -> String {
    let columns = Columns::of_crawl(&crawl.timeline);
    let time = Time::new(columns.from, columns.to - columns.from);
    let words: Vec<Answer> = crawl.totals.answers.iter().map(|(word, _)| word).collect();
    let all = |part: &crate::crawler::chronicle::Part| part.answers.sum();
    let most = columns.all.iter().map(|column| all(&column.part)).max();
    let scale = Scale::counts(most.unwrap_or(0) as f64);
    let mut heads = vec![("Time", Kind::Text)];
    heads.extend(words.iter().map(|word| (word.name(), Kind::Number)));
    let mut table = Table::new(heads);
    let mut marks = String::new();
    for part in &columns.all {
        let when = time.stretch(part.from, part.to);
        let answers = &part.part.answers;
        let mut says = format!("{when}:");
        for (at, (word, held)) in answers.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let _ = write!(says, "{comma} {} {}", count(held), word.name());
        }
        let heights: Vec<_> = words
            .iter()
            .map(|word| (word.class(), answers.get(*word) as f64))
            .collect();
        let place = (time.place(part.from), time.place(part.to));
        marks.push_str(&column(place, &scale, &heights, &says));
        let cells = words.iter().map(|word| count(answers.get(*word)));
        table.row([when].into_iter().chain(cells));
    }
    let legend = words
        .iter()
        .map(|word| Legend {
            class: word.class(),
            name: word.name().to_owned(),
            total: count(crawl.totals.answers.get(*word)),
        })
        .collect();
    Chart {
        title: "Answers of all runs",
        note: format!("In each {}, by status.", millis(columns.length)),
        time: &time,
        scale,
        legend,
        marks,
        table,
    }
    .html()
}

/// The runs, the last one first.
pub(super) fn runs(chronicle: &Chronicle) -> String {
    let mut table = Table::new([
        ("Run", Kind::Number),
        ("Pass", Kind::Number),
        ("Began (UTC)", Kind::Text),
        ("Took", Kind::Number),
        ("Ended", Kind::Text),
        ("Starts", Kind::Number),
        ("a minute", Kind::Number),
        ("Bound", Kind::Number),
        ("Done", Kind::Number),
        ("Failed", Kind::Number),
        ("Skipped", Kind::Number),
        ("Left", Kind::Number),
        ("Bytes", Kind::Number),
    ]);
    for run in chronicle.runs().iter().rev().take(RUNS) {
        let minutes = run.elapsed.max(1) as f64 / 60_000.0;
        table.row([
            count(run.number),
            count(run.pass),
            date_and_time(run.began),
            millis(run.elapsed),
            ended(run),
            count(run.requests),
            number(run.requests as f64 / minutes),
            run.per_minute.map_or("none".to_owned(), number),
            count(run.done),
            count(run.failed),
            count(run.skipped),
            count(run.pending),
            size(run.bytes),
        ]);
    }
    let more = chronicle.runs().len().saturating_sub(RUNS) as u64 + chronicle.older_runs();
    let more = match more {
        0 => String::new(),
        more => format!("<p>And {} before these.</p>", count(more)),
    };
    format!("{}{more}", table.html())
}

/// How a run ended, in a word or two.
pub(super) fn ended(run: &RunNote) -> String {
    match (run.end.as_deref(), run.detail.as_deref()) {
        (None, _) => "not told: it goes on, or was killed".to_owned(),
        (Some(end), None) => end.to_owned(),
        (Some(end), Some(detail)) => format!("{end}: {detail}"),
    }
}

/// The URLs that have failed last.
pub(super) fn failed(failed: &[FailedUrl]) -> String {
    let mut table = Table::new([
        ("URL", Kind::Long),
        ("Kind", Kind::Text),
        ("Status", Kind::Number),
        ("Attempts", Kind::Number),
        ("What went wrong", Kind::Long),
    ]);
    for url in failed.iter().rev().take(FAILED) {
        table.row([
            shortened(&url.url),
            url.kind.to_string(),
            status(url.status),
            count(u64::from(url.attempts)),
            shortened(&url.message),
        ]);
    }
    if table.is_empty() {
        return "<p>None.</p>".to_owned();
    }
    let more = match failed.len().saturating_sub(FAILED) {
        0 => String::new(),
        more => format!(
            "<p>And {} before these: <code>canter status --failed</code> lists them all.</p>",
            count(more as u64)
        ),
    };
    format!("{}{more}", table.html())
}

pub(super) fn status(status: Option<u16>) -> String {
    status.map_or("\u{2013}".to_owned(), |status| status.to_string())
}

/// Text of which a page shows so much at most.
fn shortened(text: &str) -> String {
    const MOST: usize = 400;
    let mut chars = text.chars();
    let start: String = chars.by_ref().take(MOST).collect();
    if chars.next().is_some() {
        format!("{start}\u{2026}")
    } else {
        start
    }
}
