//! Heads of requests and answers, in order and out of order.

use std::fmt::Write;
use std::thread;

use canter::{ErrorKind, Method, Request, uri};

use crate::server::{Server, answer, client, get, hear, page, path_of, send};

#[test]
fn odd_status_lines_are_read_where_their_meaning_is_plain() {
    for (line, status) in [
        (&b"HTTP/1.1 302 Anderswo f\xfcr heute\r\n"[..], 302),
        (b"HTTP/1.1 302\r\n", 302),
        (b"HTTP/1.1 302 \r\n", 302),
        (b"HTTP/1.0 200 OK\r\n", 200),
        (b"HTTP/1.1 200 OK\n", 200),
        (b"HTTP/1.1 999 Request denied\r\n", 999),
    ] {
        let response = hear([line, b"content-length: 0\r\n\r\n"].concat());
        let response = response.unwrap_or_else(|error| panic!("{line:?}: {error}"));
        assert_eq!(response.status(), status, "{line:?}");
    }
    let lone_newlines = hear("HTTP/1.1 200 OK\ncontent-length: 2\nx: y\n\nok").expect("a page");
    assert_eq!(lone_newlines.body(), b"ok");
}

#[test]
fn what_is_not_http_is_one_clean_error_that_is_not_retried() {
    for bytes in [
        &b"HTTP/2 200\r\n\r\n"[..],
        b"ICY 200 OK\r\n\r\nstream",
        b"HTTP/1.1 099 Low\r\n\r\n",
        b"HTTP/1.1 2000 High\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"<html><body>no head at all</body></html>\r\n\r\n",
        b"\xff\xfe\0\0",
    ] {
        let error = hear(bytes).expect_err("not HTTP");
        let kind = error.kind();
        assert_eq!(kind, ErrorKind::Invalid, "{bytes:?}: {error}");
    }
}

#[test]
fn a_head_that_browsers_read_costs_no_page_however_it_is_cut() {
    let head = b"HTTP/1.1 200 OK\r\nno colon\r\nFolded: a\r\n  b\r\nContent-Length : 4\r\n\
                 : nameless\r\nbad name: x\r\ncontrol: a\0b\x7f\r\nLast: \xfc\r\n\r\npage";
    let server = Server::start(move |mut peer| {
        while let Some(request) = peer.next_head() {
            let cut = path_of(&request)[1..].parse().unwrap_or(head.len());
            peer.send(&head[..cut]);
            // The rest is another segment.
            thread::yield_now();
            peer.send(&head[cut..]);
        }
    });
    let client = client();
    for cut in 1..=head.len() {
        let response = get(&client, &server.url(&format!("/{cut}"))).expect("a page");
        assert_eq!(response.body(), b"page", "{cut}");
        let fields: Vec<(&str, &[u8])> = response
            .headers()
            .iter()
            .map(|(name, value)| (&name[..], &value[..]))
            .collect();
        let expected: [(&str, &[u8]); 3] = [
            ("folded", b"a b"),
            ("content-length", b"4"),
            ("last", b"\xfc"),
        ];
        assert_eq!(fields, expected, "{cut}");
    }
    assert_eq!(
        server.connections(),
        1,
        "the body's end was found each time"
    );
}

#[test]
fn header_bytes_are_kept_as_they_came() {
    let response = hear(
        b"HTTP/1.1 302 Found\r\nLocation: /m\xc3\xbcsli\r\nlocation: /m\xfcsli\t\r\n\
          X: \xff\r\nset-cookie: a=1; Path=/\r\nSet-Cookie: b=2\r\nempty:\r\n\
          content-length: 0\r\n\r\n",
    )
    .expect("an answer");
    let locations: Vec<&[u8]> = response.header_all("Location").collect();
    assert_eq!(locations, [&b"/m\xc3\xbcsli"[..], b"/m\xfcsli"]);
    assert_eq!(response.header_bytes("x"), Some(&b"\xff"[..]));
    assert_eq!(response.header_all("set-cookie").count(), 2);
    assert_eq!(response.header_bytes("empty"), Some(&b""[..]));
}

