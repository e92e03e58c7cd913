//! What reading pages costs, in CPU seconds per 10,000 pages of 12 KB with 32
//! links each, beside the tokenizer's own emitters over the same pages.
//!
//! `cargo bench --bench links`, with `--features select` beside scraper too

mod clock;

use std::convert::Infallible;
use std::fmt::Write as _;
use std::hint::black_box;

use canter::Url;
use canter::html::{Page, PageOptions, page_links, visible_text};
use canter::uri::{self, DropParams, Glob, Hosts};
use encoding_rs::UTF_8;
use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Token, Tokenizer};

use clock::cpu_seconds;

/// The yardstick is given for so many pages.
const PAGES: f64 = 10_000.0;
/// Different pages that are read in turn, so that no branch is learnt by heart.
const DIFFERENT: usize = 64;
const LINKS: usize = 32;
/// Bytes of one link's part of a page, so that a page has 12 KB.
const CARD_BYTES: usize = 360;
/// CPU seconds that each figure is taken over, and how often: the best counts,
/// since other programs can only make it worse.
const SECONDS: f64 = 0.4;
const ROUNDS: usize = 5;

fn main() {
    let pages: Vec<String> = (0..DIFFERENT).map(page).collect();
    let bytes: usize = pages.iter().map(String::len).sum();
    let base = Url::parse("http://bench.test/section/page.html").expect("a URL");
    let links = page_links(&pages[0], &base).len();
    println!(
        "{DIFFERENT} pages of {} bytes with {links} links; CPU s per 10,000 pages",
        bytes / DIFFERENT
    );
    reading(&pages, &base);
    urls(&pages, &base);
}

fn reading(pages: &[String], base: &Url) {
    report("page_links", pages, |html| page_links(html, base).len());
    let options = PageOptions::new();
    report("Page::parse", pages, |html| {
        let page = Page::parse(html, base, UTF_8, &options);
        page.title().map_or(0, str::len)
    });
    report("Page::parse and links", pages, |html| {
        let page = Page::parse(html, base, UTF_8, &options);
        page.links().len()
    });
    let all = PageOptions::new().metas(true).text(true);
    report(
        "Page::parse with metas and text, and links",
        pages,
        |html| Page::parse(html, base, UTF_8, &all).links().len(),
    );
    report("visible_text", pages, |html| visible_text(html).len());
    report("html5gum, callback emitter", pages, |html| {
        let mut found = 0;
        let emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| {
            if let CallbackEvent::AttributeName { name: b"href" } = event {
                found += 1;
            }
            None::<Infallible>
        });
        let Ok(()) = Tokenizer::new_with_emitter(html, emitter).finish();
        found
    });
    report("html5gum, default emitter", pages, |html| {
        let is_link = |token: &Result<Token, _>| matches!(token, Ok(Token::StartTag(tag)) if *tag.name == *b"a");
        Tokenizer::new(html).filter(is_link).count()
    });
    #[cfg(feature = "select")]
    report("scraper, a tree and a[href]", pages, |html| {
        let links = scraper::Selector::parse("a[href]").expect("a selector");
        scraper::Html::parse_document(html).select(&links).count()
    });
}

fn urls(pages: &[String], base: &Url) {
    let hrefs: Vec<Vec<String>> = pages.iter().map(|html| hrefs(html)).collect();
    report("resolve, 32 references", &hrefs, |hrefs| {
        let resolved = |href: &&String| uri::resolve(base, href).is_some();
        hrefs.iter().filter(resolved).count()
    });
    let urls_of = |html: &String| -> Vec<Url> {
        let links = page_links(html, base);
        links.into_iter().map(|link| link.url).collect()
    };
    let urls: Vec<Vec<Url>> = pages.iter().map(urls_of).collect();
    report("fingerprint, 32 URLs", &urls, |urls| {
        urls.iter()
            .map(|url| uri::fingerprint("GET", url, b"") as usize)
            .fold(0, usize::wrapping_add)
    });
    let hosts = Hosts::new(["bench.test", "*.example.org"]).expect("hosts");
    report("hosts, 2 patterns, 32 URLs", &urls, |urls| {
        urls.iter().filter(|url| hosts.matches(url)).count()
    });
    for pattern in ["/private/**", "/search**", "/**/print/*", "*.pdf"] {
        let glob = Glob::new(pattern).expect(pattern);
        report(&format!("path {pattern}, 32 URLs"), &urls, |urls| {
            urls.iter().filter(|url| glob.matches(url)).count()
        });
    }
    let drop = DropParams::session_ids().and(["utm_*"]);
    report("drop_params, 32 URLs", &urls, |urls| {
        urls.iter()
            .map(|url| uri::drop_params(url, &drop).as_str().len())
            .sum()
    });
}

/// Runs `work` over the inputs again and again and prints the best round.
fn report<T>(what: &str, inputs: &[T], mut work: impl FnMut(&T) -> usize) {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = cpu_seconds();
        let mut count = 0.0;
        let spent = loop {
            for input in inputs {
                black_box(work(black_box(input)));
                count += 1.0;
            }
            let spent = cpu_seconds() - start;
            if spent > SECONDS {
                break spent;
            }
        };
        best = best.min(spent / count * PAGES);
    }
    println!("{best:8.3}  {what}");
}

/// The references of a page as they are written.
fn hrefs(html: &str) -> Vec<String> {
    html.split("href=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .map(str::to_owned)
        .collect()
}

fn page(number: usize) -> String {
    const WORDS: [&str; 8] = [
        "the",
        "crawl",
        "waits",
        "&amp;",
        "politely",
        "<b>for</b>",
        "its",
        "turn",
    ];
    let mut rng = fastrand::Rng::with_seed(number as u64);
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"description\" content=\"Page {number} &amp; its story\">\n\
         <title>Page {number} &ndash; Bench</title>\n\
         <script>window.data = {{\"page\": {number}, \"tags\": [\"a<b\", \"c\"]}};</script>\n\
         </head>\n<body class=\"page page-{number}\">\n"
    );
    for link in 0..LINKS {
        let end = html.len() + CARD_BYTES;
        let target = rng.u32(..);
        let href = match link % 8 {
            0 => format!("item-{target}.html"),
            1 => format!("/section/{link}/item-{target}?page=2&amp;sort=up"),
            2 => format!("http://bench.test/other/{target}/"),
            3 => format!("../up/{target}#part"),
            _ => format!("/section/article-{target}.html"),
        };
        // Writing to a `String` cannot fail.
        let _ = write!(
            html,
            "<div class=\"card card--wide\" id=\"c{link}\" data-kind='teaser'>\n\
             <h2 class=\"card__title\"><a class=\"link link--plain\" href=\"{href}\" \
             title=\"About {target}\">Item {target}</a></h2>\n<p>"
        );
        while html.len() < end - 40 {
            html.push_str(WORDS[rng.usize(..WORDS.len())]);
            html.push(' ');
        }
        html.push_str("</p>\n<!-- end of card -->\n</div>\n");
    }
    html.push_str("</body>\n</html>\n");
    html
}
