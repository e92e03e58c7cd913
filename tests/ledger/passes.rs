//! Runs and passes: what waits, what is due, what is remembered.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use canter::ledger::{Change, End, Ended, Ledger, PageMemory, Queued};
use canter::{ErrorKind, Hop, Purpose, Request, SkipReason};

use super::common::{
    Folder, at, done, ended, failed, fingerprint, found, instant, lines, memory, open, options,
    pending, queued, small_run, totals, url, waiting,
};

#[test]
fn a_run_goes_on_with_what_the_one_before_left() {
    let folder = Folder::new("goes-on");
    small_run(&folder);
    let (_ledger, restored) = open(&folder, 50);
    assert!(restored.resumed && !restored.new_pass);
    assert_eq!((restored.run, restored.pass), (2, 1));
    assert_eq!(restored.counts.total(), 7);
    assert_eq!(restored.counts.done, 4);
    assert_eq!(restored.counts.pending, 3);
    assert_eq!(restored.totals, totals(3));
    assert_eq!(waiting(&restored), [5, 6, 3]);
    let waits = pending(&restored);
    // The one that failed is tried afresh, and last.
    assert_eq!(waits[2].queued.request.attempt(), 1);
    assert!(waits[2].not_before.is_none());
    assert_eq!(
        waits[0].queued.request.referrer().map(|r| &**r),
        Some(url(2).as_str())
    );
    assert_eq!(restored.robots.len(), 1);
    assert_eq!(restored.robots[0].origin, "http://a.test");
    assert_eq!(restored.robots[0].body, b"User-agent: *\nDisallow: /x\n");
    assert_eq!(restored.robots[0].age, Duration::from_secs(50));
    assert_eq!(restored.pauses.len(), 1);
    assert_eq!(restored.pauses[0].until, instant(500));
}

#[test]
fn a_retry_waits_out_its_time_in_the_next_run_with_its_attempts_counted() {
    let folder = Folder::new("retry");
    let (mut ledger, _) = open(&folder, 0);
    let retried = Change::Retried {
        fingerprint: fingerprint(0),
        attempt: 3,
        not_before: instant(90),
    };
    ledger
        .commit(&[found(0), retried], at(1), totals(2))
        .expect("a commit");
    drop(ledger);
    for (now, not_before) in [(50, Some(instant(90))), (90, None), (91, None)] {
        let (_ledger, restored) = open(&folder, now);
        let waits = pending(&restored);
        assert_eq!(waits[0].queued.request.attempt(), 3);
        assert_eq!(waits[0].not_before, not_before, "at {now}");
    }
}

#[test]
fn waits_do_not_grow_when_the_wall_clock_is_set_back() {
    let folder = Folder::new("clock");
    let (mut ledger, _) = open(&folder, 5000);
    let pause = Change::Paused {
        host: "a.test".into(),
        until: instant(5100),
    };
    ledger
        .commit(&[found(0), pause], at(5000), totals(1))
        .expect("a commit");
    drop(ledger);
    let (_ledger, restored) = open(&folder, 10);
    assert_eq!(restored.pauses[0].until, instant(110));
}

#[test]
fn rules_are_forgotten_after_a_day_and_pauses_when_they_are_over() {
    let folder = Folder::new("day");
    small_run(&folder);
    let day = 24 * 3600;
    let known = |now| {
        let (_ledger, restored) = open(&folder, now);
        (restored.robots.len(), restored.pauses.len())
    };
    assert_eq!(known(499), (1, 1));
    assert_eq!(known(500), (1, 0));
    assert_eq!(known(day - 1), (1, 0));
    assert_eq!(known(day), (0, 0));
}

/// Pages 0 to 3, done at 1, 1000, 1 and 1; then the pass is complete.
fn finished(folder: &Folder) {
    let (mut ledger, _) = open(folder, 0);
    let changes = [
        found(0),
        found(1),
        found(2),
        found(3),
        done(0),
        done(2),
        done(3),
    ];
    ledger.commit(&changes, at(1), totals(5)).expect("a commit");
    ledger
        .finish(&[done(1)], true, at(1000), totals(6))
        .expect("the pass is complete");
}

