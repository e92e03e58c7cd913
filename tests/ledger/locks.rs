//! Two runs at once, and folders that cannot be used.

use std::fs;
use std::time::{Duration, Instant};

use canter::ErrorKind;
use canter::ledger::{Fault, Ledger, LedgerOptions, OutputSpec, StateSpec};

use super::common::{Folder, at, done, found, identity, open, options, small_run, totals};

#[test]
fn a_second_run_is_refused_at_once_and_changes_nothing() {
    let folder = Folder::new("two-runs");
    small_run(&folder);
    let (mut ledger, _) = open(&folder, 50);
    ledger
        .commit(&[found(7)], at(51), totals(1))
        .expect("a commit");
    let files = folder.snapshot();
    let asked = Instant::now();
    let error = Ledger::open(options(&folder, at(52)))
        .err()
        .expect("the state is held");
    assert!(asked.elapsed() < Duration::from_secs(1));
    assert!(matches!(Fault::of(&error), Some(Fault::Held(_))), "{error}");
    let process = std::process::id().to_string();
    assert!(
        error.to_string().contains(&process),
        "it names who holds it: {error}"
    );
    assert!(!error.to_string().contains('\n'));
    assert_eq!(folder.snapshot(), files);
    // The first one does not even notice.
    ledger
        .commit(&[done(7)], at(53), totals(2))
        .expect("a commit");
    drop(ledger);
    open(&folder, 54);
}

#[test]
fn what_a_dead_run_leaves_in_the_lock_file_holds_nobody_up() {
    let folder = Folder::new("dead-run");
    small_run(&folder);
    fs::write(folder.join("state/lock"), "1\n").expect("written");
    open(&folder, 50);
}

#[test]
fn two_states_with_one_output_do_not_mix() {
    let folder = Folder::new("one-output");
    let with_state = |name: &str| {
        let mut options = LedgerOptions::new(at(0));
        options.records = Some(OutputSpec::new(folder.join("pages.jsonl")));
        options.state = Some(StateSpec::new(folder.join(name), identity()));
        Ledger::open(options)
    };
    let (mut first, _) = with_state("one").expect("the first run opens");
    first
        .commit(&[found(0), done(0)], at(1), totals(1))
        .expect("a commit");
    let before = fs::read(folder.join("pages.jsonl")).expect("records");
    let error = with_state("two").err().expect("the output is held");
    assert!(matches!(Fault::of(&error), Some(Fault::Held(_))), "{error}");
    assert_eq!(error.kind(), ErrorKind::Output);
    assert!(error.to_string().contains("pages.jsonl"), "{error}");
    assert_eq!(
        fs::read(folder.join("pages.jsonl")).expect("records"),
        before
    );
    assert!(!folder.join("two/journal.jsonl").exists());
    drop(first);
    with_state("two").expect("the output is free again");
}

#[test]
fn a_state_that_can_be_no_folder_is_a_clear_error() {
    let folder = Folder::new("no-folder");
    fs::write(folder.join("file"), "x").expect("written");
    let mut options = LedgerOptions::new(at(0));
    options.state = Some(StateSpec::new(folder.join("file/state"), identity()));
    options.records = Some(OutputSpec::new(folder.join("pages.jsonl")));
    let error = Ledger::open(options).err().expect("no folder");
    assert!(matches!(Fault::of(&error), Some(Fault::Io(_))), "{error}");
    assert!(error.to_string().contains("file/state"), "{error}");
    assert!(!folder.join("pages.jsonl").exists(), "nothing was begun");
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_nobody_may_write_to_is_a_clear_error() {
    // Not even root can make files there.
    let mut options = LedgerOptions::new(at(0));
    options.state = Some(StateSpec::new("/proc/self/state", identity()));
    let error = Ledger::open(options).err().expect("not writable");
    assert_eq!(error.kind(), ErrorKind::State);
    assert!(matches!(Fault::of(&error), Some(Fault::Io(_))), "{error}");
    assert!(error.to_string().contains("/proc/self/state"), "{error}");
}

#[test]
fn status_is_read_while_a_run_goes_on_and_tells_of_its_last_commit() {
    let folder = Folder::new("status");
    let (mut ledger, _) = open(&folder, 0);
    let before = Ledger::status(&folder.state()).expect("a status");
    assert_eq!((before.counts.total(), before.runs, before.pass), (0, 1, 1));
    ledger
        .commit(&[found(0), done(0), found(1)], at(5), totals(3))
        .expect("a commit");
    let files = folder.snapshot();
    let status = Ledger::status(&folder.state()).expect("a status");
    assert_eq!(status.counts.done, 1);
    assert_eq!(status.counts.pending, 1);
    assert_eq!(status.totals, totals(3));
    assert_eq!(status.at, at(5).wall);
    assert!(!status.finished);
    assert_eq!(folder.snapshot(), files, "to look changes nothing");
    assert!(Ledger::failed(&folder.state()).expect("a list").is_empty());
}

#[test]
fn status_lists_what_has_failed() {
    let folder = Folder::new("failed-list");
    small_run(&folder);
    let status = Ledger::status(&folder.state()).expect("a status");
    assert_eq!(status.counts.failed.get(&ErrorKind::Http), Some(&1));
    let failed = Ledger::failed(&folder.state()).expect("a list");
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].url, "http://a.test/page/3");
    assert_eq!(failed[0].kind, ErrorKind::Http);
    assert_eq!(failed[0].status, Some(500));
    assert_eq!(failed[0].attempts, 4);
    assert_eq!(failed[0].message, "page 3 is broken");
    let error = Ledger::status(&folder.join("nowhere")).expect_err("no state");
    assert!(matches!(Fault::of(&error), Some(Fault::Io(_))), "{error}");
}
