//! Which addresses a client connects to.

use canter::ErrorKind;
use canter::fetch::HttpFetch;

use crate::server::{LOOPBACK, Server, get, page};

#[test]
fn an_address_that_is_not_public_gets_no_connection() {
    let server = Server::answering(|_| page("inner"));
    let client = HttpFetch::builder()
        .lookup(|_| Ok(vec![LOOPBACK]))
        .build()
        .expect("a client");
    let port = server.port();
    for url in [
        server.url("/"),
        format!("http://0x7f.1:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        // A public name that has been pointed inside.
        format!("http://rebound.test:{port}/"),
        format!("https://rebound.test:{port}/"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://[fd00::1]/".to_owned(),
    ] {
        let error = get(&client, &url).expect_err(&url);
        assert_eq!(error.kind(), ErrorKind::Invalid, "{url}: {error}");
        assert!(error.to_string().contains("refused"), "{error}");
    }
    assert_eq!(server.connections(), 0);
}

#[test]
fn the_system_resolver_is_asked_and_its_answer_is_checked() {
    let server = Server::answering(|_| page("inner"));
    let url = format!("http://localhost:{}/", server.port());
    let client = HttpFetch::builder().build().expect("a client");
    assert_eq!(
        get(&client, &url).expect_err("loopback").kind(),
        ErrorKind::Invalid
    );
    let client = HttpFetch::builder()
        .allow_host("localhost")
        .build()
        .expect("a client");
    assert_eq!(get(&client, &url).expect("named").body(), b"inner");
}

#[test]
fn a_host_that_is_named_is_reached_and_no_other() {
    let server = Server::answering(|_| page("inner"));
    let client = HttpFetch::builder()
        .allow_host("127.0.0.1")
        .allow_host("*.lan.test")
        .lookup(|_| Ok(vec![LOOPBACK]))
        .build()
        .expect("a client");
    get(&client, &server.url("/")).expect("named");
    let port = server.port();
    get(&client, &format!("http://dev.lan.test:{port}/")).expect("named");
    let other = get(&client, &format!("http://other.test:{port}/"));
    assert_eq!(other.expect_err("not named").kind(), ErrorKind::Invalid);
}

#[test]
fn a_name_that_does_not_exist_and_a_port_that_nobody_listens_on_are_retried() {
    let client = HttpFetch::builder()
        .allow_private(true)
        .lookup(|host| match host {
            "gone.test" => Err(std::io::Error::other("no such host")),
            "empty.test" => Ok(Vec::new()),
            _ => Ok(vec![LOOPBACK]),
        })
        .build()
        .expect("a client");
    let closed = {
        let server = Server::answering(|_| page("ok"));
        server.url("/")
    };
    for url in ["http://gone.test/", "http://empty.test/", &closed] {
        let error = get(&client, url).expect_err(url);
        assert_eq!(error.kind(), ErrorKind::Connect, "{error}");
    }
    let error = get(&client, "http://gone.test/").expect_err("gone");
    assert!(error.to_string().contains("gone.test"), "{error}");
}
