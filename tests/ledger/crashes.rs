//! Random crawls with crashes at random moments, compared with a model that
//! keeps everything in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use canter::ledger::{
    Change, CsvColumns, End, Ledger, OutputSpec, PageMemory, Queued, Restored, Totals,
};
use canter::{Purpose, SkipReason, Url};

use super::common::{Folder, at, instant, lines, options, torture, totals};
use super::invent::Crawl;

/// What should be known of a URL.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    /// The request as it was queued; `None` for one that only ended.
    pub(crate) queued: Option<Queued>,
    pub(crate) url: Url,
    pub(crate) depth: u32,
    pub(crate) end: Option<End>,
    attempt: u32,
    not_before: Option<u64>,
    rejudge: bool,
    ended_at: u64,
    memory: Option<(PageMemory, u64)>,
    /// Whether nothing but redirects led to it.
    pub(crate) only_led_to: bool,
    /// The pass it last ended in; 0 for none.
    ended_in: u64,
    /// Whether it is left to redirects in this pass.
    pub(crate) left: bool,
}

/// What should be known of the crawl.
#[derive(Debug, Clone, Default)]
pub(crate) struct Expected {
    pub(crate) urls: BTreeMap<u64, Known>,
    robots: BTreeMap<String, (Vec<u8>, u64)>,
    pauses: BTreeMap<String, u64>,
    records: Vec<String>,
    /// Lines of JSON, and rows of values.
    beside: [String; 2],
    log: usize,
    /// Totals of the runs before, and of this one.
    before: Totals,
    totals: Totals,
    run: u64,
    pass: u64,
    finished: bool,
}

impl Expected {
    fn apply(&mut self, change: &Change, now: u64) {
        match change {
            Change::Queued(queued) => self.request(queued, None),
            Change::Refused(queued, reason) => {
                self.request(queued, Some(End::Skipped(*reason)));
                self.log += usize::from(*reason != SkipReason::Depth);
            }
            Change::Named { fingerprint } => {
                self.urls
                    .get_mut(fingerprint)
                    .expect("it is known")
                    .only_led_to = false;
            }
            Change::Retried {
                fingerprint,
                attempt,
                not_before,
            } => {
                let known = self.urls.get_mut(fingerprint).expect("it waits");
                known.attempt = *attempt;
                known.end = None;
                known.rejudge = false;
                known.not_before = Some(not_before.duration_since(instant(0)).as_secs());
            }
            Change::Ended(ended) => {
                self.log += 1;
                for record in &ended.records {
                    self.records
                        .push(String::from_utf8(record.to_vec()).expect("UTF-8"));
                }
                for beside in &ended.beside {
                    let mut line = Vec::new();
                    if beside.output == 0 {
                        line.extend_from_slice(&beside.line);
                        line.push(b'\n');
                    } else {
                        columns().push_row(&mut line, &beside.line);
                    }
                    let mut line = String::from_utf8(line).expect("UTF-8");
                    if beside.output == 0 {
                        // In JSON Lines nothing else ends a line.
                        line = line
                            .replace('\u{85}', "\\u0085")
                            .replace('\u{2028}', "\\u2028");
                    }
                    self.beside[beside.output].push_str(&line);
                }
                let known = self.urls.entry(ended.fingerprint).or_insert_with(|| Known {
                    queued: None,
                    url: canter::Url::parse(&ended.url).expect("a URL"),
                    depth: ended.depth,
                    end: None,
                    attempt: 1,
                    not_before: None,
                    rejudge: false,
                    ended_at: 0,
                    memory: None,
                    only_led_to: false,
                    ended_in: 0,
                    left: false,
                });
                known.ended_in = self.pass;
                known.end = Some(ended.end);
                known.rejudge = false;
                known.not_before = None;
                known.ended_at = now;
                if let Some(page) = &ended.page {
                    known.memory = Some(((**page).clone(), now));
                }
            }
            Change::Robots { origin, body, at } => {
                let at = at.duration_since(instant(0)).as_secs();
                self.robots.insert(origin.to_string(), (body.to_vec(), at));
            }
            Change::Paused { host, until } => {
                let until = until.duration_since(instant(0)).as_secs();
                self.pauses.insert(host.to_string(), until);
            }
        }
    }

