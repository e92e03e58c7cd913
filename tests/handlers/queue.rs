//! What becomes of links and records.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use canter::extract::{Emit, Html, Links, Preview, Queue};
use canter::{Admission, ErrorKind, Request, SkipReason, Tag, Url, uri};
use serde::Serialize;

use crate::{PAGE, Site, assert_done, failure, get, links, records, run, run_with, services};

/// A crawl that has seen `/seen` and takes nothing from other hosts.
#[derive(Default)]
struct Crawl {
    asked: Mutex<Vec<String>>,
}

impl Preview for Crawl {
    fn preview(&self, request: &Request) -> Admission {
        let url = request.url();
        self.asked.lock().unwrap().push(url.to_string());
        if url.host_str() != Some("site.test") {
            Admission::Skipped(SkipReason::Scope)
        } else if url.path() == "/seen" {
            Admission::Duplicate
        } else {
            Admission::Queued
        }
    }

    fn is_known(&self, fingerprint: u64) -> bool {
        let seen = Url::parse("http://site.test/seen").unwrap();
        fingerprint == uri::fingerprint("GET", &seen, b"")
    }
}

#[test]
fn each_push_says_what_will_become_of_it_and_all_reach_the_crawl() {
    let services = services(&Site::html("")).with_preview(Arc::new(Crawl::default()));
    let report = run_with(services, get(PAGE), |queue: Queue| {
        assert_eq!(queue.follow("/new"), Admission::Queued);
        assert_eq!(queue.follow("/seen"), Admission::Duplicate);
        assert_eq!(
            queue.push(Request::get("http://b.test/").unwrap()),
            Admission::Skipped(SkipReason::Scope)
        );
        assert_eq!(queue.follow("/new#again"), Admission::Duplicate);
    });
    assert_eq!(
        links(&report),
        [
            "http://site.test/new",
            "http://site.test/seen",
            "http://b.test/"
        ]
    );
}

#[test]
fn many_links_are_taken_without_asking_the_crawl_for_each() {
    let crawl = Arc::new(Crawl::default());
    let services = services(&Site::html("<a href=/1></a><a href=/2></a><a href=/1></a>"))
        .with_preview(Arc::clone(&crawl) as Arc<dyn Preview>);
    let report = run_with(services, get(PAGE), |page: Html, queue: Queue| {
        queue.follow("/2");
        assert_eq!(queue.follow_all(page.links()), 1);
        assert_eq!(queue.follow_all(page.links()), 0);
    });
    assert_eq!(links(&report), ["http://site.test/2", "http://site.test/1"]);
    assert_eq!(*crawl.asked.lock().unwrap(), ["http://site.test/2"]);
}

#[test]
fn links_that_the_crawl_knows_are_counted_as_any_and_no_request_is_made_of_them() {
    let site = Site::html("<a href=/seen></a><a href=/seen#2></a><a href=/new></a>");
    let services = services(&site).with_preview(Arc::new(Crawl::default()));
    let report = run_with(services, get(PAGE), |page: Html, queue: Queue| {
        assert_eq!(queue.follow_all(page.links()), 2);
        assert_eq!(queue.follow_all(["/seen", "/new", "/more"]), 1);
    });
    assert_eq!(
        links(&report),
        ["http://site.test/new", "http://site.test/more"]
    );
}

#[test]
fn what_is_no_web_address_is_answered_as_invalid() {
    let report = run(&Site::html(""), |queue: Queue| {
        for bad in ["mailto:a@b.test", "javascript:x()", "http://", "data:,x"] {
            assert_eq!(
                queue.follow(bad),
                Admission::Skipped(SkipReason::Invalid),
                "{bad}"
            );
        }
        let ftp = Url::parse("ftp://site.test/").unwrap();
        assert_eq!(queue.follow(&ftp), Admission::Skipped(SkipReason::Invalid));
        assert_eq!(queue.follow_all(["mailto:a@b.test", "/ok"]), 1);
    });
    assert_eq!(links(&report), ["http://site.test/ok"]);
}

#[test]
fn links_that_a_page_asks_not_to_follow_are_not_unless_their_url_is_given() {
    let site = Site::html("<a rel=nofollow href=/no></a><a href=/yes></a>");
    let report = run(&site, |page: Html, followable: Links, queue: Queue| {
        assert_eq!(page.links().len(), 2);
        assert_eq!(followable.len(), 1);
        assert_eq!(queue.follow_all(page.links()), 1);
        let link = &page.links()[0];
        assert_eq!(queue.follow(link), Admission::Skipped(SkipReason::NoFollow));
        assert_eq!(queue.follow(&link.url), Admission::Queued);
        assert_eq!(queue.follow_all(followable), 0);
    });
    assert_eq!(
        links(&report),
        ["http://site.test/yes", "http://site.test/no"]
    );
}

