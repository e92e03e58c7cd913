//! Real threads: crawls end by themselves, run in parallel, and wake few
//! threads for each request.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use canter::extract::{Html, Queue};
use canter::fetch::{Fetch, Response};
use canter::{Crawler, Outcome, Policy, Request, Result, RunEnd, Stats};

/// Long enough for anything that does not hang, on a loaded machine.
const WATCHDOG: Duration = Duration::from_secs(120);

/// Runs `work` on a thread of its own; panics, naming `what`, if it hangs.
fn watched<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || {
        let _ = sender.send(work());
    });
    match receiver.recv_timeout(WATCHDOG) {
        Ok(value) => value,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("{what}: hangs"),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            std::panic::resume_unwind(thread.join().expect_err("it did not send"))
        }
    }
}

/// A site on which page `n` links to the pages `2n` and `2n + 1`, up to `size`.
struct Tree {
    size: usize,
    latency: Duration,
    asked: AtomicUsize,
}

impl Tree {
    fn new(size: usize, latency: Duration) -> Arc<Self> {
        Arc::new(Tree {
            size,
            latency,
            asked: AtomicUsize::new(0),
        })
    }
}

impl Fetch for Tree {
    fn fetch(&self, request: &Request, _deadline: Instant) -> Result<Response> {
        let url = request.url();
        if url.path() == "/robots.txt" {
            return Ok(Response::new(url.clone(), 404));
        }
        self.asked.fetch_add(1, Ordering::SeqCst);
        thread::sleep(self.latency);
        let n: usize = url.path()[1..].parse().expect("a number");
        let links: String = [2 * n, 2 * n + 1]
            .iter()
            .filter(|child| **child <= self.size)
            .map(|child| format!("<a href=/{child}>"))
            .collect();
        Ok(Response::new(url.clone(), 200)
            .with_header("content-type", "text/html")
            .with_body(links))
    }
}

fn policy(concurrency: usize) -> canter::PolicyBuilder {
    Policy::builder()
        .concurrency(concurrency)
        .host_concurrency(concurrency)
}

fn follow(page: Html, queue: Queue) {
    queue.follow_all(page.links());
}

#[test]
fn thousands_of_tiny_crawls_end_by_themselves() {
    watched("tiny crawls", || {
        for round in 0..3_000_usize {
            let size = 1 + round % 13;
            let tree = Tree::new(size, Duration::ZERO);
            let stats = Crawler::builder()
                .seed("http://a.test/1")
                .policy(policy(1 + round % 9).build().expect("valid"))
                .fetcher(Arc::clone(&tree))
                .handler(follow)
                .build()
                .expect("a crawl")
                .run()
                .expect("a run");
            assert_eq!(stats.succeeded, size as u64, "round {round}");
            assert!(stats.adds_up(), "round {round}: {stats:?}");
            assert_eq!(tree.asked.load(Ordering::SeqCst), size, "round {round}");
        }
    });
}

#[test]
fn crawls_with_jitter_gaps_and_a_rate_end_by_themselves() {
    watched("paced crawls", || {
        for round in 0..40_u64 {
            let builder = policy(1 + (round % 7) as usize)
                .jitter(Duration::from_millis(round % 3))
                .host_delay(Duration::from_micros(200 * (round % 5)))
                .max_requests_per_minute(120_000);
            let stats = Crawler::builder()
                .seeds(["http://a.test/1", "http://b.test/1", "http://c.test/1"])
                .policy(builder.build().expect("valid"))
                .fetcher(Tree::new(20, Duration::ZERO))
                .handler(follow)
                .build()
                .expect("a crawl")
                .run()
                .expect("a run");
            assert_eq!(stats.succeeded, 60, "round {round}");
        }
    });
}

