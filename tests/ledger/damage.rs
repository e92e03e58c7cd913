//! Damaged state files: cut, flipped, emptied, of another version.

use std::fs;

use canter::ErrorKind;
use canter::ledger::{Fault, Ledger};

use super::common::{Folder, at, fingerprint, open, options, pages_in, small_run, waiting};

/// Where the checkpoints of a state end.
fn checkpoints(state: &[u8]) -> Vec<usize> {
    let mut at = 0;
    let mut ends = Vec::new();
    for line in state.split_inclusive(|&byte| byte == b'\n') {
        at += line.len();
        if line.starts_with(b"{\"c\":") {
            ends.push(at);
        }
    }
    ends
}

/// What waits, and which records there are, after each of the checkpoints of
/// [`small_run`]; failed pages wait again.
const AFTER: [(&[u64], &[u64]); 4] = [
    (&[], &[]),
    (&[1, 2, 3], &[0]),
    (&[1, 4, 3], &[0, 2]),
    (&[5, 6, 3], &[0, 2, 1, 4]),
];

#[test]
fn a_state_cut_at_any_byte_goes_on_from_its_last_whole_checkpoint() {
    let folder = Folder::new("cut");
    small_run(&folder);
    let files = folder.snapshot();
    let state = &files[&folder.journal()];
    let ends = checkpoints(state);
    assert_eq!(ends.len(), AFTER.len());
    assert_eq!(ends.last(), Some(&state.len()));
    for cut in 0..=state.len() {
        let mut cut_files = files.clone();
        cut_files.insert(folder.journal(), state[..cut].to_vec());
        folder.restore(&cut_files);
        match ends.iter().rposition(|end| *end <= cut) {
            None => {
                let error = Ledger::open(options(&folder, at(100)))
                    .err()
                    .unwrap_or_else(|| panic!("cut at byte {cut}: a silent fresh start"));
                assert!(
                    matches!(Fault::of(&error), Some(Fault::Damaged(_))),
                    "{error}"
                );
                assert!(error.to_string().contains("journal.jsonl"), "{error}");
                assert_eq!(folder.snapshot(), cut_files, "cut at byte {cut}: touched");
            }
            Some(last) => {
                let (_ledger, restored) = open(&folder, 100);
                let (waits, records) = AFTER[last];
                assert_eq!(waiting(&restored), waits, "cut at byte {cut}");
                assert_eq!(
                    pages_in(&folder.join("pages.jsonl")),
                    records,
                    "cut at byte {cut}"
                );
                assert_eq!(
                    fs::read(folder.journal()).expect("the state"),
                    state[..ends[last]]
                );
                let torn = cut > ends[last];
                assert_eq!(
                    restored.notes.iter().any(|note| note.contains("dropped")),
                    torn,
                    "cut at byte {cut}: {:?}",
                    restored.notes
                );
            }
        }
    }
}

#[test]
fn a_flipped_byte_is_found_wherever_it_is() {
    let folder = Folder::new("flip");
    small_run(&folder);
    let files = folder.snapshot();
    let state = &files[&folder.journal()];
    let ends = checkpoints(state);
    let mut random = fastrand::Rng::with_seed(0x5eed);
    let (mut refused, mut went_on) = (0, 0);
    for _ in 0..1000 {
        let place = random.usize(..state.len());
        let mut flipped = state.clone();
        flipped[place] ^= random.u8(1..);
        let mut flipped_files = files.clone();
        flipped_files.insert(folder.journal(), flipped);
        folder.restore(&flipped_files);
        match Ledger::open(options(&folder, at(100))) {
            Ok((ledger, restored)) => {
                // It can only have gone on from a checkpoint before the flip.
                let left = fs::read(folder.journal()).expect("the state").len();
                let last = ends
                    .iter()
                    .position(|end| *end == left)
                    .expect("a checkpoint");
                assert!(left <= place, "byte {place}: what is damaged was believed");
                assert_eq!(waiting(&restored), AFTER[last].0, "byte {place}");
                assert_eq!(pages_in(&folder.join("pages.jsonl")), AFTER[last].1);
                drop(ledger);
                went_on += 1;
            }
            Err(error) => {
                let fault = Fault::of(&error).expect("a fault");
                assert!(
                    matches!(fault, Fault::Damaged(_) | Fault::Newer(_)),
                    "{error}"
                );
                let text = error.to_string();
                assert!(text.contains("byte") || text.contains("version"), "{text}");
                assert!(text.contains("journal.jsonl"), "{text}");
                assert_eq!(folder.snapshot(), flipped_files, "byte {place}: touched");
                refused += 1;
            }
        }
        assert!(Ledger::status(&folder.state()).is_ok() == folder_opens(&folder));
    }
    assert!(
        refused > 100 && went_on > 100,
        "{refused} refused, {went_on} went on"
    );
}

