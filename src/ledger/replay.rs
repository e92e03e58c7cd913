//! Replay: from a state file to the [`Model`] of its crawl. Keeps: nothing
//! behind the last whole checkpoint is believed, and nothing is written.

use std::fs::File;
use std::path::Path;

use super::blocks::{Sharing, drive};
use super::model::Model;
use super::parse;
use super::scan::{Scan, scan};
use crate::error::Result;

/// Reads a state up to its last whole checkpoint.
///
/// # Errors
/// Those of [`scan`].
pub(super) fn replay(file: &File, path: &Path) -> Result<(Scan, Model)> {
    let scan = scan(file, path)?;
    let mut model = Model::default();
    let sharing = Sharing::for_length(scan.committed);
    fold(
        &mut model,
        file,
        path,
        scan.committed,
        sharing,
        scan.pages_matter,
    )?;
    Ok((scan, model))
}

/// Folds the first `length` bytes into a model. `pages` says whether memories
/// of pages are wanted.
pub(super) fn fold(
    model: &mut Model,
    file: &File,
    path: &Path,
    length: u64,
    sharing: Sharing,
    pages: bool,
) -> Result<()> {
    drive(
        file,
        path,
        length,
        sharing,
        |_, line| parse::event(line, pages),
        |line, length, event| model.apply(line, length, event),
    )
}
