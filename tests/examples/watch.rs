//! Looks on while a crawl runs: events as they happen, counts now and then, and
//! a stop from another thread. The site is made up and has no end.
//!
//! ```text
//! cargo run --example watch
//! ```

use std::thread;
use std::time::Duration;

use canter::extract::{Html, Queue};
use canter::fetch::{Answer, MockSite};
use canter::{Crawler, Event, Policy, Result, RetryPolicy, RunEnd, Stats};

/// How many events may wait to be looked at before the next are dropped.
const BACKLOG: usize = 1000;
/// Requests that start each minute: one every 10 ms, so that one can look on.
const PER_MINUTE: u32 = 6000;
/// After how many pages the example has seen enough.
const ENOUGH: usize = 20;

fn main() -> Result<()> {
    let stats = watch(|line| println!("{line}"))?;
    println!("{stats}");
    Ok(())
}

pub(crate) fn watch(print: impl Fn(&str) + Send + Sync + 'static) -> Result<Stats> {
    // Short delays, so that the example is soon over.
    let retry = RetryPolicy {
        delay: Duration::from_millis(1),
        ..RetryPolicy::new(3)
    };
    let policy = Policy::builder()
        .max_requests_per_minute(PER_MINUTE)
        .retry(retry);
    let crawler = Crawler::builder()
        .seed("http://endless.test/0")
        .fetcher(endless())
        .policy(policy.build()?)
        .handler(|page: Html, queue: Queue| {
            queue.follow_all(page.links());
        })
        .build()?;

    // A channel, read on a thread of one's own; `on_event` brings the thread.
    let events = crawler.subscribe(BACKLOG);
    let stop = crawler.stop_handle();
    let counts = crawler.stats_handle();
    let watcher = thread::spawn(move || {
        let mut ended = 0;
        for event in events {
            match event {
                Event::Ended {
                    url, end, attempts, ..
                } => {
                    ended += 1;
                    print(&format!("{} {url}, attempt {attempts}", end.as_str()));
                    if ended == ENOUGH {
                        let now = counts.stats();
                        print(&format!(
                            "enough: {} done, {} queued",
                            now.succeeded, now.queued
                        ));
                        stop.stop();
                    }
                }
                Event::Retrying { url, message, .. } => print(&format!("again {url}: {message}")),
                _ => {}
            }
        }
    });

    let stats = crawler.run()?;
    assert_eq!(stats.end, Some(RunEnd::Stopped));
    // The channel closes with the crawler, and the thread ends.
    drop(crawler);
    watcher.join().expect("the watcher does not panic");
    Ok(stats)
}

/// Every page leads to the next; the first one fails once.
fn endless() -> MockSite {
    MockSite::new()
        .page("http://endless.test/0", |page| page.status(500).times(1))
        .page("http://endless.test/0", |page| {
            page.html("<a href=/1>1</a>")
        })
        .otherwise(|request| {
            let page: u32 = request.url().path().strip_prefix('/')?.parse().ok()?;
            let next = page + 1;
            Some(Answer::new().html(format!("<a href=/{next}>{next}</a>")))
        })
}