fn folder_opens(folder: &Folder) -> bool {
    Ledger::open(options(folder, at(100))).is_ok()
}

#[test]
fn damage_is_named_with_its_byte_and_line() {
    let folder = Folder::new("named");
    small_run(&folder);
    let state = fs::read(folder.journal()).expect("the state");
    let text = String::from_utf8(state.clone()).expect("the state is text");
    let line = text
        .lines()
        .position(|line| line.starts_with("{\"q\":"))
        .expect("a queued request");
    let byte: usize = text.lines().take(line).map(|line| line.len() + 1).sum();

    // A line that is no event any more.
    let mut broken = state.clone();
    broken[byte] = b'[';
    fs::write(folder.journal(), &broken).expect("written");
    let error = Ledger::open(options(&folder, at(100)))
        .err()
        .expect("damaged");
    let named = format!("byte {byte}, line {}:", line + 1);
    assert!(error.to_string().contains(&named), "{error}");
    assert_eq!(error.kind(), ErrorKind::State);

    // One that still reads well, but says something else.
    let mut changed = state.clone();
    let digit = byte + b"{\"q\":\"".len();
    changed[digit] = if changed[digit] == b'0' { b'1' } else { b'0' };
    fs::write(folder.journal(), &changed).expect("written");
    let error = Ledger::open(options(&folder, at(100)))
        .err()
        .expect("damaged");
    assert!(error.to_string().contains("checksum"), "{error}");
    assert!(error.to_string().contains("lines"), "{error}");
}

#[test]
fn an_empty_state_file_and_one_of_something_else_are_refused() {
    let folder = Folder::new("empty");
    small_run(&folder);
    for (bytes, said) in [
        (&b""[..], "empty"),
        (b"PNG\n", "line 1"),
        (b"{\"canter\":\"state\"", "line 1"),
    ] {
        fs::write(folder.journal(), bytes).expect("written");
        let files = folder.snapshot();
        let error = Ledger::open(options(&folder, at(100)))
            .err()
            .expect("refused");
        assert!(
            matches!(Fault::of(&error), Some(Fault::Damaged(_))),
            "{error}"
        );
        assert!(error.to_string().contains(said), "{error}");
        assert_eq!(folder.snapshot(), files);
    }
}

#[test]
fn a_state_of_a_later_version_is_refused() {
    let folder = Folder::new("newer");
    small_run(&folder);
    let text = fs::read_to_string(folder.journal()).expect("the state");
    let newer = text.replacen("\"version\":1", "\"version\":2", 1);
    fs::write(folder.journal(), newer).expect("written");
    let files = folder.snapshot();
    let error = Ledger::open(options(&folder, at(100)))
        .err()
        .expect("refused");
    assert!(
        matches!(Fault::of(&error), Some(Fault::Newer(_))),
        "{error}"
    );
    assert!(error.to_string().contains("version 2"), "{error}");
    assert_eq!(folder.snapshot(), files);
}

#[test]
fn a_committed_segment_that_is_missing_is_damage_and_not_a_torn_tail() {
    let folder = Folder::new("segment");
    small_run(&folder);
    let state = fs::read(folder.journal()).expect("the state");
    let ends = checkpoints(&state);
    for (from, to) in [(0, 1), (1, 2)] {
        let mut without = state[..ends[from]].to_vec();
        without.extend_from_slice(&state[ends[to]..]);
        fs::write(folder.journal(), &without).expect("written");
        let error = Ledger::open(options(&folder, at(100)))
            .err()
            .expect("refused");
        assert!(
            matches!(Fault::of(&error), Some(Fault::Damaged(_))),
            "{error}"
        );
    }
    // The same segment twice.
    let mut twice = state.clone();
    twice.extend_from_slice(&state[ends[1]..ends[2]]);
    fs::write(folder.journal(), &twice).expect("written");
    let error = Ledger::open(options(&folder, at(100)))
        .err()
        .expect("refused");
    assert!(
        matches!(Fault::of(&error), Some(Fault::Damaged(_))),
        "{error}"
    );
}

#[test]
fn zeros_that_a_power_cut_leaves_at_the_end_are_dropped() {
    let folder = Folder::new("zeros");
    small_run(&folder);
    let mut state = fs::read(folder.journal()).expect("the state");
    let whole = state.len();
    state.extend_from_slice(&[0; 5000]);
    fs::write(folder.journal(), &state).expect("written");
    let (_ledger, restored) = open(&folder, 100);
    assert_eq!(waiting(&restored), AFTER[3].0);
    assert_eq!(
        fs::metadata(folder.journal()).expect("the state").len(),
        whole as u64
    );
    assert!(restored.known().any(|(known, _)| known == fingerprint(6)));
}
