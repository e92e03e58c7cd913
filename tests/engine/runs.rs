//! A crawl may be run again after each of its ends, and goes on where it was.

use canter::crawler::{Bound, RunEnd};
use canter::{ErrorKind, SkipReason};

use crate::drive::{Answer, Driver, Handled, Link, Site};
use crate::{exact_retries, secs, unpaced};

fn pages(n: usize) -> Vec<String> {
    (0..n).map(|n| format!("http://a.test/{n}")).collect()
}

#[test]
fn run_after_run_goes_on_after_each_bound() {
    let site = Site::new().pages("http://a.test/", 0..25);
    let policy = unpaced().max_requests(10).build().unwrap();
    let mut crawl = Driver::new(policy, site).seeds(pages(25));
    for (succeeded, pending, end) in [
        (10, 15, RunEnd::Bound(Bound::Requests)),
        (10, 5, RunEnd::Bound(Bound::Requests)),
        (5, 0, RunEnd::Complete),
        (0, 0, RunEnd::Complete),
    ] {
        let stats = crawl.run();
        assert_eq!((stats.succeeded, stats.pending()), (succeeded, pending));
        assert_eq!(stats.end, Some(end));
    }
    assert_eq!(crawl.watch.starts.len(), 25);
}

#[test]
fn the_deadline_and_the_warm_up_count_from_the_beginning_of_each_run() {
    let site = Site::new()
        .pages("http://a.test/", 0..20)
        .latency(secs(1.0));
    let policy = unpaced()
        .concurrency(2)
        .warmup(secs(2.0))
        .deadline(secs(3.0))
        .build()
        .unwrap();
    let mut crawl = Driver::new(policy, site).seeds(pages(20));
    crawl.run();
    crawl.pass(secs(97.0));
    crawl.run();
    let first = [0.0, 1.0, 2.0, 2.0];
    let expected: Vec<f64> = first
        .into_iter()
        .chain(first.map(|at| at + 100.0))
        .collect();
    assert_eq!(crawl.watch.seconds(), expected);
}

#[test]
fn the_rate_the_gap_and_the_pause_hold_from_one_run_to_the_next() {
    let site = Site::new()
        .pages("http://a.test/", 0..4)
        .on("http://b.test/", Answer::status(503).retry_after(30));
    let policy = unpaced()
        .max_requests_per_minute(30)
        .host_delay(secs(5.0))
        .max_requests(2)
        .build()
        .unwrap();
    let mut crawl = Driver::new(policy, site)
        .seed("http://b.test/")
        .seeds(pages(4));
    crawl.run();
    crawl.run();
    crawl.run();
    assert_eq!(crawl.watch.seconds_of("b.test"), [0.0, 32.0 - 2.0]);
    assert_eq!(crawl.watch.seconds_of("a.test"), [2.0, 7.0, 12.0, 17.0]);
}

#[test]
fn retries_are_counted_within_a_run() {
    let site = Site::new().on("http://a.test/0", Answer::broken(ErrorKind::Connect));
    let policy = unpaced()
        .retry(exact_retries(2))
        .max_requests(2)
        .build()
        .unwrap();
    let mut crawl = Driver::new(policy, site).seeds(pages(1));
    let stats = crawl.run();
    assert_eq!((stats.pending(), stats.failed), (1, 0));
    let stats = crawl.run();
    assert_eq!(
        (stats.pending(), stats.failed),
        (1, 0),
        "a new run has retries of its own"
    );
    let attempts: Vec<u32> = crawl
        .watch
        .starts
        .iter()
        .map(|start| start.attempt)
        .collect();
    assert_eq!(attempts, [1, 2, 1, 2]);
}

#[test]
fn a_tag_that_was_given_up_has_another_chance_in_the_next_run() {
    let site = Site::new()
        .on(
            "http://a.test/0",
            Answer::handled(Handled::Abort(Some("t".into()))),
        )
        .on("http://a.test/1", Answer::ok())
        .on(
            "http://a.test/2",
            Answer::ok().links([Link::tagged("/3", "t")]),
        )
        .on("http://a.test/3", Answer::ok());
    let policy = unpaced().concurrency(1).build().unwrap();
    let mut crawl = Driver::new(policy, site).seeds(pages(1));
    crawl.run();
    crawl.push_seed(canter::Request::get("http://a.test/2").unwrap());
    let stats = crawl.run();
    assert_eq!((stats.succeeded, stats.skipped), (2, 0));
}

#[test]
fn a_stop_is_over_with_its_run() {
    let site = Site::new()
        .then("http://a.test/0", [Answer::handled(Handled::Stop)])
        .on("http://a.test/1", Answer::handled(Handled::Fatal))
        .pages("http://a.test/", 2..4);
    let site = site.then("http://a.test/1", [Answer::ok()]);
    let policy = unpaced().concurrency(1).build().unwrap();
    let mut crawl = Driver::new(policy, site).seeds(pages(4));
    let ends: Vec<_> = (0..3).map(|_| crawl.run().end).collect();
    assert_eq!(
        ends,
        [
            Some(RunEnd::Stopped),
            Some(RunEnd::Error),
            Some(RunEnd::Complete)
        ]
    );
    assert!(crawl.engine.take_fatal().is_none());
}

#[test]
fn a_refused_run_begins_to_count_anew() {
    let site = (0..20).fold(Site::new(), |site, n| {
        site.on(&format!("http://a.test/{n}"), Answer::status(403))
    });
    let policy = unpaced()
        .concurrency(1)
        .max_consecutive_failures(5)
        .build()
        .unwrap();
    let mut crawl = Driver::new(policy, site).seeds(pages(20));
    for run in 0..4 {
        let stats = crawl.run();
        assert_eq!(stats.failed, 5, "run {run}");
    }
}

#[test]
fn urls_beyond_the_depth_are_no_longer_counted_in_the_next_run() {
    let site = Site::new()
        .on("http://a.test/0", Answer::page(&["/1", "/2"]))
        .on("http://a.test/9", Answer::ok());
    let mut crawl = Driver::new(unpaced().build().unwrap(), site)
        .max_depth(0)
        .seeds(pages(1));
    let stats = crawl.run();
    assert_eq!(stats.skipped_by_reason[&SkipReason::Depth], 2);
    crawl.push_seed(canter::Request::get("http://a.test/9").unwrap());
    let stats = crawl.run();
    assert_eq!(
        (stats.succeeded, stats.skipped, stats.discovered),
        (1, 0, 1)
    );
}
