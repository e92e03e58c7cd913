//! State between runs, through the library: nothing is forgotten, nothing is
//! done twice.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use canter::extract::{Context, Emit, Html, Queue};
use canter::fetch::{Answer, Fetch, MockSite, Response};
use canter::ledger::{Existing, OutputSpec};
use canter::{Crawler, CrawlerBuilder, Outcome, Policy, Request, Result, RunEnd, Url};
use common::TempDir;

const PAGES: usize = 40;

/// Forty pages that all link to one another.
fn site() -> MockSite {
    let links: String = (0..PAGES)
        .map(|n| format!("<a href=/{n}>{n}</a>"))
        .collect();
    MockSite::new().otherwise(move |request| {
        let n: usize = request.url().path()[1..].parse().ok()?;
        (n < PAGES).then(|| Answer::new().html(format!("<title>{n}</title>{links}")))
    })
}

fn record(page: Html, queue: Queue, emit: Emit<BTreeMap<&'static str, String>>) -> Result<Outcome> {
    let title = page.title().unwrap_or_default().to_owned();
    emit.push(&BTreeMap::from([
        ("url", page.url().to_string()),
        ("title", title),
    ]))?;
    queue.follow_all(page.links());
    Ok(Outcome::Done)
}

fn crawl(
    dir: &TempDir,
    fetch: impl Fetch + 'static,
    policy: canter::PolicyBuilder,
) -> CrawlerBuilder {
    Crawler::builder()
        .seed("http://a.test/0")
        .policy(policy.build().expect("a valid policy"))
        .fetcher(fetch)
        .state(dir.join("state"))
        .output(OutputSpec::new(dir.join("pages.jsonl")))
        .log(OutputSpec::new(dir.join("log.jsonl")))
        .handler(record)
}

fn urls(dir: &TempDir, file: &str) -> Vec<String> {
    common::jsonl::read(dir.join(file))
        .iter()
        .map(|line| line["url"].as_str().expect("a URL").to_owned())
        .collect()
}

fn assert_each_once(mut urls: Vec<String>, count: usize) {
    let total = urls.len();
    urls.sort();
    urls.dedup();
    assert_eq!((urls.len(), total), (count, count));
}

#[test]
fn runs_that_hit_a_bound_add_up_to_one_crawl() {
    let dir = TempDir::new();
    let site = site();
    let mut runs = 0;
    loop {
        runs += 1;
        let policy = Policy::builder().max_requests(7);
        let stats = crawl(&dir, site.clone(), policy)
            .build()
            .expect("a crawl")
            .run()
            .expect("a run");
        assert!(stats.adds_up(), "{stats:?}");
        assert!(stats.requests <= 7);
        assert!(stats.began_with > 0, "run {runs}");
        if stats.end == Some(RunEnd::Complete) {
            break;
        }
        assert!(runs < 20, "it does not end: {stats}");
    }
    assert_each_once(urls(&dir, "pages.jsonl"), PAGES);
    assert_each_once(urls(&dir, "log.jsonl"), PAGES);
    let asked = site.urls();
    assert_eq!(
        asked
            .iter()
            .filter(|url| url.ends_with("robots.txt"))
            .count(),
        1,
        "24 h"
    );
    assert_each_once(asked, PAGES + 1);
}

#[test]
fn a_url_that_failed_returns_in_the_next_run_with_fresh_retries() {
    struct Flaky {
        down: Arc<AtomicBool>,
        site: MockSite,
    }
    impl Fetch for Flaky {
        fn fetch(&self, request: &Request, deadline: Instant) -> Result<Response> {
            if self.down.load(Ordering::SeqCst) && request.url().path() == "/7" {
                return Ok(Response::new(request.url().clone(), 500));
            }
            self.site.fetch(request, deadline)
        }
    }
    let dir = TempDir::new();
    let down = Arc::new(AtomicBool::new(true));
    let run = || {
        let retry = canter::RetryPolicy {
            delay: Duration::from_millis(1),
            ..canter::RetryPolicy::new(2)
        };
        let fetch = Flaky {
            down: Arc::clone(&down),
            site: site(),
        };
        let policy = Policy::builder().retry(retry);
        // Nothing else is due so soon.
        let crawler = crawl(&dir, fetch, policy).revisit(Duration::from_secs(3600));
        crawler.build().expect("a crawl").run().expect("a run")
    };
    let first = run();
    assert_eq!(
        (first.succeeded, first.failed, first.retried),
        (PAGES as u64 - 1, 1, 2)
    );
    down.store(false, Ordering::SeqCst);
    let second = run();
    assert_eq!(
        (second.succeeded, second.failed, second.requests),
        (1, 0, 1),
        "{second}"
    );
    assert_each_once(urls(&dir, "pages.jsonl"), PAGES);
}

