//! A server whose every connection is a closure, and the clients for it.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use canter::fetch::{Fetch, HttpFetch, HttpFetchBuilder, Response};
use canter::{Request, Result};

/// No test waits longer than this for anything.
pub(crate) const LONG: Duration = Duration::from_secs(20);

pub(crate) const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A running server. Dropping it closes the listener; connections that are
/// open end with their clients.
pub(crate) struct Server {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    heads: Arc<Mutex<Vec<String>>>,
    stop: Arc<AtomicBool>,
}

/// One connection, as the script sees it.
pub(crate) struct Peer {
    pub(crate) stream: TcpStream,
    /// Which connection it is; the first is 0.
    pub(crate) number: usize,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Runs the script once for each connection, on a thread of its own.
    pub(crate) fn start(script: impl Fn(Peer) + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind((LOOPBACK, 0)).expect("a port");
        let server = Server {
            address: listener.local_addr().expect("an address"),
            connections: Arc::default(),
            heads: Arc::default(),
            stop: Arc::default(),
        };
        let (connections, heads) = (server.connections.clone(), server.heads.clone());
        let stop = server.stop.clone();
        let script = Arc::new(script);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let stream = stream.expect("a connection");
                stream.set_read_timeout(Some(LONG)).expect("a timeout");
                stream.set_write_timeout(Some(LONG)).expect("a timeout");
                stream.set_nodelay(true).expect("no delay");
                let peer = Peer {
                    stream,
                    number: connections.fetch_add(1, Ordering::SeqCst),
                    heads: heads.clone(),
                };
                let script = script.clone();
                thread::spawn(move || script(peer));
            }
        });
        server
    }

    /// Answers every request with what the closure says for its path, over
    /// connections that are kept.
    pub(crate) fn answering(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Server {
        Server::start(move |mut peer| {
            while let Some(head) = peer.next_head() {
                peer.send(&answer(path_of(&head)));
            }
        })
    }

    /// Answers every request with these bytes and closes.
    pub(crate) fn saying(bytes: impl Into<Vec<u8>>) -> Server {
        let bytes = bytes.into();
        Server::start(move |mut peer| {
            peer.next_head();
            peer.send(&bytes);
        })
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// How many connections were accepted.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// The heads of all requests that were read.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().expect("heads").clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the accepting thread.
        let _ = TcpStream::connect(self.address);
    }
}

impl Peer {
    /// The head of the next request, each byte as the character of that number;
    /// `None` when the client is gone.
    pub(crate) fn next_head(&mut self) -> Option<String> {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            if self.stream.read(&mut byte).ok()? == 0 {
                return None;
            }
            head.push(byte[0]);
        }
        let head: String = head.into_iter().map(char::from).collect();
        self.heads.lock().expect("heads").push(head.clone());
        Some(head)
    }

    /// So many bytes of a request's body.
    pub(crate) fn body(&mut self, length: usize) -> Vec<u8> {
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).expect("a body");
        body
    }

    /// Sends; a client that is gone is no failure of the server's.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Waits until the client has closed; `false` if it does not.
    pub(crate) fn sees_the_end(&mut self) -> bool {
        let mut rest = [0; 1024];
        loop {
            match self.stream.read(&mut rest) {
                Ok(0) => return true,
                Ok(_) => {}
                // A reset is an end too, a timeout is none.
                Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
            }
        }
    }
}

pub(crate) fn path_of(head: &str) -> &str {
    head.split(' ').nth(1).expect("a request line")
}

/// A 200 with this body and its length.
pub(crate) fn page(body: impl AsRef<[u8]>) -> Vec<u8> {
    answer("content-type: text/html\r\n", body)
}

/// A 200 with these header lines, this body and its length.
pub(crate) fn answer(lines: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n{lines}\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

pub(crate) fn builder() -> HttpFetchBuilder {
    HttpFetch::builder().allow_private(true)
}

pub(crate) fn client() -> HttpFetch {
    builder().build().expect("a client")
}

pub(crate) fn get(client: &HttpFetch, url: &str) -> Result<Response> {
    send(client, &Request::get(url).expect("a URL"))
}

pub(crate) fn send(client: &HttpFetch, request: &Request) -> Result<Response> {
    client.fetch(request, Instant::now() + LONG)
}

/// Asks a server that says these bytes.
pub(crate) fn hear(bytes: impl Into<Vec<u8>>) -> Result<Response> {
    get(&client(), &Server::saying(bytes).url("/"))
}

/// Waits until it is so.
pub(crate) fn eventually(what: &str, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !so() {
        assert!(Instant::now() < end, "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}