#[test]
fn a_head_may_be_long_but_not_without_bound() {
    let many = |count: usize| {
        let mut lines = String::new();
        for n in 0..count {
            write!(lines, "x-{n}: {n}\r\n").expect("memory");
        }
        hear(answer(&lines, "ok"))
    };
    let response = many(101).expect("101 fields");
    assert_eq!(response.headers().len(), 102);
    let response = many(2000).expect("2000 fields");
    assert_eq!(response.body(), b"ok", "its length is kept");
    assert!(response.headers().len() <= 128);
    assert_eq!(response.header("x-0").as_deref(), Some("0"));

    let long = |length: usize| hear(answer(&format!("x: {}\r\n", "y".repeat(length)), "ok"));
    let response = long(50_000).expect("50 KB");
    assert_eq!(response.header_bytes("x").map(<[u8]>::len), Some(50_000));
    assert_eq!(response.body(), b"ok");
    let error = long(200_000).expect_err("200 KB");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("65536 bytes"), "{error}");
}

#[test]
fn interim_answers_are_passed_over() {
    let interim = "HTTP/1.1 103 Early Hints\r\nlink: </a.css>\r\n\r\n";
    let last = String::from_utf8(page("final")).expect("text");
    let response = hear(format!(
        "HTTP/1.1 100 Continue\r\n\r\n{interim}{interim}{last}"
    ));
    let response = response.expect("an answer");
    assert_eq!((response.status(), response.body()), (200, &b"final"[..]));
    assert!(response.header("link").is_none());
}

#[test]
fn a_request_says_what_it_should_and_no_more() {
    let server = Server::answering(|_| page("ok"));
    let url = server.url("/a%20b?q=%C3%BC&r#part");
    let request = Request::get(&url).expect("a URL").with_header("X-Own", "7");
    let response = send(&client(), &request).expect("a page");
    assert_eq!(response.url().as_str(), url);
    let head = server.heads().remove(0);
    let lines: Vec<&str> = head.trim_end().split("\r\n").collect();
    assert_eq!(lines[0], "GET /a%20b?q=%C3%BC&r HTTP/1.1");
    let mut fields: Vec<&str> = lines[1..].to_vec();
    fields.sort_unstable();
    let accept = "accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    let coding = if cfg!(feature = "brotli") {
        "gzip, br"
    } else {
        "gzip"
    };
    assert_eq!(
        fields,
        [
            format!("accept-encoding: {coding}"),
            accept.to_owned(),
            format!("host: 127.0.0.1:{}", server.port()),
            format!("user-agent: canter/{}", env!("CARGO_PKG_VERSION")),
            "x-own: 7".to_owned(),
        ]
    );
}

#[test]
fn a_field_of_the_request_takes_the_place_of_the_default() {
    let server = Server::answering(|_| page("ok"));
    let mut request = Request::get(server.url("/")).expect("a URL");
    for name in ["Accept", "User-Agent", "Accept-Encoding", "Host"] {
        request = request.with_header(name, "own");
    }
    send(&client(), &request).expect("a page");
    let head = server.heads().remove(0);
    for name in ["accept", "user-agent", "accept-encoding", "host"] {
        assert_eq!(head.matches(&format!("\r\n{name}: ")).count(), 1, "{head}");
        assert!(head.contains(&format!("{name}: own\r\n")), "{head}");
    }
}

