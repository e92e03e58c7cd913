//! What the program tells machines: a file of metrics in the text format of
//! Prometheus, and a log of JSON objects.

#![cfg(feature = "cli")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use serde_json::Value;

use common::{Crawl, Req, Resp, Server, canter, jsonl};

const PATIENCE: Duration = Duration::from_secs(30);

/// A few pages, a dead one, a failing one and a forbidden one.
fn site(req: &Req) -> Resp {
    match req.path.as_str() {
        "/robots.txt" => Resp::text("User-agent: *\nDisallow: /private/\n"),
        "/" => Resp::html(
            "<a href=/a>a</a><a href=/dead>d</a><a href=/broken>b</a><a href=/private/x>p</a>",
        ),
        "/a" => Resp::html("<title>a</title>"),
        "/broken" => Resp::new(500),
        _ => Resp::new(404),
    }
}

fn crawl(server: &Server) -> Crawl {
    Crawl::new([server.url("/")])
        .set("output.metrics='metrics/canter.prom'")
        .set("policy.max_retries=1")
        .set("policy.max_error_rate=1")
}

/// Every sample of a file in the text format, by its name and labels; and the
/// type of each metric. Fails the test on anything that the format forbids.
fn samples(text: &str) -> (BTreeMap<String, f64>, BTreeMap<String, String>) {
    assert!(text.ends_with('\n'), "the last line has its end");
    let mut samples = BTreeMap::new();
    let mut types: BTreeMap<String, String> = BTreeMap::new();
    let mut helps = BTreeSet::new();
    let mut last = String::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').expect("a help text");
            assert!(!help.is_empty() && helps.insert(name.to_owned()), "{line}");
            continue;
        }
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a type");
            assert!(["counter", "gauge"].contains(&kind), "{line}");
            assert!(helps.contains(name), "help comes first: {line}");
            assert!(
                types.insert(name.to_owned(), kind.to_owned()).is_none(),
                "twice: {line}"
            );
            name.clone_into(&mut last);
            continue;
        }
        let (series, value) = line.rsplit_once(' ').expect("a value");
        let value: f64 = value.parse().unwrap_or_else(|_| panic!("{line}"));
        let (name, labels) = series.split_once('{').expect("labels");
        let letters = |c: char| c.is_ascii_alphanumeric() || c == '_';
        assert!(
            name.starts_with("canter_") && name.chars().all(letters),
            "{line}"
        );
        assert_eq!(name, last, "the samples of a metric stand together");
        if types[name] == "counter" {
            assert!(name.ends_with("_total") && value >= 0.0, "{line}");
        }
        let mut rest = labels.strip_suffix('}').expect("labels end");
        while !rest.is_empty() {
            let (label, quoted) = rest.split_once("=\"").expect("a label");
            assert!(label.chars().all(letters), "{line}");
            let mut escaped = false;
            let end = quoted.char_indices().find(|(_, c)| {
                let ends = *c == '"' && !escaped;
                escaped = *c == '\\' && !escaped;
                ends
            });
            let (end, _) = end.expect("a label's end");
            rest = &quoted[end + 1..];
            rest = rest.strip_prefix(',').unwrap_or(rest);
        }
        assert!(
            samples.insert(series.to_owned(), value).is_none(),
            "twice: {line}"
        );
    }
    (samples, types)
}

/// The samples without the label of the configuration.
fn read(crawl: &Crawl) -> BTreeMap<String, f64> {
    let text = fs::read_to_string(crawl.path("metrics/canter.prom")).expect("metrics");
    let config = crawl.path("crawl.toml").display().to_string();
    let label = format!("config=\"{config}\"");
    let (samples, types) = samples(&text);
    assert!(types.len() > 15, "{types:?}");
    samples
        .into_iter()
        .map(|(series, value)| {
            assert!(series.contains(&label), "{series}");
            let series = series
                .replace(&format!("{label},"), "")
                .replace(&format!("{{{label}}}"), "");
            (series, value)
        })
        .collect()
}

