//! A chronicle as a whole: bounded, its sums right, written whole.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use url::Url;

use super::recorder::{Attempt, Recorder};
use super::*;
use crate::admission::SkipReason;
use crate::crawler::finish::{Ending, Standing};
use crate::crawler::{Crawler, RunEnd, Stats};
use crate::extract::{Html, Queue};
use crate::fetch::MockSite;
use crate::ledger::{Anchor, End};
use crate::policy::{Policy, RetryPolicy};

/// More than any report should take, in bytes.
const MOST_BYTES: usize = 1 << 20;

/// Made-up attempts of a crawl on many hosts, with long URLs, pauses and every
/// kind of failure, over about a year.
fn invent(recorder: &Recorder, begin: Instant, count: u64) {
    let mut rng = fastrand::Rng::with_seed(11);
    let urls: Vec<Url> = (0..5_000)
        .map(|n| {
            let tail = "x".repeat(n % 700);
            Url::parse(&format!("http://host{}.test/{n}?{tail}", n % 3_000)).expect("a URL")
        })
        .collect();
    let mut at = 0;
    let mut stats = Stats::default();
    for n in 0..count {
        at += rng.u64(0..60_000);
        let url = &urls[rng.usize(0..urls.len())];
        let start = begin + Duration::from_millis(at);
        recorder.started(url, start);
        let took = Duration::from_millis(rng.u64(0..40_000));
        let error = rng
            .bool()
            .then(|| ErrorKind::ALL[rng.usize(0..ErrorKind::ALL.len())]);
        let ending = match error {
            Some(kind) if rng.bool() => Ending::Ended(End::Failed(kind)),
            Some(_) => Ending::Retrying { delay: took },
            None => Ending::Ended(End::Done),
        };
        let pause = rng.u8(..) < 40;
        recorder.ended(&Attempt {
            url,
            ended: start + took,
            took,
            status: Some(rng.u16(..)),
            bytes: 1_000,
            error,
            asked: pause,
            message: "what went wrong, at length: \u{e9}\u{e9}\u{e9}",
            ending: &ending,
            standing: Standing {
                gap: Duration::from_millis(rng.u64(0..60_000)),
                paused_until: pause.then(|| start + took * 3),
                ..Standing::default()
            },
        });
        if n % 16 == 0 {
            stats.requests = n + 1;
            stats.in_flight = 1;
            stats.cap = 4;
            stats
                .skipped_by_reason
                .entry(SkipReason::ALL[rng.usize(0..SkipReason::ALL.len())])
                .and_modify(|count| *count += 3)
                .or_insert(1);
            recorder.sample(start + took, &stats);
        }
    }
    stats.end = Some(RunEnd::Complete);
    recorder.finish(begin + Duration::from_millis(at), &stats);
}

fn sums_of(record: &Record) -> Part {
    let mut sums = Part::default();
    for (_, part) in record.timeline.parts() {
        sums.merge(part);
    }
    // The last look is that of the last part that had one.
    sums.queued = record.totals.queued;
    sums
}

fn recorder(before: Option<Chronicle>, now: Anchor) -> Recorder {
    let run = RunNote::new(&Policy::default(), 1, 1);
    Recorder::begin(before, run, now)
}

#[test]
fn a_million_attempts_take_a_bounded_space() {
    const ATTEMPTS: u64 = 1_000_000;
    let now = Anchor::now();
    let first = recorder(None, now);
    invent(&first, now.instant, ATTEMPTS);
    let chronicle = first.chronicle();
    assert_eq!(sums_of(chronicle.run()), chronicle.run().totals);
    let bytes = serde_json::to_vec(&chronicle).expect("JSON").len();
    assert!(bytes < MOST_BYTES, "{bytes} bytes");

    // And so do many runs.
    let mut before = chronicle;
    for _ in 0..200 {
        let next = recorder(Some(before), now);
        invent(&next, now.instant, 500);
        before = next.chronicle();
    }
    let bytes = serde_json::to_vec(&before).expect("JSON").len();
    assert!(bytes < MOST_BYTES, "{bytes} bytes");
    assert_eq!(before.runs().len() as u64 + before.older_runs(), 201);
    let crawl = before.crawl();
    assert_eq!(crawl.totals.starts, ATTEMPTS + 200 * 500);
    assert_eq!(sums_of(&crawl), crawl.totals);
    let hosts: u64 = crawl.hosts.iter().map(|(_, host)| host.starts).sum();
    assert_eq!(hosts + crawl.hosts.rest().starts, crawl.totals.starts);

    let text = serde_json::to_vec(&before).expect("JSON");
    let back: Chronicle = serde_json::from_slice(&text).expect("JSON");
    assert_eq!(back.bounded(), before);
}

