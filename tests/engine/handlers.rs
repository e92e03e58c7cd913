//! What the outcomes of a handler do to the crawl.

use canter::crawler::RunEnd;
use canter::{ErrorKind, Request, SkipReason, Tag};

use crate::drive::{Answer, Driver, Handled, Link, Site};
use crate::{exact_retries, secs, unpaced};

fn tagged(url: &str, tag: &str) -> Request {
    Request::get(url).unwrap().with_tag(tag)
}

#[test]
fn a_retry_comes_after_the_policys_delay_or_the_given_one_and_counts_as_an_attempt() {
    let run = |after| {
        let site = Site::new().on("http://a.test/", Answer::handled(Handled::Retry(after)));
        let mut crawl = Driver::new(unpaced().build().unwrap(), site).seed("http://a.test/");
        let stats = crawl.run();
        assert_eq!(
            stats.failed_by_kind[&ErrorKind::Worker],
            1,
            "no attempt is left"
        );
        assert_eq!((stats.retried, stats.records), (3, 0));
        crawl.watch.seconds()
    };
    assert_eq!(run(None), [0.0, 0.5, 1.5, 3.5]);
    assert_eq!(run(Some(secs(10.0))), [0.0, 10.0, 20.0, 30.0]);
    assert_eq!(run(Some(secs(0.0))), [0.0; 4]);
}

#[test]
fn a_backoff_holds_back_every_request_with_the_tag_and_then_tries_again() {
    let site = Site::new()
        .then(
            "http://a.test/1",
            [
                Answer::handled(Handled::Backoff(None, secs(30.0))),
                Answer::ok(),
            ],
        )
        .pages("http://a.test/", 2..6)
        .pages("http://b.test/", 0..2);
    let policy = unpaced().concurrency(1).build().unwrap();
    let mut crawl = Driver::new(policy, site);
    for (url, tag) in [
        ("http://a.test/1", "slow"),
        ("http://a.test/2", "slow"),
        ("http://b.test/0", "slow"),
        ("http://a.test/3", "other"),
        ("http://a.test/4", ""),
    ] {
        crawl.push_seed(tagged(url, tag));
    }
    let stats = crawl.run();
    let mut lines = crawl.watch.lines();
    lines[1..3].sort();
    assert_eq!(
        lines[..3],
        [
            "0 http://a.test/1",
            "0 http://a.test/3",
            "0 http://a.test/4"
        ]
    );
    assert!(
        lines[3..].iter().all(|line| line.starts_with("30 ")),
        "{lines:?}"
    );
    assert_eq!((stats.succeeded, stats.retried), (5, 1));
}

#[test]
fn a_backoff_of_untagged_requests_holds_back_those_without_a_tag() {
    let site = Site::new()
        .then(
            "http://a.test/1",
            [
                Answer::handled(Handled::Backoff(None, secs(30.0))),
                Answer::ok(),
            ],
        )
        .pages("http://a.test/", 2..4);
    let mut crawl = Driver::new(unpaced().concurrency(1).build().unwrap(), site);
    crawl.push_seed(tagged("http://a.test/1", ""));
    crawl.push_seed(tagged("http://a.test/2", ""));
    crawl.push_seed(tagged("http://a.test/3", "x"));
    crawl.run();
    let mut lines = crawl.watch.lines();
    lines[2..].sort();
    assert_eq!(
        lines,
        [
            "0 http://a.test/1",
            "0 http://a.test/3",
            "30 http://a.test/1",
            "30 http://a.test/2"
        ]
    );
}

#[test]
fn a_backoff_may_name_another_tag() {
    let backoff = Handled::Backoff(Some(Tag::from("slow")), secs(30.0));
    let site = Site::new()
        .then("http://a.test/1", [Answer::handled(backoff), Answer::ok()])
        .pages("http://a.test/", 2..4);
    let mut crawl = Driver::new(unpaced().concurrency(1).build().unwrap(), site);
    crawl.push_seed(tagged("http://a.test/1", "own"));
    crawl.push_seed(tagged("http://a.test/2", "own"));
    crawl.push_seed(tagged("http://a.test/3", "slow"));
    crawl.run();
    assert_eq!(
        crawl.watch.lines()[..2],
        ["0 http://a.test/1", "0 http://a.test/2"]
    );
    assert_eq!(crawl.watch.seconds_of("/3"), [30.0]);
    assert_eq!(
        crawl.watch.seconds_of("/1"),
        [0.0, 30.0],
        "this one is tried again after it"
    );
}

