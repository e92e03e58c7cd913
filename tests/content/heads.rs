//! Odd status lines and header fields (RFC 9112 sections 2.2 and 4): what can
//! be understood is, and what cannot is one clean error, asked for once.

use crate::common::{Resp, Script, Server, page};
use crate::crawl::Crawl;

const BODY: &str = "<title>read</title>";

/// A head written out, with the body after it.
fn head(lines: &[u8]) -> Resp {
    let length = format!(
        "content-type: text/html\r\ncontent-length: {}\r\n\r\n",
        BODY.len()
    );
    Resp::raw([lines, length.as_bytes(), BODY.as_bytes()].concat())
}

#[test]
fn odd_heads_are_read_or_are_one_clean_error() {
    let many: String = (0..101).map(|n| format!("x-{n}: {n}\r\n")).collect();
    let too_many: String = (0..400).map(|n| format!("x-{n}: {n}\r\n")).collect();
    let long = format!("HTTP/1.1 200 OK\r\nx: {}\r\n", "y".repeat(200 * 1024));
    let cases: Vec<(&str, Resp, Option<&str>)> = vec![
        (
            "/latin1-reason",
            head(b"HTTP/1.1 200 F\xFCr Sie\r\n"),
            Some("read"),
        ),
        ("/no-reason", head(b"HTTP/1.1 200\r\n"), Some("read")),
        ("/blank-reason", head(b"HTTP/1.1 200 \r\n"), Some("read")),
        (
            "/line-feeds",
            Resp::raw(format!(
                "HTTP/1.1 200 OK\ncontent-type: text/html\n\n{BODY}"
            )),
            Some("read"),
        ),
        (
            "/obs-text",
            head(b"HTTP/1.1 200 OK\r\nx: \xFF\xFE\r\n"),
            Some("read"),
        ),
        ("/http-1-0", head(b"HTTP/1.0 200 OK\r\n"), Some("read")),
        (
            "/101-fields",
            head(format!("HTTP/1.1 200 OK\r\n{many}").as_bytes()),
            Some("read"),
        ),
        (
            "/interim",
            head(b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\n"),
            Some("read"),
        ),
        (
            "/two-lengths",
            head(b"HTTP/1.1 200 OK\r\ncontent-length: 19\r\n"),
            Some("read"),
        ),
        (
            "/400-fields",
            head(format!("HTTP/1.1 200 OK\r\n{too_many}").as_bytes()),
            Some("read"),
        ),
        (
            "/broken-lines",
            head(b"HTTP/1.1 200 OK\r\n x\r\nno colon\r\na : b\r\n c\r\n: d\r\ne: \x01\r\n"),
            Some("read"),
        ),
        ("/200-kilobytes", head(long.as_bytes()), None),
        ("/http-2", head(b"HTTP/2 200\r\n"), None),
        (
            "/chunks-ended-by-line-feeds",
            Resp::raw("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\nx\n0\n\n"),
            None,
        ),
        ("/radio", head(b"ICY 200 OK\r\n"), None),
        ("/no-status", head(b"HTTP/1.1 OK\r\n"), None),
        (
            "/just-a-page",
            Resp::raw("<html><title>HTTP/0.9</title>"),
            None,
        ),
        (
            "/noise",
            Resp::raw([0, 1, 2, 3, 0xFF, b'\r', b'\n', b'\r', b'\n']),
            None,
        ),
    ];
    let paths: Vec<&str> = cases.iter().map(|(path, ..)| *path).collect();
    let mut script = Script::new()
        .on("/", [Resp::html(page("all", &paths))])
        .on("/robots.txt", [Resp::new(404)])
        .on("/999", [Resp::new(999)])
        .on("/600", [Resp::new(600)])
        .on(
            "/302",
            [head(
                b"HTTP/1.1 302 Anderswo f\xFCr heute\r\nlocation: /target\r\n",
            )],
        )
        .on("/target", [Resp::html("<title>target</title>")])
        .on("/304", [Resp::new(304)]);
    let mut expected = Vec::new();
    for (path, answer, title) in cases {
        script = script.on(path, [answer]);
        expected.push((path, title));
    }
    let server = Server::scripted(script);
    let seeds = ["/", "/999", "/600", "/302", "/304"].map(|path| server.url(path));
    let outcome = Crawl::from(seeds).run(&server, 0);
    for (path, title) in expected {
        if title.is_some() {
            outcome.titled(path, title);
        } else {
            outcome.failed(path, "invalid", 1, "");
            assert_eq!(outcome.asked.count(path), 1, "{path}: asked for again");
        }
    }
    outcome.failed("/999", "rejected", 1, "status 999");
    outcome.failed("/600", "rejected", 1, "status 600");
    outcome.failed("/304", "rejected", 1, "status 304");
    outcome.redirected("/302", &server.url("/target"));
    assert_eq!(
        outcome.record("/target")["requested"],
        server.url("/302").as_str()
    );
}
