//! [`Chronicle`]: what happened in a crawl and when, for a report. Keeps:
//! bounded space, however long the crawl; a file that is whole or the older
//! one, whenever the program is killed; and the crawl never waits for it.
//!
//! | file | what it holds |
//! |---|---|
//! | `recorder` | the chronicle of a run that goes on: what workers and the committer tell |
//! | `record`, `run_note` | what happened over a stretch of the crawl; one run in a few numbers |
//! | `timeline`, `minute` | what happened when, in parts that grow longer; the last minute |
//! | `hosts`, `spans`, `urls` | hosts; their pauses, gaps and starts; the slowest and the most failing URLs |
//! | `tally`, `latency`, `words` | counts by word, a histogram of times, the words |

mod hosts;
mod latency;
mod minute;
mod record;
mod recorder;
mod run_note;
mod spans;
mod tally;
#[cfg(test)]
mod tests;
mod timeline;
mod urls;
mod words;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use hosts::{Host, Hosts, MAX_HOSTS};
pub use latency::Latencies;
pub use record::Record;
pub(super) use recorder::{Attempt, Recorder};
pub use run_note::RunNote;
pub use spans::{Span, Spans, Step, Steps, Strip};
pub use tally::Tally;
pub use timeline::{MAX_PARTS, Part, Timeline};
pub use urls::{Failing, FailingUrl, SlowUrl, Slowest};
pub use words::{Answer, EndWord, Wait, Word};

use crate::error::{Error, ErrorKind, Result};
use crate::ledger;

/// The file in the state folder.
const FILE: &str = "report.json";
/// The version of the file's form. A file of another is not read.
const VERSION: u32 = 1;
/// Runs that are told apart: two months of daily ones.
const MAX_RUNS: usize = 60;
/// The longest file that is read, in bytes: several times what is written.
const MAX_FILE: u64 = 16 << 20;

/// What happened in a crawl and when.
///
/// A crawl with a state keeps it in the state's folder, in `report.json`; any
/// other keeps it if it is [told to](crate::CrawlerBuilder::chronicle).
///
/// ```
/// use canter::fetch::MockSite;
/// use canter::Crawler;
///
/// let crawler = Crawler::builder()
///     .seed("http://a.test/")
///     .fetcher(MockSite::new().page("http://a.test/", |page| page.html("<title>a</title>")))
///     .handler(|_: canter::extract::Html| {})
///     .chronicle(true)
///     .build()?;
/// let stats = crawler.run()?;
/// let chronicle = crawler.chronicle().expect("it was asked for");
/// assert_eq!(chronicle.run().totals.starts, stats.requests);
/// assert_eq!(chronicle.runs().last().unwrap().end.as_deref(), Some("complete"));
/// # Ok::<(), canter::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Chronicle {
    version: u32,
    runs: Vec<RunNote>,
    /// Runs before those, of which only their sums are left.
    older_runs: u64,
    run: Record,
    before: Record,
}

impl Chronicle {
    /// The runs that are told apart, the last one at the end.
    #[must_use]
    pub fn runs(&self) -> &[RunNote] {
        &self.runs
    }

    /// How many runs there were before these.
    #[must_use]
    pub fn older_runs(&self) -> u64 {
        self.older_runs
    }

    /// What happened in the last run.
    #[must_use]
    pub fn run(&self) -> &Record {
        &self.run
    }

    /// What happened in all runs.
    #[must_use]
    pub fn crawl(&self) -> Record {
        let mut crawl = self.before.clone();
        crawl.merge(&self.run);
        crawl
    }

    /// Where a state folder keeps it.
    #[must_use]
    pub fn file(state: &Path) -> PathBuf {
        state.join(FILE)
    }

    /// Begins a run: what the one before did is added to what came before.
    fn begin(&mut self, note: RunNote, record: Record) {
        self.version = VERSION;
        let last = std::mem::replace(&mut self.run, record);
        if !self.runs.is_empty() {
            self.before.merge(&last);
        }
        self.runs.push(note);
        let over = self.runs.len().saturating_sub(MAX_RUNS);
        self.runs.drain(..over);
        self.older_runs += over as u64;
    }

    /// Reads what a state folder keeps, without its lock; `None` if it keeps
    /// none.
    ///
    /// # Errors
    /// Of kind [`State`](ErrorKind::State): the file cannot be read, is not
    /// whole, or is of another version.
    pub fn read(state: &Path) -> Result<Option<Chronicle>> {
        let path = Chronicle::file(state);
        let fail = |why: String| {
            let text = format!("cannot read the report in {}: {why}", path.display());
            Error::new(ErrorKind::State).with_message(text)
        };
        let mut bytes = Vec::new();
        match File::open(&path).and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut bytes)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(fail(error.to_string())),
            Ok(_) if bytes.len() as u64 > MAX_FILE => return Err(fail("it is too long".into())),
            Ok(_) => {}
        }
        let chronicle: Chronicle =
            serde_json::from_slice(&bytes).map_err(|error| fail(error.to_string()))?;
        if chronicle.version != VERSION {
            let found = chronicle.version;
            return Err(fail(format!("it is of version {found}, not {VERSION}")));
        }
        Ok(Some(chronicle.bounded()))
    }

    /// Writes it into a state folder, whole or not at all.
    ///
    /// # Errors
    /// Of kind [`State`](ErrorKind::State): the file cannot be written.
    pub fn write(&self, state: &Path) -> Result<()> {
        let path = Chronicle::file(state);
        let written = serde_json::to_vec(self)
            .map_err(io::Error::from)
            .and_then(|bytes| ledger::write_whole(&path, &bytes));
        written.map_err(|error| {
            let text = format!("cannot write the report to {}", path.display());
            Error::new(ErrorKind::State)
                .with_message(text)
                .with_source(error)
        })
    }

    /// Keeps it bounded, whatever was read.
    fn bounded(mut self) -> Self {
        let over = self.runs.len().saturating_sub(MAX_RUNS);
        self.runs.drain(..over);
        self.run = self.run.bounded();
        self.before = self.before.bounded();
        self
    }
}
