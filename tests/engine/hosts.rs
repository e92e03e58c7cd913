//! What is owed to each host: gap, requests in flight, rules of its own; and
//! what is kept of hosts that have nothing more to do.

use std::time::{Duration, Instant};

use canter::crawler::{Engine, EngineOptions};
use canter::{Admission, ErrorKind, HostRule, Request};

use crate::drive::{Answer, Driver, Ended, Site, Watch, World};
use crate::{exact_retries, secs, unpaced};

/// C08, with the ways into the queue that the engine knows.
#[test]
fn the_gap_is_kept_over_seeds_links_sitemaps_hops_retries_and_robots() {
    let mut site = Site::new().on(
        "http://one.test/robots.txt",
        Answer::robots("User-agent: *\nAllow: /\nSitemap: /map.xml"),
    );
    let mut maps = Vec::new();
    for n in 0..10 {
        let (seed, mapped) = (format!("/seed{n}"), format!("/mapped{n}"));
        let at = |path: &str| format!("http://one.test{path}");
        site = match n {
            0..5 => site
                .on(&at(&seed), Answer::redirect(302, &format!("/hop{n}")))
                .on(
                    &at(&format!("/hop{n}")),
                    Answer::page(&[&format!("/found{n}")]),
                ),
            _ => site.then(
                &at(&seed),
                [Answer::status(503), Answer::page(&[&format!("/found{n}")])],
            ),
        };
        site = site
            .on(&at(&format!("/found{n}")), Answer::ok())
            .on(&at(&mapped), Answer::ok());
        maps.push(mapped);
    }
    let links: Vec<&str> = maps.iter().map(String::as_str).collect();
    site = site.on("http://one.test/map.xml", Answer::page(&links));
    let policy = unpaced().host_delay(secs(0.5)).build().unwrap();
    let mut crawl =
        Driver::obeying(policy, site).seeds((0..10).map(|n| format!("http://one.test/seed{n}")));
    let stats = crawl.run();
    assert_eq!(
        stats.succeeded,
        10 + 10 + 10 + 1,
        "seeds, links, mapped pages and the sitemap"
    );
    let at = crawl.watch.seconds();
    assert!(
        at.windows(2).all(|pair| pair[1] - pair[0] >= 0.5),
        "{:?}",
        crawl.watch.lines()
    );
}

/// C08
#[test]
fn a_hop_to_another_host_counts_against_that_hosts_gap() {
    let site = Site::new()
        .on(
            "http://a.test/",
            Answer::redirect(302, "http://b.test/x").takes(secs(1.0)),
        )
        .pages("http://b.test/", 0..2)
        .on("http://b.test/x", Answer::ok());
    let policy = unpaced().host_delay(secs(3.0)).build().unwrap();
    let mut crawl =
        Driver::new(policy, site).seeds(["http://b.test/0", "http://a.test/", "http://b.test/1"]);
    crawl.run();
    assert_eq!(
        crawl.watch.lines(),
        [
            "0 http://b.test/0",
            "0 http://a.test/",
            "3 http://b.test/x",
            "6 http://b.test/1"
        ]
    );
}

#[test]
fn no_more_requests_are_in_flight_on_a_host_than_allowed() {
    let site = Site::new().pages("http://a.test/", 0..5).latency(secs(1.0));
    let policy = unpaced().host_concurrency(2).build().unwrap();
    let mut crawl = Driver::new(policy, site).seeds((0..5).map(|n| format!("http://a.test/{n}")));
    crawl.run();
    assert_eq!(crawl.watch.seconds(), [0.0, 0.0, 1.0, 1.0, 2.0]);
}

