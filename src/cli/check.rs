//! `canter check`: every value in effect and where it comes from, and what the
//! values mean together. Nothing is requested and nothing written.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::exit::Exit;
use super::notes;
use super::pace::{HostPace, LeastTime, Pace};
use super::progress::{counted, grouped};
use super::seeds::Seeds;
use super::term::sanitize;
use super::{complain, print};
use crate::config::{ConfigError, Entry, HIDDEN, Origin, Settings, Sitemaps, show_duration};

/// How many hosts without a rule of their own are shown.
const MAX_ROWS: usize = 20;
/// The numbers of pages whose least time is told.
const PAGES: [u64; 3] = [100, 10_000, 1_000_000];

/// Checks a configuration, and shows it.
pub(super) fn check(settings: Result<Settings, ConfigError>) -> Exit {
    let settings = match settings {
        Ok(settings) => settings,
        Err(error) => {
            complain(&error.to_string());
            return Exit::Usage;
        }
    };
    match Seeds::read(&settings) {
        Ok(seeds) => match beyond_the_values(&settings, &seeds) {
            Ok(()) => print(&report(&settings, &seeds)),
            Err(message) => {
                complain(&message);
                Exit::Usage
            }
        },
        Err(errors) => {
            for error in errors {
                complain(&error.to_string());
            }
            Exit::Usage
        }
    }
}

/// What a run would find out before its first request: whether the files that
/// the values name hold what they should.
fn beyond_the_values(settings: &Settings, seeds: &Seeds) -> Result<(), String> {
    let crawl = &settings.crawl;
    // What is on standard input is not known before the run.
    let is_empty = seeds.lists.len() == crawl.seed_files.len()
        && seeds.lists.iter().all(|(_, count)| *count == 0);
    if is_empty && crawl.seeds.is_empty() && !matches!(crawl.sitemaps, Sitemaps::List(_)) {
        return Err(settings.no_seeds().to_string());
    }
    match settings.fetcher_for([]) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("fetch.{error}")),
    }
}

/// The whole report, sections apart.
pub(super) fn report(settings: &Settings, seeds: &Seeds) -> String {
    let hosts = crawled_hosts(settings, seeds);
    let pace = Pace::new(&settings.policy, hosts.as_ref(), settings.robots.obey);
    let mut out = String::new();
    if let Some(file) = settings.file() {
        let _ = writeln!(out, "{} is valid\n", sanitize(&file.display().to_string()));
    }
    values(settings, &mut out);
    for (list, count) in &seeds.lists {
        let _ = writeln!(out, "{} holds {}", sanitize(list), counted(*count, "URL"));
    }
    if !seeds.lists.is_empty() {
        out.push('\n');
    }
    host_table(settings, hosts.as_ref(), &pace, &mut out);
    pace_lines(&pace, &mut out);
    let notes = notes::of(settings, seeds, hosts.as_ref(), shows_hosts(settings));
    if !notes.is_empty() {
        out.push_str("\nNotes:\n");
        for note in notes {
            let _ = writeln!(out, "  {note}");
        }
    }
    out
}

/// The hosts of the crawl, when they can be told: those of the scope, or the
/// seeds'. A pattern takes in hosts that nobody knows.
fn crawled_hosts(settings: &Settings, seeds: &Seeds) -> Option<BTreeSet<String>> {
    let hosts = &settings.scope.hosts;
    if hosts.is_empty() {
        seeds.hosts.clone()
    } else if hosts.iter().any(|host| host.starts_with("*.")) {
        None
    } else {
        Some(hosts.iter().cloned().collect())
    }
}