#[test]
fn the_sums_of_a_crawl_are_those_of_its_statistics() {
    let mut site = MockSite::new();
    let mut links = String::new();
    for n in 0..200 {
        let url = format!("http://a.test/{n}");
        let _ = write!(links, "<a href=/{n}>x</a><a href=http://b.test/{n}>y</a>");
        site = match n % 5 {
            0 => site.page(&url, |page| page.status(404)),
            1 => site.page(&url, |page| page.status(500)),
            2 => site.page(&url, |page| page.redirect(301, "/ok")),
            _ => site.page(&url, |page| page.html("<a href=/0/1/2/3>deep</a>")),
        };
    }
    let site = site
        .page("http://a.test/ok", |page| page.html("<title>ok</title>"))
        .page("http://a.test/", |page| page.html(links));
    let policy = Policy::builder()
        .concurrency(4)
        .retry(RetryPolicy {
            delay: Duration::from_millis(1),
            ..RetryPolicy::new(2)
        })
        .max_consecutive_failures(0)
        .max_error_rate(1.0)
        .max_host_failures(0)
        .build()
        .expect("a policy");
    let crawler = Crawler::builder()
        .seed("http://a.test/")
        .fetcher(site)
        .policy(policy)
        .max_depth(1)
        .chronicle(true)
        .handler(|page: Html, queue: Queue| {
            queue.follow_all(page.links());
        })
        .build()
        .expect("a crawler");
    let stats = crawler.run().expect("a run");
    let chronicle = crawler.chronicle().expect("a chronicle");
    let run = chronicle.run();
    let totals = &run.totals;
    assert_eq!(totals.starts, stats.requests);
    assert_eq!(totals.answers.sum(), stats.requests);
    assert_eq!(totals.bytes, stats.bytes);
    assert_eq!(totals.retried, stats.retried);
    assert_eq!(totals.ends.get(EndWord::Done), stats.succeeded);
    assert_eq!(totals.ends.get(EndWord::Redirected), stats.redirected);
    assert_eq!(totals.ends.get(EndWord::Failed), stats.failed);
    for (kind, count) in &stats.failed_by_kind {
        assert_eq!(totals.failed.get(*kind), *count, "{kind}");
    }
    for (reason, count) in &stats.skipped_by_reason {
        assert_eq!(totals.skipped.get(*reason), *count, "{reason}");
    }
    assert_eq!(totals.skipped.sum(), stats.skipped);
    assert!(stats.retried > 0 && stats.skipped > 0 && stats.redirected > 0);
    assert_eq!(sums_of(run), *totals);
    assert_eq!(run.busiest_minute, stats.requests, "it took no minute");
    let note = chronicle.runs().last().expect("a run");
    assert_eq!(note.end.as_deref(), Some("complete"));
    assert_eq!(
        (note.requests, note.done),
        (stats.requests, stats.succeeded)
    );
}

#[test]
fn a_file_that_is_not_ours_is_named_and_none_is_no_error() {
    let dir = std::env::temp_dir().join(format!("canter-chronicle-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder");
    assert_eq!(Chronicle::read(&dir).expect("no file is fine"), None);
    let now = Anchor::now();
    let recorder = recorder(None, now);
    invent(&recorder, now.instant, 100);
    let chronicle = recorder.chronicle();
    chronicle.write(&dir).expect("it is written");
    assert_eq!(Chronicle::read(&dir).expect("it reads"), Some(chronicle));
    for (bytes, why) in [
        (&b"{\"version\":2}"[..], "of version 2"),
        (b"", "EOF"),
        (b"{\"version\":1,\"runs\":[", "EOF"),
    ] {
        std::fs::write(Chronicle::file(&dir), bytes).expect("it is written");
        let error = Chronicle::read(&dir).expect_err("not ours").to_string();
        assert!(error.contains(why) && error.contains(FILE), "{error}");
    }
    std::fs::remove_dir_all(&dir).expect("the folder goes");
}
