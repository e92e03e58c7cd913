//! Every way a run of the program ends: exit code, time, whole files, and what
//! is left pending.

#![cfg(feature = "cli")]

mod common;

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use common::{Crawl, Req, Resp, Script, Server, page};

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long the program may take from a signal to its end, besides what it is
/// told to wait: far above what it needs, since the machine may be busy.
const PROMPT: Duration = Duration::from_secs(10);
/// Signals that come sooner after the first are taken for the same one.
const SAME_SIGNAL: Duration = Duration::from_millis(100);

/// A home page with links to `/1` up to this number.
fn home(links: usize) -> Resp {
    let links: Vec<String> = (1..=links).map(|n| format!("/{n}")).collect();
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    Resp::html(page("home", &links))
}

/// A site whose home page has links, all of which answer so.
fn site(links: usize, answer: impl Fn(&Req) -> Resp + Send + Sync + 'static) -> Server {
    let home = home(links);
    Server::start(move |req| match req.path.as_str() {
        "/" => home.clone(),
        "/robots.txt" => Resp::new(404),
        _ => answer(req),
    })
}

#[test]
fn a_site_that_turns_to_403_ends_the_run_with_its_queue_pending() {
    let server = site(60, |_| Resp::new(403));
    let crawled = Crawl::new([server.url("/")])
        .set("policy.max_consecutive_failures=7")
        .set("policy.concurrency=1")
        .run()
        .expect(4);
    // robots.txt, the home page, and exactly seven failures.
    assert_eq!(server.requests(), 9);
    assert_eq!(crawled.summary["end"], "refused");
    assert_eq!(crawled.summary["done"], 1);
    assert_eq!(crawled.summary["failed"], json!({"rejected": 7}));
    assert_eq!(crawled.summary["pending"], 53);
    let err = &crawled.run.stderr;
    assert!(
        err.contains("canter: stopped, since the site refuses: 7 failures in a row"),
        "{err}"
    );
    assert!(err.contains("53 pending"), "{err}");
}

#[test]
fn a_site_of_dead_links_is_a_complete_crawl() {
    let server = site(200, |_| Resp::new(404));
    let crawled = Crawl::new([server.url("/")]).run().expect(0);
    assert_eq!(crawled.summary["end"], "complete");
    assert_eq!(crawled.summary["failed"], json!({"rejected": 200}));
    assert_eq!(crawled.summary["pending"], 0);
    assert_eq!(server.requests(), 202);
}

#[test]
fn a_host_that_refuses_for_ever_is_left_for_the_next_run_while_others_go_on() {
    let server = Server::builder()
        .addresses(&["127.0.0.1", "127.0.0.2"])
        .start(|req| match req.host.to_string().as_str() {
            _ if req.path == "/robots.txt" => Resp::new(404),
            "127.0.0.1" => Resp::new(429),
            _ => Resp::html("fine"),
        });
    let hosts = ["127.0.0.1", "127.0.0.2"];
    let seeds = (0..50).flat_map(|n| hosts.map(|host| server.url_on(host, &format!("/{n}"))));
    let crawled = Crawl::new(seeds)
        .set("policy.max_host_failures=5")
        .set("policy.max_host_delay=0.02")
        .set("policy.max_retries=1")
        .run()
        .expect(4);
    assert_eq!(crawled.records.len(), 50);
    assert_eq!(crawled.summary["end"], "refused");
    let failed = crawled.summary["failed"]["http"].as_u64().expect("a count");
    // Those in flight at the fifth failure may fail as well.
    assert!((5..=7).contains(&failed), "{failed}");
    assert_eq!(crawled.summary["pending"], 50 - failed);
    let parked = &crawled.summary["parked"];
    assert_eq!(parked[0]["host"], "127.0.0.1");
    assert_eq!(parked[0]["reason"], "failures");
    let line = crawled.run.stderr.lines().last().unwrap_or_default();
    assert!(line.contains("left for the next run (127.0.0.1:"), "{line}");
}

