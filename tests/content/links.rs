//! Links as browsers read them: white space, bases, references, spellings, and
//! what is no link at all. What the server is asked for is the proof.

use crate::common::{Resp, Script, Server};
use crate::crawl::Crawl;

/// Pages by path, everything else an empty page.
fn site(pages: &[(&str, &str)]) -> Script {
    let mut script = Script::new()
        .on("/robots.txt", [Resp::new(404)])
        .otherwise(Resp::html("<title>leaf</title>"));
    for (path, html) in pages {
        script = script.on(path, [Resp::html(*html)]);
    }
    script
}

#[test]
fn white_space_in_an_href_is_dropped_as_browsers_drop_it() {
    let server = Server::scripted(site(&[(
        "/?p=1",
        "<a href=\" /spaces \"><a href=\"&#10;&#9;/feed.xml &#10;\"><a href=\"/a&#10;b\">\
         <a href=/bare><a href='\r\n/ends\r\n'><a href=' http://b.test/ '><a href='/in ner'>",
    )]));
    let outcome = Crawl::from([server.url("/?p=1")]).run(&server, 0);
    assert_eq!(
        outcome.paths_on("127.0.0.1"),
        [
            "/?p=1",
            "/ab",
            "/bare",
            "/ends",
            "/feed.xml",
            "/in%20ner",
            "/spaces"
        ]
    );
    assert_eq!(outcome.end("/")["reason"], "scope", "http://b.test/");
}

#[test]
fn the_first_base_with_an_href_holds_for_the_whole_page() {
    let server = Server::scripted(site(&[
        (
            "/x/y.html",
            "<base target=_top><base href=\"/app/\"><base href=\"/no/\"><a href=\"p\"><a href=\"?q=1\">",
        ),
        (
            "/x/late.html",
            "<a href=early><base href='/late/'><a href=after>",
        ),
        ("/x/script.html", "<base href='javascript:0'><a href=plain>"),
        ("/x/relative.html", "<base href='../up/'><a href=1>"),
        ("/x/data.html", "<base href='data:,x'><a href=plain2>"),
        ("/x/empty.html", "<base href=''><a href=plain3>"),
        (
            "/x/template.html",
            "<template><base href='/no/'></template><a href=plain4>",
        ),
        (
            "/x/comment.html",
            "<!-- <base href='/no/'> --><a href=plain5>",
        ),
        ("/x/fragment.html", "<base href='/moved/'><a href='#top'>"),
    ]));
    let pages = [
        "y", "late", "script", "relative", "data", "empty", "template", "comment", "fragment",
    ];
    let seeds = pages.map(|name| server.url(&format!("/x/{name}.html")));
    let outcome = Crawl::from(seeds).run(&server, 0);
    let mut expected = vec![
        "/app/",
        "/app/p",
        "/app/?q=1",
        "/late/early",
        "/late/after",
        "/moved/",
        "/up/1",
        "/x/plain",
        "/x/plain2",
        "/x/plain3",
        "/x/plain4",
        "/x/plain5",
    ];
    expected.retain(|path| *path != "/app/");
    let seeded = pages.map(|name| format!("/x/{name}.html"));
    let mut expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
    expected.extend(seeded);
    expected.sort_unstable();
    assert_eq!(outcome.paths_on("127.0.0.1"), expected);
}

#[test]
fn character_references_are_decoded_as_in_an_attribute() {
    let server = Server::scripted(site(&[(
        "/",
        "<a href=\"/l?&amp;p=2\"><a href=\"/l?x=1&#38;p=3\"><a href=\"/l?a=1&copy=2\">\
         <a href=\"/l?a=1&lt;\"><a href='/l?b&ampc'><a href='/l?d&amp'><a href=/l?e&#x26;f>\
         <a href='/l?g&notit;h'><a href='/&#x2f;b.test'>",
    )]));
    let outcome = Crawl::from([server.url("/")]).run(&server, 0);
    let mut expected = [
        "/",
        "/l?&p=2",
        "/l?x=1&p=3",
        "/l?a=1&copy=2",
        "/l?a=1%3C",
        "/l?b&ampc",
        "/l?d&",
        "/l?e&f",
        "/l?g&notit;h",
    ];
    expected.sort_unstable();
    assert_eq!(outcome.paths_on("127.0.0.1"), expected);
}

#[test]
fn spellings_of_one_page_are_asked_for_once() {
    let server = Server::builder()
        .addresses(&["127.0.0.1"])
        .start(|req| match req.path.as_str() {
            "/" => {
                let port = req.port;
                Resp::html(format!(
                    "<a href=/./a><a href=/././a><a href=/x/../a><a href=/x/%2E%2e/a#f>\
                     <a href=HTTP://127.1:{port}/a><a href=//127.0.0.1:{port}/a><a href=//0x7f.1:{port}/a>\
                     <a href=//127.0.0.1.:{port}/a><a href='http:/a'><a href='\\a'><a href=/%61>\
                     <a href=/b%2fc><a href=/b%2Fc><a href=//localhost:{port}/other-host>"
                ))
            }
            "/robots.txt" => Resp::new(404),
            _ => Resp::html("<title>one</title>"),
        });
    let outcome = Crawl::from([server.url("/")]).run(&server, 0);
    // An escaped letter may be another page for all we know.
    assert_eq!(
        outcome.paths_on("127.0.0.1"),
        ["/", "/%61", "/a", "/b%2fc"],
        "{:?}",
        outcome.asked.paths()
    );
    assert_eq!(outcome.asked.count("/a"), 1);
    outcome.skipped("/other-host", "scope");
}

