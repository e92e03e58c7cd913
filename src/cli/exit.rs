//! [`Exit`]: how the program ends. The codes are part of the interface: a
//! script that runs the program may rely on each of them.

use std::process::ExitCode;

use super::signal;
use crate::crawler::RunEnd;
use crate::error::{Error, ErrorKind};
use crate::ledger::Fault;

/// How a run of the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The crawl is complete, or what was asked for is done.
    Complete,
    /// Something of ours failed: the disk is full, the output not writable.
    Failure,
    /// The command line or the configuration cannot be used.
    Usage,
    /// A bound was reached; the rest is pending.
    Bound,
    /// A stop rule ended the run: the site refuses.
    Refused,
    /// Nothing could be fetched.
    Nothing,
    /// Another run holds the state.
    Locked,
    /// The state is damaged or belongs to something else.
    State,
    /// A signal stopped the run; the rest is pending.
    Signal(u8),
}

/// What shells add to the number of the signal that ended a program.
pub(super) const SIGNAL_BASE: u8 = 128;

impl Exit {
    /// Every word of [`word`](Self::word).
    pub(super) const WORDS: [&'static str; 6] = [
        "complete",
        "bound",
        "refused",
        "nothing",
        "interrupted",
        "error",
    ];

    /// The process's exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Complete => 0,
            Exit::Failure => 1,
            Exit::Usage => 2,
            Exit::Bound => 3,
            Exit::Refused => 4,
            Exit::Nothing => 5,
            Exit::Locked => 6,
            Exit::State => 7,
            Exit::Signal(number) => SIGNAL_BASE.saturating_add(number),
        }
    }

    /// How the program ends after a run that ended so; `signal` is the one that
    /// stopped it, if one did.
    pub(crate) fn of_end(end: Option<RunEnd>, signal: Option<u8>) -> Exit {
        match end {
            Some(RunEnd::Complete) => Exit::Complete,
            Some(RunEnd::Bound(_)) => Exit::Bound,
            Some(RunEnd::Refused(_) | RunEnd::HostsParked) => Exit::Refused,
            Some(RunEnd::Nothing) => Exit::Nothing,
            // Nothing but a signal stops this program's crawls.
            Some(RunEnd::Stopped) => Exit::Signal(signal.unwrap_or(signal::TERM)),
            Some(RunEnd::Error) | None => Exit::Failure,
        }
    }

    /// How the program ends after an error. When the reader of the records has
    /// gone, it ends like other programs on a pipe: as if by SIGPIPE.
    pub(crate) fn of_error(error: &Error) -> Exit {
        match Fault::of(error) {
            Some(Fault::Held(_)) => Exit::Locked,
            Some(
                Fault::Damaged(_) | Fault::Foreign(_) | Fault::Newer(_) | Fault::OutputLost(_),
            ) => Exit::State,
            Some(fault) if fault.is_closed_pipe() => Exit::Signal(signal::PIPE),
            None if error.kind() == ErrorKind::Invalid => Exit::Usage,
            _ => Exit::Failure,
        }
    }

    /// The stable word of the summary.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Exit::Complete => "complete",
            Exit::Bound => "bound",
            Exit::Refused => "refused",
            Exit::Nothing => "nothing",
            Exit::Signal(_) => "interrupted",
            Exit::Failure | Exit::Usage | Exit::Locked | Exit::State => "error",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn of(fault: Fault) -> Exit {
        let error = Error::new(ErrorKind::Output).with_message("cannot write x");
        Exit::of_error(&error.with_source(fault))
    }

    #[test]
    fn errors_have_the_code_of_what_is_wrong() {
        assert_eq!(of(Fault::Held("x".into())), Exit::Locked);
        assert_eq!(of(Fault::Damaged("x".into())), Exit::State);
        assert_eq!(of(Fault::OutputLost("x".into())), Exit::State);
        let io = |kind: io::ErrorKind| Fault::Io(kind.into());
        assert_eq!(of(io(io::ErrorKind::StorageFull)), Exit::Failure);
        assert_eq!(of(io(io::ErrorKind::BrokenPipe)).code(), 141);
        assert_eq!(Exit::of_error(&Error::invalid("x")), Exit::Usage);
        assert_eq!(Exit::of_error(&Error::worker("x")), Exit::Failure);
    }

    #[test]
    fn the_codes_are_those_of_the_documentation() {
        let codes = [
            Exit::Complete,
            Exit::Failure,
            Exit::Usage,
            Exit::Bound,
            Exit::Refused,
            Exit::Nothing,
            Exit::Locked,
            Exit::State,
            Exit::Signal(2),
            Exit::Signal(15),
        ]
        .map(Exit::code);
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 7, 130, 143]);
    }
}
