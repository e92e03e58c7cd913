//! A child process that crawls a made-up site, killed at random moments, out
//! of disk space, or with nobody reading its output.

use std::collections::{HashMap, VecDeque};
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use canter::ErrorKind;
use canter::ledger::{
    Change, End, Ended, Fault, Ledger, LedgerOptions, OutputSpec, StateSpec, Totals,
};

use super::common::{
    Folder, at, done, ended, failed, fingerprint, found, identity, instant, lines, number_of,
    pages_in, torture,
};

const PAGES: u64 = 400;
/// Kills to be survived, as a rule.
const KILLS: u64 = 25;
/// Pages that end with each commit.
const BATCH: usize = 4;
/// Bytes by which the state or the output grows faster than it need.
const BULK: usize = 60_000;

/// What the child is told.
const FOLDER: &str = "CANTER_LEDGER_FOLDER";
const BULKY: &str = "CANTER_LEDGER_BULKY";

/// What the child says when the ledger fails.
const LEDGER_FAILED: i32 = 3;
const PIPE_CLOSED: i32 = 4;

fn is_broken(page: u64) -> bool {
    page % 23 == 11
}

/// Crawls from where the run before stopped, until nothing waits.
fn crawl(folder: &Path, bulky: &str) -> canter::Result<()> {
    let now = || at(0);
    let mut options = LedgerOptions::new(now());
    let records = if bulky == "pipe" {
        "-".into()
    } else {
        folder.join("pages.jsonl")
    };
    options.records = Some(OutputSpec::new(records));
    options.log = Some(OutputSpec::new(folder.join("log.jsonl")));
    options.state = Some(StateSpec::new(folder.join("state"), identity()));
    let (mut ledger, restored) = Ledger::open(options)?;
    let mut known: HashMap<u64, Option<End>> = restored.known().collect();
    let mut queue = VecDeque::new();
    restored.each_pending(|pending| queue.push_back(number_of(pending.queued.request.url())))?;
    drop(restored);
    let mut changes = Vec::new();
    if known.is_empty() {
        known.insert(fingerprint(0), None);
        queue.push_back(0);
        changes.push(found(0));
    }
    while !queue.is_empty() {
        for _ in 0..BATCH {
            let Some(page) = queue.pop_front() else { break };
            if is_broken(page) {
                changes.push(failed(page, ErrorKind::Http));
            } else if bulky == "records" {
                let record = format!("{{\"page\":{page},\"text\":\"{}\"}}", "x".repeat(BULK));
                changes.push(Change::Ended(Box::new(Ended {
                    records: vec![record.into_bytes().into()],
                    ..ended(page, End::Done)
                })));
            } else {
                changes.push(done(page));
            }
            for link in [2 * page + 1, 2 * page + 2] {
                if link < PAGES && !known.contains_key(&fingerprint(link)) {
                    known.insert(fingerprint(link), None);
                    queue.push_back(link);
                    changes.push(found(link));
                }
            }
        }
        if bulky == "state" {
            // Is history with the next commit.
            changes.push(Change::Paused {
                host: "x".repeat(BULK).into(),
                until: instant(9),
            });
        }
        ledger.commit(&changes, now(), Totals::default())?;
        changes.clear();
    }
    ledger.finish(&[], false, now(), Totals::default())
}

/// What the other tests start as a process of its own, to be killed. Without
/// a folder to work in there is nothing for it to do.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let bulky = std::env::var(BULKY).unwrap_or_default();
    if let Err(error) = crawl(Path::new(&folder), &bulky) {
        eprintln!("[{} {error}]", error.kind());
        let closed = Fault::of(&error).is_some_and(Fault::is_closed_pipe);
        std::process::exit(if closed { PIPE_CLOSED } else { LEDGER_FAILED });
    }
}

