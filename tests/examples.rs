//! The examples do what they say.

#[path = "examples/catalogue.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod catalogue;
mod common;
#[path = "examples/folder.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod folder;
#[path = "examples/titles.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod titles;
#[path = "examples/watch.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod watch;

use std::path::Path;
use std::sync::{Arc, Mutex};

use common::{Resp, Server, TempDir, jsonl, page};

/// What an example prints, and who prints it.
fn printer() -> (
    Arc<Mutex<Vec<String>>>,
    impl Fn(&str) + Send + Sync + 'static,
) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let ours = Arc::clone(&lines);
    (lines, move |line: &str| {
        ours.lock().expect("no panic").push(line.to_owned());
    })
}

fn taken(lines: &Mutex<Vec<String>>) -> Vec<String> {
    let mut lines = std::mem::take(&mut *lines.lock().expect("no panic"));
    lines.sort();
    lines
}

#[test]
fn titles_prints_the_title_of_each_page() {
    let server = Server::start(|req| match req.path_only() {
        "/" => Resp::html(page("Home", &["/a", "/gone"])),
        "/a" => Resp::html("<p>no title"),
        _ => Resp::new(404),
    });
    let (lines, print) = printer();
    // As fast as it goes: the pace is not what is tested.
    let stats = titles::crawl(&server.url("/"), u32::MAX, print).expect("a crawl");
    assert_eq!((stats.succeeded, stats.failed), (2, 1));
    let (home, a) = (server.url("/"), server.url("/a"));
    assert_eq!(
        taken(&lines),
        [format!("{home} Home"), format!("{a} (no title)")]
    );
}

#[test]
fn catalogue_writes_a_record_of_each_product_with_a_name() {
    let folder = TempDir::new();
    let file = folder.join("products.jsonl");
    let stats = catalogue::crawl(file.to_str().expect("UTF-8")).expect("a crawl");
    assert_eq!((stats.succeeded, stats.records), (5, 2));
    let records = jsonl::read(file);
    let by_url = jsonl::by(&records, "url");
    assert_eq!(by_url["http://shop.test/product/1"]["name"], "Lamp");
    assert_eq!(by_url["http://shop.test/product/2"]["name"], "Shade");
}

#[test]
fn folder_crawls_saved_files_and_obeys_their_robots_txt() {
    let (lines, print) = printer();
    let site = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/site/127.0.0.1");
    let stats = folder::crawl(site, print).expect("a crawl");
    let lines = taken(&lines);
    assert_eq!(lines.len() as u64, stats.succeeded);
    assert!(lines.contains(&"http://folder.test/catalogue/ has 11 links".to_owned()));
    assert!(!lines.iter().any(|line| line.contains("/private/ledger")));
    assert_eq!(
        stats.skipped_by_reason.get(&canter::SkipReason::Robots),
        Some(&2)
    );
}

#[test]
fn watch_sees_what_happens_and_stops_an_endless_site() {
    let (lines, print) = printer();
    let stats = watch::watch(print).expect("a crawl");
    assert!(stats.succeeded >= 20, "{stats}");
    assert_eq!(stats.retried, 1);
    let lines = taken(&lines);
    let count = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
    assert_eq!(count("again http://endless.test/0: "), 1, "{lines:?}");
    assert_eq!(count("enough: "), 1, "{lines:?}");
    assert!(count("done ") >= 20, "{lines:?}");
}