#[test]
fn max_requests_and_deadline_are_bounds() {
    let server = site(40, |_| Resp::html("a page"));
    let crawled = Crawl::new([server.url("/")])
        .arg("--max-requests=12")
        .run()
        .expect(3);
    assert_eq!(server.requests(), 12);
    assert_eq!(crawled.summary["end"], "bound");
    assert_eq!(crawled.summary["requests"], 12);
    assert_eq!(crawled.summary["done"], 11);
    assert_eq!(crawled.summary["pending"], 30);
    assert!(
        crawled
            .run
            .stderr
            .contains("canter: max_requests is reached")
    );

    server.clear_log();
    let crawled = Crawl::new([server.url("/")])
        .arg("--deadline=700ms")
        .set("policy.host_delay=0.1")
        .run()
        .expect(3);
    assert!(crawled.run.stderr.contains("canter: deadline is reached"));
    // One at 0, and one at every 100 ms after it at most.
    assert!(
        (1..=8).contains(&server.requests()),
        "{}",
        server.requests()
    );
    let took = crawled.took();
    assert!(took >= Duration::from_millis(700), "{took:?}");
    assert!(took < Duration::from_millis(700) + PROMPT, "{took:?}");
    assert!(crawled.summary["pending"].as_u64() > Some(30));
}

#[test]
fn max_pages_per_host_is_a_bound_and_names_the_host() {
    let server = site(40, |_| Resp::html("a page"));
    let crawled = Crawl::new([server.url("/")])
        .set("policy.max_pages_per_host=10")
        .run()
        .expect(3);
    assert_eq!(crawled.records.len(), 10);
    assert_eq!(crawled.summary["parked"][0]["reason"], "page_limit");
}

/// Whether this process ignores a signal, as a job in the background of a shell
/// does with SIGINT.
fn is_ignored(number: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & (1 << (number - 1)) != 0)
}

#[test]
fn a_signal_in_the_middle_stops_with_whole_files_and_the_rest_pending() {
    for (name, number) in [("TERM", 15), ("INT", 2), ("HUP", 1)] {
        if is_ignored(number) {
            eprintln!("SIG{name} is ignored here, and so by what is started from here");
            continue;
        }
        let code = 128 + number;
        let server = site(500, |_| Resp::html("a page"));
        let crawl = Crawl::new([server.url("/")]).set("policy.host_delay=0.01");
        let mut child = crawl.start();
        assert!(server.wait_for_requests(30, PATIENCE));
        child.signal(name);
        let signalled = Instant::now();
        let run = child.wait();
        assert!(signalled.elapsed() < PROMPT, "{name}");
        let crawled = crawl.read(run).expect(code);
        assert_eq!(crawled.summary["end"], "interrupted");
        assert!(crawled.summary["pending"].as_u64() > Some(100));
        // What was asked for has ended: nothing is fetched in vain.
        assert_eq!(crawled.log.len() + 1, server.requests(), "{name}");
        let line = crawled.run.stderr.lines().last().unwrap_or_default();
        assert!(line.contains(&format!("stopped by SIG{name}")), "{line}");
    }
}

#[test]
fn a_signal_while_all_hosts_are_paused_ends_the_run_at_once() {
    let server = site(5, |_| Resp::new(429).header("Retry-After", "600"));
    let crawl = Crawl::new([server.url("/")]).set("policy.concurrency=1");
    let mut child = crawl.start();
    assert!(server.wait_for_requests(3, PATIENCE));
    // The answer arrives, and the pause begins.
    std::thread::sleep(Duration::from_millis(100));
    assert!(child.is_running());
    child.signal("TERM");
    let signalled = Instant::now();
    let run = child.wait();
    assert!(signalled.elapsed() < PROMPT);
    let crawled = crawl.read(run).expect(143);
    assert_eq!(server.requests(), 3);
    assert_eq!(crawled.summary["pending"], 5);
}

#[test]
fn a_body_that_hangs_has_the_grace_period_and_stays_pending() {
    let server = site(3, |req| match req.path.as_str() {
        "/1" => Resp::html("begins").endless("", Duration::from_secs(60)),
        _ => Resp::html("a page"),
    });
    let crawl = Crawl::new([server.url("/")]).set("policy.shutdown_grace=0.8");
    let mut child = crawl.start();
    assert!(server.wait_for_requests(5, PATIENCE));
    std::thread::sleep(Duration::from_millis(100));
    child.signal("TERM");
    let signalled = Instant::now();
    let run = child.wait();
    let took = signalled.elapsed();
    assert!(
        took >= Duration::from_millis(700),
        "the grace is given: {took:?}"
    );
    assert!(took < Duration::from_millis(800) + PROMPT, "{took:?}");
    let crawled = crawl.read(run).expect(143);
    assert_eq!(crawled.summary["cancelled"], 1);
    assert_eq!(crawled.summary["pending"], 1);
    assert_eq!(crawled.records.len(), 3);
}

