//! What extractors make of an answer.

use std::sync::Arc;
use std::time::Duration;

use canter::extract::{Body, Context, Head, Html, Json, Links, Queue, SitemapFile, Text};
use canter::fetch::Response;
use canter::{Error, ErrorKind, Result};
use serde::Deserialize;

use crate::{PAGE, Site, assert_done, failure, get, links, run, run_with, services};

/// Runs one extractor on one answer.
fn extract<T, U>(
    headers: &[(&str, &str)],
    body: impl Into<Vec<u8>>,
    see: impl Fn(T) -> U + Send + Sync + 'static,
) -> Result<U>
where
    T: canter::extract::FromContext,
{
    let site = Site::with(200, headers, body);
    let cx = Context::new(get(PAGE), Arc::new(services(&site)));
    cx.extract::<T>().map(see)
}

fn is_html(content_type: Option<&str>, body: &[u8]) -> bool {
    let headers: Vec<_> = content_type
        .map(|value| ("Content-Type", value))
        .into_iter()
        .collect();
    match extract(&headers, body, |_: Html| ()) {
        Ok(()) => true,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Extract);
            false
        }
    }
}

#[test]
fn the_declared_type_decides_what_is_html() {
    let page = b"<!DOCTYPE html><title>x</title>";
    assert!(is_html(Some("text/html"), page));
    assert!(is_html(Some("TEXT/HTML;charset"), page));
    assert!(is_html(Some("text/html, text/html"), page));
    assert!(is_html(Some("application/xhtml+xml"), page));
    assert!(is_html(Some("text/html"), b"just words"));
    assert!(is_html(Some("text/html"), b""));
    assert!(!is_html(Some("text/plain"), page));
    assert!(!is_html(Some("application/json"), b"{}"));
    assert!(!is_html(Some("image/png"), page));
}

#[test]
fn the_first_bytes_decide_where_the_type_says_nothing() {
    let page = b"\n<html><title>x</title>";
    for nothing in [None, Some(""), Some("application/octet-stream")] {
        assert!(is_html(nothing, page), "{nothing:?}");
        assert!(is_html(nothing, b""), "{nothing:?}");
        assert!(!is_html(nothing, b"%PDF-1.7"), "{nothing:?}");
        assert!(!is_html(nothing, b"just words"), "{nothing:?}");
        assert!(!is_html(nothing, b"{\"a\": \"<html>\"}"), "{nothing:?}");
    }
}

#[test]
fn a_binary_body_that_is_declared_as_html_is_none_and_both_types_are_named() {
    for body in [
        &b"PK\x03\x04\x14\0"[..],
        b"%PDF-1.4",
        b"\x89PNG\r\n\x1A\n",
        b"a\0b",
    ] {
        assert!(!is_html(Some("text/html"), body), "{body:?}");
    }
    let error = extract(&[("Content-Type", "text/html")], "%PDF-1.4", |_: Html| ()).unwrap_err();
    assert!(error.message().contains("text/html"), "{error}");
    assert!(error.message().contains("pdf"), "{error}");
}

#[test]
fn a_page_in_utf_16_is_no_binary_body() {
    let wide: Vec<u8> = "<title>h\u{e9}</title>"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let title = |page: Html| page.title().map(str::to_owned);
    let declared = [("Content-Type", "text/html; charset=utf-16le")];
    assert_eq!(
        extract(&declared, wide.clone(), title).unwrap().unwrap(),
        "hé"
    );
    let marked = [&[0xFF, 0xFE][..], &wide].concat();
    assert_eq!(
        extract(&[("Content-Type", "text/html")], marked, title)
            .unwrap()
            .unwrap(),
        "hé"
    );
    let text = |text: Text| text.to_string();
    assert_eq!(extract(&declared, wide, text).unwrap(), "<title>hé</title>");
}

#[test]
fn text_is_decoded_once_and_in_the_declared_encoding() {
    let site = Site::with(
        200,
        &[("Content-Type", "text/html; charset=windows-1251")],
        b"<title>\xEF\xF0\xE8\xE2\xE5\xF2</title>".to_vec(),
    );
    let report = run(&site, |page: Html, text: Text, body: Body| {
        assert_eq!(page.title(), Some("привет"));
        assert_eq!(text.encoding().name(), "windows-1251");
        assert_eq!(page.source(), &*text);
        // One decoded text for both.
        assert_eq!(page.source().as_ptr(), text.as_str().as_ptr());
        assert_eq!(&body[7..9], b"\xEF\xF0");
    });
    assert_done(&report);
    let report = run(&site, |text: Text, page: Html| {
        assert_eq!(page.source().as_ptr(), text.as_str().as_ptr());
    });
    assert_done(&report);
}

#[test]
fn text_of_binary_bytes_is_no_text() {
    let error = extract(&[("Content-Type", "text/plain")], "a\0b", |_: Text| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Extract);
    assert!(error.message().contains("text/plain"), "{error}");
    assert_eq!(extract(&[], "héllo", |text: Text| text.len()).unwrap(), 6);
}

