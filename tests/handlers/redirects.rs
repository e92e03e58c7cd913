//! Redirects and unchanged pages end an attempt without the handler.

use std::sync::atomic::{AtomicUsize, Ordering};

use canter::extract::{Context, Emit, FromContext, Head, Html, Queue, Text};
use canter::fetch::StatusPolicy;
use canter::handler::{Ended, Report};
use canter::{Error, ErrorKind, Hop, Outcome, Result, Url};

use crate::{PAGE, Site, assert_done, failure, get, run, run_with, services};

#[track_caller]
fn assert_redirected(report: &Report, to: &str) {
    match &report.ended {
        Ended::Redirected { target, .. } => assert_eq!(target.as_str(), to),
        other => panic!("not redirected: {other:?}"),
    }
    assert!(report.effects.is_empty());
}

fn moved(location: &str) -> std::sync::Arc<Site> {
    Site::with(
        302,
        &[("Location", location), ("Content-Type", "text/html")],
        "<p>moved",
    )
}

#[test]
fn a_redirect_ends_the_attempt_whatever_wraps_the_extractor() {
    static RAN: AtomicUsize = AtomicUsize::new(0);
    fn ran() {
        RAN.fetch_add(1, Ordering::Relaxed);
    }
    let site = moved("../else");
    let to = "http://site.test/else";
    assert_redirected(&run(&site, |_: Html| ran()), to);
    assert_redirected(&run(&site, |_: Option<Html>| ran()), to);
    assert_redirected(&run(&site, |_: Result<Html, Error>| ran()), to);
    assert_redirected(&run(&site, |_: Option<Option<Text>>| ran()), to);
    assert_redirected(
        &run(&site, |_: Queue, _: Result<Option<Head>, Error>| ran()),
        to,
    );
    assert_eq!(RAN.load(Ordering::Relaxed), 0);
}

#[test]
fn a_redirect_ends_the_attempt_though_an_extractor_of_the_users_own_hides_it() {
    static RAN: AtomicUsize = AtomicUsize::new(0);
    struct Lenient;
    impl FromContext for Lenient {
        fn from_context(cx: &Context) -> Result<Self> {
            let _ = cx.response();
            Ok(Lenient)
        }
    }
    let report = run(&moved("/else"), |_: Lenient| {
        RAN.fetch_add(1, Ordering::Relaxed);
    });
    assert_redirected(&report, "http://site.test/else");
    assert_eq!(RAN.load(Ordering::Relaxed), 0);
}

#[test]
fn a_redirect_that_the_handler_comes_upon_still_ends_the_attempt() {
    let to = "http://site.test/else";
    let report = run(
        &moved("/else"),
        move |cx: Context, queue: Queue, emit: Emit<str>| {
            queue.follow("/before");
            emit.push("before").unwrap();
            let error = cx.response().unwrap_err();
            assert_eq!(error.status(), Some(302));
            assert!(error.message().contains(to), "{error}");
            assert!(cx.extract::<Option<Html>>().is_err());
            Outcome::Stop
        },
    );
    assert_redirected(&report, to);
    let report = run(&moved("/else"), |cx: Context| {
        cx.response().unwrap();
    });
    assert_redirected(&report, to);
}

#[test]
fn each_status_that_points_elsewhere_is_a_redirect_and_reported_as_such() {
    for status in [301, 302, 303, 307, 308] {
        let site = Site::with(status, &[("Location", "//b.test/x")], "");
        let report = run(&site, |_: Head| ());
        assert_redirected(&report, "http://b.test/x");
        assert!(matches!(report.ended, Ended::Redirected { status: seen, .. } if seen == status));
        assert_eq!(report.response.unwrap().status(), status);
    }
    for status in [300, 305] {
        let site = Site::with(status, &[("Location", "/x")], "");
        assert_done(&run(&site, |_: Head| ()));
    }
    let site = Site::with(304, &[("Location", "/x")], "");
    let report = run(&site, |_: Head| ());
    let kind = failure(&report).kind();
    assert_eq!(kind, ErrorKind::Rejected, "nobody asked whether it changed");
}

