//! Passes over a site, one after the other: what is asked for again, and what
//! is not. No pass costs a site more than the one before without a reason.

#![cfg(feature = "cli")]

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use common::{Req, Resp, Server, TempDir, canter, jsonl};

/// A crawl of a site from its front page, with a state.
struct Site {
    server: Server,
    dir: TempDir,
}

impl Site {
    fn new(more: &str, answer: impl Fn(&Req) -> Resp + Send + Sync + 'static) -> Site {
        let server = Server::start(answer);
        let dir = TempDir::new();
        dir.write(
            "crawl.toml",
            format!(
                "[crawl]\nseeds = [{:?}]\n{more}\n[policy]\nmax_requests_per_minute = \"none\"\n\
                 max_retries = 0\nconcurrency = 1\n[output]\npath = \"pages.jsonl\"\n[state]\ndir = \"state\"\n",
                server.url("/")
            ),
        );
        Site { server, dir }
    }

    /// One run; gives how often each path was asked for in it.
    fn run(&self, args: &[&str], code: i32) -> BTreeMap<String, usize> {
        self.server.clear_log();
        canter(["run", "crawl.toml", "-q"].iter().chain(args))
            .dir(self.dir.path())
            .run()
            .expect_code(code);
        let mut asked = BTreeMap::new();
        for path in self.server.log().paths() {
            *asked.entry(path.to_owned()).or_default() += 1;
        }
        asked
    }

    /// The URLs of all records so far, with how many there are of each.
    fn records(&self) -> BTreeMap<String, usize> {
        let mut records = BTreeMap::new();
        for record in jsonl::read(self.dir.join("pages.jsonl")) {
            let url = record["url"].as_str().expect("a URL");
            let path = url.strip_prefix(&self.server.url("")).expect("of the site");
            *records.entry(path.to_owned()).or_default() += 1;
        }
        records
    }
}

fn counts<const N: usize>(of: [(&str, usize); N]) -> BTreeMap<String, usize> {
    of.map(|(path, count)| (path.to_owned(), count)).into()
}

#[test]
fn what_redirects_made_up_in_one_pass_is_not_asked_for_in_the_next() {
    let token = AtomicUsize::new(0);
    let site = Site::new("", move |req| {
        let next = || token.fetch_add(1, Ordering::Relaxed);
        match req.path_only() {
            "/" => Resp::html("<a href=/endless><a href=/login><a href=/gone>"),
            "/endless" => Resp::redirect(302, format!("/endless?at={}", next())),
            "/login" if req.path == "/login" => {
                Resp::redirect(302, format!("/login?token={}", next()))
            }
            "/login" => Resp::html("<title>a page for each token"),
            "/gone" if req.path == "/gone" => Resp::redirect(302, format!("/gone?id={}", next())),
            _ => Resp::new(404),
        }
    });
    let passes: Vec<usize> = (0..6)
        .map(|_| site.run(&[], 0).values().sum::<usize>())
        .collect();
    // robots.txt is known in all but the first.
    assert_eq!(passes[1..], [passes[0] - 1; 5], "{passes:?}");
    let records = site.records();
    assert_eq!(
        records.len(),
        7,
        "the front page, and a page each pass: {records:?}"
    );
    let status = canter(["status", "crawl.toml", "--json"])
        .dir(site.dir.path())
        .run()
        .expect_code(0);
    let status: serde_json::Value = serde_json::from_str(status.out()).expect("JSON");
    assert_eq!(
        status["failed"]["rejected"], 2,
        "of this pass only: {status}"
    );
}

#[test]
fn a_page_that_a_redirect_leads_to_is_asked_for_in_every_pass() {
    let moved = Arc::new(AtomicUsize::new(0));
    let now = Arc::clone(&moved);
    let site = Site::new("", move |req| {
        match (req.path.as_str(), now.load(Ordering::Relaxed)) {
            ("/", _) => Resp::html("<a href=/old><a href=/named-late>"),
            ("/old", 0) => Resp::redirect(301, "/hop"),
            ("/old", _) => Resp::redirect(301, "/newer"),
            ("/hop", _) => Resp::redirect(301, "/new"),
            ("/new" | "/newer" | "/other", _) => Resp::html("moved"),
            // Once it leads to a page, that is linked from elsewhere, too.
            ("/named-late", 0) => Resp::redirect(302, "/other"),
            ("/named-late", _) => Resp::html("<a href=/other>"),
            _ => Resp::new(404),
        }
    });
    let first = [("/", 1), ("/old", 1), ("/hop", 1), ("/new", 1)];
    let late = [("/named-late", 1), ("/other", 1)];
    let mut expected: BTreeMap<_, _> = counts(first);
    expected.extend(counts(late));
    let mut asked = site.run(&[], 0);
    asked.remove("/robots.txt");
    assert_eq!(asked, expected);
    assert_eq!(site.run(&[], 0), expected, "the same in a second pass");

    moved.store(1, Ordering::Relaxed);
    let elsewhere = [
        ("/", 1),
        ("/old", 1),
        ("/newer", 1),
        ("/named-late", 1),
        ("/other", 1),
    ];
    assert_eq!(site.run(&[], 0), counts(elsewhere), "where it leads now");
    moved.store(2, Ordering::Relaxed);
    assert_eq!(site.run(&[], 0), counts(elsewhere), "a link is enough");
}

