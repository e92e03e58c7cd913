//! robots.txt as a way of life: once per origin and first, obeyed, and what
//! happens when it cannot be read.

use canter::ErrorKind;
use canter::crawler::{ParkReason, RunEnd};
use canter::{Request, SkipReason};

use crate::drive::{Answer, Driver, Site};
use crate::{exact_retries, secs, unpaced};

const ROBOTS: &str = "http://a.test/robots.txt";

fn pages(n: usize) -> Vec<String> {
    (0..n).map(|n| format!("http://a.test/{n}")).collect()
}

/// C40
#[test]
fn robots_txt_is_asked_for_once_per_origin_and_first_however_many_wait() {
    for answer in [
        Answer::status(404),
        Answer::status(403),
        Answer::status(410),
        Answer::robots("User-agent: *\nAllow: /").takes(secs(2.0)),
    ] {
        let site = Site::new()
            .on(ROBOTS, answer.clone())
            .pages("http://a.test/", 0..200);
        let site = site.latency(secs(0.1));
        let policy = unpaced().concurrency(8).build().unwrap();
        let mut crawl = Driver::obeying(policy, site).seeds(pages(200));
        let stats = crawl.run();
        assert_eq!(crawl.watch.count("/robots.txt"), 1);
        assert!(crawl.watch.starts[0].robots);
        let read = answer.latency.as_secs_f64().max(0.1);
        assert_eq!(crawl.watch.seconds()[1], read, "nothing before it is read");
        assert_eq!(stats.succeeded, 200, "{answer:?}");
    }
}

#[test]
fn each_scheme_host_and_port_has_a_robots_txt_of_its_own() {
    let forbid = Answer::robots("User-agent: *\nDisallow: /");
    let site = Site::new()
        .on(ROBOTS, forbid)
        .on("http://a.test:8080/x", Answer::ok())
        .on("https://a.test/x", Answer::ok());
    let mut crawl = Driver::obeying(unpaced().build().unwrap(), site).seeds([
        "http://a.test/x",
        "https://a.test/x",
        "http://a.test:8080/x",
    ]);
    let stats = crawl.run();
    assert_eq!(crawl.watch.count("/robots.txt"), 3);
    assert_eq!(crawl.watch.count("http://a.test/x"), 0);
    assert_eq!((stats.succeeded, stats.skipped), (2, 1));
}

/// C34 and C37 at the level of a crawl.
#[test]
fn nothing_that_is_forbidden_is_asked_for_and_the_reason_is_counted() {
    let text = "User-agent: canter\nDisallow: /private\nAllow: /private/door\n\n\
                User-agent: *\nDisallow: /";
    let site = Site::new()
        .on(ROBOTS, Answer::robots(text))
        .on(
            "http://a.test/",
            Answer::page(&["/private/1", "/private/door", "/open"]),
        )
        .on("http://a.test/private/door", Answer::ok())
        .on("http://a.test/open", Answer::ok());
    let mut crawl = Driver::obeying(unpaced().build().unwrap(), site).seed("http://a.test/");
    let stats = crawl.run();
    assert_eq!(
        crawl.watch.urls(),
        [
            ROBOTS,
            "http://a.test/",
            "http://a.test/private/door",
            "http://a.test/open"
        ]
    );
    assert_eq!(stats.skipped_by_reason[&SkipReason::Robots], 1);
    assert_eq!(stats.end, Some(RunEnd::Complete));
}

#[test]
fn a_crawl_whose_every_seed_is_forbidden_has_fetched_nothing() {
    let site = Site::new().on(ROBOTS, Answer::robots("User-agent: *\nDisallow: /"));
    let mut crawl = Driver::obeying(unpaced().build().unwrap(), site).seeds(pages(3));
    let stats = crawl.run();
    assert_eq!(crawl.watch.urls(), [ROBOTS]);
    assert_eq!((stats.end, stats.pending()), (Some(RunEnd::Nothing), 0));
}