#[test]
fn a_finished_crawl_begins_a_new_pass_with_everything_due_and_its_validators_known() {
    let folder = Folder::new("new-pass");
    finished(&folder);
    assert!(Ledger::status(&folder.state()).expect("a status").finished);
    let (mut ledger, restored) = open(&folder, 2000);
    assert!(restored.new_pass);
    assert_eq!(restored.pass, 2);
    assert_eq!(waiting(&restored), [0, 1, 2, 3]);
    let pages = restored.pages();
    assert_eq!(pages.len(), 4);
    let page = pages.get(fingerprint(1)).expect("it is remembered");
    assert_eq!(page.memory, memory(1));
    assert_eq!(page.fetched, at(1000).wall);

    // The second pass: unchanged, changed, gone, and one that is left.
    let other = PageMemory {
        etag: None,
        hash: Some(5),
        ..memory(1)
    };
    let changes = [
        Change::Ended(Box::new(Ended {
            status: Some(304),
            ..ended(0, End::Unchanged)
        })),
        Change::Ended(Box::new(Ended {
            page: Some(Box::new(other)),
            records: vec![super::common::record(1)],
            ..ended(1, End::Done)
        })),
        Change::Ended(Box::new(Ended {
            status: Some(404),
            ..ended(2, End::Failed(ErrorKind::Rejected))
        })),
        found(4),
    ];
    ledger
        .commit(&changes, at(2001), totals(3))
        .expect("a commit");
    drop(ledger);
    let status = Ledger::status(&folder.state()).expect("a status");
    assert_eq!((status.pass, status.finished), (2, false));
    assert_eq!((status.counts.done, status.counts.unchanged), (2, 1));
    assert_eq!(status.totals, totals(6) + totals(3));

    // Interrupted, it goes on: nothing that was asked for is asked for again.
    let (_ledger, restored) = open(&folder, 3000);
    assert!(!restored.new_pass);
    assert_eq!((restored.run, restored.pass), (3, 2));
    assert_eq!(waiting(&restored), [3, 4, 2], "what has failed waits again");
    assert_eq!(
        restored.pages().get(fingerprint(3)).map(|page| page.memory),
        Some(memory(3))
    );
    assert!(
        restored.pages().get(fingerprint(1)).is_none(),
        "it is not due"
    );
}

#[test]
fn pages_younger_than_the_revisit_age_are_not_due_but_known() {
    let folder = Folder::new("revisit");
    finished(&folder);
    let opened = |now| {
        let mut options = options(&folder, at(now));
        options.state = options
            .state
            .map(|state| state.with_revisit(Duration::from_secs(600)));
        Ledger::open(options).expect("the ledger opens")
    };
    let (_ledger, restored) = opened(1500);
    assert_eq!(waiting(&restored), [0, 2, 3]);
    let known: BTreeMap<_, _> = restored.known().collect();
    assert_eq!(known[&fingerprint(1)], Some(End::Done));
}

#[test]
fn a_finished_pass_of_which_nothing_is_due_is_a_pass_all_the_same() {
    let folder = Folder::new("nothing-due");
    finished(&folder);
    for pass in 2..5 {
        let mut options = options(&folder, at(1001));
        options.state = options
            .state
            .map(|state| state.with_revisit(Duration::from_secs(9999)));
        let (mut ledger, restored) = Ledger::open(options).expect("the ledger opens");
        assert_eq!(restored.pass, pass);
        assert_eq!(restored.counts.pending, 0);
        ledger
            .finish(&[], true, at(1001), totals(0))
            .expect("complete");
    }
}

#[test]
fn requests_that_ended_no_url_are_in_the_totals_all_the_same() {
    let folder = Folder::new("totals");
    let (mut ledger, _) = open(&folder, 0);
    ledger
        .commit(&[found(0)], at(1), totals(1))
        .expect("a commit");
    ledger
        .finish(&[], false, at(2), totals(9))
        .expect("stopped");
    drop(ledger);
    let (mut ledger, restored) = open(&folder, 10);
    assert_eq!(restored.totals, totals(9));
    ledger
        .finish(&[], false, at(11), totals(3))
        .expect("stopped");
    drop(ledger);
    let status = Ledger::status(&folder.state()).expect("a status");
    assert_eq!(status.totals, totals(9) + totals(3));
    assert_eq!(status.runs, 2);
}

