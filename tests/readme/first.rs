//! The first program of the README, word for word but for its seed.

use canter::extract::{Html, Queue};
use canter::{Crawler, Outcome, Policy, Result};

pub(super) fn main() -> Result<()> {
    let stats = Crawler::builder()
        .seed(super::seed())
        .policy(Policy::builder().concurrency(4).max_requests_per_minute(60).build()?)
        .handler(|page: Html, queue: Queue| -> Result<Outcome> {
            println!("{} {}", page.url(), page.title().unwrap_or_default());
            queue.follow_all(page.links());
            Ok(Outcome::Done)
        })
        .build()?
        .run()?;
    println!("{stats}");
    Ok(())
}