#[test]
fn two_hundred_equal_jobs_on_two_hundred_threads_take_about_one_latency() {
    watched("parallel jobs", || {
        let latency = Duration::from_millis(250);
        let seeds: Vec<String> = (1..=200).map(|n| format!("http://a.test/{n}")).collect();
        let crawler = Crawler::builder()
            .seeds(&seeds)
            .policy(policy(200).build().expect("valid"))
            .obey_robots(false)
            .fetcher(Tree::new(0, latency))
            .handler(follow)
            .build()
            .expect("a crawl");
        let start = Instant::now();
        let stats = crawler.run().expect("a run");
        let rounds = start.elapsed().as_secs_f64() / latency.as_secs_f64();
        assert_eq!(stats.succeeded, 200);
        assert!(
            rounds < 2.0,
            "one after the other in part: {rounds:.2} latencies"
        );
        let wakes = crawler.wakes();
        assert!(wakes <= 4 * 200, "{wakes} wakes for 200 requests");
    });
}

#[test]
fn few_threads_are_woken_for_each_request_of_a_paced_crawl() {
    watched("wakes", || {
        let crawler = Crawler::builder()
            .seed("http://a.test/1")
            .policy(
                policy(50)
                    .max_requests_per_minute(60_000)
                    .build()
                    .expect("valid"),
            )
            .fetcher(Tree::new(300, Duration::from_millis(5)))
            .handler(follow)
            .build()
            .expect("a crawl");
        let stats = crawler.run().expect("a run");
        assert_eq!(stats.succeeded, 300);
        let wakes = crawler.wakes();
        assert!(
            wakes <= 4 * stats.requests,
            "{wakes} wakes for {} requests",
            stats.requests
        );
    });
}

#[test]
fn a_run_on_forty_threads_ends_though_every_handler_panics() {
    watched("panics", || {
        let seeds: Vec<String> = (1..=400).map(|n| format!("http://a.test/{n}")).collect();
        let stats: Stats = Crawler::builder()
            .seeds(&seeds)
            .policy(policy(40).build().expect("valid"))
            .fetcher(Tree::new(0, Duration::ZERO))
            .handler(|page: Html, queue: Queue| -> Result<Outcome> {
                let _ = queue.follow("/never");
                panic!("no good: {}", page.url())
            })
            .build()
            .expect("a crawl")
            .run()
            .expect("a run");
        assert_eq!(stats.failed, 400);
        assert_eq!(
            stats.discovered, 400,
            "a link of an attempt that panicked was followed"
        );
    });
}

#[test]
fn a_stop_wakes_whoever_waits_however_long_the_wait() {
    watched("stop", || {
        let crawler = Arc::new(
            Crawler::builder()
                .seeds(["http://a.test/1", "http://a.test/2"])
                .policy(
                    policy(4)
                        .host_delay(Duration::from_secs(600))
                        .build()
                        .expect("valid"),
                )
                .fetcher(Tree::new(0, Duration::ZERO))
                .handler(follow)
                .build()
                .expect("a crawl"),
        );
        let events = crawler.subscribe(8);
        let stop = crawler.stop_handle();
        let running = Arc::clone(&crawler);
        let run = thread::spawn(move || running.run());
        // robots.txt has started the gap of ten minutes before any page.
        while crawler.stats().requests == 0 {
            thread::yield_now();
        }
        let asked = Instant::now();
        stop.stop();
        let stats = run.join().expect("no panic").expect("a run");
        assert!(
            asked.elapsed() < Duration::from_secs(5),
            "{:?}",
            asked.elapsed()
        );
        assert_eq!(stats.end, Some(RunEnd::Stopped));
        assert_eq!(stats.pending(), 2);
        drop(events);
    });
}

#[test]
fn a_fetch_that_hangs_is_given_up_after_the_grace_and_its_url_stays_pending() {
    struct Hangs;
    impl Fetch for Hangs {
        fn fetch(&self, request: &Request, _deadline: Instant) -> Result<Response> {
            if request.url().path() != "/robots.txt" {
                thread::park_timeout(Duration::from_secs(100));
            }
            Ok(Response::new(request.url().clone(), 404))
        }
    }
    watched("grace", || {
        let grace = Duration::from_millis(100);
        let crawler = Crawler::builder()
            .seed("http://a.test/")
            .policy(
                policy(2)
                    .deadline(Duration::from_millis(100))
                    .shutdown_grace(grace)
                    .build()
                    .expect("valid"),
            )
            .fetcher(Hangs)
            .handler(follow)
            .build()
            .expect("a crawl");
        let start = Instant::now();
        let stats = crawler.run().expect("a run");
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{:?}",
            start.elapsed()
        );
        assert_eq!(stats.cancelled, 1);
        assert_eq!(stats.pending(), 1);
        assert!(
            matches!(stats.end, Some(RunEnd::Bound(_))),
            "{:?}",
            stats.end
        );
    });
}

