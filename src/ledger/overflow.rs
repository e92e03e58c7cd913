//! [`Overflow`]: the part of the queue that is not in memory, in a file beside
//! the state. Keeps: what is read is what was written. The file is no part of
//! the state, which tells of every URL by itself: it is worth nothing once the
//! run is over, and is gone then.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::fault::Fault;
use crate::error::Result;
use crate::frontier::{CHUNK_BYTES, ChunkId};

/// Its name in the state's folder.
const FILE: &str = "queue.tmp";
/// Length and checksum before a chunk's bytes.
const HEADER: usize = size_of::<u16>() + size_of::<u32>();
/// Bytes of the file that are each chunk's own.
const SLOT: usize = HEADER + CHUNK_BYTES;
/// Bytes that are written at once.
const WRITE: usize = 256 * SLOT;

/// A file of chunks, each at the place of its number.
#[derive(Debug)]
pub(crate) struct Overflow {
    path: PathBuf,
    file: Mutex<Option<File>>,
}

impl Overflow {
    /// Of a crawl with its state in that folder. The file is made when there is
    /// something to write; one that a killed run has left is removed.
    #[must_use]
    pub(crate) fn new(dir: &Path) -> Self {
        let path = dir.join(FILE);
        // One that cannot be removed is written over.
        let _ = fs::remove_file(&path);
        Overflow {
            path,
            file: Mutex::new(None),
        }
    }

    /// Writes chunks.
    ///
    /// # Errors
    /// Of kind [`State`](crate::ErrorKind::State); none of them can be relied
    /// on then.
    pub(crate) fn write(&self, chunks: &[(ChunkId, Arc<[u8]>)]) -> Result<()> {
        if chunks.is_empty() {
            return Ok(());
        }
        self.with_file(|file| {
            let mut buffer = Vec::with_capacity(WRITE.min(chunks.len() * SLOT));
            let mut start = 0;
            for (id, bytes) in chunks {
                let at = u64::from(*id) * SLOT as u64;
                if at != start + buffer.len() as u64 || buffer.len() >= WRITE {
                    write_at(file, start, &buffer)?;
                    buffer.clear();
                    start = at;
                }
                push_slot(&mut buffer, bytes);
            }
            write_at(file, start, &buffer)
        })
        .map_err(|error| Fault::from(error).state("cannot write the queue to", &self.path))
    }

    /// Reads a chunk that was written.
    ///
    /// # Errors
    /// Of kind [`State`](crate::ErrorKind::State): it cannot be read, or is not
    /// what was written.
    pub(crate) fn read(&self, id: ChunkId) -> Result<Arc<[u8]>> {
        let mut slot = [0; SLOT];
        self.with_file(|file| {
            file.seek(SeekFrom::Start(u64::from(id) * SLOT as u64))?;
            file.read_exact(&mut slot)
        })
        .map_err(|error| Fault::from(error).state("cannot read the queue from", &self.path))?;
        chunk_of(&slot).map(Arc::from).ok_or_else(|| {
            let text = format!("part {id} is not what was written");
            Fault::Damaged(text).state("cannot read the queue from", &self.path)
        })
    }

    fn with_file<T>(&self, work: impl FnOnce(&mut File) -> io::Result<T>) -> io::Result<T> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.is_none() {
            let new = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(true)
                .open(&self.path)?;
            // Where an open file can lose its name, a kill leaves nothing.
            let _ = fs::remove_file(&self.path);
            *file = Some(new);
        }
        let file = file.as_mut().expect("it was opened just now");
        work(file)
    }
}

impl Drop for Overflow {
    fn drop(&mut self) {
        let file = self.file.get_mut().unwrap_or_else(PoisonError::into_inner);
        if file.take().is_some() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn write_at(file: &mut File, at: u64, bytes: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(at))?;
    file.write_all(bytes)
}

fn push_slot(buffer: &mut Vec<u8>, bytes: &[u8]) {
    let end = buffer.len() + SLOT;
    buffer.extend((bytes.len() as u16).to_le_bytes());
    buffer.extend(checksum(bytes).to_le_bytes());
    buffer.extend(bytes);
    buffer.resize(end, 0);
}

fn chunk_of(slot: &[u8; SLOT]) -> Option<&[u8]> {
    let (length, rest) = slot.split_first_chunk()?;
    let (sum, rest) = rest.split_first_chunk()?;
    let bytes = rest.get(..usize::from(u16::from_le_bytes(*length)))?;
    (u32::from_le_bytes(*sum) == checksum(bytes)).then_some(bytes)
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn chunk(random: &mut fastrand::Rng) -> Arc<[u8]> {
        (0..random.usize(..=CHUNK_BYTES))
            .map(|_| random.u8(..))
            .collect()
    }

    #[test]
    fn chunks_are_read_as_they_were_last_written_and_the_file_is_gone_in_the_end() {
        let dir = std::env::temp_dir().join(format!("canter-overflow-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("a folder");
        fs::write(dir.join(FILE), "of a killed run").expect("a file");
        let overflow = Overflow::new(&dir);
        assert!(!dir.join(FILE).exists());
        let mut random = fastrand::Rng::with_seed(2);
        let mut model = vec![Arc::from([]); 600];
        overflow
            .write(&(0u32..).zip(model.iter().cloned()).collect::<Vec<_>>())
            .expect("room");
        for _ in 0..40 {
            let chunks: Vec<(ChunkId, Arc<[u8]>)> = (0..random.usize(..60))
                .map(|_| (random.u32(..600), chunk(&mut random)))
                .collect();
            overflow.write(&chunks).expect("room");
            for (id, bytes) in chunks {
                model[id as usize] = bytes;
            }
            let id = random.u32(..600);
            assert_eq!(overflow.read(id).expect("it is there"), model[id as usize]);
        }
        let error = overflow.read(600).expect_err("there is none");
        assert_eq!(error.kind(), ErrorKind::State);
        assert!(error.to_string().contains(FILE), "{error}");
        drop(overflow);
        assert!(!dir.join(FILE).exists());
        let _ = fs::remove_dir_all(&dir);
    }

    #[test]
    fn a_chunk_that_was_damaged_is_not_taken_for_one() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..200 {
            let bytes = chunk(&mut random);
            let mut buffer = Vec::new();
            push_slot(&mut buffer, &bytes);
            let mut slot: [u8; SLOT] = buffer.try_into().expect("a slot");
            assert_eq!(chunk_of(&slot), Some(&*bytes));
            let at = random.usize(..HEADER + bytes.len().max(1));
            slot[at.min(HEADER + bytes.len()).min(SLOT - 1)] ^= 1 << random.u8(..8);
            let read = chunk_of(&slot);
            assert!(read != Some(&*bytes) || at >= HEADER + bytes.len());
        }
    }
}