#[test]
fn credentials_in_the_url_are_sent_and_never_told() {
    let server = Server::answering(|path| match path {
        "/bad" => b"ICY 200 OK\r\n\r\n".to_vec(),
        _ => page("ok"),
    });
    let with = |path: &str| server.url(path).replace("http://", "http://me:s%40cret@");
    get(&client(), &with("/")).expect("a page");
    let head = server.heads().remove(0);
    // "me:s@cret"
    assert!(
        head.contains("authorization: Basic bWU6c0BjcmV0\r\n"),
        "{head}"
    );
    assert!(head.starts_with("GET / HTTP/1.1\r\n"), "{head}");
    let error = get(&client(), &with("/bad")).expect_err("not HTTP");
    assert!(!format!("{error} {error:?}").contains("cret"), "{error:?}");
    assert_eq!(
        error.url().map(url::Url::as_str),
        Some(&server.url("/bad")[..])
    );

    let own = Request::get(with("/"))
        .expect("a URL")
        .with_header("Authorization", "Bearer t");
    send(&client(), &own).expect("a page");
    let head = server.heads().pop().expect("a head");
    assert_eq!(head.matches("authorization: ").count(), 1);
    assert!(head.contains("authorization: Bearer t\r\n"), "{head}");
}

#[test]
fn a_header_that_cannot_be_sent_is_an_error_without_its_value() {
    let server = Server::answering(|_| page("ok"));
    for (name, value) in [("X-Key", "secret\r\nX-Other: 1"), ("bad name", "secret")] {
        let request = Request::get(server.url("/"))
            .expect("a URL")
            .with_header(name, value);
        let error = send(&client(), &request).expect_err("invalid");
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(name), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    assert_eq!(server.connections(), 0);
    // Text beyond ASCII goes out as it is.
    let request = Request::get(server.url("/"))
        .expect("a URL")
        .with_header("X-Name", "Zoë");
    send(&client(), &request).expect("a page");
}

#[test]
fn long_lines_are_sent_whole() {
    let server = Server::answering(|path| page(path.len().to_string()));
    let client = client();
    for length in [10, 5000, 30_000, 100] {
        let path = format!("/{}", "x".repeat(length - 1));
        let request = Request::get(server.url(&path))
            .expect("a URL")
            .with_header("X-Long", "y".repeat(length));
        let response = send(&client, &request).expect("a page");
        assert_eq!(response.body(), length.to_string().as_bytes());
        assert!(server.heads().pop().expect("a head").len() > 2 * length);
    }
    assert_eq!(server.connections(), 1);
    let endless = server.url(&format!("/{}", "x".repeat(70_000)));
    assert_eq!(
        get(&client, &endless).expect_err("too long").kind(),
        ErrorKind::Invalid
    );
}

#[test]
fn every_byte_that_a_url_may_have_goes_out_as_it_is() {
    let server = Server::answering(|_| page("ok"));
    let client = client();
    for byte in (0x21..0x7f).filter(|&byte| byte != b'#') {
        let text = server.url(&format!("/p{0}p?q{0}q", char::from(byte)));
        let url = uri::parse(&text).expect("a URL");
        get(&client, url.as_str()).unwrap_or_else(|error| panic!("{url}: {error}"));
        let head = server.heads().pop().expect("a head");
        assert_eq!(path_of(&head), &url[url::Position::BeforePath..]);
    }
}

#[test]
fn bodies_are_sent_with_their_length() {
    let server = Server::start(|mut peer| {
        while let Some(head) = peer.next_head() {
            let length = head
                .split("content-length: ")
                .nth(1)
                .and_then(|rest| rest.split("\r\n").next()?.parse().ok());
            let body = peer.body(length.expect("a length"));
            peer.send(&page(body));
        }
    });
    let client = client();
    for size in [0, 1, 5_000, 300_000] {
        let body = vec![b'z'; size];
        let post = Request::post(server.url("/"), body.clone()).expect("a URL");
        assert_eq!(send(&client, &post).expect("an answer").body(), body);
    }
    let url = server.url("/").parse().expect("a URL");
    let put = Request::new(Method::Put, url);
    assert_eq!(send(&client, &put).expect("an answer").body(), b"");
}
