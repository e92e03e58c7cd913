//! Connections: kept, found dead and replaced, bounded.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use canter::fetch::{HttpFetch, Response};
use canter::{ErrorKind, Method, Request};

use crate::server::{LOOPBACK, Server, answer, builder, client, eventually, get, page, send};

#[test]
fn one_connection_serves_request_after_request() {
    let server = Server::answering(|path| page(format!("this is {path}")));
    let client = client();
    for n in 0..20 {
        let response = get(&client, &server.url(&format!("/{n}"))).expect("a page");
        assert_eq!(response.body(), format!("this is /{n}").as_bytes());
    }
    assert_eq!(server.connections(), 1);
    assert_eq!(client.idle_connections(), 1);
}

#[test]
fn answers_reach_the_thread_that_asked() {
    let server = Server::answering(|path| page(path.repeat(100)));
    let client = client();
    thread::scope(|scope| {
        for worker in 0..8 {
            let (client, server) = (&client, &server);
            scope.spawn(move || {
                for n in 0..50 {
                    let path = format!("/{worker}/{n}");
                    let response = get(client, &server.url(&path)).expect("a page");
                    assert_eq!(response.body(), path.repeat(100).as_bytes());
                }
            });
        }
    });
    assert!(server.connections() <= 8, "{}", server.connections());
}

#[test]
fn a_connection_that_the_server_closed_while_it_idled_costs_no_failure() {
    // Each connection serves one request and ends without a word.
    let server = Server::start(|mut peer| {
        peer.next_head();
        peer.send(&page("once"));
    });
    let client = client();
    for _ in 0..10 {
        let page = get_at_last(&client, &server.url("/"));
        assert_eq!(page.body(), b"once");
    }
    assert_eq!(server.connections(), 10);
}

/// Asks for a page as a crawl does, which asks again when a kept connection
/// broke: its end may be on its way when it is used.
pub(crate) fn get_at_last(client: &HttpFetch, url: &str) -> Response {
    for _ in 0..8 {
        match get(client, url) {
            Ok(page) => return page,
            Err(error) => assert!(error.message().contains("kept connection"), "{error}"),
        }
    }
    panic!("{url}: connections are kept that break");
}

/// A server whose connections take a second request and close on it, as those
/// do whose idle time ends just when we send.
fn closing_on_the_second_request() -> Server {
    Server::start(|mut peer| {
        peer.next_head();
        peer.send(&page("first"));
        peer.next_head();
    })
}

#[test]
fn one_call_is_one_request_also_when_the_connection_dies_under_it() {
    let server = closing_on_the_second_request();
    let client = client();
    get(&client, &server.url("/a")).expect("the first");
    let error = get(&client, &server.url("/b")).expect_err("no answer");
    assert_eq!(error.kind(), ErrorKind::Connect);
    // From then on the server's connections are not used twice.
    for _ in 0..5 {
        get(&client, &server.url("/c")).expect("a page");
    }
    let paths: Vec<String> = server
        .heads()
        .iter()
        .map(|head| head[..6].to_owned())
        .collect();
    let asked = ["GET /a", "GET /b"].into_iter().chain(["GET /c"; 5]);
    assert_eq!(paths, asked.collect::<Vec<_>>());
    assert_eq!(server.connections(), 6);
}

#[test]
fn a_post_is_never_put_on_a_connection_that_may_be_dying() {
    let server = Server::start(|mut peer| {
        while let Some(head) = peer.next_head() {
            if head.starts_with("POST") {
                assert_eq!(peer.body(5), b"hello");
            }
            peer.send(&page("done"));
        }
    });
    let client = client();
    get(&client, &server.url("/")).expect("a page");
    let post = Request::post(server.url("/form"), "hello").expect("a URL");
    send(&client, &post).expect("a page");
    assert_eq!(server.connections(), 2);
    let heads = server.heads();
    assert!(heads[1].contains("content-length: 5\r\n"), "{}", heads[1]);
}

