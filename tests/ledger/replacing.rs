//! `existing = "replace"`: the old records stay whole until the new ones are.

use std::fs;

use canter::ledger::{Existing, Ledger, OutputSpec, Restored};

use super::common::{Folder, at, done, found, options, pages_in, totals};

fn open(folder: &Folder, seconds: u64, with_state: bool) -> (Ledger, Restored) {
    let mut options = options(folder, at(seconds));
    let records = OutputSpec::new(folder.join("pages.jsonl"));
    options.records = Some(records.with_existing(Existing::Replace));
    if !with_state {
        options.state = None;
    }
    Ledger::open(options).expect("the ledger opens")
}

/// A first pass over pages 0 to 2, complete.
fn first_pass(folder: &Folder) {
    let (mut ledger, _) = open(folder, 0, true);
    let changes = [found(0), found(1), found(2), done(0), done(1), done(2)];
    ledger
        .finish(&changes, true, at(1), totals(3))
        .expect("complete");
    assert!(
        !folder.join("pages.jsonl.part").exists(),
        "there was nothing to replace"
    );
}

#[test]
fn the_old_records_stay_until_the_new_pass_is_complete() {
    let folder = Folder::new("replace");
    first_pass(&folder);
    let (old, new) = (folder.join("pages.jsonl"), folder.join("pages.jsonl.part"));
    let (mut ledger, _) = open(&folder, 10, true);
    ledger
        .commit(&[done(0)], at(11), totals(1))
        .expect("a commit");
    ledger
        .finish(&[], false, at(12), totals(1))
        .expect("a bound is reached");
    drop(ledger);
    assert_eq!(pages_in(&old), [0, 1, 2], "a bounded run destroys nothing");
    assert_eq!(pages_in(&new), [0]);
    let (mut ledger, restored) = open(&folder, 20, true);
    assert_eq!(restored.counts.pending, 2);
    ledger
        .commit(&[done(2)], at(21), totals(1))
        .expect("a commit");
    assert_eq!(pages_in(&old), [0, 1, 2]);
    ledger
        .finish(&[done(1)], true, at(22), totals(1))
        .expect("complete");
    drop(ledger);
    assert_eq!(pages_in(&old), [0, 2, 1]);
    assert!(!new.exists());
    let (_ledger, restored) = open(&folder, 30, true);
    assert_eq!(restored.pass, 3);
    assert_eq!(pages_in(&old), [0, 2, 1]);
    assert_eq!(pages_in(&new), [0_u64; 0]);
}

#[test]
fn a_kill_around_the_replacement_ends_in_one_whole_file() {
    let folder = Folder::new("replace-killed");
    first_pass(&folder);
    let (old, new) = (folder.join("pages.jsonl"), folder.join("pages.jsonl.part"));
    let (mut ledger, _) = open(&folder, 10, true);
    ledger
        .commit(&[done(0), done(1)], at(11), totals(1))
        .expect("a commit");
    ledger
        .finish(&[done(2)], true, at(12), totals(1))
        .expect("complete");
    drop(ledger);
    let after = folder.snapshot();
    // The state's last checkpoint says that the files are in their places. A
    // kill before it was written leaves the one before, which says that the
    // pass is complete.
    let state = &after[&folder.journal()];
    let ends: Vec<usize> = (1..=state.len())
        .filter(|end| state[..*end].ends_with(b"\"}\n"))
        .filter(|end| {
            let line = state[..end - 1]
                .iter()
                .rposition(|&byte| byte == b'\n')
                .map_or(0, |at| at + 1);
            state[line..].starts_with(b"{\"c\":")
        })
        .collect();
    let finished = state[..ends[ends.len() - 2]].to_vec();
    for renamed in [true, false] {
        let mut files = after.clone();
        files.insert(folder.journal(), finished.clone());
        if !renamed {
            let whole = files
                .insert(old.clone(), b"{\"page\":77}\n".to_vec())
                .expect("records");
            files.insert(new.clone(), whole);
        }
        folder.restore(&files);
        // Twice: the second run must not take the first one's new file for
        // the records of the pass.
        for run in 0..2 {
            let (_ledger, restored) = open(&folder, 20 + run, true);
            assert_eq!(restored.pass, 3);
            assert_eq!(pages_in(&old), [0, 1, 2], "renamed: {renamed}, run {run}");
            assert_eq!(pages_in(&new), [0_u64; 0]);
        }
    }
}

#[test]
fn without_state_only_a_complete_run_replaces() {
    let folder = Folder::new("replace-stateless");
    let (old, new) = (folder.join("pages.jsonl"), folder.join("pages.jsonl.part"));
    fs::write(&old, "{\"page\":9}\n").expect("written");
    let (mut ledger, _) = open(&folder, 0, false);
    ledger
        .finish(&[done(0)], false, at(1), totals(1))
        .expect("a bound is reached");
    drop(ledger);
    assert_eq!(pages_in(&old), [9]);
    assert_eq!(pages_in(&new), [0], "what was fetched is not thrown away");
    let (mut ledger, _) = open(&folder, 10, false);
    ledger
        .commit(&[done(1)], at(11), totals(1))
        .expect("a commit");
    ledger
        .finish(&[], true, at(12), totals(1))
        .expect("complete");
    assert_eq!(pages_in(&old), [1]);
    assert!(!new.exists());
}

#[test]
fn a_run_that_replaces_and_one_that_appends_do_not_meet() {
    let folder = Folder::new("replace-held");
    fs::write(folder.join("pages.jsonl"), "{\"page\":9}\n").expect("written");
    let (_ledger, _) = open(&folder, 0, false);
    let mut options = options(&folder, at(0));
    options.log = None;
    assert!(Ledger::open(options).is_err());
}
