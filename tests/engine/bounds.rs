//! Bounds on a run, depth, and the stop rules.

use canter::crawler::{Bound, ParkReason, RunEnd};
use canter::politeness::Trip;
use canter::{ErrorKind, SkipReason, TrapLimits};

use crate::drive::{Answer, Driver, Site};
use crate::{exact_retries, secs, unpaced};

fn pages(host: &str, n: usize) -> Vec<String> {
    (0..n).map(|n| format!("http://{host}.test/{n}")).collect()
}

#[test]
fn max_requests_counts_every_request_and_leaves_the_rest_pending() {
    let site = Site::new()
        .on("http://a.test/robots.txt", Answer::robots(""))
        .on("http://a.test/0", Answer::redirect(301, "/x"))
        .then("http://a.test/1", [Answer::status(500), Answer::ok()])
        .pages("http://a.test/", 2..50);
    let policy = unpaced().max_requests(10).build().unwrap();
    let mut crawl = Driver::obeying(policy, site).seeds(pages("a", 50));
    let stats = crawl.run();
    assert_eq!((stats.requests, crawl.watch.starts.len()), (10, 10));
    assert_eq!(stats.pending(), 50 + 1 - 1 - stats.succeeded - stats.failed);
    assert_eq!(stats.end, Some(RunEnd::Bound(Bound::Requests)));
}

#[test]
fn a_crawl_that_needs_exactly_max_requests_is_complete() {
    let site = Site::new()
        .pages("http://a.test/", 0..10)
        .latency(secs(1.0));
    let policy = unpaced().max_requests(10).build().unwrap();
    let mut crawl = Driver::new(policy, site).seeds(pages("a", 10));
    let stats = crawl.run();
    assert_eq!((stats.succeeded, stats.end), (10, Some(RunEnd::Complete)));
}

#[test]
fn a_retry_or_a_robots_txt_is_no_way_past_max_requests() {
    // The last request allowed is in flight; it fails, and is to be retried.
    let site = Site::new().on("http://a.test/0", Answer::status(500).takes(secs(1.0)));
    let policy = unpaced().max_requests(1).build().unwrap();
    let mut crawl = Driver::new(policy, site).seeds(pages("a", 1));
    let stats = crawl.run();
    assert_eq!((stats.requests, stats.pending()), (1, 1));
    assert_eq!(stats.end, Some(RunEnd::Bound(Bound::Requests)));
    // The only URL of b.test is given up, its robots.txt waits to be retried.
    let site = Site::new()
        .on(
            "http://b.test/robots.txt",
            Answer::status(500).takes(secs(0.1)),
        )
        .on("http://a.test/robots.txt", Answer::robots(""))
        .on(
            "http://a.test/0",
            Answer::handled(crate::drive::Handled::Abort(Some("t".into()))).takes(secs(5.0)),
        );
    let policy = unpaced().max_requests(3).build().unwrap();
    let mut crawl = Driver::obeying(policy, site).seeds(pages("a", 1));
    crawl.push_seed(
        canter::Request::get("http://b.test/")
            .unwrap()
            .with_tag("t"),
    );
    let stats = crawl.run();
    assert_eq!(stats.requests, 3);
}

#[test]
fn at_the_deadline_nothing_starts_and_what_is_in_flight_may_finish() {
    let site = Site::new()
        .pages("http://a.test/", 0..50)
        .latency(secs(3.0));
    let policy = unpaced()
        .max_requests_per_minute(60)
        .deadline(secs(5.0))
        .build()
        .unwrap();
    let mut crawl = Driver::new(policy, site).seeds(pages("a", 50));
    let stats = crawl.run();
    assert_eq!(crawl.watch.seconds(), [0.0, 1.0, 2.0, 3.0, 4.0]);
    assert_eq!(
        (stats.succeeded, stats.pending(), stats.cancelled),
        (5, 45, 0)
    );
    assert_eq!(stats.end, Some(RunEnd::Bound(Bound::Deadline)));
    assert_eq!(crawl.elapsed(), secs(7.0));
}

