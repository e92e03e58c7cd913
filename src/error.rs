//! [`Error`]: what went wrong with one request, or with the run.
//!
//! The kind alone decides whether a request is tried again
//! ([`ErrorKind::is_retryable`]); nothing else in the crate looks at the text.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use url::Url;

/// The result of anything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A source error, as [`Error::with_source`] takes it.
pub type BoxError = Box<dyn StdError + Send + Sync + 'static>;

/// What kind of failure an [`Error`] is. The kind decides whether the request
/// is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A URL, request or configuration that cannot be used, or a request that
    /// no route takes. Never retried.
    Invalid,
    /// Status 408, 429 or 5xx, or a page that a handler takes for a temporary
    /// error. Retried.
    Http,
    /// Any other 4xx status. Never retried.
    Rejected,
    /// A deadline passed: name lookup, connection, headers, body or the whole
    /// request. Retried.
    Timeout,
    /// Name lookup, TCP or TLS failed, or the transfer broke off. Retried.
    Connect,
    /// An extractor could not extract. Never retried.
    Extract,
    /// The body is over the limit. Never retried.
    TooLarge,
    /// A handler failed or panicked. Never retried.
    Worker,
    /// Records could not be written. Ends the run.
    Output,
    /// The state could not be read or written. Ends the run.
    State,
    /// The request was still in flight when the grace period after a stop
    /// ended. It stays pending.
    Cancelled,
}

impl ErrorKind {
    /// Every kind, in the order of the documentation.
    pub const ALL: [ErrorKind; 11] = [
        ErrorKind::Invalid,
        ErrorKind::Http,
        ErrorKind::Rejected,
        ErrorKind::Timeout,
        ErrorKind::Connect,
        ErrorKind::Extract,
        ErrorKind::TooLarge,
        ErrorKind::Worker,
        ErrorKind::Output,
        ErrorKind::State,
        ErrorKind::Cancelled,
    ];

    /// Whether a request that failed this way is tried again.
    ///
    /// ```
    /// use canter::ErrorKind;
    /// assert!(ErrorKind::Timeout.is_retryable());
    /// assert!(!ErrorKind::Rejected.is_retryable());
    /// ```
    #[must_use]
    pub fn is_retryable(self) -> bool {
        matches!(
            self,
            ErrorKind::Http | ErrorKind::Timeout | ErrorKind::Connect
        )
    }

    /// Whether the failure ends the run, since what it broke is ours.
    #[must_use]
    pub fn is_fatal(self) -> bool {
        matches!(self, ErrorKind::Output | ErrorKind::State)
    }

    /// The stable lower-case word that logs, summaries and state files use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::Invalid => "invalid",
            ErrorKind::Http => "http",
            ErrorKind::Rejected => "rejected",
            ErrorKind::Timeout => "timeout",
            ErrorKind::Connect => "connect",
            ErrorKind::Extract => "extract",
            ErrorKind::TooLarge => "too_large",
            ErrorKind::Worker => "worker",
            ErrorKind::Output => "output",
            ErrorKind::State => "state",
            ErrorKind::Cancelled => "cancelled",
        }
    }

    /// The kind that [`as_str`](Self::as_str) names, if any.
    #[must_use]
    pub fn from_word(word: &str) -> Option<ErrorKind> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a request, or the run, failed.
///
/// ```
/// use canter::{Error, ErrorKind};
/// let error = Error::new(ErrorKind::Http).with_status(503).with_message("come back later");
/// assert!(error.kind().is_retryable());
/// assert_eq!(error.to_string(), "come back later (status 503)");
/// ```
#[derive(Clone)]
pub struct Error {
    // Boxed: a `Result` of the hot path stays one word larger than its value.
    inner: Box<Inner>,
}

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    status: Option<u16>,
    url: Option<Url>,
    retry_after: Option<Duration>,
    answered: bool,
    stale: bool,
    // Shared, so that the one failed fetch of a request can be handed to every
    // extractor that asks for it.
    source: Option<Arc<dyn StdError + Send + Sync + 'static>>,
}

impl Error {
    /// An error of this kind, with no message yet.
    #[must_use]
    pub fn new(kind: ErrorKind) -> Self {
        Error {
            inner: Box::new(Inner {
                kind,
                message: String::new(),
                status: None,
                url: None,
                retry_after: None,
                answered: false,
                stale: false,
                source: None,
            }),
        }
    }

