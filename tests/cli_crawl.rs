//! What a crawl by the program asks for, records and logs: a whole site, and
//! the ways of a redirect.

#![cfg(feature = "cli")]

mod common;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use serde_json::json;

use common::{Crawl, Req, Resp, Script, Server, page};

const HOSTS: [&str; 2] = ["127.0.0.1", "127.0.0.2"];
/// Pages on each of the two hosts.
const PAGES: usize = 150;
/// Which pages have a dead link, a forbidden one, and one to another site.
const DEAD_EVERY: usize = 10;
const FORBIDDEN_EVERY: usize = 15;
const FOREIGN_EVERY: usize = 25;

fn two_hosts() -> common::server::ServerBuilder {
    Server::builder().addresses(&HOSTS)
}

/// A page of a tree: its children, its twin on the other host, and what must
/// not be asked for twice or at all.
fn tree_page(req: &Req) -> Resp {
    let Some(Ok(n)) = req.path.strip_prefix("/p/").map(str::parse::<usize>) else {
        return match req.path.as_str() {
            "/robots.txt" => Resp::text("User-agent: *\nDisallow: /secret/\n"),
            _ => Resp::new(404),
        };
    };
    let twin = if req.host.to_string() == HOSTS[0] {
        HOSTS[1]
    } else {
        HOSTS[0]
    };
    let mut links = String::new();
    for child in [2 * n, 2 * n + 1] {
        if child <= PAGES {
            let _ = write!(links, "<a href={child}>c</a><a href=/p/{child}#again>c</a>");
        }
    }
    let _ = write!(links, "<a href=//{twin}:{}/p/{n}>twin</a>", req.port);
    if n.is_multiple_of(DEAD_EVERY) {
        let _ = write!(links, "<a href=/dead/{n}>d</a>");
    }
    if n.is_multiple_of(FORBIDDEN_EVERY) {
        let _ = write!(links, "<a href=/secret/{n}>s</a>");
    }
    if n.is_multiple_of(FOREIGN_EVERY) {
        let _ = write!(links, "<a href=http://127.0.0.3:{}/{n}>f</a>", req.port);
    }
    Resp::html(format!("<title>Page {n}</title>{links}"))
}

#[test]
fn a_site_of_300_pages_on_two_hosts_is_crawled_once_and_the_sums_add_up() {
    let server = two_hosts().start(tree_page);
    let crawl = Crawl::new([server.url("/p/1")])
        .set("scope.hosts=['127.0.0.1','127.0.0.2']")
        .set("policy.concurrency=8")
        .set("policy.host_concurrency=4");
    let crawled = crawl.run().expect(0);

    let log = server.log();
    log.assert_no_repeats();
    for host in HOSTS {
        let log = log.on(host);
        assert_eq!(log[0].path, "/robots.txt", "{host}");
        assert!(
            log.iter().all(|entry| !entry.path.starts_with("/secret/")),
            "{host}: nothing forbidden is asked for"
        );
        assert_eq!(log.len(), 1 + PAGES + PAGES / DEAD_EVERY, "{host}");
        assert!(log.max_in_flight() <= 4, "{host}");
    }

    let pages: BTreeSet<String> = HOSTS
        .iter()
        .flat_map(|host| (1..=PAGES).map(move |n| (host, n)))
        .map(|(host, n)| server.url_on(host, &format!("/p/{n}")))
        .collect();
    let recorded: BTreeSet<String> = crawled
        .records
        .iter()
        .map(|record| record["url"].as_str().expect("a URL").to_owned())
        .collect();
    assert_eq!(
        crawled.records.len(),
        pages.len(),
        "each page is recorded once"
    );
    assert_eq!(recorded, pages);
    let record = crawled.record(&server.url_on(HOSTS[1], "/p/150"));
    assert_eq!(record["title"], "Page 150");
    // Its twin, the dead one, the forbidden one and the foreign one.
    assert_eq!(record["links"], 4);
    assert_eq!(record["status"], 200);

    assert_eq!(crawled.summary["end"], "complete");
    assert_eq!(crawled.summary["done"], pages.len());
    assert_eq!(
        crawled.summary["failed"],
        json!({"rejected": 2 * (PAGES / DEAD_EVERY)})
    );
    assert_eq!(
        crawled.summary["skipped"],
        json!({"robots": 2 * (PAGES / FORBIDDEN_EVERY), "scope": PAGES / FOREIGN_EVERY})
    );
    assert_eq!(crawled.summary["requests"], log.len());
    assert_eq!(crawled.summary["began_with"], 1);
    let dead = crawled.line(&server.url_on(HOSTS[1], "/dead/10"));
    assert_eq!(dead["kind"], "rejected");
    assert_eq!(dead["status"], 404);
    assert_eq!(dead["attempts"], 1);
    assert_eq!(crawled.line(&server.url("/secret/15"))["reason"], "robots");
}

