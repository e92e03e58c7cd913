//! What a state says it is, and starting over.

use std::fs;

use canter::ledger::{Fault, Identity, Ledger, OutputSpec, Restored};
use canter::{ErrorKind, SkipReason};

use super::common::{
    Folder, at, done, fingerprint, found, identity, lines, options, pages_in, pending, queued,
    small_run, totals, waiting,
};
use canter::ledger::Change;

fn open_as(folder: &Folder, identity: Identity) -> canter::Result<(Ledger, Restored)> {
    let mut options = options(folder, at(50));
    if let Some(state) = &mut options.state {
        state.identity = identity;
    }
    Ledger::open(options)
}

#[test]
fn a_state_of_another_crawl_is_refused() {
    let folder = Folder::new("foreign");
    small_run(&folder);
    let files = folder.snapshot();
    let other = Identity {
        seeds: vec![1234],
        label: "http://other.test/".to_owned(),
        settings: identity().settings,
    };
    let error = open_as(&folder, other.clone()).err().expect("refused");
    assert!(
        matches!(Fault::of(&error), Some(Fault::Foreign(_))),
        "{error}"
    );
    assert_eq!(error.kind(), ErrorKind::State);
    let text = error.to_string();
    assert!(
        text.contains("http://other.test/") && text.contains("http://a.test/"),
        "{text}"
    );
    assert_eq!(folder.snapshot(), files);
    // A page of the crawl that is no seed of it does not make it the same.
    let page = Identity {
        seeds: vec![fingerprint(4)],
        ..other
    };
    assert!(open_as(&folder, page).is_err());
    assert_eq!(folder.snapshot(), files);
}

#[test]
fn seeds_may_come_and_go_while_one_stays() {
    let folder = Folder::new("seeds");
    small_run(&folder);
    let with = |seeds: &[u64]| Identity {
        seeds: seeds.to_vec(),
        ..identity()
    };
    let commit = |ledger: &mut Ledger| {
        ledger
            .commit(&[found(7)], at(51), totals(1))
            .expect("a commit");
    };
    let (mut ledger, restored) = open_as(&folder, with(&[fingerprint(0), 5, 6])).expect("opens");
    assert!(
        restored
            .notes
            .iter()
            .any(|note| note.contains("0 gone, 2 new")),
        "{:?}",
        restored.notes
    );
    assert!(!restored.settings_changed);
    commit(&mut ledger);
    drop(ledger);
    // The first seed has gone; what it found stays.
    let (mut ledger, restored) = open_as(&folder, with(&[6])).expect("opens");
    assert!(
        restored
            .notes
            .iter()
            .any(|note| note.contains("2 gone, 0 new")),
        "{:?}",
        restored.notes
    );
    assert_eq!(restored.counts.done, 4);
    commit(&mut ledger);
    drop(ledger);
    // It is one of the seeds of an earlier run, but its URL was a seed.
    let (_ledger, _) = open_as(&folder, with(&[fingerprint(0)])).expect("opens");
}

#[test]
fn other_settings_are_accepted_told_and_judge_anew_what_was_skipped() {
    let folder = Folder::new("settings");
    let (mut ledger, _) = open_as(&folder, identity()).expect("opens");
    let changes = [
        found(0),
        done(0),
        Change::Refused(Box::new(queued(1)), SkipReason::Scope),
        Change::Refused(Box::new(queued(2)), SkipReason::TrapDepth),
        found(3),
    ];
    ledger.commit(&changes, at(1), totals(1)).expect("a commit");
    drop(ledger);
    let wider = Identity {
        settings: "hosts = [\"*\"]".to_owned(),
        ..identity()
    };
    let (mut ledger, restored) = open_as(&folder, wider.clone()).expect("opens");
    assert!(restored.settings_changed);
    assert!(
        restored.notes.iter().any(|note| note.contains("settings")),
        "{:?}",
        restored.notes
    );
    let rejudged: Vec<bool> = pending(&restored)
        .iter()
        .map(|pending| pending.rejudge)
        .collect();
    assert_eq!(waiting(&restored), [1, 2, 3]);
    assert_eq!(rejudged, [true, true, false]);
    // One is let in and one is not.
    let verdicts = [
        found(1),
        Change::Refused(Box::new(queued(2)), SkipReason::TrapDepth),
    ];
    ledger
        .commit(&verdicts, at(51), totals(1))
        .expect("a commit");
    drop(ledger);
    let (_ledger, restored) = open_as(&folder, wider).expect("opens");
    assert!(!restored.settings_changed);
    let rejudged: Vec<bool> = pending(&restored)
        .iter()
        .map(|pending| pending.rejudge)
        .collect();
    assert_eq!(waiting(&restored), [3, 1]);
    assert_eq!(rejudged, [false, false]);
    assert_eq!(
        restored.counts.skipped.get(&SkipReason::TrapDepth),
        Some(&1)
    );
}

#[test]
fn fresh_starts_over_and_keeps_the_old_state_aside() {
    let folder = Folder::new("fresh");
    small_run(&folder);
    let old = fs::read(folder.journal()).expect("the state");
    for number in 1..=2 {
        let mut options = options(&folder, at(50));
        options.state = options.state.map(|state| state.with_fresh(true));
        options.records = Some(OutputSpec::new(folder.join("new.jsonl")));
        let (mut ledger, restored) = Ledger::open(options).expect("the ledger opens");
        assert!(!restored.resumed);
        assert_eq!(restored.counts.total(), 0);
        assert!(
            restored
                .notes
                .iter()
                .any(|note| note.contains("journal.jsonl."))
        );
        ledger
            .commit(&[found(0), done(0)], at(51), totals(1))
            .expect("a commit");
        assert!(
            folder
                .join(&format!("state/journal.jsonl.{number}"))
                .exists()
        );
    }
    assert_eq!(
        fs::read(folder.join("state/journal.jsonl.1")).expect("kept"),
        old
    );
    assert_eq!(
        pages_in(&folder.join("pages.jsonl")).len(),
        4,
        "the old records stay"
    );
}

#[test]
fn fresh_helps_with_a_damaged_state() {
    let folder = Folder::new("fresh-damaged");
    small_run(&folder);
    fs::write(folder.journal(), "").expect("written");
    let mut options = options(&folder, at(50));
    options.state = options.state.map(|state| state.with_fresh(true));
    Ledger::open(options).expect("the ledger opens");
    assert_eq!(
        fs::read(folder.join("state/journal.jsonl.1")).expect("kept"),
        b""
    );
}

#[test]
fn a_state_is_lines_of_json_that_begin_with_a_version_and_name_the_crawl() {
    let folder = Folder::new("pager");
    small_run(&folder);
    let lines = lines(&folder.journal());
    assert_eq!(lines[0]["canter"], "state");
    assert_eq!(lines[0]["version"], 1);
    assert_eq!(lines[0]["crawl"], "http://a.test/page/0");
    assert_eq!(lines[0]["settings"], identity().settings);
    assert!(lines.last().expect("a line")["crc"].is_string());
}
