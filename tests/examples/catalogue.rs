//! A router with tags: listing pages lead to product pages, and each product
//! becomes a record. The site is made up, so that the example runs anywhere:
//!
//! ```text
//! cargo run --example catalogue
//! ```

use std::sync::atomic::{AtomicUsize, Ordering};

use canter::extract::{Emit, Html, Links, Queue, State};
use canter::fetch::MockSite;
use canter::ledger::OutputSpec;
use canter::{Crawler, Outcome, Result, Router, Stats};
use serde::Serialize;

/// What a product page becomes.
#[derive(Serialize)]
struct Product<'a> {
    url: &'a str,
    name: &'a str,
}

/// Counts what is no product, for all handlers together.
#[derive(Default)]
struct Unnamed(AtomicUsize);

/// A listing page: its products get a tag, its further pages none.
fn listing(links: Links, queue: Queue) {
    let (products, pages): (Vec<_>, Vec<_>) = links
        .into_iter()
        .partition(|link| link.url.path().starts_with("/product/"));
    queue.with_tag("product").follow_all(products);
    queue.follow_all(pages);
}

/// A product page. The record is written if this returns `Done`, and only then.
fn product(page: Html, emit: Emit<Product>, State(unnamed): State<Unnamed>) -> Result<Outcome> {
    match page.title() {
        Some(name) => emit.push(&Product {
            url: page.url().as_str(),
            name,
        })?,
        None => {
            unnamed.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    Ok(Outcome::Done)
}

fn main() -> Result<()> {
    let stats = crawl("-")?;
    eprintln!("{stats}");
    Ok(())
}

/// Writes the records to a file; `-` is standard output.
pub(crate) fn crawl(output: &str) -> Result<Stats> {
    Crawler::builder()
        .seed("http://shop.test/")
        .fetcher(shop())
        .handler(Router::new().route("product", product).fallback(listing))
        .share(Unnamed::default())
        .output(OutputSpec::new(output))
        .build()?
        .run()
}

/// Two listing pages and three products, one of them without a name.
fn shop() -> MockSite {
    [
        (
            "/",
            "<a href=/product/1>1</a> <a href=/product/2>2</a> <a href='/?page=2'>more</a>",
        ),
        ("/?page=2", "<a href=/product/3>3</a>"),
        ("/product/1", "<title>Lamp</title>"),
        ("/product/2", "<title>Shade</title>"),
        ("/product/3", "<p>sold out</p>"),
    ]
    .into_iter()
    .fold(MockSite::new(), |site, (path, html)| {
        site.page(&format!("http://shop.test{path}"), |page| page.html(html))
    })
}