    /// A handler's own failure: kind [`ErrorKind::Worker`], not retried.
    #[must_use]
    pub fn worker(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Worker).with_message(message)
    }

    /// Kind [`ErrorKind::Invalid`] with a message.
    #[must_use]
    pub fn invalid(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Invalid).with_message(message)
    }

    /// Says what happened: lower case, no full stop.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.inner.message = message.into();
        self
    }

    /// Names the error underneath.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<BoxError>) -> Self {
        self.inner.source = Some(Arc::from(source.into()));
        self
    }

    /// Names the HTTP status that was answered.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.inner.status = Some(status);
        self
    }

    /// Names the URL it happened at.
    #[must_use]
    pub fn with_url(mut self, url: Url) -> Self {
        self.inner.url = Some(url);
        self
    }

    /// How long the site asked us to stay away.
    #[must_use]
    pub fn with_retry_after(mut self, delay: Duration) -> Self {
        self.inner.retry_after = Some(delay);
        self
    }

    /// Says that the request was sent and something came back, though it could
    /// not be read.
    #[must_use]
    pub(crate) fn with_unreadable_answer(mut self) -> Self {
        self.inner.answered = true;
        self
    }

    /// Whether something came back that could not be read.
    pub(crate) fn is_of_unreadable_answer(&self) -> bool {
        self.inner.answered
    }

    /// Says that a kept connection broke before any answer came on it.
    #[must_use]
    pub(crate) fn with_stale_connection(mut self) -> Self {
        self.inner.stale = true;
        self
    }

    /// Whether a kept connection broke before any answer came on it: that says
    /// nothing about the URL.
    pub(crate) fn is_of_stale_connection(&self) -> bool {
        self.inner.stale
    }

    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// What happened, without kind, status and source. May be empty.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.inner.message
    }

    /// The HTTP status, when an answer came.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.inner.status
    }

    /// The URL of the request that failed, when there is one.
    #[must_use]
    pub fn url(&self) -> Option<&Url> {
        self.inner.url.as_ref()
    }

    /// How long the site asked us to stay away (RFC 9110 section 10.2.3).
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.inner.retry_after
    }

    /// The error underneath, when there is one.
    #[must_use]
    pub fn source(&self) -> Option<&(dyn StdError + Send + Sync + 'static)> {
        self.inner.source.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.inner.message.is_empty() {
            f.write_str(self.inner.kind.as_str())?;
        } else {
            f.write_str(&self.inner.message)?;
        }
        if let Some(status) = self.inner.status {
            write!(f, " (status {status})")?;
        }
        if let Some(source) = &self.inner.source {
            write!(f, ": {source}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.inner.kind)
            .field("message", &self.inner.message)
            .field("status", &self.inner.status)
            .field("url", &self.inner.url.as_ref().map(Url::as_str))
            .field("retry_after", &self.inner.retry_after)
            .field("source", &self.inner.source)
            .finish()
    }
}

// `source` is part of the message above, so the chain starts below it: a
// reporter that prints the chain does not print it twice.
impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.inner.source.as_deref().and_then(StdError::source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_alone_decides_whether_a_request_is_tried_again() {
        let retried: Vec<_> = ErrorKind::ALL
            .into_iter()
            .filter(|k| k.is_retryable())
            .collect();
        assert_eq!(
            retried,
            [ErrorKind::Http, ErrorKind::Timeout, ErrorKind::Connect]
        );
    }

    #[test]
    fn every_kind_has_a_word_of_its_own_that_reads_back() {
        for kind in ErrorKind::ALL {
            assert_eq!(ErrorKind::from_word(kind.as_str()), Some(kind));
        }
        assert_eq!(ErrorKind::from_word("else"), None);
    }

    #[test]
    fn the_message_names_status_and_source() {
        let error = Error::new(ErrorKind::Connect)
            .with_message("connection reset")
            .with_status(502)
            .with_source(std::io::Error::other("peer gone"));
        assert_eq!(
            error.to_string(),
            "connection reset (status 502): peer gone"
        );
        assert_eq!(Error::new(ErrorKind::Timeout).to_string(), "timeout");
    }
}