    fn request(&mut self, queued: &Queued, end: Option<End>) {
        let old = self.urls.remove(&queued.fingerprint);
        let only_led_to = !queued.request.hops().is_empty()
            && old
                .as_ref()
                .is_none_or(|old| old.only_led_to || old.queued.is_none());
        self.urls.insert(
            queued.fingerprint,
            Known {
                queued: Some(queued.clone()),
                url: queued.request.url().clone(),
                depth: queued.request.depth(),
                end,
                attempt: queued.request.attempt(),
                not_before: None,
                rejudge: false,
                ended_at: old.as_ref().map_or(0, |old| old.ended_at),
                only_led_to,
                ended_in: end.map_or(0, |_| self.pass),
                left: false,
                memory: old.and_then(|old| old.memory),
            },
        );
    }

    /// A new run begins.
    fn begin_run(&mut self, now: u64, revisit: u64) {
        self.run += 1;
        self.before = self.totals;
        for known in self.urls.values_mut() {
            let is_left = known.left || self.finished && known.only_led_to;
            if matches!(known.end, Some(End::Failed(_))) && !is_left {
                (known.end, known.attempt) = (None, 1);
            }
        }
        if !self.finished {
            return;
        }
        self.finished = false;
        self.pass += 1;
        for known in self.urls.values_mut() {
            let due = match known.end {
                Some(End::Done | End::Unchanged | End::Redirected) => {
                    // A sitemap tells of what is new, however young it is.
                    let queued = known.queued.as_ref();
                    let is_sitemap = queued.is_some_and(|q| q.purpose == Purpose::Sitemap);
                    is_sitemap || known.ended_at + revisit <= now
                }
                Some(End::Skipped(SkipReason::Robots | SkipReason::Aborted)) => true,
                Some(End::Failed(_)) => known.only_led_to,
                _ => false,
            };
            if due && known.only_led_to {
                known.left = true;
            } else if due {
                known.rejudge = matches!(known.end, Some(End::Skipped(_)));
                (known.end, known.attempt) = (None, 1);
            }
        }
    }