#[test]
fn a_server_that_answers_a_condition_with_412_loses_no_page_in_a_later_pass() {
    let dir = TempDir::new();
    let site = MockSite::new().otherwise(move |request| {
        let known = request.headers().iter();
        let mut known = known.filter(|(name, _)| name.eq_ignore_ascii_case("if-none-match"));
        match (request.url().path(), known.next()) {
            ("/0", Some(_)) => Some(Answer::new().status(412)),
            ("/0", None) => Some(
                Answer::new()
                    .html("<title>page</title>")
                    .header("etag", "1"),
            ),
            _ => None,
        }
    });
    let run = |retries: u32| {
        let retry = canter::RetryPolicy {
            delay: Duration::from_millis(1),
            ..canter::RetryPolicy::new(retries)
        };
        let policy = Policy::builder().retry(retry);
        let crawler = crawl(&dir, site.clone(), policy);
        crawler.build().expect("a crawl").run().expect("a run")
    };
    assert_eq!(run(1).succeeded, 1);
    for pass in 2..5 {
        let stats = run(1);
        let counts = (stats.pass, stats.succeeded, stats.failed, stats.retried);
        assert_eq!(counts, (pass, 1, 0, 1), "{stats}");
    }
    // No retry is wanted: it fails as what it is.
    assert_eq!(run(0).failed, 1);
    let log = common::jsonl::read(dir.join("log.jsonl"));
    let last = log.last().expect("a line");
    assert_eq!(
        (&last["end"], &last["status"]),
        (&"failed".into(), &412.into())
    );
}

#[test]
fn a_new_pass_asks_with_validators_and_says_what_changed_and_what_is_gone() {
    let dir = TempDir::new();
    let page = |tag: &'static str, body: &'static str| {
        move |request: &Request| {
            let known = request
                .headers()
                .iter()
                .any(|(name, value)| name.eq_ignore_ascii_case("if-none-match") && value == tag);
            if known {
                Answer::new().status(304)
            } else {
                Answer::new().html(body).header("etag", tag)
            }
        }
    };
    let first = MockSite::new().otherwise(move |request| match request.url().path() {
        "/0" => Some(page("W/\"a\"", "<a href=/list><a href=/gone>")(request)),
        "/list" => Some(Answer::new().html("<title>one</title>")),
        "/gone" => Some(Answer::new().html("<title>gone</title>")),
        _ => None,
    });
    let second = MockSite::new().otherwise(move |request| match request.url().path() {
        "/0" => Some(page("W/\"a\"", "<a href=/list><a href=/gone>")(request)),
        "/list" => Some(Answer::new().html("<title>two</title><a href=/new>")),
        "/new" => Some(Answer::new().html("<title>new</title>")),
        _ => None,
    });
    let handler =
        |cx: Context, page: Html, queue: Queue, emit: Emit<(String, Option<bool>)>| -> Result<()> {
            emit.push(&(page.url().path().to_owned(), cx.changed()?))?;
            queue.follow_all(page.links());
            Ok(())
        };
    let run = |site: MockSite| {
        let retry = canter::RetryPolicy::new(0);
        let policy = Policy::builder().retry(retry).concurrency(1);
        crawl(&dir, site, policy)
            .handler(handler)
            .build()
            .expect("a crawl")
            .run()
            .expect("a run")
    };
    let stats = run(first);
    assert_eq!((stats.succeeded, stats.pass), (3, 1));
    let stats = run(second.clone());
    assert_eq!(
        (stats.succeeded, stats.unchanged, stats.failed, stats.pass),
        (3, 1, 1, 2),
        "{stats}"
    );
    assert_eq!(
        second.count("http://a.test/new"),
        1,
        "a link of the changed page"
    );
    let lines = common::jsonl::read(dir.join("pages.jsonl"));
    let passes: Vec<String> = lines.iter().map(ToString::to_string).collect();
    assert_eq!(
        passes,
        [
            r#"["/0",null]"#,
            r#"["/list",null]"#,
            r#"["/gone",null]"#,
            r#"["/list",true]"#,
            r#"["/new",null]"#
        ]
    );
    let gone = common::jsonl::read(dir.join("log.jsonl"))
        .into_iter()
        .find(|line| line["end"] == "failed")
        .expect("a line for the page that is gone");
    assert_eq!(gone["status"], 404);
    assert!(
        gone["message"]
            .as_str()
            .expect("a message")
            .contains("gone"),
        "{gone}"
    );
}