#[test]
fn a_link_is_one_step_deeper_names_its_page_and_has_no_tag_unless_given() {
    let request = get("http://me:pw@site.test/dir/page#part")
        .with_tag("list")
        .with_priority(9)
        .with_depth(4);
    let report = run_with(services(&Site::html("")), request, |queue: Queue| {
        queue.follow("plain");
        queue.with_tag("product").with_priority(5).follow("tagged");
        queue.follow_all(["plain too"]);
    });
    let [plain, tagged, all] = &report.effects.links[..] else {
        panic!("{report:?}");
    };
    for link in [plain, tagged, all] {
        assert_eq!(link.depth(), 5);
        assert_eq!(
            link.referrer().map(|r| &**r),
            Some("http://site.test/dir/page")
        );
        assert_eq!(link.attempt(), 1);
    }
    assert_eq!((plain.tag(), plain.priority()), (&Tag::UNTAGGED, 0));
    assert_eq!(
        (tagged.tag(), tagged.priority()),
        (&Tag::from("product"), 5)
    );
    assert_eq!((all.tag(), all.priority()), (&Tag::UNTAGGED, 0));
}

#[test]
fn a_request_that_is_pushed_keeps_what_it_says_and_begins_anew() {
    let request = get(PAGE).with_depth(4).with_attempt(3).with_tag("list");
    let report = run_with(services(&Site::html("")), request, |queue: Queue| {
        let own = Request::post("http://site.test/api", "q")
            .unwrap()
            .with_tag("api")
            .with_priority(2);
        assert_eq!(queue.with_tag("other").push(own.clone()), Admission::Queued);
        assert_eq!(queue.push(own.clone()), Admission::Duplicate);
        assert_eq!(
            queue.push(own.with_body("r").with_depth(1).with_attempt(7)),
            Admission::Queued
        );
    });
    let [own, other] = &report.effects.links[..] else {
        panic!("{report:?}");
    };
    assert_eq!(
        (own.depth(), own.priority(), own.tag().name()),
        (5, 2, Some("api"))
    );
    assert_eq!(own.referrer().map(|r| &**r), Some(PAGE));
    assert_eq!(
        (other.depth(), other.attempt(), other.body()),
        (1, 1, &b"r"[..])
    );
}

#[test]
fn an_iterator_of_links_may_push_to_the_queue_itself() {
    let report = run(&Site::html(""), |queue: Queue| {
        queue.follow_all(["a", "b"].into_iter().inspect(|_| {
            queue.follow("c");
        }));
    });
    assert_eq!(
        links(&report),
        [
            "http://site.test/dir/c",
            "http://site.test/dir/a",
            "http://site.test/dir/b"
        ]
    );
}

#[derive(Serialize)]
struct Product<'a> {
    title: &'a str,
    price: Option<f64>,
}

#[test]
fn records_are_written_as_they_are_when_pushed_and_may_borrow_from_the_page() {
    let site = Site::html("<title>Line\none</title>");
    let report = run(
        &site,
        |page: Html, emit: Emit<Product>| -> canter::Result<()> {
            let mut product = Product {
                title: page.title().unwrap_or_default(),
                price: Some(1.5),
            };
            emit.push(&product)?;
            product.price = None;
            emit.push(&product)
        },
    );
    let records = records(&report);
    assert_eq!(records.len(), 2);
    assert!(records[0].ends_with(r#""price":1.5}"#), "{}", records[0]);
    assert!(records[1].ends_with(r#""price":null}"#), "{}", records[1]);
    assert!(records.iter().all(|record| !record.contains('\n')));
}

#[test]
fn a_record_without_a_form_in_json_is_an_error_of_the_handler() {
    let report = run(&Site::html(""), |emit: Emit<HashMap<(u8, u8), u8>>| {
        emit.push(&HashMap::from([((1, 2), 3)]))
    });
    assert_eq!(failure(&report).kind(), ErrorKind::Worker);
    assert_eq!(failure(&report).url().map(Url::as_str), Some(PAGE));
    // A handler may go on without it.
    let report = run(&Site::html(""), |emit: Emit<HashMap<(u8, u8), u8>>| {
        assert!(emit.push(&HashMap::from([((1, 2), 3)])).is_err());
        emit.push(&HashMap::new())
    });
    assert_done(&report);
    assert_eq!(records(&report), ["{}"]);
}
