//! [`Resp`]: an answer, well formed or not, and what happens to the connection
//! after it.

use std::sync::Arc;
use std::time::Duration;

/// An answer. Cheap to clone: bodies are shared.
#[derive(Debug, Clone)]
pub(crate) struct Resp {
    pub(super) head: Head,
    pub(super) headers: Vec<(Vec<u8>, Vec<u8>)>,
    pub(super) parts: Vec<Part>,
    pub(super) framing: Framing,
    /// Waited before the first byte.
    pub(super) delay: Duration,
    /// Bytes at a time, and the wait between them, for the head.
    pub(super) drip_head: Option<(usize, Duration)>,
    /// Body bytes after which nothing more is sent.
    pub(super) truncate: Option<usize>,
    pub(super) end: End,
}

#[derive(Debug, Clone)]
pub(super) enum Head {
    /// A status line and the header fields.
    Made { status: u16, reason: Vec<u8> },
    /// None: the parts are all that goes over the wire.
    Raw,
}

#[derive(Debug, Clone)]
pub(super) enum Part {
    Bytes(Arc<[u8]>),
    Wait(Duration),
    /// These bytes again and again, until the client goes.
    Endless(Arc<[u8]>, Duration),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// `Content-Length` with the length that the body has.
    Length,
    /// `Content-Length` with this length.
    Claim(u64),
    /// Each part is a chunk.
    Chunked,
    /// The body ends with the connection.
    Close,
}

/// What happens to the connection after the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It waits for the next request, if the client wants that.
    Keep,
    /// It is closed.
    Close,
    /// It stays open, and nothing is ever said again.
    Hang,
    /// It is reset.
    Reset,
}

/// Making an answer.
impl Resp {
    /// An answer with this status and no body.
    pub(crate) fn new(status: u16) -> Self {
        Resp {
            head: Head::Made {
                status,
                reason: reason(status).into(),
            },
            headers: Vec::new(),
            parts: Vec::new(),
            framing: Framing::Length,
            delay: Duration::ZERO,
            drip_head: None,
            truncate: None,
            end: End::Keep,
        }
    }

    /// Status 200 with a body of this type.
    pub(crate) fn ok(content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Resp::new(200)
            .header("Content-Type", content_type)
            .body(body)
    }

    /// Status 200 with a page in UTF-8.
    pub(crate) fn html(body: impl Into<Vec<u8>>) -> Self {
        Resp::ok("text/html; charset=utf-8", body)
    }

    /// Status 200 with plain text, such as a robots.txt.
    pub(crate) fn text(body: impl Into<Vec<u8>>) -> Self {
        Resp::ok("text/plain; charset=utf-8", body)
    }

    /// A redirect. The location is sent byte for byte.
    pub(crate) fn redirect(status: u16, location: impl AsRef<[u8]>) -> Self {
        Resp::new(status).header("Location", location)
    }

    /// These bytes and nothing else, then the connection is closed.
    pub(crate) fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Resp {
            head: Head::Raw,
            end: End::Close,
            ..Resp::new(200).body(bytes)
        }
    }

    /// No answer: the connection is closed.
    pub(crate) fn close() -> Self {
        Resp::raw("")
    }

    /// No answer: the connection is reset.
    pub(crate) fn reset() -> Self {
        Resp::raw("").then_reset()
    }

    /// No answer, ever, until the client goes or the server ends.
    pub(crate) fn hang() -> Self {
        Resp::raw("").then_hang()
    }
}

