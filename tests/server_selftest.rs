//! The tools of the tests, tested: the scripted server by raw sockets, the
//! program runner by the shell.

mod common;

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use common::{Program, Req, Resp, Script, Server, TempDir};

/// Far longer than anything here takes: a test that hangs fails instead.
const PATIENCE: Duration = Duration::from_secs(20);

fn connect(server: &Server, at: usize) -> TcpStream {
    let stream = TcpStream::connect(server.authority(at)).expect("the server listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("not zero");
    stream
}

fn ask(stream: &mut TcpStream, path: &str) {
    // In one piece: the parts of a `write!` would wait for one another's ACK.
    let head = format!("GET {path} HTTP/1.1\r\nHost: a.test\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("the server reads");
}

/// Head and body of one answer that names its length.
fn answer(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a whole head");
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).expect("ASCII");
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "))
        .map_or(0, |text| text.parse().expect("a length"));
    let mut body = vec![0; length];
    stream.read_exact(&mut body).expect("a whole body");
    (head, body)
}

/// Everything until the connection ends, and the error that ended it, if any.
fn rest(stream: &mut TcpStream) -> (Vec<u8>, Option<ErrorKind>) {
    let mut all = Vec::new();
    let error = stream.read_to_end(&mut all).err().map(|e| e.kind());
    (all, error)
}

fn once(resp: Resp) -> Server {
    Server::start(move |_| resp.clone())
}

#[test]
fn a_script_gives_each_path_its_answers_in_turn_and_repeats_the_last() {
    let server = Server::scripted(
        Script::new()
            .on("/a", [Resp::new(503), Resp::html("second")])
            .on("/a?q=1", [Resp::new(410)]),
    );
    let mut stream = connect(&server, 0);
    let mut got = Vec::new();
    for path in ["/a", "/a?x", "/a", "/a?q=1", "/b"] {
        ask(&mut stream, path);
        let (head, body) = answer(&mut stream);
        got.push((head[9..12].to_owned(), body.len()));
    }
    let want = [("503", 0), ("200", 6), ("200", 6), ("410", 0), ("404", 0)];
    assert_eq!(got, want.map(|(status, len)| (status.to_owned(), len)));
    let log = server.log();
    assert_eq!(log.paths(), ["/a", "/a?x", "/a", "/a?q=1", "/b"]);
    assert_eq!(log.count("/a"), 2);
    assert_eq!(log.connections(), 1);
    assert_eq!(log[2].nth, 2);
    assert_eq!(log[4].turn, 5);
    assert_eq!(log[4].status, 404);
    assert_eq!(log[0].host_header(), "a.test");
    assert!(log.iter().all(|entry| entry.at <= entry.whole));
}

#[test]
fn two_addresses_at_one_port_are_two_hosts() {
    let server = Server::builder()
        .addresses(&["127.0.0.1", "127.0.0.2"])
        .scripted(Script::new().on("/x", [Resp::text("any")]).on_host(
            "127.0.0.2",
            "/x",
            [Resp::text("second")],
        ));
    for (at, want) in ["any", "second"].into_iter().enumerate() {
        let mut stream = connect(&server, at);
        ask(&mut stream, "/x");
        assert_eq!(answer(&mut stream).1, want.as_bytes());
    }
    assert_eq!(server.log().on("127.0.0.2").paths(), ["/x"]);
    assert_eq!(
        server.url_on("127.0.0.2", "/x"),
        format!("http://127.0.0.2:{}/x", server.port())
    );
    assert!(server.log().iter().all(|entry| entry.nth == 1));
}

#[test]
fn a_reset_is_a_reset_and_a_close_is_a_close() {
    let server = Server::start(|req| match req.path.as_str() {
        "/reset" => Resp::reset(),
        "/half" => Resp::html("0123456789").truncate(4).then_reset(),
        _ => Resp::close(),
    });
    let mut stream = connect(&server, 0);
    ask(&mut stream, "/reset");
    assert_eq!(
        rest(&mut stream),
        (vec![], Some(ErrorKind::ConnectionReset))
    );

    let mut stream = connect(&server, 0);
    ask(&mut stream, "/half");
    assert_eq!(rest(&mut stream).1, Some(ErrorKind::ConnectionReset));

    let mut stream = connect(&server, 0);
    write!(
        stream,
        "POST /reset HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"
    )
    .expect("it reads");
    assert_eq!(rest(&mut stream).1, Some(ErrorKind::ConnectionReset));

    let mut stream = connect(&server, 0);
    ask(&mut stream, "/close");
    assert_eq!(rest(&mut stream), (vec![], None));
    assert_eq!(server.log().connections(), 4);
}

#[test]
fn bodies_may_be_short_chunked_or_of_the_wrong_length() {
    let tail = |resp: Resp| {
        let server = once(resp);
        let mut stream = connect(&server, 0);
        ask(&mut stream, "/");
        let (all, error) = rest(&mut stream);
        assert_eq!(error, None);
        let text = String::from_utf8(all).expect("ASCII");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        (head.to_owned(), body.to_owned())
    };
    let (head, body) = tail(Resp::html("0123456789").truncate(4));
    assert!(head.ends_with("Content-Length: 10"), "{head}");
    assert_eq!(body, "0123");

    let (head, body) = tail(Resp::html("abc").claim(99));
    assert!(head.ends_with("Content-Length: 99"), "{head}");
    assert_eq!(body, "abc");

    let (head, body) = tail(Resp::html("abc").body("defgh").chunked().then_close());
    assert!(head.ends_with("Transfer-Encoding: chunked"), "{head}");
    assert_eq!(body, "3\r\nabc\r\n5\r\ndefgh\r\n0\r\n\r\n");

    let (_, body) = tail(Resp::html("abc").body("defgh").chunked().truncate(5));
    assert_eq!(body, "3\r\nabc\r\n5\r\nde");

    let (head, body) = tail(Resp::html("abc").until_close());
    assert!(!head.contains("Content-Length"), "{head}");
    assert_eq!(body, "abc");
}

#[test]
fn raw_bytes_go_out_as_they_are() {
    let raw = b"HTTP/1.0 200\nX: \xFF\n\nhello".to_vec();
    let server = once(Resp::raw(raw.clone()));
    let mut stream = connect(&server, 0);
    ask(&mut stream, "/");
    assert_eq!(rest(&mut stream), (raw, None));
}

#[test]
fn a_head_request_gets_the_length_and_no_body() {
    let server = once(Resp::html("0123456789").closing());
    let mut stream = connect(&server, 0);
    write!(stream, "HEAD / HTTP/1.1\r\n\r\n").expect("the server reads");
    let text = String::from_utf8(rest(&mut stream).0).expect("ASCII");
    assert!(text.contains("Content-Length: 10"), "{text}");
    assert!(text.ends_with("\r\n\r\n"), "{text}");
}

#[test]
fn request_bodies_are_read_and_requests_may_come_in_pieces_or_together() {
    let server = Server::start(|req| Resp::text(req.body.clone()));
    let mut stream = connect(&server, 0);
    for piece in [
        "POST /a HTTP/1.1\r\nContent-Le",
        "ngth: 5\r\n\r",
        "\nhel",
        "lo",
    ] {
        stream
            .write_all(piece.as_bytes())
            .expect("the server reads");
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(answer(&mut stream).1, b"hello");
    ask(&mut stream, "/b");
    ask(&mut stream, "/c");
    answer(&mut stream);
    answer(&mut stream);
    assert_eq!(server.log().paths(), ["/a", "/b", "/c"]);
    assert!(server.log()[0].whole > server.log()[0].at);
}

#[test]
fn what_is_no_request_is_refused_and_not_logged() {
    let server = once(Resp::text("never"));
    let long = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "y".repeat(100_000));
    for (bytes, status) in [
        ("nonsense\r\n\r\n", "400"),
        (
            "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "411",
        ),
        ("POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", "413"),
        (&long, "431"),
    ] {
        let mut stream = connect(&server, 0);
        // The server may have closed before it has read all of a long head.
        let _ = stream.write_all(bytes.as_bytes());
        let mut head = [0; 12];
        stream.read_exact(&mut head).expect("an answer");
        assert_eq!(&head[9..], status.as_bytes());
    }
    assert_eq!(server.requests(), 0);
}

#[test]
fn delays_and_drips_take_their_time() {
    let step = Duration::from_millis(20);
    let server = Server::start(move |req| match req.path.as_str() {
        "/late" => Resp::text("x").delay(step),
        "/drip" => Resp::text("12345").drip(1, step),
        _ => Resp::text("x").drip_head(20, step),
    });
    let mut stream = connect(&server, 0);
    for (path, steps) in [("/late", 1), ("/drip", 4), ("/head", 3)] {
        let start = Instant::now();
        ask(&mut stream, path);
        answer(&mut stream);
        assert!(start.elapsed() >= step * steps, "{path}");
    }
    let log = server.log();
    assert!(log.gaps("127.0.0.1").iter().all(|gap| *gap >= step));
    assert_eq!(log.max_in_window(step), 1);
    assert_eq!(log.max_in_window(PATIENCE), 3);
    assert_eq!(log.max_in_flight(), 1);
}

#[test]
fn an_idle_connection_is_closed() {
    let server = Server::builder()
        .idle(Duration::from_millis(30))
        .start(|_| Resp::text("x"));
    let mut stream = connect(&server, 0);
    ask(&mut stream, "/");
    answer(&mut stream);
    assert_eq!(rest(&mut stream), (vec![], None));
}

#[test]
fn a_client_that_walks_away_is_noticed_while_its_answer_waits() {
    let server = Server::start(|req| match req.path.as_str() {
        "/hang" => Resp::hang(),
        _ => Resp::text("x").delay(PATIENCE * 10),
    });
    for path in ["/hang", "/delay"] {
        let mut stream = connect(&server, 0);
        ask(&mut stream, path);
        assert!(server.wait_for_requests(1, PATIENCE));
        assert_eq!(server.log()[0].answered, None);
        drop(stream);
        let start = Instant::now();
        while server.connections() > 0 {
            assert!(start.elapsed() < PATIENCE, "{path}: nobody noticed");
            thread::yield_now();
        }
        assert!(server.log()[0].answered.is_some());
        server.clear_log();
    }
}

#[test]
fn the_server_ends_at_once_whatever_is_still_open() {
    let server = Server::start(|req| match req.path.as_str() {
        "/hang" => Resp::hang(),
        "/endless" => Resp::text("").endless(vec![b'x'; 1 << 20], Duration::ZERO),
        "/delay" => Resp::text("x").delay(PATIENCE * 10),
        "/reset" => Resp::reset().delay(PATIENCE * 10),
        "/silent" => Resp::text("x").then_hang(),
        _ => Resp::text("x"),
    });
    let paths = ["/hang", "/endless", "/delay", "/reset", "/silent", "/idle"];
    let mut streams: Vec<_> = paths
        .iter()
        .map(|path| {
            let mut stream = connect(&server, 0);
            ask(&mut stream, path);
            stream
        })
        .collect();
    streams.push(connect(&server, 0));
    assert!(server.wait_for_requests(paths.len(), PATIENCE));
    let start = Instant::now();
    server.stop();
    assert!(
        start.elapsed() < Duration::from_secs(4),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn a_handler_that_panics_fails_the_test() {
    let server = Server::start(|req: &Req| panic!("nothing was expected at {}", req.path));
    let mut stream = connect(&server, 0);
    ask(&mut stream, "/x");
    assert_eq!(rest(&mut stream), (vec![], None));
    let stopped = thread::spawn(move || server.stop()).join();
    let message = stopped.expect_err("the stop passes it on");
    assert_eq!(
        message.downcast_ref::<String>().map(String::as_str),
        Some("the handler panicked at GET /x")
    );
}

#[test]
fn it_keeps_up_with_many_connections_and_never_sees_more_in_flight_than_there_were() {
    const CLIENTS: usize = 64;
    const EACH: usize = 50;
    let server = Server::start(|_| Resp::html("<title>x"));
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut stream = connect(&server, 0);
                for n in 0..EACH {
                    ask(&mut stream, &format!("/{n}"));
                    answer(&mut stream);
                }
            });
        }
    });
    let log = server.log();
    assert_eq!(log.len(), CLIENTS * EACH);
    assert_eq!(log.connections(), CLIENTS);
    assert!(log.max_in_flight() <= CLIENTS);
    assert_eq!(log.count("/0"), CLIENTS);
    assert_eq!(log.counts().len(), EACH);
}