#[test]
fn a_robots_txt_that_cannot_be_read_forbids_everything_until_it_can() {
    for failing in [
        Answer::status(500),
        Answer::status(503),
        Answer::broken(ErrorKind::Connect),
        Answer::broken(ErrorKind::Timeout),
    ] {
        let site = Site::new()
            .then(
                ROBOTS,
                [failing.clone(), failing.clone(), Answer::robots("")],
            )
            .pages("http://a.test/", 0..2)
            .on("http://b.test/", Answer::ok());
        let policy = unpaced()
            .retry(exact_retries(3))
            .max_host_delay(secs(1.0))
            .build()
            .unwrap();
        let mut crawl = Driver::obeying(policy, site)
            .seeds(pages(2))
            .seed("http://b.test/");
        let stats = crawl.run();
        let at = crawl.watch.seconds_of("http://a.test");
        assert_eq!(crawl.watch.count("a.test/robots.txt"), 3);
        assert!(
            at[..3].windows(2).all(|pair| pair[1] > pair[0]),
            "{failing:?}: {at:?}"
        );
        assert!(
            at[3..].iter().all(|start| *start >= at[2]),
            "{failing:?}: {at:?}"
        );
        assert_eq!(
            crawl.watch.seconds_of("b.test"),
            [0.0, 0.0],
            "other hosts go on"
        );
        assert_eq!((stats.succeeded, stats.end), (3, Some(RunEnd::Complete)));
    }
}

/// C40
#[test]
fn a_429_for_robots_txt_pauses_the_host_and_allows_nothing() {
    let site = Site::new()
        .then(
            ROBOTS,
            [Answer::status(429).retry_after(30), Answer::status(404)],
        )
        .pages("http://a.test/", 0..200);
    let policy = unpaced().concurrency(8).build().unwrap();
    let mut crawl = Driver::obeying(policy, site).seeds(pages(200));
    let stats = crawl.run();
    let at = crawl.watch.seconds();
    assert_eq!(at[..3], [0.0, 30.0, 30.0]);
    assert_eq!((crawl.watch.count("robots.txt"), stats.succeeded), (2, 200));
}

#[test]
fn after_the_retries_the_urls_of_the_origin_stay_pending_and_the_next_run_asks_again() {
    let failing = Answer::broken(ErrorKind::Connect);
    let site = Site::new()
        .then(
            ROBOTS,
            [
                failing.clone(),
                failing.clone(),
                failing,
                Answer::status(404),
            ],
        )
        .pages("http://a.test/", 0..5)
        .on("http://b.test/", Answer::ok());
    let policy = unpaced().retry(exact_retries(2)).build().unwrap();
    let mut crawl = Driver::obeying(policy, site)
        .seeds(pages(5))
        .seed("http://b.test/");
    let stats = crawl.run();
    assert_eq!(crawl.watch.seconds_of("http://a.test"), [0.0, 0.5, 1.5]);
    assert_eq!((stats.succeeded, stats.pending(), stats.failed), (1, 5, 0));
    assert_eq!(stats.end, Some(RunEnd::HostsParked));
    assert_eq!(stats.parked.len(), 1);
    assert_eq!(&*stats.parked[0].host, "a.test");
    assert_eq!(stats.parked[0].reason, ParkReason::RobotsUnreachable);
    let stats = crawl.run();
    assert_eq!((stats.succeeded, stats.pending()), (5, 0));
    assert_eq!(
        crawl.watch.count("robots.txt"),
        3 + 1 + 1,
        "and b.test's is still known"
    );
}

