//! The rate of the whole crawl, its burst, the jitter, the warm-up and the
//! adaptive cap.

use canter::RetryPolicy;

use crate::drive::{Answer, Driver, Site};
use crate::{exact_retries, secs, unpaced};

#[test]
fn starts_are_spaced_evenly_over_robots_pages_hops_and_retries() {
    let site = Site::new()
        .on(
            "http://a.test/robots.txt",
            Answer::robots("User-agent: *\nAllow: /"),
        )
        .on(
            "http://a.test/",
            Answer::page(&["/moved", "/busy", "/plain", "http://b.test/"]),
        )
        .on("http://a.test/moved", Answer::redirect(301, "/here"))
        .on("http://a.test/here", Answer::ok())
        .then("http://a.test/busy", [Answer::status(500), Answer::ok()])
        .on("http://a.test/plain", Answer::ok())
        .on("http://b.test/", Answer::ok());
    let policy = unpaced().max_requests_per_minute(60).build().unwrap();
    let mut crawl = Driver::obeying(policy, site).seed("http://a.test/");
    let stats = crawl.run();
    assert_eq!(
        crawl.watch.lines(),
        [
            "0 http://a.test/robots.txt",
            "1 http://a.test/",
            // Hosts take turns, and a hop comes before what was found later.
            "2 http://a.test/moved",
            "3 http://b.test/robots.txt",
            "4 http://a.test/here",
            "5 http://b.test/",
            "6 http://a.test/busy",
            "7 http://a.test/busy",
            "8 http://a.test/plain",
        ]
    );
    assert_eq!((stats.requests, stats.succeeded, stats.retried), (9, 5, 1));
}

#[test]
fn no_minute_holds_more_starts_than_the_rate_and_none_is_wasted() {
    for rate in [7, 60, 601] {
        let site = Site::new().pages("http://a.test/", 0..2000);
        let policy = unpaced().max_requests_per_minute(rate).build().unwrap();
        let mut crawl =
            Driver::new(policy, site).seeds((0..rate * 3).map(|n| format!("http://a.test/{n}")));
        crawl.run();
        let at = crawl.watch.seconds();
        for (first, after) in at.iter().zip(&at[rate as usize..]) {
            assert!(
                after - first >= 60.0,
                "{rate} a minute: {first} and {after}"
            );
            assert!(
                after - first < 60.001,
                "{rate} a minute: {first} and {after}"
            );
        }
    }
}

#[test]
fn a_burst_may_start_at_once_after_idling_and_no_more() {
    let site = Site::new()
        .on(
            "http://a.test/",
            Answer::page(&["/1", "/2", "/3", "/4", "/5"]).takes(secs(100.0)),
        )
        .pages("http://a.test/", 1..=5);
    let policy = unpaced()
        .max_requests_per_minute(60)
        .burst(3)
        .build()
        .unwrap();
    let mut crawl = Driver::new(policy, site).seed("http://a.test/");
    crawl.run();
    assert_eq!(
        crawl.watch.seconds(),
        [0.0, 100.0, 100.0, 100.0, 101.0, 102.0]
    );
}

#[test]
fn a_rate_below_one_a_minute_is_kept() {
    let site = Site::new().pages("http://a.test/", 0..3);
    let mut policy = unpaced().build().unwrap();
    policy.max_requests_per_minute = Some(0.5);
    let mut crawl = Driver::new(policy, site).seeds((0..3).map(|n| format!("http://a.test/{n}")));
    crawl.run();
    assert_eq!(crawl.watch.seconds(), [0.0, 120.0, 240.0]);
}

#[test]
fn the_requests_in_flight_are_never_more_than_the_concurrency() {
    let site = Site::new()
        .pages("http://a.test/", 0..10)
        .latency(secs(1.0));
    let policy = unpaced().concurrency(3).build().unwrap();
    let mut crawl = Driver::new(policy, site).seeds((0..10).map(|n| format!("http://a.test/{n}")));
    crawl.run();
    let expected = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0];
    assert_eq!(crawl.watch.seconds(), expected);
}

