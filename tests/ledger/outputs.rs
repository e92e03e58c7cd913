//! Output files: how they end, where they are, what they hold.

use std::fs;
use std::path::{Path, PathBuf};

use canter::ledger::{
    Change, End, Ended, Existing, Fault, Ledger, LedgerOptions, OutputSpec, Queued, Restored,
};
use canter::{ErrorKind, Method, Request, SkipReason, Url};

use super::common::{
    Folder, at, done, ended, found, instant, lines, open, options, pages_in, queued, small_run,
    totals, url,
};

/// A ledger without state that writes records to a file.
fn stateless(path: &Path, existing: Existing) -> canter::Result<(Ledger, Restored)> {
    let mut options = LedgerOptions::new(at(0));
    options.records = Some(OutputSpec::new(path).with_existing(existing));
    Ledger::open(options)
}

#[test]
fn a_torn_last_line_is_cut_off_and_a_whole_one_is_ended() {
    let folder = Folder::new("torn-output");
    let path = folder.join("pages.jsonl");
    for (before, after, noted) in [
        ("", "", false),
        ("{\"page\":9}\n", "{\"page\":9}\n", false),
        (
            "{\"page\":9}\n{\"url\":\"http://a.te",
            "{\"page\":9}\n",
            true,
        ),
        ("{\"url\":\"http://a.te", "", true),
        (
            "{\"page\":9}\n{\"page\":8}",
            "{\"page\":9}\n{\"page\":8}\n",
            false,
        ),
        ("{\"page\":9}\n\0\0\0", "{\"page\":9}\n", true),
    ] {
        fs::write(&path, before).expect("written");
        let (mut ledger, restored) = stateless(&path, Existing::Append).expect("opens");
        assert_eq!(
            restored.notes.len(),
            usize::from(noted),
            "{before:?}: {:?}",
            restored.notes
        );
        assert_eq!(fs::read_to_string(&path).expect("records"), after);
        ledger
            .commit(&[done(0)], at(1), totals(1))
            .expect("a commit");
        let text = fs::read_to_string(&path).expect("records");
        assert!(text.starts_with(after));
        assert_eq!(pages_in(&path).last(), Some(&0));
    }
}

#[test]
fn a_file_that_is_no_json_lines_is_not_appended_to() {
    let folder = Folder::new("foreign-output");
    let path = folder.join("pages.jsonl");
    fs::write(&path, b"PK\x03\x04 something else").expect("written");
    let files = folder.snapshot();
    let error = stateless(&path, Existing::Append).err().expect("refused");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("pages.jsonl"), "{error}");
    assert_eq!(folder.snapshot(), files);
}

#[test]
fn an_existing_file_is_refused_when_that_is_wanted() {
    let folder = Folder::new("refuse");
    let path = folder.join("pages.jsonl");
    let (mut ledger, _) = stateless(&path, Existing::Refuse).expect("nothing is there");
    ledger
        .commit(&[done(0)], at(1), totals(1))
        .expect("a commit");
    drop(ledger);
    let files = folder.snapshot();
    let error = stateless(&path, Existing::Refuse).err().expect("refused");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("refuse"), "{error}");
    assert_eq!(folder.snapshot(), files);
}

#[test]
fn a_crawl_goes_on_with_its_own_file_even_if_others_are_refused() {
    let folder = Folder::new("refuse-own");
    let opened = |seconds| {
        let mut options = options(&folder, at(seconds));
        options.records = options
            .records
            .map(|spec| spec.with_existing(Existing::Refuse));
        Ledger::open(options)
    };
    let (mut ledger, _) = opened(0).expect("opens");
    ledger
        .commit(&[found(0), found(1), done(0)], at(1), totals(1))
        .expect("a commit");
    drop(ledger);
    let (mut ledger, _) = opened(10).expect("goes on");
    ledger
        .finish(&[done(1)], true, at(11), totals(1))
        .expect("complete");
    drop(ledger);
    assert_eq!(pages_in(&folder.join("pages.jsonl")), [0, 1]);
    // The records of the next pass would be mixed with those of this one.
    assert!(opened(20).is_err());
}

#[test]
fn folders_are_made_and_the_day_and_the_pass_are_filled_in() {
    let folder = Folder::new("filled-in");
    let opened = |seconds| {
        let mut options = options(&folder, at(seconds));
        options.records = Some(OutputSpec::new(folder.join("{date}/a/pages-{pass}.jsonl")));
        Ledger::open(options).expect("the ledger opens")
    };
    let (mut ledger, _) = opened(0);
    ledger
        .finish(&[found(0), done(0)], true, at(1), totals(1))
        .expect("complete");
    drop(ledger);
    let day = 24 * 3600;
    let (mut ledger, restored) = opened(day);
    assert!(restored.new_pass);
    ledger
        .commit(&[done(0)], at(day + 1), totals(1))
        .expect("a commit");
    drop(ledger);
    assert_eq!(pages_in(&folder.join("2023-11-14/a/pages-1.jsonl")), [0]);
    assert_eq!(pages_in(&folder.join("2023-11-15/a/pages-2.jsonl")), [0]);
}

