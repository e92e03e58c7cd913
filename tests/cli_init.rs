//! `canter init` writes a configuration that `canter check` accepts, whatever
//! the site says or does not say, and asks it no more than it must.

#![cfg(feature = "cli")]

mod common;

use std::fs;
use std::time::Duration;

use common::{Req, Resp, Run, Server, TempDir, canter};

/// Checks what was written, and gives what `canter check` shows of it.
#[track_caller]
fn checked(run: &Run) -> String {
    let folder = TempDir::new();
    let file = folder.write("made.toml", run.out());
    let check = canter(["check".as_ref(), file.as_os_str()])
        .run()
        .expect_code(0);
    assert_eq!(check.stderr, "");
    check.out().to_owned()
}

/// Whether a line of a check has these words.
#[track_caller]
fn assert_in_effect(check: &str, words: &str) {
    let wanted: Vec<&str> = words.split(' ').collect();
    let found = check.lines().any(|line| {
        line.split_whitespace()
            .collect::<Vec<_>>()
            .starts_with(&wanted)
    });
    assert!(found, "{words} in\n{check}");
}

fn init(server: &Server, path: &str) -> Run {
    canter(["init".to_owned(), server.url(path)])
        .run()
        .expect_code(0)
}

#[test]
fn without_a_url_it_asks_nobody() {
    let run = canter(["init"]).run().expect_code(0);
    assert_eq!(run.stderr, "");
    let check = checked(&run);
    assert_in_effect(&check, "max_requests_per_minute 60 line");
    assert_in_effect(&check, "dir");
}

#[test]
fn what_robots_txt_says_and_where_the_page_is_go_in() {
    let server = Server::start(|req: &Req| match req.path.as_str() {
        "/robots.txt" => Resp::text(
            "User-agent: *\nCrawl-delay: 2.5\nDisallow: /no\nSitemap: http://a.test/one.xml\n\
             Sitemap: http://a.test/\"]\nx = 1\n",
        ),
        "/" => Resp::redirect(301, "/home"),
        _ => Resp::html("here"),
    });
    let run = init(&server, "/");
    let check = checked(&run);
    assert_in_effect(&check, &format!("seeds [\"{}\"]", server.url("/home")));
    assert_in_effect(&check, "host_delay \"2.5s\"");
    assert_in_effect(&check, "sitemaps true");
    assert_in_effect(&check, "max_requests_per_minute 24");
    assert!(run.out().contains("http://a.test/one.xml"), "{}", run.out());
    assert!(run.stderr.contains("leads to"), "{}", run.stderr);
    let log = server.log();
    assert_eq!(log.paths(), ["/robots.txt", "/", "/home"]);
    // A busy server notes a request late: a gap may seem a little shorter.
    for gap in log.gaps("127.0.0.1") {
        assert!(gap >= Duration::from_millis(700), "{gap:?}");
    }
    // The delay holds from when it is known.
    let last = log.gaps("127.0.0.1").last().copied().expect("gaps");
    assert!(last >= Duration::from_millis(2_200), "{last:?}");
}

#[test]
fn a_redirect_to_another_host_is_asked_about_there() {
    let server = Server::builder()
        .addresses(&["127.0.0.1", "127.0.0.2"])
        .start(|req: &Req| {
            let first = req.host.to_string() == "127.0.0.1";
            match req.path.as_str() {
                "/robots.txt" if first => Resp::text("User-agent: *\nCrawl-delay: 2\n"),
                "/robots.txt" => Resp::text("User-agent: *\nSitemap: http://b.test/map.xml\n"),
                "/" if first => Resp::redirect(302, format!("http://127.0.0.2:{}/there", req.port)),
                _ => Resp::new(404),
            }
        });
    let run = canter(["init".to_owned(), server.url("/")])
        .run()
        .expect_code(0);
    let check = checked(&run);
    // Whoever names one host has not named the private address of another.
    let refused = run.stderr.contains("cannot be read now");
    assert!(refused, "{}", run.stderr);
    assert_in_effect(
        &check,
        &format!("seeds [\"{}\"]", server.url_on("127.0.0.2", "/there")),
    );
    assert_eq!(server.log().on("127.0.0.2").len(), 0);
}

#[test]
fn what_is_forbidden_or_slow_is_not_asked_for() {
    for (robots, why) in [
        ("User-agent: canter\nDisallow: /\n", "robots.txt forbids"),
        (
            "User-agent: *\nCrawl-delay: 60\n",
            "asks for 1m between two requests",
        ),
    ] {
        let server = Server::start(move |req: &Req| match req.path.as_str() {
            "/robots.txt" => Resp::text(robots),
            _ => Resp::html("no"),
        });
        let run = init(&server, "/page");
        checked(&run);
        assert!(
            run.stderr.contains(why) && run.out().contains(why),
            "{}",
            run.stderr
        );
        assert_eq!(server.log().paths(), ["/robots.txt"]);
    }
}

#[test]
fn a_site_that_does_not_answer_has_a_configuration_with_a_note() {
    let server = Server::start(|_: &Req| Resp::close());
    let run = init(&server, "/");
    let check = checked(&run);
    assert_in_effect(&check, &format!("seeds [\"{}\"]", server.url("/")));
    assert!(run.out().contains("# - the robots.txt of"), "{}", run.out());
    drop(server);
    let run = canter(["init", "http://127.0.0.1:9/"]).run().expect_code(0);
    checked(&run);
    assert!(run.stderr.contains("cannot be read now"), "{}", run.stderr);
    let run = canter(["init", "example.com"]).run().expect_code(2);
    assert!(
        run.stderr.contains("did you mean https://example.com/"),
        "{}",
        run.stderr
    );
    assert_eq!(run.out(), "");
}

#[test]
fn a_file_that_is_there_stays_as_it_is() {
    let folder = TempDir::new();
    let file = folder.path().join("crawl.toml");
    canter(["init", "-o"]).arg(&file).run().expect_code(0);
    let written = fs::read_to_string(&file).expect("written");
    canter(["check".as_ref(), file.as_os_str()])
        .run()
        .expect_code(0);
    let server = Server::start(|_: &Req| Resp::new(404));
    let run = canter(["init", "--output"])
        .arg(&file)
        .arg(server.url("/"))
        .run()
        .expect_code(2);
    assert!(run.stderr.contains("is there already"), "{}", run.stderr);
    assert_eq!(fs::read_to_string(&file).expect("still there"), written);
    assert_eq!(server.requests(), 0, "nobody was asked for nothing");
    let run = canter(["init", "-o"])
        .arg(folder.path().join("no/such.toml"))
        .run()
        .expect_code(1);
    assert!(run.stderr.contains("cannot be written"), "{}", run.stderr);
}
