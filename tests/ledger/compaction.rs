//! Compaction, and a kill between any two of its steps.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use canter::ledger::{Change, End, Ended, Ledger};
use canter::{ErrorKind, SkipReason};

use super::common::{
    Folder, at, done, ended, failed, fingerprint, found, instant, open, options, queued, totals,
    waiting,
};

/// Retries that make a state long without adding to what it says.
fn retries(pages: std::ops::Range<u64>, times: u32) -> Vec<Change> {
    (2..2 + times)
        .flat_map(|attempt| {
            pages.clone().map(move |n| Change::Retried {
                fingerprint: fingerprint(n),
                attempt,
                not_before: instant(10_000),
            })
        })
        .collect()
}

/// A state of a few megabytes, most of it history, in a run that has ended.
fn long_state(folder: &Folder) {
    let (mut ledger, _) = open(folder, 0);
    let mut changes: Vec<Change> = (0..500).map(found).collect();
    changes.extend((0..200).map(done));
    changes.extend((200..220).map(|n| failed(n, ErrorKind::Timeout)));
    changes.push(Change::Refused(Box::new(queued(900)), SkipReason::Scope));
    ledger.commit(&changes, at(1), totals(1)).expect("a commit");
    // Just under the size from which a state is compacted.
    while fs::metadata(folder.journal()).expect("the state").len() < 4_150_000 {
        ledger
            .commit(&retries(300..500, 5), at(2), totals(2))
            .expect("a commit");
    }
}

/// What a state says, for comparison.
fn said(folder: &Folder) -> (BTreeMap<u64, Option<End>>, Vec<String>) {
    let (_ledger, restored) = open(folder, 100);
    let mut pending = Vec::new();
    restored
        .each_pending(|one| pending.push(format!("{one:?}")))
        .expect("the state can be read again");
    pending.push(format!("{:?} {:?}", restored.totals, restored.pages()));
    (restored.known().collect(), pending)
}

#[test]
fn a_kill_between_any_two_steps_of_a_compaction_loses_nothing() {
    let folder = Folder::new("compaction");
    long_state(&folder);
    let before = folder.snapshot();
    let last = [retries(300..500, 10), vec![done(250)]].concat();

    // The commit without the compaction: its new file cannot be made.
    let (mut ledger, _) = open(&folder, 50);
    fs::create_dir(folder.join("state/journal.jsonl.new")).expect("a folder in its way");
    ledger
        .commit(&last, at(51), totals(3))
        .expect("a failed compaction fails no commit");
    ledger
        .commit(&[done(251)], at(52), totals(4))
        .expect("and the run goes on");
    drop(ledger);
    fs::remove_dir(folder.join("state/journal.jsonl.new")).expect("out of its way");
    let long = folder.snapshot();
    let expected = said(&folder);

    // The same commits with it.
    folder.restore(&before);
    let (mut ledger, _) = open(&folder, 50);
    ledger.commit(&last, at(51), totals(3)).expect("a commit");
    ledger
        .commit(&[done(251)], at(52), totals(4))
        .expect("a commit");
    drop(ledger);
    let short = folder.snapshot();
    let (long_state, short_state) = (&long[&folder.journal()], &short[&folder.journal()]);
    assert!(
        short_state.len() * 10 < long_state.len(),
        "{} bytes",
        short_state.len()
    );
    assert!(!folder.join("state/journal.jsonl.new").exists());
    assert_eq!(said(&folder), expected);

    // Killed while the new file was written, and before it was renamed.
    let mut random = fastrand::Rng::with_seed(11);
    let new: PathBuf = folder.join("state/journal.jsonl.new");
    let cuts = (0..20).map(|_| random.usize(..short_state.len()));
    for cut in cuts.chain([0, short_state.len()]) {
        let mut files = long.clone();
        files.insert(new.clone(), short_state[..cut].to_vec());
        folder.restore(&files);
        assert_eq!(said(&folder), expected);
        assert!(!new.exists(), "what a killed compaction left is removed");
    }
}

#[test]
fn a_run_that_retries_for_ever_keeps_a_short_state() {
    let folder = Folder::new("endless");
    let (mut ledger, _) = open(&folder, 0);
    let pages: Vec<Change> = (0..200).map(found).collect();
    ledger.commit(&pages, at(1), totals(1)).expect("a commit");
    let mut longest = 0;
    for round in 0..60 {
        ledger
            .commit(&retries(0..200, 20), at(2 + round), totals(2))
            .expect("a commit");
        longest = longest.max(fs::metadata(folder.journal()).expect("the state").len());
    }
    assert!(longest < 5 << 20, "{longest} bytes");
    drop(ledger);
    let (_ledger, restored) = open(&folder, 100);
    assert_eq!(waiting(&restored), (0..200).collect::<Vec<u64>>());
}

#[test]
fn the_lock_survives_a_compaction() {
    let folder = Folder::new("compaction-lock");
    long_state(&folder);
    let (mut ledger, _) = open(&folder, 50);
    let long = fs::metadata(folder.journal()).expect("the state").len();
    ledger
        .commit(&retries(300..500, 10), at(51), totals(3))
        .expect("a commit");
    assert!(fs::metadata(folder.journal()).expect("the state").len() < long);
    assert!(Ledger::open(options(&folder, at(52))).is_err());
    ledger
        .commit(&[done(250)], at(53), totals(4))
        .expect("a commit");
    drop(ledger);
    let (_ledger, restored) = open(&folder, 60);
    let ends: BTreeMap<_, _> = restored.known().collect();
    assert_eq!(ends[&fingerprint(250)], Some(End::Done));
}

#[test]
fn what_an_earlier_pass_remembers_outlives_later_ends_and_compaction() {
    let folder = Folder::new("memories");
    let (mut ledger, _) = open(&folder, 0);
    ledger
        .commit(&[found(0), done(0)], at(1), totals(1))
        .expect("a commit");
    ledger
        .finish(&[], true, at(2), totals(1))
        .expect("the pass is complete");
    drop(ledger);
    // Unchanged in the second pass, gone in the third.
    for (pass, end) in [(2, End::Unchanged), (3, End::Failed(ErrorKind::Rejected))] {
        let (mut ledger, restored) = open(&folder, 100 * pass);
        assert_eq!(restored.pass, pass);
        let change = Change::Ended(Box::new(Ended {
            status: Some(404),
            ..ended(0, end)
        }));
        let bulk: Vec<Change> = retries(0..1, 20_000 * pass as u32);
        ledger
            .commit(&bulk, at(100 * pass + 1), totals(1))
            .expect("a commit");
        ledger
            .finish(&[change], true, at(100 * pass + 2), totals(1))
            .expect("complete");
    }
    let (mut ledger, restored) = open(&folder, 400);
    let page = restored
        .pages()
        .get(fingerprint(0))
        .expect("it is remembered");
    assert_eq!(page.memory, super::common::memory(0));
    assert_eq!(page.fetched, at(1).wall);
    drop(restored);
    let bulk: Vec<Change> = retries(0..1, 90_000);
    ledger.commit(&bulk, at(401), totals(1)).expect("a commit");
    assert!(fs::metadata(folder.journal()).expect("the state").len() < 10_000);
    drop(ledger);
    let (_ledger, restored) = open(&folder, 500);
    let page = restored
        .pages()
        .get(fingerprint(0))
        .expect("it is remembered");
    assert_eq!(page.memory, super::common::memory(0));
    assert_eq!(page.fetched, at(1).wall);
}
