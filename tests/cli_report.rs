//! `canter report`: the page is one file that needs no other, its numbers add
//! up, nothing that a site says is markup in it, and what it is made from is
//! whole whenever a run is killed.

#![cfg(feature = "cli")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use html5gum::{Token, Tokenizer};
use serde_json::Value;

use common::{Crawl, Program, Req, Resp, Server, TempDir, canter};

const HOSTS: [&str; 3] = ["127.0.0.1", "127.0.0.2", "127.0.0.3"];
const PATIENCE: Duration = Duration::from_secs(30);
/// What a hostile site puts into its URLs.
const HOSTILE: &str = "/\"><script>alert(1)</script><img src=http://evil.test/x onerror='x'>";

/// Pages, redirects, failures of several kinds, a host that throttles and one
/// that asks to be left alone.
fn site(req: &Req) -> Resp {
    let n: usize = req.path.trim_start_matches("/p/").parse().unwrap_or(0);
    match (req.host.to_string().as_str(), req.path.as_str()) {
        (_, "/robots.txt") => Resp::text("User-agent: *\nDisallow: /private/\n"),
        ("127.0.0.2", "/p/4" | "/p/13") if req.nth == 1 => {
            Resp::new(429).header("Retry-After", "1")
        }
        ("127.0.0.3", "/p/7") if req.nth == 1 => Resp::new(503),
        (_, "/moved") => Resp::redirect(301, "/p/1"),
        (_, path) if path.starts_with("/dead") || path.contains("script") => Resp::new(404),
        (_, path) if path.starts_with("/broken") => Resp::new(500),
        _ if n < 30 => {
            let links: String = (n * 2 + 1..=n * 2 + 2)
                .map(|n| format!("<a href='/p/{n}'>x</a>"))
                .collect();
            let odd = match n {
                3 => format!("<a href=\"{}\">x</a>", HOSTILE.replace('"', "&quot;")),
                4 => "<a href=/moved>x</a><a href=/private/1>x</a>".to_owned(),
                5 => "<a href=/dead/1>x</a><a href=/broken>x</a>".to_owned(),
                6 => "<a href=http://127.0.0.9/out>x</a>".to_owned(),
                _ => String::new(),
            };
            Resp::html(format!("<title><script>{n}</script></title>{links}{odd}"))
        }
        _ => Resp::html("the end"),
    }
}

fn server() -> Server {
    Server::builder().addresses(&HOSTS).start(site)
}

fn crawl(server: &Server) -> Crawl {
    Crawl::new(HOSTS.map(|host| server.url_on(host, "/p/0")))
        .with_state()
        .set("policy.max_requests_per_minute=6000")
        .set("policy.max_retries=2")
        .set("policy.max_host_delay=1")
        .set("policy.max_error_rate=1")
}

/// `canter report` on a crawl's configuration.
fn report(crawl: &Crawl) -> Program {
    let config = crawl.path("crawl.toml");
    // The state is set on the command line of the runs alone.
    let text = fs::read_to_string(&config).expect("the configuration");
    if !text.contains("[state]") {
        fs::write(&config, format!("{text}[state]\ndir = \"state\"\n")).expect("written");
    }
    canter(["report".as_ref(), config.as_os_str()])
}

/// Tags that have no end (HTML section 13.1.2).
const VOID: [&str; 6] = ["meta", "link", "img", "br", "hr", "input"];