#[test]
fn a_second_signal_does_not_wait_for_what_is_in_flight() {
    let server = site(2, |req| match req.path.as_str() {
        "/1" => Resp::hang(),
        _ => Resp::html("a page"),
    });
    let crawl = Crawl::new([server.url("/")])
        .set("policy.shutdown_grace=50")
        .set("fetch.timeout=50");
    let mut child = crawl.start();
    assert!(server.wait_for_requests(4, PATIENCE));
    std::thread::sleep(Duration::from_millis(100));
    child.signal("TERM");
    // As fast as somebody presses a key twice, give or take a busy machine.
    std::thread::sleep(SAME_SIGNAL * 4);
    assert!(
        child.is_running(),
        "the first one waits for what is in flight"
    );
    child.signal("TERM");
    let signalled = Instant::now();
    let run = child.wait();
    assert!(signalled.elapsed() < PROMPT);
    let crawled = crawl.read(run).expect(143);
    assert_eq!(crawled.summary["cancelled"], 1);
    assert_eq!(crawled.records.len(), 2);
}

#[test]
fn an_end_without_a_page_is_told_by_the_exit_code() {
    let server = Server::scripted(
        Script::new()
            .on("/fails", [Resp::new(500)])
            .on("/page", [Resp::html("a page")]),
    );
    let quick = |seeds: &[String]| Crawl::new(seeds).set("policy.max_retries=0");
    // A name that no resolver takes (RFC 1035 section 2.3.4), so none is asked;
    // and a port that nobody listens on.
    let unknown = format!("http://{}.test/", "x".repeat(64));
    let closed_port = {
        let server = Server::start(|_| Resp::new(404));
        server.url("/")
    };
    for seed in [unknown, closed_port] {
        let crawled = Crawl::new([&seed])
            .set("policy.max_retries=1")
            .run()
            .expect(5);
        assert_eq!(crawled.summary["end"], "nothing", "{seed}");
        // Without its robots.txt it may not even be asked.
        assert_eq!(crawled.summary["pending"], 1);
        assert_eq!(crawled.summary["parked"][0]["reason"], "robots");
        let lines: Vec<&str> = crawled.run.stderr.lines().collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(
            lines[0].contains("/robots.txt: its host is left for the next run after 2 failed"),
            "{lines:?}"
        );
        assert!(
            lines[1].contains("nothing could be fetched") && lines[1].contains("robots.txt"),
            "{lines:?}"
        );
    }
    // The only seed fails.
    let crawled = quick(&[server.url("/fails")]).run().expect(5);
    assert_eq!(crawled.summary["end"], "nothing");
    assert_eq!(crawled.summary["failed"], json!({"http": 1}));
    assert!(
        crawled
            .run
            .stderr
            .contains("canter: nothing could be fetched")
    );
    // One of two does.
    let crawled = quick(&[server.url("/fails"), server.url("/page")])
        .run()
        .expect(0);
    assert_eq!(crawled.records.len(), 1);
    // robots.txt forbids all.
    let closed = Server::scripted(
        Script::new().on("/robots.txt", [Resp::text("User-agent: *\nDisallow: /")]),
    );
    let crawled = quick(&[closed.url("/")]).run().expect(5);
    assert_eq!(crawled.summary["skipped"], json!({"robots": 1}));
    // The configuration is wrong: one line, and no summary.
    let crawled = quick(&[server.url("/page")])
        .set("policy.concurrency=0")
        .run();
    let run = crawled.run.expect_code(2);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    assert!(crawled.summary.is_null());
    // The output cannot be written.
    let crawl = quick(&[server.url("/page")]).set("output.path='crawl.toml/x.jsonl'");
    let before = server.requests();
    let run = crawl.run().run.expect_code(1);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    assert_eq!(server.requests(), before, "nothing is asked for");
}

#[test]
fn an_empty_list_of_seeds_is_nothing_to_begin_with() {
    let crawl = Crawl::new([""; 0]).toml("seed_files = ['list.txt', '-']");
    std::fs::write(crawl.path("list.txt"), "# none yet\n").expect("it can be written");
    let run = crawl.program().input("\n").run().expect_code(2);
    let list = crawl.path("list.txt");
    let expected = format!(
        "canter: crawl.seed_files: there is no URL in {} or standard input\n",
        list.display()
    );
    assert_eq!(run.stderr, expected);
    let run = crawl.program().input("a.test\nftp://a.test/\n").run();
    let run = run.expect_code(2);
    let lines: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(
        lines[0].starts_with("canter: standard input:1: not a URL"),
        "{lines:?}"
    );
    assert!(
        lines[1].starts_with("canter: standard input:2: "),
        "{lines:?}"
    );
}

