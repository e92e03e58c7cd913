//! Stops from outside: nothing new starts, requests in flight get the grace
//! period, and what is given up stays pending.

use canter::ErrorKind;
use canter::crawler::RunEnd;

use crate::drive::{Answer, Driver, Site};
use crate::{secs, unpaced};

fn pages(n: usize) -> Vec<String> {
    (0..n).map(|n| format!("http://a.test/{n}")).collect()
}

#[test]
fn a_stop_lets_requests_in_flight_finish_within_the_grace_period() {
    let site = Site::new()
        .pages("http://a.test/", 0..10)
        .latency(secs(3.0));
    let policy = unpaced()
        .concurrency(2)
        .shutdown_grace(secs(10.0))
        .build()
        .unwrap();
    let mut crawl = Driver::new(policy, site)
        .seeds(pages(10))
        .stop_at(secs(4.0));
    let stats = crawl.run();
    assert_eq!(
        (stats.requests, stats.succeeded, stats.pending()),
        (4, 4, 6)
    );
    assert_eq!(
        (stats.end, crawl.elapsed()),
        (Some(RunEnd::Stopped), secs(6.0))
    );
}

#[test]
fn a_stop_that_leaves_nothing_pending_ends_a_complete_crawl() {
    let site = Site::new().pages("http://a.test/", 0..2).latency(secs(3.0));
    let policy = unpaced().concurrency(2).build().unwrap();
    let mut crawl = Driver::new(policy, site).seeds(pages(2)).stop_at(secs(1.0));
    let stats = crawl.run();
    assert_eq!((stats.succeeded, stats.pending()), (2, 0));
    assert_eq!(stats.end, Some(RunEnd::Complete));
}

#[test]
fn what_outlasts_the_grace_period_is_given_up_and_its_attempt_not_counted() {
    let site = Site::new()
        .then(
            "http://a.test/0",
            [Answer::ok().takes(secs(9999.0)), Answer::ok()],
        )
        .pages("http://a.test/", 1..3);
    let policy = unpaced()
        .concurrency(1)
        .shutdown_grace(secs(10.0))
        .build()
        .unwrap();
    let mut crawl = Driver::new(policy, site).seeds(pages(3)).stop_at(secs(4.0));
    let stats = crawl.run();
    assert_eq!(
        (stats.cancelled, stats.pending(), stats.in_flight),
        (1, 3, 0)
    );
    assert_eq!(crawl.elapsed(), secs(14.0));
    let stats = crawl.run();
    assert_eq!((stats.succeeded, stats.pending()), (3, 0));
    let attempts: Vec<u32> = crawl
        .watch
        .starts
        .iter()
        .filter(|s| s.url.ends_with("/0"))
        .map(|s| s.attempt)
        .collect();
    assert_eq!(attempts, [1, 1]);
}

#[test]
fn a_stop_while_every_host_is_paused_ends_at_once() {
    let site = Site::new().on("http://a.test/0", Answer::status(503).retry_after(600));
    let policy = unpaced().concurrency(1).build().unwrap();
    let mut crawl = Driver::new(policy, site).seeds(pages(2)).stop_at(secs(4.0));
    let stats = crawl.run();
    assert_eq!((crawl.elapsed(), stats.pending()), (secs(4.0), 2));
    assert_eq!(stats.end, Some(RunEnd::Stopped));
}

#[test]
fn a_stop_while_a_robots_txt_hangs_gives_it_up_and_the_next_run_asks_again() {
    let site = Site::new()
        .then(
            "http://a.test/robots.txt",
            [
                Answer::robots("").takes(secs(9999.0)),
                Answer::robots("User-agent: *\nDisallow: /1"),
            ],
        )
        .pages("http://a.test/", 0..2);
    let policy = unpaced().shutdown_grace(secs(10.0)).build().unwrap();
    let mut crawl = Driver::obeying(policy, site)
        .seeds(pages(2))
        .stop_at(secs(1.0));
    let stats = crawl.run();
    assert_eq!(
        (stats.requests, stats.pending(), crawl.elapsed()),
        (1, 2, secs(11.0))
    );
    let stats = crawl.run();
    assert_eq!((stats.succeeded, stats.skipped), (1, 1));
}

#[test]
fn a_failure_after_the_stop_stays_pending_if_it_is_to_be_retried() {
    let site = Site::new()
        .then(
            "http://a.test/0",
            [Answer::status(500).takes(secs(5.0)), Answer::ok()],
        )
        .on("http://a.test/1", Answer::status(404).takes(secs(5.0)));
    let mut crawl = Driver::new(unpaced().build().unwrap(), site)
        .seeds(pages(2))
        .stop_at(secs(1.0));
    let stats = crawl.run();
    assert_eq!(
        (stats.failed, stats.pending(), crawl.elapsed()),
        (1, 1, secs(5.0))
    );
}

#[test]
fn a_fetch_that_was_cancelled_by_the_stop_stays_pending() {
    let site = Site::new().then(
        "http://a.test/0",
        [
            Answer::broken(ErrorKind::Cancelled).takes(secs(2.0)),
            Answer::ok(),
        ],
    );
    let mut crawl = Driver::new(unpaced().build().unwrap(), site)
        .seeds(pages(1))
        .stop_at(secs(1.0));
    let stats = crawl.run();
    assert_eq!((stats.cancelled, stats.pending(), stats.failed), (1, 1, 0));
}

#[test]
fn a_fetch_that_says_it_was_cancelled_without_a_stop_does_not_go_on_for_ever() {
    for robots in [false, true] {
        let url = if robots {
            "http://a.test/robots.txt"
        } else {
            "http://a.test/0"
        };
        let site = Site::new().on(url, Answer::broken(ErrorKind::Cancelled).takes(secs(1.0)));
        let policy = unpaced().build().unwrap();
        let mut crawl = if robots {
            Driver::obeying(policy, site)
        } else {
            Driver::new(policy, site)
        }
        .seeds(pages(1));
        let stats = crawl.run();
        assert!(stats.requests <= 4, "{stats:?}");
    }
}
