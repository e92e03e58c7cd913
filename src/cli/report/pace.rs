//! The plots of a run over time: pace, answers, failures, times, requests in
//! flight, what was waited for, the queue, bytes, retries.

use std::fmt::Write as _;

use super::chart::{Chart, Legend, column as column_of, level, line};
use super::names::Shown;
use super::scale::{Scale, Time};
use super::series::{Column, Columns};
use super::table::{Kind, Table};
use super::text::{average, count, millis, number, percent, percentile, plural, size, took};
use crate::crawler::chronicle::{Part, Record, RunNote, Tally, Word};

/// The percentiles that are drawn, their class and name.
const PERCENTILES: [(f64, &str, &str); 3] = [
    (0.5, "p50", "half were faster"),
    (0.9, "p90", "9 in 10 were faster"),
    (0.99, "p99", "99 in 100 were faster"),
];

/// What the plots of a run share.
pub(super) struct Plots<'a> {
    run: &'a RunNote,
    record: &'a Record,
    columns: Columns,
    time: Time,
}

impl<'a> Plots<'a> {
    pub(super) fn new(run: &'a RunNote, record: &'a Record) -> Self {
        let columns = Columns::of_run(&record.timeline, run);
        let time = Time::new(columns.from, columns.to - columns.from);
        Plots {
            run,
            record,
            columns,
            time,
        }
    }

    /// The axis that the plots share.
    pub(super) fn time(&self) -> &Time {
        &self.time
    }

    /// All of them.
    pub(super) fn html(&self) -> String {
        let mut out = String::from("<div class=\"charts\">");
        for chart in [
            self.pace(),
            self.tally(
                "Answers by status",
                "a minute, by the status of the answer",
                |part| &part.answers,
            ),
            self.tally(
                "URLs that ended",
                "a minute, by how; those that are not asked for are told further below",
                |part| &part.ends,
            ),
            self.tally(
                "Failed attempts by kind",
                "a minute; most kinds are tried again before the URL has failed",
                |part| &part.errors,
            ),
            self.latency(),
            self.in_flight(),
            self.waits(),
            self.counts(
                ("URLs in the queue", "at the end of each column", "sky"),
                |column| column.part.queued as f64,
                |part| count(part.queued),
                Scale::counts,
            ),
            self.counts(
                (
                    "Retries",
                    "a minute: attempts that were followed by another",
                    "plum",
                ),
                |column| column.a_minute(column.part.retried),
                |part| count(part.retried),
                |most| Scale::linear(most, number),
            ),
            self.counts(
                ("Bytes", "a minute, as decoded", "teal"),
                |column| column.a_minute(column.part.bytes),
                |part| size(part.bytes),
                Scale::bytes,
            ),
        ] {
            out.push_str(&chart);
        }
        out.push_str("</div>");
        out
    }

    fn place(&self, column: &Column) -> (f64, f64) {
        (self.time.place(column.from), self.time.place(column.to))
    }

    fn middle(&self, column: &Column) -> f64 {
        let (from, to) = self.place(column);
        f64::midpoint(from, to)
    }

    fn when(&self, column: &Column) -> String {
        self.time.stretch(column.from, column.to)
    }

    fn chart(
        &self,
        title: &str,
        note: String,
        scale: Scale,
        legend: Vec<Legend>,
        marks: String,
        table: Table,
    ) -> String {
        Chart {
            title,
            note,
            time: &self.time,
            scale,
            legend,
            marks,
            table,
        }
        .html()
    }

    fn most(&self, value: impl Fn(&Column) -> f64) -> f64 {
        self.columns.all.iter().map(value).fold(0.0, f64::max)
    }

    /// Starts a minute against the bound.
    fn pace(&self) -> String {
        let rate = |column: &Column| column.a_minute(column.part.starts);
        let bound = self.run.per_minute;
        let scale = Scale::linear(self.most(rate).max(bound.unwrap_or(0.0)), number);
        let mut table = Table::new([
            ("Time", Kind::Text),
            ("Starts", Kind::Number),
            ("a minute", Kind::Number),
        ]);
        let mut marks = String::new();
        for column in &self.columns.all {
            let when = self.when(column);
            let starts = column.part.starts;
            let title = format!(
                "{when}: {}, {} a minute",
                plural(starts, "start"),
                number(rate(column))
            );
            let parts = [("blue", rate(column))];
            marks.push_str(&column_of(self.place(column), &scale, &parts, &title));
            table.row([when, count(starts), number(rate(column))]);
        }
        let all = self.record.totals.starts;
        let mut note = plural(all, "start");
        if let Some(rate) = average(all, self.run.elapsed) {
            let _ = write!(note, ", {} a minute on average", number(rate));
        }
        if self.run.elapsed >= 60_000 {
            let _ = write!(
                note,
                ", at most {} in any minute",
                count(self.record.busiest_minute)
            );
        }
        if let Some(bound) = bound {
            let title = format!("the bound: {} a minute", number(bound));
            marks.push_str(&level("bound", scale.place(bound), &title));
            let _ = write!(note, "; the bound, drawn as a line, is {}", number(bound));
        } else {
            note.push_str("; no setting bounds it");
        }
        note.push('.');
        self.chart("Starts a minute", note, scale, Vec::new(), marks, table)
    }

