//! [`Server`]: a scripted HTTP/1.1 server on loopback, in plain threads.
//!
//! It answers what a test tells it to, byte for byte if need be, and keeps an
//! exact [`Log`] of what was asked when. It ends when it is dropped, whatever
//! its clients and its handlers do, and never waits for longer than
//! [`LONGEST_FAREWELL`].

#![allow(
    dead_code,
    unused_imports,
    reason = "each binary that includes this uses its own part of it"
)]

mod connection;
mod log;
mod request;
mod response;
mod script;

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

pub(crate) use log::{Entry, Log};
pub(crate) use request::Req;
pub(crate) use response::Resp;
pub(crate) use script::Script;

/// How long a drop waits for connections whose handler does not return.
const LONGEST_FAREWELL: Duration = Duration::from_secs(5);
/// How long a kept-alive connection may be idle unless a test says otherwise:
/// longer than any test waits between two requests.
const IDLE: Duration = Duration::from_secs(30);
/// How often a free port is tried that must be free on several addresses.
const PORT_TRIES: usize = 50;
/// Stack of a connection's thread. Handlers are small; a test may have
/// hundreds of connections.
const STACK: usize = 512 * 1024;
/// Pause after a failed accept, which means that file descriptors ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

type Handler = dyn Fn(&Req) -> Resp + Send + Sync;

/// How a [`Server`] is to be set up.
pub(crate) struct ServerBuilder {
    addresses: Vec<IpAddr>,
    port: u16,
    idle: Duration,
}

impl ServerBuilder {
    /// The loopback addresses it listens on, all at the same port:
    /// `127.0.0.1:P` and `127.0.0.2:P` are two hosts of one server.
    pub(crate) fn addresses(mut self, addresses: &[&str]) -> Self {
        self.addresses = addresses.iter().map(|text| address(text)).collect();
        self
    }

    /// The port; without this a free one is found.
    pub(crate) fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// How long a kept-alive connection may be idle before it is closed.
    pub(crate) fn idle(mut self, idle: Duration) -> Self {
        self.idle = idle;
        self
    }

    /// Starts it.
    ///
    /// # Panics
    /// When an address cannot be bound.
    pub(crate) fn start(self, handler: impl Fn(&Req) -> Resp + Send + Sync + 'static) -> Server {
        let (addresses, port) = (self.addresses.clone(), self.port);
        self.try_start(handler)
            .unwrap_or_else(|e| panic!("cannot listen on {addresses:?}, port {port}: {e}"))
    }

    /// Starts it, or says which address cannot be bound and why.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn try_start(
        self,
        handler: impl Fn(&Req) -> Resp + Send + Sync + 'static,
    ) -> io::Result<Server> {
        let listeners = bind(&self.addresses, self.port)?;
        let port = listeners[0].local_addr()?.port();
        let shared = Arc::new(Shared {
            handler: Box::new(handler),
            idle: self.idle,
            started: Instant::now(),
            book: Mutex::default(),
            asked: Condvar::new(),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let acceptors = listeners
            .into_iter()
            .map(|listener| {
                let shared = Arc::clone(&shared);
                thread::Builder::new()
                    .name("server accept".to_owned())
                    .spawn(move || accept(&shared, &listener))
            })
            .collect::<io::Result<_>>()?;
        Ok(Server {
            shared,
            addresses: self.addresses,
            port,
            acceptors,
        })
    }

    /// Starts it with a [`Script`].
    pub(crate) fn scripted(self, script: Script) -> Server {
        self.start(move |req| script.answer(req))
    }
}

/// A server that runs until it is dropped.
///
/// ```ignore
/// let server = Server::start(|req| match req.path.as_str() {
///     "/" => Resp::html("<a href=/busy>"),
///     "/busy" if req.nth == 1 => Resp::new(429).header("Retry-After", "2"),
///     "/busy" => Resp::html("<title>open"),
///     _ => Resp::new(404),
/// });
/// ```
pub(crate) struct Server {
    shared: Arc<Shared>,
    addresses: Vec<IpAddr>,
    port: u16,
    acceptors: Vec<JoinHandle<()>>,
}

impl Server {
    /// A server on 127.0.0.1 and a free port.
    pub(crate) fn start(handler: impl Fn(&Req) -> Resp + Send + Sync + 'static) -> Self {
        Server::builder().start(handler)
    }

    /// A server on 127.0.0.1 and a free port that answers by a script.
    pub(crate) fn scripted(script: Script) -> Self {
        Server::builder().scripted(script)
    }

    /// Sets up another address, port or idle time.
    pub(crate) fn builder() -> ServerBuilder {
        ServerBuilder {
            addresses: vec![address("127.0.0.1")],
            port: 0,
            idle: IDLE,
        }
    }

    /// The port, the same on every address.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The URL of a path on the first address.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.authority(0))
    }

    /// The URL of a path on one of the addresses.
    ///
    /// # Panics
    /// When the server does not listen there.
    pub(crate) fn url_on(&self, host: &str, path: &str) -> String {
        let host = address(host);
        let at = self.addresses.iter().position(|a| *a == host);
        let at = at.unwrap_or_else(|| panic!("the server does not listen on {host}"));
        format!("http://{}{path}", self.authority(at))
    }

    /// `address:port` of the address at that place.
    pub(crate) fn authority(&self, at: usize) -> SocketAddr {
        SocketAddr::new(self.addresses[at], self.port)
    }

    /// What has been asked so far.
    pub(crate) fn log(&self) -> Log {
        Log::new(self.shared.started, self.shared.book().entries.clone())
    }

    /// Forgets what has been asked, and how often each path was.
    pub(crate) fn clear_log(&self) {
        let mut book = self.shared.book();
        *book = Book {
            first: book.next(),
            ..Book::default()
        };
    }

    /// How many requests have come so far.
    pub(crate) fn requests(&self) -> usize {
        self.shared.book().entries.len()
    }

    /// How many connections are open.
    pub(crate) fn connections(&self) -> usize {
        self.shared.state().open.len()
    }

    /// Waits until so many requests have come. Says whether they did in time.
    pub(crate) fn wait_for_requests(&self, count: usize, limit: Duration) -> bool {
        let (book, _) = self
            .shared
            .asked
            .wait_timeout_while(self.shared.book(), limit, |book| book.entries.len() < count)
            .unwrap_or_else(PoisonError::into_inner);
        book.entries.len() >= count
    }

    /// Ends every connection and stops listening.
    ///
    /// # Panics
    /// When a handler panicked: what it asserted did not hold.
    pub(crate) fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        {
            let mut state = self.shared.state();
            state.closing = true;
            for stream in state.open.values() {
                // Wakes whoever reads from it or writes to it.
                let _ = stream.shutdown(std::net::Shutdown::Both);
            }
            self.shared.changed.notify_all();
        }
        for (at, acceptor) in self.acceptors.drain(..).enumerate() {
            // An accept is woken by a connection, and sees that it is over.
            let address = SocketAddr::new(self.addresses[at], self.port);
            if TcpStream::connect_timeout(&address, LONGEST_FAREWELL).is_ok() {
                let _ = acceptor.join();
            }
        }
        let (state, _) = self
            .shared
            .changed
            .wait_timeout_while(self.shared.state(), LONGEST_FAREWELL, |state| {
                !state.open.is_empty()
            })
            .unwrap_or_else(PoisonError::into_inner);
        if !state.open.is_empty() {
            eprintln!(
                "{} connections of a test server are stuck",
                state.open.len()
            );
        }
        let panicked = state.panicked.clone();
        drop(state);
        if let Some(request) = panicked
            && !thread::panicking()
        {
            panic!("the handler panicked at {request}");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !self.acceptors.is_empty() {
            self.end();
        }
    }
}