#[test]
fn a_crawl_killed_after_its_last_page_is_not_begun_again() {
    let folder = Folder::new("last-page");
    let (mut ledger, _) = open(&folder, 0);
    ledger
        .commit(&[found(0), done(0)], at(1), totals(1))
        .expect("a commit");
    drop(ledger);
    let (_ledger, restored) = open(&folder, 10);
    assert!(!restored.new_pass);
    assert_eq!(restored.counts.pending, 0);
}

#[test]
fn what_robots_or_a_handler_kept_out_is_judged_again_in_the_next_pass() {
    let folder = Folder::new("judged-again");
    let (mut ledger, _) = open(&folder, 0);
    let skipped = |n, reason| Change::Ended(Box::new(ended(n, End::Skipped(reason))));
    let tagged = Queued {
        request: Request::get(url(4))
            .expect("a request")
            .with_tag("list")
            .with_depth(3),
        ..queued(4)
    };
    let changes = [
        found(0),
        done(0),
        found(1),
        skipped(1, SkipReason::Robots),
        found(2),
        skipped(2, SkipReason::Aborted),
        Change::Refused(Box::new(queued(3)), SkipReason::Scope),
        Change::Refused(Box::new(tagged), SkipReason::Robots),
        skipped(5, SkipReason::Robots),
    ];
    ledger
        .finish(&changes, true, at(1), totals(1))
        .expect("complete");
    drop(ledger);
    let (_ledger, restored) = open(&folder, 10);
    let rejudged: Vec<(u64, bool)> = pending(&restored)
        .iter()
        .map(|pending| {
            let url = pending.queued.request.url();
            (super::common::number_of(url), pending.rejudge)
        })
        .collect();
    assert_eq!(
        rejudged,
        [(0, false), (1, true), (2, true), (4, true), (5, true)]
    );
    let tagged = &pending(&restored)[3].queued.request;
    assert_eq!((tagged.tag().name(), tagged.depth()), (Some("list"), 3));
    // What is outside the scope stays there while the scope stays as it is.
    let mut out = Vec::new();
    restored
        .each_skipped(SkipReason::Scope, |queued| out.push(queued.fingerprint))
        .expect("the state can be read again");
    assert_eq!(out, [fingerprint(3)]);
}

#[test]
fn a_page_that_was_too_deep_can_be_queued_after_all() {
    let folder = Folder::new("too-deep");
    let (mut ledger, _) = open(&folder, 0);
    let deep = Queued {
        request: Request::get(url(1)).expect("a request").with_depth(9),
        ..queued(1)
    };
    ledger
        .commit(
            &[Change::Refused(Box::new(deep), SkipReason::Depth)],
            at(1),
            totals(1),
        )
        .expect("a commit");
    assert!(
        lines(&folder.join("log.jsonl")).is_empty(),
        "it has not ended yet"
    );
    drop(ledger);
    let (mut ledger, restored) = open(&folder, 2);
    let mut held = Vec::new();
    restored
        .each_skipped(SkipReason::Depth, |queued| {
            held.push(queued.request.depth());
        })
        .expect("the state can be read again");
    assert_eq!(held, [9]);
    ledger
        .commit(&[found(1)], at(3), totals(1))
        .expect("a commit");
    drop(ledger);
    let (_ledger, restored) = open(&folder, 4);
    let waits = pending(&restored);
    assert_eq!(waits.len(), 1);
    assert_eq!(waits[0].queued.request.depth(), 1);
    assert_eq!(restored.counts.total(), 1);
}

#[test]
fn where_seeds_have_led_is_known_to_the_next_run() {
    let folder = Folder::new("landed");
    let (mut ledger, _) = open(&folder, 0);
    let hop = Hop {
        url: url(0),
        status: 301,
    };
    let target = Queued {
        fingerprint: 99,
        request: Request::get("https://www.a.test/")
            .expect("a request")
            .with_hops(vec![hop]),
        seed: true,
        purpose: Purpose::Page,
    };
    let changes = [
        found(0),
        Change::Ended(Box::new(ended(0, End::Redirected))),
        Change::Queued(Box::new(target)),
    ];
    ledger.commit(&changes, at(1), totals(1)).expect("a commit");
    drop(ledger);
    let (_ledger, restored) = open(&folder, 2);
    assert_eq!(restored.landed.len(), 1);
    assert_eq!(restored.landed[0].as_str(), "https://www.a.test/");
    let waits = pending(&restored);
    assert!(waits[0].queued.seed);
    assert_eq!(waits[0].queued.request.requested(), &url(0));
}