#[test]
fn what_was_not_committed_is_cut_off_the_file_of_the_day_before() {
    let folder = Folder::new("midnight");
    let opened = |seconds| {
        let mut options = options(&folder, at(seconds));
        options.records = Some(OutputSpec::new(folder.join("pages-{date}.jsonl")));
        Ledger::open(options).expect("the ledger opens")
    };
    let (mut ledger, _) = opened(0);
    ledger
        .commit(&[found(0), found(1), done(0)], at(1), totals(1))
        .expect("a commit");
    let state = fs::read(folder.journal()).expect("the state");
    ledger
        .commit(&[done(1)], at(2), totals(2))
        .expect("a commit");
    drop(ledger);
    // Killed between the output and the state, just before midnight.
    fs::write(folder.journal(), state).expect("written");
    let day = 24 * 3600;
    let (mut ledger, restored) = opened(day);
    assert!(
        restored.notes.iter().any(|note| note.contains("cut off")),
        "{:?}",
        restored.notes
    );
    ledger
        .commit(&[done(1)], at(day + 1), totals(1))
        .expect("a commit");
    assert_eq!(pages_in(&folder.join("pages-2023-11-14.jsonl")), [0]);
    assert_eq!(pages_in(&folder.join("pages-2023-11-15.jsonl")), [1]);
}