#[test]
fn the_deadline_ends_a_wait_of_any_length() {
    let site = Site::new().on("http://a.test/0", Answer::status(503).retry_after(600));
    let policy = unpaced().deadline(secs(5.0)).build().unwrap();
    let mut crawl = Driver::new(policy, site).seeds(pages("a", 2));
    let stats = crawl.run();
    assert_eq!(
        (crawl.elapsed(), stats.pending()),
        (secs(5.0), 1 + stats.queued - 1)
    );
    assert_eq!(stats.end, Some(RunEnd::Bound(Bound::Deadline)));
}

/// C14
#[test]
fn a_late_answer_queues_nothing_after_the_deadline() {
    let site = Site::new()
        .on(
            "http://late.test/robots.txt",
            Answer::status(503).takes(secs(6.0)),
        )
        .pages("http://late.test/", 0..10);
    let policy = unpaced().deadline(secs(5.0)).build().unwrap();
    let mut crawl = Driver::obeying(policy, site).seeds(pages("late", 10));
    let stats = crawl.run();
    assert_eq!((stats.requests, stats.pending(), stats.failed), (1, 10, 0));
    assert_eq!(crawl.elapsed(), secs(6.0));
}

#[test]
fn a_robots_txt_that_nobody_waits_for_any_more_does_not_keep_a_thread_spinning_past_the_deadline() {
    let site = Site::new()
        .on(
            "http://a.test/robots.txt",
            Answer::robots("").takes(secs(8.0)),
        )
        .on(
            "http://b.test/",
            Answer::handled(crate::drive::Handled::Abort(Some("t".into()))),
        );
    let policy = unpaced().deadline(secs(5.0)).build().unwrap();
    let mut crawl = Driver::obeying(policy, site).seed("http://b.test/");
    crawl.push_seed(
        canter::Request::get("http://a.test/")
            .unwrap()
            .with_tag("t"),
    );
    let stats = crawl.run();
    assert_eq!((stats.succeeded, stats.skipped), (1, 1));
    assert_eq!(stats.end, Some(RunEnd::Complete), "no URL is left");
}

#[test]
fn max_pages_per_host_leaves_the_rest_of_a_host_pending_while_others_go_on() {
    let site = Site::new()
        .on("http://a.test/0", Answer::redirect(301, "/x"))
        .on("http://a.test/x", Answer::ok())
        .then("http://a.test/1", [Answer::status(500), Answer::ok()])
        .pages("http://a.test/", 2..20)
        .pages("http://b.test/", 0..3);
    let policy = unpaced()
        .host_concurrency(1)
        .max_pages_per_host(5)
        .build()
        .unwrap();
    let mut crawl = Driver::new(policy, site)
        .seeds(pages("a", 20))
        .seeds(pages("b", 3));
    let stats = crawl.run();
    assert_eq!(stats.succeeded, 5 + 3);
    assert_eq!(stats.parked.len(), 1);
    assert_eq!(stats.parked[0].reason, ParkReason::PageLimit);
    assert_eq!(stats.end, Some(RunEnd::Bound(Bound::PagesPerHost)));
    // The next run has room for five more.
    let stats = crawl.run();
    assert_eq!(stats.succeeded, 5);
}

#[test]
fn links_beyond_the_depth_are_skipped_and_found_again_by_a_shorter_way() {
    let site = Site::new()
        .on("http://a.test/", Answer::page(&["/1", "/short"]))
        .on("http://a.test/1", Answer::page(&["/2"]))
        .on("http://a.test/2", Answer::page(&["/deep", "/deeper"]))
        // The shorter way is slow, so that the longer one is walked first.
        .on(
            "http://a.test/short",
            Answer::page(&["/deep"]).takes(secs(60.0)),
        )
        .on("http://a.test/deep", Answer::ok());
    let mut crawl = Driver::new(unpaced().build().unwrap(), site)
        .max_depth(2)
        .seed("http://a.test/");
    let stats = crawl.run();
    assert_eq!(crawl.watch.seconds_of("/deep"), [60.0]);
    assert_eq!(crawl.watch.count("/deeper"), 0);
    assert_eq!(stats.skipped_by_reason[&SkipReason::Depth], 1);
    assert_eq!(
        (stats.succeeded, stats.skipped, stats.discovered),
        (5, 1, 6)
    );
}

