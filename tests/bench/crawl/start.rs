//! From the start of the program to its first request on the wire, with
//! nothing kept and with a state of 100,000 queued URLs.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::child;
use crate::program::{self, Crawl};
use crate::server::Server;

/// URLs in the state.
const QUEUED: usize = 100_000;
/// Starts of each kind; the least and the middle are told.
const STARTS: usize = 15;
/// The exit code of a run that its bound on requests ended.
const BOUND: Option<i32> = Some(3);

/// Measures and prints.
pub(crate) fn run(folder: &Path) {
    let mut page = String::new();
    for number in 0..QUEUED {
        let folder = number % 100;
        writeln!(
            page,
            "<a href=\"/folder-{folder:02}/a-page-with-a-name-{number:06}.html\">"
        )
        .expect("memory");
    }
    let page: Arc<str> = page.into();
    let first = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&first);
    let server = Server::own(move |path| {
        seen.lock()
            .expect("no panic")
            .get_or_insert_with(Instant::now);
        Some(if path == "/" {
            Arc::clone(&page)
        } else {
            Arc::default()
        })
    });

    let time = |crawl: &Crawl, folder: &Path| -> Duration {
        first.lock().expect("no panic").take();
        let begun = Instant::now();
        let usage = child::run(&mut crawl.command(folder));
        assert_eq!(usage.code, BOUND, "the bound ends it");
        let asked = first.lock().expect("no panic").expect("a request");
        asked.duration_since(begun)
    };
    let mut crawl = Crawl::of(server.url("/"), 4);
    crawl.requests = Some(1);
    // With a state, the rules are known to later runs.
    crawl.more = "[robots]\nobey = false\n";
    let plain: Vec<Duration> = (0..STARTS)
        .map(|n| time(&crawl, &program::fresh(&folder.join(format!("plain-{n}")))))
        .collect();
    crawl.state = true;
    let kept_in = program::fresh(&folder.join("kept"));
    time(&crawl, &kept_in);
    let kept: Vec<Duration> = (0..STARTS).map(|_| time(&crawl, &kept_in)).collect();

    println!("| start to first request | least ms | middle ms | goal ms |");
    println!("|---|---|---|---|");
    print("nothing kept", plain, 10);
    print("100,000 URLs in the state", kept, 150);
    println!();
}

fn print(name: &str, mut times: Vec<Duration>, goal: u32) {
    times.sort_unstable();
    let millis = |time: Duration| time.as_secs_f64() * 1_000.0;
    let (least, middle) = (millis(times[0]), millis(times[times.len() / 2]));
    println!("| {name} | {least:.1} | {middle:.1} | {goal} |");
}
