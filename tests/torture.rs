//! The program, killed again and again in the middle of a crawl: nothing is
//! lost, nothing is written twice, and nothing that was committed is asked for
//! again. `CANTER_KILLS` says how often.

#![cfg(feature = "cli")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use common::{Req, Resp, Server, TempDir, canter, jsonl};

/// Kills to be survived, as a rule.
const KILLS: usize = 15;
const PAGES: usize = 400;
/// The longest that a run lives, in milliseconds: a commit or two.
const LIFE: u64 = 2_400;

fn is_redirect(n: usize) -> bool {
    n % 17 == 5
}

fn is_broken(n: usize) -> bool {
    n % 41 == 7
}

/// A page whose first answer to anybody is a failure.
fn is_flaky(n: usize) -> bool {
    n % 13 == 3
}

/// Page `n` links to a few others, so that the whole site hangs together.
fn answer(req: &Req) -> Resp {
    if req.path == "/robots.txt" {
        return Resp::text("User-agent: *\nDisallow: /private/\n");
    }
    let Some(n) = req.path[1..].parse::<usize>().ok().filter(|n| *n < PAGES) else {
        return Resp::new(404);
    };
    if is_broken(n) {
        return Resp::new(404);
    }
    if is_redirect(n) {
        return Resp::redirect(301, format!("/{}", n + 1));
    }
    if is_flaky(n) && req.nth == 1 {
        return Resp::new(503);
    }
    let mut body = format!("<title>page {n}</title><a href=/private/{n}>no</a>");
    for to in [n + 1, n + 2, n * 2 + 1, n * 3 + 2] {
        if to < PAGES {
            write!(body, "<a href=/{to}>{to}</a>").expect("memory");
        }
    }
    Resp::html(body).delay(Duration::from_millis(n as u64 % 7))
}

/// The paths whose end the state's last whole checkpoint holds for good: those
/// that failed come back in the next run.
fn committed(journal: &Path) -> BTreeSet<String> {
    let Ok(text) = fs::read_to_string(journal) else {
        return BTreeSet::new();
    };
    let mut urls = BTreeMap::new();
    let (mut ended, mut held) = (Vec::new(), Vec::new());
    for line in text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
    {
        let Ok(line) = serde_json::from_str::<serde_json::Value>(line) else {
            break;
        };
        if let (Some(print), Some(url)) = (line["q"].as_str(), line["u"].as_str()) {
            urls.insert(print.to_owned(), url.to_owned());
        }
        if let Some(print) = line["e"].as_str()
            && line["x"] != "failed"
        {
            held.push(print.to_owned());
        }
        if line.get("crc").is_some() {
            ended.append(&mut held);
        }
    }
    let path = |url: &String| canter::Url::parse(url).expect("a URL").path().to_owned();
    ended
        .iter()
        .filter_map(|print| urls.get(print))
        .map(path)
        .collect()
}

#[test]
fn a_crawl_survives_being_killed_at_any_moment() {
    let kills = std::env::var("CANTER_KILLS").map_or(KILLS, |n| n.parse().expect("a number"));
    let mut rng = fastrand::Rng::with_seed(kills as u64);
    let (mut killed, mut crawls) = (0, 0);
    while killed < kills {
        crawls += 1;
        killed += one_crawl(&mut rng, kills - killed);
    }
    println!("{killed} kills over {crawls} crawls");
}

