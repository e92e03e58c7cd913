//! [`Journal`]: the state file that is appended to. Keeps: at every moment
//! there is one file of that name which is whole up to its last checkpoint;
//! what a checkpoint says of the outputs was synced before it was written.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::anchor::Anchor;
use super::change::Change;
use super::checkpoint::{Checkpoint, push_checkpoint, start_crc};
use super::compact;
use super::fault::Fault;
use super::format::{self, Writer};
use super::lock::{sync_folder, with_suffix};
use super::model::Model;
use super::options::{Identity, Totals};
use super::output::Marks;
use crate::error::Result;

/// The state file's name in its folder.
pub(super) const FILE: &str = "journal.jsonl";
/// What stands behind the name of a file that is being made.
const NEW: &str = ".new";

/// Files below this are never compacted: reading them takes no time.
const COMPACT_FROM: u64 = 4 << 20;
/// A file is compacted when one byte in so many is history.
const COMPACT_AT: u64 = 2;
/// Buffers over this are given back after use.
pub(super) const KEEP_BUFFER: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Journal {
    dir: PathBuf,
    path: PathBuf,
    file: File,
    length: u64,
    checkpoint: Checkpoint,
    history: u64,
    /// Compaction is not tried again before the file has this length.
    compact_from: u64,
    later_pass: bool,
    writer: Writer,
    buffer: Vec<u8>,
}

impl Journal {
    /// Writes a new state file; one that is there is kept aside. Gives where.
    pub(super) fn create(
        dir: &Path,
        identity: &Identity,
        files: &Marks,
        lengths: Vec<u64>,
        now: &Anchor,
    ) -> Result<(Journal, Option<PathBuf>)> {
        let path = dir.join(FILE);
        let refuse = |error: io::Error| Fault::from(error).state("cannot write the state", &path);
        let mut buffer = Vec::new();
        format::push_header(&mut buffer, 1, 1, identity);
        format::push_files(&mut buffer, files);
        format::push_at(&mut buffer, now.seconds());
        let mut checkpoint = Checkpoint {
            lengths,
            ..Checkpoint::default()
        };
        push_checkpoint(&mut buffer, start_crc(0), &mut checkpoint);
        let new = with_suffix(&path, NEW);
        let mut aside = None;
        let file = (|| {
            let mut file = File::create(&new)?;
            file.write_all(&buffer)?;
            file.sync_all()?;
            if path.exists() {
                let place = free_place(&path)?;
                fs::rename(&path, &place)?;
                aside = Some(place);
            }
            fs::rename(&new, &path)?;
            sync_folder(dir)?;
            Ok(file)
        })()
        .map_err(refuse)?;
        let length = buffer.len() as u64;
        Ok((Journal::at(dir, file, length, checkpoint, 0, false), aside))
    }

    /// Goes on with a state file that was read. What is behind its last
    /// checkpoint is cut off.
    pub(super) fn resume(dir: &Path, committed: u64, model: &Model) -> Result<Journal> {
        let path = dir.join(FILE);
        let refuse = |error: io::Error| Fault::from(error).state("cannot write the state", &path);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .and_then(|mut file| {
                if file.metadata()?.len() != committed {
                    file.set_len(committed)?;
                }
                file.seek(SeekFrom::Start(committed))?;
                Ok(file)
            })
            .map_err(refuse)?;
        // What a compaction left that was killed.
        match fs::remove_file(with_suffix(&path, NEW)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(refuse(error)),
            _ => {}
        }
        let later = model.pass > 1;
        Ok(Journal::at(
            dir,
            file,
            committed,
            model.checkpoint.clone(),
            model.history,
            later,
        ))
    }

    fn at(
        dir: &Path,
        file: File,
        length: u64,
        checkpoint: Checkpoint,
        history: u64,
        later_pass: bool,
    ) -> Journal {
        Journal {
            dir: dir.to_owned(),
            path: dir.join(FILE),
            file,
            length,
            checkpoint,
            history,
            compact_from: COMPACT_FROM,
            later_pass,
            writer: Writer::default(),
            buffer: Vec::new(),
        }
    }