#[test]
fn metrics_are_those_of_the_summary_and_tell_how_the_run_ended() {
    let server = Server::start(site);
    let crawl = crawl(&server).with_state();
    let crawled = crawl.run().expect(0);
    let metrics = read(&crawl);
    let summary = &crawled.summary;
    let of = |name: &str| {
        metrics
            .get(name)
            .copied()
            .unwrap_or_else(|| panic!("{name}: {metrics:?}"))
    };
    for (name, key) in [
        ("canter_requests_total", "requests"),
        ("canter_retries_total", "retried"),
        ("canter_body_bytes_total", "bytes"),
        ("canter_records_total", "records"),
        ("canter_urls_ended_total{end=\"done\"}", "done"),
        ("canter_last_run_exit_code", "exit"),
        ("canter_last_run_urls_pending", "pending"),
        ("canter_last_run_duration_seconds", "seconds"),
        ("canter_pass", "pass"),
    ] {
        assert_eq!(Some(of(name)), summary[key].as_f64(), "{name}");
    }
    assert!((of("canter_urls_failed_total{kind=\"http\"}") - 1.0).abs() < 1e-9);
    assert!((of("canter_urls_failed_total{kind=\"rejected\"}") - 1.0).abs() < 1e-9);
    assert!((of("canter_urls_skipped{reason=\"robots\"}") - 1.0).abs() < 1e-9);
    assert!((of("canter_last_run_end{end=\"complete\"}") - 1.0).abs() < 1e-9);
    assert!(of("canter_run_in_progress").abs() < 1e-9);
    let ends: f64 = metrics
        .iter()
        .filter(|(series, _)| series.starts_with("canter_last_run_end{"))
        .map(|(_, value)| value)
        .sum();
    assert!((ends - 1.0).abs() < 1e-9, "one end");
    let ended = of("canter_last_run_end_timestamp_seconds");
    assert!(ended >= of("canter_run_start_timestamp_seconds") && ended > 1.7e9);
}

