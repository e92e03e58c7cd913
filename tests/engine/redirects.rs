//! Redirects are jobs of their own: scope, robots, pause and pace of where
//! they lead.

use canter::crawler::RunEnd;
use canter::{ErrorKind, SkipReason};

use crate::drive::{Answer, Driver, Site};
use crate::{secs, unpaced};

/// C16
#[test]
fn a_redirect_out_of_the_scope_is_not_asked_for() {
    let site = Site::new()
        .on("http://in.test/", Answer::page(&["/go"]))
        .on(
            "http://in.test/go",
            Answer::redirect(302, "http://out.test/x"),
        )
        .on("http://out.test/x", Answer::page(&["/y", "/z"]));
    let mut crawl = Driver::new(unpaced().build().unwrap(), site)
        .scope(&["in.test"])
        .seed("http://in.test/");
    let stats = crawl.run();
    assert_eq!(crawl.watch.count("out.test"), 0);
    assert_eq!((stats.succeeded, stats.redirected), (1, 1));
    assert_eq!(stats.skipped_by_reason[&SkipReason::Scope], 1);
}

/// C17
#[test]
fn a_redirect_into_what_robots_txt_forbids_is_not_asked_for() {
    let site = Site::new()
        .on(
            "http://a.test/robots.txt",
            Answer::robots("User-agent: *\nDisallow: /private/"),
        )
        .on("http://a.test/go", Answer::redirect(301, "/private/1"))
        .on(
            "http://a.test/ext",
            Answer::redirect(301, "http://b.test/p"),
        )
        .on(
            "http://b.test/robots.txt",
            Answer::robots("User-agent: *\nDisallow: /p"),
        );
    let mut crawl = Driver::obeying(unpaced().build().unwrap(), site)
        .seeds(["http://a.test/go", "http://a.test/ext"]);
    let stats = crawl.run();
    assert_eq!(
        crawl.watch.urls(),
        [
            "http://a.test/robots.txt",
            "http://a.test/go",
            "http://a.test/ext",
            "http://b.test/robots.txt"
        ]
    );
    assert_eq!(stats.skipped_by_reason[&SkipReason::Robots], 2);
    assert_eq!(stats.end, Some(RunEnd::Nothing));
}

/// C20
#[test]
fn redirects_onto_one_page_fetch_it_once_and_its_retry_is_allowed() {
    let site = Site::new()
        .on("http://a.test/", Answer::page(&["/old1", "/old2", "/new"]))
        .on("http://a.test/old1", Answer::redirect(301, "/new"))
        .on("http://a.test/old2", Answer::redirect(301, "/new"))
        .then("http://a.test/new", [Answer::status(503), Answer::ok()]);
    let mut crawl = Driver::new(unpaced().build().unwrap(), site).seed("http://a.test/");
    let stats = crawl.run();
    assert_eq!(crawl.watch.count("/new"), 2);
    assert_eq!(
        (stats.succeeded, stats.redirected, stats.retried),
        (2, 2, 1)
    );
    assert_eq!(stats.discovered, 4);
}

#[test]
fn redirects_in_a_ring_end_as_failed() {
    let site = Site::new()
        .on("http://a.test/self", Answer::redirect(302, "/self"))
        .on("http://a.test/1", Answer::redirect(302, "/2"))
        .on("http://a.test/2", Answer::redirect(302, "/1"));
    let mut crawl = Driver::new(unpaced().build().unwrap(), site)
        .seeds(["http://a.test/self", "http://a.test/1"]);
    let stats = crawl.run();
    assert_eq!((stats.requests, stats.redirected, stats.failed), (3, 1, 2));
    assert_eq!(stats.failed_by_kind[&ErrorKind::Rejected], 2);
}

#[test]
fn no_more_redirects_in_a_row_are_followed_than_allowed() {
    let site = (0..20).fold(Site::new(), |site, n| {
        site.on(
            &format!("http://a.test/{n}"),
            Answer::redirect(302, &format!("/{}", n + 1)),
        )
    });
    let mut crawl = Driver::new(unpaced().build().unwrap(), site).seed("http://a.test/0");
    let stats = crawl.run();
    assert_eq!(
        (stats.requests, stats.redirected, stats.failed),
        (11, 10, 1)
    );
}

#[test]
fn each_hop_keeps_the_pace_of_its_own_host_and_waits_in_the_queue() {
    let site = Site::new()
        .on(
            "http://a.test/",
            Answer::redirect(301, "http://b.test/").takes(secs(1.0)),
        )
        .on("http://b.test/0", Answer::status(429).retry_after(60))
        .on("http://b.test/", Answer::redirect(301, "http://a.test/end"))
        .on("http://a.test/end", Answer::ok())
        .pages("http://c.test/", 0..3);
    let policy = unpaced()
        .concurrency(1)
        .retry(crate::exact_retries(0))
        .build()
        .unwrap();
    let mut crawl = Driver::new(policy, site).seeds([
        "http://b.test/0",
        "http://a.test/",
        "http://c.test/0",
        "http://c.test/1",
    ]);
    crawl.run();
    assert_eq!(
        crawl.watch.lines(),
        [
            "0 http://b.test/0",
            "0 http://a.test/",
            "1 http://c.test/0",
            "1 http://c.test/1",
            "60 http://b.test/",
            "60 http://a.test/end",
        ]
    );
}

#[test]
fn the_scope_takes_in_the_host_that_a_seed_lands_on() {
    let site = || {
        Site::new()
            .on("http://a.test/", Answer::redirect(301, "http://via.test/"))
            .on(
                "http://via.test/",
                Answer::redirect(301, "http://www.a.test/"),
            )
            .on(
                "http://www.a.test/",
                Answer::page(&["/1", "http://via.test/x", "http://c.test/"]),
            )
            .on(
                "http://www.a.test/1",
                Answer::redirect(301, "http://d.test/"),
            )
    };
    let mut crawl = Driver::new(unpaced().build().unwrap(), site())
        .scope_of_seeds()
        .seed("http://a.test/");
    let stats = crawl.run();
    assert_eq!(
        crawl.watch.urls(),
        [
            "http://a.test/",
            "http://via.test/",
            "http://www.a.test/",
            "http://www.a.test/1"
        ]
    );
    // A host on the way is not landed on, and a link's redirect is no seed's.
    assert_eq!(stats.skipped_by_reason[&SkipReason::Scope], 3);
    // Hosts that were named stay those that were named.
    let options = canter::crawler::EngineOptions {
        seeds_widen_scope: false,
        obey_robots: false,
        ..Default::default()
    };
    let policy = unpaced().build().unwrap();
    let mut crawl = Driver::with(policy, options, site(), crate::drive::Trace::default())
        .scope(&["a.test"])
        .seed("http://a.test/");
    let stats = crawl.run();
    assert_eq!((stats.requests, stats.end), (1, Some(RunEnd::Nothing)));
}