    /// Totals of all runs up to the last checkpoint.
    pub(super) fn totals(&self) -> Totals {
        self.checkpoint.totals
    }

    /// Puts lines into the buffer as they are.
    pub(super) fn push(&mut self, lines: &[u8]) {
        self.buffer.extend_from_slice(lines);
        self.history += lines.len() as u64;
    }

    /// Puts changes into the buffer.
    pub(super) fn push_changes(&mut self, changes: &[Change], now: &Anchor) {
        self.history += self
            .writer
            .changes(&mut self.buffer, changes, now, self.later_pass);
    }

    /// Whether there is anything to commit.
    pub(super) fn is_clean(&self) -> bool {
        self.buffer.is_empty()
    }

    pub(super) fn set_later_pass(&mut self, later: bool) {
        self.later_pass = later;
    }

    /// Writes the buffer and a checkpoint, and syncs them. The bytes of the
    /// outputs that it tells of must have been synced.
    ///
    /// # Errors
    /// [`Fault::Io`]; the file is then cut back to its last checkpoint, and
    /// the journal must not be used any more.
    pub(super) fn commit(&mut self, lengths: Vec<u64>, totals: Totals) -> Result<()> {
        let mut checkpoint = Checkpoint {
            number: self.checkpoint.number + 1,
            lengths,
            totals,
            crc: 0,
        };
        let changes = self.buffer.len();
        push_checkpoint(
            &mut self.buffer,
            start_crc(self.checkpoint.crc),
            &mut checkpoint,
        );
        let written = self
            .file
            .write_all(&self.buffer)
            .and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // The next run would cut it off, too.
            let _ = self.file.set_len(self.length);
            return Err(Fault::from(error).state("cannot write the state", &self.path));
        }
        self.length += self.buffer.len() as u64;
        self.history += (self.buffer.len() - changes) as u64;
        self.checkpoint = checkpoint;
        if self.buffer.capacity() > KEEP_BUFFER {
            self.buffer = Vec::new();
        } else {
            self.buffer.clear();
        }
        Ok(())
    }

    /// Writes the file anew without its history if that is most of it. Must
    /// follow a commit. A failure to do so is no failure of the crawl: the
    /// file stays as it is.
    ///
    /// # Errors
    /// [`Fault::Io`] when the new file is in place and may not last.
    pub(super) fn compact_if_worth_it(&mut self, now: &Anchor) -> Result<()> {
        debug_assert!(self.buffer.is_empty(), "a commit comes first");
        if self.length < self.compact_from || self.history < self.length / COMPACT_AT {
            return Ok(());
        }
        let new = with_suffix(&self.path, NEW);
        let made = File::open(&self.path)
            .map_err(|error| Fault::from(error).state("cannot read the state", &self.path))
            .and_then(|old| compact::write(&old, &self.path, self.length, &new, now));
        let made = match made {
            Ok(made) => made,
            Err(error) => {
                let _ = fs::remove_file(&new);
                self.compact_from = self.length.saturating_mul(2);
                log::warn!("the state stays as long as it is: {error}");
                return Ok(());
            }
        };
        if let Err(error) = fs::rename(&new, &self.path).and_then(|()| sync_folder(&self.dir)) {
            return Err(Fault::from(error).state("cannot replace the state", &self.path));
        }
        log::debug!(
            "{}: {} bytes without history, {} with it",
            self.path.display(),
            made.length,
            self.length
        );
        *self = Journal::at(
            &self.dir,
            made.file,
            made.length,
            made.checkpoint,
            0,
            self.later_pass,
        );
        Ok(())
    }
}

/// A name for a state that is kept aside: `journal.jsonl.1` and so on.
fn free_place(path: &Path) -> io::Result<PathBuf> {
    const MOST: u32 = 1_000_000;
    (1..MOST)
        .map(|number| with_suffix(path, &format!(".{number}")))
        .find(|place| !place.exists())
        .ok_or_else(|| io::Error::other("too many old states in the folder"))
}