#[test]
fn a_redirect_that_leads_nowhere_is_rejected_and_says_to_where() {
    for location in ["mailto:a@b.test", "http://", "ftp://b.test/", " "] {
        let report = run(&moved(location), |_: Html| ());
        let error = failure(&report);
        assert_eq!(error.kind(), ErrorKind::Rejected);
        assert_eq!(error.status(), Some(302));
        assert!(error.message().contains(location), "{error}");
        assert_eq!(error.url().map(Url::as_str), Some(PAGE));
    }
    let report = run(&Site::with(301, &[], "<p>moved"), |_: Html| ());
    let error = failure(&report);
    assert_eq!(error.kind(), ErrorKind::Rejected);
    assert!(error.message().contains("without a location"), "{error}");
}

#[test]
fn a_location_of_any_length_and_bytes_makes_a_short_clean_message() {
    let site = Site::new(|request| {
        let location = [&b"mailto:\x1b[2J\xFC"[..], &vec![b'x'; 100_000]].concat();
        Ok(canter::fetch::Response::new(request.url().clone(), 302)
            .with_header("Location", location))
    });
    let report = run(&site, |_: Head| ());
    let message = failure(&report).message();
    assert!(message.len() < 500, "{} bytes", message.len());
    assert!(message.contains("mailto:\\x1b[2J\\xfc"), "{message}");
}

#[test]
fn a_handler_may_be_told_that_a_redirect_leads_nowhere() {
    let report = run(&moved("mailto:a@b.test"), |page: Result<Html, Error>| {
        assert_eq!(page.unwrap_err().kind(), ErrorKind::Rejected);
    });
    assert_done(&report);
}

#[test]
fn redirects_are_followed_only_so_many_times_in_a_row() {
    let hop = Hop {
        url: Url::parse("http://site.test/start").unwrap(),
        status: 301,
    };
    let run_after = |hops: usize| {
        let services = services(&moved("/else")).with_max_redirects(2);
        let request = get(PAGE).with_hops(vec![hop.clone(); hops]);
        run_with(services, request, |_: Html| ())
    };
    assert_redirected(&run_after(1), "http://site.test/else");
    let report = run_after(2);
    let error = failure(&report);
    assert_eq!(error.kind(), ErrorKind::Rejected);
    assert!(error.message().contains("too many redirects"), "{error}");
    assert!(error.message().contains("http://site.test/else"), "{error}");
}

#[test]
fn where_every_answer_is_accepted_only_redirects_that_lead_nowhere_are_pages() {
    let accept = |location: &str, max: usize| {
        let services = services(&moved(location))
            .with_status_policy(StatusPolicy::Accept)
            .with_max_redirects(max);
        run_with(services, get(PAGE), |head: Head| {
            assert_eq!(head.status(), 302);
        })
    };
    assert_redirected(&accept("/else", 10), "http://site.test/else");
    assert_done(&accept("mailto:a@b.test", 10));
    assert_done(&accept("/else", 0));
}

#[test]
fn an_answer_of_304_to_a_condition_means_unchanged_and_no_handler() {
    static RAN: AtomicUsize = AtomicUsize::new(0);
    for condition in ["If-None-Match", "if-modified-since"] {
        let request = get(PAGE).with_header(condition, "x");
        let report = run_with(
            services(&Site::with(304, &[], "")),
            request,
            |page: Option<Html>| {
                RAN.fetch_add(1, Ordering::Relaxed);
                drop(page);
            },
        );
        assert!(matches!(report.ended, Ended::Unchanged), "{report:?}");
        assert_eq!(report.response.unwrap().status(), 304);
    }
    assert_eq!(RAN.load(Ordering::Relaxed), 0);
}
