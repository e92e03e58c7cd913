//! Outputs beside the records: they commit with them, and are theirs in
//! everything else, too.

use std::fs;

use canter::ErrorKind;
use canter::ledger::{
    BesideLine, Change, CsvColumns, End, Ended, Existing, Fault, Ledger, LedgerOptions, OutputSpec,
};

use super::common::{Folder, at, ended, found, options, pages_in, totals};

/// The usual options with these outputs beside.
fn with(folder: &Folder, seconds: u64, names: &[&str]) -> LedgerOptions {
    let mut options = options(folder, at(seconds));
    let spec = |name: &&str| {
        let path = folder.join(name);
        let is_csv = path.extension().is_some_and(|extension| extension == "csv");
        let spec = OutputSpec::new(path);
        if is_csv {
            spec.with_csv(CsvColumns::new(["page"]))
        } else {
            spec
        }
    };
    options.beside = names.iter().map(spec).collect();
    options
}

fn open(folder: &Folder, seconds: u64, names: &[&str]) -> Ledger {
    let opened = Ledger::open(with(folder, seconds, names));
    opened.expect("the ledger opens").0
}

/// A page that is done, with a line for each of some outputs.
fn done_beside(n: u64, outputs: &[usize]) -> Change {
    let line = |&output| BesideLine {
        output,
        line: format!("{{\"page\":{n}}}").into_bytes().into(),
        counts: true,
    };
    Change::Ended(Box::new(Ended {
        beside: outputs.iter().map(line).collect(),
        ..ended(n, End::Done)
    }))
}

fn read(folder: &Folder, name: &str) -> String {
    fs::read_to_string(folder.join(name)).expect(name)
}

#[test]
fn each_line_goes_to_its_output_and_a_header_stands_once_and_first() {
    let folder = Folder::new("beside");
    let names = ["a.jsonl", "b.csv"];
    for run in 0..3 {
        let mut ledger = open(&folder, run, &names);
        let n = 10 * run;
        let changes = [
            found(n),
            done_beside(n, &[0]),
            found(n + 1),
            done_beside(n + 1, &[1, 0]),
        ];
        ledger
            .commit(&changes, at(run), totals(1))
            .expect("a commit");
    }
    assert_eq!(pages_in(&folder.join("a.jsonl")), [0, 1, 10, 11, 20, 21]);
    assert_eq!(read(&folder, "b.csv"), "page\r\n1\r\n11\r\n21\r\n");
    assert_eq!(read(&folder, "pages.jsonl"), "");
}

#[test]
fn what_was_not_committed_is_cut_off_and_what_was_lost_is_told() {
    let folder = Folder::new("beside-cut");
    let names = ["a.jsonl", "b.csv"];
    let mut ledger = open(&folder, 0, &names);
    let changes = [found(0), found(1), done_beside(0, &[0, 1])];
    ledger.commit(&changes, at(1), totals(1)).expect("a commit");
    drop(ledger);
    let (a, b) = (read(&folder, "a.jsonl"), read(&folder, "b.csv"));
    fs::write(folder.join("a.jsonl"), format!("{a}{{\"page\":1}}\n{{")).expect("written");
    fs::write(folder.join("b.csv"), format!("{b}\"1\n")).expect("written");
    drop(open(&folder, 2, &names));
    assert_eq!(
        (read(&folder, "a.jsonl"), read(&folder, "b.csv")),
        (a.clone(), b)
    );

    fs::write(folder.join("a.jsonl"), "").expect("written");
    let error = Ledger::open(with(&folder, 3, &names))
        .err()
        .expect("refused");
    assert!(
        matches!(Fault::of(&error), Some(Fault::OutputLost(_))),
        "{error}"
    );
    assert!(error.to_string().contains("a.jsonl"), "{error}");
    fs::write(folder.join("a.jsonl"), a).expect("written");
    drop(open(&folder, 4, &names));
}