#[test]
fn a_url_found_again_by_a_shorter_way_is_still_subject_to_the_rest() {
    let aborts = crate::drive::Handled::Abort(Some("t".into()));
    let tagged = crate::drive::Link::tagged;
    let site = Site::new()
        .on("http://a.test/", Answer::page(&["/1", "/short"]))
        .on("http://a.test/1", Answer::page(&["/2"]))
        .on(
            "http://a.test/2",
            Answer::handled(aborts).links([tagged("/deep", "t")]),
        )
        .on(
            "http://a.test/short",
            Answer::ok().links([tagged("/deep", "t")]).takes(secs(60.0)),
        );
    let mut crawl = Driver::new(unpaced().build().unwrap(), site)
        .max_depth(2)
        .seed("http://a.test/");
    let stats = crawl.run();
    assert_eq!(crawl.watch.count("/deep"), 0, "its tag was given up");
    assert_eq!(stats.skipped, 1);
}

#[test]
fn queries_of_one_path_are_bounded() {
    let links: Vec<String> = (0..50).map(|n| format!("/calendar?day={n}")).collect();
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    let site = Site::new().on("http://a.test/", Answer::page(&links));
    let options = canter::crawler::EngineOptions {
        obey_robots: false,
        max_query_variants: 7,
        ..Default::default()
    };
    let mut crawl = Driver::with(
        unpaced().build().unwrap(),
        options,
        site,
        crate::drive::Trace::default(),
    )
    .scope(&["*"]);
    crawl.admit.traps = TrapLimits::default();
    crawl.push_seed(canter::Request::get("http://a.test/").unwrap());
    let stats = crawl.run();
    assert_eq!(crawl.watch.count("calendar"), 7);
    assert_eq!(stats.skipped_by_reason[&SkipReason::TrapVariants], 43);
}

/// C07
#[test]
fn a_host_that_refuses_for_ever_is_left_for_the_next_run_and_others_are_completed() {
    let site = (0..50).fold(Site::new(), |site, n| {
        site.on(&format!("http://wall.test/{n}"), Answer::status(429))
            .on(
                &format!("http://fine.test/{n}"),
                Answer::ok().takes(secs(1.0)),
            )
    });
    let policy = unpaced()
        .host_concurrency(1)
        .max_host_failures(20)
        .retry(exact_retries(1))
        .build()
        .unwrap();
    let mut crawl = Driver::new(policy, site)
        .seeds(pages("wall", 50))
        .seeds(pages("fine", 50));
    let stats = crawl.run();
    assert_eq!(
        (stats.succeeded, stats.failed, stats.pending()),
        (50, 20, 30)
    );
    assert_eq!(stats.end, Some(RunEnd::HostsParked));
    assert_eq!(&*stats.parked[0].host, "wall.test");
    assert_eq!(stats.parked[0].reason, ParkReason::Failures(20));
    let wall = crawl.watch.seconds_of("wall");
    let gaps: Vec<f64> = wall.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(
        gaps[..7],
        [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0],
        "it grows with each refusal"
    );
    assert!(gaps[7..].iter().all(|gap| *gap == 60.0));
    assert_eq!(crawl.watch.seconds_of("fine").last(), Some(&49.0));
    // Another chance in the next run.
    crawl.run();
    assert_eq!(crawl.watch.count("wall"), wall.len() * 2);
}

#[test]
fn a_host_that_is_given_up_holds_up_the_end_of_the_run_no_longer() {
    // The first fails for good while the others wait for their retries.
    let site = (0..5).fold(Site::new(), |site, n| {
        let latency = if n == 0 { 0.0 } else { 50.0 };
        let answer = Answer::broken(ErrorKind::Connect).takes(secs(latency));
        site.on(&format!("http://a.test/{n}"), answer)
    });
    let retry = canter::RetryPolicy {
        delay: secs(100.0),
        max_delay: secs(100.0),
        ..exact_retries(1)
    };
    let policy = unpaced().max_host_failures(1).retry(retry).build().unwrap();
    let mut crawl = Driver::new(policy, site).seeds(pages("a", 5));
    let stats = crawl.run();
    assert_eq!((stats.failed, stats.pending()), (1, 4));
    assert_eq!(crawl.elapsed(), secs(100.0));
}

