//! When a request is tried again, and what a site that throttles does to its
//! host's pace.

use std::time::Duration;

use canter::{ErrorKind, RetryAfterScope, RetryPolicy};

use crate::drive::{Answer, Driver, Site};
use crate::{exact_retries, secs, unpaced};

const PAGE: &str = "http://a.test/page";

fn start_times(retry: RetryPolicy, answers: Vec<Answer>) -> Vec<f64> {
    let policy = unpaced().retry(retry).build().unwrap();
    let mut crawl = Driver::new(policy, Site::new().then(PAGE, answers)).seed(PAGE);
    crawl.run();
    crawl.watch.seconds()
}

#[test]
fn retries_come_after_exactly_half_a_second_one_two_and_so_on_up_to_the_limit() {
    for kind in [ErrorKind::Connect, ErrorKind::Http] {
        let at = start_times(exact_retries(9), vec![Answer::broken(kind)]);
        assert_eq!(
            at,
            [0.0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 61.5, 91.5, 121.5],
            "{kind}"
        );
    }
    assert_eq!(
        start_times(exact_retries(2), vec![Answer::status(500)]),
        [0.0, 0.5, 1.5]
    );
    assert_eq!(
        start_times(exact_retries(2), vec![Answer::status(408)]),
        [0.0, 0.5, 1.5]
    );
    assert_eq!(
        start_times(exact_retries(0), vec![Answer::status(500)]),
        [0.0]
    );
}

#[test]
fn what_no_retry_can_mend_is_asked_once() {
    for answer in [
        Answer::status(404),
        Answer::status(403),
        Answer::status(410),
        Answer::broken(ErrorKind::TooLarge),
        Answer::broken(ErrorKind::Extract),
        Answer::broken(ErrorKind::Worker),
        Answer::broken(ErrorKind::Invalid),
    ] {
        assert_eq!(
            start_times(exact_retries(3), vec![answer.clone()]),
            [0.0],
            "{answer:?}"
        );
    }
}

#[test]
fn retries_are_shortened_by_at_most_the_jitter() {
    let retry = RetryPolicy {
        jitter: 0.2,
        delay: secs(10.0),
        factor: 1.0,
        ..RetryPolicy::new(200)
    };
    let at = start_times(retry, vec![Answer::broken(ErrorKind::Connect)]);
    let delays: Vec<f64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(delays.len(), 200);
    assert!(
        delays
            .iter()
            .all(|delay| *delay > 7.999 && *delay <= 10.0001),
        "{delays:?}"
    );
    assert!(delays.iter().any(|delay| *delay < 8.5) && delays.iter().any(|delay| *delay > 9.5));
}

#[test]
fn forty_retries_do_not_overflow() {
    for factor in [2.0, 1e300] {
        let retry = RetryPolicy {
            factor,
            ..exact_retries(40)
        };
        let at = start_times(retry, vec![Answer::broken(ErrorKind::Connect)]);
        assert_eq!(at.len(), 41);
        assert_eq!(at[40] - at[39], 30.0);
    }
}

#[test]
fn a_delay_of_any_size_that_a_handler_asks_for_is_no_overflow() {
    use crate::drive::Handled;
    for handled in [
        Handled::Retry(Some(Duration::MAX)),
        Handled::Backoff(None, Duration::MAX),
        Handled::Retry(Some(Duration::from_secs(u64::MAX / 4))),
    ] {
        let site = Site::new().then(PAGE, [Answer::handled(handled), Answer::ok()]);
        let policy = unpaced().deadline(secs(3600.0)).build().unwrap();
        let mut crawl = Driver::new(policy, site).seed(PAGE);
        let stats = crawl.run();
        assert_eq!((stats.requests, stats.pending()), (1, 1));
    }
}

/// C01
#[test]
fn retry_after_pauses_the_whole_host_exactly_that_long_and_the_request_is_tried_again() {
    for status in [429, 503] {
        let site = (1..=20).fold(Site::new(), |site, n| {
            site.on(&format!("http://rate.test/{n}"), Answer::ok()).on(
                &format!("http://fine.test/{n}"),
                Answer::ok().takes(secs(1.0)),
            )
        });
        let site = site.then(
            "http://rate.test/p1",
            [
                Answer::status(status).retry_after(7).takes(secs(0.5)),
                Answer::ok(),
            ],
        );
        let hosts = ["rate", "fine"];
        let urls = hosts
            .iter()
            .flat_map(|host| (1..=20).map(move |n| format!("http://{host}.test/{n}")));
        let policy = unpaced().host_concurrency(1).build().unwrap();
        let mut crawl = Driver::new(policy, site)
            .seed("http://rate.test/p1")
            .seeds(urls);
        let stats = crawl.run();
        let rate = crawl.watch.seconds_of("rate.test");
        assert_eq!(rate[..2], [0.0, 7.5], "nothing for 7 s from the answer on");
        assert!(
            rate[2..].iter().all(|at| *at == 7.5),
            "and then no gap is kept: {rate:?}"
        );
        assert_eq!(rate.len(), 22);
        let fine = crawl.watch.seconds_of("fine.test");
        let expected: Vec<f64> = (0..20).map(f64::from).collect();
        assert_eq!(fine, expected, "other hosts go on");
        assert_eq!((stats.succeeded, stats.retried), (41, 1));
        // The one that waited the longest goes first.
        let first = crawl
            .watch
            .starts
            .iter()
            .filter(|s| s.host == "rate.test")
            .nth(1);
        assert_eq!(
            first.map(|start| start.url.as_str()),
            Some("http://rate.test/p1")
        );
    }
}

