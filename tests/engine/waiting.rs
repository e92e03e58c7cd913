//! Idleness can be explained: the reason for each wait is the true one.

use canter::crawler::Waiting;
use canter::{RetryAfterScope, Tag};

use crate::drive::{Answer, Driver, Handled, Link, Site};
use crate::{exact_retries, secs, unpaced};

fn pages(host: &str, n: usize) -> Vec<String> {
    (0..n).map(|n| format!("http://{host}.test/{n}")).collect()
}

/// The reason that holds at a second, and until when.
fn at(crawl: &Driver, second: f64) -> (Option<f64>, Waiting) {
    let waits = &crawl.watch.waits;
    let (_, until, waiting) = waits
        .iter()
        .rev()
        .find(|(from, _, _)| from.as_secs_f64() <= second)
        .expect("a wait");
    (until.map(|until| until.as_secs_f64()), waiting.clone())
}

#[test]
fn the_rate_of_the_crawl() {
    let site = Site::new().pages("http://a.test/", 0..3);
    let policy = unpaced().max_requests_per_minute(60).build().unwrap();
    let mut crawl = Driver::new(policy, site).seeds(pages("a", 3));
    crawl.run();
    assert_eq!(at(&crawl, 0.5), (Some(1.0), Waiting::Rate));
}

#[test]
fn the_gap_and_the_pause_of_a_host() {
    let site = Site::new()
        .pages("http://a.test/", 0..2)
        .on("http://a.test/2", Answer::status(503).retry_after(60));
    let policy = unpaced()
        .host_delay(secs(5.0))
        .retry(exact_retries(0))
        .build()
        .unwrap();
    let mut crawl = Driver::new(policy, site).seeds(pages("a", 4));
    crawl.run();
    assert_eq!(
        at(&crawl, 0.0),
        (Some(5.0), Waiting::HostGap("a.test".into()))
    );
    assert_eq!(
        at(&crawl, 11.0),
        (Some(70.0), Waiting::HostPause("a.test".into()))
    );
}

#[test]
fn requests_in_flight_on_hosts_at_their_limit() {
    let site = Site::new().pages("http://a.test/", 0..3).latency(secs(1.0));
    let policy = unpaced().host_concurrency(1).build().unwrap();
    let mut crawl = Driver::new(policy, site).seeds(pages("a", 3));
    crawl.run();
    assert_eq!(at(&crawl, 0.5), (None, Waiting::HostLimit));
    assert_eq!(at(&crawl, 2.5), (None, Waiting::NothingQueued));
}

#[test]
fn the_cap_and_the_warm_up() {
    let site = Site::new()
        .pages("http://a.test/", 0..9)
        .latency(secs(10.0));
    let policy = unpaced().concurrency(2).warmup(secs(4.0)).build().unwrap();
    let mut crawl = Driver::new(policy, site).seeds(pages("a", 9));
    crawl.run();
    assert_eq!(at(&crawl, 1.0), (Some(4.0), Waiting::WarmUp));
    assert_eq!(at(&crawl, 5.0), (None, Waiting::Cap));
}

#[test]
fn the_pause_of_a_tag_and_of_the_crawl_and_the_delay_of_a_retry() {
    let site = Site::new().on(
        "http://a.test/0",
        Answer::handled(Handled::Backoff(None, secs(60.0))),
    );
    let mut crawl = Driver::new(unpaced().retry(exact_retries(0)).build().unwrap(), site);
    crawl.push_seed(
        canter::Request::get("http://a.test/0")
            .unwrap()
            .with_tag("t"),
    );
    crawl.push_seed(
        canter::Request::get("http://b.test/0")
            .unwrap()
            .with_tag("t"),
    );
    crawl.push_seed(
        canter::Request::get("http://b.test/1")
            .unwrap()
            .with_tag("t"),
    );
    let policy = unpaced()
        .concurrency(1)
        .retry(exact_retries(0))
        .build()
        .unwrap();
    let site = Site::new()
        .on(
            "http://a.test/0",
            Answer::handled(Handled::Backoff(None, secs(60.0))),
        )
        .on("http://b.test/0", Answer::ok());
    let mut crawl = Driver::new(policy, site);
    for host in ["a", "b"] {
        let url = format!("http://{host}.test/0");
        crawl.push_seed(canter::Request::get(url).unwrap().with_tag("t"));
    }
    crawl.run();
    assert_eq!(
        at(&crawl, 1.0),
        (Some(60.0), Waiting::TagPause(Tag::from("t")))
    );

    let site = Site::new().on("http://a.test/0", Answer::status(503).retry_after(60));
    let policy = unpaced()
        .concurrency(1)
        .retry(exact_retries(0))
        .retry_after_scope(RetryAfterScope::Crawl)
        .build()
        .unwrap();
    let mut crawl = Driver::new(policy, site).seeds(["http://a.test/0", "http://b.test/0"]);
    crawl.run();
    assert_eq!(at(&crawl, 1.0), (Some(60.0), Waiting::CrawlPause));

    let site = Site::new().on("http://a.test/0", Answer::status(500));
    let mut crawl = Driver::new(unpaced().build().unwrap(), site).seeds(pages("a", 1));
    crawl.run();
    assert_eq!(
        at(&crawl, 0.25),
        (Some(0.5), Waiting::RetryDelay("a.test".into()))
    );
}

