//! What the crawl keeps: records, log and state, in the order that lets a run
//! be killed at any moment. Keeps: the state never runs ahead of the outputs,
//! and nothing is changed before everything has been checked.
//!
//! A commit writes what became true since the last one: first the records and
//! the log, and syncs them; then the events and a checkpoint, which holds the
//! lengths of both, and syncs that. The next run reads the state up to its
//! last whole checkpoint and cuts the files to the lengths that stand there:
//! so a URL has ended, and its records and links are there, or neither.

mod anchor;
mod blocks;
mod change;
mod compact;
mod fault;
mod format;
mod journal;
mod json;
mod lock;
mod log_line;
mod model;
mod open;
mod options;
mod output;
mod pages;
mod parse;
mod plan;
mod replay;
mod restored;
mod scan;
mod status;
mod table;
mod whole;

use std::path::{Path, PathBuf};

pub use anchor::Anchor;
pub use change::{Change, End, Ended, PageMemory, Queued, RecordLine};
pub use fault::Fault;
pub(crate) use lock::write_whole;
pub use options::{Existing, Identity, LedgerOptions, OutputSpec, Sink, StateSpec, Totals};
pub use pages::{KnownPage, Pages};
pub use restored::{Counts, KnownPause, KnownRobots, Pending, Restored};
pub use status::{FailedUrl, Status};

use crate::error::{Error, ErrorKind, Result};
use journal::{Journal, KEEP_BUFFER};
use lock::Locked;
use output::{Mark, Output};

/// Keeps what a crawl finds out: records, log, summary and state.
///
/// One thread owns it and commits about once a second. After an error it takes
/// nothing more: the files hold what was committed before, in whole lines.
///
/// ```
/// use canter::ledger::{Anchor, Change, End, Ended, Identity, Ledger, LedgerOptions};
/// use canter::ledger::{OutputSpec, Queued, StateSpec, Totals};
/// use canter::{Purpose, Request};
///
/// # let dir = std::env::temp_dir().join(format!("canter-ledger-{}", std::process::id()));
/// let request = Request::get("https://example.com/")?;
/// let identity = Identity { seeds: vec![7], ..Identity::default() };
/// let open = || {
///     let mut options = LedgerOptions::new(Anchor::now());
///     options.records = Some(OutputSpec::new(dir.join("pages.jsonl")));
///     options.state = Some(StateSpec::new(dir.join("state"), identity.clone()));
///     Ledger::open(options)
/// };
///
/// // A run finds a URL, and ends.
/// let (mut ledger, _) = open()?;
/// let queued = Queued { fingerprint: 7, request, seed: true, purpose: Purpose::Page };
/// ledger.commit(&[Change::Queued(Box::new(queued))], Anchor::now(), Totals::default())?;
/// drop(ledger);
///
/// // The next one goes on with it.
/// let (ledger, restored) = open()?;
/// restored.each_pending(|pending| {
///     assert_eq!(pending.queued.request.url().as_str(), "https://example.com/");
/// })?;
/// assert_eq!(restored.counts.pending, 1);
/// # drop(ledger);
/// # let _ = std::fs::remove_dir_all(&dir);
/// # Ok::<(), canter::Error>(())
/// ```
pub struct Ledger {
    records: Option<Output>,
    log: Option<Output>,
    summary: Option<PathBuf>,
    sinks: Vec<Sink>,
    state: Option<State>,
    record_lines: Vec<u8>,
    log_lines: Vec<u8>,
    closed: Option<Error>,
}

struct State {
    dir: PathBuf,
    journal: Journal,
    pass: u64,
    /// Totals of the runs before this one.
    before: Totals,
    _lock: Locked,
}

/// Whether a commit is the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    No,
    Stopped,
    Complete,
}

impl Ledger {
    /// Opens everything that is to be kept. Checks it all before it changes
    /// anything; then cuts the files to the last whole checkpoint and gives
    /// what earlier runs have left.
    ///
    /// # Errors
    /// Of kind [`State`](ErrorKind::State) or [`Output`](ErrorKind::Output),
    /// with a [`Fault`]; of kind [`Invalid`](ErrorKind::Invalid) when a file is
    /// there that the options refuse.
    pub fn open(options: LedgerOptions) -> Result<(Ledger, Restored)> {
        open::open(options)
    }

    /// Writes what became true since the last commit, in the order in which it
    /// did, and makes it last if there is a state. `now` is the present moment
    /// and `totals` are those of this run so far.
    ///
    /// # Errors
    /// Of kind [`Output`](ErrorKind::Output) or [`State`](ErrorKind::State);
    /// the ledger is closed then and says so to every later call.
    pub fn commit(&mut self, changes: &[Change], now: Anchor, totals: Totals) -> Result<()> {
        self.guarded(|ledger| ledger.write(changes, &now, totals, Last::No))
    }

