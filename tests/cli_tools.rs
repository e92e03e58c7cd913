//! `canter robots` and `canter sitemap`: what was understood of a site's files,
//! with few requests, one after the other, and codes that a script can rely on.

#![cfg(feature = "cli")]

mod common;

use std::fs;
use std::time::{Duration, Instant};

use common::{Req, Resp, Run, Script, Server, TempDir, canter, gzip};
use serde_json::Value;

const ROBOTS: &str = "\
User-agent: otherbot
Disallow: /

User-agent: *
Crawl-delay: 2.5
Disallow: /private/
Allow: /private/open
Sitemap: /map.xml
";

/// A script in which robots.txt says so.
fn with_robots(answer: Resp) -> Script {
    Script::new().on("/robots.txt", [answer])
}

fn tool(args: &[&str]) -> Run {
    canter(args).arg("--rate").arg("none").run()
}

fn robots(server: &Server, path: &str, more: &[&str]) -> Run {
    let url = server.url(path);
    tool(&[&["robots", &url], more].concat())
}

#[test]
fn the_line_that_decides_is_named_with_its_group() {
    let server = Server::scripted(with_robots(Resp::text(ROBOTS)));
    for (path, agent, code, expected) in [
        (
            "/",
            "us",
            0,
            ["us may fetch", "no line", "* (everybody", "2.5s"],
        ),
        (
            "/private/x?y=1#z",
            "us",
            5,
            [
                "us may not fetch",
                "line 6: Disallow: /private/",
                "*",
                "/map.xml",
            ],
        ),
        (
            "/private/open",
            "us",
            0,
            [
                "us may fetch",
                "line 7: Allow: /private/open",
                "*",
                "/map.xml",
            ],
        ),
        (
            "/private/open",
            "OtherBot/2.0 (+http://a.test)",
            5,
            [
                "OtherBot may not",
                "line 2: Disallow: /",
                "otherbot",
                "status 200",
            ],
        ),
        (
            "/robots.txt",
            "otherbot",
            0,
            ["otherbot may fetch", "always", "otherbot", "status 200"],
        ),
    ] {
        let run = robots(&server, path, &["--agent", agent]).expect_code(code);
        for word in expected {
            assert!(run.out().contains(word), "{path}: {word}: {}", run.out());
        }
        assert_eq!(run.stderr, "");
    }
    let log = server.log();
    assert_eq!(
        log.count("/robots.txt"),
        log.len(),
        "nothing else is asked for"
    );
    assert_eq!(log[0].header("user-agent"), Some("us"));
}

#[test]
fn what_is_not_there_allows_and_what_cannot_be_read_forbids() {
    for (answer, code, expected) in [
        (Resp::new(404), 0, "everything is allowed"),
        (Resp::new(403), 0, "everything is allowed"),
        (Resp::new(503), 5, "forbidden until it can be read"),
        (Resp::new(429), 5, "forbidden until it can be read"),
        (Resp::close(), 5, "forbidden until it can be read"),
        (
            Resp::html("<!DOCTYPE html><title>Welcome</title>"),
            0,
            "robots.txt is HTML",
        ),
        (
            Resp::text("# x\n".repeat(200_000) + "User-agent: *\nDisallow: /\n"),
            0,
            "over-long",
        ),
        (
            Resp::text("User-agent: *\nDisallow: /\x1b[31m\n"),
            0,
            "no line",
        ),
    ] {
        let server = Server::scripted(with_robots(answer));
        let run = robots(&server, "/x", &[]).expect_code(code);
        assert!(run.out().contains(expected), "{expected}: {}", run.out());
        assert!(!run.out().contains('\u{1b}'));
    }
}

#[test]
fn a_robots_txt_is_followed_through_five_redirects_and_no_more() {
    let chain = |length: usize| {
        let mut script = Script::new();
        for at in 0..length {
            let from = if at == 0 {
                "/robots.txt".to_owned()
            } else {
                format!("/r{at}")
            };
            script = script.on(&from, [Resp::redirect(301, format!("/r{}", at + 1))]);
        }
        script.on(
            &format!("/r{length}"),
            [Resp::text("User-agent: *\nDisallow: /\n")],
        )
    };
    let server = Server::scripted(chain(5));
    let run = robots(&server, "/", &[]).expect_code(5);
    assert!(run.out().contains("/r5 (status 200)"), "{}", run.out());
    let server = Server::scripted(chain(6));
    robots(&server, "/", &[]).expect_code(0);
    assert_eq!(server.log().len(), 6);
}