#[test]
fn a_redirect_out_of_scope_is_not_followed() {
    let server = two_hosts().start(|req| match req.path.as_str() {
        "/" => Resp::html("<a href=/go>go</a>"),
        "/go" => Resp::redirect(302, format!("http://127.0.0.2:{}/x", req.port)),
        "/x" => Resp::html("<a href=/y>y</a><a href=/z>z</a>"),
        _ => Resp::new(404),
    });
    let crawled = Crawl::new([server.url("/")]).run().expect(0);
    assert!(server.log().on("127.0.0.2").is_empty());
    let target = server.url_on("127.0.0.2", "/x");
    let line = crawled.line(&server.url("/go"));
    assert_eq!(line["end"], "redirected");
    assert_eq!(line["to"], target);
    assert_eq!(crawled.line(&target)["reason"], "scope");
    assert_eq!(crawled.records.len(), 1);
}

#[test]
fn a_redirect_into_what_robots_txt_forbids_ends_there() {
    let server = two_hosts().start(|req| {
        let first = req.host.to_string() == "127.0.0.1";
        match req.path.as_str() {
            "/" => Resp::html("<a href=/go>1</a><a href=/ext>2</a>"),
            "/robots.txt" if first => Resp::text("User-agent: *\nDisallow: /private/\n"),
            "/robots.txt" => Resp::text("User-agent: *\nDisallow: /p\n"),
            "/go" => Resp::redirect(301, "/private/1"),
            "/ext" => Resp::redirect(301, format!("http://127.0.0.2:{}/p", req.port)),
            _ => Resp::html("forbidden"),
        }
    });
    let crawled = Crawl::new([server.url("/")])
        .set("scope.hosts=['127.0.0.1','127.0.0.2']")
        .run()
        .expect(0);
    assert_eq!(server.log().on("127.0.0.2").paths(), ["/robots.txt"]);
    let log = server.log().on("127.0.0.1");
    let asked: BTreeSet<&str> = log.paths().into_iter().collect();
    assert_eq!(asked, BTreeSet::from(["/robots.txt", "/", "/go", "/ext"]));
    for url in [server.url("/private/1"), server.url_on("127.0.0.2", "/p")] {
        assert_eq!(crawled.line(&url)["reason"], "robots", "{url}");
    }
}

#[test]
fn locations_with_raw_bytes_are_escaped_as_they_are() {
    let server = Server::scripted(
        Script::new()
            .on(
                "/",
                [page("home", &["/1", "/2", "/3", "/4"])].map(Resp::html),
            )
            .on("/1", [Resp::redirect(302, b"/m\xc3\xbcsli")])
            .on("/2", [Resp::redirect(302, b"/m\xfcsli")])
            .on("/3", [Resp::redirect(302, "/a b")])
            .on("/4", [Resp::redirect(302, "/tab\t")])
            .on("/m%C3%BCsli", [Resp::html("1")])
            .on("/m%FCsli", [Resp::html("2")])
            .on("/a%20b", [Resp::html("3")])
            .on("/tab", [Resp::html("4")]),
    );
    let crawled = Crawl::new([server.url("/")]).run().expect(0);
    for (from, to) in [
        ("/1", "/m%C3%BCsli"),
        ("/2", "/m%FCsli"),
        ("/3", "/a%20b"),
        ("/4", "/tab"),
    ] {
        let record = crawled.record(&server.url(to));
        assert_eq!(record["requested"], server.url(from));
        assert_eq!(
            record["redirects"],
            json!([{"url": server.url(from), "status": 302}])
        );
        assert!(!crawled.has_record(&server.url(from)));
    }
}

