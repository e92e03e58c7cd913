//! [`StatusPolicy`]: which statuses are failures.
//!
//! Invariant: it depends on the status alone, so the same answer is judged the
//! same for a page, a hop, a robots file and a sitemap.

use std::time::Duration;

use super::Response;
use crate::error::{Error, ErrorKind, Result};

/// How the status of an answer is judged before the handler sees it.
///
/// ```
/// use std::time::Duration;
/// use canter::fetch::{Response, StatusPolicy};
/// use canter::{ErrorKind, Request};
///
/// let url = Request::get("http://a.test/")?.url().clone();
/// let busy = Response::new(url, 503);
/// let wait = Some(Duration::from_secs(7));
/// let error = StatusPolicy::Classify.check(&busy, wait).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Http);
/// assert_eq!(error.retry_after(), wait);
/// assert!(StatusPolicy::Accept.check(&busy, wait).is_ok());
/// # Ok::<(), canter::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StatusPolicy {
    /// 408, 429 and 5xx are [`ErrorKind::Http`] and retried; any other 4xx is
    /// [`ErrorKind::Rejected`]. So is 304 to a request without a condition,
    /// which brings nothing to be called unchanged, and a status that is not a final one of
    /// HTTP: 1xx, and 600 to 999, which RFC 9110 section 15 would have read as
    /// 5xx, but whose users mean it as a refusal.
    #[default]
    Classify,
    /// Every answer reaches the handler.
    Accept,
}

impl StatusPolicy {
    /// Whether the answer goes on to the handler. `retry_after` is what its
    /// `Retry-After` asks for, if anything.
    ///
    /// # Errors
    /// [`ErrorKind::Http`] or [`ErrorKind::Rejected`] with the status and the
    /// URL; the former with `retry_after`.
    pub fn check(self, response: &Response, retry_after: Option<Duration>) -> Result<()> {
        let status = response.status();
        let kind = match (self, status) {
            (StatusPolicy::Accept, _) | (StatusPolicy::Classify, 200..=303 | 305..=399) => {
                return Ok(());
            }
            (StatusPolicy::Classify, 408 | 429 | 500..=599) => ErrorKind::Http,
            (StatusPolicy::Classify, _) => ErrorKind::Rejected,
        };
        let error = Error::new(kind)
            .with_message(meaning(status))
            .with_status(status)
            .with_url(super::credentials::without(response.url()));
        Err(match retry_after {
            Some(delay) if kind == ErrorKind::Http => error.with_retry_after(delay),
            _ => error,
        })
    }
}

fn meaning(status: u16) -> &'static str {
    match status {
        304 => "the page is said to be unchanged, and nobody asked",
        401 => "authentication is asked for",
        403 => "access is forbidden",
        404 => "there is no such page",
        407 => "the proxy asks for authentication",
        408 => "the server waited too long for the request",
        410 => "the page is gone",
        429 => "the server got too many requests",
        451 => "the page is withheld for legal reasons",
        503 => "the server is unavailable for now",
        500..=599 => "the server failed",
        400..=499 => "the server rejected the request",
        _ => "the server gave no final status of HTTP",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(status: u16) -> Option<ErrorKind> {
        let url = "http://u:p@a.test/x".parse().expect("url");
        let wait = Some(Duration::from_secs(5));
        let result = StatusPolicy::Classify.check(&Response::new(url, status), wait);
        result.err().map(|error| {
            assert_eq!(error.status(), Some(status));
            assert_eq!(error.url().map(url::Url::as_str), Some("http://a.test/x"));
            assert_eq!(
                error.retry_after().is_some(),
                error.kind() == ErrorKind::Http
            );
            error.kind()
        })
    }

    #[test]
    fn only_what_may_pass_is_retried() {
        for status in [200, 204, 206, 301, 305, 399] {
            assert_eq!(judged(status), None, "{status}");
        }
        for status in [408, 429, 500, 502, 503, 504, 520, 599] {
            assert_eq!(judged(status), Some(ErrorKind::Http), "{status}");
        }
        for status in [304, 400, 401, 403, 404, 410, 418, 451, 499, 101, 600, 999] {
            assert_eq!(judged(status), Some(ErrorKind::Rejected), "{status}");
        }
    }
}
