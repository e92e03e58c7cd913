//! What URLs cost: resolving references, the form that tells them apart, the
//! set of those that were seen, and the sitemaps that list them; in nanoseconds
//! of CPU time.
//!
//! `cargo bench --bench urls`

mod clock;
mod rounds;

use std::fmt::Write as _;

use canter::Url;
use canter::frontier::Seen;
use canter::{sitemap, uri};

use clock::cpu_seconds;
use rounds::report;

/// Different references that are resolved in turn.
const REFERENCES: usize = 256;
/// URLs in the seen set, and in a sitemap: as many as one may list.
const SEEN: usize = 1_000_000;
const LISTED: usize = 50_000;

fn main() {
    let base = Url::parse("https://bench.test/section/index.html?page=2").expect("a URL");
    let references: Vec<String> = (0..REFERENCES).map(reference).collect();
    let urls: Vec<Url> = references
        .iter()
        .filter_map(|text| uri::resolve(&base, text))
        .collect();
    println!("ns of CPU time for each URL");
    report("uri::resolve", &references, |text| {
        uri::resolve(&base, text).map_or(0, |url| url.as_str().len())
    });
    report("Url::join", &references, |text| {
        base.join(text).map_or(0, |url| url.as_str().len())
    });
    report("uri::canonical", &urls, |url| {
        uri::canonical(url).as_str().len()
    });
    report("uri::fingerprint", &urls, |url| {
        uri::fingerprint("GET", url, b"") as usize
    });
    seen();
    maps();
}

/// One of the references that pages have: most from the root, some from the
/// page, few whole.
fn reference(n: usize) -> String {
    let word = fastrand::Rng::with_seed(n as u64).u32(..1000);
    match n % 8 {
        0 => format!("page-{word}.html"),
        1 => format!("../other/{word}#part"),
        2 => format!("?page={word}&sort=price"),
        3 => format!("https://bench.test/2024/02/29/a-title-of-some-words-{word}/"),
        _ => format!("/section{word}/article-{n}.html"),
    }
}

fn seen() {
    let mut rng = fastrand::Rng::with_seed(1);
    let fingerprints: Vec<u64> = (0..SEEN).map(|_| rng.u64(..)).collect();
    let mut set = Seen::default();
    println!("ns of CPU time for each of {SEEN} fingerprints");
    let each = |what: &str, work: &mut dyn FnMut(u64) -> bool| {
        let start = cpu_seconds();
        let count = fingerprints.iter().filter(|print| work(**print)).count();
        let spent = (cpu_seconds() - start) / SEEN as f64 * 1e9;
        println!("{spent:12.0}  {what}");
        assert_eq!(count, SEEN);
    };
    each("Seen::claim of new ones", &mut |print| set.claim(print));
    each("Seen::claim of known ones", &mut |print| !set.claim(print));
}

fn maps() {
    let mut map = "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">".to_owned();
    for n in 0..LISTED {
        // Writing to a `String` cannot fail.
        let _ = writeln!(
            map,
            "<url><loc>https://bench.test/section/article-{n:06}.html</loc>\
             <lastmod>2024-02-29T12:00:00Z</lastmod><priority>0.5</priority></url>"
        );
    }
    map.push_str("</urlset>");
    let start = cpu_seconds();
    let read = sitemap::parse(map.as_bytes());
    let spent = cpu_seconds() - start;
    assert_eq!(read.entries.len(), LISTED);
    println!(
        "ns of CPU time for each of {LISTED} entries, {} MB in all\n{:12.0}  sitemap::parse",
        map.len() / 1_000_000,
        spent / LISTED as f64 * 1e9
    );
}
