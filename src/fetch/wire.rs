//! [`Wire`]: one connection to a server, with its buffers.
//!
//! Invariant: the buffers start small and grow only as far as the head of an
//! answer needs, up to [`MAX_HEAD`]; every wait ends by the deadline of the
//! request at hand.

use std::fmt;
use std::io;
use std::time::Instant;

use ureq::unversioned::transport::time::Duration as Span;
use ureq::unversioned::transport::{Buffers, NextTimeout, Transport};

use super::fault::Fault;
use super::head;
use super::pool::Route;
use super::socket::Socket;

/// Input buffer of a connection, in bytes: most pages and every TLS record fit.
pub(super) const INPUT_SIZE: usize = 16 * 1024;
/// Output buffer of a connection, in bytes: the head of a request fits.
pub(super) const OUTPUT_SIZE: usize = 4 * 1024;
/// The longest head of an answer, in bytes. Servers send a few hundred; the
/// most generous ones that are still in order send some tens of thousands.
pub(super) const MAX_HEAD: usize = 64 * 1024;

/// An open connection.
pub(super) struct Wire {
    io: Channel,
    buffers: GrowingBuffers,
    route: Route,
    forward: Option<Box<Forward>>,
    /// Whether what comes next is a head.
    before_head: bool,
}

enum Channel {
    Plain(Socket),
    /// TLS, or a tunnel through a proxy, as ureq's connectors make them.
    Layered(Box<dyn Transport>),
}

/// How requests are put to a proxy that forwards them (RFC 9112 section
/// 3.2.2): the whole URL in the request line, and the proxy's credentials.
#[derive(Debug)]
pub(super) struct Forward {
    /// A whole header line, or nothing.
    pub(super) authorization: String,
}

impl Wire {
    pub(super) fn plain(socket: Socket, route: Route, forward: Option<Box<Forward>>) -> Box<Wire> {
        Wire::new(Channel::Plain(socket), route, forward)
    }

    pub(super) fn layered(
        transport: Box<dyn Transport>,
        route: Route,
        forward: Option<Box<Forward>>,
    ) -> Box<Wire> {
        Wire::new(Channel::Layered(transport), route, forward)
    }

    fn new(io: Channel, route: Route, forward: Option<Box<Forward>>) -> Box<Wire> {
        Box::new(Wire {
            io,
            buffers: GrowingBuffers::new(INPUT_SIZE, OUTPUT_SIZE),
            route,
            forward,
            before_head: true,
        })
    }

    pub(super) fn route(&self) -> &Route {
        &self.route
    }

    pub(super) fn buffers(&mut self) -> &mut GrowingBuffers {
        &mut self.buffers
    }

    /// Whether requests on it name the whole URL.
    pub(super) fn forward(&self) -> Option<&Forward> {
        self.forward.as_deref()
    }

    pub(super) fn is_tls(&self) -> bool {
        match &self.io {
            Channel::Plain(_) => false,
            Channel::Layered(transport) => transport.is_tls(),
        }
    }

    /// Whether the connection is open and no byte of it is unread.
    pub(super) fn is_quiet(&mut self) -> bool {
        self.buffers.input().is_empty()
            && match &mut self.io {
                Channel::Plain(socket) => socket.is_quiet(),
                Channel::Layered(transport) => {
                    transport.buffers().input().is_empty() && transport.is_open()
                }
            }
    }

    /// Sends the first bytes of the output buffer.
    pub(super) fn send_output(
        &mut self,
        amount: usize,
        timing: &Timing,
    ) -> Result<(), ureq::Error> {
        self.before_head = true;
        send(&mut self.io, &self.buffers.output[..amount], timing)
    }

    /// Sends bytes from elsewhere.
    pub(super) fn send(&mut self, bytes: &[u8], timing: &Timing) -> Result<(), ureq::Error> {
        self.before_head = true;
        send(&mut self.io, bytes, timing)
    }

