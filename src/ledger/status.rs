//! [`Status`]: what a state tells to someone who only looks. Keeps: it takes
//! no lock and writes nothing, and what it tells was true at a checkpoint,
//! also while a run goes on.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::anchor::wall_of_millis;
use super::blocks::{Sharing, drive};
use super::change::End;
use super::counts::Counts;
use super::fault::Fault;
use super::journal::FILE;
use super::model::Model;
use super::options::Totals;
use super::parse;
use super::replay::replay;
use super::scan::Scan;
use super::whole;
use crate::error::{ErrorKind, Result};

/// How often a state is read again that seems damaged: the run that writes it
/// may just have cut off its end.
const READINGS: usize = 3;

/// What a state tells.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// How the URLs stand. URLs that failed are still counted as failed; they
    /// wait again as soon as the next run begins.
    pub counts: Counts,
    /// Totals of all runs.
    pub totals: Totals,
    /// How many runs there were.
    pub runs: u64,
    /// The number of the pass.
    pub pass: u64,
    /// Whether the pass is complete.
    pub finished: bool,
    /// When the last commit was, to the second.
    pub at: SystemTime,
    /// Bytes of the state file.
    pub bytes: u64,
    /// Bytes behind its last checkpoint: a commit that is being written, or
    /// that a crash has left.
    pub uncommitted: u64,
}

/// A URL that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailedUrl {
    /// The URL.
    pub url: String,
    /// How it failed.
    pub kind: ErrorKind,
    /// Status of the last answer, if one came.
    pub status: Option<u16>,
    /// Attempts made.
    pub attempts: u32,
    /// What went wrong; empty if nothing was said.
    pub message: String,
}

struct Reading {
    file: File,
    path: PathBuf,
    scan: Scan,
    model: Model,
}

fn read(dir: &Path) -> Result<Reading> {
    let path = dir.join(FILE);
    let mut readings = 0;
    loop {
        readings += 1;
        let file = File::open(&path)
            .map_err(|error| Fault::from(error).state("cannot read the state", &path))?;
        match replay(&file, &path) {
            Ok((scan, model)) => {
                return Ok(Reading {
                    file,
                    path,
                    scan,
                    model,
                });
            }
            Err(error) if readings == READINGS => return Err(error),
            Err(_) => {}
        }
    }
}

/// See [`Ledger::status`](super::Ledger::status).
pub(super) fn status(dir: &Path) -> Result<Status> {
    let Reading { scan, model, .. } = read(dir)?;
    Ok(Status {
        counts: Counts::of(&model.table, model.due),
        totals: scan.checkpoint.totals,
        runs: model.run,
        pass: model.pass,
        finished: model.finished,
        at: wall_of_millis(model.at.saturating_mul(1000)),
        bytes: scan.committed + scan.dropped,
        uncommitted: scan.dropped,
    })
}

/// See [`Ledger::failed`](super::Ledger::failed).
pub(super) fn failed(dir: &Path) -> Result<Vec<FailedUrl>> {
    let Reading {
        file,
        path,
        scan,
        model,
    } = read(dir)?;
    let table = &model.table;
    let mut failed: HashMap<u64, (u64, FailedUrl)> = HashMap::new();
    drive(
        &file,
        &path,
        scan.committed,
        Sharing::for_length(scan.committed),
        |_, line| {
            let is_failed = parse::key(line) == b"e"
                && parse::fingerprint(line)
                    .and_then(|fingerprint| table.get(fingerprint))
                    .is_some_and(|entry| {
                        entry.standing.is_failed() && !entry.is_left_to_redirects(model.due)
                    });
            if !is_failed {
                return Ok(None);
            }
            let ended = whole::ended(line)?;
            let End::Failed(kind) = ended.end()? else {
                return Ok(None);
            };
            let url = FailedUrl {
                url: ended.u.to_string(),
                kind,
                status: ended.s,
                attempts: ended.n,
                message: ended.msg.to_string(),
            };
            Ok(Some((ended.fingerprint(), url)))
        },
        |at, _, (fingerprint, url)| {
            failed.insert(fingerprint, (at, url));
        },
    )?;
    let mut failed: Vec<(u64, FailedUrl)> = failed.into_values().collect();
    failed.sort_unstable_by_key(|(at, _)| *at);
    Ok(failed.into_iter().map(|(_, url)| url).collect())
}
