//! [`Crawl`]: the real program on a loopback site, and what it wrote.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use crate::common::{Log, Server, TempDir, canter, jsonl};

/// What every crawl here begins with: as fast as the machine allows, few and
/// short retries, small bodies, and no stop rule before the end.
const POLICY: &str = "\
[policy]
max_requests_per_minute = \"none\"
concurrency = 16
host_concurrency = 16
max_retries = 1
retry_delay = 0.01
max_host_delay = 0
max_consecutive_failures = 100000
max_error_rate = 1.0
error_rate_window = 100000
max_host_failures = 100000
";

/// A crawl, to be run.
pub(crate) struct Crawl {
    seeds: Vec<String>,
    tables: BTreeMap<&'static str, String>,
}

/// What a crawl wrote.
pub(crate) struct Outcome {
    pub(crate) records: Vec<Value>,
    pub(crate) log: Vec<Value>,
    pub(crate) summary: Value,
    pub(crate) stderr: String,
    /// What the server was asked.
    pub(crate) asked: Log,
}

impl Crawl {
    /// A crawl from these URLs.
    pub(crate) fn from<S: Into<String>>(seeds: impl IntoIterator<Item = S>) -> Self {
        let mut crawl = Crawl {
            seeds: seeds.into_iter().map(Into::into).collect(),
            tables: BTreeMap::new(),
        };
        crawl = crawl
            .set("fetch", "timeout = 2")
            .set("fetch", "max_body = \"64 KiB\"");
        crawl
            .set("fetch", "allow_private = true")
            .set("output", "path = \"pages.jsonl\"")
            .set("output", "log = \"log.jsonl\"")
            .set("output", "summary = \"summary.json\"")
    }

    /// Adds a line to a table of the configuration.
    pub(crate) fn set(mut self, table: &'static str, line: &str) -> Self {
        let lines = self.tables.entry(table).or_default();
        // A later line takes the place of an earlier one with its key.
        let key = line.split('=').next().expect("a key");
        let kept: String = lines
            .lines()
            .filter(|old| !old.starts_with(key))
            .map(|old| format!("{old}\n"))
            .collect();
        *lines = format!("{kept}{line}\n");
        self
    }

    /// Runs it to its end and expects this exit code.
    #[track_caller]
    pub(crate) fn run(self, server: &Server, code: i32) -> Outcome {
        let folder = TempDir::new();
        let mut config = format!("[crawl]\nseeds = {:?}\n", self.seeds);
        if let Some(more) = self.tables.get("crawl") {
            config.push_str(more);
        }
        config.push_str(POLICY);
        for (table, lines) in &self.tables {
            match *table {
                "crawl" => {}
                // The policy's table is open.
                "policy" => config = replaced(&config, lines),
                table => {
                    let _ = write!(config, "[{table}]\n{lines}");
                }
            }
        }
        fs::write(folder.path().join("crawl.toml"), &config).expect("a configuration");
        let run = canter(["run", "crawl.toml", "-q"])
            .dir(folder.path())
            .run()
            .expect_code(code);
        let summary = fs::read(folder.path().join("summary.json")).expect("a summary");
        Outcome {
            records: jsonl::read(folder.path().join("pages.jsonl")),
            log: jsonl::read(folder.path().join("log.jsonl")),
            summary: serde_json::from_slice(&summary).expect("JSON"),
            stderr: run.stderr,
            asked: server.log(),
        }
    }
}

/// The configuration with these lines in place of those with their keys.
fn replaced(config: &str, lines: &str) -> String {
    let keys: Vec<&str> = lines
        .lines()
        .filter_map(|line| line.split('=').next())
        .collect();
    let mut out = String::new();
    for line in config.lines() {
        if !keys.iter().any(|key| line.starts_with(key)) {
            let _ = writeln!(out, "{line}");
        }
        if line == "[policy]" {
            out.push_str(lines);
        }
    }
    out
}

/// The path, query included, of a URL.
fn path_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.find('/').map_or("/", |at| &rest[at..])
}

impl Outcome {
    /// The one record of the page at this path.
    #[track_caller]
    pub(crate) fn record(&self, path: &str) -> &Value {
        let mut found = self
            .records
            .iter()
            .filter(|record| path_of(jsonl::text(record, "url")) == path);
        let first = found.next();
        assert!(found.next().is_none(), "{path} has two records");
        first.unwrap_or_else(|| panic!("{path} has no record; its log: {:?}", self.ends(path)))
    }

    /// Whether there is a record of the page at this path.
    pub(crate) fn has_record(&self, path: &str) -> bool {
        self.records
            .iter()
            .any(|record| path_of(jsonl::text(record, "url")) == path)
    }

    /// The lines of the log about this path.
    pub(crate) fn ends(&self, path: &str) -> Vec<&Value> {
        self.log
            .iter()
            .filter(|line| path_of(jsonl::text(line, "url")) == path)
            .collect()
    }

    /// The one line of the log about this path.
    #[track_caller]
    pub(crate) fn end(&self, path: &str) -> &Value {
        match self.ends(path).as_slice() {
            [line] => line,
            lines => panic!("{path} has {} lines in the log: {lines:?}", lines.len()),
        }
    }

    /// Fails unless the path ended as failed, of this kind, after so many
    /// attempts, with a message that holds these words.
    #[track_caller]
    pub(crate) fn failed(&self, path: &str, kind: &str, attempts: u64, words: &str) {
        let line = self.end(path);
        let message = line["message"].as_str().unwrap_or_default();
        assert!(
            line["end"] == "failed"
                && line["kind"] == kind
                && line["attempts"] == attempts
                && message.contains(words),
            "{path}: not failed ({kind}) after {attempts} with {words:?}: {line}"
        );
        assert!(!self.has_record(path), "{path} failed and has a record");
    }

    /// Fails unless the path ended as done and its record's title is this.
    #[track_caller]
    pub(crate) fn titled(&self, path: &str, title: Option<&str>) {
        assert_eq!(self.end(path)["end"], "done", "{path}: {}", self.end(path));
        assert_eq!(self.record(path)["title"].as_str(), title, "{path}");
    }

    /// Fails unless the path led to this URL.
    #[track_caller]
    pub(crate) fn redirected(&self, path: &str, to: &str) {
        let line = self.end(path);
        assert_eq!(line["end"], "redirected", "{path}: {line}");
        assert_eq!(line["to"], to, "{path}");
        assert!(
            !self.has_record(path),
            "{path} led elsewhere and has a record"
        );
    }

    /// Fails unless the path was skipped for this reason.
    #[track_caller]
    pub(crate) fn skipped(&self, path: &str, reason: &str) {
        let line = self.end(path);
        assert_eq!(line["end"], "skipped", "{path}: {line}");
        assert_eq!(line["reason"], reason, "{path}");
    }

    /// The paths that a host was asked for, robots.txt left out, each once and
    /// in the order of the alphabet.
    pub(crate) fn paths_on(&self, host: &str) -> Vec<String> {
        let log = self.asked.on(host);
        let mut paths: Vec<String> = log
            .paths()
            .into_iter()
            .filter(|path| *path != "/robots.txt")
            .map(str::to_owned)
            .collect();
        paths.sort_unstable();
        paths.dedup();
        paths
    }
}