#[test]
fn outputs_are_known_by_their_names_wherever_they_stand() {
    let folder = Folder::new("beside-order");
    let mut ledger = open(&folder, 0, &["a.jsonl", "b.jsonl"]);
    let changes = [found(0), found(1), done_beside(0, &[0, 1])];
    ledger.commit(&changes, at(1), totals(1)).expect("a commit");
    drop(ledger);
    let more = |name: &str| {
        let text = read(&folder, name);
        fs::write(folder.join(name), text + "{\"page\":7}\n").expect("written");
    };
    // As a crash leaves them, with lines that nobody committed.
    for name in ["a.jsonl", "b.jsonl", "pages.jsonl"] {
        more(name);
    }
    let mut options = with(&folder, 2, &["c.jsonl", "pages.jsonl", "b.jsonl"]);
    options.records = Some(OutputSpec::new(folder.join("a.jsonl")));
    let (mut ledger, _) = Ledger::open(options).expect("the ledger opens");
    let changes = [done_beside(1, &[0, 2])];
    ledger.commit(&changes, at(3), totals(1)).expect("a commit");
    drop(ledger);
    assert_eq!(pages_in(&folder.join("a.jsonl")), [0]);
    assert_eq!(pages_in(&folder.join("b.jsonl")), [0, 1]);
    assert_eq!(pages_in(&folder.join("c.jsonl")), [1]);
    assert_eq!(read(&folder, "pages.jsonl"), "");
}

#[test]
fn an_output_that_is_no_longer_wanted_is_cut_and_let_alone() {
    let folder = Folder::new("beside-gone");
    let mut ledger = open(&folder, 0, &["a.jsonl"]);
    let changes = [found(0), found(1), done_beside(0, &[0])];
    ledger.commit(&changes, at(1), totals(1)).expect("a commit");
    drop(ledger);
    let text = read(&folder, "a.jsonl");
    fs::write(folder.join("a.jsonl"), format!("{text}{{\"pa")).expect("written");
    drop(open(&folder, 2, &[]));
    assert_eq!(read(&folder, "a.jsonl"), text);
    fs::remove_file(folder.join("a.jsonl")).expect("removed");
    drop(open(&folder, 3, &[]));
    let mut ledger = open(&folder, 4, &["a.jsonl"]);
    let changes = [done_beside(1, &[0])];
    ledger.commit(&changes, at(5), totals(1)).expect("a commit");
    assert_eq!(pages_in(&folder.join("a.jsonl")), [1]);
}

#[test]
fn outputs_that_replace_others_take_their_places_together() {
    let folder = Folder::new("beside-replace");
    let replacing = |seconds| {
        let mut options = with(&folder, seconds, &["a.csv"]);
        options.beside = options
            .beside
            .into_iter()
            .map(|spec| spec.with_existing(Existing::Replace))
            .collect();
        Ledger::open(options).expect("the ledger opens").0
    };
    let mut ledger = replacing(0);
    let changes = [found(0), done_beside(0, &[0])];
    ledger
        .finish(&changes, true, at(1), totals(1))
        .expect("complete");
    drop(ledger);
    assert_eq!(read(&folder, "a.csv"), "page\r\n0\r\n");
    let mut ledger = replacing(2);
    ledger.commit(&[], at(3), totals(1)).expect("a commit");
    assert_eq!(read(&folder, "a.csv"), "page\r\n0\r\n", "the old one stays");
    ledger
        .finish(&[done_beside(0, &[])], true, at(4), totals(1))
        .expect("complete");
    assert_eq!(
        read(&folder, "a.csv"),
        "page\r\n",
        "without a row there is the header"
    );
    assert!(!folder.join("a.csv.part").exists());
}

#[test]
fn two_outputs_are_two_files() {
    let folder = Folder::new("beside-twice");
    for names in [
        ["a.jsonl", "./a.jsonl"],
        ["pages.jsonl", "a.jsonl"],
        ["log.jsonl", "a.jsonl"],
    ] {
        let error = Ledger::open(with(&folder, 0, &names))
            .err()
            .expect("refused");
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("the same file"), "{error}");
    }
}
