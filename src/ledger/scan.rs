//! Checking a state file before anything of it is believed. Keeps: what lies
//! before [`Scan::committed`] is, byte for byte, what was written; a file that
//! was damaged after it had been synced is told from one whose last write was
//! cut short.
//!
//! A commit is one segment that ends in a checkpoint, and the next one is not
//! written before it is synced. So whatever a crash leaves of a segment, no
//! later checkpoint can follow it: a bad segment with a later checkpoint
//! behind it was damaged, and a bad one at the end was cut short.

use std::fs::File;
use std::io;
use std::path::Path;

use super::blocks::{Blocks, lines};
use super::checkpoint::{CHECKPOINT_KEY, Checkpoint, start_crc};
use super::fault::Fault;
use super::format::VERSION;
use super::parse;
use crate::error::{Error, Result};

/// What a state file holds.
#[derive(Debug)]
pub(super) struct Scan {
    /// Bytes up to the end of the last whole checkpoint.
    pub(super) committed: u64,
    /// The last whole checkpoint.
    pub(super) checkpoint: Checkpoint,
    /// Bytes behind it: what a crash left of a commit.
    pub(super) dropped: u64,
    /// Whether pages can be due again, so that memories of them are needed.
    pub(super) pages_matter: bool,
}

/// Where the segment at hand begins.
#[derive(Debug, Clone, Copy)]
struct Segment {
    byte: u64,
    line: u64,
}

struct Scanner {
    segment: Segment,
    /// The number of the checkpoint that ends it.
    expected: u64,
    last: Option<Checkpoint>,
    /// Whether the segment is known to be bad.
    bad: bool,
    crc: flate2::Crc,
}

enum Verdict {
    Fine,
    Damaged,
}

impl Scanner {
    /// Takes in a checkpoint's line, when the checksum has seen all before it.
    fn checkpoint(&mut self, line: &[u8], end: Segment) -> Verdict {
        let Ok(checkpoint) = parse::checkpoint(line) else {
            self.bad = true;
            return Verdict::Fine;
        };
        let good =
            !self.bad && checkpoint.number == self.expected && checkpoint.crc == self.crc.sum();
        if good {
            self.segment = end;
            self.expected += 1;
            self.crc = start_crc(checkpoint.crc);
            self.last = Some(checkpoint);
            return Verdict::Fine;
        }
        self.bad = true;
        if checkpoint.number == self.expected {
            Verdict::Fine
        } else {
            Verdict::Damaged
        }
    }
}

/// Checks a state file.
///
/// # Errors
/// [`Fault::Damaged`] naming the first byte and line that is not as written,
/// [`Fault::Newer`], or [`Fault::Io`].
pub(super) fn scan(file: &File, path: &Path) -> Result<Scan> {
    let io = |error: io::Error| Fault::from(error).state("cannot read the state", path);
    let mut scanner = Scanner {
        segment: Segment { byte: 0, line: 1 },
        expected: 0,
        last: None,
        bad: false,
        crc: start_crc(0),
    };
    let mut pages_matter = false;
    let mut line_number = 0;
    let mut length = 0;
    let mut blocks = Blocks::new(file, 0, u64::MAX).map_err(io)?;
    while let Some((at, bytes)) = blocks.next().map_err(io)? {
        let mut hashed = 0;
        for (offset, line) in lines(bytes) {
            line_number += 1;
            if line_number == 1 {
                let (version, pass) = parse::header(line).unwrap_or((VERSION, 1));
                if version > VERSION {
                    return Err(newer(version, path));
                }
                pages_matter = pass > 1;
            }
            if line.starts_with(CHECKPOINT_KEY) {
                let end = Segment {
                    byte: at + (offset + line.len()) as u64,
                    line: line_number + 1,
                };
                if let Some(seal) = parse::sealed(line) {
                    scanner.crc.update(&bytes[hashed..offset + seal]);
                    hashed = offset + line.len();
                }
                if let Verdict::Damaged = scanner.checkpoint(line, end) {
                    return Err(damaged(file, path, scanner.segment, at + offset as u64));
                }
            } else {
                pages_matter |= matches!(parse::key(line), b"pass" | b"finished");
            }
        }
        scanner.crc.update(&bytes[hashed..]);
        length = at + bytes.len() as u64;
    }
    let Some(checkpoint) = scanner.last else {
        return Err(damaged(file, path, scanner.segment, length));
    };
    Ok(Scan {
        committed: scanner.segment.byte,
        checkpoint,
        dropped: length - scanner.segment.byte,
        pages_matter,
    })
}

fn newer(version: u32, path: &Path) -> Error {
    Fault::Newer(format!(
        "it has version {version}, written by a later canter; this one reads version {VERSION}"
    ))
    .state("cannot use the state", path)
}

/// Says what is wrong with the bytes of a bad segment, up to `end`.
fn damaged(file: &File, path: &Path, segment: Segment, end: u64) -> Error {
    let text = explain(file, segment, end)
        .unwrap_or_else(|error| format!("it cannot be read again ({error})"));
    Fault::Damaged(text).state("damaged state", path)
}

fn explain(file: &File, segment: Segment, end: u64) -> io::Result<String> {
    if end == 0 {
        return Ok("the file is empty; nothing was changed".to_owned());
    }
    let mut number = segment.line;
    let mut blocks = Blocks::new(file, segment.byte, end)?;
    while let Some((at, bytes)) = blocks.next()? {
        for (offset, line) in lines(bytes) {
            let byte = at + offset as u64;
            if number == 1 && parse::header(line).is_none() {
                return Ok(
                    "byte 0, line 1: not the first line of a state file; nothing was changed"
                        .to_owned(),
                );
            }
            if let Err(why) = parse::event(line, true) {
                return Ok(format!(
                    "byte {byte}, line {number}: {why}; nothing was changed"
                ));
            }
            number += 1;
        }
    }
    Ok(format!(
        "bytes {} to {end}, lines {} to {number}: not what their checksum was made of; nothing was changed",
        segment.byte, segment.line
    ))
}
