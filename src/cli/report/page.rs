//! [`Page`]: the whole report as one HTML document. Keeps: it refers to
//! nothing outside itself, and has no script.

use std::fmt::Write as _;

use super::crawl;
use super::hosts;
use super::names::Shown as _;
use super::pace::Plots;
use super::table::{Kind, Table};
use super::text::{average, count, date_and_time, escape, millis, number, plural, size};
use crate::crawler::chronicle::{Chronicle, Record, RunNote};
use crate::ledger::{FailedUrl, Status};

const STYLE: &str = include_str!("style.css");
/// URLs in the lists of the slowest and the most failing.
const URLS: usize = 20;

/// What a report is made of.
pub(in crate::cli) struct Page<'a> {
    /// What the crawl is called.
    pub(in crate::cli) name: String,
    /// What happened when, if that was kept.
    pub(in crate::cli) chronicle: Option<&'a Chronicle>,
    /// How the URLs stand, if there is a state.
    pub(in crate::cli) status: Option<&'a Status>,
    /// The URLs that have failed.
    pub(in crate::cli) failed: &'a [FailedUrl],
    /// When the page is made, in milliseconds since 1970.
    pub(in crate::cli) now: u64,
}

impl Page<'_> {
    /// The document.
    pub(in crate::cli) fn html(&self) -> String {
        let name = escape(&self.name);
        let mut out = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <meta name=\"color-scheme\" content=\"light dark\">\
             <meta http-equiv=\"Content-Security-Policy\" \
             content=\"default-src 'none'; style-src 'unsafe-inline'\">\
             <title>{name}: report</title>\n<style>\n{STYLE}</style></head><body>\n"
        );
        let _ = write!(out, "<header><h1>{name}</h1>");
        let run = self.chronicle.and_then(|chronicle| chronicle.runs().last());
        if let Some(run) = run {
            let _ = write!(out, "<p>{}</p>", escape(&headline(run)));
        }
        out.push_str("</header>\n<main>");
        match (self.chronicle, run) {
            (Some(chronicle), Some(run)) => last_run(&mut out, chronicle.run(), run),
            _ if self.status.is_none() => {
                out.push_str("<p>Nothing has been run yet: the plots come with the first run.</p>");
            }
            _ => out.push_str(
                "<p>No run has kept what happened when: the plots come with the next one.</p>",
            ),
        }
        self.crawl(&mut out);
        let _ = write!(
            out,
            "</main>\n<footer><p>Made by canter {} at {} UTC. All times are in UTC.</p></footer>\n\
             </body></html>\n",
            env!("CARGO_PKG_VERSION"),
            date_and_time(self.now)
        );
        out
    }

    /// The crawl so far.
    fn crawl(&self, out: &mut String) {
        if let Some(status) = self.status {
            let stands = if status.finished {
                "is complete"
            } else {
                "is not complete"
            };
            let _ = write!(
                out,
                "<section><h2>The crawl so far</h2><p>{}</p>{}",
                escape(&format!(
                    "Pass {} {stands}: {} after {} in {}, over {}.",
                    count(status.pass),
                    plural(status.counts.total(), "URL"),
                    plural(status.totals.requests, "request"),
                    millis(u64::try_from(status.totals.elapsed.as_millis()).unwrap_or(u64::MAX)),
                    plural(status.runs, "run"),
                )),
                crawl::standing(status)
            );
            out.push_str(&crawl::reasons(status));
            out.push_str("</section>\n");
        }
        let Some(chronicle) = self.chronicle else {
            return;
        };
        if chronicle.runs().len() as u64 + chronicle.older_runs() > 1 {
            let crawl = chronicle.crawl();
            let _ = write!(
                out,
                "<section><h2>All runs</h2>{}{}",
                crawl::calendar(&crawl),
                crawl::runs(chronicle)
            );
            let _ = writeln!(
                out,
                "<h3>Hosts of all runs</h3>{}<h3>URLs with the most failed attempts, in all runs\
                 </h3>{}</section>",
                hosts::table(&crawl.hosts),
                failing(&crawl)
            );
        }
        if self.status.is_some() {
            let _ = writeln!(
                out,
                "<section><h2>URLs that have failed</h2>{}</section>",
                crawl::failed(self.failed)
            );
        }
    }
}

fn headline(run: &RunNote) -> String {
    let mut text = format!(
        "Run {} began at {} UTC and ",
        count(run.number),
        date_and_time(run.began)
    );
    match &run.end {
        None => {
            let _ = write!(
                text,
                "has not told its end: it goes on, or was killed. This is what it had told after {}.",
                millis(run.elapsed)
            );
        }
        Some(_) => {
            let _ = write!(
                text,
                "took {}. It ended: {}.",
                millis(run.elapsed),
                crawl::ended(run)
            );
        }
    }
    text
}