#[test]
fn a_crawl_can_be_run_again_and_begins_anew_when_nothing_was_left() {
    watched("again", || {
        let site = Tree::new(5, Duration::ZERO);
        let crawler = Crawler::builder()
            .seed("http://a.test/1")
            .policy(policy(3).build().expect("valid"))
            .fetcher(Arc::clone(&site))
            .handler(follow)
            .build()
            .expect("a crawl");
        for round in 1..=3 {
            assert_eq!(crawler.run().expect("a run").succeeded, 5);
            assert_eq!(site.asked.load(Ordering::SeqCst), 5 * round);
        }
    });
}

#[test]
fn a_crawl_that_hit_a_bound_goes_on_in_the_next_run() {
    watched("bound", || {
        let site = Tree::new(9, Duration::ZERO);
        let crawler = Crawler::builder()
            .seed("http://a.test/1")
            .policy(policy(1).max_requests(4).build().expect("valid"))
            .fetcher(Arc::clone(&site))
            .handler(follow)
            .build()
            .expect("a crawl");
        let mut done = 0;
        for _ in 0..10 {
            let stats = crawler.run().expect("a run");
            done += stats.succeeded;
            if stats.end == Some(RunEnd::Complete) {
                break;
            }
            assert!(stats.requests <= 4);
        }
        assert_eq!(done, 9);
        assert_eq!(site.asked.load(Ordering::SeqCst), 9, "no page twice");
    });
}

#[test]
fn without_dedup_a_page_is_fetched_as_often_as_it_is_found() {
    watched("dedup", || {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let site = canter::fetch::MockSite::new().otherwise(move |request| {
            let page = request.url().path() != "/robots.txt";
            counted.fetch_add(usize::from(page), Ordering::SeqCst);
            page.then(|| canter::fetch::Answer::new().html("<a href=/a>a</a><a href=/b>b</a>"))
        });
        let stats = Crawler::builder()
            .seed("http://a.test/")
            .max_depth(3)
            .dedup(false)
            .policy(policy(4).build().expect("valid"))
            .fetcher(site)
            .handler(follow)
            .build()
            .expect("a crawl")
            .run()
            .expect("a run");
        assert_eq!(stats.succeeded, 1 + 2 + 4 + 8);
        assert_eq!(asked.load(Ordering::SeqCst), 15);
        assert!(stats.adds_up(), "{stats:?}");
    });
}

#[test]
fn an_end_is_told_when_it_comes_and_not_after_the_next_wait() {
    let policy = Policy::builder()
        .concurrency(1)
        .host_delay(Duration::from_secs(3600));
    let crawler = Crawler::builder()
        .seeds(["http://a.test/1", "http://a.test/2"])
        .obey_robots(false)
        .policy(policy.build().expect("a policy"))
        .fetcher(Tree::new(9, Duration::ZERO))
        .handler(|| ())
        .build()
        .expect("a crawl");
    let crawler = Arc::new(crawler);
    let events = crawler.subscribe(8);
    let run = {
        let crawler = Arc::clone(&crawler);
        thread::spawn(move || crawler.run().expect("a run"))
    };
    // An hour before the next start.
    let ended = loop {
        let event = events.recv_timeout(WATCHDOG).expect("nothing is told");
        if let canter::Event::Ended { url, .. } = event {
            break url;
        }
    };
    assert_eq!(ended.path(), "/1");
    assert_eq!(crawler.stats().succeeded, 1);
    crawler.stop_handle().stop();
    let stats = watched("the end of the run", move || run.join().expect("no panic"));
    assert_eq!((stats.succeeded, stats.pending()), (1, 1));
}
