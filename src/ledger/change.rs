//! [`Change`]: one thing that became true of the crawl. The engine appends
//! changes under its lock, in the order in which they became true; the
//! committer writes them. What one attempt did is one change, so that it is
//! written whole or not at all.

use std::sync::Arc;
use std::time::{Duration, Instant};

use url::Url;

use crate::admission::SkipReason;
use crate::error::ErrorKind;
use crate::request::{Purpose, Request};

/// One serialised record: a JSON object on one line, without the line end.
pub type RecordLine = Box<[u8]>;

/// One thing that became true of the crawl.
#[derive(Debug, Clone)]
pub enum Change {
    /// A URL was found, admitted and queued.
    Queued(Box<Queued>),
    /// A URL was found and not let in. It was never queued; should the crawl's
    /// settings change, it is judged again. One that is too deep may yet be
    /// found nearer to a seed, and is then [`Queued`](Self::Queued) after all:
    /// so it has no line in the log until an [`Ended`](Self::Ended) says so.
    Refused(Box<Queued>, SkipReason),
    /// A queued URL was tried, did not end, and goes back to the queue.
    Retried {
        /// The URL's fingerprint.
        fingerprint: u64,
        /// The number of the attempt that comes next.
        attempt: u32,
        /// When it may start.
        not_before: Instant,
    },
    /// A URL that only redirects had led to was found otherwise: a later pass
    /// asks for it by itself.
    Named {
        /// The URL's fingerprint.
        fingerprint: u64,
    },
    /// A URL came to its end, with all that its last attempt did. It was
    /// [`Queued`](Self::Queued) before, unless it failed or was skipped.
    Ended(Box<Ended>),
    /// The rules of an origin are known.
    Robots {
        /// The origin, such as `http://example.com:8080`.
        origin: Arc<str>,
        /// The bytes of the file; empty when the origin has none.
        body: Arc<[u8]>,
        /// When they were read.
        at: Instant,
    },
    /// A host is left alone for a while, since it asked for it.
    Paused {
        /// The host's name, lower case, no final dot.
        host: Arc<str>,
        /// When the pause is over.
        until: Instant,
    },
}

/// A URL that was queued.
#[derive(Debug, Clone)]
pub struct Queued {
    /// Fingerprint of method, canonical URL and body.
    pub fingerprint: u64,
    /// The request, attempt and redirects included.
    pub request: Request,
    /// Whether the request is a seed, or a redirect's target that began at one.
    pub seed: bool,
    /// What the URL is fetched for.
    pub purpose: Purpose,
}

/// A URL that came to its end.
#[derive(Debug, Clone)]
pub struct Ended {
    /// Fingerprint of method, canonical URL and body.
    pub fingerprint: u64,
    /// The URL as text, without user and password.
    pub url: String,
    /// What it was fetched for.
    pub purpose: Purpose,
    /// How it ended.
    pub end: End,
    /// Status of the last answer, if one came.
    pub status: Option<u16>,
    /// Attempts made; 0 for a URL that was never asked for.
    pub attempts: u32,
    /// Where a redirect led.
    pub to: Option<Url>,
    /// What went wrong, for people.
    pub message: Option<String>,
    /// The page that the URL was found on. Only the log has it, and only of
    /// URLs that failed: whoever mends a dead link must know where it is.
    pub referrer: Option<Arc<str>>,
    /// How far from a seed the URL was found.
    pub depth: u32,
    /// What to remember of the page for a later pass.
    pub page: Option<Box<PageMemory>>,
    /// The records of the attempt, in the order they were emitted.
    pub records: Vec<RecordLine>,
    /// Its lines for the outputs beside that of the records.
    pub beside: Vec<BesideLine>,
}

/// A line for one of the [outputs beside the records'](super::LedgerOptions::beside).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BesideLine {
    /// Which of them, from 0.
    pub output: usize,
    /// The line.
    pub line: RecordLine,
    /// Whether it is counted as a record.
    pub counts: bool,
}

/// How a URL ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// The handler is done with it.
    Done,
    /// The page is as it was on an earlier pass (status 304).
    Unchanged,
    /// It led to another URL.
    Redirected,
    /// It failed for good.
    Failed(ErrorKind),
    /// It was not asked for, or not to the end, for the reason of this word.
    Skipped(SkipReason),
}

impl End {
    /// The word for the log: `done`, `redirected`, `failed` or `skipped`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            End::Done | End::Unchanged => "done",
            End::Redirected => "redirected",
            End::Failed(_) => "failed",
            End::Skipped(_) => "skipped",
        }
    }
}

/// What is remembered of a fetched page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageMemory {
    /// The `ETag`, as it came.
    pub etag: Option<String>,
    /// The `Last-Modified` date, as it came.
    pub last_modified: Option<String>,
    /// A hash of the decoded body.
    pub hash: Option<u64>,
    /// Decoded body bytes.
    pub bytes: u64,
    /// How long the fetch took.
    pub elapsed: Duration,
}