/// The last run.
fn last_run(out: &mut String, record: &Record, run: &RunNote) {
    let plots = Plots::new(run, record);
    let _ = writeln!(
        out,
        "<section><h2>The last run</h2>{}{}</section>",
        tiles(record, run),
        plots.html()
    );
    let _ = write!(
        out,
        "<section><h2>Hosts</h2>{}{}<h3>All hosts</h3>{}",
        hosts::timelines(record, plots.time()),
        hosts::latencies(record),
        hosts::table(&record.hosts)
    );
    if !run.parked.is_empty() {
        out.push_str("<h3>Left for the next run</h3>");
        let mut table = Table::new([("Host", Kind::Text), ("Why", Kind::Text)]);
        for (host, why) in &run.parked {
            table.row([host.clone(), why.clone()]);
        }
        out.push_str(&table.html());
    }
    let _ = writeln!(
        out,
        "<div class=\"charts\"><figure class=\"chart\"><figcaption><h3>Most failing hosts</h3>\
         </figcaption>{}</figure><figure class=\"chart\"><figcaption><h3>Slowest hosts</h3>\
         </figcaption>{}</figure></div></section>",
        hosts::most_failing(&record.hosts),
        hosts::slowest(&record.hosts)
    );
    let statuses = record.statuses.iter().map(|(status, held)| {
        let name = match status {
            0 => "others".to_owned(),
            status => status.to_string(),
        };
        let answer = crate::crawler::chronicle::Answer::of(Some(*status), true);
        (answer.class(), name, *held)
    });
    let errors = &record.totals.errors;
    let skipped = &record.totals.skipped;
    let _ = writeln!(
        out,
        "<section><h2>Answers and failures</h2><div class=\"charts\">{}{}{}</div>\
         <h3>Slowest requests</h3>{}<h3>URLs with the most failed attempts</h3>{}</section>",
        crawl::block("Answers, by status", statuses.collect()),
        crawl::block(
            "Failed attempts, by kind",
            errors
                .iter()
                .map(|(kind, held)| (kind.class(), kind.name().to_owned(), held))
                .collect()
        ),
        crawl::block(
            "Not asked for, by reason",
            skipped
                .iter()
                .map(|(reason, held)| (reason.class(), reason.name().to_owned(), held))
                .collect()
        ),
        slowest(record),
        failing(record)
    );
}

/// The run in its most telling numbers.
fn tiles(record: &Record, run: &RunNote) -> String {
    let bound = match run.per_minute {
        Some(bound) => format!("a minute, of {} at most", number(bound)),
        None => "a minute, without a bound".to_owned(),
    };
    let named = |held: u64, one: &str, several: &str| {
        let name = if held == 1 { one } else { several };
        (count(held), name.to_owned())
    };
    let mut tiles = vec![
        named(record.totals.starts, "request", "requests"),
        named(run.done, "URL done", "URLs done"),
    ];
    if let Some(rate) = average(record.totals.starts, run.elapsed) {
        tiles.insert(1, (number(rate), bound));
    }
    for (held, one, several) in [
        (run.unchanged, "of them unchanged", "of them unchanged"),
        (run.redirected, "redirected", "redirected"),
        (run.failed, "failed", "failed"),
        (run.skipped, "not asked for", "not asked for"),
        (run.pending, "left", "left"),
        (run.retried, "retry", "retries"),
        (run.cancelled, "given up in flight", "given up in flight"),
        (run.records, "record", "records"),
    ] {
        if held > 0 {
            tiles.push(named(held, one, several));
        }
    }
    tiles.push((size(run.bytes), "of bodies, decoded".to_owned()));
    let mut out = String::from("<dl class=\"tiles\">");
    for (value, name) in tiles {
        let _ = write!(
            out,
            "<div><dd>{}</dd><dt>{}</dt></div>",
            escape(&value),
            escape(&name)
        );
    }
    out.push_str("</dl>");
    out
}

fn slowest(record: &Record) -> String {
    let mut table = Table::new([
        ("URL", Kind::Long),
        ("Took", Kind::Number),
        ("Status", Kind::Number),
    ]);
    for slow in record.slowest.as_slice().iter().take(URLS) {
        table.row([
            slow.url.clone(),
            millis(slow.took),
            crawl::status(slow.status),
        ]);
    }
    if table.is_empty() {
        return "<p>None.</p>".to_owned();
    }
    table.html()
}

fn failing(record: &Record) -> String {
    let mut table = Table::new([
        ("URL", Kind::Long),
        ("Failed attempts", Kind::Number),
        ("Last kind", Kind::Text),
        ("Status", Kind::Number),
        ("What went wrong", Kind::Long),
    ]);
    for (url, held) in record.failing.most().into_iter().take(URLS) {
        table.row([
            url.to_owned(),
            count(held.failures),
            held.kind
                .clone()
                .unwrap_or_else(|| "asked again".to_owned()),
            crawl::status(held.status),
            held.message.clone(),
        ]);
    }
    if table.is_empty() {
        return "<p>None.</p>".to_owned();
    }
    table.html()
}
