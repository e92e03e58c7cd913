//! [`Job`] and [`Report`]: what the engine hands to a worker, and what the
//! worker hands back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::origins::OriginRules;
use crate::error::Error;
use crate::frontier::{Candidate, ChunkId, Entry, Kind};
use crate::ledger::{BesideLine, PageMemory, RecordLine};
use crate::outcome::TagScope;
use crate::request::{Request, Tag};

/// The number of a job. A number is used once.
pub type JobId = u64;

/// A request that may start now.
#[derive(Debug)]
pub struct Job {
    /// Its number.
    pub id: JobId,
    /// Its origin, as it stands before the path.
    pub origin: Arc<str>,
    /// Its tag.
    pub tag: Tag,
    /// When it started, as the pace counts it.
    pub started: Instant,
    /// The rest of it.
    pub entry: Entry,
}

impl Job {
    /// What it is fetched for.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.entry.kind
    }

    /// The request, to be made outside the lock.
    #[must_use]
    pub fn request(&self) -> Request {
        self.entry.request(&self.origin, &self.tag)
    }
}

/// How a job ended.
#[derive(Debug)]
pub struct Report {
    /// The job's number.
    pub id: JobId,
    /// Its URL as text, without user and password, for log and state.
    pub url: String,
    /// Status of the answer, if one came.
    pub status: Option<u16>,
    /// Decoded bytes of the body.
    pub bytes: u64,
    /// What came of it.
    pub finished: Finished,
}

/// What came of a job.
#[derive(Debug)]
pub enum Finished {
    /// The request is done, and this commits.
    Done(Box<Done>),
    /// It led to another URL.
    Redirected(Box<Candidate>),
    /// The handler wants another attempt.
    Retry {
        /// After this delay rather than the policy's.
        after: Option<Duration>,
    },
    /// The handler wants a tag to wait, then another attempt.
    Backoff {
        /// Which tag.
        scope: TagScope,
        /// How long.
        duration: Duration,
    },
    /// It failed; the kind decides whether it is tried again.
    Failed(Error),
    /// It ends the run.
    Fatal(Error),
    /// It was sent on a kept connection, which broke before any answer came.
    /// That is no attempt: it goes back to the queue as it was.
    Unanswered(Error),
    /// The answer to a request for robots.txt.
    Robots(RobotsAnswer),
}

/// What a finished request commits.
#[derive(Debug, Default)]
pub struct Done {
    /// Links to be followed.
    pub links: Vec<Candidate>,
    /// Records, serialised.
    pub records: Vec<RecordLine>,
    /// Lines for the outputs beside that of the records.
    pub beside: Vec<BesideLine>,
    /// What to remember of the page.
    pub page: Option<Box<PageMemory>>,
    /// Whether the page is as it was on an earlier pass.
    pub unchanged: bool,
    /// What else the handler asked for.
    pub then: Then,
    /// What was wrong although it is done, such as a sitemap read in part.
    pub message: Option<String>,
}

/// What a handler asked for besides being done.
#[derive(Debug, Default)]
pub enum Then {
    /// Nothing.
    #[default]
    Go,
    /// Nothing new starts.
    Stop,
    /// A tag is given up.
    Abort(TagScope),
}

/// What a request for robots.txt gave.
#[derive(Debug)]
pub enum RobotsAnswer {
    /// The rules; empty ones when the origin has no file.
    Rules {
        /// The rules of our group.
        rules: Arc<OriginRules>,
        /// The bytes they were read from.
        body: Arc<[u8]>,
        /// Sitemaps to be read.
        sitemaps: Vec<Candidate>,
        /// What is odd about the file, for people.
        note: Option<String>,
    },
    /// The file is elsewhere.
    Redirected(Box<Request>),
}

/// Whether a request may start, and if not, why not.
#[derive(Debug)]
pub enum Poll {
    /// This one, now.
    Start(Box<Job>),
    /// None, but these parts of the queue were put away and are needed: see
    /// [`Engine::loaded`](super::Engine::loaded).
    Load(Vec<ChunkId>),
    /// Not before this instant, for this reason.
    Wait(Instant, Why),
    /// Not before something in flight has ended, for this reason.
    Idle(Why),
    /// The run is over: nothing is in flight and nothing can start.
    Done,
}

/// What the next start waits for; the numbers are the engine's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The rate of the whole crawl.
    Rate,
    /// The gap of a host.
    Gap(u32),
    /// The pause of a host.
    Pause(u32),
    /// Every host with work has as many in flight as allowed.
    HostLimit,
    /// The pause of a tag.
    Tag(u32),
    /// A pause of the whole crawl.
    Crawl,
    /// A robots.txt is in flight.
    Robots,
    /// The delay before a retry on a host.
    Retry(u32),
    /// As many are in flight as the cap allows.
    Cap,
    /// The warm-up.
    WarmUp,
    /// What comes next was put away, and is on its way back.
    Load,
    /// Nothing is queued.
    Nothing,
    /// The run is stopping.
    Stopping,
}
