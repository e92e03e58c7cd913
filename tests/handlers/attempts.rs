//! An attempt is one fetch at most, and a transaction.

use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use canter::extract::{Body, Context, Emit, Head, Html, Queue, Tag, Text, Url};
use canter::fetch::Response;
use canter::handler::Ended;
use canter::{Error, ErrorKind, Outcome, Result};

use crate::{PAGE, Site, assert_done, failure, get, links, records, run, run_with, services};

/// Follows a link and writes a record, as an attempt that means well does.
fn work(queue: &Queue, emit: &Emit<str>) {
    queue.follow("/next");
    emit.push("record").unwrap();
}

#[test]
fn the_request_is_fetched_once_however_many_extractors_need_it() {
    let site = Site::html("<title>x</title>");
    let report = run(
        &site,
        |_: Head, _: Body, _: Text, _: Html, _: Option<Html>, cx: Context| cx.response().map(drop),
    );
    assert_done(&report);
    assert_eq!(site.asked(), 1);
}

#[test]
fn nothing_is_fetched_when_nobody_needs_the_answer() {
    let site = Site::html("");
    assert_done(&run(&site, || ()));
    assert_done(&run(&site, |_: Url, _: Tag, _: Context, queue: Queue| {
        queue.follow("/next");
    }));
    assert_eq!(site.asked(), 0);
}

#[test]
fn a_failed_fetch_is_not_tried_again_within_the_attempt() {
    let site = Site::new(|_| Err(Error::new(ErrorKind::Connect).with_message("reset")));
    let report = run(
        &site,
        |one: Option<Html>, two: Result<Body, Error>, three: Result<Head, Error>| {
            assert!(one.is_none());
            assert_eq!(two.unwrap_err().kind(), ErrorKind::Connect);
            assert_eq!(three.unwrap_err().message(), "reset");
        },
    );
    assert_done(&report);
    assert_eq!(site.asked(), 1);
}

#[test]
fn an_extractor_that_fails_fails_the_request_before_the_handler_runs() {
    static RAN: AtomicBool = AtomicBool::new(false);
    let site = Site::with(200, &[("Content-Type", "image/png")], "\u{89}PNG");
    let report = run(&site, |_: Queue, _: Html| {
        RAN.store(true, Ordering::Relaxed);
    });
    let error = failure(&report);
    assert_eq!(error.kind(), ErrorKind::Extract);
    assert_eq!(error.url().map(Url::as_str), Some(PAGE));
    assert!(!RAN.load(Ordering::Relaxed));
}

#[test]
fn extractors_run_from_left_to_right_and_stop_at_the_first_failure() {
    let site = Site::with(200, &[("Content-Type", "text/plain")], "no page");
    let report = run(&site, |_: Html, _: canter::extract::Json<u8>| ());
    assert!(failure(&report).message().contains("HTML"), "{report:?}");
}

#[test]
fn an_extractor_in_an_option_or_a_result_leaves_the_failure_to_the_handler() {
    let site = Site::with(200, &[("Content-Type", "text/plain")], "no page");
    let report = run(
        &site,
        |page: Option<Html>, same: Result<Html, Error>, text: Text| {
            assert!(page.is_none());
            assert_eq!(same.unwrap_err().kind(), ErrorKind::Extract);
            assert_eq!(&*text, "no page");
        },
    );
    assert_done(&report);
}

#[test]
fn links_and_records_commit_with_an_outcome_that_ends_the_request() {
    let site = Site::html("");
    for outcome in [
        Outcome::abort as fn() -> Outcome,
        || Outcome::Done,
        || Outcome::Stop,
    ] {
        let report = run(&site, move |queue: Queue, emit: Emit<str>| {
            work(&queue, &emit);
            outcome()
        });
        assert_eq!(links(&report), ["http://site.test/next"]);
        assert_eq!(records(&report), ["\"record\""]);
    }
}

#[test]
fn every_other_outcome_leaves_nothing_behind() {
    let outcomes: [fn() -> Outcome; 5] = [
        Outcome::retry,
        || Outcome::retry_after(Duration::from_secs(1)),
        || Outcome::backoff(Duration::from_secs(1)),
        || Outcome::Fail(Error::worker("no")),
        || Outcome::Fatal(Error::worker("no")),
    ];
    for outcome in outcomes {
        let report = run(&Site::html(""), move |queue: Queue, emit: Emit<str>| {
            work(&queue, &emit);
            outcome()
        });
        assert!(report.effects.is_empty(), "{report:?}");
    }
}

#[test]
fn a_panic_is_an_error_of_its_request_that_repeats_the_message() {
    let site = Site::html("");
    let report = run(&site, |queue: Queue, emit: Emit<str>, url: Url| -> () {
        work(&queue, &emit);
        panic!("no price on {}", url.path())
    });
    let error = failure(&report);
    assert_eq!(error.kind(), ErrorKind::Worker);
    assert_eq!(
        error.message(),
        "the handler panicked: no price on /dir/page"
    );
    assert_eq!(error.url().map(Url::as_str), Some(PAGE));
    assert!(report.effects.is_empty());

    let report = run(&site, || -> () { panic!("plain") });
    assert_eq!(failure(&report).message(), "the handler panicked: plain");
}

#[test]
fn a_panic_without_a_message_is_caught_too_even_if_dropping_it_panics_again() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("again");
        }
    }
    let report = run(&Site::html(""), || -> () { panic::panic_any(Bomb) });
    assert_eq!(
        failure(&report).message(),
        "the handler panicked without a message"
    );
}