#[test]
fn requests_one_after_the_other_are_never_in_flight_together() {
    let server = Server::start(|_| Resp::text("x"));
    for _ in 0..20 {
        let mut stream = connect(&server, 0);
        for _ in 0..20 {
            ask(&mut stream, "/");
            answer(&mut stream);
        }
    }
    assert_eq!(server.log().max_in_flight(), 1);
}

#[test]
fn a_temporary_folder_is_empty_unique_and_gone_afterwards() {
    let (first, second) = (TempDir::new(), TempDir::new());
    assert_ne!(first.path(), second.path());
    let file = first.write("a/b.txt", "hello");
    assert_eq!(first.read("a/b.txt"), "hello");
    drop(first);
    assert!(!file.exists());
    assert_eq!(second.path().read_dir().expect("it is there").count(), 0);
}

#[test]
fn torn_lines_are_not_taken_for_records() {
    use common::jsonl;
    assert_eq!(jsonl::parse("{\"a\":1}\n{}\n").len(), 2);
    for torn in ["{\"a\":1}", "{\"a\":\n", "{}\n\n"] {
        assert!(
            thread::spawn(|| jsonl::parse(torn)).join().is_err(),
            "{torn:?}"
        );
    }
}

#[test]
fn gzip_is_gzip() {
    let mut back = String::new();
    flate2::read::GzDecoder::new(common::gzip(b"hello").as_slice())
        .read_to_string(&mut back)
        .expect("it decodes");
    assert_eq!(back, "hello");
    assert!(common::page("t", &["/a"]).contains("<a href=\"/a\">"));
}

