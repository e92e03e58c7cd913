//! [`Fault`]: what goes wrong below ureq, carried through it unchanged, and
//! the map from ureq's errors to this crate's kinds.
//!
//! Invariant: every failure of the client ends here as one [`Error`] with the
//! kind of the table in [`crate::ErrorKind`]; none of them panics, and none
//! names a password.

use std::fmt;
use std::io;

use ureq::Error as Ureq;

use crate::error::{Error, ErrorKind};

/// A failure of this crate's own resolver, connector or transport.
#[derive(Debug)]
pub(super) enum Fault {
    /// A kept connection broke before a byte of the answer came: idling did it,
    /// most likely, and not the request.
    Stale,
    /// The address must not be connected to.
    Refused(String),
    /// The host's name could not be looked up.
    Lookup(String),
    /// The deadline passed while doing this.
    Timeout(&'static str),
    /// The connection could not be made, or broke off.
    Connection(&'static str, io::Error),
    /// The head of the answer is longer than this many bytes.
    LongHead(usize),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Stale => f.write_str("the kept connection was closed before an answer came"),
            Fault::Refused(why) | Fault::Lookup(why) => f.write_str(why),
            Fault::Timeout(doing) => write!(f, "timed out {doing}"),
            Fault::Connection(doing, error) => write!(f, "{doing}: {error}"),
            Fault::LongHead(limit) => {
                write!(f, "the head of the answer is over {limit} bytes")
            }
        }
    }
}

impl std::error::Error for Fault {}

impl From<Fault> for Ureq {
    fn from(fault: Fault) -> Self {
        Ureq::Other(Box::new(fault))
    }
}

/// Unwraps what adapters have wrapped in an I/O error on its way up.
fn unwrapped(error: Ureq) -> Ureq {
    match error {
        // `From` undoes the wrapping if there is one.
        Ureq::Io(io) => match Ureq::from(io) {
            Ureq::Io(io) => Ureq::Io(io),
            inner => unwrapped(inner),
        },
        other => other,
    }
}

/// This crate's error for one of ureq's.
pub(super) fn error_of(error: Ureq) -> Error {
    let (kind, message) = match unwrapped(error) {
        Ureq::Other(inner) => match inner.downcast::<Fault>() {
            Ok(fault) => return fault.into_error(),
            Err(other) => (ErrorKind::Connect, other.to_string()),
        },
        Ureq::Timeout(_) => (ErrorKind::Timeout, "timed out".to_owned()),
        Ureq::Io(error) => return io_error(&error),
        Ureq::Protocol(error) => return unreadable(format!("the answer is not HTTP: {error}")),
        // There are bytes, and no reading them brings the body on.
        Ureq::BodyStalled => {
            return unreadable("the answer is not HTTP: its body has no readable chunks");
        }
        Ureq::LargeResponseHeader(_, limit) => return Fault::LongHead(limit).into_error(),
        Ureq::Http(error) => (
            ErrorKind::Invalid,
            format!("the request is not valid: {error}"),
        ),
        Ureq::BadUri(why) => (ErrorKind::Invalid, format!("the URL is not valid: {why}")),
        Ureq::InvalidProxyUrl => (ErrorKind::Invalid, "the proxy URL is not valid".to_owned()),
        Ureq::BodyExceedsLimit(limit) => (
            ErrorKind::TooLarge,
            format!("the body is over {limit} bytes"),
        ),
        other => (ErrorKind::Connect, other.to_string()),
    };
    Error::new(kind).with_message(message)
}

/// The peer spoke, but not HTTP as we can read it. Asking again would bring the
/// same, so it is not retried as a transient failure is.
fn unreadable(message: impl Into<String>) -> Error {
    Error::invalid(message).with_unreadable_answer()
}

fn io_error(error: &io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => ErrorKind::Timeout,
        _ => ErrorKind::Connect,
    };
    let message = match error.kind() {
        io::ErrorKind::UnexpectedEof => "the connection was closed in mid-transfer".to_owned(),
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "timed out".to_owned(),
        _ => error.to_string(),
    };
    Error::new(kind).with_message(message)
}

impl Fault {
    fn into_error(self) -> Error {
        if let Fault::LongHead(_) = self {
            return unreadable(self.to_string());
        }
        let error = Error::new(self.kind()).with_message(self.to_string());
        match self {
            Fault::Stale => error.with_stale_connection(),
            _ => error,
        }
    }

    fn kind(&self) -> ErrorKind {
        match self {
            Fault::Refused(_) | Fault::LongHead(_) => ErrorKind::Invalid,
            Fault::Timeout(_) => ErrorKind::Timeout,
            Fault::Stale | Fault::Lookup(_) | Fault::Connection(..) => ErrorKind::Connect,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_keeps_its_kind_through_the_layers_of_ureq() {
        let wrapped = Ureq::Io(Ureq::from(Fault::Timeout("connecting")).into_io());
        let error = error_of(Ureq::Io(wrapped.into_io()));
        assert_eq!(error.kind(), ErrorKind::Timeout);
        assert_eq!(error.to_string(), "timed out connecting");

        let stale = Ureq::Io(Ureq::from(Fault::Stale).into_io());
        let stale = error_of(stale);
        assert_eq!(stale.kind(), ErrorKind::Connect);
        assert!(stale.is_of_stale_connection());
        assert!(!error_of(Ureq::ConnectionFailed).is_of_stale_connection());
    }

    #[test]
    fn an_answer_that_is_not_http_is_not_retried_and_a_broken_transfer_is() {
        let odd = error_of(Ureq::LargeResponseHeader(70_000, 65_536));
        assert_eq!(odd.kind(), ErrorKind::Invalid);
        assert!(odd.is_of_unreadable_answer());
        let stalled = error_of(Ureq::BodyStalled);
        assert_eq!(stalled.kind(), ErrorKind::Invalid);
        let refused = error_of(Fault::Refused("private".to_owned()).into());
        assert_eq!(refused.kind(), ErrorKind::Invalid);
        assert!(!refused.is_of_unreadable_answer());
        let broken = error_of(Ureq::Io(io::ErrorKind::UnexpectedEof.into()));
        assert_eq!(broken.kind(), ErrorKind::Connect);
        let late = error_of(Ureq::Timeout(ureq::Timeout::Global));
        assert_eq!(late.kind(), ErrorKind::Timeout);
    }
}