/// Checks that a page is well formed, needs nothing else and has no script.
/// Gives its text.
fn checked(html: &str) -> String {
    assert!(
        html.starts_with("<!doctype html>\n"),
        "{}",
        &html[..80.min(html.len())]
    );
    let mut open: Vec<String> = Vec::new();
    let mut text = String::new();
    for token in Tokenizer::new(html) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => {
                let name = String::from_utf8_lossy(&tag.name).into_owned();
                assert!(
                    ![
                        "script", "iframe", "object", "embed", "img", "link", "base", "a", "form"
                    ]
                    .contains(&name.as_str()),
                    "<{name}>"
                );
                for (key, value) in &tag.attributes {
                    let key = String::from_utf8_lossy(key).into_owned();
                    let value = String::from_utf8_lossy(value).into_owned();
                    assert!(!key.starts_with("on"), "{key}={value:?}");
                    assert!(
                        ![
                            "src",
                            "href",
                            "xlink:href",
                            "srcset",
                            "action",
                            "data",
                            "background"
                        ]
                        .contains(&key.as_str()),
                        "{key}={value:?}"
                    );
                    if key == "style" {
                        assert!(!value.contains("url("), "{value}");
                    }
                }
                if !tag.self_closing && !VOID.contains(&name.as_str()) {
                    open.push(name);
                }
            }
            Token::EndTag(tag) => {
                let name = String::from_utf8_lossy(&tag.name).into_owned();
                assert_eq!(open.pop().as_ref(), Some(&name), "after {text:.100}");
                if ["td", "th", "dd", "dt", "p", "li", "h1", "h2", "h3"].contains(&name.as_str()) {
                    text.push('\n');
                }
            }
            Token::String(string) => text.push_str(&String::from_utf8_lossy(&string)),
            Token::Error(error) => panic!("{error:?}"),
            Token::Comment(_) | Token::Doctype(_) => {}
        }
    }
    assert_eq!(open, [""; 0]);
    let style = html
        .split("<style>")
        .nth(1)
        .and_then(|rest| rest.split("</style>").next());
    let style = style.expect("a style");
    assert!(
        !style.contains("url(") && !style.contains("@import"),
        "{style}"
    );
    assert!(style.contains("prefers-color-scheme: dark") && style.contains("@media print"));
    text
}

/// The numbers of the run's tiles: each stands before its name.
fn tiles(text: &str) -> BTreeMap<String, u64> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    lines
        .windows(2)
        .filter_map(|pair| Some((pair[1].to_owned(), pair[0].replace(',', "").parse().ok()?)))
        .collect()
}

#[test]
fn the_page_is_whole_needs_nothing_and_its_numbers_are_those_of_the_summary() {
    let server = server();
    let crawl = crawl(&server);
    let crawled = crawl.run().expect(0);
    let run = report(&crawl).run().expect_code(0);
    assert_eq!(run.stderr, "");
    let html = run.out();
    let text = checked(html);
    let tiles = tiles(&text);
    let summary = &crawled.summary;
    let number = |key: &str| summary[key].as_u64().expect("a number");
    let sum = |key: &str| -> u64 {
        let counts = summary[key].as_object().expect("counts");
        counts.values().filter_map(Value::as_u64).sum()
    };
    assert_eq!(tiles["requests"], number("requests"));
    assert_eq!(tiles["URLs done"], number("done"));
    assert_eq!(tiles["redirected"], number("redirected"));
    assert_eq!(tiles["retries"], number("retried"));
    assert_eq!(tiles["failed"], sum("failed"));
    assert_eq!(tiles["not asked for"], sum("skipped"));
    assert_eq!(tiles["records"], number("records"));
    for word in [
        "Starts a minute",
        "Pauses and gaps by host",
        "URLs that have failed",
    ] {
        assert!(text.contains(word), "{word}");
    }
    // What a host asked for is on its line.
    assert!(html.contains("asked for"), "a pause by Retry-After");
    assert!(html.contains("throttled</title>"), "a pause by a 503");

    let chronicle = fs::read(crawl.path("state/report.json")).expect("a chronicle");
    let chronicle: Value = serde_json::from_slice(&chronicle).expect("JSON");
    let parts = chronicle["run"]["timeline"]["parts"]
        .as_object()
        .expect("parts");
    let starts: u64 = parts
        .values()
        .filter_map(|part| part["starts"].as_u64())
        .sum();
    assert_eq!(starts, number("requests"));
    assert_eq!(server.requests() as u64, starts, "as the server counts");
    let hosts = chronicle["run"]["hosts"]["by_name"]
        .as_object()
        .expect("hosts");
    for (host, held) in hosts {
        let asked = server.log().on(host).len() as u64;
        assert_eq!(held["starts"].as_u64(), Some(asked), "{host}");
    }
}