    /// Waits for input; `Ok(0)` is the end of it. A head comes as a whole, and
    /// mended.
    pub(super) fn receive(&mut self, timing: &Timing) -> Result<usize, ureq::Error> {
        let mut amount = self.receive_some(timing)?;
        let mut fresh = amount;
        while self.before_head && fresh > 0 {
            let input = self.buffers.input();
            // Nothing but the end of a line ends a head.
            if fresh == amount || input[input.len() - fresh..].contains(&b'\n') {
                match self.buffers.mend_heads() {
                    Heads::Last => self.before_head = false,
                    Heads::Interim => break,
                    Heads::Partial => {}
                }
            }
            if self.before_head {
                // What is there comes first; the next wait ends the same.
                fresh = self.receive_some(timing).unwrap_or(0);
                amount += fresh;
            }
        }
        Ok(amount)
    }

    fn receive_some(&mut self, timing: &Timing) -> Result<usize, ureq::Error> {
        let room = self.buffers.room()?;
        let amount = match &mut self.io {
            Channel::Plain(socket) => socket
                .read(room, timing.deadline)
                .map_err(|error| timing.fault(error))?,
            Channel::Layered(transport) => {
                transport.maybe_await_input(timing.next())?;
                let inner = transport.buffers();
                let input = inner.input();
                let amount = input.len().min(room.len());
                room[..amount].copy_from_slice(&input[..amount]);
                inner.input_consume(amount);
                amount
            }
        };
        self.buffers.input_appended(amount);
        Ok(amount)
    }
}

fn send(io: &mut Channel, mut bytes: &[u8], timing: &Timing) -> Result<(), ureq::Error> {
    match io {
        Channel::Plain(socket) => socket
            .write_all(bytes, timing.deadline)
            .map_err(|error| timing.fault(error).into()),
        Channel::Layered(transport) => {
            while !bytes.is_empty() {
                let output = transport.buffers().output();
                let amount = bytes.len().min(output.len());
                output[..amount].copy_from_slice(&bytes[..amount]);
                transport.transmit_output(amount, timing.next())?;
                bytes = &bytes[amount..];
            }
            Ok(())
        }
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire")
            .field("route", &self.route)
            .finish_non_exhaustive()
    }
}

/// The deadline of an operation and what it is for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timing {
    pub(super) deadline: Instant,
    pub(super) doing: &'static str,
}

impl Timing {
    /// The time that is left, as ureq's transports take it.
    pub(super) fn next(&self) -> NextTimeout {
        let left = self.deadline.saturating_duration_since(Instant::now());
        NextTimeout {
            after: Span::from(left),
            ..NextTimeout::default()
        }
    }

    pub(super) fn fault(&self, error: io::Error) -> Fault {
        if error.kind() == io::ErrorKind::TimedOut {
            Fault::Timeout(self.doing)
        } else {
            Fault::Connection(self.doing, error)
        }
    }
}

/// What heads an input begins with.
enum Heads {
    /// The last of them is not all there yet.
    Partial,
    /// Whole ones, and all of interim answers (RFC 9110 section 15.2).
    Interim,
    /// What comes after them is no head.
    Last,
}

/// ureq's buffers over plain vectors.
#[derive(Debug)]
pub(super) struct GrowingBuffers {
    input: Vec<u8>,
    consumed: usize,
    filled: usize,
    progress: bool,
    output: Vec<u8>,
}

impl GrowingBuffers {
    pub(super) fn new(input: usize, output: usize) -> GrowingBuffers {
        GrowingBuffers {
            input: vec![0; input],
            consumed: 0,
            filled: 0,
            progress: false,
            output: vec![0; output],
        }
    }

    /// Makes the output buffer this long; one line of a request's head has to
    /// fit in whole.
    pub(super) fn set_output_size(&mut self, size: usize) {
        if self.output.len() != size {
            self.output.resize(size, 0);
            self.output.shrink_to_fit();
        }
    }

    /// Room for more input; grows when what is there is one unfinished head.
    pub(super) fn room(&mut self) -> Result<&mut [u8], Fault> {
        if self.consumed > 0 {
            self.input.copy_within(self.consumed..self.filled, 0);
            self.filled -= self.consumed;
            self.consumed = 0;
        }
        if self.filled == self.input.len() {
            if self.filled >= MAX_HEAD {
                return Err(Fault::LongHead(MAX_HEAD));
            }
            self.input.resize((self.filled * 2).min(MAX_HEAD), 0);
        }
        Ok(&mut self.input[self.filled..])
    }

