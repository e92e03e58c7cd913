//! Runs of the program that go on with one another's state, and those that
//! must not.

#![cfg(feature = "cli")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use common::{Crawl, Resp, Run, Server, canter, jsonl};

/// What a run changes by being there, and what the test itself writes.
const NOT_OURS: [&str; 2] = ["lock", "crawl.toml"];
const PATIENCE: Duration = Duration::from_secs(20);
/// Pages that all link to one another.
const PAGES: usize = 40;

/// A site of which every page links to every other, and which knows what has
/// not changed.
fn site() -> Server {
    let links: String = (0..PAGES)
        .map(|n| format!("<a href=/{n}>{n}</a>"))
        .collect();
    Server::start(move |req| match req.path.as_str() {
        "/robots.txt" => Resp::new(404),
        _ if req.header("if-none-match") == Some("\"v1\"") => Resp::new(304),
        _ => Resp::html(links.clone()).header("ETag", "\"v1\""),
    })
}

fn crawl(server: &Server) -> Crawl {
    Crawl::new([server.url("/0")]).with_state()
}

/// The files of a crawl, by their path: content, and when it was last changed.
fn files(crawl: &Crawl) -> BTreeMap<PathBuf, (Vec<u8>, std::time::SystemTime)> {
    fn walk(path: &Path, into: &mut BTreeMap<PathBuf, (Vec<u8>, std::time::SystemTime)>) {
        if let Ok(entries) = fs::read_dir(path) {
            for entry in entries {
                walk(&entry.expect("an entry").path(), into);
            }
        } else if path.exists() && !NOT_OURS.iter().any(|name| path.ends_with(name)) {
            let changed = fs::metadata(path).and_then(|data| data.modified());
            let content = fs::read(path).expect("it can be read");
            into.insert(path.to_owned(), (content, changed.expect("a time")));
        }
    }
    let mut all = BTreeMap::new();
    walk(&crawl.path(""), &mut all);
    all
}

/// Fails the test unless the run ended with this code and one line that holds
/// all of these words, and neither asked for anything nor changed a file.
#[track_caller]
fn assert_refused(
    crawl: &Crawl,
    server: &Server,
    run: impl FnOnce() -> Run,
    code: i32,
    words: &[&str],
) {
    let (before, requests) = (files(crawl), server.requests());
    let run = run().expect_code(code);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    for word in words {
        assert!(run.stderr.contains(word), "{word}: {}", run.stderr);
    }
    assert_eq!(server.requests(), requests, "{}", run.stderr);
    let after = files(crawl);
    let mut changed: Vec<_> = before
        .iter()
        .filter(|(path, was)| after.get(*path) != Some(*was))
        .map(|(path, _)| path)
        .collect();
    changed.extend(after.keys().filter(|path| !before.contains_key(*path)));
    assert!(changed.is_empty(), "{changed:?} changed: {}", run.stderr);
}

#[test]
fn runs_that_are_cut_short_add_up_to_one_crawl() {
    let server = site();
    let crawl = crawl(&server);
    let first = crawl
        .program()
        .arg("--max-requests=15")
        .run()
        .expect_code(3);
    assert!(first.stderr.contains("began with 1,"), "{}", first.stderr);
    let second = crawl
        .program()
        .arg("--max-requests=15")
        .run()
        .expect_code(3);
    assert!(
        second.stderr.contains("began with 26,"),
        "{}",
        second.stderr
    );
    let crawled = crawl.run();
    let last = crawled.run.expect_code(0);
    assert!(last.stderr.contains("began with 11,"), "{}", last.stderr);
    assert_eq!(jsonl::by(&crawled.records, "url").len(), PAGES);
    assert_eq!(jsonl::by(&crawled.log, "url").len(), PAGES);
    // One robots.txt: its rules are kept.
    server.log().assert_no_repeats();
    assert_eq!(server.requests(), PAGES + 1);
    assert_eq!(crawled.summary["pending"], 0);
    assert_eq!(crawled.summary["done"], 11);
}

#[test]
fn a_finished_crawl_begins_a_new_pass_which_asks_what_has_changed() {
    let server = site();
    let crawl = crawl(&server);
    crawl.run().run.expect_code(0);
    server.clear_log();
    let crawled = crawl.run();
    crawled.run.expect_code(0);
    assert_eq!(crawled.summary["pass"], 2);
    assert_eq!(crawled.summary["unchanged"], PAGES);
    assert_eq!(crawled.summary["end"], "complete");
    let pages = server.log().filter(|entry| entry.path != "/robots.txt");
    assert!(pages.iter().all(|entry| entry.status == 304));
    assert_eq!(pages.len(), PAGES);
    // With --fresh nothing is known.
    server.clear_log();
    let crawled = crawl.read(crawl.program().arg("--fresh").run());
    crawled.run.expect_code(0);
    assert_eq!(crawled.summary["unchanged"], 0);
    assert_eq!(crawled.summary["pass"], 1);
    assert_eq!(server.requests(), PAGES + 1);
}

#[test]
fn a_state_or_an_output_that_another_run_holds_is_left_alone() {
    let server = site();
    let holder = crawl(&server).set("policy.host_delay=30");
    let mut running = holder.start();
    assert!(server.wait_for_requests(1, PATIENCE));
    std::thread::sleep(Duration::from_millis(50));
    let again = || holder.program().run();
    assert_refused(&holder, &server, again, 6, &["state", "another run"]);
    // Another state, but the same output.
    let other = crawl(&server).set(format!(
        "output.path='{}'",
        holder.path("pages.jsonl").display()
    ));
    let run = other.program().run().expect_code(6);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    assert!(run.stderr.contains("pages.jsonl"), "{}", run.stderr);
    assert_eq!(server.requests(), 1);
    assert!(running.is_running());
    // The lock dies with its owner.
    running.signal("KILL");
    running.wait();
    let crawled = holder.read(holder.program().arg("--max-requests=1").run());
    crawled.run.expect_code(3);
}