#[test]
fn what_a_site_says_is_text() {
    let server = server();
    let crawl = crawl(&server);
    crawl.run().expect(0);
    let run = report(&crawl).run().expect_code(0);
    let html = run.out();
    checked(html);
    assert!(!html.contains("<script") && !html.contains("<img"));
    assert!(html.contains("alert(1)"), "the URL is shown");
    // A name of the configuration is no markup either.
    let odd = crawl.path("<b>&\"x'.toml");
    fs::copy(crawl.path("crawl.toml"), &odd).expect("copied");
    let run = canter(["report".as_ref(), odd.as_os_str()])
        .run()
        .expect_code(0);
    checked(run.out());
    assert!(run.out().contains("&lt;b&gt;&amp;&quot;x&#39;.toml"));
}

#[test]
fn runs_add_up_and_each_is_told() {
    let server = server();
    let crawl = crawl(&server);
    let mut requests = 0;
    for _ in 0..3 {
        let run = crawl.program().arg("--max-requests=20").run();
        let crawled = crawl.read(run);
        requests += crawled.summary["requests"].as_u64().expect("a number");
    }
    let run = report(&crawl).run().expect_code(0);
    let text = checked(run.out());
    for words in [
        "Run 3 began at",
        "over 3 runs",
        "All runs",
        "max_requests is reached",
    ] {
        assert!(text.contains(words), "{words} in\n{text}");
    }
    assert!(
        text.contains(&format!("after {requests} requests")),
        "{text}"
    );
    let chronicle = fs::read(crawl.path("state/report.json")).expect("a chronicle");
    let chronicle: Value = serde_json::from_slice(&chronicle).expect("JSON");
    let told: u64 = ["run", "before"]
        .map(|part| {
            chronicle[part]["totals"]["starts"]
                .as_u64()
                .expect("starts")
        })
        .iter()
        .sum();
    assert_eq!(told, requests);
    assert_eq!(chronicle["runs"].as_array().map(Vec::len), Some(3));

    // A crawl that is begun anew has no past.
    crawl.program().arg("--fresh").arg("--max-requests=5").run();
    let chronicle = fs::read(crawl.path("state/report.json")).expect("a chronicle");
    let chronicle: Value = serde_json::from_slice(&chronicle).expect("JSON");
    assert_eq!(chronicle["runs"].as_array().map(Vec::len), Some(1));
    assert_eq!(chronicle["run"]["totals"]["starts"], 5);
}

#[test]
fn a_run_that_goes_on_or_was_killed_has_a_page() {
    let server = Server::builder().addresses(&HOSTS).start(|req: &Req| {
        let n: usize = req.path.trim_start_matches("/p/").parse().unwrap_or(0);
        let links: String = (n + 1..n + 4)
            .map(|n| format!("<a href='/p/{n}'>x</a>"))
            .collect();
        match req.path.as_str() {
            "/robots.txt" => Resp::new(404),
            _ => Resp::html(links).delay(Duration::from_millis(2)),
        }
    });
    let crawl = Crawl::new([server.url("/p/0")])
        .with_state()
        .set("crawl.max_depth=none")
        .set("policy.concurrency=4");
    let mut asked = 0;
    for round in 0..6 {
        let mut running = crawl.start();
        asked += 20 + 11 * round;
        server.wait_for_requests(asked, PATIENCE);
        if round == 0 {
            let run = report(&crawl).run().expect_code(0);
            let text = checked(run.out());
            assert!(text.contains("has not told its end"), "{text}");
        }
        running.signal("KILL");
        running.wait();
        asked = server.requests();
        let bytes = fs::read(crawl.path("state/report.json")).expect("a chronicle");
        let chronicle: Value = serde_json::from_slice(&bytes).expect("whole");
        assert_eq!(chronicle["runs"].as_array().map(Vec::len), Some(round + 1));
        checked(report(&crawl).run().expect_code(0).out());
    }
}

