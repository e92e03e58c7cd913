//! The demonstration: the program crawls the fixture site with the fixture
//! configuration, and what comes of it is what stands beside them. A static
//! binary that `CANTER_STATIC` names does so in an empty root.

#![cfg(feature = "cli")]

mod common;

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use common::site::{Site, USUAL_PORT};
use common::{Crawled, Program, Server, TempDir, canter, jsonl};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
/// What the configuration allows: a start every 100 ms.
const INTERVAL: Duration = Duration::from_millis(100);
/// What `/busy.html` asks for.
const RETRY_AFTER: Duration = Duration::from_secs(2);
/// How late a request may be noticed by the server, on a busy machine.
const SLACK: Duration = Duration::from_millis(30);

/// The fixture configuration with another port and another place for its
/// outputs; nothing else in it is changed.
fn configuration(folder: &TempDir, port: u16) -> PathBuf {
    let path = Path::new(FIXTURES).join("demo.toml");
    let text = std::fs::read_to_string(path).expect("the fixture is there");
    let usual = format!("127.0.0.1:{USUAL_PORT}");
    assert_eq!(text.matches(&usual).count(), 1, "one seed");
    assert_eq!(
        text.matches("\"../target/demo/").count(),
        3,
        "three outputs"
    );
    let text = text
        .replace(&usual, &format!("127.0.0.1:{port}"))
        .replace("\"../target/demo/", "\"");
    folder.write("demo.toml", text)
}

fn with_usual_port(text: &str, port: u16) -> String {
    text.replace(&format!(":{port}/"), &format!(":{USUAL_PORT}/"))
}

fn serve() -> Server {
    let site = Site::load(Path::new(FIXTURES).join("site")).expect("the site can be read");
    Server::builder()
        .addresses(&["127.0.0.1", "127.0.0.2"])
        .start(move |req| site.answer(req))
}

#[test]
fn the_fixture_site_gives_what_stands_beside_it() {
    let server = serve();
    let folder = TempDir::new();
    let config = configuration(&folder, server.port());
    let run = canter(["run".as_ref(), config.as_os_str()]).run();
    let read = |name: &str| jsonl::parse(&with_usual_port(&folder.read(name), server.port()));
    let crawled = Crawled {
        run,
        records: read("pages.jsonl"),
        log: read("log.jsonl"),
        summary: serde_json::from_str(&folder.read("summary.json")).expect("JSON"),
    }
    .expect(0);

    let (sitemaps, mut lines): (Vec<Value>, Vec<Value>) = crawled
        .log
        .iter()
        .cloned()
        .partition(|line| line["purpose"] == "sitemap");
    assert_eq!(sitemaps.len(), 1);
    let titles = jsonl::by(&crawled.records, "url");
    for line in &mut lines {
        let fields = line.as_object_mut().expect("an object");
        fields.remove("message");
        let title = titles
            .get(fields["url"].as_str().expect("a URL"))
            .map(|record| record["title"].clone());
        if let Some(title) = title.filter(|title| !title.is_null()) {
            fields.insert("title".to_owned(), title);
        }
    }
    lines.sort_by(|a, b| jsonl::text(a, "url").cmp(jsonl::text(b, "url")));
    let expected = jsonl::read(Path::new(FIXTURES).join("site.expected.jsonl"));
    for (line, expected) in lines.iter().zip(&expected) {
        assert_eq!(line, expected);
    }
    assert_eq!(lines.len(), expected.len());

    // The sums of fixtures/README.md.
    assert_eq!(crawled.records.len(), 50);
    for (key, value) in [
        ("urls", json!(59)),
        ("done", json!(51)),
        ("pages", json!(50)),
        ("redirected", json!(3)),
        ("failed", json!({"rejected": 1})),
        ("skipped", json!({"robots": 3, "scope": 1})),
        ("requests", json!(59)),
        ("retried", json!(2)),
    ] {
        assert_eq!(crawled.summary[key], value, "{key}");
    }

    let log = server.log();
    assert_eq!(log.len(), 59);
    for host in ["127.0.0.1", "127.0.0.2"] {
        assert_eq!(log.on(host)[0].path, "/robots.txt");
    }
    // A second, less what may look shorter than it was.
    let window = INTERVAL * 9 + SLACK * 2;
    assert!(log.max_in_window(window) <= 10);
    let busy = log.filter(|entry| entry.path == "/busy.html");
    let (first, again) = (busy[0].whole, busy[1].at);
    assert!(again - first + SLACK >= RETRY_AFTER);
    let meanwhile = log.on("127.0.0.1").filter(|entry| {
        // What was in flight at the answer had been asked before.
        entry.at > first + SLACK + INTERVAL && entry.at < again
    });
    assert!(meanwhile.is_empty(), "{:?}", meanwhile.paths());
}

/// Writes past what the test runner holds back.
fn say(line: &str) {
    writeln!(std::io::stderr(), "{line}").expect("standard error takes it");
}

#[test]
fn a_static_binary_needs_nothing_of_the_system_it_runs_on() {
    let Some(binary) = std::env::var_os("CANTER_STATIC") else {
        return;
    };
    let server = serve();
    let root = TempDir::new();
    let config = configuration(&root, server.port());
    std::fs::copy(&binary, root.join("canter")).expect("the static binary is there");

    let may_chroot = Program::new("chroot", ["/", "true"]).run().code() == Some(0);
    let run = if may_chroot {
        // Nothing but the binary and its configuration is there.
        let args = ["/canter", "run", "/demo.toml"].map(AsRef::<OsStr>::as_ref);
        Program::new("chroot", [root.path().as_os_str()].into_iter().chain(args)).run()
    } else {
        say("WARNING: no right to chroot: the static binary ran with the whole system around it");
        Program::new(root.join("canter"), ["run".as_ref(), config.as_os_str()]).run()
    };
    run.expect_code(0);
    assert_eq!(jsonl::read(root.join("pages.jsonl")).len(), 50);
    assert_eq!(server.log().len(), 59);
    say(&format!(
        "{}: 59 requests, 50 records, in an empty root: {may_chroot}",
        binary.to_string_lossy()
    ));
}