#[test]
fn the_longer_of_two_backoffs_wins() {
    let backoff = |s: f64| Answer::handled(Handled::Backoff(None, secs(s)));
    let site = Site::new()
        .then("http://a.test/1", [backoff(30.0), Answer::ok()])
        .then(
            "http://a.test/2",
            [backoff(5.0).takes(secs(1.0)), Answer::ok()],
        )
        .on("http://a.test/3", Answer::ok());
    let policy = unpaced().concurrency(2).build().unwrap();
    let mut crawl = Driver::new(policy, site).seeds((1..=3).map(|n| format!("http://a.test/{n}")));
    crawl.run();
    assert_eq!(crawl.watch.seconds(), [0.0, 0.0, 30.0, 30.0, 30.0]);
}

#[test]
fn an_abort_ends_this_request_as_done_and_skips_every_further_one_with_the_tag() {
    let site = Site::new()
        .on(
            "http://a.test/1",
            Answer::handled(Handled::Abort(None))
                .links([Link::tagged("/late", "t"), Link::tagged("/other", "u")]),
        )
        .then(
            "http://b.test/fails",
            [Answer::status(500).takes(secs(0.1))],
        )
        .on(
            "http://a.test/other",
            Answer::page(&["/more"]).takes(secs(1.0)),
        )
        .on(
            "http://a.test/more",
            Answer::ok().links([Link::tagged("/later", "t")]),
        );
    let mut crawl = Driver::new(unpaced().concurrency(2).build().unwrap(), site);
    crawl.push_seed(tagged("http://b.test/fails", "t"));
    crawl.push_seed(tagged("http://a.test/1", "t"));
    crawl.push_seed(tagged("http://a.test/2", "t"));
    crawl.push_seed(tagged("http://c.test/2", "t"));
    let stats = crawl.run();
    assert_eq!(
        crawl.watch.urls(),
        [
            "http://b.test/fails",
            "http://a.test/1",
            "http://a.test/other",
            "http://a.test/more"
        ]
    );
    // Queued, found with it, found later, and the one that was to be retried.
    assert_eq!(stats.skipped_by_reason[&SkipReason::Aborted], 5);
    assert_eq!((stats.succeeded, stats.records), (3, 3));
    assert_eq!(stats.end, Some(RunEnd::Complete));
}

#[test]
fn an_abort_may_name_another_tag_and_takes_its_retries_along() {
    let site = Site::new()
        .on(
            "http://a.test/1",
            Answer::handled(Handled::Abort(Some(Tag::from("t")))).takes(secs(0.2)),
        )
        .on("http://a.test/2", Answer::status(500))
        .on("http://a.test/3", Answer::ok());
    let mut crawl = Driver::new(unpaced().build().unwrap(), site);
    crawl.push_seed(tagged("http://a.test/1", "own"));
    crawl.push_seed(tagged("http://a.test/2", "t"));
    crawl.push_seed(tagged("http://a.test/3", "own"));
    let stats = crawl.run();
    assert_eq!(stats.requests, 3, "the retry of /2 was in its delay");
    assert_eq!((stats.succeeded, stats.skipped), (2, 1));
    assert_eq!(crawl.elapsed(), secs(0.2));
}

#[test]
fn an_aborted_tag_while_its_origin_waits_for_robots_txt_leaves_the_other_tags_be() {
    let site = Site::new()
        .on(
            "http://a.test/robots.txt",
            Answer::robots("").takes(secs(5.0)),
        )
        .pages("http://a.test/", 2..5)
        .on(
            "http://b.test/",
            Answer::handled(Handled::Abort(Some(Tag::from("t")))),
        );
    let mut crawl = Driver::obeying(unpaced().build().unwrap(), site);
    crawl.push_seed(tagged("http://a.test/1", "t"));
    crawl.push_seed(tagged("http://a.test/2", "u"));
    crawl.push_seed(tagged("http://b.test/", ""));
    let stats = crawl.run();
    assert_eq!((stats.succeeded, stats.skipped), (2, 1));
    assert_eq!(crawl.watch.seconds_of("http://a.test/2"), [5.0]);
}

