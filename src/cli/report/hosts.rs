//! Hosts: a line of time for each, with its pauses, its gap and its starts;
//! how long their requests took; and their numbers.

use std::fmt::Write as _;
use std::time::Duration;

use super::chart::{self, HEIGHT, Legend, WIDTH, legend, rectangle, upright};
use super::scale::{Scale, Time};
use super::table::{Kind, Table};
use super::text::{
    coordinate, count, escape, millis, percent, percentile, plural, size, some_millis, took,
};
use crate::crawler::chronicle::{Answer, EndWord, Host, Hosts, Record, Spans};

/// Hosts with a line of their own.
const LINES: usize = 24;
/// Hosts in the table of all.
const ROWS: usize = 40;
/// Hosts in the tables of the slowest and the most failing.
const WORST: usize = 10;
/// Answers that a host must have given before its times say something.
const JUDGED_FROM: u64 = 3;
/// How high the lane of gaps and pauses is, of the whole line.
const LANE: f64 = 0.62;

/// The time that a part of a host's requests did not exceed.
fn at(host: &Host, part: f64) -> Option<Duration> {
    percentile(&host.latencies, part, host.slowest)
}

/// The hosts in a record, those with the most requests first.
fn by_requests(hosts: &Hosts) -> Vec<(&str, &Host)> {
    let mut all: Vec<_> = hosts.iter().collect();
    all.sort_by(|(a, one), (b, other)| other.starts.cmp(&one.starts).then(a.cmp(b)));
    all
}

/// A line of time for each host, those whose pace has changed first.
pub(super) fn timelines(record: &Record, time: &Time) -> String {
    let mut all = by_requests(&record.hosts);
    let eventful =
        |host: &Host| !host.pauses.is_empty() || host.parked || host.gaps.as_slice().len() > 1;
    all.sort_by_key(|(_, host)| !eventful(host));
    let left_out = all.len().saturating_sub(LINES);
    all.truncate(LINES);
    if all.is_empty() {
        return String::new();
    }
    let widest = all.iter().map(|(_, host)| host.gaps.widest()).max();
    let widest = widest.unwrap_or(0).max(1);
    let names = [
        ("start", "starts, the darker the more"),
        (
            "gapline",
            "the gap between two starts, the higher the wider",
        ),
        ("orange", "paused, as the host asked"),
        ("red", "paused, as the host throttled"),
    ]
    .map(|(class, name)| Legend {
        class,
        name: name.to_owned(),
        total: String::new(),
    });
    let mut out = String::from("<figure class=\"chart hosts\">");
    let _ = write!(
        out,
        "<figcaption><h3>Pauses and gaps by host</h3><p>{}</p></figcaption>{}",
        escape(&format!(
            "Hosts whose pace has changed come first{}.",
            match left_out {
                0 => String::new(),
                more => format!("; {} more are left out", count(more as u64)),
            }
        )),
        legend(&names)
    );
    if !record.pauses.is_empty() {
        let drawn = pauses(&record.pauses, time);
        out.push_str(&row("the whole crawl", "paused", &drawn, &time.ticks));
    }
    for (name, host) in all {
        let drawn = marks(host, time, widest);
        out.push_str(&row(name, &about(host), &drawn, &time.ticks));
    }
    out.push_str(&last_row(&time.ticks));
    out
}

/// What there is to say beside a host's name.
fn about(host: &Host) -> String {
    let mut words = vec![plural(host.starts, "start")];
    if host.paused > 0 {
        words.push(format!("paused {}", millis(host.paused)));
    }
    if host.widest_gap > 0 {
        words.push(format!("gap up to {}", millis(host.widest_gap)));
    }
    if host.parked {
        words.push("left for the next run".to_owned());
    }
    words.join(", ")
}

/// A line: a host's name, what there is to say, and its marks above the ticks.
fn row(name: &str, about: &str, marks: &str, ticks: &[(f64, String)]) -> String {
    let grid: String = ticks.iter().map(|(place, _)| upright(*place)).collect();
    format!(
        "<div class=\"line\"><div class=\"name\"><b>{}</b> <small>{}</small></div><svg \
         viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{}\"><g class=\"grid\">{grid}</g>{marks}</svg></div>",
        escape(name),
        escape(about),
        escape(&format!("{name}: {about}")),
    )
}

/// The labels of the ticks, under all lines.
fn last_row(ticks: &[(f64, String)]) -> String {
    let labels = chart::below(ticks);
    format!("<div class=\"line last\"><div class=\"name\"></div>{labels}</div></figure>")
}