#[test]
fn retry_after_is_cut_down_to_the_longest_pause_allowed() {
    let answers = [Answer::status(503).retry_after(86_400), Answer::ok()];
    let policy = unpaced().max_retry_after(secs(20.0)).build().unwrap();
    let mut crawl = Driver::new(policy, Site::new().then(PAGE, answers)).seed(PAGE);
    crawl.run();
    assert_eq!(crawl.watch.seconds(), [0.0, 20.0]);
}

#[test]
fn retry_after_holds_back_the_whole_crawl_if_the_policy_says_so() {
    let site = Site::new()
        .then(PAGE, [Answer::status(429).retry_after(7), Answer::ok()])
        .pages("http://b.test/", 0..2)
        .latency(secs(1.0));
    let policy = unpaced()
        .concurrency(2)
        .retry_after_scope(RetryAfterScope::Crawl)
        .build()
        .unwrap();
    let mut crawl = Driver::new(policy, site)
        .seed(PAGE)
        .seed("http://b.test/0")
        .seed("http://b.test/1");
    crawl.run();
    assert_eq!(crawl.watch.seconds_of("a.test"), [0.0, 8.0]);
    assert_eq!(crawl.watch.seconds_of("b.test"), [0.0, 8.0]);
}

#[test]
fn a_date_in_retry_after_counts_from_now_and_one_gone_by_leaves_the_ordinary_floor() {
    // Virtual time begins on Tuesday, 14 November 2023 at 22:13:20.
    let at = |value: &str| {
        let answers = vec![Answer::status(503).retry_after(value), Answer::ok()];
        start_times(exact_retries(3), answers)
    };
    assert_eq!(at("Tue, 14 Nov 2023 22:15:20 GMT"), [0.0, 120.0]);
    let floor = at("Tue, 01 Jan 2019 00:00:00 GMT");
    assert_eq!(floor, [0.0, 1.0], "the gap of a host that throttles");
    assert_eq!(at("Tuesday, 01-Jan-19 00:00:00 GMT"), floor);
    assert_eq!(at("Tue Jan  1 00:00:00 2019"), floor);
    assert_eq!(at("0"), floor);
    assert_eq!(at("-5"), floor);
    assert_eq!(at("soon"), floor);
}

#[test]
fn retry_after_means_nothing_on_other_statuses() {
    let at = start_times(
        exact_retries(3),
        vec![Answer::status(500).retry_after(60), Answer::ok()],
    );
    assert_eq!(at, [0.0, 0.5]);
}

#[test]
fn the_retry_waits_for_its_own_delay_where_that_is_longer_than_the_pause() {
    let retry = RetryPolicy {
        delay: secs(20.0),
        ..exact_retries(3)
    };
    let at = start_times(
        retry,
        vec![Answer::status(503).retry_after(3), Answer::ok()],
    );
    assert_eq!(at, [0.0, 20.0]);
}

#[test]
fn the_longer_of_two_pauses_wins() {
    let site = Site::new()
        .then(
            "http://a.test/1",
            [Answer::status(503).retry_after(30), Answer::ok()],
        )
        .then(
            "http://a.test/2",
            [
                Answer::status(503).retry_after(5).takes(secs(1.0)),
                Answer::ok(),
            ],
        )
        .on("http://a.test/3", Answer::ok());
    let policy = unpaced().host_concurrency(2).build().unwrap();
    let mut crawl = Driver::new(policy, site).seeds((1..=3).map(|n| format!("http://a.test/{n}")));
    crawl.run();
    assert_eq!(crawl.watch.seconds(), [0.0, 0.0, 30.0, 30.0, 30.0]);
}

