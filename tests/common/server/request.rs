//! [`Req`]: a request as it came, and reading it from a connection.
//!
//! A request's last bytes stay in the kernel until its answer is known: a
//! socket that is closed with unread bytes sends a reset, which is the one way
//! to send one with the standard library alone.

use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Instant;

/// The longest request head that is read.
const MAX_HEAD: usize = 64 * 1024;
/// The longest request body that is read.
const MAX_BODY: usize = 16 * 1024 * 1024;

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Req {
    /// The address that was connected to.
    pub(crate) host: IpAddr,
    /// The port that was connected to.
    pub(crate) port: u16,
    /// The method.
    pub(crate) method: String,
    /// The request target as sent: path and query.
    pub(crate) path: String,
    /// The header fields in order, names as sent, values as Latin-1.
    pub(crate) headers: Vec<(String, String)>,
    /// The body.
    pub(crate) body: Vec<u8>,
    /// How often this target was asked for on this host, this time included.
    pub(crate) nth: usize,
    /// The connection, counted from 1.
    pub(crate) connection: u64,
    /// Which request on its connection this is, counted from 1.
    pub(crate) turn: usize,
}

impl Req {
    /// The first field of that name, whatever its case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The `Host` field; empty when there is none.
    pub(crate) fn host_header(&self) -> &str {
        self.header("host").unwrap_or_default()
    }

    /// The path without the query.
    pub(crate) fn path_only(&self) -> &str {
        self.path.split(['?', '#']).next().unwrap_or_default()
    }

    /// Whether the connection may go on after the answer.
    pub(super) fn keeps_alive(&self, version: &str) -> bool {
        let asked = self.header("connection").unwrap_or_default();
        if version == "HTTP/1.0" {
            asked.eq_ignore_ascii_case("keep-alive")
        } else {
            !asked.eq_ignore_ascii_case("close")
        }
    }
}

/// A request that has come whole, its last bytes unread.
pub(super) struct Incoming {
    pub(super) req: Req,
    pub(super) version: String,
    /// When its first bytes were seen.
    pub(super) first_byte: Instant,
    /// When it was there whole.
    pub(super) whole: Instant,
    /// How many of its bytes are still in the kernel.
    pub(super) unread: usize,
}

/// Why no request was read.
pub(super) enum Refused {
    /// The client closed the connection or was idle for too long.
    Gone,
    /// What came is not a request that is read here.
    Bad(u16),
}

impl From<io::Error> for Refused {
    fn from(_: io::Error) -> Self {
        Refused::Gone
    }
}

impl Incoming {
    /// Waits for a request and reads it.
    pub(super) fn read(
        mut stream: &TcpStream,
        scratch: &mut [u8],
        local: SocketAddr,
    ) -> Result<Incoming, Refused> {
        let mut head: Vec<u8> = Vec::new();
        let mut first_byte = None;
        let mut unread = loop {
            let count = stream.peek(scratch)?;
            if count == 0 {
                return Err(Refused::Gone);
            }
            first_byte.get_or_insert_with(Instant::now);
            let before = head.len();
            head.extend_from_slice(&scratch[..count]);
            if let Some(end) = end_of_head(&head, before) {
                head.truncate(end);
                break end - before;
            }
            if head.len() > MAX_HEAD {
                return Err(Refused::Bad(431));
            }
            stream.read_exact(&mut scratch[..count])?;
        };
        let (mut req, version) = parse(&head, local).ok_or(Refused::Bad(400))?;
        if req.header("transfer-encoding").is_some() {
            return Err(Refused::Bad(411));
        }
        let length = match req.header("content-length") {
            Some(text) => text.parse().map_err(|_| Refused::Bad(400))?,
            None => 0,
        };
        if length > MAX_BODY {
            return Err(Refused::Bad(413));
        }
        if length > 0 {
            skip(stream, scratch, unread)?;
            req.body.resize(length, 0);
            stream.read_exact(&mut req.body[..length - 1])?;
            if stream.peek(&mut req.body[length - 1..])? == 0 {
                return Err(Refused::Gone);
            }
            unread = 1;
        }
        let whole = Instant::now();
        Ok(Incoming {
            req,
            version,
            first_byte: first_byte.unwrap_or(whole),
            whole,
            unread,
        })
    }
}

/// Reads so many bytes and drops them.
pub(super) fn skip(mut stream: &TcpStream, scratch: &mut [u8], mut count: usize) -> io::Result<()> {
    while count > 0 {
        let part = count.min(scratch.len());
        stream.read_exact(&mut scratch[..part])?;
        count -= part;
    }
    Ok(())
}

/// Where the empty line ends, when bytes from `new` on have just come.
fn end_of_head(head: &[u8], new: usize) -> Option<usize> {
    const END: &[u8] = b"\r\n\r\n";
    let from = new.saturating_sub(END.len() - 1);
    let at = head[from..].windows(END.len()).position(|w| w == END)?;
    Some(from + at + END.len())
}

fn parse(head: &[u8], local: SocketAddr) -> Option<(Req, String)> {
    let text: String = head.iter().map(|&byte| char::from(byte)).collect();
    let mut lines = text.trim_end_matches("\r\n").split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, path, version) = (first.next()?, first.next()?, first.next()?);
    if first.next().is_some() || !version.starts_with("HTTP/1.") {
        return None;
    }
    let headers = lines
        .map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_owned(), value.trim_matches([' ', '\t']).to_owned()))
        })
        .collect::<Option<_>>()?;
    let req = Req {
        host: local.ip(),
        port: local.port(),
        method: method.to_owned(),
        path: path.to_owned(),
        headers,
        body: Vec::new(),
        nth: 0,
        connection: 0,
        turn: 0,
    };
    Some((req, version.to_owned()))
}
