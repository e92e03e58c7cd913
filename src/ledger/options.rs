//! What a [`Ledger`](super::Ledger) is opened with. Keeps: nothing is checked
//! or touched before [`Ledger::open`](super::Ledger::open).

use std::fmt;
use std::ops::Add;
use std::path::PathBuf;
use std::time::Duration;

use super::anchor::Anchor;
use super::change::RecordLine;
use super::csv::CsvColumns;
use crate::error::Result;

/// Takes records besides the output file.
///
/// It is called once for each record after the output file has been written
/// and before the state is: after a crash it can see the records of the last
/// second again (at least once), while the output file holds each once. An
/// error ends the run.
pub type Sink = Box<dyn FnMut(&RecordLine) -> Result<()> + Send>;

/// What to do with an output file that is there and that the state does not
/// know of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Existing {
    /// Go on behind its last whole line.
    #[default]
    Append,
    /// Write a new file beside it (`NAME.part`), which takes its place when
    /// the crawl is complete; until then the old one stays whole.
    Replace,
    /// Refuse to start.
    Refuse,
}

/// A file of records to write: JSON Lines, or rows of values.
#[derive(Debug, Clone)]
pub struct OutputSpec {
    /// The file; `-` is standard output. `{date}` (the UTC day on which the run
    /// starts, as `2024-02-29`) and `{pass}` (1 for the first) are replaced.
    pub path: PathBuf,
    /// What to do with a file that is there.
    pub existing: Existing,
    /// The columns of a file of comma-separated values; `None` for JSON Lines.
    pub csv: Option<CsvColumns>,
}

impl OutputSpec {
    /// An output that is appended to.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        OutputSpec {
            path: path.into(),
            existing: Existing::Append,
            csv: None,
        }
    }

    /// Writes comma-separated values rather than JSON Lines.
    #[must_use]
    pub fn with_csv(mut self, columns: CsvColumns) -> Self {
        self.csv = Some(columns);
        self
    }

    /// Says what to do with a file that is there.
    #[must_use]
    pub fn with_existing(mut self, existing: Existing) -> Self {
        self.existing = existing;
        self
    }
}

/// What tells one crawl from another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// The fingerprints of the seeds. A state is of another crawl when it and
    /// the configuration both have seeds and share none: neither a seed that
    /// was recorded nor a URL that a redirect from one led to.
    pub seeds: Vec<u64>,
    /// Names the crawl in messages: the first seed, say.
    pub label: String,
    /// Everything that decides which URLs are let in, as text of the caller's
    /// own. When it is not what it was, that is logged, and what was skipped
    /// under the old settings is judged again.
    pub settings: String,
}

/// Fingerprints in order, each once.
pub(super) fn sorted(fingerprints: &[u64]) -> Vec<u64> {
    let mut sorted = fingerprints.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted
}

/// Where the state is kept.
#[derive(Debug, Clone)]
pub struct StateSpec {
    /// The folder; made if it is not there.
    pub dir: PathBuf,
    /// What the crawl is.
    pub identity: Identity,
    /// Start over, and keep the old state aside under a name with its number.
    pub fresh: bool,
    /// How old a page must be to be asked for again in a new pass.
    pub revisit: Duration,
}

impl StateSpec {
    /// A state in this folder, which is gone on with.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>, identity: Identity) -> Self {
        StateSpec {
            dir: dir.into(),
            identity,
            fresh: false,
            revisit: Duration::ZERO,
        }
    }

    /// Starts over.
    #[must_use]
    pub fn with_fresh(mut self, fresh: bool) -> Self {
        self.fresh = fresh;
        self
    }

    /// Sets the age at which pages are due again.
    #[must_use]
    pub fn with_revisit(mut self, revisit: Duration) -> Self {
        self.revisit = revisit;
        self
    }
}

/// What a ledger keeps, and where. Nothing is kept by default.
pub struct LedgerOptions {
    /// The records.
    pub records: Option<OutputSpec>,
    /// Files for lines that are no records of `records`, each line with the
    /// number of its file ([`BesideLine`](super::BesideLine)). They commit
    /// together with it.
    pub beside: Vec<OutputSpec>,
    /// One line for each URL that ended.
    pub log: Option<OutputSpec>,
    /// The totals of the run, written at its end.
    pub summary: Option<PathBuf>,
    /// What lasts between runs.
    pub state: Option<StateSpec>,
    /// Others that take the records.
    pub sinks: Vec<Sink>,
    /// The moment at which the run starts.
    pub now: Anchor,
}

impl LedgerOptions {
    /// Keeps nothing yet.
    #[must_use]
    pub fn new(now: Anchor) -> Self {
        LedgerOptions {
            records: None,
            beside: Vec::new(),
            log: None,
            summary: None,
            state: None,
            sinks: Vec::new(),
            now,
        }
    }
}

impl fmt::Debug for LedgerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LedgerOptions")
            .field("records", &self.records)
            .field("beside", &self.beside)
            .field("log", &self.log)
            .field("summary", &self.summary)
            .field("state", &self.state)
            .field("sinks", &self.sinks.len())
            .field("now", &self.now)
            .finish()
    }
}

/// Sums that the URLs' ends do not tell, of one run or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Requests that were started, of every kind.
    pub requests: u64,
    /// Attempts that were not the first of their URL.
    pub retried: u64,
    /// Pages that were as they had been.
    pub unchanged: u64,
    /// Decoded body bytes.
    pub bytes: u64,
    /// How long was crawled; kept to the millisecond.
    pub elapsed: Duration,
}

impl Add for Totals {
    type Output = Totals;

    fn add(self, other: Totals) -> Totals {
        Totals {
            requests: self.requests.saturating_add(other.requests),
            retried: self.retried.saturating_add(other.retried),
            unchanged: self.unchanged.saturating_add(other.unchanged),
            bytes: self.bytes.saturating_add(other.bytes),
            elapsed: self.elapsed.saturating_add(other.elapsed),
        }
    }
}
