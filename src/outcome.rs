//! [`Outcome`]: how a handler says that its request ended, and what it wants
//! the crawl to do about it.

use std::time::Duration;

use crate::error::{BoxError, Error, ErrorKind, Result};
use crate::request::Tag;

/// Which tag a [`Outcome::Backoff`] or [`Outcome::Abort`] speaks of.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TagScope {
    /// The tag of the request at hand. Untagged requests are a tag of their own.
    Own,
    /// The tag named here.
    Tag(Tag),
}

/// How a request ended. A handler's links and records take effect with
/// [`Done`](Outcome::Done), [`Abort`](Outcome::Abort) and
/// [`Stop`](Outcome::Stop), which all end the request as done, and are dropped
/// with every other outcome.
///
/// ```
/// use std::time::Duration;
/// use canter::extract::{Html, Queue};
/// use canter::{Outcome, Result};
///
/// fn handler(page: Html, queue: Queue) -> Result<Outcome> {
///     match page.title() {
///         Some("Please slow down") => return Ok(Outcome::backoff(Duration::from_secs(60))),
///         Some("The end") => return Ok(Outcome::Stop),
///         _ => {}
///     }
///     queue.follow_all(page.links());
///     Ok(Outcome::Done)
/// }
/// # let _ = canter::handler::boxed(handler);
/// ```
#[derive(Debug)]
#[must_use = "an outcome has its effect by being returned from the handler"]
#[non_exhaustive]
pub enum Outcome {
    /// The request is done; its links and records commit.
    Done,
    /// The request is tried again, after the policy's delay or this one.
    /// Counts as an attempt.
    Retry {
        /// The delay; `None` is the policy's.
        after: Option<Duration>,
    },
    /// Every request with the tag waits, then this one is tried again. Counts
    /// as an attempt.
    Backoff {
        /// Which tag waits.
        scope: TagScope,
        /// How long it waits.
        duration: Duration,
    },
    /// This request is done; every further request with the tag is skipped.
    Abort(TagScope),
    /// This request is done; nothing new starts, requests in flight finish.
    Stop,
    /// The request failed: retried if the error's kind is retryable, else
    /// failed for good.
    Fail(Error),
    /// The run stops and `run()` returns the error.
    Fatal(Error),
}

impl Outcome {
    /// Tries the request again after the policy's delay.
    pub fn retry() -> Self {
        Outcome::Retry { after: None }
    }

    /// Tries the request again after this delay.
    pub fn retry_after(delay: Duration) -> Self {
        Outcome::Retry { after: Some(delay) }
    }

    /// Holds back every request with this request's tag, then tries again.
    pub fn backoff(duration: Duration) -> Self {
        Outcome::Backoff {
            scope: TagScope::Own,
            duration,
        }
    }

    /// Holds back every request with the given tag, then tries this one again.
    pub fn backoff_tag(tag: impl Into<Tag>, duration: Duration) -> Self {
        Outcome::Backoff {
            scope: TagScope::Tag(tag.into()),
            duration,
        }
    }

    /// Skips every further request with this request's tag.
    pub fn abort() -> Self {
        Outcome::Abort(TagScope::Own)
    }

    /// Skips every further request with the given tag.
    pub fn abort_tag(tag: impl Into<Tag>) -> Self {
        Outcome::Abort(TagScope::Tag(tag.into()))
    }

    /// Whether links and records of the attempt commit with this outcome.
    #[must_use]
    pub fn commits(&self) -> bool {
        matches!(self, Outcome::Done | Outcome::Abort(_) | Outcome::Stop)
    }
}

impl From<Error> for Outcome {
    fn from(error: Error) -> Self {
        Outcome::Fail(error)
    }
}

/// What a handler may return.
///
/// `()` and `None` are [`Outcome::Done`]; an error is [`Outcome::Fail`], with
/// kind [`ErrorKind::Worker`] when it is not an [`Error`] of this crate.
pub trait IntoOutcome {
    /// The outcome that the value stands for.
    fn into_outcome(self) -> Outcome;
}

impl IntoOutcome for () {
    fn into_outcome(self) -> Outcome {
        Outcome::Done
    }
}

impl IntoOutcome for Outcome {
    fn into_outcome(self) -> Outcome {
        self
    }
}

impl IntoOutcome for Error {
    fn into_outcome(self) -> Outcome {
        Outcome::Fail(self)
    }
}

impl IntoOutcome for BoxError {
    fn into_outcome(self) -> Outcome {
        match self.downcast::<Error>() {
            Ok(error) => Outcome::Fail(*error),
            Err(other) => {
                Outcome::Fail(Error::new(ErrorKind::Worker).with_message(other.to_string()))
            }
        }
    }
}

impl<T: IntoOutcome> IntoOutcome for Option<T> {
    fn into_outcome(self) -> Outcome {
        self.map_or(Outcome::Done, IntoOutcome::into_outcome)
    }
}

impl<T: IntoOutcome, E: IntoOutcome> IntoOutcome for Result<T, E> {
    fn into_outcome(self) -> Outcome {
        match self {
            Ok(value) => value.into_outcome(),
            Err(error) => error.into_outcome(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_handler_returns_becomes_the_outcome_of_the_table() {
        assert!(matches!(().into_outcome(), Outcome::Done));
        assert!(matches!(Some(Outcome::Stop).into_outcome(), Outcome::Stop));
        assert!(matches!(None::<()>.into_outcome(), Outcome::Done));
        assert!(matches!(Ok::<(), Error>(()).into_outcome(), Outcome::Done));
        let Outcome::Fail(error) = Err::<(), _>(Error::new(ErrorKind::Http)).into_outcome() else {
            panic!("an error fails the request");
        };
        assert_eq!(error.kind(), ErrorKind::Http);
    }

    #[test]
    fn a_boxed_error_keeps_its_kind_if_it_is_ours_and_is_the_workers_otherwise() {
        let ours: BoxError = Box::new(Error::new(ErrorKind::Timeout));
        let Outcome::Fail(error) = ours.into_outcome() else {
            panic!()
        };
        assert_eq!(error.kind(), ErrorKind::Timeout);
        let foreign: BoxError = "no such field".into();
        let Outcome::Fail(error) = Err::<(), BoxError>(foreign).into_outcome() else {
            panic!()
        };
        assert_eq!(error.kind(), ErrorKind::Worker);
        assert_eq!(error.message(), "no such field");
    }
}