#[test]
fn the_gap_of_a_host_that_throttles_doubles_and_halves_back_with_each_answer() {
    // 429 four times, then answers: the gap is 1, 2, 4, 8 and then 4, 2, 1, 0.
    let site = (0..8).fold(Site::new(), |site, n| {
        let answer = if n < 4 {
            Answer::status(429)
        } else {
            Answer::ok()
        };
        site.on(&format!("http://a.test/{n}"), answer)
    });
    let policy = unpaced()
        .host_concurrency(1)
        .retry(exact_retries(0))
        .build()
        .unwrap();
    let mut crawl = Driver::new(policy, site).seeds((0..8).map(|n| format!("http://a.test/{n}")));
    crawl.run();
    assert_eq!(
        crawl.watch.seconds(),
        [0.0, 1.0, 3.0, 7.0, 15.0, 19.0, 21.0, 22.0]
    );
}

#[test]
fn the_gap_of_a_host_with_a_delay_doubles_from_there_up_to_the_longest() {
    let site = (0..7).fold(Site::new(), |site, n| {
        let answer = match n {
            0..4 => Answer::broken(ErrorKind::Timeout),
            _ => Answer::ok(),
        };
        site.on(&format!("http://a.test/{n}"), answer)
    });
    let policy = unpaced()
        .host_concurrency(1)
        .host_delay(secs(3.0))
        .max_host_delay(secs(20.0))
        .retry(exact_retries(0))
        .build()
        .unwrap();
    let mut crawl = Driver::new(policy, site).seeds((0..7).map(|n| format!("http://a.test/{n}")));
    crawl.run();
    // 6, 12, 20, 20, then 10, 5.
    assert_eq!(
        crawl.watch.seconds(),
        [0.0, 6.0, 18.0, 38.0, 58.0, 68.0, 73.0]
    );
}

#[test]
fn a_host_with_a_gap_above_the_longest_keeps_its_own() {
    let site = (0..3).fold(Site::new(), |site, n| {
        site.on(&format!("http://a.test/{n}"), Answer::status(429))
    });
    let policy = unpaced()
        .host_delay(secs(90.0))
        .max_host_delay(secs(60.0))
        .retry(exact_retries(0))
        .build()
        .unwrap();
    let mut crawl = Driver::new(policy, site).seeds((0..3).map(|n| format!("http://a.test/{n}")));
    crawl.run();
    assert_eq!(crawl.watch.seconds(), [0.0, 90.0, 180.0]);
}

#[test]
fn requests_that_were_in_flight_when_the_host_was_slowed_down_do_not_slow_it_again() {
    // Five at once are refused one after the other; the sixth waits 1 s only.
    let site = (0..6).fold(Site::new(), |site, n| {
        let answer = if n < 5 {
            Answer::status(429)
        } else {
            Answer::ok()
        };
        site.on(
            &format!("http://a.test/{n}"),
            answer.takes(secs(0.1 * f64::from(n))),
        )
    });
    let policy = unpaced()
        .host_concurrency(5)
        .retry(exact_retries(0))
        .build()
        .unwrap();
    let mut crawl = Driver::new(policy, site).seeds((0..6).map(|n| format!("http://a.test/{n}")));
    crawl.run();
    assert_eq!(crawl.watch.seconds(), [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn a_pause_that_the_host_asked_for_does_not_widen_its_gap() {
    let site = (0..4).fold(Site::new(), |site, n| {
        let answer = if n == 0 {
            Answer::status(429).retry_after(5)
        } else {
            Answer::ok()
        };
        site.on(&format!("http://a.test/{n}"), answer)
    });
    let policy = unpaced()
        .host_concurrency(1)
        .host_delay(secs(1.0))
        .retry(exact_retries(0))
        .build()
        .unwrap();
    let mut crawl = Driver::new(policy, site).seeds((0..4).map(|n| format!("http://a.test/{n}")));
    crawl.run();
    assert_eq!(crawl.watch.seconds(), [0.0, 5.0, 6.0, 7.0]);
}

#[test]
fn a_request_that_a_kept_connection_lost_goes_back_to_the_queue_and_is_no_attempt() {
    let policy = unpaced()
        .max_requests_per_minute(60)
        .retry(exact_retries(0))
        .build()
        .unwrap();
    let mut lost = vec![Answer::unanswered(); 5];
    lost.push(Answer::ok());
    let site = Site::new()
        .then(PAGE, lost)
        .on("http://a.test/other", Answer::ok());
    let mut crawl = Driver::new(policy, site)
        .seed(PAGE)
        .seed("http://a.test/other");
    let stats = crawl.run();
    assert_eq!(
        crawl.watch.seconds(),
        [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        "each passes the gate"
    );
    assert_eq!((stats.requests, stats.succeeded), (7, 2));
    assert_eq!((stats.failed, stats.retried), (0, 0));
}