#[test]
fn a_report_that_cannot_be_read_is_named_and_the_rest_is_shown() {
    let server = server();
    let crawl = crawl(&server);
    crawl.run().expect(0);
    let chronicle = crawl.path("state/report.json");
    for (bytes, why) in [
        (&b"{\"version\":99}"[..], "version 99"),
        (b"{\"runs\":", "EOF"),
    ] {
        fs::write(&chronicle, bytes).expect("written");
        let run = report(&crawl).run().expect_code(0);
        assert!(
            run.stderr.contains(why) && run.stderr.contains("report.json"),
            "{}",
            run.stderr
        );
        let text = checked(run.out());
        assert!(
            text.contains("The crawl so far") && text.contains("No run has kept"),
            "{text}"
        );
    }
    // A run begins it anew, and says so; that is no failure.
    let crawled = crawl.run();
    let run = crawled.run.expect_code(0);
    assert!(run.stderr.contains("it is begun anew"), "{}", run.stderr);
    report(&crawl).run().expect_code(0);
    // And an old state knows of none.
    fs::remove_file(&chronicle).expect("removed");
    let run = report(&crawl).run().expect_code(0);
    assert_eq!(run.stderr, "");
    checked(run.out());
}

#[test]
fn the_page_goes_where_it_is_told_whole_or_not_at_all() {
    let server = server();
    let crawl = crawl(&server).arg("--report").arg("pages/run.html");
    crawl.run().expect(0);
    let page = fs::read_to_string(crawl.path("pages/run.html")).expect("a page");
    checked(&page);
    let out = crawl.path("deep/down/again.html");
    let program = report(&crawl).arg("-o").arg(&out);
    let run = program.run().expect_code(0);
    assert_eq!(run.out(), "");
    checked(&fs::read_to_string(&out).expect("a page"));

    let folder = crawl.path("deep");
    let run = report(&crawl)
        .arg("--output")
        .arg(&folder)
        .run()
        .expect_code(1);
    assert!(
        run.stderr.contains("cannot be written to"),
        "{}",
        run.stderr
    );
    // A run does not begin whose page could not be written.
    let before = server.requests();
    let run = crawl.program().arg("--report=deep").run().expect_code(1);
    assert!(
        run.stderr.contains("cannot be written to"),
        "{}",
        run.stderr
    );
    assert_eq!(server.requests(), before);

    // Without a state there is the run alone.
    let page = crawl.path("crawl.html");
    let run = canter(["crawl", "-q", "--rate=none", "--depth=1", "--report"])
        .arg(&page)
        .arg(server.url("/p/0"))
        .run()
        .expect_code(0);
    assert_eq!(run.records().len(), 3);
    let text = checked(&fs::read_to_string(&page).expect("a page"));
    assert_eq!(tiles(&text)["requests"], 4);
    assert!(!text.contains("The crawl so far"));
}

#[test]
fn without_a_state_there_is_nothing_to_report() {
    let server = server();
    let crawl = Crawl::new([server.url("/p/0")]);
    crawl.program();
    let config = crawl.path("crawl.toml");
    let run = canter(["report".as_ref(), config.as_os_str()])
        .run()
        .expect_code(2);
    assert!(run.stderr.contains("keeps no state"), "{}", run.stderr);
    let run = report(&crawl).run().expect_code(0);
    assert!(
        run.stderr.starts_with("canter: nothing has been run yet"),
        "{}",
        run.stderr
    );
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    assert!(run.out().starts_with("<!"), "a page was asked for");
    assert!(run.out().contains("Nothing has been run yet"));
    assert!(
        !Path::new(&crawl.path("state")).exists(),
        "looking makes nothing"
    );
}

