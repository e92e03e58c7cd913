//! [`Pauses`]: what is held back as a whole: a key, such as a tag, or the
//! crawl. Keeps: of two pauses the longer wins, and none is cut short.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Instant;

/// Keys that are held back until an instant.
#[derive(Debug, Clone)]
pub struct Pauses<K> {
    until: HashMap<K, Instant>,
}

impl<K> Default for Pauses<K> {
    fn default() -> Self {
        Pauses {
            until: HashMap::new(),
        }
    }
}

impl<K: Eq + Hash> Pauses<K> {
    /// Holds a key back until `until`, or longer if it already is. Gives the
    /// instant until which it is held back now.
    pub fn pause(&mut self, key: K, until: Instant) -> Instant {
        let held = self.until.entry(key).or_insert(until);
        *held = (*held).max(until);
        *held
    }

    /// Until when the key is held back, if it is at `now`.
    #[must_use]
    pub fn held(&self, key: &K, now: Instant) -> Option<Instant> {
        self.until.get(key).copied().filter(|until| *until > now)
    }

    /// Forgets the pauses that have passed.
    pub fn sweep(&mut self, now: Instant) {
        self.until.retain(|_, until| *until > now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_longer_of_two_pauses_wins() {
        let now = Instant::now();
        let at = |s| now + Duration::from_secs(s);
        let mut pauses = Pauses::default();
        pauses.pause("a", at(10));
        pauses.pause("a", at(5));
        assert_eq!(pauses.held(&"a", at(9)), Some(at(10)));
        assert_eq!(pauses.held(&"a", at(10)), None);
        assert_eq!(pauses.held(&"b", now), None);
        pauses.sweep(at(11));
        assert!(pauses.until.is_empty());
    }
}