/// What happens to a file, and a word of what is said about it.
type Harm = (&'static str, fn(&Path));

#[test]
fn an_output_that_lost_committed_records_stops_the_run_before_it_starts() {
    let folder = Folder::new("lost");
    small_run(&folder);
    let whole = folder.snapshot();
    let path = folder.join("pages.jsonl");
    let harms: [Harm; 3] = [
        ("missing", |path| fs::remove_file(path).expect("removed")),
        ("bytes", |path| {
            let text = fs::read(path).expect("records");
            fs::write(path, &text[..text.len() - 1]).expect("written");
        }),
        ("no line ends", |path| {
            let text = fs::read_to_string(path).expect("records");
            fs::write(path, text.replace('\n', "  \n")).expect("written");
        }),
    ];
    for (said, harm) in harms {
        folder.restore(&whole);
        harm(&path);
        let files = folder.snapshot();
        let error = Ledger::open(options(&folder, at(50)))
            .err()
            .expect("refused");
        assert!(
            matches!(Fault::of(&error), Some(Fault::OutputLost(_))),
            "{error}"
        );
        assert_eq!(error.kind(), ErrorKind::State);
        let text = error.to_string();
        assert!(
            text.contains("pages.jsonl") && text.contains(said),
            "{text}"
        );
        assert!(text.contains("--fresh"), "it says what can be done: {text}");
        assert_eq!(folder.snapshot(), files, "{said}: touched");
    }
}

#[test]
fn records_may_be_taken_away_once_their_pass_is_complete() {
    let folder = Folder::new("taken-away");
    let (mut ledger, _) = open(&folder, 0);
    ledger
        .finish(&[found(0), done(0)], true, at(1), totals(1))
        .expect("complete");
    drop(ledger);
    fs::remove_file(folder.join("pages.jsonl")).expect("removed");
    let (mut ledger, restored) = open(&folder, 10);
    assert!(
        restored.notes.iter().any(|note| note.contains("missing")),
        "{:?}",
        restored.notes
    );
    ledger
        .commit(&[found(1), done(1)], at(11), totals(1))
        .expect("a commit");
    let state = fs::read(folder.journal()).expect("the state");
    ledger
        .commit(&[done(0)], at(12), totals(1))
        .expect("a commit");
    drop(ledger);
    fs::write(folder.journal(), state).expect("written");
    let (_ledger, _) = open(&folder, 20);
    assert_eq!(pages_in(&folder.join("pages.jsonl")), [1]);
}

#[test]
fn a_log_may_be_rotated_at_any_time() {
    let folder = Folder::new("rotated");
    small_run(&folder);
    fs::rename(folder.join("log.jsonl"), folder.join("log.old")).expect("renamed");
    let (mut ledger, restored) = open(&folder, 50);
    assert!(
        restored.notes.iter().any(|note| note.contains("log")),
        "{:?}",
        restored.notes
    );
    ledger
        .commit(&[done(5)], at(51), totals(1))
        .expect("a commit");
    assert_eq!(lines(&folder.join("log.jsonl")).len(), 1);
}

#[test]
fn state_and_outputs_can_be_moved_together() {
    let folder = Folder::new("moved");
    let old = folder.join("old");
    let opened = |dir: &PathBuf, seconds| {
        let mut options = options(&folder, at(seconds));
        options.records = Some(OutputSpec::new(dir.join("out/pages.jsonl")));
        if let Some(state) = &mut options.state {
            state.dir = dir.join("state");
        }
        Ledger::open(options).expect("the ledger opens")
    };
    let (mut ledger, _) = opened(&old, 0);
    ledger
        .commit(&[found(0), found(1), done(0)], at(1), totals(1))
        .expect("a commit");
    let state = fs::read(old.join("state/journal.jsonl")).expect("the state");
    ledger
        .commit(&[done(1)], at(2), totals(2))
        .expect("a commit");
    drop(ledger);
    fs::write(old.join("state/journal.jsonl"), state).expect("written");
    let new = folder.join("new");
    fs::rename(&old, &new).expect("moved");
    let (mut ledger, _) = opened(&new, 10);
    ledger
        .commit(&[done(1)], at(11), totals(1))
        .expect("a commit");
    assert_eq!(pages_in(&new.join("out/pages.jsonl")), [0, 1]);
}

#[test]
fn the_log_holds_neither_user_nor_password_of_a_url() {
    let folder = Folder::new("log-users");
    let (mut ledger, _) = open(&folder, 0);
    let [token, both] = ["http://token@a.test/b", "http://me:secret@a.test/c"]
        .map(|text| Url::parse(text).expect("a URL"));
    let refused = Queued {
        request: Request::get(both.as_str()).expect("a request"),
        ..queued(1)
    };
    let changes = [
        found(0),
        Change::Ended(Box::new(Ended {
            to: Some(token),
            ..ended(0, End::Redirected)
        })),
        Change::Refused(Box::new(refused), SkipReason::Scope),
    ];
    ledger.commit(&changes, at(1), totals(1)).expect("a commit");
    let log = lines(&folder.join("log.jsonl"));
    assert_eq!(log[0]["to"], "http://a.test/b");
    assert_eq!(log[1]["url"], "http://a.test/c");
}

#[test]
fn the_log_has_a_line_for_each_end_with_what_is_known_of_it() {
    let folder = Folder::new("log");
    let (mut ledger, _) = open(&folder, 0);
    let to = Url::parse("http://me:secret@a.test/b").expect("a URL");
    let changes = [
        found(0),
        Change::Ended(Box::new(Ended {
            to: Some(to),
            status: Some(301),
            ..ended(0, End::Redirected)
        })),
        done(1),
        Change::Ended(Box::new(Ended {
            status: Some(304),
            ..ended(2, End::Unchanged)
        })),
        Change::Ended(Box::new(Ended {
            message: Some("a dead \"link\"".to_owned()),
            referrer: Some(url(1).as_str().into()),
            ..ended(3, End::Failed(ErrorKind::Rejected))
        })),
        Change::Ended(Box::new(ended(4, End::Skipped(SkipReason::Robots)))),
        Change::Refused(Box::new(queued(5)), SkipReason::Scope),
        Change::Paused {
            host: "a.test".into(),
            until: instant(9),
        },
    ];
    ledger.commit(&changes, at(1), totals(1)).expect("a commit");
    let page = |n| url(n).to_string();
    assert_eq!(
        lines(&folder.join("log.jsonl")),
        [
            serde_json::json!({"url": page(0), "end": "redirected", "status": 301, "attempts": 1,
                "to": "http://a.test/b"}),
            serde_json::json!({"url": page(1), "end": "done", "status": 200, "attempts": 1}),
            serde_json::json!({"url": page(2), "end": "done", "unchanged": true, "status": 304,
                "attempts": 1}),
            serde_json::json!({"url": page(3), "end": "failed", "kind": "rejected", "status": 200,
                "attempts": 1, "message": "a dead \"link\"", "referrer": page(1)}),
            serde_json::json!({"url": page(4), "end": "skipped", "reason": "robots"}),
            serde_json::json!({"url": page(5), "end": "skipped", "reason": "scope"}),
        ]
    );
}

#[test]
fn neither_name_nor_password_of_a_url_stands_in_the_log() {
    let folder = Folder::new("names");
    let (mut ledger, _) = open(&folder, 0);
    let url = |text: &str| Url::parse(text).expect("a URL");
    let kept_out = Queued {
        request: Request::new(Method::Get, url("http://me:secret@b.test/x")),
        ..queued(1)
    };
    let changes = [
        found(0),
        Change::Ended(Box::new(Ended {
            to: Some(url("http://me@a.test/b")),
            ..ended(0, End::Redirected)
        })),
        Change::Refused(Box::new(kept_out), SkipReason::Scope),
    ];
    ledger.commit(&changes, at(1), totals(1)).expect("a commit");
    let lines = lines(&folder.join("log.jsonl"));
    assert_eq!(lines[0]["to"], "http://a.test/b");
    assert_eq!(lines[1]["url"], "http://b.test/x");
}

#[test]
fn every_record_is_one_line_of_json_whatever_is_in_it() {
    let folder = Folder::new("nasty");
    let path = folder.join("pages.jsonl");
    let titles = [
        "a\u{2028}b\u{2029}c\u{85}d",
        "\0\u{7}\u{1b}[31m",
        "\"\\\n\r\t",
        "ü€\u{1f980}",
    ];
    let mut records: Vec<Box<[u8]>> = titles
        .iter()
        .map(|title| {
            serde_json::json!({ "title": title })
                .to_string()
                .into_bytes()
                .into()
        })
        .collect();
    records.push(br#"{"title":"\ud800 alone"}"#.to_vec().into());
    records.push(
        serde_json::to_vec_pretty(&serde_json::json!({"a": [1, "b\u{2028}"]}))
            .expect("JSON")
            .into(),
    );
    let change = Change::Ended(Box::new(Ended {
        records,
        ..ended(0, End::Done)
    }));
    let (mut ledger, _) = stateless(&path, Existing::Append).expect("opens");
    ledger
        .commit(&[change], at(1), totals(1))
        .expect("a commit");
    let text = fs::read_to_string(&path).expect("UTF-8");
    // As a program sees it that ends lines wherever Unicode does.
    let ends = [
        '\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}',
        '\u{2029}',
    ];
    let cut: Vec<&str> = text.split(ends).collect();
    assert_eq!(
        cut.len(),
        titles.len() + 3,
        "one piece for each, and nothing behind the last"
    );
    for (line, title) in cut.iter().zip(titles) {
        let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(value["title"], title);
    }
    let last: serde_json::Value = serde_json::from_str(cut[titles.len() + 1]).expect("JSON");
    assert_eq!(last["a"][1], "b\u{2028}");
}

#[test]
fn records_and_log_in_one_file_are_refused() {
    let folder = Folder::new("same-file");
    let mut options = options(&folder, at(0));
    options.log = Some(OutputSpec::new(folder.join("./x/../pages.jsonl")));
    let error = Ledger::open(options).err().expect("refused");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(!folder.join("pages.jsonl").exists());
}

#[test]
fn an_output_that_is_a_folder_is_refused_before_anything_is_made() {
    let folder = Folder::new("folder-output");
    fs::create_dir(folder.join("log.jsonl")).expect("a folder");
    let error = Ledger::open(options(&folder, at(0)))
        .err()
        .expect("refused");
    assert_eq!(error.kind(), ErrorKind::Output);
    assert!(error.to_string().contains("log.jsonl"), "{error}");
    assert!(!folder.join("pages.jsonl").exists() && !folder.journal().exists());
}

#[test]
fn the_summary_is_replaced_whole_and_its_place_is_tried_at_the_start() {
    let folder = Folder::new("summary");
    let with_summary = |path: PathBuf| {
        let mut options = LedgerOptions::new(at(0));
        options.summary = Some(path);
        Ledger::open(options)
    };
    let path = folder.join("deep/er/summary.json");
    for text in [
        "{\"end\":\"bound\",\"and\":\"much more\"}",
        "{\"end\":\"complete\"}",
    ] {
        let (ledger, _) = with_summary(path.clone()).expect("opens");
        ledger.write_summary(text.as_bytes()).expect("written");
        assert_eq!(
            fs::read_to_string(&path).expect("a summary"),
            format!("{text}\n")
        );
        assert_eq!(
            fs::read_dir(folder.join("deep/er"))
                .expect("a folder")
                .count(),
            1
        );
    }
    let error = with_summary(folder.join("deep")).err().expect("a folder");
    assert_eq!(error.kind(), ErrorKind::Output);
    let (ledger, _) = Ledger::open(LedgerOptions::new(at(0))).expect("opens");
    ledger.write_summary(b"{}").expect("nobody wants it");
}

#[test]
fn an_output_file_that_disappears_under_a_run_does_not_stop_it() {
    let folder = Folder::new("disappears");
    let (mut ledger, _) = open(&folder, 0);
    ledger
        .commit(&[found(0), done(0)], at(1), totals(1))
        .expect("a commit");
    fs::remove_file(folder.join("log.jsonl")).expect("removed");
    ledger
        .commit(&[found(1), done(1)], at(2), totals(2))
        .expect("a commit");
    drop(ledger);
    let (_ledger, restored) = open(&folder, 10);
    assert_eq!(restored.counts.done, 2);
}
