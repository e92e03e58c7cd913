//! Deadlines: one for everything, and it holds.

use std::thread;
use std::time::{Duration, Instant};

use canter::fetch::Fetch;
use canter::{Error, ErrorKind, Request};

use crate::server::{Peer, Server, builder, client, page};

/// What the requests here are given.
const SHORT: Duration = Duration::from_millis(300);
/// What they may take on a machine that is busy with other things.
const BOUND: Duration = Duration::from_secs(5);

/// Fetches with the short deadline and checks that it holds.
fn times_out(fetch: &impl Fetch, url: &str) -> Error {
    let request = Request::get(url).expect("a URL");
    let begin = Instant::now();
    let error = fetch.fetch(&request, begin + SHORT).expect_err("too slow");
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    let took = begin.elapsed();
    assert!(
        took >= SHORT.mul_f64(0.9) && took < BOUND,
        "{took:?}: {error}"
    );
    error
}

/// Sends a byte at a time, for as long as somebody listens.
fn drip(peer: &mut Peer, bytes: &[u8]) {
    for byte in bytes.iter().cycle() {
        if !peer.send(&[*byte]) {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_drip_fed_answer_does_not_outlive_the_deadline_in_its_head_or_in_its_body() {
    let server = Server::start(|mut peer| {
        let head = peer.next_head().unwrap_or_default();
        match head.split(' ').nth(1) {
            Some("/status") => drip(&mut peer, b"HTTP/1.1 200 OK OK OK OK OK"),
            Some("/head") => {
                peer.send(b"HTTP/1.1 200 OK\r\n");
                drip(&mut peer, b"x-a: b\r\n");
            }
            Some("/length") => {
                peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n");
                drip(&mut peer, b"x");
            }
            _ => {
                peer.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
                drip(&mut peer, b"1\r\nx\r\n");
            }
        }
    });
    let client = client();
    thread::scope(|scope| {
        for path in ["/status", "/head", "/length", "/chunked"] {
            let (client, url) = (&client, server.url(path));
            scope.spawn(move || {
                let error = times_out(client, &url);
                assert!(error.to_string().contains("reading the answer"), "{error}");
            });
        }
    });
    assert_eq!(client.idle_connections(), 0);
}

#[test]
fn a_server_that_never_answers_is_left_at_the_deadline() {
    let server = Server::start(|mut peer| {
        peer.next_head();
        peer.sees_the_end();
    });
    let error = times_out(&client(), &server.url("/"));
    assert!(
        error.to_string().contains("waiting for the answer"),
        "{error}"
    );
}

#[test]
fn a_kept_connection_that_falls_silent_is_left_at_the_deadline_too() {
    let server = Server::start(|mut peer| {
        peer.next_head();
        peer.send(&page("once"));
        peer.next_head();
        peer.sees_the_end();
    });
    let client = client();
    crate::server::get(&client, &server.url("/")).expect("a page");
    times_out(&client, &server.url("/"));
    assert_eq!(server.connections(), 1);
}

#[test]
fn the_timeout_of_the_client_counts_if_it_is_earlier() {
    let server = Server::start(|mut peer| {
        peer.sees_the_end();
    });
    let client = builder().timeout(SHORT).build().expect("a client");
    let request = Request::get(server.url("/")).expect("a URL");
    let begin = Instant::now();
    let error = client
        .fetch(&request, begin + Duration::from_secs(60))
        .expect_err("too slow");
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(begin.elapsed() < BOUND);
}

#[test]
fn a_deadline_that_is_over_is_a_timeout_without_a_request() {
    let server = Server::answering(|_| page("ok"));
    let request = Request::get(server.url("/")).expect("a URL");
    let error = client()
        .fetch(&request, Instant::now())
        .expect_err("too late");
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(server.heads().is_empty());
}

#[test]
fn a_lookup_that_hangs_does_not_outlive_the_deadline() {
    let client = builder()
        .lookup(|_| {
            thread::sleep(Duration::from_secs(3600));
            Ok(Vec::new())
        })
        .build()
        .expect("a client");
    let error = times_out(&client, "http://hangs.test/");
    assert!(error.to_string().contains("looking up"), "{error}");
}

#[test]
fn a_tls_handshake_that_is_drip_fed_or_silent_does_not_outlive_the_deadline() {
    let silent = Server::start(|mut peer| {
        peer.sees_the_end();
    });
    // A TLS record that says it is 16 KiB long.
    let dripping = Server::start(|mut peer| {
        peer.send(b"\x16\x03\x03\x40\x00\x02");
        drip(&mut peer, b"\0");
    });
    for server in [silent, dripping] {
        let url = server.url("/").replace("http:", "https:");
        let error = times_out(&client(), &url);
        assert!(error.to_string().contains("connecting"), "{error}");
    }
}

#[test]
fn a_proxy_that_drip_feeds_its_answer_does_not_outlive_the_deadline() {
    let proxy = Server::start(|mut peer| {
        peer.next_head();
        peer.send(b"HTTP/1.1 200 OK\r\n");
        drip(&mut peer, b"x-a: b\r\n");
    });
    let client = builder().proxy(proxy.url("")).build().expect("a client");
    times_out(&client, "https://far.test/");
    times_out(&client, "http://far.test/");
}
