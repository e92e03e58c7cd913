//! [`Table`]: what is known of every URL of a crawl, in 24 bytes and a slot of
//! an index of four. Keeps: one entry for each fingerprint, in the order in
//! which they were first seen.

use crate::admission::SkipReason;
use crate::error::ErrorKind;
use crate::ledger::change::End;

/// How a URL stands: waiting, or ended somehow, in one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Standing(u8);

const DONE: u8 = 1;
const UNCHANGED: u8 = 2;
const REDIRECTED: u8 = 3;
const FAILED: u8 = 64;
const SKIPPED: u8 = 128;

impl Standing {
    pub(super) const PENDING: Standing = Standing(0);

    pub(super) fn of(end: End) -> Self {
        Standing(match end {
            End::Done => DONE,
            End::Unchanged => UNCHANGED,
            End::Redirected => REDIRECTED,
            End::Failed(kind) => FAILED + place(&ErrorKind::ALL, &kind),
            End::Skipped(reason) => SKIPPED + place(&SkipReason::ALL, &reason),
        })
    }

    pub(super) fn end(self) -> Option<End> {
        Some(match self.0 {
            DONE => End::Done,
            UNCHANGED => End::Unchanged,
            REDIRECTED => End::Redirected,
            code if code >= SKIPPED => {
                End::Skipped(*SkipReason::ALL.get(usize::from(code - SKIPPED))?)
            }
            code if code >= FAILED => End::Failed(*ErrorKind::ALL.get(usize::from(code - FAILED))?),
            _ => return None,
        })
    }

    pub(super) fn is_pending(self) -> bool {
        self == Standing::PENDING
    }

    pub(super) fn is_failed(self) -> bool {
        (FAILED..SKIPPED).contains(&self.0)
    }
}

fn place<T: PartialEq>(all: &[T], one: &T) -> u8 {
    all.iter()
        .position(|other| other == one)
        .expect("every kind and reason stands in its list") as u8
}

/// What is known of one URL.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) fingerprint: u64,
    /// Seconds since 1970 of its last end.
    pub(super) ended_at: u32,
    /// Where its page is remembered; see [`Shelf`](super::pages::Shelf).
    pub(super) page: u32,
    /// The attempt that comes next, or the attempts that were made.
    pub(super) attempt: u16,
    pub(super) standing: Standing,
    flags: u8,
}

/// The entry's request is written: it was queued, or refused whole.
pub(super) const REQUEST: u8 = 1;
/// It has ended at least once.
pub(super) const ENDED: u8 = 2;
/// It was skipped and is to be judged again.
pub(super) const REJUDGE: u8 = 4;
/// It is a seed, or the target of a redirect that began at one.
pub(super) const SEED: u8 = 8;
/// It is a sitemap or feed.
pub(super) const SITEMAP: u8 = 16;
/// A redirect has led to it.
pub(super) const LED_TO: u8 = 32;
/// It was found otherwise: it is a seed, or a page or sitemap names it.
pub(super) const NAMED: u8 = 64;
/// Its last end is of the pass at hand.
pub(super) const THIS_PASS: u8 = 128;

impl Entry {
    /// Whether nothing but redirects have led to it.
    pub(super) fn is_only_led_to(&self) -> bool {
        self.has(LED_TO) && !self.has(NAMED)
    }

    /// Whether it waits although it has ended in this pass: it failed in an
    /// earlier run.
    pub(super) fn returns(&self) -> bool {
        self.standing.is_pending() && self.has(THIS_PASS) && !self.has(REJUDGE)
    }

    /// Whether it ended in an earlier pass, would be asked for or judged again
    /// in this one, and is left to the redirects that led to it: they may lead
    /// elsewhere by now, and where each pass is led to a URL of its own those
    /// of all passes would pile up. `due` is when a page must have ended that
    /// is asked for again.
    pub(super) fn is_left_to_redirects(&self, due: u32) -> bool {
        self.is_only_led_to()
            && !self.has(THIS_PASS)
            && match self.standing.end() {
                Some(End::Done | End::Unchanged | End::Redirected) => {
                    self.ended_at <= due || self.has(SITEMAP)
                }
                Some(End::Failed(_)) => true,
                Some(End::Skipped(reason)) => is_judged_each_pass(reason),
                None => false,
            }
    }

    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    pub(super) fn set(&mut self, flag: u8, on: bool) {
        if on {
            self.flags |= flag;
        } else {
            self.flags &= !flag;
        }
    }
}