#[test]
fn robots_txt_is_followed_over_five_hops_through_the_gate_and_no_more() {
    let chain = |hops: usize| {
        let site = (0..hops).fold(Site::new(), |site, n| {
            let from = if n == 0 {
                ROBOTS.to_owned()
            } else {
                format!("http://r{n}.test/r")
            };
            site.on(
                &from,
                Answer::redirect(301, &format!("http://r{}.test/r", n + 1)),
            )
        });
        site.on(
            &format!("http://r{hops}.test/r"),
            Answer::robots("User-agent: *\nDisallow: /"),
        )
        .on("http://a.test/0", Answer::ok())
    };
    let policy = unpaced().max_requests_per_minute(60).build().unwrap();
    let mut crawl = Driver::obeying(policy.clone(), chain(5)).seeds(pages(1));
    let stats = crawl.run();
    assert_eq!(crawl.watch.seconds(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(
        (stats.requests, stats.skipped),
        (6, 1),
        "the rules are those of a.test"
    );
    let mut crawl = Driver::obeying(policy, chain(6)).seeds(pages(1));
    let stats = crawl.run();
    assert_eq!(
        (stats.requests, stats.succeeded),
        (7, 1),
        "over five hops there is none"
    );
    assert_eq!(crawl.watch.urls()[6], "http://a.test/0");
}

#[test]
fn rules_are_read_again_after_a_day() {
    let site = Site::new()
        .then(
            ROBOTS,
            [
                Answer::robots(""),
                Answer::robots("User-agent: *\nDisallow: /"),
                Answer::robots(""),
            ],
        )
        .pages("http://a.test/", 0..4);
    let hour = 3600.0;
    let policy = unpaced().host_delay(secs(12.0 * hour)).build().unwrap();
    let mut crawl = Driver::obeying(policy, site).seeds(pages(4));
    let stats = crawl.run();
    // Read at 0, used at 12 hours; at 24 hours they are gone.
    assert_eq!(
        crawl
            .watch
            .starts
            .iter()
            .map(|s| (s.at.as_secs() / 3600, &*s.url))
            .collect::<Vec<_>>(),
        [(0, ROBOTS), (12, "http://a.test/0"), (24, ROBOTS)]
    );
    assert_eq!((stats.succeeded, stats.skipped), (1, 3));
}

/// C13
#[test]
fn crawl_delay_only_ever_raises_the_gap() {
    for (configured, line, gap) in [
        (3.0, "Crawl-delay: 0.2", 3.0),
        (3.0, "Crawl-delay: 10", 10.0),
        (3.0, "Crawl-delay: 2.5", 3.0),
        (0.0, "Crawl-delay: 2.5", 2.5),
        (3.0, "Crawl-delay: 301", 301.0),
        (3.0, "Crawl-delay: 1e9", 1e9),
        (3.0, "Crawl-delay: -1", 3.0),
        (3.0, "Crawl-delay: abc", 3.0),
        (3.0, "Crawl-delay:", 3.0),
        (3.0, "Crawl-delay: 10 # note", 10.0),
        (3.0, "\nUser-agent: other\nCrawl-delay: 20\nDisallow:", 3.0),
    ] {
        let text = format!("User-agent: *\nAllow: /\n{line}\n");
        let site = Site::new()
            .on(ROBOTS, Answer::robots(&text))
            .pages("http://a.test/", 0..2);
        let policy = unpaced().host_delay(secs(configured)).build().unwrap();
        let mut crawl = Driver::obeying(policy, site).seeds(pages(2));
        let stats = crawl.run();
        // No gap is longer than the longest time that a policy may name.
        let gap = f64::min(gap, 366.0 * 86_400.0);
        let at = crawl.watch.seconds_of("a.test/");
        // Rules that are a day old are read again, but serve once.
        let expected = if gap < 86_400.0 {
            vec![0.0, gap, 2.0 * gap]
        } else {
            vec![0.0, gap, 2.0 * gap, 3.0 * gap]
        };
        assert_eq!(at, expected, "{configured} and {line:?}");
        assert_eq!(stats.succeeded, 2);
    }
}

/// A gap, or a rate, of over a day would ask for robots.txt for ever.
#[test]
fn a_crawl_slower_than_the_life_of_its_rules_gets_on_all_the_same() {
    let site = || {
        Site::new()
            .on(ROBOTS, Answer::robots(""))
            .pages("http://a.test/", 0..3)
    };
    let day = 86_400.0;
    let policy = unpaced().host_delay(secs(1.5 * day)).build().unwrap();
    let mut crawl = Driver::obeying(policy, site())
        .seeds(pages(3))
        .seed("https://a.test/");
    let stats = crawl.run();
    assert_eq!((stats.succeeded, stats.failed), (3, 1));
    let mut policy = unpaced().build().unwrap();
    policy.max_requests_per_minute = Some(0.0005);
    let mut crawl = Driver::obeying(policy, site())
        .seeds(pages(3))
        .seed("https://a.test/");
    let stats = crawl.run();
    assert_eq!((stats.succeeded, stats.failed), (3, 1));
}

#[test]
fn no_crawl_delay_is_large_enough_to_overflow() {
    for value in ["1e18", "1e19", "1e300", "18446744073709551615"] {
        let text = format!("User-agent: *\nCrawl-delay: {value}");
        let site = Site::new()
            .on(ROBOTS, Answer::robots(&text))
            .then("http://a.test/0", [Answer::status(429), Answer::ok()])
            .on("http://b.test/", Answer::ok());
        let policy = unpaced().deadline(secs(1000.0)).build().unwrap();
        let mut crawl = Driver::obeying(policy, site)
            .seeds(pages(1))
            .seed("http://b.test/");
        let stats = crawl.run();
        assert_eq!(
            crawl.watch.count("a.test"),
            1,
            "{value}: nothing within the deadline"
        );
        assert_eq!((stats.succeeded, stats.pending()), (1, 1));
    }
}

#[test]
fn the_robots_txt_that_one_tags_pages_wait_for_waits_for_no_tag() {
    use crate::drive::{Handled, Link};
    use canter::Tag;
    let pause = Handled::Backoff(Some(Tag::from("slow")), secs(60.0));
    let site = Site::new()
        .then(
            "http://a.test/0",
            [
                Answer::handled(pause),
                Answer::ok().links([Link::tagged("http://b.test/", "slow")]),
            ],
        )
        .on("http://b.test/", Answer::ok());
    let mut crawl = Driver::obeying(unpaced().build().unwrap(), site).seeds(pages(1));
    let stats = crawl.run();
    assert_eq!(stats.succeeded, 2);
    assert_eq!(crawl.watch.seconds(), [0.0, 0.0, 60.0, 60.0, 60.0]);
}

#[test]
fn sitemaps_that_robots_txt_names_are_read_and_obey_it() {
    let text = "User-agent: *\nDisallow: /secret\nSitemap: /map.xml\nSitemap: /secret.xml\n\
                Sitemap: http://cdn.test/map.xml";
    let site = Site::new()
        .on(ROBOTS, Answer::robots(text))
        .on("http://a.test/0", Answer::ok())
        .on("http://a.test/map.xml", Answer::page(&["/1", "/secret/2"]))
        .on("http://a.test/1", Answer::ok())
        .on(
            "http://cdn.test/map.xml",
            Answer::page(&["http://a.test/3", "http://cdn.test/4"]),
        )
        .on("http://a.test/3", Answer::ok());
    let policy = unpaced().build().unwrap();
    let mut crawl = Driver::obeying(policy, site).scope(&["a.test"]);
    crawl.push_seed(Request::get("http://a.test/0").unwrap());
    let stats = crawl.run();
    assert_eq!(crawl.watch.count("secret"), 0);
    assert_eq!(
        crawl.watch.count("cdn.test/map.xml"),
        1,
        "a sitemap may lie elsewhere"
    );
    assert_eq!(
        crawl.watch.count("cdn.test/4"),
        0,
        "the pages it lists may not"
    );
    assert_eq!(stats.succeeded, 5);
    assert_eq!(stats.skipped_by_reason[&SkipReason::Robots], 2);
    assert_eq!(stats.skipped_by_reason[&SkipReason::Scope], 1);
}