    fn check(&self, restored: &Restored, now: u64) {
        assert_eq!(restored.run, self.run);
        assert_eq!(restored.pass, self.pass);
        assert_eq!(restored.totals, self.totals);
        let all: BTreeMap<u64, Option<End>> = self
            .urls
            .iter()
            .map(|(key, known)| (*key, known.end))
            .collect();
        let mut ends = all.clone();
        ends.retain(|key, _| !self.urls[key].left);
        let known: BTreeMap<u64, Option<End>> = restored.known().collect();
        for (key, end) in &ends {
            assert_eq!(known.get(key), Some(end), "{}", self.urls[key].url);
        }
        assert_eq!(known.len(), ends.len());
        assert_eq!(restored.counts.total(), ends.len() as u64);

        let waits: BTreeSet<u64> = ends
            .iter()
            .filter(|(_, end)| end.is_none())
            .map(|(key, _)| *key)
            .collect();
        let mut given = BTreeSet::new();
        let pages = restored.pages();
        restored
            .each_pending(|pending| {
                let key = pending.queued.fingerprint;
                let known = &self.urls[&key];
                assert!(given.insert(key), "{} was handed over twice", known.url);
                let request = pending.queued.request;
                if let Some(queued) = &known.queued {
                    let expected = queued.request.clone().with_attempt(known.attempt);
                    assert_eq!(format!("{request:?}"), format!("{expected:?}"));
                    assert_eq!(pending.queued.seed, queued.seed);
                    assert_eq!(pending.queued.purpose, queued.purpose);
                } else {
                    assert_eq!(request.url(), &known.url);
                    assert_eq!(request.depth(), known.depth);
                }
                let later = known.not_before.filter(|at| *at > now).map(instant);
                assert_eq!(pending.not_before, later);
                assert_eq!(pending.rejudge, known.rejudge);
                let page = pages.get(key).map(|page| (page.memory, page.fetched));
                let memory = known
                    .memory
                    .clone()
                    .map(|(memory, when)| (memory, at(when).wall));
                assert_eq!(page, memory);
            })
            .expect("the state can be read again");
        assert_eq!(given, waits);

        let mut urls = BTreeMap::new();
        restored
            .each_url(|key, url, end| {
                assert_eq!(url, self.urls[&key].url.as_str());
                urls.insert(key, end);
            })
            .expect("the state can be read again");
        assert_eq!(urls, all);

        let not_due = |known: &Known| {
            matches!(known.end, Some(End::Done | End::Unchanged))
                && known.ended_in != self.pass
                && !known.left
        };
        for (key, known) in &self.urls {
            let memory = known.memory.as_ref().map(|(memory, _)| memory.clone());
            let kept = pages.not_due(*key).map(|page| page.memory);
            assert_eq!(kept, memory.clone().filter(|_| not_due(known)));
            if known.left {
                assert_eq!(pages.get(*key).map(|page| page.memory), memory);
            }
        }
        let led_to: BTreeSet<u64> = restored.only_led_to().collect();
        let expected = self.urls.iter().filter(|(_, known)| known.only_led_to);
        assert_eq!(led_to, expected.map(|(key, _)| *key).collect());

        let robots: BTreeMap<_, _> = restored
            .robots
            .iter()
            .map(|known| {
                (
                    known.origin.clone(),
                    (known.body.clone(), now - known.age.as_secs()),
                )
            })
            .collect();
        let fresh: BTreeMap<_, _> = self
            .robots
            .iter()
            .filter(|(_, (_, read))| now - read < 24 * 3600)
            .map(|(origin, known)| (origin.clone(), known.clone()))
            .collect();
        assert_eq!(robots, fresh);
        let pauses: BTreeMap<_, _> = restored
            .pauses
            .iter()
            .map(|pause| (pause.host.clone(), pause.until))
            .collect();
        let left: BTreeMap<_, _> = self
            .pauses
            .iter()
            .filter(|(_, until)| **until > now)
            .map(|(host, until)| (host.clone(), instant(*until)))
            .collect();
        assert_eq!(pauses, left);
    }

    fn check_files(&self, folder: &Folder) {
        let records: Vec<serde_json::Value> = self
            .records
            .iter()
            .map(|record| serde_json::from_str(record).expect("JSON"))
            .collect();
        assert_eq!(lines(&folder.join("pages.jsonl")), records);
        assert_eq!(lines(&folder.join("log.jsonl")).len(), self.log);
        let read = |name: &str| fs::read_to_string(folder.join(name)).expect("UTF-8");
        assert_eq!(read(BESIDE[0]), self.beside[0]);
        let header = String::from_utf8(columns().header()).expect("UTF-8");
        let rows = read(BESIDE[1]);
        // A run that ends well writes the header also when there are no rows.
        if !(rows.is_empty() && self.beside[1].is_empty()) {
            assert_eq!(rows, header + &self.beside[1]);
        }
    }
}

/// The outputs beside the records.
const BESIDE: [&str; 2] = ["items.jsonl", "items.csv"];

/// The columns of the second one.
fn columns() -> CsvColumns {
    CsvColumns::new(["id", "title"])
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |there| there.len())
}

fn cut(path: &Path, length: u64) {
    OpenOptions::new()
        .write(true)
        .open(path)
        .and_then(|file| file.set_len(length))
        .expect("the file can be cut");
}

/// Leaves the files as a crash during the last commit may have: the outputs
/// are synced before the state is written. Gives whether the commit holds.
fn crash(paths: &[PathBuf; 5], before: [u64; 5], random: &mut fastrand::Rng) -> bool {
    let after = paths.each_ref().map(|path| length(path));
    if random.bool() {
        // While the outputs were written.
        for at in 1..paths.len() {
            cut(&paths[at], random.u64(before[at]..=after[at]));
        }
        cut(&paths[0], before[0]);
        return false;
    }
    let state = random.u64(before[0]..=after[0]);
    cut(&paths[0], state);
    if state > before[0] && random.bool() {
        // A power cut: the length is there, some of the bytes are not.
        let from = random.u64(before[0]..state);
        let mut file = OpenOptions::new()
            .write(true)
            .open(&paths[0])
            .expect("the state");
        file.seek(SeekFrom::Start(from)).expect("a place");
        file.write_all(&vec![0; (state - from) as usize])
            .expect("written");
        return false;
    }
    state == after[0]
}