#[test]
fn a_body_that_cannot_be_read_is_bytes_and_nothing_else() {
    let site = Site::new(|request| {
        Ok(Response::new(request.url().clone(), 200)
            .with_header("Content-Type", "text/html")
            .with_header("Content-Encoding", "zz\u{1b}")
            .with_undecoded(true)
            .with_body("xyz"))
    });
    let report = run(
        &site,
        |body: Body,
         a: Result<Text, Error>,
         b: Result<Html, Error>,
         c: Result<Json<u8>, Error>,
         d: Result<SitemapFile, Error>| {
            assert!(body.undecoded());
            assert_eq!(&*body, b"xyz");
            for error in [a.err(), b.err(), c.err(), d.err()] {
                let error = error.unwrap();
                assert_eq!(error.kind(), ErrorKind::Extract);
                assert!(error.message().contains("\"zz\\u{1b}\""), "{error}");
            }
        },
    );
    assert_done(&report);
}

#[test]
fn a_body_that_was_left_on_the_wire_is_not_taken_for_an_empty_one() {
    let site = Site::new(|request| {
        Ok(Response::new(request.url().clone(), 200)
            .with_header("Content-Type", "audio/mpeg")
            .with_body_skipped(true))
    });
    let report = run(
        &site,
        |head: Head, body: Result<Body, Error>, text: Option<Text>| {
            assert_eq!(head.status(), 200);
            let error = body.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Extract);
            assert!(error.message().contains("audio/mpeg"), "{error}");
            assert!(text.is_none());
        },
    );
    assert_done(&report);
}

#[test]
fn the_head_has_status_fields_url_and_time() {
    let site = Site::new(|request| {
        Ok(Response::new(request.url().clone(), 200)
            .with_header("X-One", "1")
            .with_header("x-bytes", vec![0xFF])
            .with_elapsed(Duration::from_millis(30)))
    });
    let report = run(&site, |head: Head| {
        assert_eq!(head.status(), 200);
        assert_eq!(head.header("x-one").as_deref(), Some("1"));
        assert_eq!(head.header("X-Bytes").as_deref(), Some("ÿ"));
        assert_eq!(head.headers().len(), 2);
        assert_eq!(head.url().as_str(), PAGE);
        assert_eq!(head.elapsed(), Duration::from_millis(30));
    });
    assert_done(&report);
}

#[derive(Debug, Deserialize, PartialEq)]
struct Item {
    name: String,
}

fn item(headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Result<String> {
    extract(headers, body, |Json(item): Json<Item>| item.name)
}

#[test]
fn json_is_read_whatever_its_type_and_encoding() {
    let json = "{\"name\": \"n\u{e9}\"}";
    assert_eq!(item(&[], json).unwrap(), "né");
    assert_eq!(item(&[("Content-Type", "text/html")], json).unwrap(), "né");
    assert_eq!(item(&[], format!("\u{feff}{json}")).unwrap(), "né");
    let wide: Vec<u8> = format!("\u{feff}{json}")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(item(&[], wide).unwrap(), "né");
    let latin = [("Content-Type", "application/json; charset=iso-8859-1")];
    assert_eq!(
        item(&latin, b"{\"name\": \"n\xE9\"}".to_vec()).unwrap(),
        "né"
    );
    // What looks like a page's declaration of its charset is a value here.
    let meta = r#"{"name": "<meta charset=iso-8859-2>é"}"#;
    assert_eq!(item(&[], meta).unwrap(), "<meta charset=iso-8859-2>é");
}

#[test]
fn json_that_is_none_or_another_names_line_and_column() {
    for (body, place) in [
        ("{\"name\":\n oops}", "line 2 column 2"),
        ("{\"name\": 5}", "line 1 column 10"),
        ("{\"nome\": \"x\"}", "missing field `name`"),
        ("", "line 1 column 0"),
        ("{\"name\": \"x\"} x", "trailing characters"),
    ] {
        let error = item(&[], body).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Extract);
        assert!(error.to_string().contains(place), "{error}");
        assert_eq!(error.url().map(canter::Url::as_str), Some(PAGE));
    }
    assert!(item(&[], b"{\"name\": \"n\xE9\"}".to_vec()).is_err());
}

#[test]
fn a_sitemap_is_read_by_its_bytes() {
    let urlset = "<urlset><url><loc>http://site.test/a</loc></url>\
                  <url><loc>http://site.test/b</loc></url></urlset>";
    let site = Site::with(200, &[("Content-Type", "text/plain")], urlset);
    let report = run(&site, |file: SitemapFile, queue: Queue| {
        assert_eq!(file.url().as_str(), PAGE);
        assert_eq!(queue.follow_all(&file.entries), 2);
    });
    assert_eq!(links(&report), ["http://site.test/a", "http://site.test/b"]);
}

#[test]
fn a_broken_sitemap_gives_what_can_be_read_and_a_page_is_none() {
    let cut = "<urlset><url><loc>http://site.test/a</loc></url><url><loc>http://si";
    let (entries, broken) = extract(&[], cut, |file: SitemapFile| {
        (file.entries.len(), file.error.is_some())
    })
    .unwrap();
    assert_eq!((entries, broken), (1, true));
    let page = "<!DOCTYPE html><title>x</title><p>no such page";
    let error = extract(&[("Content-Type", "text/html")], page, |_: SitemapFile| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Extract);
    assert!(error.message().contains("no sitemap"), "{error}");
}