/// Rows in columns, the first ones left, two spaces between.
fn columns(rows: &[Vec<String>], out: &mut String) {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        for (at, cell) in row.iter().enumerate() {
            let width = cell.chars().count();
            match widths.get_mut(at) {
                Some(widest) => *widest = width.max(*widest),
                None => widths.push(width),
            }
        }
    }
    for row in rows {
        let mut line = String::new();
        for (cell, &width) in row.iter().zip(&widths) {
            let _ = write!(line, "  {cell:width$}");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

/// A value that is longer stands apart from its source.
const MAX_CELL: usize = 40;

fn values(settings: &Settings, out: &mut String) {
    let mut table = "";
    let mut rows: Vec<Vec<String>> = Vec::new();
    for entry in settings.entries() {
        if entry.table != table {
            section(table, &rows, out);
            rows.clear();
            table = entry.table;
        }
        push_rows(&mut rows, entry.key, &entry.value, entry.origin);
    }
    section(table, &rows, out);
    #[cfg(feature = "select")]
    for extract in &settings.extract {
        rows.clear();
        for (key, value, origin) in &extract.entries {
            push_rows(&mut rows, &sanitize(key), value, *origin);
        }
        let table = format!("extract.{}", sanitize(extract.rules.name()));
        section(&table, &rows, out);
    }
    for host in settings.hosts() {
        let _ = writeln!(
            out,
            "[[host]] {}  {}",
            sanitize(&host.to_string()),
            host.origin
        );
    }
    if settings.hosts().next().is_some() {
        out.push('\n');
    }
}

fn push_rows(rows: &mut Vec<Vec<String>>, key: &str, value: &str, origin: Origin) {
    let value = sanitize(value).into_owned();
    let origin = origin.to_string();
    if value.chars().count() > MAX_CELL {
        rows.push(vec![key.to_owned(), String::new(), origin]);
        rows.push(vec![String::new(), value]);
    } else {
        rows.push(vec![key.to_owned(), value, origin]);
    }
}

fn section(table: &str, rows: &[Vec<String>], out: &mut String) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(out, "[{table}]");
    // Long values stand in lines of their own and widen no column.
    let mut widths = [0, 0];
    for row in rows.iter().filter(|row| row.len() == 3) {
        widths[0] = widths[0].max(row[0].chars().count());
        widths[1] = widths[1].max(row[1].chars().count());
    }
    let [key, value] = widths;
    for row in rows {
        let line = match row.as_slice() {
            [name, text, origin] => format!("  {name:key$}  {text:value$}  {origin}"),
            [.., text] => format!("      {text}"),
            [] => String::new(),
        };
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out.push('\n');
}

/// How each host is treated.
fn host_table(
    settings: &Settings,
    hosts: Option<&BTreeSet<String>>,
    pace: &Pace<'_>,
    out: &mut String,
) {
    let cells = |name: &str, host: &HostPace| {
        let at_most = host.per_minute.map_or("no bound".to_owned(), show_rate);
        vec![
            name.to_owned(),
            show_duration(host.delay),
            host.concurrency.to_string(),
            at_most,
        ]
    };
    let mut rows = vec![
        ["host", "gap", "at once", "at most"]
            .map(str::to_owned)
            .into(),
    ];
    for host in settings.hosts() {
        if host.hidden {
            rows.push(vec![HIDDEN.to_owned(); 4]);
        } else {
            let host_pace = pace.rule(host.rule.delay, host.rule.concurrency);
            rows.push(cells(&host.rule.name, &host_pace));
        }
    }
    let plain = |host: &&String| settings.policy.host_rule(host).is_none();
    // Names from the environment are not shown, not even one by one.
    let shown: Vec<&String> = if shows_hosts(settings) {
        hosts.into_iter().flatten().filter(plain).collect()
    } else {
        Vec::new()
    };
    for host in shown.iter().take(MAX_ROWS) {
        rows.push(cells(host, &pace.host(None)));
    }
    if shown.len() > MAX_ROWS || shown.is_empty() || hosts.is_none() {
        rows.push(cells("any other", &pace.host(None)));
    }
    out.push_str("How each host is treated:\n");
    columns(&rows, out);
    out.push('\n');
}

/// Whether the names of the crawl's hosts may be shown.
fn shows_hosts(settings: &Settings) -> bool {
    let hidden = |entry: &Entry| {
        matches!(entry.key, "seeds" | "hosts" | "sitemaps") && entry.value.contains(HIDDEN)
    };
    !settings.entries().iter().any(hidden)
}

fn pace_lines(pace: &Pace<'_>, out: &mut String) {
    match pace.per_minute() {
        Some(rate) => {
            let _ = writeln!(out, "Pace: at most {}, all hosts together", show_rate(rate));
        }
        None => out.push_str("Pace: no setting bounds it, only the sites and the network do\n"),
    }
    out.push_str("The least time that a crawl takes, retries and redirects left out:\n");
    let rows: Vec<Vec<String>> = PAGES
        .iter()
        .map(|&pages| {
            let time = match pace.least_time(pages) {
                None => "no bound".to_owned(),
                Some(LeastTime::Time(time)) => show_duration(time),
                Some(LeastTime::EndsBefore(key)) => format!("not reached: {key} ends the run"),
            };
            vec![format!("{:>9} pages", grouped(pages)), time]
        })
        .collect();
    columns(&rows, out);
}

/// A rate as people speak of it.
fn show_rate(per_minute: f64) -> String {
    const HOUR: f64 = 60.0;
    const DAY: f64 = 24.0 * HOUR;
    let (rate, unit) = if per_minute >= 1.0 {
        (per_minute, "a minute")
    } else if per_minute * HOUR >= 1.0 {
        (per_minute * HOUR, "an hour")
    } else {
        (per_minute * DAY, "a day")
    };
    let text = format!("{rate:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Source;

    fn report_of(text: &str) -> String {
        let settings = Source::text(text)
            .environment(|name| (name == "TOKEN").then(|| "hunter2".to_owned()))
            .set("policy.jitter=0.5")
            .option("--deadline", "policy.deadline", "2d")
            .read()
            .unwrap_or_else(|error| panic!("{error}"));
        let seeds = Seeds::read(&settings).unwrap_or_else(|errors| panic!("{}", errors[0]));
        report(&settings, &seeds)
    }

    fn has_line(report: &str, words: &[&str]) -> bool {
        report
            .lines()
            .any(|line| line.split_whitespace().eq(words.iter().copied()))
    }

    #[test]
    fn every_value_stands_with_its_source() {
        let text = "[crawl]\nseeds = [\"https://a.test/\"]\n[policy]\nhost_delay = 2.5\n";
        let report = report_of(text);
        for words in [
            &["seeds", "[\"https://a.test/\"]", "line", "2"][..],
            &["host_delay", "\"2.5s\"", "line", "4"],
            &["jitter", "\"500ms\"", "--set"],
            &["deadline", "\"2d\"", "--deadline"],
            &["concurrency", "4", "default"],
            &["max_requests", "none", "default"],
            &["obey", "true", "default"],
        ] {
            assert!(has_line(&report, words), "{words:?} in\n{report}");
        }
    }

    #[test]
    fn hosts_and_pace_are_told_as_the_settings_work_together() {
        let text = "[crawl]\nseeds = [\"https://a.test/\", \"https://slow.test/\"]\n\
                    [policy]\nhost_concurrency = 4\nhost_delay = 1\n\
                    [[host]]\nname = \"SLOW.test\"\ndelay = 180\nconcurrency = 1\n\
                    headers = { Authorization = \"Bearer ${TOKEN}\" }\n";
        let report = report_of(text);
        for words in [
            &["slow.test", "3m", "1", "20", "an", "hour"][..],
            &["a.test", "1s", "4", "60", "a", "minute"],
            &["100", "pages", "1m", "41s"],
            &["10,000", "pages", "2h", "46m", "41s"],
            &[
                "1,000,000",
                "pages",
                "not",
                "reached:",
                "deadline",
                "ends",
                "the",
                "run",
            ],
        ] {
            assert!(has_line(&report, words), "{words:?} in\n{report}");
        }
        assert!(report.contains("Pace: at most 60 a minute, all hosts together"));
        assert!(report.contains("Authorization: ***"), "{report}");
        assert!(!report.contains("hunter2"), "{report}");
    }

    #[test]
    fn names_from_the_environment_are_nowhere_in_the_report() {
        let text = "[crawl]\nseeds = [\"https://${TOKEN}.test/\"]\n\
                    [[host]]\nname = \"${TOKEN}.test\"\ndelay = 7\n";
        let report = report_of(text);
        assert!(!report.contains("hunter2"), "{report}");
        assert!(has_line(&report, &["***", "***", "***", "***"]), "{report}");
    }

    #[test]
    fn rates_are_spoken_of_in_the_unit_that_fits() {
        assert_eq!(show_rate(60.0), "60 a minute");
        assert_eq!(show_rate(0.5), "30 an hour");
        assert_eq!(show_rate(1.0 / 120.0), "12 a day");
        assert_eq!(show_rate(100.0 / 3.0), "33.33 a minute");
    }
}