/// Crawls the site to its end through at most `most` kills; says how many.
fn one_crawl(rng: &mut fastrand::Rng, most: usize) -> usize {
    let server = Server::start(answer);
    let dir = TempDir::new();
    dir.write(
        "crawl.toml",
        format!(
            "[crawl]\nseeds = [\"{}\"]\nmax_depth = 400\n\
             [policy]\nmax_requests_per_minute = 6000\nconcurrency = 8\nhost_concurrency = 8\n\
             retry_delay = 0.01\nmax_host_failures = 0\nmax_error_rate = 1\n\
             [output]\npath = \"pages.jsonl\"\nfields = [\"url\", \"title\"]\nlog = \"log.jsonl\"\n\
             [state]\ndir = \"state\"\n",
            server.url("/0")
        ),
    );
    let config = dir.join("crawl.toml");
    let journal = dir.join("state").join("journal.jsonl");
    let (mut killed, mut done) = (0, BTreeSet::new());
    loop {
        let before = server.log().len();
        let run = canter(["run", "-q"]).arg(&config);
        if killed < most {
            let mut child = run.start();
            thread::sleep(Duration::from_millis(rng.u64(..LIFE)));
            child.signal("KILL");
            let ended = child.wait();
            killed += usize::from(ended.signal() == Some(9));
            assert!(
                ended.signal() == Some(9) || ended.code() == Some(0),
                "{}",
                ended.stderr
            );
        } else {
            run.run().expect_code(0);
        }
        let asked: Vec<String> = server
            .log()
            .iter()
            .skip(before)
            .map(|e| e.path.clone())
            .collect();
        for path in &asked {
            assert!(
                !done.contains(path),
                "{path} was committed and is asked for again"
            );
        }
        let now = committed(&journal);
        assert!(
            done.is_subset(&now),
            "forgotten: {:?}",
            done.difference(&now)
        );
        done = now;
        let finished = fs::read_to_string(&journal)
            .is_ok_and(|text| text.contains("{\"finished\":1}\n{\"c\":"));
        if finished {
            break;
        }
    }
    check(&dir, &server);
    killed
}

fn check(dir: &TempDir, server: &Server) {
    let path = |url: &serde_json::Value| {
        canter::Url::parse(url.as_str().expect("text"))
            .expect("a URL")
            .path()
            .to_owned()
    };
    let mut records = BTreeMap::<String, usize>::new();
    for record in jsonl::read(dir.join("pages.jsonl")) {
        *records.entry(path(&record["url"])).or_default() += 1;
    }
    let expected: BTreeMap<String, usize> = (0..PAGES)
        .filter(|n| !is_redirect(*n) && !is_broken(*n))
        .map(|n| (format!("/{n}"), 1))
        .collect();
    assert_eq!(records, expected, "each page has one record");
    let mut ends = BTreeMap::<String, Vec<String>>::new();
    for line in jsonl::read(dir.join("log.jsonl")) {
        let end = line["end"].as_str().expect("an end").to_owned();
        ends.entry(path(&line["url"])).or_default().push(end);
    }
    for n in 0..PAGES {
        let of_page = &ends[&format!("/{n}")];
        if is_broken(n) {
            // It comes back in each run.
            assert!(
                of_page.iter().all(|end| end == "failed"),
                "/{n}: {of_page:?}"
            );
        } else {
            let end = if is_redirect(n) { "redirected" } else { "done" };
            assert_eq!(of_page, &[end], "/{n} ends once");
        }
    }
    assert!(
        server
            .log()
            .iter()
            .all(|entry| !entry.path.starts_with("/private/"))
    );
}

/// A small server may lose its power again and again.
#[test]
fn a_crawl_that_never_lives_a_second_comes_to_its_end() {
    let server = Server::start(|req| {
        let n: usize = req.path[1..].parse().unwrap_or(usize::MAX);
        match n {
            0..12 => Resp::html(format!("<a href=/{}>next</a>", n + 1)),
            _ => Resp::new(404),
        }
    });
    let dir = TempDir::new();
    dir.write(
        "crawl.toml",
        format!(
            "[crawl]\nseeds = [\"{}\"]\nrevisit = \"365d\"\n\
             [policy]\nmax_requests_per_minute = 600\n\
             [output]\npath = \"pages.jsonl\"\n[state]\ndir = \"state\"\n",
            server.url("/0")
        ),
    );
    // A life may end between the end of the crawl and its own. The next one is a
    // new pass then, in which no page is due.
    for _ in 0..40 {
        let before = server.log().len();
        let mut run = canter(["run", "crawl.toml", "-q"]).dir(dir.path()).start();
        let mut looks = 0;
        // Seven starts are 600 milliseconds apart at the least.
        while run.is_running() && server.log().len() < before + 7 && looks < 2_000 {
            thread::sleep(Duration::from_millis(5));
            looks += 1;
        }
        if !run.is_running() {
            assert_eq!(run.wait().code(), Some(0));
            let urls = jsonl::read(dir.join("pages.jsonl"));
            assert_eq!(urls.len(), 12, "each page once: {urls:?}");
            return;
        }
        run.signal("KILL");
        run.wait();
    }
    panic!("no way through in 40 lives");
}
