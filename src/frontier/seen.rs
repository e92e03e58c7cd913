//! [`Seen`]: which URLs were found before. Keeps: a fingerprint is claimed in
//! the same step in which it is looked up.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

/// Takes a fingerprint for its own hash: it is one already.
#[derive(Debug, Default, Clone)]
pub(super) struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// A set of fingerprints.
#[derive(Debug, Default, Clone)]
pub struct Seen {
    claimed: HashSet<u64, BuildHasherDefault<Identity>>,
}

impl Seen {
    /// Claims a fingerprint; `false` when it was claimed before.
    pub fn claim(&mut self, fingerprint: u64) -> bool {
        self.claimed.insert(fingerprint)
    }

    /// Whether a fingerprint was claimed.
    #[must_use]
    pub fn contains(&self, fingerprint: u64) -> bool {
        self.claimed.contains(&fingerprint)
    }

    /// How many were claimed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.claimed.len()
    }

    /// Whether none was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.claimed.is_empty()
    }
}