#[test]
fn one_slow_or_paused_host_holds_up_no_other() {
    let site = Site::new()
        .on("http://slow.test/0", Answer::ok().takes(secs(60.0)))
        .on("http://slow.test/1", Answer::ok())
        .on("http://paused.test/0", Answer::status(429).retry_after(50))
        .pages("http://paused.test/", 1..3)
        .pages("http://fine.test/", 0..4);
    let policy = unpaced()
        .concurrency(2)
        .host_concurrency(1)
        .host_delay(secs(1.0))
        .retry(exact_retries(0))
        .build()
        .unwrap();
    let urls = [
        "slow.test/0",
        "slow.test/1",
        "paused.test/0",
        "paused.test/1",
        "paused.test/2",
    ];
    let mut crawl = Driver::new(policy, site)
        .seeds(urls.map(|url| format!("http://{url}")))
        .seeds((0..4).map(|n| format!("http://fine.test/{n}")));
    crawl.run();
    assert_eq!(crawl.watch.seconds_of("fine.test"), [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(crawl.watch.seconds_of("paused.test"), [0.0, 50.0, 51.0]);
    assert_eq!(crawl.watch.seconds_of("slow.test"), [0.0, 60.0]);
}

#[test]
fn a_hosts_own_rule_wins_over_the_policy_and_one_that_was_never_met_is_named() {
    let site = Site::new()
        .pages("http://www.slow.test/", 0..3)
        .pages("http://quick.test/", 0..3)
        .pages("http://plain.test/", 0..3);
    let rule = |name: &str, delay: f64| {
        let mut rule = HostRule::new(name);
        rule.delay = Some(secs(delay));
        rule
    };
    let policy = unpaced()
        .host_delay(secs(1.0))
        .host(rule("*.slow.test", 2.5))
        .host(rule("QUICK.test.", 0.25))
        .host(rule("never.test", 9.0))
        .build()
        .unwrap();
    let hosts = ["www.slow", "quick", "plain"];
    let urls = hosts
        .iter()
        .flat_map(|host| (0..3).map(move |n| format!("http://{host}.test/{n}")));
    let mut crawl = Driver::new(policy, site).seeds(urls);
    let stats = crawl.run();
    assert_eq!(crawl.watch.seconds_of("slow.test"), [0.0, 2.5, 5.0]);
    assert_eq!(crawl.watch.seconds_of("quick.test"), [0.0, 0.25, 0.5]);
    assert_eq!(crawl.watch.seconds_of("plain.test"), [0.0, 1.0, 2.0]);
    assert_eq!(stats.unmatched_host_rules, ["never.test"]);
}

#[test]
fn schemes_ports_and_a_final_dot_share_the_pause_of_their_host() {
    let site = Site::new()
        .on("http://a.test/", Answer::ok())
        .on("https://a.test/", Answer::ok())
        .on("http://a.test:8080/", Answer::ok())
        .on("http://a.test./", Answer::ok());
    let policy = unpaced().host_delay(secs(1.0)).build().unwrap();
    let mut crawl = Driver::new(policy, site).seeds([
        "http://a.test/",
        "https://a.test/",
        "http://a.test:8080/",
        "http://a.test./",
    ]);
    crawl.run();
    assert_eq!(crawl.watch.seconds(), [0.0, 1.0, 2.0, 3.0]);
}

/// C10
#[test]
fn a_chain_of_single_links_keeps_its_gap() {
    let site = (0..5).fold(Site::new(), |site, n| {
        let next = format!("/{}", n + 1);
        site.on(&format!("http://a.test/{n}"), Answer::page(&[&next]))
    });
    let policy = unpaced().host_delay(secs(2.0)).build().unwrap();
    let mut crawl = Driver::obeying(policy, site).seed("http://a.test/0");
    crawl.run();
    assert_eq!(
        crawl.watch.seconds_of("a.test/"),
        [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0]
    );
}

/// So many hosts with one page each, which links to the next three. Of ten one
/// is dead and one throttles.
struct Hosts(usize);

impl World for Hosts {
    fn answer(&mut self, request: &Request, robots: bool, _at: Duration) -> Answer {
        let host = request.url().host_str().unwrap_or_default();
        let n: usize = host
            .trim_start_matches('h')
            .trim_end_matches(".test")
            .parse()
            .unwrap();
        let answer = match n % 10 {
            _ if robots => Answer::status(404),
            3 => Answer::broken(ErrorKind::Connect),
            4 => Answer::status(429),
            _ => {
                let next = (n + 1..=n + 3).filter(|next| *next < self.0);
                Answer::ok().links(next.map(|next| format!("http://h{next}.test/")))
            }
        };
        answer.takes(secs(1.0))
    }
}

/// Looks how many hosts are known.
#[derive(Default)]
struct Census {
    most: usize,
}

impl Watch for Census {
    fn ended(&mut self, _at: Instant, _ended: &Ended<'_>, engine: &Engine) {
        self.most = self.most.max(engine.hosts_known());
    }
}

/// C10
#[test]
fn hosts_with_nothing_more_to_do_are_forgotten() {
    // Origins keep their rules, but not for ever either.
    for (hosts, obey_robots, limit) in [(200_000, false, 60_000), (60_000, true, 45_000)] {
        let policy = unpaced()
            .concurrency(32)
            .host_delay(secs(2.0))
            .retry(exact_retries(0))
            .build()
            .unwrap();
        let options = EngineOptions {
            obey_robots,
            ..EngineOptions::default()
        };
        let mut crawl =
            Driver::with(policy, options, Hosts(hosts), Census::default()).scope(&["*"]);
        crawl.push_seed(Request::get("http://h0.test/").unwrap());
        let stats = crawl.drive();
        assert_eq!(stats.discovered, hosts as u64);
        assert_eq!(stats.succeeded + stats.failed, stats.discovered);
        let most = crawl.watch.most;
        assert!(
            most < limit,
            "{most} of {hosts} hosts known at once, robots: {obey_robots}"
        );
    }
}

/// C11
#[test]
fn a_url_that_many_pages_link_to_is_asked_for_once() {
    let site = (0..100).fold(Site::new(), |site, n| {
        site.on(
            &format!("http://a.test/{n}"),
            Answer::page(&["/shared", "/shared#part"]),
        )
    });
    let site = site.on("http://a.test/shared", Answer::ok().takes(secs(1.0)));
    let policy = unpaced()
        .concurrency(16)
        .host_concurrency(16)
        .build()
        .unwrap();
    let mut crawl = Driver::new(policy, site).seeds((0..100).map(|n| format!("http://a.test/{n}")));
    let stats = crawl.run();
    assert_eq!(crawl.watch.count("/shared"), 1);
    assert_eq!(
        (stats.requests, stats.discovered, stats.succeeded),
        (101, 101, 101)
    );
}

#[test]
fn a_url_is_asked_for_once_whatever_its_spelling() {
    let policy = unpaced().build().unwrap();
    let mut crawl = Driver::new(policy, Site::new());
    let mut push = |url: &str| {
        let candidate = crawl.admit.seed(Request::get(url).unwrap());
        crawl.engine.push(candidate, crawl.now())
    };
    assert_eq!(push("http://Site.test:80/a/../b?q#x"), Admission::Queued);
    assert_eq!(push("http://site.test/b?q"), Admission::Duplicate);
    assert_eq!(push("http://site.test/%2E/b?q#y"), Admission::Duplicate);
    assert_eq!(push("http://site.test:8080/b?q"), Admission::Queued);
    assert_eq!(push("http://site.test/b?"), Admission::Queued);
}
