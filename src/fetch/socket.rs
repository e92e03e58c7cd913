//! [`Socket`]: a TCP connection whose every operation ends by a deadline.
//!
//! Invariant: no read, write or connect outlives the deadline given with it,
//! however slowly the peer feeds bytes: each turn of a loop measures anew what
//! is left.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// The socket's own timeout while the deadline is further off than that. It
/// only makes a waiting thread look at the clock, so it need not follow the
/// deadline from call to call: a request to a quick peer sets none at all.
const COARSE_TIMEOUT: Duration = Duration::from_secs(5);
/// The shortest timeout that a socket takes: zero would mean none.
const LEAST_TIMEOUT: Duration = Duration::from_millis(1);

/// A connected TCP stream.
#[derive(Debug)]
pub(super) struct Socket {
    stream: TcpStream,
    read_timeout: Option<Duration>,
    write_timeout: Option<Duration>,
}

impl Socket {
    /// Connects to the first address that answers; each gets an equal part of
    /// the time that is left when its turn comes.
    pub(super) fn connect(
        addresses: &[IpAddr],
        port: u16,
        deadline: Instant,
    ) -> io::Result<Socket> {
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for (turn, &address) in addresses.iter().enumerate() {
            let left = time_left(deadline)?;
            let share = left / u32::try_from(addresses.len() - turn).unwrap_or(u32::MAX);
            let address = SocketAddr::new(address, port);
            match TcpStream::connect_timeout(&address, share.max(LEAST_TIMEOUT)) {
                Ok(stream) => {
                    // Without it the head of a request waits for the peer's
                    // acknowledgement of the one before.
                    stream.set_nodelay(true)?;
                    return Ok(Socket {
                        stream,
                        read_timeout: None,
                        write_timeout: None,
                    });
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Reads what is there, or waits for it; 0 bytes is the end.
    pub(super) fn read(&mut self, buffer: &mut [u8], deadline: Instant) -> io::Result<usize> {
        loop {
            let timeout = timeout_for(time_left(deadline)?);
            if self.read_timeout != Some(timeout) {
                self.stream.set_read_timeout(Some(timeout))?;
                self.read_timeout = Some(timeout);
            }
            match self.stream.read(buffer) {
                Err(error) if is_pause(&error) => {}
                result => return result,
            }
        }
    }

    /// Writes all of it.
    pub(super) fn write_all(&mut self, mut bytes: &[u8], deadline: Instant) -> io::Result<()> {
        while !bytes.is_empty() {
            let timeout = timeout_for(time_left(deadline)?);
            if self.write_timeout != Some(timeout) {
                self.stream.set_write_timeout(Some(timeout))?;
                self.write_timeout = Some(timeout);
            }
            match self.stream.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => bytes = &bytes[written..],
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether the connection is open and nothing has come on it: bytes that
    /// nobody asked for would be taken for the answer to the next request.
    pub(super) fn is_quiet(&self) -> bool {
        let quiet = self.stream.set_nonblocking(true).is_ok()
            && matches!(self.stream.peek(&mut [0]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock);
        quiet && self.stream.set_nonblocking(false).is_ok()
    }
}

fn time_left(deadline: Instant) -> io::Result<Duration> {
    deadline
        .checked_duration_since(Instant::now())
        .filter(|left| !left.is_zero())
        .ok_or_else(|| io::ErrorKind::TimedOut.into())
}

fn timeout_for(left: Duration) -> Duration {
    if left > COARSE_TIMEOUT {
        COARSE_TIMEOUT
    } else {
        left.max(LEAST_TIMEOUT)
    }
}

/// Whether the operation ended only to be begun again: the socket's timeout
/// passed, which need not be the deadline, or a signal came.
fn is_pause(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};
    use std::thread;

    use super::*;

    const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn pair() -> (Socket, TcpStream) {
        let listener = TcpListener::bind((LOOPBACK, 0)).expect("bind");
        let port = listener.local_addr().expect("address").port();
        let deadline = Instant::now() + Duration::from_secs(20);
        let socket = Socket::connect(&[LOOPBACK], port, deadline).expect("connect");
        (socket, listener.accept().expect("accept").0)
    }

    #[test]
    fn a_read_ends_at_the_deadline_though_the_socket_timeout_is_coarser() {
        let (mut socket, _peer) = pair();
        let begin = Instant::now();
        let deadline = begin + Duration::from_millis(30);
        let error = socket.read(&mut [0; 8], deadline).expect_err("times out");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(begin.elapsed() >= Duration::from_millis(30));
        assert!(begin.elapsed() < Duration::from_secs(4));
    }

    #[test]
    fn a_write_to_a_peer_that_does_not_read_ends_at_the_deadline() {
        let (mut socket, _peer) = pair();
        let deadline = Instant::now() + Duration::from_millis(50);
        let much = vec![0; 64 << 20];
        let error = socket.write_all(&much, deadline).expect_err("times out");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_connection_is_quiet_until_bytes_or_the_end_come() {
        let (socket, mut peer) = pair();
        assert!(socket.is_quiet());
        peer.write_all(b"x").expect("write");
        let deadline = Instant::now() + Duration::from_secs(20);
        while socket.is_quiet() {
            assert!(Instant::now() < deadline);
            thread::yield_now();
        }
        let (socket, peer) = pair();
        drop(peer);
        while socket.is_quiet() {
            assert!(Instant::now() < deadline);
            thread::yield_now();
        }
    }

    #[test]
    fn the_next_address_is_tried_when_one_refuses() {
        let listener = TcpListener::bind((LOOPBACK, 0)).expect("bind");
        let port = listener.local_addr().expect("address").port();
        let refuses = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 77));
        let deadline = Instant::now() + Duration::from_secs(20);
        Socket::connect(&[refuses, LOOPBACK], port, deadline).expect("the second");
        assert!(Socket::connect(&[refuses], port, deadline).is_err());
        assert!(Socket::connect(&[LOOPBACK], port, Instant::now()).is_err());
    }
}
