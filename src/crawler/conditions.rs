//! [`Conditions`]: asks for pages only if they have changed (RFC 9110 section
//! 13.1).
//!
//! Invariant: a validator goes back as the bytes that came, or not at all; and
//! a page is not lost to a server that answers a condition with 412, where 304
//! is right.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Error;
use crate::fetch::Response;
use crate::ledger::PageMemory;
use crate::request::Request;
use crate::uri;

/// Why a page is asked for once more.
pub(super) const ONCE_MORE: &str = "status 412: asked for once more, without a condition";

/// Pages whose next attempt has no condition, by their fingerprints. Only those
/// that wait for this attempt are in here.
#[derive(Debug, Default)]
pub(super) struct Conditions(Mutex<HashSet<u64>>);

impl Conditions {
    /// Adds what is known of the page, unless that has just failed.
    pub(super) fn put_to(&self, request: Request, fingerprint: u64, known: &PageMemory) -> Request {
        if self.failed().remove(&fingerprint) {
            return request;
        }
        with_validators(request, known)
    }

    /// Whether an attempt failed for the condition that was put to its request;
    /// the next one is then made without.
    pub(super) fn fell(&self, request: &Request, fingerprint: u64, error: &Error) -> bool {
        let conditional = |(name, _): &(String, String)| {
            name.eq_ignore_ascii_case("if-none-match")
                || name.eq_ignore_ascii_case("if-modified-since")
        };
        let fell = error.status() == Some(412) && request.headers().iter().any(conditional);
        if fell {
            self.failed().insert(fingerprint);
        }
        fell
    }

    /// Whether the next attempt is one without a condition.
    pub(super) fn has(&self, fingerprint: u64) -> bool {
        self.failed().contains(&fingerprint)
    }

    fn failed(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn with_validators(mut request: Request, known: &PageMemory) -> Request {
    let is_there = |text: &&String| !text.is_empty();
    if let Some(etag) = known.etag.as_ref().filter(is_there) {
        request = request.with_header("If-None-Match", etag);
    }
    if let Some(date) = known.last_modified.as_ref().filter(is_there) {
        request = request.with_header("If-Modified-Since", date);
    }
    request
}

/// What is kept of a page for a later pass.
pub(super) fn remember(response: &Response) -> PageMemory {
    let text = |name| {
        let value = std::str::from_utf8(response.header_bytes(name)?).ok()?;
        (!value.is_empty()).then(|| value.to_owned())
    };
    PageMemory {
        etag: text("etag"),
        last_modified: text("last-modified"),
        hash: Some(uri::hash(response.body())),
        bytes: response.body().len() as u64,
        elapsed: response.elapsed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent_back(etag: &[u8]) -> Vec<(String, String)> {
        let request = Request::get("http://a.test/").expect("a request");
        let response = Response::new(request.url().clone(), 200).with_header("ETag", etag);
        let memory = remember(&response);
        let request = Conditions::default().put_to(request, 1, &memory);
        request.headers().to_vec()
    }

    #[test]
    fn an_etag_goes_back_as_the_bytes_that_came_or_not_at_all() {
        for etag in ["\"1\"", "W/\"\u{e4}\"", "unquoted"] {
            let sent = sent_back(etag.as_bytes());
            assert_eq!(sent, [("If-None-Match".to_owned(), etag.to_owned())]);
        }
        for etag in [&b"\"\xff\xfe\""[..], b"\xe4", b""] {
            assert!(sent_back(etag).is_empty(), "{}", etag.escape_ascii());
        }
        let old = PageMemory {
            etag: Some(String::new()),
            last_modified: Some(String::new()),
            ..PageMemory::default()
        };
        let request = Request::get("http://a.test/").expect("a request");
        let request = Conditions::default().put_to(request, 1, &old);
        assert!(request.headers().is_empty(), "of an older state");
    }
}