#[test]
fn stop_ends_this_request_as_done_starts_nothing_new_and_lets_the_rest_finish() {
    let site = Site::new()
        .on(
            "http://a.test/1",
            Answer::handled(Handled::Stop)
                .links(["/4"])
                .takes(secs(1.0)),
        )
        .on("http://a.test/2", Answer::page(&["/5"]).takes(secs(3.0)))
        .on("http://a.test/3", Answer::ok());
    let policy = unpaced().concurrency(2).build().unwrap();
    let mut crawl = Driver::new(policy, site).seeds((1..=3).map(|n| format!("http://a.test/{n}")));
    let stats = crawl.run();
    assert_eq!(
        crawl.watch.lines(),
        ["0 http://a.test/1", "0 http://a.test/2"]
    );
    assert_eq!((stats.succeeded, stats.records, stats.pending()), (2, 2, 3));
    assert_eq!(
        (stats.end, crawl.elapsed()),
        (Some(RunEnd::Stopped), secs(3.0))
    );
}

#[test]
fn fatal_ends_the_run_with_its_error_and_the_request_stays_pending() {
    for answer in [
        Answer::handled(Handled::Fatal),
        Answer::handled(Handled::Fail(ErrorKind::Output)),
        Answer::handled(Handled::Fail(ErrorKind::State)),
    ] {
        let site = Site::new()
            .on("http://a.test/1", answer)
            .on("http://a.test/2", Answer::ok());
        let policy = unpaced().concurrency(1).build().unwrap();
        let mut crawl =
            Driver::new(policy, site).seeds((1..=2).map(|n| format!("http://a.test/{n}")));
        let stats = crawl.run();
        assert_eq!(
            (stats.requests, stats.succeeded, stats.pending()),
            (1, 0, 2)
        );
        assert_eq!(stats.end, Some(RunEnd::Error));
        assert!(crawl.engine.take_fatal().is_some());
    }
}

#[test]
fn an_error_ends_the_run_as_an_error_even_while_it_is_stopping() {
    let site = Site::new()
        .on("http://a.test/1", Answer::handled(Handled::Stop))
        .on(
            "http://a.test/2",
            Answer::handled(Handled::Fatal).takes(secs(1.0)),
        );
    let mut crawl = Driver::new(unpaced().build().unwrap(), site)
        .seeds((1..=2).map(|n| format!("http://a.test/{n}")));
    let stats = crawl.run();
    assert_eq!(stats.end, Some(RunEnd::Error));
    assert!(crawl.engine.take_fatal().is_some());
}

#[test]
fn a_failure_is_retried_if_its_kind_is_and_else_final() {
    for kind in ErrorKind::ALL {
        if kind.is_fatal() {
            continue;
        }
        let site = Site::new().on("http://a.test/", Answer::handled(Handled::Fail(kind)));
        let policy = unpaced().retry(exact_retries(2)).build().unwrap();
        let mut crawl = Driver::new(policy, site).seed("http://a.test/");
        let stats = crawl.run();
        let expected = if kind.is_retryable() { 3 } else { 1 };
        assert_eq!(stats.requests, expected, "{kind}");
        assert_eq!(stats.failed_by_kind[&kind], 1);
        assert_eq!(stats.records, 0);
    }
}

#[test]
fn what_fails_or_is_tried_again_leaves_no_link_and_no_record() {
    for handled in [
        Handled::Retry(None),
        Handled::Backoff(None, secs(1.0)),
        Handled::Fail(ErrorKind::Worker),
        Handled::Fail(ErrorKind::Http),
        Handled::Fatal,
    ] {
        let site = Site::new().on(
            "http://a.test/",
            Answer::handled(handled.clone()).links(["/1", "/2"]),
        );
        let mut crawl = Driver::new(unpaced().build().unwrap(), site).seed("http://a.test/");
        let stats = crawl.run();
        assert_eq!((stats.discovered, stats.records), (1, 0), "{handled:?}");
    }
}

#[test]
fn a_fatal_failure_of_a_robots_txt_ends_the_run() {
    let site = Site::new().on("http://a.test/robots.txt", Answer::broken(ErrorKind::State));
    let mut crawl = Driver::obeying(unpaced().build().unwrap(), site).seed("http://a.test/");
    let stats = crawl.run();
    assert_eq!((stats.requests, stats.end), (1, Some(RunEnd::Error)));
    assert_eq!(
        crawl.engine.take_fatal().map(|error| error.kind()),
        Some(ErrorKind::State)
    );
}