#[test]
fn a_run_that_goes_on_tells_of_itself_and_of_the_last_one() {
    let server = Server::start(|req: &Req| match (req.path.as_str(), req.nth) {
        ("/robots.txt", _) => Resp::new(404),
        ("/", _) => Resp::html("<a href=/slow>s</a>"),
        ("/slow", 2) => Resp::html("at last").delay(PATIENCE),
        _ => Resp::html(""),
    });
    let crawl = crawl(&server).with_state();
    crawl.run().expect(0);
    let mut running = crawl.start();
    let until = std::time::Instant::now() + PATIENCE;
    let metrics = loop {
        let metrics = read(&crawl);
        if metrics["canter_run_in_progress"] > 0.0 || std::time::Instant::now() > until {
            break metrics;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!((metrics["canter_run_in_progress"] - 1.0).abs() < 1e-9);
    assert!((metrics["canter_pass"] - 2.0).abs() < 1e-9);
    assert!(
        metrics["canter_last_run_exit_code"].abs() < 1e-9,
        "that of the run before"
    );
    let waits: f64 = metrics
        .iter()
        .filter(|(series, _)| series.starts_with("canter_waiting{"))
        .map(|(_, value)| value)
        .sum();
    assert!(
        (waits - 1.0).abs() < 1e-9,
        "it waits for one thing: {metrics:?}"
    );

    // A run that does not get the lock leaves the file to the one that has it.
    crawl.program().run().expect_code(6);
    assert!((read(&crawl)["canter_run_in_progress"] - 1.0).abs() < 1e-9);

    running.signal("TERM");
    running.signal("TERM");
    std::thread::sleep(Duration::from_millis(600));
    running.signal("TERM");
    assert_eq!(running.wait().code(), Some(143));
    let metrics = read(&crawl);
    assert!((metrics["canter_last_run_exit_code"] - 143.0).abs() < 1e-9);
    assert!((metrics["canter_last_run_end{end=\"interrupted\"}"] - 1.0).abs() < 1e-9);
}

#[test]
fn a_file_of_metrics_that_cannot_be_is_told_before_any_request() {
    let server = Server::start(site);
    for (value, code, why) in [
        ("canter-{date}.prom", 2, "must be one name"),
        ("-", 2, "must be a file"),
        ("pages.jsonl", 2, "is the file of another output"),
        ("crawl.toml/x.prom", 1, "the metrics cannot be written to"),
    ] {
        let run = Crawl::new([server.url("/")])
            .set(format!("output.metrics='{value}'"))
            .program()
            .run()
            .expect_code(code);
        assert!(run.stderr.contains(why), "{value}: {}", run.stderr);
    }
    assert_eq!(server.requests(), 0);
    let crawl = Crawl::new([server.url("/")]).set("output.metrics=metrics.txt");
    let run = crawl.program().arg("--dry-run").run().expect_code(0);
    assert!(run.out().contains("ends in .prom"), "{}", run.out());
}

#[test]
fn with_json_logs_every_line_is_an_object_and_the_last_one_is_the_summary() {
    let server = Server::start(site);
    let crawl = crawl(&server).arg("--json-logs").arg("-vv");
    let run = crawl.run().expect(0);
    let lines = jsonl::parse(&run.run.stderr);
    for line in &lines {
        assert!(
            line["time"]
                .as_str()
                .is_some_and(|time| time.ends_with('Z')),
            "{line}"
        );
        let level = line["level"].as_str().expect("a level");
        assert!(
            ["error", "warning", "info", "debug"].contains(&level),
            "{line}"
        );
        assert!(
            line["message"].is_string() && line["target"].is_string(),
            "{line}"
        );
    }
    let failed = |line: &&Value| {
        line["level"] == "warning"
            && line["message"]
                .as_str()
                .is_some_and(|m| m.contains("/broken"))
    };
    assert_eq!(lines.iter().filter(failed).count(), 1);
    assert!(lines.iter().any(|line| line["level"] == "debug"));
    let last = lines.last().expect("lines");
    assert_eq!(last["summary"], run.summary);
    assert_eq!(last["target"], "canter");
    let message = last["message"].as_str().expect("a message");
    assert!(
        message.starts_with("complete: 2 done, 2 failed"),
        "{message}"
    );

    // `crawl` has it too, and records stay what they are.
    let run = canter(["crawl", "--json-logs", "--rate=none"])
        .arg(server.url("/a"))
        .run()
        .expect_code(0);
    assert_eq!(run.records().len(), 1);
    assert_eq!(jsonl::parse(&run.stderr).len(), 1);
}

#[test]
fn with_json_logs_what_is_wrong_is_an_object_too() {
    let server = Server::start(site);
    let crawl = Crawl::new([server.url("/")])
        .arg("--json-logs")
        .set("policy.concurency=1")
        .set("policy.burst=-1");
    let run = crawl.program().run().expect_code(2);
    let lines = jsonl::parse(&run.stderr);
    assert_eq!(lines.len(), 2, "{}", run.stderr);
    assert!(lines.iter().all(|line| line["level"] == "error"));
    assert!(
        run.stderr.contains("did you mean concurrency?"),
        "{}",
        run.stderr
    );

    let crawl = Crawl::new([server.url("/")])
        .arg("--json-logs")
        .toml("[[host]]\nname = \"never.test\"");
    let run = crawl.program().run().expect_code(0);
    let lines = jsonl::parse(&run.stderr);
    let unmatched = |line: &&Value| {
        line["level"] == "warning"
            && line["message"]
                .as_str()
                .is_some_and(|m| m.contains("never.test"))
    };
    assert_eq!(lines.iter().filter(unmatched).count(), 1, "{}", run.stderr);
}

#[test]
fn nothing_is_drawn_where_there_is_no_terminal() {
    let server = Server::start(site);
    let crawl = crawl(&server);
    let run = crawl.program().env("TERM", "xterm").run().expect_code(0);
    assert!(!run.stderr.contains(['\r', '\u{1b}']), "{:?}", run.stderr);
    assert_eq!(
        run.stderr
            .lines()
            .filter(|line| line.contains("requests"))
            .count(),
        1
    );
}