/// What the threads of a server share. Lock order: none is taken while another
/// is held.
struct Shared {
    handler: Box<Handler>,
    idle: Duration,
    started: Instant,
    book: Mutex<Book>,
    asked: Condvar,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    closing: bool,
    connections: u64,
    open: HashMap<u64, Arc<TcpStream>>,
    /// The first request whose handler panicked.
    panicked: Option<String>,
}

/// The log as it is written.
#[derive(Default)]
struct Book {
    /// The number of the first entry: those before it were cleared.
    first: usize,
    entries: Vec<Entry>,
    counts: HashMap<(IpAddr, String), usize>,
}

impl Book {
    fn next(&self) -> usize {
        self.first + self.entries.len()
    }
}

impl Shared {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often this path was asked for on this host, this time included.
    fn count(&self, host: IpAddr, path: &str) -> usize {
        let mut book = self.book();
        let count = book.counts.entry((host, path.to_owned())).or_insert(0);
        *count += 1;
        *count
    }

    /// Logs a request; returns its number.
    fn enter(&self, entry: Entry) -> usize {
        let mut book = self.book();
        let number = book.next();
        book.entries.push(entry);
        drop(book);
        self.asked.notify_all();
        number
    }

    /// Notes the answer to a logged request, unless the log was cleared since.
    fn note(&self, number: usize, change: impl FnOnce(&mut Entry)) {
        let mut book = self.book();
        let first = book.first;
        if let Some(entry) = number
            .checked_sub(first)
            .and_then(|at| book.entries.get_mut(at))
        {
            change(entry);
        }
    }
}

fn address(text: &str) -> IpAddr {
    let address: IpAddr = text
        .parse()
        .unwrap_or_else(|_| panic!("not an address: {text:?}"));
    assert!(address.is_loopback(), "not a loopback address: {address}");
    address
}

/// Listens on the same port of every address.
fn bind(addresses: &[IpAddr], port: u16) -> io::Result<Vec<TcpListener>> {
    let mut tries = if port == 0 { PORT_TRIES } else { 1 };
    loop {
        tries -= 1;
        let mut wanted = port;
        let mut listeners = Vec::with_capacity(addresses.len());
        let bound: io::Result<()> = addresses.iter().try_for_each(|&address| {
            let listener = TcpListener::bind((address, wanted))
                .map_err(|e| io::Error::new(e.kind(), format!("{address}:{wanted}: {e}")))?;
            wanted = listener.local_addr()?.port();
            listeners.push(listener);
            Ok(())
        });
        match bound {
            Ok(()) => return Ok(listeners),
            // Free on one address, taken on another.
            Err(e) if e.kind() == io::ErrorKind::AddrInUse && tries > 0 => {}
            Err(e) => return Err(e),
        }
    }
}

/// Gives each connection a thread, until the server ends.
fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            if shared.state().closing {
                return;
            }
            thread::sleep(ACCEPT_PAUSE);
            continue;
        };
        let stream = Arc::new(stream);
        let number = {
            let mut state = shared.state();
            if state.closing {
                return;
            }
            state.connections += 1;
            let number = state.connections;
            state.open.insert(number, Arc::clone(&stream));
            number
        };
        let ours = Arc::clone(shared);
        let spawned = thread::Builder::new()
            .name(format!("server connection {number}"))
            .stack_size(STACK)
            .spawn(move || {
                connection::serve(&ours, &stream, number);
                // The table holds the last reference: the socket closes as its
                // connection leaves the table.
                drop(stream);
                let mut state = ours.state();
                state.open.remove(&number);
                if state.closing {
                    ours.changed.notify_all();
                }
            });
        if spawned.is_err() {
            shared.state().open.remove(&number);
        }
    }
}
