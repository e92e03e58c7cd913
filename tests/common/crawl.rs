//! [`Crawl`]: a crawl by the program, in a folder of its own, with everything
//! that it can write.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::jsonl;
use super::program::{Program, Run, Running, canter};
use super::temp::TempDir;

/// A configuration and its folder. Nothing bounds the pace, and retries come
/// soon, unless a test says otherwise.
pub(crate) struct Crawl {
    folder: TempDir,
    tables: String,
    arguments: Vec<String>,
}

impl Crawl {
    /// A crawl from these seeds.
    pub(crate) fn new<S: AsRef<str>>(seeds: impl IntoIterator<Item = S>) -> Self {
        let seeds: Vec<_> = seeds.into_iter().map(|s| s.as_ref().to_owned()).collect();
        let crawl = Crawl {
            folder: TempDir::new(),
            tables: format!("[crawl]\nseeds = {seeds:?}\n"),
            arguments: Vec::new(),
        };
        crawl
            .set("output.path='pages.jsonl'")
            .set("output.log='log.jsonl'")
            .set("output.summary='summary.json'")
            .set("policy.max_requests_per_minute='none'")
            .set("policy.retry_delay=0.02")
    }

    /// Sets a key, as `--set` does.
    pub(crate) fn set(self, setting: impl Into<String>) -> Self {
        let setting = setting.into();
        self.arg("--set").arg(setting)
    }

    /// Adds an argument.
    pub(crate) fn arg(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds tables, or keys of `[crawl]`, to the file.
    pub(crate) fn toml(mut self, text: &str) -> Self {
        self.tables.push_str(text);
        self.tables.push('\n');
        self
    }

    /// Keeps a state in the folder `state`.
    pub(crate) fn with_state(self) -> Self {
        self.set("state.dir='state'")
    }

    /// A path in its folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The command line.
    pub(crate) fn program(&self) -> Program {
        let config = self.folder.write("crawl.toml", &self.tables);
        let program = canter(["run".as_ref(), config.as_os_str()]).dir(self.folder.path());
        self.arguments.iter().fold(program, Program::arg)
    }

    /// Starts it.
    pub(crate) fn start(&self) -> Running {
        self.program().start()
    }

    /// Runs it to its end.
    pub(crate) fn run(&self) -> Crawled {
        let run = self.program().run();
        self.read(run)
    }

    /// What a run has left. What it did not write is empty.
    pub(crate) fn read(&self, run: Run) -> Crawled {
        let lines = |name: &str| {
            let path = self.path(name);
            if path.exists() {
                jsonl::read(path)
            } else {
                Vec::new()
            }
        };
        let summary = std::fs::read_to_string(self.path("summary.json"));
        Crawled {
            run,
            records: lines("pages.jsonl"),
            log: lines("log.jsonl"),
            summary: summary.map_or(Value::Null, |text| {
                serde_json::from_str(&text).expect("the summary is JSON")
            }),
        }
    }
}

/// What a run has left: whole files, or reading them would have failed.
pub(crate) struct Crawled {
    pub(crate) run: Run,
    pub(crate) records: Vec<Value>,
    pub(crate) log: Vec<Value>,
    pub(crate) summary: Value,
}

impl Crawled {
    /// Fails the test, with all output, unless it ended with this code, the
    /// summary says the same, and its counts add up to themselves, to the log
    /// and to the records. Only for a run that is the first of its files.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        let run = self.run.expect_code(code);
        let (summary, log) = (&self.summary, &self.log);
        assert_eq!(summary["exit"], code, "{summary}");
        let ends = count(log, "end");
        let of = |end: &str| ends.get(end).copied().unwrap_or(0);
        assert_eq!(number(summary, "done"), of("done"), "{summary}");
        assert_eq!(number(summary, "redirected"), of("redirected"), "{summary}");
        assert_eq!(sum(&summary["failed"]), of("failed"), "{summary}");
        assert_eq!(sum(&summary["skipped"]), of("skipped"), "{summary}");
        assert_eq!(words(&summary["failed"]), count(log, "kind"), "{summary}");
        assert_eq!(
            words(&summary["skipped"]),
            count(log, "reason"),
            "{summary}"
        );
        let ended: u64 = ends.values().sum();
        assert_eq!(
            number(summary, "urls"),
            ended + number(summary, "pending"),
            "{summary}"
        );
        assert_eq!(log.len(), jsonl::by(log, "url").len());
        let sitemaps = log.iter().filter(|line| line["purpose"] == "sitemap");
        let sitemaps = sitemaps.filter(|line| line["end"] == "done").count();
        assert_eq!(
            number(summary, "pages"),
            number(summary, "done") - sitemaps as u64,
            "{summary}"
        );
        assert_eq!(number(summary, "records"), self.records.len() as u64);
        Crawled { run, ..self }
    }

    /// The line of the log about a URL.
    #[track_caller]
    pub(crate) fn line(&self, url: &str) -> &Value {
        let found = self.log.iter().find(|line| line["url"] == url);
        found.unwrap_or_else(|| panic!("the log has no {url}: {:#?}", self.log))
    }

    /// The record with this final URL.
    #[track_caller]
    pub(crate) fn record(&self, url: &str) -> &Value {
        let found = self.records.iter().find(|record| record["url"] == url);
        found.unwrap_or_else(|| panic!("there is no record of {url}: {:#?}", self.records))
    }

    /// Whether a URL has a record.
    pub(crate) fn has_record(&self, url: &str) -> bool {
        self.records.iter().any(|record| record["url"] == url)
    }

    /// How long the crawl took by its own clock.
    pub(crate) fn took(&self) -> Duration {
        Duration::from_secs_f64(self.summary["seconds"].as_f64().expect("seconds"))
    }
}

fn number(summary: &Value, key: &str) -> u64 {
    summary[key]
        .as_u64()
        .unwrap_or_else(|| panic!("no number in {key:?}: {summary}"))
}

fn sum(counts: &Value) -> u64 {
    words(counts).values().sum()
}

fn words(counts: &Value) -> BTreeMap<String, u64> {
    serde_json::from_value(counts.clone()).expect("counts by word")
}

/// How many lines have each word in a field.
fn count(lines: &[Value], field: &str) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for word in lines.iter().filter_map(|line| line[field].as_str()) {
        *counts.entry(word.to_owned()).or_insert(0) += 1;
    }
    counts
}
