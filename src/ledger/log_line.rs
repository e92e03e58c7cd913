//! The log: one line for each URL that ended, and how. Keeps: the words on a
//! line are stable, and neither user nor password stands on it.

use url::Url;

use super::change::{Change, End, Ended, Queued};
use super::json::{push_number, push_str};
use crate::admission::SkipReason;
use crate::request::Purpose;
use crate::uri;

/// Appends the log lines of what became true.
pub(super) fn push_log(buffer: &mut Vec<u8>, changes: &[Change]) {
    for change in changes {
        match change {
            Change::Ended(ended) => push_ended(buffer, ended),
            // It may yet be found nearer to a seed.
            Change::Refused(_, SkipReason::Depth) => {}
            Change::Refused(queued, reason) => push_refused(buffer, queued, *reason),
            _ => {}
        }
    }
}

fn push_ended(buffer: &mut Vec<u8>, ended: &Ended) {
    buffer.extend_from_slice(b"{\"url\":");
    push_str(buffer, &ended.url);
    push_word(buffer, "end", ended.end.as_str());
    push_purpose(buffer, ended.purpose);
    match ended.end {
        End::Unchanged => buffer.extend_from_slice(b",\"unchanged\":true"),
        End::Failed(kind) => push_word(buffer, "kind", kind.as_str()),
        End::Skipped(reason) => push_word(buffer, "reason", reason.as_str()),
        End::Done | End::Redirected => {}
    }
    if let Some(status) = ended.status {
        buffer.extend_from_slice(b",\"status\":");
        push_number(buffer, u64::from(status));
    }
    if ended.attempts != 0 {
        buffer.extend_from_slice(b",\"attempts\":");
        push_number(buffer, u64::from(ended.attempts));
    }
    if let Some(to) = &ended.to {
        buffer.extend_from_slice(b",\"to\":");
        push_url(buffer, to);
    }
    if let Some(message) = &ended.message {
        buffer.extend_from_slice(b",\"message\":");
        push_str(buffer, message);
    }
    if let (End::Failed(_), Some(referrer)) = (ended.end, &ended.referrer)
        && !referrer.is_empty()
    {
        buffer.extend_from_slice(b",\"referrer\":");
        push_str(buffer, referrer);
    }
    buffer.extend_from_slice(b"}\n");
}

fn push_refused(buffer: &mut Vec<u8>, queued: &Queued, reason: SkipReason) {
    let end = End::Skipped(reason);
    buffer.extend_from_slice(b"{\"url\":");
    push_url(buffer, queued.request.url());
    push_word(buffer, "end", end.as_str());
    push_purpose(buffer, queued.purpose);
    push_word(buffer, "reason", reason.as_str());
    buffer.extend_from_slice(b"}\n");
}

/// A line is about a page unless it says otherwise.
fn push_purpose(buffer: &mut Vec<u8>, purpose: Purpose) {
    if purpose == Purpose::Sitemap {
        push_word(buffer, "purpose", "sitemap");
    }
}

/// A URL without user and password, which are nobody's business.
fn push_url(buffer: &mut Vec<u8>, url: &Url) {
    push_str(buffer, uri::without_credentials(url).as_str());
}

fn push_word(buffer: &mut Vec<u8>, key: &str, word: &str) {
    buffer.extend_from_slice(b",\"");
    buffer.extend_from_slice(key.as_bytes());
    buffer.extend_from_slice(b"\":\"");
    buffer.extend_from_slice(word.as_bytes());
    buffer.push(b'"');
}
