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
mod checkpoint;
mod compact;
mod counts;
mod csv;
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
mod overflow;
mod pages;
mod parse;
mod plan;
mod replay;
mod restored;
mod scan;
mod status;
mod table;
mod waiting;
mod whole;

use std::path::{Path, PathBuf};

pub use anchor::Anchor;
pub use change::{BesideLine, Change, End, Ended, PageMemory, Queued, RecordLine};
pub use counts::Counts;
pub use csv::CsvColumns;
pub use fault::Fault;
#[cfg(feature = "cli")]
pub(crate) use lock::whole_place;
pub(crate) use lock::write_whole;
pub use options::{Existing, Identity, LedgerOptions, OutputSpec, Sink, StateSpec, Totals};
#[cfg(feature = "cli")]
pub(crate) use output::part_of;
pub(crate) use overflow::Overflow;
pub use pages::{KnownPage, Pages};
pub use restored::{KnownPause, KnownRobots, Restored};
pub use status::{FailedUrl, Status};
pub use waiting::Pending;
pub(crate) use waiting::{Offer, PlainPending};

use crate::error::{Error, ErrorKind, Result};
use journal::{Journal, KEEP_BUFFER};
use lock::Locked;
use output::{Marks, Output};

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
    beside: Vec<Output>,
    /// The columns of each output that has some, in the order of the outputs.
    csv: Vec<Option<CsvColumns>>,
    summary: Option<PathBuf>,
    sinks: Vec<Sink>,
    state: Option<State>,
    /// Lines on their way to an output.
    lines: Vec<u8>,
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
        if last != Last::No {
            for output in outputs(&mut self.records, &mut self.log, &mut self.beside) {
                output.write_header()?;
            }
            if self.state.is_some() {
                self.sync_outputs()?;
            }
        }
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
        let lines = &mut self.lines;
        if let Some(records) = &mut self.records {
            let columns = self.csv[0].as_ref();
            lines.clear();
            for record in records_of(changes) {
                push_record(lines, record, columns);
            }
            records.write(lines)?;
        }
        if let Some(log) = &mut self.log {
            lines.clear();
            log_line::push_log(lines, changes);
            log.write(lines)?;
        }
        for (at, output) in self.beside.iter_mut().enumerate() {
            let columns = self.csv[at + 2].as_ref();
            lines.clear();
            for beside in beside_of(changes).filter(|beside| beside.output == at) {
                push_record(lines, &beside.line, columns);
            }
            output.write(lines)?;
        }
        lines.clear();
        lines.shrink_to(KEEP_BUFFER);
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
        for output in outputs(&mut self.records, &mut self.log, &mut self.beside) {
            output.sync()?;
        }
        Ok(())
    }

    fn lengths(&self) -> Vec<u64> {
        let length = |output: &Option<Output>| output.as_ref().map_or(0, Output::length);
        let fixed = [&self.records, &self.log].into_iter().map(length);
        fixed
            .chain(self.beside.iter().map(Output::length))
            .collect()
    }

    fn marks(&self, dir: &Path) -> Marks {
        let mark = |output: &Output| output.mark(dir);
        Marks {
            records: self.records.as_ref().map(mark),
            log: self.log.as_ref().map(mark),
            beside: self.beside.iter().map(mark).collect(),
        }
    }

    /// Puts files that replace others into their places, after the state has
    /// said that they are whole.
    fn put_into_place(&mut self, totals: Totals) -> Result<()> {
        let mut moved = false;
        for output in outputs(&mut self.records, &mut self.log, &mut self.beside) {
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
        let files = self.marks(&dir);
        if let Some(state) = &mut self.state {
            let mut line = Vec::new();
            format::push_files(&mut line, &files);
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
        for output in self.records.iter().chain(&self.log).chain(&self.beside) {
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

/// Every output there is.
fn outputs<'a>(
    records: &'a mut Option<Output>,
    log: &'a mut Option<Output>,
    beside: &'a mut [Output],
) -> impl Iterator<Item = &'a mut Output> {
    records.iter_mut().chain(log).chain(beside)
}

fn push_record(lines: &mut Vec<u8>, record: &[u8], columns: Option<&CsvColumns>) {
    match columns {
        None => json::push_line(lines, record),
        Some(columns) => columns.push_row(lines, record),
    }
}

fn beside_of(changes: &[Change]) -> impl Iterator<Item = &BesideLine> {
    changes.iter().flat_map(|change| match change {
        Change::Ended(ended) => ended.beside.as_slice(),
        _ => &[],
    })
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