    /// Commits what is left, makes it last, and closes the ledger. With
    /// `complete` the pass is over: nothing waits, the next run begins a new
    /// one, and a file that replaces another takes its place.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn finish(
        &mut self,
        changes: &[Change],
        complete: bool,
        now: Anchor,
        totals: Totals,
    ) -> Result<()> {
        self.guarded(|ledger| {
            let last = if complete {
                Last::Complete
            } else {
                Last::Stopped
            };
            ledger.write(changes, &now, totals, last)?;
            ledger.sync_outputs()?;
            if complete {
                ledger.put_into_place(totals)
            } else {
                ledger.warn_of_parts();
                Ok(())
            }
        })?;
        self.closed = Some(Error::new(ErrorKind::Output).with_message("the ledger is closed"));
        Ok(())
    }

    /// Writes the summary of the run, if one is wanted: one JSON value. The
    /// file is replaced as a whole.
    ///
    /// # Errors
    /// Of kind [`Output`](ErrorKind::Output).
    pub fn write_summary(&self, json: &[u8]) -> Result<()> {
        let Some(path) = &self.summary else {
            return Ok(());
        };
        let mut text = json.to_vec();
        text.push(b'\n');
        lock::write_whole(path, &text)
            .map_err(|error| Fault::from(error).output("cannot write the summary", path))
    }

    /// Tells how the crawl in a state folder stands, without its lock: also
    /// while a run goes on.
    ///
    /// # Errors
    /// Of kind [`State`](ErrorKind::State): there is none, or it is damaged.
    pub fn status(dir: &Path) -> Result<Status> {
        status::status(dir)
    }

    /// Lists the URLs in a state folder that have failed, in the order in
    /// which they did.
    ///
    /// # Errors
    /// As [`status`](Self::status).
    pub fn failed(dir: &Path) -> Result<Vec<FailedUrl>> {
        status::failed(dir)
    }

    /// Does something unless the ledger is closed, and closes it if that fails.
    fn guarded(&mut self, work: impl FnOnce(&mut Ledger) -> Result<()>) -> Result<()> {
        if let Some(error) = &self.closed {
            return Err(error.clone());
        }
        let done = work(self);
        if let Err(error) = &done {
            self.closed = Some(error.clone());
        }
        done
    }

    fn write(
        &mut self,
        changes: &[Change],
        now: &Anchor,
        totals: Totals,
        last: Last,
    ) -> Result<()> {
        self.write_outputs(changes)?;
        let lengths = self.lengths();
        let Some(state) = &mut self.state else {
            return Ok(());
        };
        if !changes.is_empty() {
            state.journal.push_changes(changes, now);
        }
        if last == Last::Complete {
            let mut line = Vec::new();
            format::push_finished(&mut line, state.pass);
            state.journal.push(&line);
        }
        let totals = state.before + totals;
        if state.journal.is_clean() && (last == Last::No || totals == state.journal.totals()) {
            return Ok(());
        }
        state.journal.commit(lengths, totals)?;
        state.journal.compact_if_worth_it(now)
    }

    fn write_outputs(&mut self, changes: &[Change]) -> Result<()> {
        if let Some(records) = &mut self.records {
            self.record_lines.clear();
            for record in records_of(changes) {
                json::push_line(&mut self.record_lines, record);
            }
            records.write(&self.record_lines)?;
        }
        if let Some(log) = &mut self.log {
            self.log_lines.clear();
            log_line::push_log(&mut self.log_lines, changes);
            log.write(&self.log_lines)?;
        }
        for buffer in [&mut self.record_lines, &mut self.log_lines] {
            buffer.clear();
            buffer.shrink_to(KEEP_BUFFER);
        }
        if self.state.is_some() {
            self.sync_outputs()?;
        }
        for sink in &mut self.sinks {
            for record in records_of(changes) {
                hand_over(sink, record)?;
            }
        }
        Ok(())
    }

    fn sync_outputs(&mut self) -> Result<()> {
        for output in self.records.iter_mut().chain(&mut self.log) {
            output.sync()?;
        }
        Ok(())
    }

    fn lengths(&self) -> [u64; 2] {
        [&self.records, &self.log].map(|output| output.as_ref().map_or(0, Output::length))
    }

    fn marks(&self, dir: &Path) -> [Option<Mark>; 2] {
        [&self.records, &self.log].map(|output| output.as_ref().map(|output| output.mark(dir)))
    }

    /// Puts files that replace others into their places, after the state has
    /// said that they are whole.
    fn put_into_place(&mut self, totals: Totals) -> Result<()> {
        let mut moved = false;
        for output in self.records.iter_mut().chain(&mut self.log) {
            moved |= output.is_part();
            output.put_into_place()?;
        }
        if !moved {
            return Ok(());
        }
        let lengths = self.lengths();
        let Some(dir) = self.state.as_ref().map(|state| state.dir.clone()) else {
            return Ok(());
        };
        let [records, log] = self.marks(&dir);
        if let Some(state) = &mut self.state {
            let mut line = Vec::new();
            format::push_files(&mut line, records.as_ref(), log.as_ref());
            state.journal.push(&line);
            state.journal.commit(lengths, state.before + totals)?;
        }
        Ok(())
    }

    /// Says where the records of an incomplete run without state are: nothing
    /// will ever go on with them.
    fn warn_of_parts(&self) {
        if self.state.is_some() {
            return;
        }
        for output in self.records.iter().chain(&self.log) {
            if output.is_part() {
                log::warn!(
                    "the crawl is not complete: {} stays as it was, the new lines are in {}",
                    output.target().display(),
                    output.path().display()
                );
            }
        }
    }
}

fn records_of(changes: &[Change]) -> impl Iterator<Item = &RecordLine> {
    changes.iter().flat_map(|change| match change {
        Change::Ended(ended) => ended.records.as_slice(),
        _ => &[],
    })
}

/// A sink is somebody else's code: it may fail, and it may panic.
fn hand_over(sink: &mut Sink, record: &RecordLine) -> Result<()> {
    let taken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| sink(record)));
    match taken {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(Error::new(ErrorKind::Output)
            .with_message("a sink did not take a record")
            .with_source(error)),
        Err(panic) => {
            let text = panic
                .downcast_ref::<&str>()
                .map(|text| (*text).to_owned())
                .or_else(|| panic.downcast_ref::<String>().cloned())
                .unwrap_or_default();
            Err(Error::new(ErrorKind::Output).with_message(format!("a sink panicked: {text}")))
        }
    }
}