#[test]
fn a_robots_txt_even_while_a_page_is_in_flight_elsewhere() {
    let site = Site::new()
        .on(
            "http://a.test/robots.txt",
            Answer::robots("").takes(secs(5.0)),
        )
        .on("http://a.test/0", Answer::ok())
        .on("http://b.test/0", Answer::ok().takes(secs(9.0)));
    let mut crawl = Driver::obeying(unpaced().build().unwrap(), site)
        .seeds(["http://a.test/0", "http://b.test/0"]);
    crawl.run();
    assert_eq!(at(&crawl, 1.0), (None, Waiting::Robots));
    assert_eq!(at(&crawl, 6.0), (None, Waiting::NothingQueued));
}

#[test]
fn answers_when_all_that_is_queued_is_left_for_the_next_run() {
    let site = Site::new()
        .on("http://a.test/0", Answer::status(403))
        .on("http://b.test/0", Answer::ok().takes(secs(9.0)));
    let policy = unpaced()
        .host_concurrency(1)
        .max_host_failures(1)
        .build()
        .unwrap();
    let mut crawl =
        Driver::new(policy, site).seeds(["http://a.test/0", "http://a.test/1", "http://b.test/0"]);
    let stats = crawl.run();
    assert_eq!(stats.pending(), 1);
    assert_eq!(at(&crawl, 1.0), (None, Waiting::NothingQueued));
}

#[test]
fn what_is_in_flight_while_the_run_is_stopping() {
    let site = Site::new().pages("http://a.test/", 0..3).latency(secs(5.0));
    let policy = unpaced().concurrency(1).build().unwrap();
    let mut crawl = Driver::new(policy, site)
        .seeds(pages("a", 3))
        .stop_at(secs(1.0));
    crawl.run();
    assert_eq!(at(&crawl, 2.0), (Some(11.0), Waiting::Stopping));
}

#[test]
fn the_one_that_lasts_the_longest_of_rate_and_gap() {
    let site = Site::new().pages("http://a.test/", 0..3);
    let policy = unpaced()
        .max_requests_per_minute(60)
        .host_delay(secs(3.0))
        .build()
        .unwrap();
    let mut crawl = Driver::new(policy, site).seeds(pages("a", 3));
    crawl.run();
    assert_eq!(
        at(&crawl, 0.0),
        (Some(3.0), Waiting::HostGap("a.test".into()))
    );
    let site = Site::new().pages("http://a.test/", 0..3);
    let policy = unpaced()
        .max_requests_per_minute(10)
        .host_delay(secs(3.0))
        .build()
        .unwrap();
    let mut crawl = Driver::new(policy, site).seeds(pages("a", 3));
    crawl.run();
    assert_eq!(at(&crawl, 0.0), (Some(6.0), Waiting::Rate));
}

#[test]
fn a_links_priority_decides_what_goes_next_and_hosts_take_turns() {
    let link = |href: &str, priority| Link {
        priority,
        ..Link::from(href)
    };
    let site = Site::new()
        .on(
            "http://a.test/0",
            Answer::ok().links([link("/1", 0), link("/2", 5), link("/3", -1), link("/4", 5)]),
        )
        .pages("http://a.test/", 1..5);
    let policy = unpaced().concurrency(1).build().unwrap();
    let mut crawl = Driver::new(policy, site).seeds(pages("a", 1));
    crawl.run();
    let order: Vec<&str> = crawl
        .watch
        .urls()
        .iter()
        .map(|url| &url["http://a.test/".len()..])
        .collect();
    assert_eq!(order, ["0", "2", "4", "1", "3"]);
}

#[test]
fn a_tag_that_is_paused_again_is_waited_for_to_the_end_of_the_longer_pause() {
    let backoff = |pause: f64, takes: f64| {
        Answer::handled(Handled::Backoff(None, secs(pause))).takes(secs(takes))
    };
    let site = Site::new()
        .on("http://a.test/0", backoff(10.0, 1.0))
        .on("http://a.test/1", backoff(30.0, 2.0))
        .on("http://a.test/2", Answer::ok());
    let policy = unpaced()
        .concurrency(2)
        .retry(exact_retries(0))
        .build()
        .unwrap();
    let mut crawl = Driver::new(policy, site);
    for url in pages("a", 3) {
        crawl.push_seed(canter::Request::get(url).unwrap().with_tag("t"));
    }
    crawl.run();
    let tag = Waiting::TagPause(Tag::from("t"));
    assert_eq!(at(&crawl, 1.5), (Some(11.0), tag.clone()));
    assert_eq!(at(&crawl, 12.0), (Some(32.0), tag));
}

#[test]
fn not_a_robots_txt_whose_last_url_was_given_up_with_its_tag() {
    let abort = Handled::Abort(Some(Tag::from("t")));
    let site = Site::new()
        .on(
            "http://a.test/robots.txt",
            Answer::robots("").takes(secs(9.0)),
        )
        .on("http://b.test/0", Answer::handled(abort).takes(secs(1.0)));
    let mut crawl = Driver::obeying(unpaced().build().unwrap(), site).seed("http://b.test/0");
    crawl.push_seed(
        canter::Request::get("http://a.test/0")
            .unwrap()
            .with_tag("t"),
    );
    crawl.run();
    assert_eq!(at(&crawl, 0.5), (None, Waiting::Robots));
    assert_eq!(at(&crawl, 5.0), (None, Waiting::NothingQueued));
}