#[test]
fn a_pass_that_is_cut_short_knows_what_redirects_led_to_in_it() {
    let site = Site::new("", |req| match req.path.as_str() {
        "/" => Resp::html("<a href=/old><a href=/late>"),
        "/old" => Resp::redirect(302, "/new"),
        "/new" => Resp::html("<a href=/more>"),
        "/late" | "/more" => Resp::html("x"),
        _ => Resp::new(404),
    });
    site.run(&[], 0);
    for pass in 2..5 {
        let mut asked: Vec<String> = Vec::new();
        let mut runs = 0;
        loop {
            let code = if runs == 4 { 0 } else { 3 };
            let more = site.run(&["--max-requests", "1"], code);
            asked.extend(more.into_keys());
            runs += 1;
            if code == 0 {
                break;
            }
        }
        asked.sort();
        assert_eq!(asked, ["/", "/late", "/more", "/new", "/old"]);
        assert!(site.records().values().all(|count| *count == pass));
    }
}

#[test]
fn a_sitemap_does_not_call_for_a_page_that_was_done_in_the_pass() {
    let second = Arc::new(AtomicUsize::new(200));
    let status = Arc::clone(&second);
    let settings = "follow = false\nrevisit = \"365d\"\nsitemaps = true";
    let site = Site::new(settings, move |req| {
        let url = |path: &str| format!("http://{}{path}", req.host_header());
        let changed = SystemTime::now() + Duration::from_secs(3600);
        let page = |path: &str| {
            let date = httpdate::fmt_http_date(changed);
            format!(
                "<url><loc>{}</loc><lastmod>{date}</lastmod></url>",
                url(path)
            )
        };
        let xml = |body: String| Resp::ok("application/xml", body);
        match req.path.as_str() {
            "/sitemap.xml" => {
                let part = |path| format!("<sitemap><loc>{}</loc></sitemap>", url(path));
                let parts = part("/first.xml") + &part("/second.xml");
                xml(format!("<sitemapindex>{parts}</sitemapindex>"))
            }
            "/second.xml" if status.load(Ordering::Relaxed) != 200 => Resp::new(500),
            "/first.xml" | "/second.xml" => {
                let pages = page("/a") + &page("/b");
                xml(format!("<urlset>{pages}</urlset>"))
            }
            "/" | "/a" | "/b" => Resp::html("x"),
            _ => Resp::new(404),
        }
    });
    site.run(&[], 0);
    second.store(500, Ordering::Relaxed);
    let sitemaps = [
        ("/sitemap.xml", 1),
        ("/first.xml", 1),
        ("/second.xml", 1),
        ("/a", 1),
    ];
    assert_eq!(site.run(&["--max-requests", "4"], 3), counts(sitemaps));
    second.store(200, Ordering::Relaxed);
    let rest = [("/second.xml", 1), ("/b", 1)];
    assert_eq!(site.run(&[], 0), counts(rest), "the rest of the pass");
    assert_eq!(site.records(), counts([("/", 1), ("/a", 2), ("/b", 2)]));
}

#[test]
fn what_failed_does_not_keep_runs_that_are_cut_short_from_the_rest() {
    let site = Site::new("", |req| match req.path.as_str() {
        "/" => {
            let link = |path: String| format!("<a href={path}>");
            let dead = (0..6).map(|n| link(format!("/dead{n}")));
            let pages = (0..9).map(|n| link(format!("/{n}")));
            Resp::html(dead.chain(pages).collect::<String>())
        }
        path if path.starts_with("/dead") || path == "/robots.txt" => Resp::new(404),
        _ => Resp::html("a page"),
    });
    let mut runs = 0;
    for pass in 1..=2 {
        loop {
            site.run(&["--max-requests", "5"], 3);
            runs += 1;
            let records = site.records();
            if records.values().filter(|count| **count == pass).count() == 10 {
                break;
            }
            assert!(runs < 6 * pass, "{records:?}");
        }
        // What has failed in the meantime is asked for once more.
        site.run(&[], 0);
    }
}

/// A site that lets nobody in who does not bring the cookie of its gate.
#[cfg(feature = "cookies")]
#[test]
fn a_gate_lets_in_also_when_the_run_ends_before_it_does() {
    let site = Site::new("", |req| {
        let (path, query) = req.path.split_once('?').unwrap_or((&req.path, ""));
        match path {
            "/robots.txt" => Resp::new(404),
            "/gate" => Resp::redirect(302, query).header("Set-Cookie", "in=1; Path=/"),
            _ if req.header("cookie").is_none() => Resp::redirect(302, format!("/gate?{path}")),
            "/" => Resp::html("<a href=/a><a href=/b><a href=/c>"),
            _ => Resp::html("a page"),
        }
    });
    for pass in 1..=2 {
        let mut runs = 0;
        while {
            site.server.clear_log();
            let args = ["run", "crawl.toml", "-q", "--max-requests", "4"];
            let run = canter(args).dir(site.dir.path()).run();
            run.code() == Some(3)
        } {
            runs += 1;
            assert!(runs < 20, "{:?}", site.records());
        }
        let all = [("/", pass), ("/a", pass), ("/b", pass), ("/c", pass)];
        assert_eq!(site.records(), counts(all));
    }
}
