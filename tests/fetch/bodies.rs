//! Bodies: whole or an error, decoded by their bytes, never longer than told.

use std::io::Write;
use std::sync::Mutex;
use std::sync::mpsc;

use canter::fetch::{ReadBody, Response};
use canter::{BodyLimit, ErrorKind, Request, Result};
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

use crate::server::{Server, answer, builder, client, get, hear, send};

const PAGE: &str = "<!doctype html><title>a page</title><p>and some text that is long enough";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn coded(coding: &str, body: &[u8]) -> Result<Response> {
    hear(answer(&format!("content-encoding: {coding}\r\n"), body))
}

#[test]
fn a_body_that_is_cut_short_is_a_failure_to_be_retried() {
    let packed = gzip(PAGE.as_bytes());
    let half = &packed[..packed.len() / 2];
    let chunk = |bytes: &[u8]| {
        let size = format!("{:x}\r\n", bytes.len());
        [size.as_bytes(), bytes, b"\r\n"].concat()
    };
    let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n";
    let cases: [(&str, Vec<u8>); 5] = [
        (
            "content-length",
            b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nhalf".to_vec(),
        ),
        ("in a chunk", [chunked, &b"\r\n10\r\nhalf"[..]].concat()),
        (
            "between chunks",
            [&chunked[..], b"\r\n", &chunk(b"half")].concat(),
        ),
        (
            "gzip, the transfer whole",
            [
                &chunked[..],
                b"content-encoding: gzip\r\n\r\n",
                &chunk(half),
                b"0\r\n\r\n",
            ]
            .concat(),
        ),
        (
            "gzip until the end of the connection",
            [
                &b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n"[..],
                half,
            ]
            .concat(),
        ),
    ];
    for (what, bytes) in cases {
        let error = hear(bytes).expect_err(what);
        assert_eq!(error.kind(), ErrorKind::Connect, "{what}: {error}");
    }
}

#[test]
fn a_connection_that_is_reset_in_a_body_without_length_is_a_failure() {
    let server = Server::start(|mut peer| {
        // The request is there but is not read: to close now is to reset.
        let _ = peer.stream.peek(&mut [0]);
        peer.send(b"HTTP/1.1 200 OK\r\n\r\nthe first part");
    });
    let error = get(&client(), &server.url("/")).expect_err("reset");
    assert_eq!(error.kind(), ErrorKind::Connect, "{error}");
}

#[test]
fn a_body_without_length_ends_with_its_connection() {
    for version in ["HTTP/1.0", "HTTP/1.1"] {
        let response = hear(format!("{version} 200 OK\r\n\r\n{PAGE}")).expect(version);
        assert_eq!(response.body(), PAGE.as_bytes());
    }
}

#[test]
fn content_codings_are_undone_by_the_bytes_and_not_by_the_header() {
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
    zlib.write_all(PAGE.as_bytes()).expect("memory");
    let zlib = zlib.finish().expect("memory");
    let mut raw = DeflateEncoder::new(Vec::new(), Compression::default());
    raw.write_all(PAGE.as_bytes()).expect("memory");
    let raw = raw.finish().expect("memory");
    let packed = gzip(PAGE.as_bytes());
    for (coding, body) in [
        ("gzip", &packed[..]),
        ("GZIP", &packed),
        ("x-gzip", &packed),
        ("gzip, identity", &packed),
        ("deflate", &zlib),
        ("deflate", &raw),
        ("gzip", PAGE.as_bytes()),
        ("none", PAGE.as_bytes()),
        ("utf-8", PAGE.as_bytes()),
        ("identity", PAGE.as_bytes()),
        ("br", PAGE.as_bytes()),
        ("", PAGE.as_bytes()),
    ] {
        let response = coded(coding, body).expect(coding);
        assert_eq!(response.body(), PAGE.as_bytes(), "{coding}");
        assert!(!response.undecoded(), "{coding}");
        assert_eq!(response.header("content-encoding").as_deref(), Some(coding));
    }
}

#[test]
fn a_coding_that_is_not_understood_leaves_the_body_as_it_is_and_says_so() {
    let packed = b"\x28\xb5\x2f\xfd\x04\x58\x41\x00\x00hello";
    let response = coded("zstd", packed).expect("an answer");
    assert!(response.undecoded());
    assert_eq!(response.body(), packed);
}

#[cfg(feature = "brotli")]
#[test]
fn brotli_is_asked_for_and_undone() {
    let server = Server::saying(answer("content-encoding: br\r\n", b"\x0b\x02\x80hello\x03"));
    let response = get(&client(), &server.url("/")).expect("an answer");
    assert_eq!(response.body(), b"hello");
    assert!(server.heads()[0].contains("accept-encoding: gzip, br\r\n"));
}

#[test]
fn a_small_file_that_unpacks_to_a_huge_one_is_too_large() {
    let bomb = gzip(&vec![0; 64 << 20]);
    assert!(bomb.len() < 100_000);
    let error = coded("gzip", &bomb).expect_err("a bomb");
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    let error = coded("gzip, gzip", &gzip(&bomb)).expect_err("a bomb in a bomb");
    assert_eq!(error.kind(), ErrorKind::TooLarge);
}

