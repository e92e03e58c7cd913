//! One connection: requests in, answers out, until one side has enough.
//!
//! A request counts as answered just before its last byte is handed to the
//! kernel. A client can only know of the end after that, so two requests that
//! it sent one after the other never look as if they had been in flight
//! together.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::request::{Incoming, Refused, skip};
use super::response::{End, Framing, Part};
use super::{Entry, Resp, Shared};

/// Bytes that are read at once.
const SCRATCH: usize = 16 * 1024;
/// A body part longer than this is written from where it is.
const COPIED: usize = 64 * 1024;
/// The shortest wait that the system takes for one.
const SHORTEST_WAIT: Duration = Duration::from_micros(1);

/// Answers requests until the connection ends.
pub(super) fn serve(shared: &Shared, stream: &TcpStream, number: u64) {
    let Ok(local) = stream.local_addr() else {
        return;
    };
    let _ = stream.set_nodelay(true);
    let mut line = Line {
        shared,
        stream,
        scratch: vec![0; SCRATCH].into(),
        unread: 0,
        pending: Vec::new(),
    };
    for turn in 1.. {
        if stream.set_read_timeout(Some(shared.idle)).is_err() {
            return;
        }
        let mut incoming = match Incoming::read(stream, &mut line.scratch, local) {
            Ok(incoming) => incoming,
            Err(Refused::Gone) => return,
            Err(Refused::Bad(status)) => {
                let head = Resp::new(status).closing().head_bytes();
                if line.send(&head).and_then(|()| line.flush()).is_ok() {
                    // What is unread would turn the close into a reset that
                    // overtakes the answer.
                    let _ = stream.shutdown(Shutdown::Write);
                    line.wait_for_the_end();
                }
                return;
            }
        };
        incoming.req.connection = number;
        incoming.req.turn = turn;
        incoming.req.nth = shared.count(local.ip(), &incoming.req.path);
        line.unread = incoming.unread;
        if line.answer(incoming) != End::Keep {
            return;
        }
    }
}

/// A connection and what is on its way.
struct Line<'a> {
    shared: &'a Shared,
    stream: &'a TcpStream,
    scratch: Box<[u8]>,
    /// Bytes of the request that are still in the kernel.
    unread: usize,
    /// Bytes of the answer that are not sent yet.
    pending: Vec<u8>,
}

