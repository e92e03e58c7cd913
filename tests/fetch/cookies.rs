//! Cookies on the wire: what comes with an answer and what goes with a request.

use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use canter::{Method, Request};

use crate::server::{LOOPBACK, Server, answer, builder, client, get, send};

/// The values of the `Cookie` lines in a request's head, as bytes.
fn cookie_lines(head: &str) -> Vec<Vec<u8>> {
    head.lines()
        .filter_map(|line| line.strip_prefix("cookie: "))
        .map(|value| value.chars().map(|byte| byte as u8).collect())
        .collect()
}

#[test]
fn cookies_are_kept_for_their_origin() {
    let lines = "set-cookie: id=7; Path=/; Domain=test\r\n";
    let server = Server::answering(move |_| answer(lines, ""));
    let other_port = Server::answering(|_| answer("", ""));
    let client = builder()
        .lookup(|_| Ok(vec![LOOPBACK]))
        .build()
        .expect("a client");
    for host in ["a.test", "a.test", "b.test", "x.a.test"] {
        get(&client, &format!("http://{host}:{}/", server.port())).expect("a page");
    }
    get(&client, &format!("http://a.test:{}/", other_port.port())).expect("a page");
    let sent: Vec<bool> = server
        .heads()
        .iter()
        .chain(&other_port.heads())
        .map(|head| head.contains("cookie: id=7"))
        .collect();
    assert_eq!(sent, [false, true, false, false, false]);
}

#[test]
fn every_line_of_every_answer_counts_and_goes_back_as_the_bytes_that_came() {
    let round = AtomicUsize::new(0);
    let server = Server::start(move |mut peer| {
        while peer.next_head().is_some() {
            let bytes: &[u8] = match round.fetch_add(1, Ordering::SeqCst) {
                0 => {
                    b"HTTP/1.1 302 Found\r\nlocation: /\r\nset-cookie: a={\"a\":1, 2}\r\n\
                      Set-Cookie: l=\xfc; Path=/\r\ncontent-length: 0\r\n\r\n"
                }
                1 => b"HTTP/1.1 503 No\r\nset-cookie: u=\xc3\xbc\r\ncontent-length: 2\r\n\r\nno",
                // The head is whole and the body is not.
                2 => b"HTTP/1.1 200 OK\r\nset-cookie: cut\r\ncontent-length: 9\r\n\r\nx",
                _ => b"HTTP/1.1 200 OK\r\nset-cookie: a=0; Secure\r\ncontent-length: 0\r\n\r\n",
            };
            peer.send(bytes);
            if bytes.ends_with(b"\nx") {
                return;
            }
        }
    });
    let client = client();
    let ask = || get(&client, &server.url("/"));
    assert!(ask().expect("a redirect").cookies_changed());
    assert!(ask().expect("an error").cookies_changed());
    ask().expect_err("half a body");
    let last = ask().expect("a page");
    assert!(!last.cookies_changed(), "it was refused");

    let heads = server.heads();
    let expected: [&[u8]; 3] = [
        b"a={\"a\":1, 2}; l=\xfc",
        b"a={\"a\":1, 2}; l=\xfc; u=\xc3\xbc",
        b"a={\"a\":1, 2}; l=\xfc; u=\xc3\xbc; cut",
    ];
    assert!(cookie_lines(&heads[0]).is_empty());
    for (head, expected) in heads[1..].iter().zip(expected) {
        assert_eq!(cookie_lines(head), [expected]);
    }
}

#[test]
fn many_long_cookies_go_out_in_one_line_with_those_of_the_request() {
    let mut lines = String::new();
    for n in 0..12 {
        let value = "x".repeat(4000);
        write!(lines, "set-cookie: n{n}={value}\r\n").expect("memory");
    }
    let server = Server::answering(move |_| answer(&lines, "ok"));
    let client = client();
    get(&client, &server.url("/")).expect("a page");
    let request = Request::new(Method::Get, server.url("/").parse().expect("url"))
        .with_header("Cookie", "own=1");
    send(&client, &request).expect("a page");
    let sent = cookie_lines(&server.heads()[1]);
    assert_eq!(sent.len(), 1, "one field");
    assert!(sent[0].starts_with(b"own=1; n0=x") && sent[0].len() > 48_000);
}
