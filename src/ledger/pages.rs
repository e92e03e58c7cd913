//! [`Pages`]: what earlier runs remember of the pages that this run asks for
//! again, kept in one block of memory. Keeps: an answer is what was last
//! remembered of that URL.

use std::time::{Duration, SystemTime};

use super::anchor::wall_of_millis;
use crate::ledger::change::PageMemory;

/// What earlier runs remember of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownPage {
    /// Validators, hash and size.
    pub memory: PageMemory,
    /// When that was committed, to the second.
    pub fetched: SystemTime,
}

/// Memories of pages, one after the other. A memory begins at a multiple of
/// [`STEP`] bytes, so that 32 bits are enough to say where.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    bytes: Vec<u8>,
}

/// Memories begin at multiples of this many bytes: 32 GiB can be told apart.
const STEP: usize = 8;
/// The length of a text that is not there.
const NO_TEXT: u32 = u32::MAX;

/// Packs a memory for [`Shelf::put`].
pub(super) fn pack(memory: &PageMemory, fetched: u64) -> Vec<u8> {
    let texts = [&memory.etag, &memory.last_modified];
    let length: usize = texts
        .iter()
        .map(|t| t.as_ref().map_or(0, String::len))
        .sum();
    let mut bytes = Vec::with_capacity(length + 40);
    bytes.extend_from_slice(&fetched.to_le_bytes());
    bytes.extend_from_slice(&memory.bytes.to_le_bytes());
    bytes.extend_from_slice(&(memory.elapsed.as_millis() as u32).to_le_bytes());
    bytes.push(u8::from(memory.hash.is_some()));
    bytes.extend_from_slice(&memory.hash.unwrap_or(0).to_le_bytes());
    for text in texts {
        match text {
            Some(text) => {
                bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
                bytes.extend_from_slice(text.as_bytes());
            }
            None => bytes.extend_from_slice(&NO_TEXT.to_le_bytes()),
        }
    }
    bytes
}

/// Stamps a packed memory with the second it was committed at.
pub(super) fn stamp(packed: &mut [u8], fetched: u64) {
    packed[..8].copy_from_slice(&fetched.to_le_bytes());
}

fn unpack(mut bytes: &[u8]) -> Option<KnownPage> {
    let mut take = |count: usize| {
        let (taken, rest) = bytes.split_at_checked(count)?;
        bytes = rest;
        Some(taken)
    };
    let fetched = u64::from_le_bytes(take(8)?.try_into().ok()?);
    let size = u64::from_le_bytes(take(8)?.try_into().ok()?);
    let elapsed = u32::from_le_bytes(take(4)?.try_into().ok()?);
    let hashed = take(1)?[0] != 0;
    let hash = u64::from_le_bytes(take(8)?.try_into().ok()?);
    let mut text = || {
        let length = u32::from_le_bytes(take(4)?.try_into().ok()?);
        if length == NO_TEXT {
            return Some(None);
        }
        let text = take(length as usize)?.to_vec();
        Some(Some(String::from_utf8(text).ok()?))
    };
    Some(KnownPage {
        memory: PageMemory {
            etag: text()?,
            last_modified: text()?,
            hash: hashed.then_some(hash),
            bytes: size,
            elapsed: Duration::from_millis(u64::from(elapsed)),
        },
        fetched: wall_of_millis(fetched.saturating_mul(1000)),
    })
}

impl Shelf {
    /// Puts a packed memory up. Gives its place, which is never 0; or 0 when
    /// the shelf is full, so that the page is asked for as a new one.
    pub(super) fn put(&mut self, packed: &[u8]) -> u32 {
        let place = self.bytes.len() / STEP + 1;
        let Ok(place) = u32::try_from(place) else {
            return 0;
        };
        self.bytes.extend_from_slice(packed);
        self.bytes
            .resize(self.bytes.len().next_multiple_of(STEP), 0);
        place
    }

    fn get(&self, place: u32) -> Option<KnownPage> {
        let at = (place as usize).checked_sub(1)? * STEP;
        unpack(self.bytes.get(at..)?)
    }
}

/// What earlier runs remember of the pages that are due in this one.
///
/// It does not change while the run goes on, and can be shared between
/// threads: `Arc<Pages>`.
#[derive(Debug, Default)]
pub struct Pages {
    /// Those that are due, sorted by fingerprint.
    index: Vec<(u64, u32)>,
    /// The others, if they are wanted, with the second of their last end.
    rest: Vec<(u64, u32, u32)>,
    shelf: Shelf,
}

impl Pages {
    /// Pages from (fingerprint, place on the shelf).
    pub(super) fn new(mut index: Vec<(u64, u32)>, shelf: Shelf) -> Self {
        index.sort_unstable_by_key(|(fingerprint, _)| *fingerprint);
        Pages {
            index,
            rest: Vec::new(),
            shelf,
        }
    }

    /// Adds the pages that are not due, each with the second of its last end.
    pub(super) fn add_rest(&mut self, mut rest: Vec<(u64, u32, u32)>) {
        rest.sort_unstable_by_key(|(fingerprint, ..)| *fingerprint);
        self.rest = rest;
    }

    /// How many pages are due.
    #[must_use]
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// What is remembered of the page with this fingerprint, if it was fetched
    /// in an earlier pass and is due again.
    #[must_use]
    pub fn get(&self, fingerprint: u64) -> Option<KnownPage> {
        let at = self
            .index
            .binary_search_by_key(&fingerprint, |(fingerprint, _)| *fingerprint)
            .ok()?;
        self.shelf.get(self.index[at].1)
    }

    /// What is remembered of a page that is not due; `fetched` is when it was
    /// last asked for. Needs
    /// [`Restored::remember_all`](super::Restored::remember_all).
    #[must_use]
    pub fn not_due(&self, fingerprint: u64) -> Option<KnownPage> {
        let at = self
            .rest
            .binary_search_by_key(&fingerprint, |(fingerprint, ..)| *fingerprint)
            .ok()?;
        let (_, place, ended_at) = self.rest[at];
        Some(KnownPage {
            fetched: wall_of_millis(u64::from(ended_at) * 1000),
            ..self.shelf.get(place)?
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_comes_off_the_shelf_as_it_was_put_up() {
        let full = PageMemory {
            etag: Some("W/\"ä\"".to_owned()),
            last_modified: Some(String::new()),
            hash: Some(u64::MAX),
            bytes: 1 << 40,
            elapsed: Duration::from_millis(1_234),
        };
        let mut shelf = Shelf::default();
        let first = shelf.put(&pack(&full, 77));
        let second = shelf.put(&pack(&PageMemory::default(), 78));
        let pages = Pages::new(vec![(9, second), (4, first)], shelf);
        assert_eq!(pages.get(4).expect("known").memory, full);
        assert_eq!(pages.get(4).expect("known").fetched, wall_of_millis(77_000));
        assert_eq!(pages.get(9).expect("known").memory, PageMemory::default());
        assert!(pages.get(5).is_none());
        assert_eq!(pages.len(), 2);
    }
}