#[test]
fn a_page_that_is_not_due_is_not_asked_for_in_a_new_pass() {
    let dir = TempDir::new();
    let run = |site: &MockSite| {
        crawl(&dir, site.clone(), Policy::builder())
            .revisit(Duration::from_secs(3600))
            .build()
            .expect("a crawl")
            .run()
            .expect("a run")
    };
    assert_eq!(run(&site()).succeeded, PAGES as u64);
    let again = site();
    let stats = run(&again);
    assert_eq!(stats.requests, 0, "{:?}", again.urls());
    assert_eq!(
        stats.end,
        Some(RunEnd::Complete),
        "nothing was due: that is no failure"
    );
}

#[test]
fn an_attempt_that_fails_leaves_no_record_and_no_link() {
    let dir = TempDir::new();
    let stats = crawl(&dir, site(), Policy::builder())
        .handler(
            |url: Url, queue: Queue, emit: Emit<u32>| -> Result<Outcome> {
                emit.push(&1)?;
                queue.follow("http://a.test/1");
                if url.path() == "/0" {
                    panic!("half way")
                } else {
                    Ok(Outcome::Done)
                }
            },
        )
        .build()
        .expect("a crawl")
        .run()
        .expect("a run");
    assert_eq!((stats.failed, stats.discovered, stats.records), (1, 1, 0));
    assert!(common::jsonl::read(dir.join("pages.jsonl")).is_empty());
}

#[test]
fn an_output_that_is_there_can_be_refused() {
    let dir = TempDir::new();
    dir.write("pages.jsonl", "{}\n");
    let spec = OutputSpec::new(dir.join("pages.jsonl")).with_existing(Existing::Refuse);
    let site = site();
    let error = Crawler::builder()
        .seed("http://a.test/0")
        .fetcher(site.clone())
        .output(spec)
        .handler(record)
        .build()
        .expect("a crawl")
        .run()
        .expect_err("the file is there");
    assert!(error.to_string().contains("pages.jsonl"), "{error}");
    assert!(site.urls().is_empty(), "before any request");
}

#[test]
fn the_same_settings_are_the_same_in_the_next_run() {
    let dir = TempDir::new();
    for hosts in [["a.test", "b.test"], ["b.test", "a.test"]] {
        let scope = canter::Scope::builder()
            .hosts(hosts)
            .build()
            .expect("a scope");
        let crawler = crawl(&dir, site(), Policy::builder().max_requests(5)).scope(scope);
        crawler.build().expect("a crawl").run().expect("a run");
    }
    let logged = urls(&dir, "log.jsonl");
    let count = logged.len();
    assert_each_once(logged, count);
    let state = std::fs::read_to_string(dir.join("state").join("journal.jsonl"));
    let heads = state.expect("a state").matches("\"settings\"").count();
    assert_eq!(
        heads, 1,
        "the settings are told once, since they have not changed"
    );
}

/// When each request was made, by a site that answers at once.
#[derive(Clone)]
struct Clock {
    site: MockSite,
    asked: Arc<std::sync::Mutex<Vec<Instant>>>,
}

impl Fetch for Clock {
    fn fetch(&self, request: &Request, deadline: Instant) -> Result<Response> {
        self.asked.lock().expect("no panic").push(Instant::now());
        self.site.fetch(request, deadline)
    }
}

#[test]
fn two_runs_are_not_faster_than_one() {
    let gap = Duration::from_millis(300);
    for with_state in [true, false] {
        let dir = TempDir::new();
        let clock = Clock {
            site: MockSite::new(),
            asked: Arc::default(),
        };
        let builder = || {
            let policy = Policy::builder().host_delay(gap).build().expect("a policy");
            let crawler = Crawler::builder()
                .seed("http://a.test/")
                .policy(policy)
                .fetcher(clock.clone())
                .handler(record);
            if with_state {
                crawler.state(dir.join("state"))
            } else {
                crawler
            }
        };
        let crawler = builder().build().expect("a crawl");
        crawler.run().expect("a run");
        crawler.run().expect("another run of the same process");
        if with_state {
            builder()
                .build()
                .expect("a crawl")
                .run()
                .expect("a run of another process");
        }
        let asked = clock.asked.lock().expect("no panic").clone();
        assert!(asked.len() >= 4, "{}", asked.len());
        for pair in asked.windows(2) {
            assert!(
                pair[1] - pair[0] >= gap,
                "{:?} with state {with_state}",
                pair[1] - pair[0]
            );
        }
    }
}
