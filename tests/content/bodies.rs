//! Bodies that are not what their headers say: no end, too much, too little,
//! another coding, another type. Nothing that was cut short is ever a record.

use std::io::Write as _;
use std::time::{Duration, Instant};

use crate::common::{Resp, Script, Server, gzip, page};
use crate::crawl::{Crawl, Outcome};

/// A page whose title is its path.
fn titled(path: &str) -> String {
    page(path, &[])
}

fn deflated(bytes: &[u8], zlib: bool) -> Vec<u8> {
    let level = flate2::Compression::default();
    if zlib {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
        encoder.write_all(bytes).expect("memory takes it");
        encoder.finish().expect("memory takes it")
    } else {
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), level);
        encoder.write_all(bytes).expect("memory takes it");
        encoder.finish().expect("memory takes it")
    }
}

/// What must become of a path.
enum Expect {
    /// Done, with its own path as its title.
    Title,
    /// Done, without a title: nothing was parsed.
    Bare,
    /// Failed: kind, attempts, words.
    Failed(&'static str, u64, &'static str),
}
use Expect::{Bare, Failed, Title};

struct Cases(Vec<(&'static str, Resp, Expect)>);

impl Cases {
    /// Crawls the paths, and checks each.
    fn run(self, configure: impl FnOnce(Crawl) -> Crawl) -> Outcome {
        let paths: Vec<&str> = self.0.iter().map(|(path, ..)| *path).collect();
        let mut script = Script::new()
            .on("/", [Resp::html(page("all", &paths))])
            .on("/robots.txt", [Resp::new(404)]);
        let mut expected = Vec::new();
        for (path, answer, expect) in self.0 {
            script = script.on(path, [answer]);
            expected.push((path, expect));
        }
        let server = Server::scripted(script);
        let outcome = configure(Crawl::from([server.url("/")])).run(&server, 0);
        for (path, expect) in expected {
            match expect {
                Title => outcome.titled(path, Some(path)),
                Bare => outcome.titled(path, None),
                Failed(kind, attempts, words) => outcome.failed(path, kind, attempts, words),
            }
        }
        outcome
    }
}

#[test]
fn a_body_without_end_costs_one_page() {
    let noise = vec![b'x'; 4096];
    let quick = Duration::ZERO;
    let start = Instant::now();
    let outcome = Cases(vec![
        (
            "/radio",
            Resp::ok("audio/mpeg", "").endless(noise.clone(), quick),
            Bare,
        ),
        (
            "/camera",
            Resp::ok("multipart/x-mixed-replace; boundary=x", "").endless(noise.clone(), quick),
            Bare,
        ),
        (
            "/disk-image",
            Resp::ok("application/octet-stream", "PK\u{3}\u{4}").endless(noise.clone(), quick),
            Bare,
        ),
        (
            "/page",
            Resp::html("<title>never whole</title>").endless(noise.clone(), quick),
            Failed("too_large", 1, "65536"),
        ),
        (
            "/chunks",
            Resp::html("<title>never whole</title>")
                .endless(noise.clone(), quick)
                .chunked(),
            Failed("too_large", 1, "65536"),
        ),
        (
            "/drip",
            Resp::html("<title>never whole</title>").endless("x", Duration::from_millis(100)),
            Failed("timeout", 2, "timed out"),
        ),
        (
            "/announced",
            Resp::html("<title>short</title>").claim(1 << 40),
            Failed("too_large", 1, "65536"),
        ),
        (
            "/bomb",
            Resp::html("")
                .body(gzip(&vec![b' '; 8 << 20]))
                .header("Content-Encoding", "gzip"),
            Failed("too_large", 1, "65536"),
        ),
        ("/silence", Resp::hang(), Failed("timeout", 2, "timed out")),
        (
            "/slow-head",
            Resp::html(titled("/slow-head")).drip_head(1, Duration::from_millis(200)),
            Failed("timeout", 2, "timed out"),
        ),
    ])
    .run(|crawl| crawl.set("fetch", "timeout = 1"));
    assert!(
        start.elapsed() < Duration::from_secs(15),
        "it took {:?}",
        start.elapsed()
    );
    assert_eq!(outcome.summary["end"], "complete");
    assert_eq!(
        outcome.summary["bytes"].as_u64().map(|n| n < 10_000),
        Some(true)
    );
}

#[test]
fn what_was_cut_short_is_tried_again_and_never_a_record() {
    let whole = page("cut", &["/from-a-part"]);
    let half = whole.len() / 2;
    let packed = gzip(whole.as_bytes());
    let stump = packed[..packed.len() - 9].to_vec();
    let coded = |body: Vec<u8>| Resp::html(body).header("Content-Encoding", "gzip");
    let outcome = Cases(vec![
        (
            "/length",
            Resp::html(whole.clone()).truncate(half),
            Failed("connect", 2, ""),
        ),
        (
            "/chunked",
            Resp::html(whole.clone())
                .body("more")
                .chunked()
                .truncate(half),
            Failed("connect", 2, ""),
        ),
        (
            "/gzip",
            coded(stump.clone()),
            Failed("connect", 2, "cut short"),
        ),
        (
            "/gzip-until-close",
            coded(stump).until_close(),
            Failed("connect", 2, "cut short"),
        ),
        (
            "/reset",
            Resp::html(whole.clone()).truncate(half).then_reset(),
            Failed("connect", 2, ""),
        ),
        ("/closed", Resp::close(), Failed("connect", 2, "")),
        ("/reset-at-once", Resp::reset(), Failed("connect", 2, "")),
        (
            "/second-time",
            Resp::html(titled("/second-time")).until_close(),
            Title,
        ),
    ])
    .run(|crawl| crawl);
    assert_eq!(
        outcome.asked.count("/from-a-part"),
        0,
        "a part has no links"
    );
}

#[test]
fn a_content_encoding_is_believed_when_the_bytes_agree() {
    let coded = |path: &'static str, coding: &str, body: Vec<u8>| {
        Resp::html(body)
            .header("Content-Encoding", coding)
            .header("X-Path", path)
    };
    let plain = |path: &str| titled(path).into_bytes();
    let packed = |path: &str| gzip(titled(path).as_bytes());
    Cases(vec![
        ("/lie", coded("/lie", "gzip", plain("/lie")), Title),
        ("/none", coded("/none", "none", plain("/none")), Title),
        ("/utf-8", coded("/utf-8", "utf-8", plain("/utf-8")), Title),
        (
            "/identity",
            coded("/identity", "identity", plain("/identity")),
            Title,
        ),
        ("/upper", coded("/upper", "GZIP", packed("/upper")), Title),
        (
            "/x-gzip",
            coded("/x-gzip", "x-gzip", packed("/x-gzip")),
            Title,
        ),
        ("/empty", coded("/empty", "", plain("/empty")), Title),
        (
            "/both",
            coded("/both", "gzip, identity", packed("/both")),
            Title,
        ),
        (
            "/raw-deflate",
            coded(
                "/raw-deflate",
                "deflate",
                deflated(&plain("/raw-deflate"), false),
            ),
            Title,
        ),
        (
            "/zlib",
            coded("/zlib", "deflate", deflated(&plain("/zlib"), true)),
            Title,
        ),
        (
            "/twice",
            coded("/twice", "gzip, gzip", gzip(&packed("/twice"))),
            Title,
        ),
        (
            "/unasked",
            coded("/unasked", "zstd", b"\x28\xB5\x2F\xFD<a href=/no>".to_vec()),
            Bare,
        ),
        (
            "/nonsense",
            coded("/nonsense", "rot13", b"\x00\x01<a href=/no>".to_vec()),
            Bare,
        ),
        (
            "/gzip-of-nothing",
            coded("/gzip-of-nothing", "gzip", Vec::new()),
            Bare,
        ),
    ])
    .run(|crawl| crawl);
}

#[test]
fn a_content_type_is_checked_against_the_bytes() {
    let html = |path: &str| titled(path);
    let link = "<a href=/from-no-page>";
    let outcome = Cases(vec![
        ("/no-type", Resp::new(200).body(html("/no-type")), Title),
        ("/no-value", Resp::ok("", html("/no-value")), Title),
        (
            "/shout",
            Resp::ok("TEXT/HTML;charset", html("/shout")),
            Title,
        ),
        (
            "/two-in-one",
            Resp::ok("text/html, text/html", html("/two-in-one")),
            Title,
        ),
        (
            "/bytes",
            Resp::ok("application/octet-stream", html("/bytes")),
            Title,
        ),
        (
            "/last-counts",
            Resp::ok("text/plain", html("/last-counts")).header("Content-Type", "text/html"),
            Title,
        ),
        (
            "/last-counts-too",
            Resp::ok("text/html, image/png", html("/last-counts-too")),
            Bare,
        ),
        ("/no-slash", Resp::ok("html", html("/no-slash")), Title),
        (
            "/xhtml",
            Resp::ok(
                "application/xhtml+xml",
                "<?xml version='1.0'?><html><script src='x'/><title>/xhtml</title></html>",
            ),
            Title,
        ),
        (
            "/pdf",
            Resp::ok("application/octet-stream", format!("%PDF-1.4 {link}")),
            Bare,
        ),
        (
            "/word",
            Resp::ok("text/html", format!("PK\u{3}\u{4}{link}")),
            Bare,
        ),
        (
            "/old-word",
            Resp::ok(
                "text/html",
                [b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", link.as_bytes()].concat(),
            ),
            Bare,
        ),
        (
            "/nul",
            Resp::ok("text/html", format!("\0\0\0\u{1}{link}")),
            Bare,
        ),
        ("/plain", Resp::text(link), Bare),
        (
            "/json",
            Resp::ok("application/json", format!("{link:?}")),
            Bare,
        ),
        ("/gif", Resp::ok("text/html", format!("GIF89a{link}")), Bare),
        ("/nothing", Resp::html(""), Bare),
        ("/204", Resp::new(204), Bare),
        ("/205", Resp::new(205), Bare),
        (
            "/206",
            Resp::new(206)
                .header("Content-Type", "text/html")
                .body(html("/206")),
            Title,
        ),
        (
            "/all-of-it",
            Resp::new(206)
                .header("Content-Type", "text/html")
                .header("Content-Range", "bytes 0-8191/8192")
                .body(html("/all-of-it")),
            Title,
        ),
        (
            "/part",
            Resp::new(206)
                .header("Content-Type", "text/html")
                .header("Content-Range", "bytes 0-20/40")
                .body(html("/part")),
            Failed("rejected", 1, "only a part of the page"),
        ),
    ])
    .run(|crawl| {
        crawl.set(
            "output",
            "fields = [\"url\", \"title\", \"content_type\", \"seen_type\", \"status\"]",
        )
    });
    assert_eq!(outcome.asked.count("/from-no-page"), 0);
    for (path, declared, seen) in [
        ("/pdf", "application/octet-stream", "pdf"),
        ("/word", "text/html", "zip"),
        ("/bytes", "application/octet-stream", "html"),
        ("/gif", "text/html", "image"),
    ] {
        let record = outcome.record(path);
        assert_eq!(record["content_type"], declared, "{path}");
        assert_eq!(record["seen_type"], seen, "{path}");
    }
    assert_eq!(outcome.record("/204")["status"], 204);
}

#[test]
fn an_answer_to_head_has_no_body_whatever_length_it_names() {
    use canter::extract::{Head, Html};
    use canter::{Crawler, Method, Policy, Request, Url};
    use std::sync::{Arc, Mutex};

    let server = Server::scripted(
        Script::new()
            .on("/robots.txt", [Resp::new(404)])
            .on("/page", [Resp::html(titled("/page"))])
            .on("/gone", [Resp::new(404)])
            .on("/moved", [Resp::redirect(303, "/page")])
            .on(
                "/coded",
                [Resp::html(gzip(b"x")).header("Content-Encoding", "gzip")],
            ),
    );
    let seen = Arc::new(Mutex::new(Vec::new()));
    let ours = Arc::clone(&seen);
    let mut builder = Crawler::builder()
        .policy(Policy::builder().concurrency(1).build().expect("a policy"))
        .handler(move |head: Head, page: Option<Html>| {
            let title = page.and_then(|page| page.title().map(str::to_owned));
            let path = head.url().path().to_owned();
            ours.lock()
                .expect("alone")
                .push((path, head.status(), title));
        });
    for path in ["/page", "/gone", "/moved", "/coded"] {
        let url = Url::parse(&server.url(path)).expect("a URL");
        builder = builder.seed_request(Request::new(Method::Head, url));
    }
    let stats = builder.build().expect("a crawl").run().expect("a run");
    assert_eq!(
        (stats.pages, stats.redirected, stats.failed),
        (2, 1, 1),
        "{stats}"
    );
    let mut seen = seen.lock().expect("alone").clone();
    seen.sort_unstable();
    assert_eq!(
        seen,
        [
            ("/coded".to_owned(), 200, None),
            ("/page".to_owned(), 200, None)
        ]
    );
    let methods: Vec<_> = server
        .log()
        .iter()
        .map(|entry| entry.method.clone())
        .collect();
    assert_eq!(methods, ["GET", "HEAD", "HEAD", "HEAD", "HEAD"]);
}