#[test]
fn jitter_lets_a_worker_rest_and_the_bound_on_starts_holds_exactly() {
    let site = Site::new().pages("http://a.test/", 0..200);
    let urls = || (0..200).map(|n| format!("http://a.test/{n}"));
    // One worker: each start comes 0 to 2 s after the end before it.
    let policy = unpaced().concurrency(1).jitter(secs(2.0)).build().unwrap();
    let mut crawl = Driver::new(policy, site).seeds(urls());
    crawl.run();
    let at = crawl.watch.seconds();
    let rests: Vec<f64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(
        rests.iter().all(|rest| (0.0..=2.0).contains(rest)),
        "{rests:?}"
    );
    assert!(rests.iter().any(|rest| *rest < 0.5) && rests.iter().any(|rest| *rest > 1.5));
    // Eight workers that rest at most 2 s keep one start a second busy.
    let site = Site::new().pages("http://a.test/", 0..200);
    let policy = unpaced()
        .jitter(secs(2.0))
        .max_requests_per_minute(60)
        .build()
        .unwrap();
    let mut crawl = Driver::new(policy, site).seeds(urls());
    crawl.run();
    let at = crawl.watch.seconds();
    assert!(at.windows(2).all(|pair| pair[1] - pair[0] >= 1.0));
    assert!(at[199] < 202.0, "the rate is used: {}", at[199]);
}

#[test]
fn the_warm_up_lets_one_more_in_flight_at_each_step() {
    let site = Site::new()
        .pages("http://a.test/", 0..30)
        .latency(secs(100.0));
    let policy = unpaced().concurrency(5).warmup(secs(8.0)).build().unwrap();
    let mut crawl = Driver::new(policy, site).seeds((0..6).map(|n| format!("http://a.test/{n}")));
    crawl.run();
    assert_eq!(crawl.watch.seconds(), [0.0, 2.0, 4.0, 6.0, 8.0, 100.0]);
}

#[test]
fn the_warm_up_counts_requests_in_flight_not_starts() {
    let site = Site::new().pages("http://a.test/", 0..8).latency(secs(1.0));
    let policy = unpaced().concurrency(3).warmup(secs(4.0)).build().unwrap();
    let mut crawl = Driver::new(policy, site).seeds((0..8).map(|n| format!("http://a.test/{n}")));
    crawl.run();
    assert_eq!(
        crawl.watch.seconds(),
        [0.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0]
    );
}

#[test]
fn failures_halve_the_adaptive_cap_and_full_rounds_raise_it_again() {
    // 20 failures at a cap of 8, then answers only.
    let site = (0..400).fold(Site::new(), |site, n| {
        let answer = if n < 20 {
            Answer::status(500)
        } else {
            Answer::ok()
        };
        site.on(&format!("http://a.test/{n}"), answer.takes(secs(1.0)))
    });
    let policy = unpaced()
        .adaptive_concurrency(true)
        .retry(RetryPolicy {
            max_retries: 0,
            ..exact_retries(0)
        })
        .build()
        .unwrap();
    let mut crawl = Driver::new(policy, site).seeds((0..400).map(|n| format!("http://a.test/{n}")));
    crawl.run();
    let at = crawl.watch.seconds();
    let in_second = |second: f64| at.iter().filter(|at| **at == second).count();
    // The twentieth end comes at 3 s, among those of the third eight.
    assert_eq!([0.0, 1.0, 2.0].map(in_second), [8, 8, 8]);
    let later: Vec<usize> = (3..9).map(|second| in_second(f64::from(second))).collect();
    assert_eq!(later, [4, 5, 6, 7, 8, 8], "one more after each full round");
}

#[test]
fn every_host_waits_for_the_rate_in_turn() {
    let site = Site::new()
        .pages("http://a.test/", 0..3)
        .pages("http://b.test/", 0..3);
    let urls = ["a", "b"]
        .iter()
        .flat_map(|h| (0..3).map(move |n| format!("http://{h}.test/{n}")));
    let policy = unpaced().max_requests_per_minute(60).build().unwrap();
    let mut crawl = Driver::new(policy, site).seeds(urls);
    crawl.run();
    assert_eq!(
        crawl.watch.lines(),
        [
            "0 http://a.test/0",
            "1 http://b.test/0",
            "2 http://a.test/1",
            "3 http://b.test/1",
            "4 http://a.test/2",
            "5 http://b.test/2"
        ]
    );
}