impl Line<'_> {
    /// Answers one request. Returns what becomes of the connection.
    fn answer(&mut self, incoming: Incoming) -> End {
        let keeps = incoming.req.keeps_alive(&incoming.version);
        let bodiless = incoming.req.method == "HEAD";
        let req = Arc::new(incoming.req);
        let entry = self.shared.enter(Entry {
            req: Arc::clone(&req),
            at: incoming.first_byte,
            whole: incoming.whole,
            answered: None,
            status: 0,
        });
        let handler = &self.shared.handler;
        let Ok(resp) = catch_unwind(AssertUnwindSafe(|| handler(&req))) else {
            let what = format!("{} {}", req.method, req.path);
            self.shared.state().panicked.get_or_insert(what);
            let _ = self.take_request();
            return End::Close;
        };
        self.shared
            .note(entry, |entry| entry.status = resp.status());

        let sent = self.deliver(&resp, bodiless, entry);
        let end = match (sent, resp.end) {
            (Err(_), _) => End::Close,
            (Ok(()), End::Keep) if !keeps || resp.framing == Framing::Close => End::Close,
            (Ok(()), end) => end,
        };
        if end == End::Hang {
            self.wait_for_the_end();
        }
        self.shared.note(entry, |entry| {
            entry.answered.get_or_insert_with(Instant::now);
        });
        end
    }

    /// Sends the answer.
    fn deliver(&mut self, resp: &Resp, bodiless: bool, entry: usize) -> io::Result<()> {
        if resp.end != End::Reset {
            self.take_request()?;
        }
        self.pause(resp.delay)?;
        let head = resp.head_bytes();
        match resp.drip_head {
            Some((size, every)) => {
                for (at, piece) in head.chunks(size).enumerate() {
                    if at > 0 {
                        self.flush()?;
                        self.pause(every)?;
                    }
                    self.send(piece)?;
                }
            }
            None => self.send(&head)?,
        }
        if !bodiless && resp.may_have_body() {
            self.deliver_body(resp)?;
        }
        if resp.is_whole() {
            self.shared
                .note(entry, |entry| entry.answered = Some(Instant::now()));
        }
        self.flush()
    }

    fn deliver_body(&mut self, resp: &Resp) -> io::Result<()> {
        let chunked = resp.framing == Framing::Chunked;
        let mut left = resp.truncate.unwrap_or(usize::MAX);
        for part in &resp.parts {
            match part {
                Part::Bytes(bytes) => {
                    let sent = &bytes[..bytes.len().min(left)];
                    left -= sent.len();
                    if chunked {
                        self.send(format!("{:x}\r\n", bytes.len()).as_bytes())?;
                    }
                    self.send(sent)?;
                    if sent.len() < bytes.len() {
                        return Ok(());
                    }
                    if chunked {
                        self.send(b"\r\n")?;
                    }
                }
                Part::Wait(time) => {
                    self.flush()?;
                    self.pause(*time)?;
                }
                Part::Endless(bytes, every) => loop {
                    if chunked {
                        self.send(format!("{:x}\r\n", bytes.len()).as_bytes())?;
                    }
                    self.send(bytes)?;
                    if chunked {
                        self.send(b"\r\n")?;
                    }
                    self.flush()?;
                    self.pause(*every)?;
                },
            }
        }
        if chunked && resp.truncate.is_none() {
            self.send(b"0\r\n\r\n")?;
        }
        Ok(())
    }

    /// Puts bytes on their way. The last of them stays pending until
    /// [`flush`](Self::flush).
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() <= COPIED {
            self.pending.extend_from_slice(bytes);
            return Ok(());
        }
        self.flush()?;
        let (most, last) = bytes.split_at(bytes.len() - 1);
        let mut stream = self.stream;
        stream.write_all(most)?;
        self.pending.extend_from_slice(last);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut stream = self.stream;
        let written = stream.write_all(&self.pending);
        self.pending.clear();
        written
    }

    /// Reads what is left of the request.
    fn take_request(&mut self) -> io::Result<()> {
        let unread = std::mem::take(&mut self.unread);
        skip(self.stream, &mut self.scratch, unread)
    }

    /// Waits; fails at once when the client goes or the server ends.
    fn pause(&mut self, time: Duration) -> io::Result<()> {
        let until = Instant::now() + time;
        loop {
            let rest = until.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return Ok(());
            }
            self.stream
                .set_read_timeout(Some(rest.max(SHORTEST_WAIT)))?;
            match self.stream.peek(&mut self.scratch[..1]) {
                Ok(0) => return Err(io::ErrorKind::ConnectionAborted.into()),
                // Bytes lie there unread, so the socket cannot be waited on.
                Ok(_) => return self.sleep(rest),
                Err(e)
                    if matches!(
                        e.kind(),
                        io::ErrorKind::WouldBlock
                            | io::ErrorKind::TimedOut
                            | io::ErrorKind::Interrupted
                    ) => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Waits without looking at the client.
    fn sleep(&self, time: Duration) -> io::Result<()> {
        let (state, _) = self
            .shared
            .changed
            .wait_timeout_while(self.shared.state(), time, |state| !state.closing)
            .unwrap_or_else(PoisonError::into_inner);
        if state.closing {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Ok(())
    }

    /// Reads and drops everything until the client goes or the server ends.
    fn wait_for_the_end(&mut self) {
        let _ = self.stream.set_read_timeout(None);
        let mut stream = self.stream;
        while let Ok(1..) = stream.read(&mut self.scratch) {}
    }
}