/// Shaping an answer.
impl Resp {
    /// Adds a header field. The value is sent byte for byte. `Content-Length`
    /// and `Transfer-Encoding` of a test's own go out beside the framing's, so
    /// use [`claim`](Self::claim) for a wrong length.
    pub(crate) fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.into(), value.as_ref().to_vec()));
        self
    }

    /// Sets the reason phrase, byte for byte.
    pub(crate) fn reason(mut self, phrase: impl AsRef<[u8]>) -> Self {
        if let Head::Made { reason, .. } = &mut self.head {
            *reason = phrase.as_ref().to_vec();
        }
        self
    }

    /// Adds to the body. With [`chunked`](Self::chunked) this is one chunk.
    pub(crate) fn body(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        let bytes: Vec<u8> = bytes.into();
        if !bytes.is_empty() {
            self.parts.push(Part::Bytes(bytes.into()));
        }
        self
    }

    /// Puts a text in place of another wherever it stands in the body.
    pub(crate) fn replacing(mut self, from: &str, to: &str) -> Self {
        for part in &mut self.parts {
            if let Part::Bytes(bytes) = part {
                let mut out = Vec::with_capacity(bytes.len());
                let mut rest = &bytes[..];
                while let Some(at) = rest
                    .windows(from.len())
                    .position(|part| part == from.as_bytes())
                {
                    out.extend_from_slice(&rest[..at]);
                    out.extend_from_slice(to.as_bytes());
                    rest = &rest[at + from.len()..];
                }
                out.extend_from_slice(rest);
                *bytes = out.into();
            }
        }
        self
    }

    /// Waits at this place of the body.
    pub(crate) fn wait(mut self, time: Duration) -> Self {
        self.parts.push(Part::Wait(time));
        self
    }

    /// Waits before the first byte.
    pub(crate) fn delay(mut self, time: Duration) -> Self {
        self.delay = time;
        self
    }

    /// Sends the body that is there by now a few bytes at a time.
    pub(crate) fn drip(mut self, size: usize, every: Duration) -> Self {
        let mut parts = Vec::new();
        for part in self.parts {
            match part {
                Part::Bytes(bytes) => {
                    for piece in bytes.chunks(size.max(1)) {
                        if !parts.is_empty() {
                            parts.push(Part::Wait(every));
                        }
                        parts.push(Part::Bytes(piece.into()));
                    }
                }
                other => parts.push(other),
            }
        }
        self.parts = parts;
        self
    }

    /// Sends the head a few bytes at a time.
    pub(crate) fn drip_head(mut self, size: usize, every: Duration) -> Self {
        self.drip_head = Some((size.max(1), every));
        self
    }

    /// Goes on with these bytes for ever, until the client goes.
    pub(crate) fn endless(mut self, bytes: impl Into<Vec<u8>>, every: Duration) -> Self {
        let bytes: Vec<u8> = bytes.into();
        self.parts.push(Part::Endless(bytes.into(), every));
        if self.framing == Framing::Length {
            self.framing = Framing::Close;
        }
        self
    }

    /// Sends the body in chunks.
    pub(crate) fn chunked(mut self) -> Self {
        self.framing = Framing::Chunked;
        self
    }

    /// Sends no length: the body ends with the connection.
    pub(crate) fn until_close(mut self) -> Self {
        self.framing = Framing::Close;
        self.end = End::Close;
        self
    }

    /// Names this length, whatever the body has, and closes after the body if
    /// it is another.
    pub(crate) fn claim(mut self, length: u64) -> Self {
        self.framing = Framing::Claim(length);
        if self.end == End::Keep && length != self.length() {
            self.end = End::Close;
        }
        self
    }

    /// Sends so many bytes of the body, though its head speaks of all, then
    /// closes the connection, unless another end was chosen.
    pub(crate) fn truncate(mut self, length: usize) -> Self {
        self.truncate = Some(length);
        if self.end == End::Keep {
            self.end = End::Close;
        }
        self
    }

    /// Closes the connection afterwards, without having said so.
    pub(crate) fn then_close(mut self) -> Self {
        self.end = End::Close;
        self
    }

    /// Says `Connection: close` and does it.
    pub(crate) fn closing(self) -> Self {
        self.header("Connection", "close").then_close()
    }

    /// Keeps the connection open afterwards, but never answers on it again: a
    /// firewall that dropped the flow.
    pub(crate) fn then_hang(mut self) -> Self {
        self.end = End::Hang;
        self
    }

    /// Resets the connection afterwards. What was sent may be lost on its way,
    /// as with a real reset.
    pub(crate) fn then_reset(mut self) -> Self {
        self.end = End::Reset;
        self
    }
}

impl Resp {
    /// The status; 0 for raw bytes.
    pub(super) fn status(&self) -> u16 {
        match self.head {
            Head::Made { status, .. } => status,
            Head::Raw => 0,
        }
    }

    /// How long the body is.
    pub(super) fn length(&self) -> u64 {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Bytes(bytes) => bytes.len() as u64,
                Part::Wait(_) | Part::Endless(..) => 0,
            })
            .sum()
    }

    /// Whether the client has a whole answer once the last byte is sent.
    pub(super) fn is_whole(&self) -> bool {
        let silent = matches!(self.head, Head::Raw) && self.parts.is_empty();
        let short = matches!(self.framing, Framing::Claim(length) if length > self.length());
        !silent && !short && self.truncate.is_none()
    }

    /// The head as it goes over the wire; empty for raw bytes.
    pub(super) fn head_bytes(&self) -> Vec<u8> {
        let Head::Made { status, reason } = &self.head else {
            return Vec::new();
        };
        let mut out = Vec::with_capacity(256);
        out.extend_from_slice(format!("HTTP/1.1 {status} ").as_bytes());
        out.extend_from_slice(reason);
        out.extend_from_slice(b"\r\n");
        for (name, value) in &self.headers {
            out.extend_from_slice(name);
            out.extend_from_slice(b": ");
            out.extend_from_slice(value);
            out.extend_from_slice(b"\r\n");
        }
        match self.framing {
            Framing::Chunked => out.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
            Framing::Claim(length) => {
                out.extend_from_slice(format!("Content-Length: {length}\r\n").as_bytes());
            }
            Framing::Length if self.may_have_body() => {
                out.extend_from_slice(format!("Content-Length: {}\r\n", self.length()).as_bytes());
            }
            Framing::Length | Framing::Close => {}
        }
        out.extend_from_slice(b"\r\n");
        out
    }

    /// 204 and 304 have neither body nor length (RFC 9110 section 8.6).
    pub(super) fn may_have_body(&self) -> bool {
        !matches!(self.status(), 204 | 304)
    }
}

/// The usual phrase; any will do, since nobody reads it.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        410 => "Gone",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Other",
    }
}