#[test]
fn the_limit_counts_decoded_bytes_and_the_body_of_just_that_length_passes() {
    let client = builder().max_body(1000).build().expect("a client");
    for (length, fits) in [(999, true), (1000, true), (1001, false)] {
        let body = vec![b'x'; length];
        let plain = answer("", &body);
        let packed = answer("content-encoding: gzip\r\n", gzip(&body));
        let open = [&b"HTTP/1.1 200 OK\r\n\r\n"[..], &body].concat();
        for bytes in [plain, packed, open] {
            let result = get(&client, &Server::saying(bytes).url("/"));
            match result {
                Ok(response) => assert!(fits && response.body() == body),
                Err(error) => assert!(!fits && error.kind() == ErrorKind::TooLarge),
            }
        }
    }
}

#[test]
fn a_request_can_have_the_start_of_a_longer_body() {
    let body: Vec<u8> = (0..100_000_u32).flat_map(u32::to_be_bytes).collect();
    let limit = BodyLimit {
        bytes: 5000,
        keep_start: true,
    };
    for bytes in [
        answer("", &body),
        answer("content-encoding: gzip\r\n", gzip(&body)),
    ] {
        let server = Server::saying(bytes);
        let request = Request::get(server.url("/robots.txt"))
            .expect("a URL")
            .with_body_limit(limit);
        let response = send(&client(), &request).expect("the start");
        assert!(response.truncated());
        assert_eq!(response.body(), &body[..5000]);
        let request = Request::get(server.url("/"))
            .expect("a URL")
            .with_body_limit(BodyLimit {
                keep_start: false,
                ..limit
            });
        let error = send(&client(), &request).expect_err("over");
        assert_eq!(error.kind(), ErrorKind::TooLarge);
    }
}

/// A server that sends this head and then a body for ever, and tells when its
/// client has gone.
fn endless(head: &'static str, piece: &'static [u8]) -> (Server, mpsc::Receiver<()>) {
    let (ended, end) = mpsc::channel();
    let ended = Mutex::new(ended);
    let server = Server::start(move |mut peer| {
        peer.next_head();
        peer.send(head.as_bytes());
        while peer.send(piece) {}
        let _ = ended.lock().map(|ended| ended.send(()));
    });
    (server, end)
}

#[test]
fn a_body_without_end_is_stopped_at_the_limit_and_its_connection_closed() {
    let client = builder().max_body(300_000).build().expect("a client");
    let plain = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n";
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    for (head, piece) in [(plain, &[b'x'; 1000][..]), (chunked, b"4\r\nmore\r\n")] {
        let (server, end) = endless(head, piece);
        let error = get(&client, &server.url("/")).expect_err("no end");
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        end.recv_timeout(crate::server::LONG)
            .expect("closed, not drained");
        assert_eq!(client.idle_connections(), 0);
    }
}

#[test]
fn a_type_that_says_nothing_is_read_if_its_first_bytes_are_text() {
    let pages = ReadBody::Types(vec!["text/html".to_owned()]);
    let client = builder().read_body(pages).build().expect("a client");
    let page = "<!doctype html>".to_owned() + &"<p>long</p>".repeat(1000);
    for (kind, body, read) in [
        ("application/octet-stream", page.as_str(), true),
        ("Binary/Octet-Stream; x=y", "plain", true),
        ("application/octet-stream", "", false),
        ("application/octet-stream", "%PDF-1.7 ", false),
        ("application/pdf", "<html>", false),
    ] {
        let server = Server::saying(answer(&format!("content-type: {kind}\r\n"), body));
        let response = get(&client, &server.url("/")).expect("its head");
        assert_eq!(!response.body().is_empty(), read, "{kind}: {body:.20}");
        assert!(!read || response.body() == body.as_bytes());
    }
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\n\r\nPK\x03\x04";
    let (server, end) = endless(head, &[0; 1000]);
    let response = get(&client, &server.url("/")).expect("its head");
    assert!(response.body_skipped());
    end.recv_timeout(crate::server::LONG)
        .expect("closed, not drained");
}

#[test]
fn a_type_that_nobody_wants_is_dropped_before_its_body() {
    let client = builder()
        .read_body(ReadBody::pages())
        .build()
        .expect("a client");
    for head in [
        "HTTP/1.1 200 OK\r\ncontent-type: audio/mpeg\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-type: multipart/x-mixed-replace; boundary=x\r\n\r\n",
    ] {
        let (server, end) = endless(head, &[0; 1000]);
        let response = get(&client, &server.url("/")).expect("its head");
        assert!(response.body_skipped());
        assert!(response.body().is_empty());
        assert!(response.header("content-type").is_some());
        end.recv_timeout(crate::server::LONG)
            .expect("closed, not drained");
    }
    // Whoever limits a body of its own wants it.
    let server = Server::saying(answer("content-type: audio/mpeg\r\n", "User-agent: *"));
    let request = Request::get(server.url("/robots.txt")).expect("a URL");
    let limit = BodyLimit {
        bytes: 500,
        keep_start: true,
    };
    let robots = send(&client, &request.with_body_limit(limit)).expect("a body");
    assert_eq!(robots.body(), b"User-agent: *");
}