fn marks(host: &Host, time: &Time, widest: u64) -> String {
    let mut out = starts(host, time);
    out.push_str(&pauses(&host.pauses, time));
    out.push_str(&gaps(host, time, widest));
    out
}

fn starts(host: &Host, time: &Time) -> String {
    let width = host.activity.width();
    let most = host.activity.cells().iter().max().copied().unwrap_or(0);
    let mut out = String::new();
    for (at, cell) in host.activity.cells().iter().enumerate() {
        if *cell == 0 {
            continue;
        }
        let from = time.from + at as u64 * width;
        let to = from + width;
        let place = (time.place(from), time.place(to));
        // Even a single start is to be seen.
        let shade = 0.25 + 0.75 * f64::from(*cell) / f64::from(most);
        let mark = rectangle("start", place, (0.0, 1.0 - LANE - 0.04));
        let _ = write!(
            out,
            "<g opacity=\"{shade:.2}\"><title>{}</title>{mark}</g>",
            escape(&format!(
                "{}: {}",
                time.stretch(from, to),
                plural(u64::from(*cell), "start")
            ))
        );
    }
    out
}

fn pauses(pauses: &Spans, time: &Time) -> String {
    let mut out = String::new();
    for pause in pauses.as_slice() {
        let (from, to) = (time.from + pause.from, time.from + pause.to);
        let class = if pause.asked { "orange" } else { "red" };
        // A pause is at least a hair wide.
        let left = time.place(from);
        let right = time.place(to).max(left + 1.0 / WIDTH);
        let why = if pause.asked {
            "asked for"
        } else {
            "throttled"
        };
        let says = format!(
            "{}: paused {}, {why}",
            time.stretch(from, to),
            millis(pause.to.saturating_sub(pause.from))
        );
        let mark = rectangle(class, (left, right), (1.0 - LANE, 1.0));
        let _ = write!(out, "<g><title>{}</title>{mark}</g>", escape(&says));
    }
    out
}

/// The gap as steps. The height is that of its square root: of gaps of 1 s and
/// of a minute on one page both are to be seen.
fn gaps(host: &Host, time: &Time, widest: u64) -> String {
    let steps = host.gaps.as_slice();
    let place = |gap: u64| 1.0 - LANE + (LANE - 0.06) * (gap as f64 / widest as f64).sqrt();
    let mut points = Vec::new();
    let mut hits = String::new();
    for (at, step) in steps.iter().enumerate() {
        let from = time.from + step.from;
        let to = steps
            .get(at + 1)
            .map_or(time.from + time.span, |next| time.from + next.from);
        let (left, right) = (time.place(from), time.place(to));
        points.push(Some((left, place(step.gap))));
        points.push(Some((right, place(step.gap))));
        let says = format!("{}: gap {}", time.stretch(from, to), millis(step.gap));
        let hit = rectangle("hit", (left, right), (1.0 - LANE, 1.0));
        let _ = write!(hits, "<g><title>{}</title>{hit}</g>", escape(&says));
    }
    if host.gaps.widest() == 0 {
        return String::new();
    }
    format!("{}{hits}", chart::line("gapline", points))
}

/// How long requests took on each host, on one scale.
pub(super) fn latencies(record: &Record) -> String {
    let mut all = by_requests(&record.hosts);
    all.retain(|(_, host)| !host.latencies.is_empty());
    let left_out = all.len().saturating_sub(LINES);
    all.truncate(LINES);
    let value =
        |host: &Host, part: f64| at(host, part).map_or(0.0, |took| took.as_secs_f64() * 1e3);
    let Some(low) = all
        .iter()
        .map(|(_, host)| value(host, 0.5))
        .reduce(f64::min)
    else {
        return String::new();
    };
    let high = all
        .iter()
        .map(|(_, host)| value(host, 0.99))
        .fold(low, f64::max);
    let scale = Scale::logarithmic(low.max(1.0), high, |value| millis(value as u64));
    let mut out = String::from(
        "<figure class=\"chart hosts\"><figcaption><h3>Time per request by host</h3><p>From the \
         dot, p50, over p90 to p99, the end of the line",
    );
    if left_out > 0 {
        let _ = write!(out, "; {} more hosts are left out", count(left_out as u64));
    }
    out.push_str(".</p></figcaption>");
    for (name, host) in all {
        let [half, most, nearly] = [0.5, 0.9, 0.99].map(|part| scale.place(value(host, part)));
        let says = format!(
            "{name}: p50 {}, p90 {}, p99 {}, longest {}",
            took(at(host, 0.5)),
            took(at(host, 0.9)),
            took(at(host, 0.99)),
            millis(host.slowest)
        );
        let y = HEIGHT / 2.0;
        let x = |place: f64| coordinate(WIDTH * place);
        let mut marks = format!("<g><title>{}</title>", escape(&says));
        marks.push_str(&rectangle("hit", (0.0, 1.0), (0.0, 1.0)));
        let _ = write!(
            marks,
            "<path class=\"reach\" d=\"M{} {y}H{}\"/><path class=\"reach more\" d=\"M{} {y}H{}\"/>\
             <path class=\"dot\" d=\"M{} {y}h0\"/></g>",
            x(half),
            x(nearly),
            x(half),
            x(most),
            x(half)
        );
        let about = format!("p50 {}, p99 {}", took(at(host, 0.5)), took(at(host, 0.99)));
        out.push_str(&row(name, &about, &marks, &scale.ticks));
    }
    out.push_str(&last_row(&scale.ticks));
    out
}