/// Whether a URL that was skipped for this reason is judged again in each pass:
/// the reason may have gone.
pub(super) fn is_judged_each_pass(reason: SkipReason) -> bool {
    matches!(reason, SkipReason::Robots | SkipReason::Aborted)
}

/// Spreads fingerprints over the index even if their upper bits are poor
/// (Fibonacci hashing).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
const FIRST_SLOTS: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Table {
    entries: Vec<Entry>,
    /// Places in `entries`, plus one; 0 is free. At most half are taken, and
    /// a fingerprint stands at the first free slot from its own on.
    slots: Vec<u32>,
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(super) fn at(&mut self, place: usize) -> &mut Entry {
        &mut self.entries[place]
    }

    pub(super) fn find(&self, fingerprint: u64) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        match self.slots[self.slot_of(fingerprint)] {
            0 => None,
            taken => Some(taken as usize - 1),
        }
    }

    pub(super) fn get(&self, fingerprint: u64) -> Option<&Entry> {
        self.find(fingerprint).map(|place| &self.entries[place])
    }

    /// The place of the fingerprint's entry, which is made if there is none.
    pub(super) fn place_of(&mut self, fingerprint: u64) -> usize {
        if self.slots.len() < 2 * (self.entries.len() + 1) {
            self.grow();
        }
        let slot = self.slot_of(fingerprint);
        if self.slots[slot] == 0 {
            self.entries.push(Entry {
                fingerprint,
                ended_at: 0,
                page: 0,
                attempt: 1,
                standing: Standing::PENDING,
                flags: 0,
            });
            self.slots[slot] =
                u32::try_from(self.entries.len()).expect("a crawl of fewer than 2^32 URLs");
        }
        self.slots[slot] as usize - 1
    }

    fn slot_of(&self, fingerprint: u64) -> usize {
        let mask = self.slots.len() - 1;
        let bits = self.slots.len().trailing_zeros();
        let mut slot = (fingerprint.wrapping_mul(SPREAD) >> (64 - bits)) as usize;
        loop {
            match self.slots[slot] {
                0 => return slot,
                taken if self.entries[taken as usize - 1].fingerprint == fingerprint => {
                    return slot;
                }
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    fn grow(&mut self) {
        self.slots = vec![0; (2 * self.slots.len()).max(FIRST_SLOTS)];
        for place in 0..self.entries.len() {
            let slot = self.slot_of(self.entries[place].fingerprint);
            self.slots[slot] = place as u32 + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_as_small_as_it_is_said_to_be() {
        assert_eq!(size_of::<Entry>(), 24);
    }

    #[test]
    fn every_end_reads_back_from_its_byte() {
        let ends = [End::Done, End::Unchanged, End::Redirected]
            .into_iter()
            .chain(ErrorKind::ALL.map(End::Failed))
            .chain(SkipReason::ALL.map(End::Skipped));
        for end in ends {
            let standing = Standing::of(end);
            assert_eq!(standing.end(), Some(end));
            assert_eq!(standing.is_failed(), matches!(end, End::Failed(_)));
            assert!(!standing.is_pending());
        }
        assert_eq!(Standing::PENDING.end(), None);
    }

    #[test]
    fn each_fingerprint_has_one_place_however_the_table_grows() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut table = Table::default();
        assert!(table.find(1).is_none());
        // Poorly spread ones, 0 among them, and random ones.
        let fingerprints: Vec<u64> = (0..500u64)
            .map(|n| n << 40)
            .chain((0..5_000).map(|_| random.u64(..)))
            .collect();
        for (place, fingerprint) in fingerprints.iter().enumerate() {
            assert_eq!(table.place_of(*fingerprint), place);
        }
        for (place, fingerprint) in fingerprints.iter().enumerate() {
            assert_eq!(table.place_of(*fingerprint), place);
            assert_eq!(table.find(*fingerprint), Some(place));
        }
        assert_eq!(table.len(), fingerprints.len());
        assert!(table.find(3).is_none());
    }
}
