//! What the ledger costs: CPU for each URL, bytes of state, time and memory of
//! a replay. `cargo bench --bench ledger -- [URLS]`, 1,000,000 by default.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use canter::ledger::{
    Anchor, Change, End, Ended, Identity, Ledger, LedgerOptions, OutputSpec, PageMemory, Queued,
    Restored, StateSpec, Totals,
};
use canter::{Purpose, Request, Url};

/// URLs that end with each commit: a second of a fast crawl.
const BATCH: u64 = 1000;
/// URLs found on one page.
const LINKS: u64 = 32;
/// One URL in so many is left waiting.
const LEFT: u64 = 2;
/// Ticks of a second in `/proc/self/stat`, on every Linux that matters.
const TICKS: f64 = 100.0;

fn fingerprint(n: u64) -> u64 {
    (n + 1).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

fn url(n: u64) -> Url {
    let url = format!(
        "https://www.example.com/catalogue/{}/item-{n:07}.html",
        n % 97
    );
    Url::parse(&url).expect("a URL")
}

fn changes(from: u64, to: u64, memory: bool) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut referrer: Arc<str> = Arc::from("");
    for n in from..to {
        if n.is_multiple_of(LINKS) {
            referrer = Arc::from(url(n / LINKS).as_str());
        }
        changes.push(Change::Queued(Box::new(Queued {
            fingerprint: fingerprint(n),
            request: Request::get(url(n))
                .expect("a request")
                .with_depth(3)
                .with_referrer(Some(Arc::clone(&referrer))),
            seed: n == 0,
            purpose: Purpose::Page,
        })));
        if !n.is_multiple_of(LEFT) {
            changes.push(ended(n, memory));
        }
    }
    changes
}

fn ended(n: u64, memory: bool) -> Change {
    let record = format!(
        "{{\"url\":\"{}\",\"status\":200,\"title\":\"Item {n}\",\"description\":\"{}\"}}",
        url(n),
        "something to be said about it; ".repeat(8)
    );
    Change::Ended(Box::new(Ended {
        fingerprint: fingerprint(n),
        url: url(n).to_string(),
        purpose: Purpose::Page,
        end: End::Done,
        status: Some(200),
        attempts: 1,
        to: None,
        message: None,
        referrer: None,
        depth: 3,
        page: memory.then(|| {
            Box::new(PageMemory {
                etag: Some(format!("\"{:x}-5f2\"", n * 7919)),
                last_modified: Some("Wed, 21 Oct 2015 07:28:00 GMT".to_owned()),
                hash: Some(fingerprint(n) ^ 1),
                bytes: 12_345,
                elapsed: Duration::from_millis(37),
            })
        }),
        records: vec![record.into_bytes().into()],
        beside: Vec::new(),
    }))
}

fn open(dir: &Path, with_state: bool) -> (Ledger, Restored) {
    let mut options = LedgerOptions::new(Anchor::now());
    options.records = Some(OutputSpec::new(dir.join("pages.jsonl")));
    if with_state {
        let identity = Identity {
            seeds: vec![fingerprint(0)],
            ..Identity::default()
        };
        options.state = Some(StateSpec::new(dir.join("state"), identity));
    }
    Ledger::open(options).expect("the ledger opens")
}

/// CPU seconds of this process so far.
fn cpu() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split(' ').collect();
    let ticks = |at: usize| {
        fields
            .get(at)
            .and_then(|field| field.parse().ok())
            .unwrap_or(0.0)
    };
    (ticks(12) + ticks(13)) / TICKS
}

/// Resident memory now, and the most since [`forget_peak`], in MiB.
fn memory() -> (f64, f64) {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of = |key: &str| {
        let line = status
            .lines()
            .find(|line| line.starts_with(key))
            .unwrap_or("");
        let kib = line
            .split_whitespace()
            .nth(1)
            .and_then(|kib| kib.parse::<f64>().ok());
        kib.unwrap_or(0.0) / 1024.0
    };
    (of("VmRSS"), of("VmHWM"))
}