#[test]
fn a_site_that_turns_to_403_ends_the_run_after_exactly_the_set_number_in_a_row() {
    let links: Vec<String> = (0..200).map(|n| format!("/{n}")).collect();
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    let site = (0..200).fold(Site::new(), |site, n| {
        site.on(&format!("http://a.test/{n}"), Answer::status(403))
    });
    let site = site.on("http://a.test/", Answer::page(&links));
    let policy = unpaced()
        .concurrency(1)
        .max_consecutive_failures(50)
        .build()
        .unwrap();
    let mut crawl = Driver::new(policy, site).seed("http://a.test/");
    let stats = crawl.run();
    assert_eq!(
        (stats.requests, stats.failed, stats.pending()),
        (51, 50, 150)
    );
    assert_eq!(stats.end, Some(RunEnd::Refused(Trip::Consecutive(50))));
}

#[test]
fn two_hundred_dead_links_end_complete() {
    let links: Vec<String> = (0..200).map(|n| format!("/{n}")).collect();
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    let site = Site::new().on("http://a.test/", Answer::page(&links));
    let policy = canter::Policy::builder().build().unwrap();
    let mut crawl = Driver::new(policy, site).seed("http://a.test/");
    let stats = crawl.run();
    assert_eq!((stats.succeeded, stats.failed), (1, 200));
    assert_eq!(stats.end, Some(RunEnd::Complete));
}

#[test]
fn dead_links_between_refusals_do_not_reset_the_run_of_failures_and_answers_do() {
    let run = |between: Answer| {
        let site = (0..40).fold(Site::new(), |site, n| {
            let answer = if n % 2 == 0 {
                Answer::status(401)
            } else {
                between.clone()
            };
            site.on(&format!("http://a.test/{n}"), answer)
        });
        let policy = unpaced()
            .concurrency(1)
            .max_consecutive_failures(10)
            .build()
            .unwrap();
        let mut crawl = Driver::new(policy, site).seeds(pages("a", 40));
        crawl.run()
    };
    for between in [
        Answer::status(404),
        Answer::status(410),
        Answer::broken(ErrorKind::Worker),
    ] {
        let stats = run(between);
        assert_eq!(stats.end, Some(RunEnd::Refused(Trip::Consecutive(10))));
        assert_eq!(
            stats.failed, 19,
            "ten refusals and nine dead links between them"
        );
    }
    assert_eq!(run(Answer::ok()).end, Some(RunEnd::Complete));
}

#[test]
fn the_stop_rules_count_requests_after_their_retries() {
    let site = (0..30).fold(Site::new(), |site, n| {
        site.then(
            &format!("http://a.test/{n}"),
            [Answer::status(500), Answer::status(500), Answer::ok()],
        )
    });
    let policy = unpaced()
        .max_consecutive_failures(3)
        .max_error_rate(0.5)
        .retry(exact_retries(2))
        .build()
        .unwrap();
    let mut crawl = Driver::new(policy, site).seeds(pages("a", 30));
    let stats = crawl.run();
    assert_eq!((stats.succeeded, stats.retried), (30, 60));
    assert_eq!(stats.end, Some(RunEnd::Complete));
}

#[test]
fn the_error_rate_ends_the_run_once_twenty_outcomes_are_there() {
    let site = (0..60).fold(Site::new(), |site, n| {
        let answer = if n % 3 == 0 {
            Answer::ok()
        } else {
            Answer::status(403)
        };
        site.on(&format!("http://a.test/{n}"), answer)
    });
    let policy = unpaced()
        .concurrency(1)
        .max_error_rate(0.5)
        .build()
        .unwrap();
    let mut crawl = Driver::new(policy, site).seeds(pages("a", 60));
    let stats = crawl.run();
    assert_eq!(stats.requests, 20);
    assert_eq!(stats.end, Some(RunEnd::Refused(Trip::ErrorRate(0.65))));
}