/// The numbers of every host that there is room for, and of all others.
pub(super) fn table(hosts: &Hosts) -> String {
    let mut table = Table::new([
        ("Host", Kind::Text),
        ("Starts", Kind::Number),
        ("Done", Kind::Number),
        ("Failed", Kind::Number),
        ("Retried", Kind::Number),
        ("429, 503", Kind::Number),
        ("p50", Kind::Number),
        ("p90", Kind::Number),
        ("p99", Kind::Number),
        ("Longest", Kind::Number),
        ("Bytes", Kind::Number),
        ("Paused", Kind::Number),
        ("Widest gap", Kind::Number),
    ]);
    let mut row = |name: &str, host: &Host| {
        table.row([
            name.to_owned(),
            count(host.starts),
            count(host.ends.get(EndWord::Done) + host.ends.get(EndWord::Unchanged)),
            count(host.ends.get(EndWord::Failed)),
            count(host.retried),
            count(host.answers.get(Answer::Throttled)),
            took(at(host, 0.5)),
            took(at(host, 0.9)),
            took(at(host, 0.99)),
            millis(host.slowest),
            size(host.bytes),
            some_millis(host.paused),
            some_millis(host.widest_gap),
        ]);
    };
    let all = by_requests(hosts);
    for (name, host) in all.iter().take(ROWS) {
        row(name, host);
    }
    let others: Vec<_> = all.iter().skip(ROWS).collect();
    if !others.is_empty() || hosts.rest().starts > 0 {
        let mut rest = hosts.rest().clone();
        for (_, host) in others {
            rest.merge(host);
        }
        row("all others", &rest);
    }
    table.html()
}

/// The hosts with the most failed attempts.
pub(super) fn most_failing(hosts: &Hosts) -> String {
    let mut all: Vec<_> = hosts
        .iter()
        .filter(|(_, host)| !host.errors.is_empty())
        .collect();
    all.sort_by_key(|(_, host)| std::cmp::Reverse(host.errors.sum()));
    let mut table = Table::new([
        ("Host", Kind::Text),
        ("Failed attempts", Kind::Number),
        ("of all", Kind::Number),
        ("Failed URLs", Kind::Number),
        ("By kind", Kind::Words),
    ]);
    for (name, host) in all.into_iter().take(WORST) {
        let kinds: Vec<String> = host
            .errors
            .iter()
            .map(|(kind, held)| format!("{kind} {}", count(held)))
            .collect();
        table.row([
            name.to_owned(),
            count(host.errors.sum()),
            percent(host.errors.sum(), host.answers.sum()),
            count(host.ends.get(EndWord::Failed)),
            kinds.join(", "),
        ]);
    }
    if table.is_empty() {
        return "<p>None.</p>".to_owned();
    }
    table.html()
}

/// The hosts whose requests take longest.
pub(super) fn slowest(hosts: &Hosts) -> String {
    let judged = hosts
        .iter()
        .filter(|(_, host)| host.latencies.len() >= JUDGED_FROM);
    let mut all: Vec<_> = judged
        .map(|(name, host)| (at(host, 0.5), name, host))
        .collect();
    all.sort_by(|(a, ..), (b, ..)| b.cmp(a));
    let mut table = Table::new([
        ("Host", Kind::Text),
        ("Answers", Kind::Number),
        ("p50", Kind::Number),
        ("p90", Kind::Number),
        ("Longest", Kind::Number),
    ]);
    for (half, name, host) in all.into_iter().take(WORST) {
        table.row([
            name.to_owned(),
            count(host.latencies.len()),
            took(half),
            took(at(host, 0.9)),
            millis(host.slowest),
        ]);
    }
    if table.is_empty() {
        return "<p>None has answered often enough to say.</p>".to_owned();
    }
    table.html()
}
