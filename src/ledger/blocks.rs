//! Reading a state file in blocks of whole lines, in parallel where it pays.
//! Keeps: lines are folded in the order in which they stand, whoever read them.

use std::fs::File;
use std::io::{self, BufRead as _, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use super::fault::Fault;
use crate::error::{Error, Result};

/// Bytes that are read at once. Large enough to share out, small enough to
/// stay in memory with all that is made of it.
const BLOCK: usize = 4 << 20;

/// Files below this are read by one thread: starting others takes longer.
const PARALLEL_FROM: u64 = 1 << 20;
/// Pieces of a block for each thread, so that one that is late holds up little.
const PIECES_PER_THREAD: usize = 4;

/// Reads a file in blocks that end at line ends.
pub(super) struct Blocks<'a> {
    file: &'a File,
    buffer: Vec<u8>,
    block: usize,
    /// Where the buffer begins in the file.
    at: u64,
    /// Bytes of the buffer that were given out.
    given: usize,
    limit: u64,
}

impl<'a> Blocks<'a> {
    /// Reads the bytes from `from` up to `limit`, or to the file's end.
    pub(super) fn new(file: &'a File, from: u64, limit: u64) -> io::Result<Self> {
        Blocks::with_size(file, from, limit, BLOCK)
    }

    fn with_size(mut file: &'a File, from: u64, limit: u64, block: usize) -> io::Result<Self> {
        file.seek(SeekFrom::Start(from))?;
        Ok(Blocks {
            file,
            buffer: Vec::new(),
            block,
            at: from,
            given: 0,
            limit,
        })
    }

    /// The next whole lines and where they begin. The last block of a file
    /// may end in a line without an end. `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, &[u8])>> {
        self.buffer.drain(..self.given);
        self.at += self.given as u64;
        self.given = 0;
        loop {
            let had = self.buffer.len();
            let left = self.limit - self.at - had as u64;
            let wanted = (self.block as u64).min(left);
            self.file.take(wanted).read_to_end(&mut self.buffer)?;
            if self.buffer.is_empty() {
                return Ok(None);
            }
            let ended = self.buffer.len() - had < self.block;
            self.given = if ended {
                self.buffer.len()
            } else {
                match self.buffer[had..].iter().rposition(|&byte| byte == b'\n') {
                    Some(end) => had + end + 1,
                    None => continue,
                }
            };
            return Ok(Some((self.at, &self.buffer[..self.given])));
        }
    }
}

/// The lines of some bytes, each with its end and its offset. A last line
/// without an end is one, too.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let mut rest = &bytes[at..];
        // Reading from memory cannot fail.
        let length = rest.skip_until(b'\n').unwrap_or(0);
        let line = &bytes[at..at + length];
        at += length;
        (length > 0).then_some((at - length, line))
    })
}

/// Cuts bytes into about `count` pieces at line ends.
fn pieces(bytes: &[u8], count: usize) -> Vec<(usize, &[u8])> {
    let size = bytes.len().div_ceil(count.max(1)).max(1);
    let mut pieces = Vec::with_capacity(count);
    let mut start = 0;
    while start < bytes.len() {
        let from = (start + size).min(bytes.len());
        let mut rest = &bytes[from..];
        // A piece whose size falls onto a line's end takes the next line too:
        // that keeps this to one search.
        let end = from + rest.skip_until(b'\n').unwrap_or(0);
        pieces.push((start, &bytes[start..end]));
        start = end;
    }
    pieces
}

/// How the lines are shared out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sharing {
    block: usize,
    pieces: usize,
}

impl Sharing {
    /// What pays for a file of this length.
    pub(super) fn for_length(length: u64) -> Self {
        let threads = if length < PARALLEL_FROM {
            1
        } else {
            rayon::current_num_threads()
        };
        Sharing {
            block: BLOCK,
            pieces: if threads > 1 {
                threads * PIECES_PER_THREAD
            } else {
                1
            },
        }
    }

    #[cfg(test)]
    pub(super) fn new(block: usize, pieces: usize) -> Self {
        Sharing { block, pieces }
    }
}

/// What went wrong with the line that begins at a byte.
pub(super) struct BadLine {
    at: u64,
    why: String,
}

/// Reads every line of the first `length` bytes with `parse`, which is told
/// where it begins, and hands what that gives to `fold`, with the line's place
/// and length, in order.
///
/// # Errors
/// That of the first line that `parse` cannot read, or that the file gives.
pub(super) fn drive<E: Send>(
    file: &File,
    path: &Path,
    length: u64,
    sharing: Sharing,
    parse: impl Fn(u64, &[u8]) -> Result<Option<E>, String> + Sync,
    mut fold: impl FnMut(u64, u32, E),
) -> Result<()> {
    let io = |error: io::Error| Fault::from(error).state("cannot read the state", path);
    let mut blocks = Blocks::with_size(file, 0, length, sharing.block).map_err(io)?;
    let read = |at: u64, bytes: &[u8]| -> Result<Vec<(u64, u32, E)>, BadLine> {
        let mut events = Vec::new();
        for (offset, line) in lines(bytes) {
            let at = at + offset as u64;
            match parse(at, line) {
                Ok(Some(event)) => events.push((at, line.len() as u32, event)),
                Ok(None) => {}
                Err(why) => return Err(BadLine { at, why }),
            }
        }
        Ok(events)
    };
    while let Some((at, bytes)) = blocks.next().map_err(io)? {
        let parts: Vec<Result<Vec<_>, BadLine>> = if sharing.pieces > 1 {
            pieces(bytes, sharing.pieces)
                .into_par_iter()
                .map(|(offset, piece)| read(at + offset as u64, piece))
                .collect()
        } else {
            vec![read(at, bytes)]
        };
        for part in parts {
            let events = part.map_err(|bad| unreadable(file, path, &bad))?;
            for (at, length, event) in events {
                fold(at, length, event);
            }
        }
    }
    Ok(())
}

fn unreadable(file: &File, path: &Path, bad: &BadLine) -> Error {
    let line = line_number(file, bad.at).map_or_else(|_| "?".to_owned(), |n| n.to_string());
    let text = format!("byte {}, line {line}: {}", bad.at, bad.why);
    Fault::Damaged(text).state("cannot understand the state", path)
}

/// The number of the line that begins at a byte; the first is 1.
pub(super) fn line_number(file: &File, at: u64) -> io::Result<u64> {
    let mut blocks = Blocks::new(file, 0, at)?;
    let mut number = 1;
    while let Some((_, bytes)) = blocks.next()? {
        number += lines(bytes).count() as u64;
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_whole_lines_and_together_all_of_them() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..500 {
            let mut bytes: Vec<u8> = Vec::new();
            for _ in 0..random.usize(0..30) {
                bytes.extend(std::iter::repeat_n(b'x', random.usize(0..20)));
                bytes.push(b'\n');
            }
            bytes.extend(std::iter::repeat_n(b'y', random.usize(0..3)));
            let pieces = pieces(&bytes, random.usize(1..9));
            let whole: Vec<u8> = pieces
                .iter()
                .flat_map(|(_, piece)| *piece)
                .copied()
                .collect();
            assert_eq!(whole, bytes);
            for (offset, piece) in &pieces {
                assert!(*offset == 0 || bytes[offset - 1] == b'\n');
                assert_eq!(&bytes[*offset..offset + piece.len()], *piece);
            }
            let again: Vec<u8> = lines(&bytes).flat_map(|(_, line)| line).copied().collect();
            assert_eq!(again, bytes);
        }
    }
}