    /// Mends the heads that the input begins with.
    fn mend_heads(&mut self) -> Heads {
        let mut at = self.consumed;
        loop {
            let rest = &self.input[at..self.filled];
            at += rest
                .iter()
                .take_while(|byte| b"\r\n".contains(byte))
                .count();
            let rest = &self.input[at..self.filled];
            if rest.is_empty() && at > self.consumed {
                return Heads::Interim;
            }
            let length = match head::start(rest) {
                head::Start::Partial => return Heads::Partial,
                head::Start::Foreign => return Heads::Last,
                head::Start::Head(length) => length,
            };
            let is_interim = head::is_interim(rest);
            let mended = head::mend(&rest[..length]);
            let end = match mended {
                Some(mended) => {
                    let end = at + mended.len();
                    self.input[at..end].copy_from_slice(&mended);
                    self.input.copy_within(at + length..self.filled, end);
                    self.filled -= length - mended.len();
                    end
                }
                None => at + length,
            };
            if !is_interim {
                return Heads::Last;
            }
            at = end;
        }
    }

    /// Gives back what a long head has taken.
    pub(super) fn shrink(&mut self) {
        if self.input.len() > INPUT_SIZE && self.filled == self.consumed {
            self.input.truncate(INPUT_SIZE);
            self.input.shrink_to_fit();
            (self.consumed, self.filled) = (0, 0);
        }
    }
}

impl Buffers for GrowingBuffers {
    fn output(&mut self) -> &mut [u8] {
        &mut self.output
    }

    fn input(&self) -> &[u8] {
        &self.input[self.consumed..self.filled]
    }

    fn input_append_buf(&mut self) -> &mut [u8] {
        &mut self.input[self.filled..]
    }

    fn input_appended(&mut self, amount: usize) {
        self.filled = (self.filled + amount).min(self.input.len());
    }

    fn input_consume(&mut self, amount: usize) {
        self.progress = amount > 0;
        self.consumed = (self.consumed + amount).min(self.filled);
        if self.consumed == self.filled {
            (self.consumed, self.filled) = (0, 0);
        }
    }

    fn tmp_and_output(&mut self) -> (&mut [u8], &mut [u8]) {
        // A request's body is read into the free part of the input. An empty
        // one would look like the end of the body.
        if self.input.len() - self.filled < OUTPUT_SIZE {
            self.input.resize(self.filled + OUTPUT_SIZE, 0);
        }
        (&mut self.input[self.filled..], &mut self.output)
    }

    fn can_use_input(&self) -> bool {
        self.filled > self.consumed && self.progress
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(buffers: &mut GrowingBuffers, byte: u8) -> usize {
        let room = buffers.room().expect("room");
        room.fill(byte);
        let amount = room.len();
        buffers.input_appended(amount);
        amount
    }

    #[test]
    fn the_input_grows_for_one_long_head_and_no_further_than_that() {
        let mut buffers = GrowingBuffers::new(INPUT_SIZE, OUTPUT_SIZE);
        let mut total = 0;
        while total < MAX_HEAD {
            total += fill(&mut buffers, b'x');
        }
        assert_eq!(total, MAX_HEAD);
        assert!(matches!(buffers.room(), Err(Fault::LongHead(MAX_HEAD))));
        buffers.input_consume(total);
        buffers.shrink();
        assert_eq!(buffers.room().expect("room").len(), INPUT_SIZE);
    }

    #[test]
    fn unread_input_moves_to_the_front_and_is_kept() {
        let mut buffers = GrowingBuffers::new(8, 8);
        fill(&mut buffers, b'a');
        buffers.input_consume(5);
        assert_eq!(fill(&mut buffers, b'b'), 5);
        assert_eq!(buffers.input(), b"aaabbbbb");
        assert!(buffers.can_use_input());
        buffers.input_consume(0);
        assert!(!buffers.can_use_input());
    }
}