#[test]
fn a_full_disk_ends_the_run_with_one_message() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    let server = site(300, |_| Resp::html("a page"));
    let crawl = Crawl::new([server.url("/")])
        .set("output.path='/dev/full'")
        .set("policy.host_delay=0.02");
    let crawled = crawl.run();
    let run = crawled.run.expect_code(1);
    let lines: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(
        lines[0].starts_with("canter: cannot write /dev/full: "),
        "{lines:?}"
    );
    assert!(
        lines[1].starts_with("canter: ended by an error"),
        "{lines:?}"
    );
    let made_good = "; what was not written is done again in the next run";
    assert!(!lines[1].contains(made_good), "nothing is kept: {lines:?}");
    let kept = Crawl::new([server.url("/")])
        .with_state()
        .set("output.log='/dev/full'")
        .set("policy.host_delay=0.02");
    let run = kept.run().run.expect_code(1);
    assert!(run.stderr.trim_end().ends_with(made_good), "{}", run.stderr);
    assert_eq!(crawled.summary["end"], "error");
    assert_eq!(crawled.summary["exit"], 1);
    assert!(crawled.summary["pending"].as_u64() > Some(0));
}

#[test]
fn a_reader_that_goes_away_ends_the_crawl_without_noise() {
    let server = site(2_000, |_| Resp::html("a page"));
    // As `canter crawl URL | head -1`.
    let mut child = Command::new(env!("CARGO_BIN_EXE_canter"))
        .args(["crawl", &server.url("/"), "--rate=none", "--delay=5ms"])
        .env_remove("RUST_LOG")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut first = [0; 16];
    let mut out = child.stdout.take().expect("it is piped");
    out.read_exact(&mut first).expect("a record");
    drop(out);
    let left = Instant::now();
    let mut err = String::new();
    let mut stderr = child.stderr.take().expect("it is piped");
    stderr.read_to_string(&mut err).expect("UTF-8");
    let status = child.wait().expect("it ends");
    assert!(left.elapsed() < PROMPT);
    assert_eq!(status.code(), Some(141), "as if by SIGPIPE: {err}");
    assert_eq!(err.lines().count(), 1, "{err}");
    assert!(
        err.starts_with("canter: nobody reads the records any more, the rest is pending"),
        "{err}"
    );
    assert!(server.requests() < 2_000);
}

#[test]
fn crawl_writes_records_to_standard_output_and_one_line_to_standard_error() {
    let server = site(3, |_| Resp::html("<title>A page</title>"));
    let run = common::canter(["crawl", &server.url("/"), "--rate", "none"])
        .run()
        .expect_code(0);
    assert_eq!(run.records().len(), 4);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    assert!(
        run.stderr
            .starts_with("canter: complete: 4 done; began with 1, 5 requests"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_host_table_that_matched_nothing_is_told_at_the_end_and_disobedience_aloud() {
    let server = site(1, |_| Resp::html("a page"));
    let crawled = Crawl::new([server.url("/")])
        .set("robots.obey=false")
        .toml("[[host]]\nname = 'elsewhere.test'\n[[host]]\nname = '127.0.0.1'\n")
        .run()
        .expect(0);
    let lines: Vec<&str> = crawled.run.stderr.lines().collect();
    assert_eq!(
        lines[0],
        "canter: [[host]] elsewhere.test (line 3) matched no host of the crawl"
    );
    assert!(
        lines[1].ends_with("; robots.txt was not obeyed"),
        "{lines:?}"
    );
    assert_eq!(
        crawled.summary["unmatched_hosts"],
        json!(["elsewhere.test"])
    );
    assert_eq!(crawled.summary["robots_obeyed"], false);
    assert_eq!(server.log().count("/robots.txt"), 0);
}

#[test]
fn with_v_each_change_of_what_is_waited_for_is_logged_once() {
    let server = site(12, |_| Resp::html("a page"));
    let run = Crawl::new([server.url("/")])
        .set("policy.host_delay=0.1")
        .arg("-v")
        .run()
        .expect(0)
        .run;
    let waits: Vec<&str> = run
        .stderr
        .lines()
        .filter_map(|line| line.split_once(" info: waiting for ").map(|(_, what)| what))
        .collect();
    assert_eq!(waits, ["gap of 127.0.0.1"], "{}", run.stderr);
    assert!(
        run.stderr.contains("info: the run begins with 1 URL"),
        "{}",
        run.stderr
    );
}
