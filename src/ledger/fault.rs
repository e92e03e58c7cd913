//! [`Fault`]: why a ledger cannot be used, for whoever picks an exit code.
//! Keeps: a run that meets any of them but [`Fault::Io`] has changed nothing.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::Path;

use crate::error::{Error, ErrorKind};

/// Why a ledger cannot be opened or written: the source of an [`Error`] of
/// kind [`Output`](ErrorKind::Output) or [`State`](ErrorKind::State).
///
/// ```
/// use canter::ledger::{Fault, Ledger};
/// let error = Ledger::status("/no/such/folder".as_ref()).unwrap_err();
/// assert!(matches!(Fault::of(&error), Some(Fault::Io(_))));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Fault {
    /// Another run holds the state or an output.
    Held(String),
    /// The state file is not what was written.
    Damaged(String),
    /// The state is of another crawl.
    Foreign(String),
    /// The state was written by a later version.
    Newer(String),
    /// The output lacks bytes that the state knows to be written.
    OutputLost(String),
    /// The system said no: disk full, no permission, pipe closed.
    Io(io::Error),
}

impl Fault {
    /// The fault that an error was made of, if it was.
    #[must_use]
    pub fn of(error: &Error) -> Option<&Fault> {
        error.source()?.downcast_ref()
    }

    /// Whether the reader of a pipe has gone.
    #[must_use]
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Fault::Io(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The error of the state at `path`.
    pub(super) fn state(self, doing: &str, path: &Path) -> Error {
        self.into_error(ErrorKind::State, doing, path)
    }

    /// The error of the output at `path`.
    pub(super) fn output(self, doing: &str, path: &Path) -> Error {
        self.into_error(ErrorKind::Output, doing, path)
    }

    fn into_error(self, kind: ErrorKind, doing: &str, path: &Path) -> Error {
        Error::new(kind)
            .with_message(format!("{doing} {}", path.display()))
            .with_source(self)
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Fault::Io(error)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Held(text)
            | Fault::Damaged(text)
            | Fault::Foreign(text)
            | Fault::Newer(text)
            | Fault::OutputLost(text) => f.write_str(text),
            Fault::Io(error) => error.fmt(f),
        }
    }
}

impl StdError for Fault {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Fault::Io(error) => error.source(),
            _ => None,
        }
    }
}