/// The child; under a limit on the size of files, if one is given in blocks of
/// 512 bytes or more.
fn spawn(folder: &Folder, bulky: &str, limit: Option<u32>) -> Child {
    let this = std::env::current_exe().expect("this program has a path");
    let mut command = match limit {
        None => Command::new(this),
        Some(blocks) => {
            let mut shell = Command::new("sh");
            // The signal must be ignored for the system call to fail.
            shell.arg("-c").arg(format!(
                "trap '' 25; ulimit -f {blocks}; exec \"$0\" \"$@\""
            ));
            shell.arg(this);
            shell
        }
    };
    command
        .args(["--exact", "kills::child", "--nocapture"])
        .env(FOLDER, folder.path())
        .env(BULKY, bulky)
        .env_remove("RUST_BACKTRACE")
        .stdout(if bulky == "pipe" {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stderr(Stdio::piped())
        .spawn()
        .expect("the child starts")
}

/// Waits for the child. Gives how it ended and what it said.
fn wait(mut child: Child) -> (ExitStatus, String) {
    let mut said = String::new();
    drop(child.stdout.take());
    let mut stderr = child.stderr.take().expect("a pipe");
    stderr.read_to_string(&mut said).expect("the child is read");
    (child.wait().expect("the child ends"), said)
}

/// Every page that is not broken has its record, once.
fn check_complete(folder: &Folder) {
    let mut pages = pages_in(&folder.join("pages.jsonl"));
    pages.sort_unstable();
    let expected: Vec<u64> = (0..PAGES).filter(|page| !is_broken(*page)).collect();
    assert_eq!(pages, expected);
    lines(&folder.join("log.jsonl"));
    let status = Ledger::status(&folder.state()).expect("a status");
    assert_eq!(status.counts.total(), PAGES);
    assert_eq!(status.counts.done, expected.len() as u64);
    assert_eq!(status.counts.pending, 0);
}

#[test]
fn a_run_killed_again_and_again_ends_with_every_record_once() {
    let mut random = fastrand::Rng::with_seed(0xdead);
    let (mut kills, mut crawls) = (0, 0);
    while kills < KILLS * torture() || crawls < 2 {
        let bulky = ["state", ""][crawls % 2];
        kills += crawl_killed(&mut random, bulky);
        crawls += 1;
    }
}

/// Kills a crawl until it gets to its end. Gives how often.
fn crawl_killed(random: &mut fastrand::Rng, bulky: &str) -> u64 {
    let folder = Folder::new("killed");
    let mut kills = 0;
    loop {
        let mut child = spawn(&folder, bulky, None);
        // More and more, so that it comes to an end on a slow machine, too.
        let patience = random.u64(3..60) + 2 * kills;
        std::thread::sleep(Duration::from_millis(patience));
        if child.try_wait().expect("the child can be asked").is_some() {
            let (status, said) = wait(child);
            assert!(status.success(), "{said}");
            break;
        }
        child.kill().expect("the child can be killed");
        wait(child);
        kills += 1;
        if folder.journal().exists() {
            Ledger::status(&folder.state()).expect("the state is whole at all times");
        }
    }
    let state = folder.journal().metadata().expect("the state").len();
    assert!(
        state < 5 << 20,
        "it was compacted on the way: {state} bytes"
    );
    check_complete(&folder);
    kills
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_the_run_with_whole_files_and_the_next_one_completes_it() {
    for (bulky, kind, file) in [
        ("records", "[output", "pages.jsonl"),
        ("state", "[state", "journal.jsonl"),
    ] {
        let folder = Folder::new(&format!("full-{bulky}"));
        for attempt in 0..2 {
            let (status, said) = wait(spawn(&folder, bulky, Some(1000)));
            assert_eq!(status.code(), Some(LEDGER_FAILED), "{said}");
            let message = said
                .lines()
                .find(|line| line.contains(kind))
                .expect("a message");
            assert!(message.contains(file), "{message}");
            assert!(
                message.contains("File too large"),
                "it names the cause: {message}"
            );
            // Still full: nothing is lost by trying again.
            let records = pages_in(&folder.join("pages.jsonl")).len();
            assert!(records > 0 && (records as u64) < PAGES, "attempt {attempt}");
            lines(&folder.join("log.jsonl"));
            let state = lines(&folder.journal());
            assert!(
                state.last().expect("a line").get("crc").is_some(),
                "the state is whole"
            );
        }
        let (status, said) = wait(spawn(&folder, bulky, None));
        assert!(status.success(), "{said}");
        check_complete(&folder);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_device_that_is_full_is_named_with_the_cause() {
    let mut options = LedgerOptions::new(at(0));
    options.records = Some(OutputSpec::new("/dev/full"));
    let (mut ledger, _) = Ledger::open(options).expect("it can be opened");
    let error = ledger
        .commit(&[found(0), done(0)], at(1), Totals::default())
        .expect_err("it is full");
    assert_eq!(error.kind(), ErrorKind::Output);
    assert!(matches!(Fault::of(&error), Some(Fault::Io(_))));
    let text = error.to_string();
    assert!(
        text.contains("/dev/full") && text.contains("No space left"),
        "{text}"
    );
    // It says so again, and does not go on.
    let again = ledger
        .commit(&[], at(2), Totals::default())
        .expect_err("closed");
    assert_eq!(again.to_string(), text);
}

#[test]
fn a_closed_pipe_ends_the_run_without_a_panic() {
    let folder = Folder::new("pipe");
    let mut child = spawn(&folder, "pipe", None);
    // As `| head` does; what the test program says comes first.
    let mut first = [0; 100];
    child
        .stdout
        .as_mut()
        .expect("a pipe")
        .read_exact(&mut first)
        .expect("something is written");
    let (status, said) = wait(child);
    assert_eq!(status.code(), Some(PIPE_CLOSED), "{said}");
    assert!(said.contains("standard output"), "{said}");
    assert!(!said.contains("panicked"), "{said}");
}