/// A site with an index, its sitemaps, and what is wrong with them.
fn map_server() -> Server {
    let script = Script::new()
        .on(
            "/a.xml",
            [Resp::ok(
                "application/xml",
                "<urlset><url><loc>http://a.test/1</loc><lastmod>2024-02-29</lastmod></url>\
                 <url><loc> http://a.test/2?x&amp;y </loc></url><url><loc>http://[</loc></url></urlset>",
            )],
        )
        .on("/moved.xml", [Resp::redirect(301, "/a.xml")])
        .on("/page.html", [Resp::html("<!DOCTYPE html><title>x</title>")])
        .on(
            "/b.xml.gz",
            [Resp::ok(
                "application/octet-stream",
                gzip(b"<urlset><url><loc>http://a.test/3</loc></url><url><loc>http://a.t"),
            )],
        );
    Server::start(move |req| {
        if req.path != "/index.xml" {
            return script.answer(req);
        }
        let paths = [
            "/a.xml",
            "/a.xml",
            "/index.xml",
            "/moved.xml",
            "/gone.xml",
            "/page.html",
            "/b.xml.gz",
        ];
        let port = req.port;
        let locs: String = paths
            .iter()
            .map(|path| format!("<sitemap><loc>http://127.0.0.1:{port}{path}</loc></sitemap>"))
            .collect();
        Resp::ok("text/xml", format!("<sitemapindex>{locs}</sitemapindex>"))
    })
}

#[test]
fn an_index_is_followed_and_each_file_is_asked_for_once() {
    let server = map_server();
    let run = tool(&["sitemap", &server.url("/index.xml")]).expect_code(0);
    assert_eq!(
        run.out(),
        "http://a.test/1\nhttp://a.test/2?x&y\nhttp://a.test/3\n"
    );
    for word in [
        "/index.xml: index, 7 entries",
        "/a.xml: urlset, 3 entries, 1 left out: no absolute URL",
        "/moved.xml: leads to",
        "/gone.xml: there is no such page (status 404)",
        "/page.html: an HTML page, not a sitemap",
        "/b.xml.gz: urlset, 1 entry; read in part",
    ] {
        assert!(run.stderr.contains(word), "{word}: {}", run.stderr);
    }
    let log = server.log();
    assert_eq!(
        log.paths(),
        [
            "/index.xml",
            "/a.xml",
            "/moved.xml",
            "/a.xml",
            "/gone.xml",
            "/page.html",
            "/b.xml.gz"
        ]
    );
}

#[test]
fn json_names_where_each_url_stands() {
    let server = map_server();
    let run = tool(&["sitemap", &server.url("/a.xml"), "--json"]).expect_code(0);
    let at = server.url("/a.xml");
    assert_eq!(
        run.records(),
        [
            serde_json::json!({"url": "http://a.test/1", "lastmod": "2024-02-29", "sitemap": at}),
            serde_json::json!({"url": "http://a.test/2?x&y", "sitemap": at}),
        ]
    );
    assert_eq!(run.records()[1]["lastmod"], Value::Null);
}

#[test]
fn requests_are_a_second_apart_unless_told_otherwise() {
    let server = map_server();
    let url = server.url("/index.xml");
    let began = Instant::now();
    canter(["sitemap", &url, "--max-requests", "3"])
        .run()
        .expect_code(3);
    // However late the server was to note them, the third came two seconds
    // after the first.
    let took = began.elapsed();
    assert_eq!(server.requests(), 3);
    assert!(took >= Duration::from_secs(2), "{took:?}");
}

#[test]
fn files_and_standard_input_are_read_without_a_request() {
    let folder = TempDir::new();
    let path = folder.path().join("feed.xml");
    fs::write(
        &path,
        "<rss><channel><item><link>http://a.test/é</link></item></channel></rss>",
    )
    .expect("a file");
    let name = path.to_str().expect("UTF-8");
    let run = canter(["sitemap", name]).run().expect_code(0);
    assert_eq!(run.out(), "http://a.test/%C3%A9\n");
    assert!(
        run.stderr.contains("feed.xml: rss, 1 entry\n"),
        "{}",
        run.stderr
    );

    let index = "<sitemapindex><sitemap><loc>http://127.0.0.1:1/a</loc></sitemap></sitemapindex>";
    let run = canter(["sitemap", "-"]).input(index).run().expect_code(0);
    assert_eq!(run.out(), "http://127.0.0.1:1/a\n");
    assert!(run.stderr.contains("give the URL"), "{}", run.stderr);
}