#[test]
fn what_is_no_web_link_is_not_asked_for() {
    let long = "x".repeat(100_000);
    let html = format!(
        "<a href='mailto:x@b.test'><a href='TEL:1'><a href='JavaScript:x()'><a href='data:,x'>\
         <a href='C:\\x'><a href='#'><a href=''><a href='http://'><a href='http://[::1'>\
         <a href='ftp://a.test/'><a href='/{long}'><a href='/nu\0l'><a href='about:blank'>\
         <a href='http:///hosted-by-path'><a href='1.&#9;https://b.test/'><a href='view-source:http://a.test/'>\
         <a name=anchor><a href='blob:http://a.test/1'><a href='http://a.test:99999/'><a href='//'>"
    );
    let server = Server::scripted(site(&[("/", &html)]));
    let outcome = Crawl::from([server.url("/")])
        .set("fetch", "max_body = \"1 MiB\"")
        .run(&server, 0);
    assert_eq!(outcome.paths_on("127.0.0.1"), ["/", "/nu%EF%BF%BDl"]);
    assert_eq!(
        outcome.asked.count("/"),
        1,
        "# and nothing are the page itself"
    );
    outcome.skipped(&format!("/{long}"), "trap_length");
}

#[test]
fn nofollow_is_heeded_unless_the_configuration_says_otherwise() {
    let pages = [
        (
            "/",
            "<a href=/a rel='ugc NoFollow'><a href=/page><a href=/header>",
        ),
        (
            "/page",
            "<meta name=robots content='noindex, nofollow'><a href=/b>",
        ),
    ];
    let script = || {
        site(&pages).on(
            "/header",
            [Resp::html("<a href=/c>").header("X-Robots-Tag", "otherbot: noindex, canter: none")],
        )
    };
    let server = Server::scripted(script());
    let outcome = Crawl::from([server.url("/")]).run(&server, 0);
    assert_eq!(outcome.paths_on("127.0.0.1"), ["/", "/header", "/page"]);
    assert_eq!(outcome.records.len(), 3);

    let server = Server::scripted(script());
    let outcome = Crawl::from([server.url("/")])
        .set("robots", "nofollow = false")
        .set("robots", "noindex = true")
        .run(&server, 0);
    assert_eq!(
        outcome.paths_on("127.0.0.1"),
        ["/", "/a", "/b", "/c", "/header", "/page"]
    );
    assert!(!outcome.has_record("/page") && !outcome.has_record("/header"));
    assert_eq!(outcome.end("/page")["end"], "done");
}

#[test]
fn a_refresh_is_followed_whether_the_page_or_its_header_names_it() {
    let script = site(&[
        ("/a", "<meta http-equiv=refresh content='0;b'>"),
        ("/b", ""),
    ])
    .on(
        "/",
        [Resp::html("<base href=/no/>").header("Refresh", "1; URL=\"a\"")],
    );
    let server = Server::scripted(script);
    let outcome = Crawl::from([server.url("/")]).run(&server, 0);
    assert_eq!(outcome.paths_on("127.0.0.1"), ["/", "/a", "/b"]);
}

#[test]
fn scope_is_a_matter_of_hosts_and_segments_not_of_letters() {
    let server = Server::start(|req| match req.path.as_str() {
        "/robots.txt" => Resp::new(404),
        "/news" => {
            let port = req.port;
            Resp::html(format!(
                "<a href='http://127.0.0.1.evil.example/news'><a href='http://127.0.0.1:{port}@evil.example/news'>\
                 <a href='/newsletter'><a href='/NEWS/1'><a href='HTTP://127.0.0.1:{port}/news/1'>\
                 <a href='http://127.0.0.1:{port}\\@evil.example/news'><a href='/news/../secret'>\
                 <a href='/news?x'><a href='http://u:p@127.0.0.1:{port}/news/user'>"
            ))
        }
        _ => Resp::html("<title>in</title>"),
    });
    let outcome = Crawl::from([server.url("/news")])
        .set("scope", "include = [\"/news\"]")
        .run(&server, 0);
    assert_eq!(
        outcome.paths_on("127.0.0.1"),
        ["/news", "/news/1", "/news/user", "/news?x"]
    );
    for path in ["/newsletter", "/NEWS/1", "/secret"] {
        outcome.skipped(path, "scope");
    }
    let written = format!("{:?}{:?}", outcome.records, outcome.log);
    assert!(!written.contains("u:p@"), "user info is written: {written}");
}
