//! Spider traps: sites that make up pages without end. Each is left after a few
//! dozen requests, is named, and costs no ordinary page.

use std::fmt::Write as _;

use crate::common::{Req, Resp, Server, page};
use crate::crawl::{Crawl, Outcome};

/// How many ordinary pages each trap has around it.
const PAGES: usize = 20;

/// The ordinary pages, which link to one another, the trap's entries besides.
fn ordinary(req: &Req, entries: &[&str]) -> Option<Resp> {
    let path = req.path.as_str();
    if path == "/robots.txt" {
        return Some(Resp::new(404));
    }
    let own = path == "/"
        || path
            .strip_prefix("/page/")
            .is_some_and(|n| n.parse::<usize>().is_ok());
    own.then(|| {
        let links: Vec<String> = (0..PAGES).map(|n| format!("/page/{n}")).collect();
        let links: Vec<&str> = links
            .iter()
            .map(String::as_str)
            .chain(entries.iter().copied())
            .collect();
        Resp::html(page("ordinary", &links))
    })
}

#[track_caller]
fn has_every_ordinary_page(outcome: &Outcome) {
    for n in 0..PAGES {
        assert!(
            outcome.has_record(&format!("/page/{n}")),
            "page {n} is missing"
        );
    }
}

fn skipped(outcome: &Outcome, reason: &str) -> u64 {
    outcome.summary["skipped"][reason].as_u64().unwrap_or(0)
}

#[test]
fn a_path_that_repeats_itself_ends_after_a_few_dozen_requests() {
    let server = Server::start(|req| {
        ordinary(req, &["doc/src/", "www.b.test"])
            .unwrap_or_else(|| Resp::html(page("trap", &["doc/src/", "www.b.test", "./", "../x/"])))
    });
    let outcome = Crawl::from([server.url("/")]).run(&server, 0);
    has_every_ordinary_page(&outcome);
    assert!(
        outcome.asked.len() < 400,
        "{} requests",
        outcome.asked.len()
    );
    assert!(skipped(&outcome, "trap_repeat") > 0, "{}", outcome.summary);
}

#[test]
fn a_path_that_grows_ends_at_its_depth_or_length() {
    let server = Server::start(|req| {
        ordinary(req, &["/deep/0/", "/long/x"]).unwrap_or_else(|| {
            if let Some(rest) = req.path.strip_prefix("/long/") {
                return Resp::html(page("trap", &[&format!("/long/{rest}{}", "y".repeat(100))]));
            }
            let level = req.path.matches('/').count();
            Resp::html(page("trap", &[&format!("{level}/")]))
        })
    });
    let outcome = Crawl::from([server.url("/")])
        .set("crawl", "max_depth = \"none\"")
        .run(&server, 0);
    has_every_ordinary_page(&outcome);
    assert!(outcome.asked.len() < 80, "{} requests", outcome.asked.len());
    assert_eq!(skipped(&outcome, "trap_depth"), 1);
    assert_eq!(skipped(&outcome, "trap_length"), 1);
}

/// A month, as a calendar without end links it.
fn calendar(query: &str) -> Resp {
    let month: i64 = query
        .strip_prefix("m=")
        .and_then(|n| n.parse().ok())
        .unwrap_or(0);
    let (before, after) = (
        format!("/cal?m={}", month - 1),
        format!("/cal?m={}", month + 1),
    );
    Resp::html(page("month", &[&before, &after]))
}

#[test]
fn a_calendar_without_end_is_stopped_at_the_cap_and_named() {
    let server = Server::start(|req| {
        ordinary(req, &["/cal?m=0"])
            .unwrap_or_else(|| calendar(req.path.split_once('?').map_or("", |(_, query)| query)))
    });
    let outcome = Crawl::from([server.url("/")])
        .set("crawl", "max_depth = \"none\"")
        .set("policy", "max_pages_per_host = 200")
        .run(&server, 3);
    has_every_ordinary_page(&outcome);
    assert_eq!(outcome.summary["pages"], 200);
    assert!(
        outcome.stderr.contains("/cal: found with"),
        "the pattern is not named: {}",
        outcome.stderr
    );
}

#[test]
fn the_queries_of_a_path_have_a_cap_of_their_own() {
    let server = Server::start(|req| {
        ordinary(req, &["/cal?m=0"])
            .unwrap_or_else(|| calendar(req.path.split_once('?').map_or("", |(_, query)| query)))
    });
    let outcome = Crawl::from([server.url("/")])
        .set("crawl", "max_depth = \"none\"")
        .set("traps", "max_query_variants = 60")
        .run(&server, 0);
    has_every_ordinary_page(&outcome);
    assert_eq!(outcome.summary["pages"], 60 + 1 + PAGES as u64);
    assert!(skipped(&outcome, "trap_variants") > 0);
    assert!(
        outcome.stderr.contains("/cal: found with 60"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn session_ids_in_urls_are_dropped_and_hosts_are_not_mangled() {
    let server = Server::start(|req| {
        let id = format!(
            "{:x}",
            req.turn * 7919 + usize::try_from(req.connection).unwrap_or(0)
        );
        let port = req.port;
        let mut links = vec![
            format!("/shop?sid={id}"),
            format!("/shop?PHPSESSID={id}&a=1"),
            format!("/x;jsessionid={id}?y=1"),
            format!("/(S({id}))/net/x"),
            format!("/shop?side={}", 1),
            format!("http://127.0.0.1;jsessionid={id}.node_2:{port}/?p=v"),
        ];
        if req.path_only() == "/robots.txt" {
            return Resp::new(404);
        }
        if req.path_only() == "/" {
            links.extend((0..PAGES).map(|n| format!("/page/{n}?sessionid={id}")));
        }
        let links: Vec<&str> = links.iter().map(String::as_str).collect();
        Resp::html(page("shop", &links))
    });
    let outcome = Crawl::from([server.url("/")]).run(&server, 0);
    let mut expected: Vec<String> = [
        "/",
        "/net/x",
        "/shop",
        "/shop?a=1",
        "/shop?side=1",
        "/x?y=1",
    ]
    .map(str::to_owned)
    .to_vec();
    expected.extend((0..PAGES).map(|n| format!("/page/{n}")));
    expected.sort_unstable();
    assert_eq!(outcome.paths_on("127.0.0.1"), expected);
    has_every_ordinary_page(&outcome);
    // Turned off, they are pages like others.
    let bounded = Crawl::from([server.url("/")])
        .set("scope", "drop_params = []")
        .set("policy", "max_requests = 60")
        .run(&server, 3);
    assert!(
        bounded
            .paths_on("127.0.0.1")
            .iter()
            .any(|path| path.contains("sid="))
    );
}

#[test]
fn a_page_with_thousands_of_long_links_is_crawled_like_any_other() {
    let server = Server::start(|req| {
        ordinary(req, &["/many"]).unwrap_or_else(|| {
            let mut html = String::new();
            if req.path == "/many" {
                for n in 0..20_000 {
                    let _ = write!(
                        html,
                        "<a href=\"/page/{}#{n}{}\">",
                        n % PAGES,
                        "z".repeat(n % 50)
                    );
                }
            }
            Resp::html(html)
        })
    });
    let outcome = Crawl::from([server.url("/")])
        .set("fetch", "max_body = \"4 MiB\"")
        .run(&server, 0);
    has_every_ordinary_page(&outcome);
    assert_eq!(
        outcome.asked.len(),
        PAGES + 3,
        "{:?}",
        outcome.asked.paths()
    );
    assert_eq!(outcome.record("/many")["links"], 20_000);
}
