//! [`Known`]: URLs that the engine has seen for sure, to be asked without its
//! lock.
//!
//! Nearly every link of a site leads to a URL that is known already. The engine
//! would answer it with "duplicate", which changes nothing, so a worker that
//! knows this need not make a request of it. Keeps: what is called known has
//! been claimed for the rest of the run. What is forgotten only costs time.

use std::sync::atomic::{AtomicU64, Ordering};

/// Fingerprints that are kept: those of the links that most pages of a few
/// sites share, in 256 KiB.
const SLOTS: usize = 1 << 15;

/// Fingerprints, each in the one slot it may be in. A later one takes the place
/// of an earlier one.
#[derive(Debug)]
pub(super) struct Known(Box<[AtomicU64]>);

impl Known {
    pub(super) fn new() -> Self {
        Known((0..SLOTS).map(|_| AtomicU64::new(0)).collect())
    }

    /// Takes in a URL that the engine was given, and not as one that is too
    /// deep: that may be let in later.
    pub(super) fn note(&self, fingerprint: u64) {
        // A value of its own in each slot: there is nothing to be in order with.
        self.slot(fingerprint).store(fingerprint, Ordering::Relaxed);
    }

    /// Whether the engine would say "duplicate". 0 is an empty slot.
    pub(super) fn has(&self, fingerprint: u64) -> bool {
        fingerprint != 0 && self.slot(fingerprint).load(Ordering::Relaxed) == fingerprint
    }

    fn slot(&self, fingerprint: u64) -> &AtomicU64 {
        &self.0[fingerprint as usize % SLOTS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_noted_is_known_and_the_last_in_a_slot_stays() {
        let known = Known::new();
        assert!(!known.has(0) && !known.has(7));
        known.note(7);
        assert!(known.has(7) && !known.has(7 + SLOTS as u64));
        known.note(7 + SLOTS as u64);
        assert!(!known.has(7) && known.has(7 + SLOTS as u64));
    }
}
