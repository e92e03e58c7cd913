//! Which answers reach the handler.

use std::time::{Duration, UNIX_EPOCH};

use canter::ErrorKind;
use canter::extract::{Body, Head};
use canter::fetch::StatusPolicy;

use crate::{PAGE, Site, assert_done, failure, get, run, run_with, services};

#[test]
fn a_status_that_is_a_failure_never_reaches_the_handler() {
    for (status, kind) in [
        (404, ErrorKind::Rejected),
        (403, ErrorKind::Rejected),
        (408, ErrorKind::Http),
        (429, ErrorKind::Http),
        (500, ErrorKind::Http),
        (503, ErrorKind::Http),
    ] {
        let report = run(&Site::with(status, &[], "sorry"), |_: Body| ());
        let error = failure(&report);
        assert_eq!((error.kind(), error.status()), (kind, Some(status)));
    }
    for status in [200, 204, 206] {
        assert_done(&run(&Site::with(status, &[], ""), |_: Body| ()));
    }
}

#[test]
fn every_status_reaches_the_handler_where_every_answer_is_accepted() {
    for status in [404, 429, 503] {
        let services =
            services(&Site::with(status, &[], "sorry")).with_status_policy(StatusPolicy::Accept);
        let report = run_with(services, get(PAGE), move |head: Head, body: Body| {
            assert_eq!(head.status(), status);
            assert_eq!(&*body, b"sorry");
        });
        assert_done(&report);
    }
}

#[test]
fn a_throttled_request_is_told_how_long_to_wait_uncapped() {
    for status in [429, 503] {
        let site = Site::with(
            status,
            &[("Retry-After", "7"), ("Retry-After", "100000")],
            "",
        );
        let report = run(&site, |_: Head| ());
        assert_eq!(
            failure(&report).retry_after(),
            Some(Duration::from_secs(100_000))
        );
    }
}

#[test]
fn a_date_is_compared_with_the_clock_and_better_with_the_answers_own() {
    let date = "Sun, 06 Nov 1994 08:50:37 GMT";
    let now = UNIX_EPOCH + Duration::from_secs(784_111_777);
    let waits = |headers: &[(&str, &str)]| {
        let services = services(&Site::with(503, headers, "")).with_wall_clock(move || now);
        failure(&run_with(services, get(PAGE), |_: Head| ())).retry_after()
    };
    assert_eq!(
        waits(&[("Retry-After", date)]),
        Some(Duration::from_secs(60))
    );
    assert_eq!(
        waits(&[
            ("Retry-After", date),
            ("Date", "Sun, 06 Nov 1994 08:48:37 GMT")
        ]),
        Some(Duration::from_secs(120))
    );
}

#[test]
fn a_wait_counts_only_where_it_means_throttling_and_can_be_read() {
    let waits = |status: u16, value: &str| {
        let site = Site::with(status, &[("Retry-After", value)], "");
        failure(&run(&site, |_: Head| ())).retry_after()
    };
    assert_eq!(waits(500, "7"), None);
    assert_eq!(waits(404, "7"), None);
    assert_eq!(waits(429, "-5"), None);
    assert_eq!(waits(429, "soon"), None);
    assert_eq!(waits(429, "0"), Some(Duration::ZERO));
}