    /// Counts by word on top of each other.
    fn tally<K: Word + Shown>(
        &self,
        title: &str,
        note: &str,
        of: impl Fn(&Part) -> &Tally<K>,
    ) -> String {
        let words: Vec<K> = of(&self.record.totals)
            .iter()
            .map(|(word, _)| word)
            .collect();
        if words.is_empty() {
            return String::new();
        }
        let all = |column: &Column| column.a_minute(of(&column.part).sum());
        let scale = Scale::linear(self.most(all), number);
        let mut heads = vec![("Time", Kind::Text)];
        heads.extend(words.iter().map(|word| (word.name(), Kind::Number)));
        let mut table = Table::new(heads);
        let mut marks = String::new();
        for column in &self.columns.all {
            let when = self.when(column);
            let tally = of(&column.part);
            let mut says = format!("{when}:");
            let mut parts = Vec::new();
            for word in &words {
                let held = tally.get(*word);
                if held > 0 {
                    let comma = if parts.is_empty() { "" } else { "," };
                    let _ = write!(says, "{comma} {} {}", count(held), word.name());
                }
                parts.push((word.class(), column.a_minute(held)));
            }
            if tally.is_empty() {
                says.push_str(" none");
            }
            marks.push_str(&column_of(self.place(column), &scale, &parts, &says));
            let cells = words.iter().map(|word| count(tally.get(*word)));
            table.row([when].into_iter().chain(cells));
        }
        let legend = words
            .iter()
            .map(|word| Legend {
                class: word.class(),
                name: word.name().to_owned(),
                total: count(of(&self.record.totals).get(*word)),
            })
            .collect();
        self.chart(title, sentence(note), scale, legend, marks, table)
    }

    /// How long requests took.
    fn latency(&self) -> String {
        let totals = &self.record.totals;
        if totals.latencies.is_empty() {
            return String::new();
        }
        let of = |column: &Column, part: f64| {
            let took = percentile(&column.part.latencies, part, column.part.slowest)?;
            Some(took.as_secs_f64() * 1e3)
        };
        let all = self.columns.all.iter();
        let low = all
            .filter_map(|column| of(column, 0.5))
            .fold(f64::MAX, f64::min);
        let high = self.most(|column| of(column, 0.99).unwrap_or(0.0));
        let scale = Scale::logarithmic(low.max(1.0), high, |value| millis(value as u64));
        let mut heads = vec![("Time".to_owned(), Kind::Text)];
        heads.extend(PERCENTILES.map(|(_, name, _)| (name.to_owned(), Kind::Number)));
        heads.push(("longest".to_owned(), Kind::Number));
        let mut table = Table::new(heads);
        let mut marks = String::new();
        for (part, class, _) in PERCENTILES.iter().rev() {
            let points = self.columns.all.iter().map(|column| {
                let value = of(column, *part)?;
                Some((self.middle(column), scale.place(value)))
            });
            marks.push_str(&line(&format!("line {class}"), points));
        }
        for column in &self.columns.all {
            let when = self.when(column);
            let at = |part| {
                took(percentile(
                    &column.part.latencies,
                    part,
                    column.part.slowest,
                ))
            };
            let says = format!(
                "{when}: p50 {}, p90 {}, p99 {}, longest {}",
                at(0.5),
                at(0.9),
                at(0.99),
                millis(column.part.slowest)
            );
            marks.push_str(&column_of(self.place(column), &scale, &[], &says));
            let cells = PERCENTILES.map(|(part, _, _)| at(part));
            let longest = [millis(column.part.slowest)];
            table.row([when].into_iter().chain(cells).chain(longest));
        }
        let legend = PERCENTILES.map(|(part, class, name)| Legend {
            class,
            name: format!("{class}: {name}"),
            total: took(percentile(&totals.latencies, part, totals.slowest)),
        });
        let note = "from a request's start to its end, the handling of the page included";
        self.chart(
            "Time per request",
            sentence(note),
            scale,
            legend.into(),
            marks,
            table,
        )
    }

