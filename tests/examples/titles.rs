//! Prints the address and the title of every page of a site, sixty pages a
//! minute:
//!
//! ```text
//! cargo run --example titles -- https://example.com/
//! ```

use canter::extract::{Html, Queue};
use canter::{Crawler, Policy, Result, Stats};

/// Requests that start each minute: one a second.
const PER_MINUTE: u32 = 60;

fn main() -> Result<()> {
    let Some(seed) = std::env::args().nth(1) else {
        eprintln!("usage: titles URL");
        std::process::exit(2);
    };
    let stats = crawl(&seed, PER_MINUTE, |line| println!("{line}"))?;
    eprintln!("{stats}");
    Ok(())
}

/// Crawls the seed's host and hands over a line for each page.
pub(crate) fn crawl(
    seed: &str,
    per_minute: u32,
    print: impl Fn(&str) + Send + Sync + 'static,
) -> Result<Stats> {
    let policy = Policy::builder().max_requests_per_minute(per_minute);
    Crawler::builder()
        .seed(seed)
        .policy(policy.build()?)
        .handler(move |page: Html, queue: Queue| {
            print(&format!(
                "{} {}",
                page.url(),
                page.title().unwrap_or("(no title)")
            ));
            queue.follow_all(page.links());
        })
        .build()?
        .run()
}