fn forget_peak() {
    // Resets the peak (proc(5)); without it the figure is only too high.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

fn crawl(dir: &Path, urls: u64, with_state: bool, memory: bool) -> f64 {
    let (mut ledger, _) = open(dir, with_state);
    let (mut spent, mut wall) = (0.0, Duration::ZERO);
    for from in (0..urls).step_by(BATCH as usize) {
        let changes = changes(from, (from + BATCH).min(urls), memory);
        let (before, started) = (cpu(), Instant::now());
        ledger
            .commit(&changes, Anchor::now(), Totals::default())
            .expect("a commit");
        spent += cpu() - before;
        wall += started.elapsed();
    }
    let each = spent * 1e6 / urls as f64;
    println!(
        "  {each:.2} microseconds of CPU for each URL, {:.2} s in all",
        wall.as_secs_f64()
    );
    each
}

fn replay(dir: &Path, urls: u64) {
    forget_peak();
    let (before, _) = memory();
    let (cpu_before, started) = (cpu(), Instant::now());
    let (ledger, restored) = open(dir, true);
    let opened = started.elapsed();
    let (after, peak) = memory();
    let mut pending = 0u64;
    let started = Instant::now();
    restored
        .each_pending(|one| pending += u64::from(one.queued.request.attempt()))
        .expect("the state can be read");
    println!(
        "  opened in {:.2} s, {pending} of {urls} URLs handed over in {:.2} s more, {:.2} s of CPU",
        opened.as_secs_f64(),
        started.elapsed().as_secs_f64(),
        cpu() - cpu_before,
    );
    println!(
        "  {:.0} MiB held, {:.0} MiB at most while opening, {:.0} while handing over; {} memories",
        after - before,
        peak - before,
        memory().1 - before,
        restored.pages().len()
    );
    drop((ledger, restored));
}

fn main() {
    let urls: u64 = std::env::args()
        .skip(1)
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(1_000_000);
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bench-ledger");
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).expect("a folder");

    println!("{urls} URLs, half of them done, without state:");
    crawl(&dir.join("none"), urls, false, true);
    for memory in [false, true] {
        let dir = dir.join(if memory { "with" } else { "without" });
        println!(
            "with state, {} validators:",
            if memory { "with" } else { "without" }
        );
        crawl(&dir, urls, true, memory);
        let bytes = fs::metadata(dir.join("state/journal.jsonl"))
            .expect("the state")
            .len();
        println!(
            "  {:.0} bytes of state for each URL",
            bytes as f64 / urls as f64
        );
        println!("the run goes on:");
        replay(&dir, urls);
    }
    let dir = dir.join("with");
    println!("a new pass:");
    let (mut ledger, _) = open(&dir, true);
    ledger
        .finish(&[], true, Anchor::now(), Totals::default())
        .expect("the pass is complete");
    drop(ledger);
    replay(&dir, urls);

    println!("the second pass over what was done, until the state is compacted:");
    let (mut ledger, _) = open(&dir, true);
    let journal = dir.join("state/journal.jsonl");
    let mut length = 0;
    for from in (0..2 * urls).step_by(BATCH as usize) {
        let changes: Vec<Change> = (from..from + BATCH)
            .map(|n| (n * 2 + 1) % urls)
            .map(|n| ended(n, true))
            .collect();
        let (before, started) = (cpu(), Instant::now());
        ledger
            .commit(&changes, Anchor::now(), Totals::default())
            .expect("a commit");
        let now = fs::metadata(&journal).expect("the state").len();
        if now < length {
            println!(
                "  from {} to {} MiB in {:.2} s, {:.2} s of CPU, {:.0} MiB of memory at most",
                length >> 20,
                now >> 20,
                started.elapsed().as_secs_f64(),
                cpu() - before,
                memory().1
            );
            break;
        }
        length = now;
    }
    drop(ledger);
    let _ = fs::remove_dir_all(dir.parent().expect("a folder"));
}