#[test]
fn entries_without_an_absolute_url_are_counted_and_not_listed() {
    for (input, expected) in [
        (
            "<urlset><url><loc>/a</loc></url><url><loc>http://a.test/1</loc></url>\
             <url><loc>http://[</loc></url><url/></urlset>",
            "-: urlset, 4 entries, 3 left out: no absolute URL\n",
        ),
        (
            "<!DOCTYPE urlset [<!ENTITY b 'x'>]><urlset><url><loc>http://a.test/1</loc></url>\
             <url><loc>http://a.test/&b;</loc></url></urlset>",
            "-: urlset, 2 entries, 1 left out: no absolute URL\n",
        ),
        (
            "http://a.test/1\n\n/2\nno url\n",
            "-: text, 3 entries, 2 left out: no absolute URL\n",
        ),
        (
            "<urlset><url><loc>http://a.test/1</loc></url><url><loc>/2</loc></url><url>",
            "-: urlset, 2 entries, 1 left out: no absolute URL; read in part: cut short",
        ),
        ("http://a.test/1\n", "-: text, 1 entry\n"),
    ] {
        let run = canter(["sitemap", "-"]).input(input).run().expect_code(0);
        assert_eq!(run.out(), "http://a.test/1\n");
        assert!(run.stderr.contains(expected), "{}", run.stderr);
    }
}

#[test]
fn a_sitemap_of_which_nothing_can_be_listed_is_as_one_that_cannot_be_read() {
    let relative = "<urlset><url><loc>/a</loc></url><url><loc>b</loc></url></urlset>";
    for (input, code, line) in [
        (relative, 5, "canter: nothing could be listed"),
        ("<urlset></urlset>", 0, "canter: -: urlset, 0 entries"),
    ] {
        let run = canter(["sitemap", "-"])
            .input(input)
            .run()
            .expect_code(code);
        assert_eq!(run.out(), "");
        assert_eq!(run.stderr.lines().last(), Some(line), "{}", run.stderr);
    }
    // An index that leads to one, or to none, is no success either.
    for (child, code) in [
        (Resp::text("<urlset><url><loc>/a</loc></url></urlset>"), 5),
        (Resp::new(404), 5),
        (Resp::text("<urlset/>"), 0),
    ] {
        let server = Server::start(move |request: &Req| match &*request.path {
            "/index.xml" => Resp::text(format!(
                "<sitemapindex><sitemap><loc>http://{}/child.xml</loc></sitemap></sitemapindex>",
                request.header("host").unwrap_or_default()
            )),
            _ => child.clone(),
        });
        let run = tool(&["sitemap", &server.url("/index.xml")]).expect_code(code);
        assert_eq!(server.requests(), 2);
        let said = run.stderr.ends_with("canter: nothing could be listed\n");
        assert_eq!(said, code == 5, "{}", run.stderr);
    }
}

#[test]
fn what_cannot_be_used_or_read_has_its_code_and_says_why() {
    let server = Server::scripted(Script::new());
    for (args, code, expected) in [
        (
            &["sitemap", "nowhere.xml"][..],
            2,
            "cannot read nowhere.xml",
        ),
        (
            &["sitemap", "a.test/map.xml"],
            2,
            "did you mean https://a.test/map.xml ?",
        ),
        (
            &["sitemap", "x.xml", "--rate", "9"],
            2,
            "--rate has no effect on a file",
        ),
        (&["sitemap", "http://["], 2, "not a URL"),
        (&["sitemap", &server.url("/none.xml")], 5, "status 404"),
        (&["sitemap"], 2, "needs a URL or a file"),
        (&["robots"], 2, "needs a URL"),
        (
            &["robots", "http://a.test/", "http://b.test/"],
            2,
            "unexpected argument \"http://b.test/\"",
        ),
        (
            &["robots", "http://a.test/", "--agent", "two\nlines"],
            2,
            "fetch.user_agent",
        ),
        (
            &["robots", "example.com"],
            2,
            "did you mean https://example.com/ ?",
        ),
        (&["robots", "http://a.test/", "--agnet", "x"], 2, "--agent"),
    ] {
        let run = canter(args).run().expect_code(code);
        assert_eq!(run.out(), "", "{args:?}");
        assert!(run.stderr.contains(expected), "{args:?}: {}", run.stderr);
    }
}