#[test]
fn a_state_that_cannot_be_gone_on_with_is_told_and_left_alone() {
    let server = site();
    let finished = || {
        let crawl = crawl(&server);
        crawl
            .program()
            .arg("--max-requests=20")
            .run()
            .expect_code(3);
        crawl
    };
    let state = |crawl: &Crawl| {
        let all = files(crawl);
        let longest = all
            .into_iter()
            .filter(|(path, _)| path.starts_with(crawl.path("state")))
            .max_by_key(|(_, (content, _))| content.len());
        longest.expect("a state").0
    };
    // A byte in the middle is another.
    let crawl = finished();
    let file = state(&crawl);
    let mut bytes = fs::read(&file).expect("it can be read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x04;
    fs::write(&file, &bytes).expect("it can be written");
    assert_refused(&crawl, &server, || crawl.program().run(), 7, &["state"]);
    // It is empty.
    fs::write(&file, "").expect("it can be written");
    assert_refused(&crawl, &server, || crawl.program().run(), 7, &["state"]);
    // It is of another crawl.
    let crawl = finished();
    let other = || {
        let file = crawl.path("crawl.toml");
        fs::write(&file, "[crawl]\nseeds = ['http://127.0.0.3/']\n").expect("it can be written");
        common::canter(["run".as_ref(), file.as_os_str()])
            .arg("--set")
            .arg(format!("state.dir='{}'", crawl.path("state").display()))
            .run()
    };
    assert_refused(&crawl, &server, other, 7, &["state"]);
    // The output that it knows of is gone.
    fs::remove_file(crawl.path("pages.jsonl")).expect("it was there");
    assert_refused(
        &crawl,
        &server,
        || crawl.program().run(),
        7,
        &["pages.jsonl"],
    );
    // A torn tail is no damage.
    let crawl = finished();
    let file = state(&crawl);
    let bytes = fs::read(&file).expect("it can be read");
    fs::write(&file, &bytes[..bytes.len() - 10]).expect("it can be written");
    let crawled = crawl.run();
    crawled.run.expect_code(0);
    assert_eq!(jsonl::by(&crawled.records, "url").len(), PAGES);
}

#[test]
fn an_output_that_is_there_is_gone_on_with_replaced_or_refused() {
    let server = site();
    let old = "{\"old\":true}\n";
    let with = |existing: &str| {
        let crawl = Crawl::new([server.url("/0")]).set(format!("output.existing='{existing}'"));
        fs::write(crawl.path("pages.jsonl"), old).expect("it can be written");
        crawl
    };
    let appended = with("append").run();
    appended.run.expect_code(0);
    assert_eq!(appended.records[0], json!({"old": true}));
    assert_eq!(appended.records.len(), 1 + PAGES);
    let replaced = with("replace").run();
    replaced.run.expect_code(0);
    assert_eq!(replaced.records.len(), PAGES);
    // A run that does not finish leaves the old one.
    let cut = with("replace").arg("--max-requests=5").run();
    cut.run.expect_code(3);
    assert_eq!(cut.records, [json!({"old": true})]);
    let refused = with("refuse");
    assert_refused(
        &refused,
        &server,
        || refused.program().run(),
        2,
        &["pages.jsonl"],
    );
}

/// A configuration for those who only look at the state of a crawl.
fn looking_at(crawl: &Crawl) -> String {
    let path = crawl.path("look.toml");
    fs::write(
        &path,
        "crawl.seeds = [\"http://a.test/\"]\nstate.dir = \"state\"\n",
    )
    .expect("the folder can be written");
    path.display().to_string()
}

#[test]
fn before_the_first_run_the_status_says_so_and_is_no_failure() {
    let server = site();
    let crawl = crawl(&server);
    let config = looking_at(&crawl);
    let status = |more: &[&str]| {
        let mut args = vec!["status", config.as_str()];
        args.extend(more);
        let run = canter(args).run().expect_code(0);
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
        assert!(
            run.stderr.starts_with("canter: nothing has been run yet"),
            "{}",
            run.stderr
        );
        run.out().to_owned()
    };
    assert_eq!(status(&[]), "");
    assert_eq!(status(&["--failed"]), "");
    assert_eq!(status(&["--failed", "--json"]), "");
    let json: Value = serde_json::from_str(&status(&["--json"])).expect("JSON");
    assert_eq!(json["at"], Value::Null);
    assert_eq!((&json["runs"], &json["urls"]), (&json!(0), &json!(0)));
    assert!(!crawl.path("state").exists(), "looking makes nothing");
    // Whatever else is in the way is a failure.
    fs::create_dir_all(crawl.path("state/journal.jsonl")).expect("a folder");
    canter(["status", &config]).run().expect_code(1);
}

#[test]
fn one_request_is_not_several() {
    let server = site();
    let crawl = crawl(&server);
    let run = crawl.program().arg("--max-requests=1").run().expect_code(3);
    assert!(
        run.stderr.contains("began with 1, 1 request, "),
        "{}",
        run.stderr
    );
    let config = looking_at(&crawl);
    let run = canter(["status", &config]).run().expect_code(0);
    let out = run.out();
    assert!(out.contains("\n1 request, 0 retried, "), "{out}");
    assert!(out.contains(" over 1 run; "), "{out}");
    let run = canter(["report", &config]).run().expect_code(0);
    let out = run.out();
    assert!(out.contains("<dd>1</dd><dt>request</dt>"), "{out}");
    assert!(out.contains("after 1 request in "), "{out}");
}