#[test]
fn a_panic_of_the_fetcher_is_a_failed_fetch_and_told_from_one_of_the_handler() {
    let site = Site::new(|_| panic!("browser gone"));
    let report = run(&site, |_: Html| ());
    let error = failure(&report);
    assert_eq!(error.kind(), ErrorKind::Worker);
    assert_eq!(error.message(), "the fetcher panicked: browser gone");
    assert_eq!(error.url().map(Url::as_str), Some(PAGE));
    let report = run(&site, |page: Option<Html>| assert!(page.is_none()));
    assert_done(&report);
}

#[test]
fn a_panic_while_links_are_taken_leaves_nothing_behind() {
    let report = run(&Site::html(""), |queue: Queue| {
        queue.follow_all((0..3).map(|n| {
            assert!(n < 2, "third link");
            format!("/{n}")
        }));
    });
    assert_eq!(
        failure(&report).message(),
        "the handler panicked: third link"
    );
    assert!(report.effects.is_empty());
}

#[test]
fn an_error_keeps_the_url_it_names_and_is_given_the_requests_otherwise() {
    let report = run(&Site::html(""), || Error::worker("x"));
    assert_eq!(failure(&report).url().map(Url::as_str), Some(PAGE));
    let report = run(&Site::html(""), || {
        Error::worker("x").with_url(Url::parse("http://other.test/").unwrap())
    });
    assert_eq!(
        failure(&report).url().map(Url::as_str),
        Some("http://other.test/")
    );
    let report = run(&Site::html(""), || Outcome::Fatal(Error::worker("x")));
    let Ended::Outcome(Outcome::Fatal(error)) = &report.ended else {
        panic!("{report:?}");
    };
    assert_eq!(error.url().map(Url::as_str), Some(PAGE));
}

#[test]
fn errors_never_repeat_user_name_and_password() {
    let report = run_with(
        services(&Site::html("")),
        get("http://me:secret@site.test/"),
        || Error::worker("x"),
    );
    assert_eq!(
        failure(&report).url().map(Url::as_str),
        Some("http://site.test/")
    );
}

#[test]
fn the_deadline_is_counted_from_the_fetch_and_not_from_the_attempt() {
    let site = Site::html("");
    let now = Arc::new(std::sync::Mutex::new(Instant::now()));
    let clock = Arc::clone(&now);
    let services = services(&site)
        .with_timeout(Duration::from_secs(5))
        .with_clock(move || *clock.lock().unwrap());
    let later = *now.lock().unwrap() + Duration::from_secs(60);
    let report = run_with(services, get(PAGE), move |cx: Context| {
        *now.lock().unwrap() = later;
        cx.response().map(drop)
    });
    assert_done(&report);
    assert_eq!(
        *site.deadline.lock().unwrap(),
        Some(later + Duration::from_secs(5))
    );
}

#[test]
fn a_timeout_beyond_all_clocks_is_no_panic() {
    let site = Site::html("");
    let services = services(&site).with_timeout(Duration::MAX);
    assert_done(&run_with(services, get(PAGE), |_: Head| ()));
    assert!(site.deadline.lock().unwrap().unwrap() > Instant::now());
}

#[test]
fn the_report_gives_back_the_request_and_the_response() {
    let request = get(PAGE).with_tag("product").with_attempt(3);
    let report = run_with(services(&Site::html("<p>")), request, |_: Head| ());
    assert_eq!(report.request.tag().name(), Some("product"));
    assert_eq!(report.request.attempt(), 3);
    assert_eq!(report.response.unwrap().body(), b"<p>");

    let report = run(&Site::with(404, &[], "gone"), |_: Head| ());
    assert_eq!(failure(&report).status(), Some(404));
    assert_eq!(report.response.unwrap().body(), b"gone");

    let report = run(&Site::html(""), || ());
    assert!(report.response.is_none());
}

#[test]
fn a_handle_that_outlives_the_attempt_can_do_nothing_more() {
    thread_local! {
        static KEPT: std::cell::RefCell<Option<Queue>> = const { std::cell::RefCell::new(None) };
    }
    let report = run(&Site::html(""), |queue: Queue| {
        queue.follow("/in-time");
        KEPT.with_borrow_mut(|kept| *kept = Some(queue));
    });
    KEPT.with_borrow(|kept| {
        let _ = kept.as_ref().unwrap().follow("/too-late");
    });
    assert_eq!(links(&report), ["http://site.test/in-time"]);
    assert_eq!(report.request.url().as_str(), PAGE);
}

#[test]
fn a_response_of_another_url_is_where_the_page_is() {
    // A fetcher such as a browser may have followed redirects on its own.
    let site = Site::new(|_| {
        Ok(
            Response::new(Url::parse("http://b.test/dir/").unwrap(), 200)
                .with_header("content-type", "text/html")
                .with_body("<a href=c>c</a>"),
        )
    });
    let report = run(&site, |page: Html, head: Head, queue: Queue| {
        assert_eq!(page.url().as_str(), "http://b.test/dir/");
        assert_eq!(head.url(), page.url());
        queue.follow_all(page.links());
        queue.follow("d");
    });
    assert_eq!(
        links(&report),
        ["http://b.test/dir/c", "http://b.test/dir/d"]
    );
}
