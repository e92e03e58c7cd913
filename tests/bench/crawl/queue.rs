//! Memory while 1,000,000 URLs of 60 bytes are queued.

use std::fmt::Write as _;
use std::path::Path;

use crate::child;
use crate::program::{self, Crawl};
use crate::server::Server;

/// Pages that are fetched, and links on each, which are not.
const HUBS: usize = 100;
const LINKS: usize = 10_000;
/// Bytes of a URL that is queued.
const URL: usize = 60;
/// What the queue may take in all, in MiB.
const GOAL: f64 = 140.0;
/// The exit code of a run that its bound on requests ended.
const BOUND: Option<i32> = Some(3);

/// Measures and prints.
pub(crate) fn run(folder: &Path) {
    println!("| queued URLs of {URL} bytes | peak MiB | bytes each, beyond the least | goal MiB |");
    println!("|---|---|---|---|");
    for state in [false, true] {
        let mut least = 0.0;
        for hubs in [1, HUBS / 2, HUBS] {
            let peak = peak(&folder.join("queue"), hubs, state);
            let queued = hubs * LINKS;
            if hubs == 1 {
                least = peak;
            }
            let each = (peak - least) * 1024.0 * 1024.0 / (queued - LINKS).max(1) as f64;
            let name = if state { ", [state]" } else { "" };
            let goal = if hubs == HUBS {
                GOAL.to_string()
            } else {
                String::new()
            };
            println!("| {queued}{name} | {peak:.1} | {each:.0} | {goal} |");
        }
    }
    println!();
}

/// The most memory, in MiB, of a run that queues the links of so many pages.
fn peak(folder: &Path, hubs: usize, state: bool) -> f64 {
    let server = Server::own(|path| {
        let mut page = String::new();
        match path.strip_prefix("/hub-") {
            None => {
                for hub in 0..HUBS {
                    writeln!(page, "<a href=/hub-{hub}>").expect("memory");
                }
            }
            Some(hub) => {
                for link in 0..LINKS {
                    // "http://127.0.0.1:" and a port are 22 bytes.
                    let rest = URL - 22 - "/0000000/00000.html".len();
                    let name = &"a-page-with-a-name-of-some-length"[..rest];
                    writeln!(page, "<a href=\"/{hub:0>7}/{name}{link:05}.html\">").expect("memory");
                }
            }
        }
        Some(page.into())
    });
    let mut crawl = Crawl::of(server.url("/"), 2);
    crawl.state = state;
    crawl.more = "[robots]\nobey = false\n";
    // The first page, then its hubs: they were found first.
    crawl.requests = Some(1 + hubs as u64);
    let folder = program::fresh(folder);
    let usage = child::run(&mut crawl.command(&folder));
    assert_eq!(usage.code, BOUND, "the bound ends it");
    assert_eq!(program::records(&folder), 1 + hubs, "hubs go first");
    usage.peak as f64 / 1024.0
}