const REVISIT: u64 = 1500;

/// Gives how many URLs were left to redirects when runs began.
fn crawl_with_crashes(name: &str, seed: u64, runs: u32, bulk: usize) -> usize {
    let folder = Folder::new(name);
    let paths = [
        folder.journal(),
        folder.join("pages.jsonl"),
        folder.join("log.jsonl"),
        folder.join(BESIDE[0]),
        folder.join(BESIDE[1]),
    ];
    let mut crawl = Crawl {
        random: fastrand::Rng::with_seed(seed),
        next: 0,
        bulk,
    };
    let mut now = 0;
    let mut durable = Expected {
        pass: 1,
        ..Expected::default()
    };
    let (mut compactions, mut left) = (0, 0);
    for run in 0..runs {
        now += crawl.random.u64(1..2000);
        if crawl.random.u32(..20) == 0 {
            now += 24 * 3600;
        }
        let (mut ledger, mut restored) = opened(&folder, now);
        restored.remember_all();
        let mut current = durable.clone();
        current.begin_run(now, REVISIT);
        current.check(&restored, now);
        current.check_files(&folder);
        left += current.urls.values().filter(|known| known.left).count();
        drop(restored);
        if run == 0 {
            // The file that is made says so; later runs say it with their
            // first commit.
            durable = current.clone();
        }
        let commits = crawl.random.u32(1..6);
        for commit in 1..=commits {
            now += crawl.random.u64(..30);
            let mut changes = Vec::new();
            for _ in 0..crawl.random.u32(..40) {
                let change = crawl.change(&current, now);
                current.apply(&change, now);
                changes.push(change);
            }
            let of_this_run = totals(u64::from(commit) * 7);
            let before = paths.each_ref().map(|path| length(path));
            let complete = commit == commits && crawl.random.u32(..4) == 0;
            if complete || commit == commits && crawl.random.bool() {
                ledger.finish(&changes, complete, at(now), of_this_run)
            } else {
                ledger.commit(&changes, at(now), of_this_run)
            }
            .expect("a commit");
            let grown = length(&paths[0]) > before[0];
            let compacted = length(&paths[0]) < before[0];
            compactions += u32::from(compacted);
            if grown || compacted {
                current.finished = complete;
                current.totals = current.before + of_this_run;
            }
            let killed = commit == commits && crawl.random.bool();
            if killed {
                drop(ledger);
                if !grown || crash(&paths, before, &mut crawl.random) {
                    durable = current;
                }
                break;
            }
            durable = current.clone();
        }
    }
    assert!(
        bulk < BULK || compactions > 0,
        "the state was never compacted"
    );
    assert!(durable.urls.len() > 100 && durable.records.len() > 100);
    assert!(durable.beside.iter().all(|lines| lines.len() > 1000));
    left
}

fn opened(folder: &Folder, now: u64) -> (Ledger, Restored) {
    let mut options = options(folder, at(now));
    options.state = options
        .state
        .map(|state| state.with_revisit(Duration::from_secs(REVISIT)));
    options.beside = vec![
        OutputSpec::new(folder.join(BESIDE[0])),
        OutputSpec::new(folder.join(BESIDE[1])).with_csv(columns()),
    ];
    Ledger::open(options).expect("the ledger opens")
}

#[test]
fn a_crawl_that_crashes_at_random_moments_loses_nothing_and_writes_nothing_twice() {
    let mut left = 0;
    for seed in 0..5 * torture() {
        left += crawl_with_crashes("crashes", seed, 30, 10);
    }
    assert!(left > 20, "{left} were left to redirects");
}

/// Bytes of robots.txt that soon make most of a state history.
const BULK: usize = 400_000;

#[test]
fn a_crawl_that_is_compacted_again_and_again_stays_what_it_is() {
    let mut left = 0;
    for seed in 100..100 + torture() {
        left += crawl_with_crashes("crashes-compacted", seed, 60, BULK);
    }
    assert!(left > 20, "{left} were left to redirects");
}
