//! Proxies: what is forwarded, what is tunnelled, what is kept from them.

use canter::{ErrorKind, Request};

use crate::connections::get_at_last;
use crate::server::{Server, builder, get, page, send};

#[test]
fn plain_requests_are_forwarded_with_their_whole_url_over_one_connection() {
    let proxy = Server::answering(|path| page(path));
    let with_password = proxy.url("").replace("http://", "http://me:s%40cret@");
    let client = builder().proxy(with_password).build().expect("a client");
    for url in [
        "http://a.test/x?y",
        "http://b.test:8080/",
        "http://a.test/z",
    ] {
        let request = Request::get(url).expect("a URL").with_header("X-Own", "1");
        assert_eq!(
            send(&client, &request).expect("a page").body(),
            url.as_bytes()
        );
    }
    assert_eq!(proxy.connections(), 1);
    let head = proxy.heads().remove(1);
    assert!(
        head.starts_with("GET http://b.test:8080/ HTTP/1.1\r\n"),
        "{head}"
    );
    assert!(head.contains("host: b.test:8080\r\n"), "{head}");
    assert!(
        head.contains("proxy-authorization: Basic bWU6c0BjcmV0\r\n"),
        "{head}"
    );
    assert!(head.contains("x-own: 1\r\n"), "{head}");
    assert!(head.ends_with("\r\n\r\n"), "{head}");
}

#[test]
fn the_body_of_a_forwarded_request_follows_its_head() {
    let proxy = Server::start(|mut peer| {
        while peer.next_head().is_some() {
            let body = peer.body(6000);
            peer.send(&page(body));
        }
    });
    let client = builder().proxy(proxy.url("")).build().expect("a client");
    let body = vec![b'b'; 6000];
    let long = format!("http://a.test/{}", "x".repeat(4000));
    let request = Request::post(long, body.clone()).expect("a URL");
    assert_eq!(send(&client, &request).expect("a page").body(), body);
}

#[test]
fn secure_requests_are_tunnelled_and_a_refused_tunnel_is_a_failure() {
    let proxy = Server::saying("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n");
    let with_password = proxy.url("").replace("http://", "http://me:s%40cret@");
    let client = builder().proxy(with_password).build().expect("a client");
    let error = get(&client, "https://a.test/secret-page").expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Connect, "{error}");
    assert!(!error.to_string().contains("cret@"), "{error}");
    let head = proxy.heads().remove(0);
    assert!(
        head.starts_with("CONNECT a.test:443 HTTP/1.1\r\n"),
        "{head}"
    );
    assert!(
        head.contains("Proxy-Authorization: Basic bWU6c0BjcmV0\r\n"),
        "{head}"
    );
    assert!(!head.contains("secret-page"), "{head}");
}

#[test]
fn a_proxy_on_loopback_is_reached_but_is_no_way_to_inner_addresses() {
    let proxy = Server::answering(|path| page(path));
    let client = canter::fetch::HttpFetch::builder()
        .proxy(proxy.url(""))
        .build()
        .expect("a client");
    get(&client, "http://a.test/").expect("through the proxy");
    for url in ["http://127.0.0.1/", "http://[::1]/", &proxy.url("/")] {
        let error = get(&client, url).expect_err(url);
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
    assert_eq!(proxy.heads().len(), 1);
}

#[test]
fn a_proxy_that_closed_the_kept_connection_costs_no_failure() {
    let proxy = Server::start(|mut peer| {
        peer.next_head();
        peer.send(&page("once"));
        peer.next_head();
    });
    let client = builder().proxy(proxy.url("")).build().expect("a client");
    for url in ["http://a.test/", "http://b.test/", "http://c.test/"] {
        get_at_last(&client, url);
    }
    assert_eq!(proxy.connections(), 3);
    assert_eq!(proxy.heads().len(), 4, "once only");
}

#[cfg(not(feature = "socks"))]
#[test]
fn a_socks_proxy_without_the_feature_is_an_error_that_names_it() {
    let error = builder().proxy("socks5://127.0.0.1:1080").build();
    let error = error.expect_err("no feature");
    assert!(error.to_string().contains("feature `socks`"), "{error}");
}

#[cfg(feature = "socks")]
#[test]
fn a_socks_proxy_is_given_the_name_and_its_tunnel_is_kept() {
    let proxy = Server::start(|mut peer| {
        // RFC 1928: one method offered, none needed; then the target.
        let offered = peer.body(3);
        assert_eq!(offered[0], 5);
        peer.send(&[5, 0]);
        let asked = peer.body(5 + 6 + 2);
        assert_eq!(asked, b"\x05\x01\x00\x03\x06a.test\x00\x50");
        peer.send(&[5, 0, 0, 1, 127, 0, 0, 1, 0, 80]);
        while peer.next_head().is_some() {
            peer.send(&page("through"));
        }
    });
    let url = proxy.url("").replace("http://", "socks5h://");
    let client = builder().proxy(url).build().expect("a client");
    for _ in 0..3 {
        let response = get(&client, "http://a.test/").expect("a page");
        assert_eq!(response.body(), b"through");
    }
    assert_eq!(proxy.connections(), 1);
    assert!(proxy.heads()[0].starts_with("GET / HTTP/1.1\r\n"));
}
