//! A long crawl with a state: whatever it holds must stay as it is, but for
//! what it has to remember of each URL.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::child;
use crate::program::{self, Crawl};
use crate::server::Server;

/// Chains of pages, each with a link to its next: so many URLs are queued at
/// any time.
const CHAINS: usize = 64;
/// Links on each page that were found before.
const OLD: usize = 8;
/// Requests in flight.
const CONNECTIONS: usize = 16;
/// Bytes of a MiB.
const MIB: f64 = 1_048_576.0;
/// Lines of the curve.
const LINES: usize = 20;
/// How often the program is looked at.
const LOOK: Duration = Duration::from_millis(200);

struct Look {
    requests: usize,
    seconds: f64,
    memory: f64,
    threads: u64,
    files: usize,
    state: f64,
}

/// Measures and prints.
pub(crate) fn run(folder: &Path, requests: usize) {
    let last = requests / CHAINS;
    let server = Server::own(move |path| page(path, last));
    let mut crawl = Crawl::of(server.url("/"), CONNECTIONS);
    crawl.state = true;
    let folder = program::fresh(&folder.join("long"));
    let mut looks: Vec<Look> = Vec::new();
    let mut asked = 0;
    let mut next = Duration::ZERO;
    let usage = child::watch(&mut crawl.command(&folder), |child, elapsed| {
        if elapsed < next {
            return;
        }
        next = elapsed + LOOK;
        asked += server.take_asked().len();
        let pid = child.id();
        let memory = child::status_value(pid, "VmRSS:").unwrap_or(0) as f64 / 1024.0;
        looks.push(Look {
            requests: asked,
            seconds: elapsed.as_secs_f64(),
            memory,
            threads: child::status_value(pid, "Threads:").unwrap_or(0),
            files: child::open_files(pid).unwrap_or(0),
            state: size(&folder.join("state")) as f64 / MIB,
        });
    });
    assert_eq!(usage.code, Some(0), "the crawl is complete");
    let records = program::records(&folder);
    println!("{records} pages, {:.0} s of CPU", usage.cpu.as_secs_f64());
    println!();
    println!("| requests | s | requests/s since | MiB | threads | files | state MiB |");
    println!("|---|---|---|---|---|---|---|");
    let mut before: Option<&Look> = None;
    let mut due = 0;
    for look in looks.iter().filter(|look| look.threads > 0) {
        if look.requests < due {
            continue;
        }
        due = look.requests + asked / LINES;
        let since = before.map_or(0.0, |before| {
            (look.requests - before.requests) as f64 / (look.seconds - before.seconds)
        });
        println!(
            "| {} | {:.0} | {since:.0} | {:.1} | {} | {} | {:.1} |",
            look.requests, look.seconds, look.memory, look.threads, look.files, look.state
        );
        before = Some(look);
    }
    println!();
}

/// The page of a chain: some text, links that all pages have, and the next.
fn page(path: &str, last: usize) -> Option<Arc<str>> {
    use std::fmt::Write as _;
    let mut page = String::from("<!doctype html><title>a link of a chain</title>");
    for chain in 0..OLD {
        write!(page, "<a href=/{chain}/1>menu</a>").expect("memory");
    }
    if path == "/" {
        for chain in 0..CHAINS {
            write!(page, "<a href=/{chain}/1>chain</a>").expect("memory");
        }
        return Some(page.into());
    }
    let (chain, number) = path.strip_prefix('/')?.split_once('/')?;
    let number: usize = number.parse().ok()?;
    if number < last {
        write!(
            page,
            "<p>and so on to <a href=/{chain}/{}>the next</a>",
            number + 1
        )
        .expect("memory");
    }
    Some(page.into())
}

/// Bytes of the files in a folder.
fn size(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files
        .filter_map(|file| file.metadata().ok())
        .map(|data| data.len())
        .sum()
}