#[cfg(unix)]
#[test]
fn a_page_is_not_written_over_what_is_the_crawls_own() {
    let server = Server::builder().start(|_| Resp::html("a page"));
    let folder = TempDir::new();
    let url = server.url("/");
    folder.write("urls.txt", format!("{url}\n"));
    folder.write("ca.pem", "");
    folder.write(
        "c.toml",
        "crawl.seed_files = [\"urls.txt\"]\nstate.dir = \"state\"\n\
         [output]\npath = \"pages-{date}-{pass}.jsonl\"\nlog = \"log.jsonl\"\nbodies = \"kept\"\n\
         summary = \"sub/{date}/sum.json\"\nmetrics = \"m.prom\"\nexisting = \"replace\"\n",
    );
    std::os::unix::fs::symlink(".", folder.join("here")).expect("a link");
    std::os::unix::fs::symlink("c.toml", folder.join("link")).expect("a link");
    let run = |args: &[&str]| canter(args).dir(folder.path()).run();
    run(&["run", "c.toml", "-q"]).expect_code(0);
    let config = format!("fetch.ca_file = \"ca.pem\"\n{}", folder.read("c.toml"));
    folder.write("c.toml", &config);
    for (file, owner) in [
        ("c.toml", "the configuration file"),
        ("link", "the configuration file"),
        ("./none/../c.toml", "the configuration file"),
        ("state/x.html", "inside state.dir"),
        ("here/state/a/b", "inside state.dir"),
        ("state", "inside state.dir"),
        ("pages-2020-01-31-17.jsonl", "the file of output.path"),
        ("pages-{date}-{pass}.jsonl", "the file of output.path"),
        ("pages-2020-01-31-17.jsonl.part", "the file of output.path"),
        ("here/log.jsonl", "the file of output.log"),
        ("sub/2020-01-31/sum.json", "the file of output.summary"),
        ("m.prom", "the file of output.metrics"),
        ("kept/index.jsonl", "inside output.bodies"),
        ("urls.txt", "a file of crawl.seed_files"),
        ("ca.pem", "the file of fetch.ca_file"),
    ] {
        for (args, option) in [
            (["report", "c.toml", "-o", file], "canter: --output"),
            (["run", "c.toml", "--report", file], "canter: --report"),
        ] {
            let run = run(&args).expect_code(2);
            let said =
                format!("{option}: {file} is a file of the crawl itself ({owner}); name another\n");
            assert_eq!(run.stderr, said, "{args:?}");
        }
    }
    assert_eq!(folder.read("c.toml"), config);
    // What is in the making has a name too.
    folder.write(
        "new.toml",
        format!("crawl.seeds = [\"{url}\"]\noutput.path = \"x.new\"\n"),
    );
    let refused = run(&["run", "new.toml", "--report", "x"]).expect_code(2);
    assert!(
        refused.stderr.starts_with("canter: --report: x.new is"),
        "{}",
        refused.stderr
    );
    for file in [
        "report.html",
        "pages-x-1.jsonl",
        "new/log.jsonl",
        "statement",
    ] {
        run(&["report", "c.toml", "-o", file]).expect_code(0);
    }
    let page = run(&["report", "c.toml", "-o", "-"]).expect_code(0);
    assert!(page.out().starts_with("<!"), "a page on standard output");
}

#[cfg(unix)]
#[test]
fn a_report_takes_the_place_of_a_file_and_of_nothing_else() {
    let server = server();
    let crawl = crawl(&server);
    crawl.program().arg("--max-requests=3").run().expect_code(3);
    let folder = TempDir::new();
    let to = |file: &str| {
        let place = folder.path().join(file);
        report(&crawl).arg("-o").arg(place).run()
    };
    // What a link leads to is replaced, and the link stays.
    let real = folder.write("real.html", "old");
    std::os::unix::fs::symlink(&real, folder.path().join("link")).expect("a link");
    to("link").expect_code(0);
    assert!(folder.path().join("link").is_symlink());
    assert!(folder.read("real.html").starts_with("<!"));
    // A socket stands for devices and pipes.
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
    let run = to("socket").expect_code(1);
    assert!(run.stderr.contains("is no file"), "{}", run.stderr);
    assert!(std::os::unix::net::UnixStream::connect(&socket).is_ok());
}