#[test]
fn a_target_of_several_redirects_is_fetched_once_and_may_be_retried() {
    let server = Server::scripted(
        Script::new()
            .on(
                "/",
                [Resp::html(
                    "<a href=/old1>1</a><a href=/old2>2</a><a href=/new>3</a>",
                )],
            )
            .on("/old1", [Resp::redirect(301, "/new")])
            .on("/old2", [Resp::redirect(301, "/new")])
            .on("/new", [Resp::new(503), Resp::html("<title>New</title>")]),
    );
    let crawled = Crawl::new([server.url("/")])
        .set("policy.max_host_delay=0")
        .run()
        .expect(0);
    assert_eq!(server.log().count("/new"), 2, "one failure, one success");
    assert_eq!(crawled.records.len(), 2);
    let line = crawled.line(&server.url("/new"));
    assert_eq!(
        (&line["end"], &line["attempts"]),
        (&json!("done"), &json!(2))
    );
    for old in ["/old1", "/old2"] {
        let line = crawled.line(&server.url(old));
        assert_eq!(line["end"], "redirected");
        assert_eq!(line["to"], server.url("/new"));
    }
    assert_eq!(crawled.summary["retried"], 1);
}

#[test]
fn links_of_a_redirected_page_are_resolved_where_it_is() {
    let server = two_hosts().start(|req| match (req.host.to_string().as_str(), &*req.path) {
        ("127.0.0.1", "/x") => Resp::redirect(301, format!("http://127.0.0.2:{}/dir/", req.port)),
        ("127.0.0.2", "/dir/") => Resp::html("<a href=c>c</a><a href=/d>d</a>"),
        ("127.0.0.2", "/dir/c" | "/d") => Resp::html("here"),
        _ => Resp::new(404),
    });
    let crawled = Crawl::new([server.url("/x")])
        .set("scope.hosts=['127.0.0.1','127.0.0.2']")
        .run()
        .expect(0);
    assert!(crawled.has_record(&server.url_on("127.0.0.2", "/dir/c")));
    assert!(crawled.has_record(&server.url_on("127.0.0.2", "/d")));
    assert_eq!(server.log().on("127.0.0.1").paths(), ["/robots.txt", "/x"]);
    assert!(
        crawled.summary["failed"]
            .as_object()
            .expect("counts")
            .is_empty()
    );
}

#[test]
fn configured_headers_stay_with_their_origin_and_out_of_every_file() {
    const SECRET: &str = "Bearer s3cret";
    let other_port = Server::builder()
        .addresses(&["127.0.0.1"])
        .start(|_| Resp::html("other port"));
    let port = other_port.port();
    let server = two_hosts().start(move |req| match req.path.as_str() {
        "/" => Resp::html("<a href=/host>1</a><a href=/port>2</a><a href=/here>3</a>"),
        "/host" => Resp::redirect(302, format!("http://127.0.0.2:{}/x", req.port)),
        "/port" => Resp::redirect(302, format!("http://127.0.0.1:{port}/x")),
        "/here" => Resp::redirect(302, "/x"),
        _ => Resp::html("here"),
    });
    let crawl = Crawl::new([server.url("/")])
        .set("scope.hosts=['127.0.0.1','127.0.0.2']")
        .with_state()
        .toml(
            "[[host]]\nname = '127.0.0.1'\n\
             headers = { Authorization = '${TOKEN}', Cookie = 'id=s3cret' }",
        );
    let run = crawl.program().env("TOKEN", SECRET).arg("-vv").run();
    assert!(!run.stderr.contains("s3cret"), "{}", run.stderr);
    let crawled = crawl.read(run).expect(0);
    for entry in server.log().iter() {
        let ours = entry.host.to_string() == "127.0.0.1";
        let told = |name| entry.header(name).is_some();
        let expected = (ours, ours);
        assert_eq!(
            (told("authorization"), told("cookie")),
            expected,
            "{} {}",
            entry.host,
            entry.path
        );
    }
    assert_eq!(server.log().on("127.0.0.2").len(), 2);
    assert_eq!(other_port.log().paths(), ["/robots.txt", "/x"]);
    for entry in other_port.log().iter() {
        assert_eq!(entry.header("authorization"), None);
        assert_eq!(entry.header("cookie"), None);
    }
    assert_eq!(crawled.records.len(), 4);
    for name in ["pages.jsonl", "log.jsonl", "summary.json", "state"] {
        for file in files(&crawl.path(name)) {
            let bytes = std::fs::read(&file).expect("it can be read");
            let secret = bytes.windows(6).any(|window| window == b"s3cret");
            assert!(!secret, "{}", file.display());
        }
    }
}

