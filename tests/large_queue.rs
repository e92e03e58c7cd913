//! A queue too long for memory: a part of it is put away beside the state and
//! read back when its turn comes. No URL is lost by that, and none comes twice.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use canter::extract::Emit;
use canter::fetch::{Fetch, Response};
use canter::ledger::OutputSpec;
use canter::{Crawler, MemoryFrontier, Policy, Request, Result, RunEnd, Url};
use common::TempDir;

/// Long enough that some of it is put away.
const URLS: usize = 40_000;

/// Answers at once.
struct Instantly;

impl Fetch for Instantly {
    fn fetch(&self, request: &Request, _deadline: Instant) -> Result<Response> {
        Ok(Response::new(request.url().clone(), 200))
    }
}

fn url(number: usize) -> String {
    format!("http://shop.test/section/{number:07}/a-page-with-a-long-name.html")
}

/// Whether this process has a file of that path open, whatever its folder says.
fn has_open(path: &Path) -> bool {
    let path = path.to_string_lossy();
    fs::read_dir("/proc/self/fd").is_ok_and(|entries| {
        entries
            .flatten()
            .filter_map(|entry| fs::read_link(entry.path()).ok())
            .any(|target| target.to_string_lossy().starts_with(&*path))
    })
}

fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).expect("records");
    text.lines().map(str::to_owned).collect()
}

/// Crawls with a bound, then to the end; gives the records in their order.
fn crawl_in_two_runs(frontier: MemoryFrontier) -> Vec<String> {
    let dir = TempDir::new();
    let run = |max_requests: Option<u64>| {
        let mut policy = Policy::builder().concurrency(6).host_concurrency(6);
        if let Some(max) = max_requests {
            policy = policy.max_requests(max);
        }
        let part = dir.join("state").join("queue.tmp");
        let file = part.clone();
        let away = &*Box::leak(Box::new(AtomicBool::new(false)));
        let stats = Crawler::builder()
            .seeds((0..URLS).map(url))
            .policy(policy.build().expect("a policy"))
            .frontier(frontier)
            .obey_robots(false)
            .fetcher(Instantly)
            .handler(move |url: Url, emit: Emit<String>| {
                if url.path().ends_with("000/a-page-with-a-long-name.html") {
                    away.fetch_or(has_open(&file), Ordering::Relaxed);
                }
                emit.push(&url.to_string())
            })
            .state(dir.join("state"))
            .output(OutputSpec::new(dir.join("pages.jsonl")))
            .build()
            .expect("a crawl")
            .run()
            .expect("a run");
        if cfg!(target_os = "linux") {
            assert!(away.load(Ordering::Relaxed), "nothing was put away");
        }
        assert!(!has_open(&part));
        assert!(stats.adds_up(), "{stats:?}");
        let names = fs::read_dir(dir.join("state")).expect("the state");
        let names: Vec<_> = names.flatten().map(|entry| entry.file_name()).collect();
        assert!(!names.iter().any(|name| name == "queue.tmp"), "{names:?}");
        stats
    };
    let first = run(Some(5_000));
    assert_eq!(first.succeeded, 5_000);
    assert_eq!(first.pending(), URLS as u64 - 5_000);
    let second = run(None);
    assert_eq!(second.end, Some(RunEnd::Complete));
    assert_eq!(second.succeeded, URLS as u64 - 5_000);
    let records = lines(&dir.join("pages.jsonl"));
    let different: BTreeSet<&String> = records.iter().collect();
    assert_eq!((records.len(), different.len()), (URLS, URLS));
    records
}

/// How many records stand further than `slack` places from where they should.
fn out_of_order(records: &[String], slack: usize, place: impl Fn(usize) -> usize) -> usize {
    let far = |(at, record): &(usize, &String)| {
        let number: usize = record[26..33].parse().expect("a number");
        place(number).abs_diff(*at) > slack
    };
    records.iter().enumerate().filter(far).count()
}

#[test]
fn a_long_queue_is_crawled_once_and_in_order_over_two_runs() {
    let records = crawl_in_two_runs(MemoryFrontier::fifo());
    // A worker may be late with what it took, and few are at once.
    let late = out_of_order(&records, 200, |number| number);
    assert!(late < URLS / 20, "{late} records are not in their places");
}

#[test]
fn the_last_in_is_the_first_out_of_a_long_queue_as_well() {
    let records = crawl_in_two_runs(MemoryFrontier::lifo());
    let late = out_of_order(&records, 200, |number| URLS - 1 - number);
    assert!(late < URLS / 20, "{late} records are not in their places");
}