#[test]
fn a_large_state_is_replayed_by_several_threads_in_order() {
    let folder = Folder::new("large");
    let (mut ledger, _) = open(&folder, 0);
    let pages = 30_000;
    let mut changes: Vec<Change> = Vec::new();
    for n in 0..pages {
        changes.push(found(n));
        if n % 3 == 0 {
            changes.push(done(n));
        } else if n % 3 == 1 {
            changes.push(failed(n, ErrorKind::Connect));
        }
    }
    for part in changes.chunks(7_000) {
        ledger.commit(part, at(1), totals(1)).expect("a commit");
    }
    drop(ledger);
    let size = fs::metadata(folder.journal()).expect("the state").len();
    assert!(size > 4 << 20, "it has several blocks: {size} bytes");
    let replay = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("threads");
        pool.install(|| {
            let (_ledger, restored) = open(&folder, 100);
            let known: Vec<_> = restored.known().collect();
            let waits: Vec<String> = pending(&restored)
                .iter()
                .map(|one| format!("{one:?}"))
                .collect();
            (known, waits, format!("{:?}", restored.counts))
        })
    };
    let serial = replay(1);
    assert_eq!(serial.0.len() as u64, pages);
    assert_eq!(serial.1.len() as u64, pages - pages / 3);
    for threads in [2, 3, 8] {
        assert_eq!(replay(threads), serial);
    }
}

#[test]
fn a_run_without_state_begins_with_nothing_and_keeps_nothing() {
    let folder = Folder::new("stateless");
    let stateless = |now| {
        let mut options = options(&folder, at(now));
        options.state = None;
        Ledger::open(options).expect("the ledger opens")
    };
    for run in 1..=2 {
        let (mut ledger, restored) = stateless(0);
        assert!(!restored.resumed);
        assert_eq!(restored.counts.total(), 0);
        assert!(pending(&restored).is_empty());
        ledger
            .commit(&[found(0), done(0)], at(1), totals(1))
            .expect("a commit");
        ledger
            .finish(&[], false, at(2), totals(1))
            .expect("finished");
        let error = ledger
            .commit(&[done(1)], at(3), totals(1))
            .expect_err("closed");
        assert!(error.to_string().contains("closed"));
        assert_eq!(lines(&folder.join("pages.jsonl")).len(), run);
    }
    assert!(!folder.state().exists());
}

#[test]
fn sinks_take_every_record_and_their_failure_ends_the_run() {
    let folder = Folder::new("sinks");
    let taken = Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut options = options(&folder, at(0));
    let into = Arc::clone(&taken);
    options.sinks.push(Box::new(move |record| {
        into.lock().expect("no panic").push(record.clone());
        Ok(())
    }));
    options.sinks.push(Box::new(|record| {
        assert!(!record.starts_with(b"{\"page\":2"), "page 2 is too much");
        Ok(())
    }));
    let (mut ledger, _) = Ledger::open(options).expect("the ledger opens");
    ledger
        .commit(&[found(0), found(1), done(0), done(1)], at(1), totals(1))
        .expect("a commit");
    let error = ledger
        .commit(&[done(2)], at(2), totals(1))
        .expect_err("a panic");
    assert_eq!(error.kind(), ErrorKind::Output);
    assert!(error.to_string().contains("page 2 is too much"), "{error}");
    let taken = taken.lock().expect("no panic");
    assert_eq!(
        *taken,
        [
            super::common::record(0),
            super::common::record(1),
            super::common::record(2)
        ]
    );
    drop(ledger);
    // The record that was not committed is cut off again.
    let (_ledger, _) = open(&folder, 10);
    assert_eq!(super::common::pages_in(&folder.join("pages.jsonl")), [0, 1]);
}