#[test]
fn a_server_that_says_nothing_is_asked_once() {
    let server = Server::start(|mut peer| {
        peer.next_head();
    });
    let error = get(&client(), &server.url("/")).expect_err("no answer");
    assert_eq!(error.kind(), ErrorKind::Connect);
    assert_eq!(server.connections(), 1);
}

#[test]
fn an_answer_that_broke_off_on_a_kept_connection_is_not_repeated() {
    let server = Server::start(|mut peer| {
        peer.next_head();
        peer.send(&page("first"));
        peer.next_head();
        peer.send(b"HTTP/1.1 200 O");
    });
    let client = client();
    get(&client, &server.url("/a")).expect("the first");
    let error = get(&client, &server.url("/b")).expect_err("broken off");
    assert_eq!(error.kind(), ErrorKind::Connect);
    assert_eq!(server.connections(), 1);
}

#[test]
fn bytes_that_nobody_asked_for_are_never_an_answer() {
    let (sent, wait) = mpsc::channel();
    let sent = std::sync::Mutex::new(sent);
    let server = Server::start(move |mut peer| {
        peer.next_head();
        peer.send(&page("asked"));
        if peer.number == 0 {
            peer.send(&page("a second answer to the first request"));
            let _ = sent.lock().map(|sent| sent.send(()));
        }
        peer.sees_the_end();
    });
    let client = client();
    get(&client, &server.url("/a")).expect("the first");
    wait.recv().expect("sent");
    let second = get(&client, &server.url("/b")).expect("the second");
    assert_eq!(second.body(), b"asked");
    assert_eq!(server.connections(), 2);
}

#[test]
fn a_connection_is_kept_after_answers_without_a_body_and_closed_when_told_to() {
    let server = Server::answering(|path| match path {
        "/204" => b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
        "/304" => b"HTTP/1.1 304 Not Modified\r\ncontent-length: 999\r\n\r\n".to_vec(),
        "/head" => b"HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n".to_vec(),
        "/empty" => answer("", ""),
        "/chunked" => {
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nwiki\r\n0\r\n\r\n".to_vec()
        }
        "/close" => answer("connection: close\r\n", "bye"),
        _ => page("page"),
    });
    let client = client();
    for (path, status) in [
        ("/204", 204),
        ("/304", 304),
        ("/empty", 200),
        ("/chunked", 200),
    ] {
        let response = get(&client, &server.url(path)).expect(path);
        assert_eq!(response.status(), status);
        assert_eq!(response.body().is_empty(), path != "/chunked");
        assert!(!response.body_skipped());
    }
    let url = server.url("/head").parse().expect("a URL");
    let head = send(&client, &Request::new(Method::Head, url)).expect("a head");
    assert!(head.body().is_empty());
    assert_eq!(head.header("content-length").as_deref(), Some("5000"));
    assert_eq!(
        get(&client, &server.url("/close")).expect("bye").body(),
        b"bye"
    );
    assert_eq!(server.connections(), 1);
    assert_eq!(client.idle_connections(), 0);
    get(&client, &server.url("/")).expect("a page");
    assert_eq!(server.connections(), 2);
}

#[test]
fn idle_connections_stay_within_their_bound_over_many_hosts() {
    let open = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&open);
    let server = Server::start(move |mut peer| {
        counter.fetch_add(1, Ordering::SeqCst);
        while peer.next_head().is_some() {
            peer.send(&page("page"));
        }
        counter.fetch_sub(1, Ordering::SeqCst);
    });
    let client = builder()
        .connections(8)
        .lookup(|_| Ok(vec![LOOPBACK]))
        .build()
        .expect("a client");
    for round in 0..2 {
        for n in 0..100 {
            let url = format!("http://h{n}.test:{}/{round}", server.port());
            get(&client, &url).expect("a page");
            assert!(client.idle_connections() <= 8);
        }
    }
    eventually("the rest is closed", || open.load(Ordering::SeqCst) <= 8);
    // Those that were used last are the ones that are kept.
    let before = server.connections();
    get(&client, &format!("http://h99.test:{}/", server.port())).expect("a page");
    assert_eq!(server.connections(), before);
}