    /// Requests in flight, and how many might have been.
    fn in_flight(&self) -> String {
        let over = |column: &Column, value: u64| value as f64 / (column.part.active.max(1)) as f64;
        let mean = |column: &Column| {
            let time = (column.to - column.from).max(1);
            column.part.in_flight as f64 / time as f64
        };
        let cap = |column: &Column| over(column, column.part.cap);
        let scale = Scale::linear(self.most(cap).max(self.most(mean)), number);
        let mut table = Table::new([
            ("Time", Kind::Text),
            ("in flight", Kind::Number),
            ("seen at most", Kind::Number),
            ("cap", Kind::Number),
        ]);
        let mut marks = String::new();
        for column in &self.columns.all {
            let when = self.when(column);
            let says = format!(
                "{when}: {} in flight on average, cap {}",
                number(mean(column)),
                number(cap(column))
            );
            let parts = [("blue", mean(column))];
            marks.push_str(&column_of(self.place(column), &scale, &parts, &says));
            table.row([
                when,
                number(mean(column)),
                count(column.part.most_in_flight),
                number(cap(column)),
            ]);
        }
        let active = self.columns.all.iter().filter(|c| c.part.active > 0);
        let corners = active.flat_map(|column| {
            let (from, to) = self.place(column);
            let height = scale.place(cap(column));
            [Some((from, height)), Some((to, height))]
        });
        marks.push_str(&line("bound", corners));
        let note = format!(
            "on average, and the cap on it as a line; up to {} were allowed",
            count(self.run.concurrency)
        );
        self.chart(
            "Requests in flight",
            sentence(&note),
            scale,
            Vec::new(),
            marks,
            table,
        )
    }

    /// What the next start waited for, as parts of the time.
    fn waits(&self) -> String {
        let totals = &self.record.totals.waits;
        let words: Vec<_> = totals.iter().map(|(word, _)| word).collect();
        if words.is_empty() {
            return String::new();
        }
        let scale = Scale::linear(0.98, |value| format!("{:.0} %", value * 100.0));
        let mut heads = vec![("Time", Kind::Text)];
        heads.extend(words.iter().map(|word| (word.name(), Kind::Number)));
        let mut table = Table::new(heads);
        let mut marks = String::new();
        for column in &self.columns.all {
            let when = self.when(column);
            let waits = &column.part.waits;
            let all = waits.sum();
            let mut says = format!("{when}:");
            for (at, (word, held)) in waits.iter().enumerate() {
                let comma = if at == 0 { "" } else { "," };
                let _ = write!(says, "{comma} {} {}", percent(held, all), word.name());
            }
            let parts: Vec<_> = words
                .iter()
                .map(|word| (word.class(), waits.get(*word) as f64 / all.max(1) as f64))
                .collect();
            marks.push_str(&column_of(self.place(column), &scale, &parts, &says));
            let cells = words.iter().map(|word| percent(waits.get(*word), all));
            table.row([when].into_iter().chain(cells));
        }
        let legend = words
            .iter()
            .map(|word| Legend {
                class: word.class(),
                name: word.name().to_owned(),
                total: percent(totals.get(*word), totals.sum()),
            })
            .collect();
        let note = "looked at once a second, as parts of the time";
        self.chart(
            "What the next start waited for",
            sentence(note),
            scale,
            legend,
            marks,
            table,
        )
    }

    /// One value over time.
    fn counts(
        &self,
        (title, note, class): (&str, &str, &str),
        value: impl Fn(&Column) -> f64,
        say: impl Fn(&Part) -> String,
        scale: impl Fn(f64) -> Scale,
    ) -> String {
        let most = self.most(&value);
        if most <= 0.0 {
            return String::new();
        }
        let scale = scale(most);
        let mut table = Table::new([("Time", Kind::Text), (title, Kind::Number)]);
        let mut marks = String::new();
        for column in &self.columns.all {
            let when = self.when(column);
            let says = say(&column.part);
            let parts = [(class, value(column))];
            let title = format!("{when}: {says}");
            marks.push_str(&column_of(self.place(column), &scale, &parts, &title));
            table.row([when, says]);
        }
        self.chart(title, sentence(note), scale, Vec::new(), marks, table)
    }
}

/// A sentence of its own, from a part of one.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .collect();
    format!("{first}{}.", chars.as_str())
}