#[test]
fn links_are_in_document_order_and_resolved_against_the_page() {
    let site = Site::html(
        "<a href=b></a><a href='/c'></a><a href='mailto:x@y.test'></a><a href='?p'></a>",
    );
    let report = run(&site, |found: Links, queue: Queue| {
        assert_eq!(queue.follow_all(&found), 3);
    });
    assert_eq!(
        links(&report),
        [
            "http://site.test/dir/b",
            "http://site.test/c",
            "http://site.test/dir/page?p"
        ]
    );
}

#[test]
fn a_page_says_what_it_is_about() {
    let page = "<html lang=de><title> A\n page </title><meta name=description content='About it'>\
                <meta property=OG:Title content=Big><link rel=canonical href=/canon>\
                <script>x()</script><h1>Tea &amp; cake</h1><a href='http://[::1'>x</a>";
    let site = Site::html(page);
    let report = run(&site, |page: Html| {
        assert_eq!(page.title(), Some("A page"));
        assert_eq!(page.description(), Some("About it"));
        assert_eq!(page.canonical().unwrap().as_str(), "http://site.test/canon");
        assert_eq!(page.lang(), Some("de"));
        assert_eq!(page.meta("og:title"), Some("Big"));
        assert_eq!(page.meta("og:image"), None);
        assert_eq!(page.metas().count(), 2);
        assert_eq!(page.malformed_links(), 1);
        assert!(page.text().starts_with("Tea & cake"), "{}", page.text());
        assert_eq!(page.base().url(), page.url());
    });
    assert_done(&report);
}

#[test]
fn the_header_may_forbid_to_follow_any_link() {
    let followed = |value: &str| {
        let headers = [("Content-Type", "text/html"), ("X-Robots-Tag", value)];
        let services = services(&Site::with(200, &headers, "<a href=/a>a</a>"));
        let report = run_with(
            services.with_agent("examplebot/1.0"),
            get(PAGE),
            |page: Html, links: Links, queue: Queue| {
                assert_eq!(page.links().len(), 1);
                assert_eq!(page.links()[0].nofollow, page.robots().nofollow);
                assert_eq!(links.is_empty(), page.robots().nofollow);
                queue.follow_all(page.links());
            },
        );
        assert_done(&report);
        report.effects.links.len()
    };
    assert_eq!(followed("all"), 1);
    assert_eq!(followed("noindex, nofollow"), 0);
    assert_eq!(followed("none"), 0);
    assert_eq!(followed("otherbot: nofollow"), 1);
    assert_eq!(followed("examplebot: nofollow"), 0);
}

#[test]
fn a_page_may_speak_to_our_agent_by_name() {
    let page = "<meta name=robots content=noindex><meta name=examplebot content=nofollow>\
                <a href=/a>a</a>";
    for (agent, nofollow) in [("examplebot/1.0", true), ("canter", false)] {
        let services = services(&Site::html(page)).with_agent(agent);
        let report = run_with(services, get(PAGE), move |page: Html| {
            assert!(page.robots().noindex);
            assert_eq!(page.robots().nofollow, nofollow);
            assert_eq!(page.links()[0].nofollow, nofollow);
        });
        assert_done(&report);
    }
}

#[test]
fn text_is_followed_as_a_link_of_the_page_would_be_once_the_page_is_known() {
    let page = "<base href=/base/><title>x</title>";
    let report = run(&Site::html(page), |queue: Queue, cx: Context| {
        queue.follow("a");
        cx.extract::<Html>().unwrap();
        queue.follow("b");
    });
    assert_eq!(
        links(&report),
        ["http://site.test/dir/a", "http://site.test/base/b"]
    );
    let cyrillic = Site::with(
        200,
        &[("Content-Type", "text/html; charset=windows-1251")],
        "x",
    );
    let report = run(&cyrillic, |_: Html, queue: Queue| {
        queue.follow("/ф?q=ф");
    });
    assert_eq!(links(&report), ["http://site.test/%D1%84?q=%F4"]);
}

#[test]
fn a_page_can_leave_the_attempt_and_its_thread() {
    let page = extract(
        &[("Content-Type", "text/html")],
        "<title>x</title><p>y",
        |page: Html| page,
    )
    .unwrap();
    let title = std::thread::spawn(move || page.title().map(str::to_owned))
        .join()
        .unwrap();
    assert_eq!(title.as_deref(), Some("x"));
}

#[test]
fn a_failing_extractor_names_the_requests_url_without_credentials() {
    let site = Site::with(200, &[("Content-Type", "image/png")], "x");
    let request = get("http://me:pw@site.test/x");
    let report = run_with(services(&site), request, |_: Html| ());
    assert_eq!(
        failure(&report).url().map(canter::Url::as_str),
        Some("http://site.test/x")
    );
}