/// A file, or the files in a folder.
fn files(path: &std::path::Path) -> Vec<std::path::PathBuf> {
    match std::fs::read_dir(path) {
        Ok(entries) => entries
            .map(|entry| entry.expect("an entry").path())
            .collect(),
        Err(_) => vec![path.to_owned()],
    }
}

#[test]
fn nothing_but_robots_txt_is_asked_of_a_site_that_forbids_all_however_it_is_written() {
    for robots in [
        &b"\xef\xbb\xbfUser-agent: *\r\nDisallow: /\r\n"[..],
        b"\xef\xbb\xbfUser-agent: *\rDisallow: /\r",
        b"\xef\xbb\xbfUser-agent: *\nDisallow: /",
    ] {
        let server = Server::scripted(
            Script::new()
                .on("/robots.txt", [Resp::text(robots)])
                .otherwise(Resp::html("forbidden")),
        );
        let crawled = Crawl::new([server.url("/"), server.url("/more")])
            .run()
            .expect(5);
        assert_eq!(server.log().paths(), ["/robots.txt"]);
        assert_eq!(crawled.summary["end"], "nothing");
        assert_eq!(crawled.summary["skipped"], json!({"robots": 2}));
    }
}

#[test]
fn bytes_that_come_one_by_one_do_not_outlive_the_timeout() {
    const TIMEOUT: Duration = Duration::from_millis(600);
    let every = Duration::from_millis(100);
    let slow_body = Resp::html("x".repeat(200)).drip(1, every);
    let slow_head = Resp::html("x").drip_head(1, every);
    let server = Server::scripted(
        Script::new()
            .on("/body1", [slow_body.clone()])
            .on("/body2", [slow_body])
            .on("/head1", [slow_head.clone()])
            .on("/head2", [slow_head])
            .on("/quick", [Resp::html("<title>Quick</title>")]),
    );
    let paths = ["/body1", "/body2", "/head1", "/head2", "/quick"];
    let crawled = Crawl::new(paths.map(|path| server.url(path)))
        .set("policy.host_concurrency=4")
        .set("policy.max_retries=0")
        .set("policy.max_host_delay=0")
        .set(format!("fetch.timeout={}", TIMEOUT.as_secs_f64()))
        .run()
        .expect(0);
    for path in &paths[..4] {
        let line = crawled.line(&server.url(path));
        assert_eq!(line["kind"], "timeout", "{line}");
    }
    assert!(crawled.has_record(&server.url("/quick")));
    // All four at once: one after the other would take four times as long.
    assert!(crawled.took() >= TIMEOUT, "{:?}", crawled.took());
    assert!(crawled.took() < TIMEOUT * 3, "{:?}", crawled.took());
}

#[test]
fn a_pooled_connection_that_died_in_the_meantime_costs_no_attempt() {
    let links: Vec<String> = (1..10).map(|n| format!("/{n}")).collect();
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    let home = page("home", &links);
    let server = Server::builder()
        .idle(Duration::from_millis(60))
        .start(move |req| match req.path.as_str() {
            "/" => Resp::html(home.clone()),
            "/robots.txt" => Resp::new(404),
            _ => Resp::html("a page"),
        });
    let crawled = Crawl::new([server.url("/")])
        .set("policy.host_delay=0.12")
        .run()
        .expect(0);
    assert_eq!(crawled.records.len(), 10);
    assert!(crawled.log.iter().all(|line| line["attempts"] == 1));
    server.log().assert_no_repeats();
    assert_eq!(server.requests(), 11);
}

#[test]
fn a_firewall_that_drops_an_idle_flow_is_noticed_before_it_costs_a_timeout() {
    // Longer than any pooled connection is kept.
    const DELAY: Duration = Duration::from_millis(4_300);
    let server = Server::start(|req| match req.path.as_str() {
        "/robots.txt" => Resp::new(404),
        _ => Resp::html("a page").then_hang(),
    });
    let crawled = Crawl::new([server.url("/1"), server.url("/2")])
        .set(format!("policy.host_delay={}", DELAY.as_secs_f64()))
        .run()
        .expect(0);
    assert!(crawled.log.iter().all(|line| line["attempts"] == 1));
    assert!(crawled.took() < DELAY * 3, "{:?}", crawled.took());
}