fn sh(script: &str) -> Program {
    Program::new("sh", ["-c", script])
}

#[test]
fn a_run_tells_its_exit_code_output_and_time() {
    let folder = TempDir::new();
    folder.write("in.txt", "from a file\n");
    let run = sh("cat in.txt; cat; echo $WORD >&2; exit 3")
        .dir(folder.path())
        .env("WORD", "hello")
        .input("from stdin\n")
        .run()
        .expect_code(3);
    assert_eq!(run.out(), "from a file\nfrom stdin\n");
    assert_eq!(run.stderr, "hello\n");
    assert!(run.elapsed < PATIENCE);
    assert_eq!(sh("echo '{}'; echo '[1]'").run().records().len(), 2);
    let wrong = thread::spawn(|| sh("exit 1").run().expect_code(0)).join();
    assert!(wrong.is_err());
}

#[cfg(unix)]
#[test]
fn a_child_takes_signals_by_name() {
    // INT and HUP may be ignored where the tests run in the background, and a
    // child inherits that.
    for (name, number) in [("TERM", 15), ("KILL", 9)] {
        let mut child = sh("echo ready; exec sleep 100").start();
        while child.stdout_so_far().is_empty() {
            assert!(child.is_running());
            thread::yield_now();
        }
        child.signal(name);
        let run = child.wait();
        assert_eq!((run.code(), run.signal()), (None, Some(number)), "{name}");
    }
    // A signal after the end goes nowhere.
    let mut child = sh("exit 0").start();
    while child.is_running() {
        thread::yield_now();
    }
    child.signal("TERM");
    child.wait().expect_code(0);
}

#[cfg(unix)]
#[test]
fn a_child_that_runs_too_long_is_killed_and_fails_the_test() {
    for script in [
        "echo $$; exec sleep 100",
        "echo $$; exec sleep 100 >&- 2>&-",
    ] {
        let start = Instant::now();
        let child = sh(script).limit(Duration::from_millis(100)).start();
        let id = child.id();
        let error = thread::spawn(move || child.wait())
            .join()
            .err()
            .expect("it is too late");
        assert!(start.elapsed() < PATIENCE);
        let message = error.downcast_ref::<String>().expect("a message");
        assert!(message.contains("did not end within 100ms"), "{message}");
        assert!(message.contains(&format!("stdout: {id}\n")), "{message}");
        assert_ne!(sh(&format!("kill -0 {id}")).run().code(), Some(0));
    }
}
