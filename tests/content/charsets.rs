//! Pages in other charsets than they say, or that say none (WHATWG HTML
//! section 13.2.3): titles and links are those that a browser reads.

use crate::common::{Resp, Script, Server, page};
use crate::crawl::Crawl;

/// "Привет" in windows-1251.
const HELLO: &[u8] = b"\xCF\xF0\xE8\xE2\xE5\xF2";

/// A page without a charset in its header.
fn bare(parts: &[&[u8]]) -> Resp {
    Resp::ok("text/html", parts.concat())
}

fn declared(content_type: &str, parts: &[&[u8]]) -> Resp {
    Resp::ok(content_type, parts.concat())
}

fn utf_16le(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn titles_and_links_are_read_in_the_charset_that_a_browser_reads_them_in() {
    let cases: Vec<(&str, Resp, &str)> = vec![
        (
            "/meta",
            bare(&[
                b"<meta charset=windows-1251><title>",
                HELLO,
                b"</title><a href='/q1?x=",
                HELLO,
                b"'><a href='/",
                b"\xEF",
                b"?y=\xFF#f'>",
            ]),
            "Привет",
        ),
        (
            "/header-over-meta",
            declared(
                "text/html; charset=utf-8",
                &["<meta charset=latin1><title>naïve €</title><a href='/q2?é'>".as_bytes()],
            ),
            "naïve €",
        ),
        (
            "/mark-over-header",
            declared(
                "text/html; charset=iso-8859-1",
                &[b"\xEF\xBB\xBF<title>", "naïve".as_bytes(), b"</title>"],
            ),
            "naïve",
        ),
        (
            "/latin1-is-1252",
            declared(
                "text/html; charset=ISO-8859-1",
                &[b"<title>\x93quoted\x94</title>"],
            ),
            "“quoted”",
        ),
        (
            "/unknown-label",
            declared(
                "text/html; charset=x-nobody-knows",
                &[b"<meta charset=\"windows-1251\"><title>", HELLO],
            ),
            "Привет",
        ),
        (
            "/http-equiv",
            bare(&[
                b"<meta http-equiv=Content-Type content='text/html; charset=koi8-r'><title>\xF0\xD2\xC9",
            ]),
            "При",
        ),
        (
            "/only-in-text",
            bare(&[b"<title>caf\xE9</title><p>charset=utf-8</p>"]),
            "café",
        ),
        (
            "/claims-utf-16",
            bare(&["<meta charset=utf-16><title>naïve</title>".as_bytes()]),
            "naïve",
        ),
        (
            "/utf-16-with-mark",
            declared(
                "text/html",
                &[
                    b"\xFF\xFE",
                    &utf_16le("<title>naïve ツ</title><a href='/q3?ツ'>"),
                ],
            ),
            "naïve ツ",
        ),
        (
            "/utf-16-by-header",
            declared(
                "text/html; charset=utf-16le",
                &[&utf_16le("<title>ツ</title><a href=/q4>")],
            ),
            "ツ",
        ),
        (
            "/shift-jis",
            declared(
                "text/html;charset=Shift_JIS",
                &[b"<title>\x93\xFA\x96{</title><a href='/\x93\xFA?\x93\xFA'>"],
            ),
            "日本",
        ),
        (
            "/meta-too-late",
            bare(&[
                b"<!--",
                &[b'x'; 1100],
                b"--><meta charset=windows-1251><title>\xE9",
            ]),
            "é",
        ),
        (
            "/quoted-label",
            declared(
                "Text/HTML ; Charset=\"UTF-8\"",
                &["<title>é</title>".as_bytes()],
            ),
            "é",
        ),
        (
            "/in-a-comment",
            bare(&[
                b"<!-- <meta charset=utf-8> --><meta charset=windows-1251><title>",
                HELLO,
            ]),
            "Привет",
        ),
        (
            "/not-what-it-says",
            declared(
                "text/html; charset=utf-8",
                &[b"<title>caf\xE9 \xFF</title><a href=/q5>"],
            ),
            "caf\u{fffd} \u{fffd}",
        ),
    ];
    let paths: Vec<&str> = cases.iter().map(|(path, ..)| *path).collect();
    let mut script = Script::new()
        .on("/", [Resp::html(page("all", &paths))])
        .otherwise(Resp::html("<title>linked</title>"));
    let titles: Vec<(&str, &str)> = cases
        .iter()
        .map(|(path, _, title)| (*path, *title))
        .collect();
    for (path, answer, _) in cases {
        script = script.on(path, [answer]);
    }
    let server = Server::scripted(script.on("/robots.txt", [Resp::new(404)]));
    let outcome = Crawl::from([server.url("/")]).run(&server, 0);
    for (path, title) in titles {
        outcome.titled(path, Some(title));
    }
    // Queries are in the page's charset, or UTF-8 for UTF-16; paths in UTF-8.
    for link in [
        "/q1?x=%CF%F0%E8%E2%E5%F2",
        "/%D0%BF?y=%FF",
        "/q2?%C3%A9",
        "/q3?%E3%83%84",
        "/q4",
        "/%E6%97%A5?%93%FA",
        "/q5",
    ] {
        outcome.titled(link, Some("linked"));
    }
}
