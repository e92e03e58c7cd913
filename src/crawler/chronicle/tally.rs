//! [`Tally`]: counts by a fixed set of words. Keeps: it has at most as many
//! counts as there are words, whatever it reads or is told.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::words::Word;

/// Counts by word. Only words that were counted take space.
#[derive(Clone, PartialEq, Eq)]
pub struct Tally<K> {
    /// Place of the word among all, and its count; in the order of the words.
    counts: Vec<(u8, u64)>,
    words: PhantomData<K>,
}

impl<K> Default for Tally<K> {
    fn default() -> Self {
        Tally {
            counts: Vec::new(),
            words: PhantomData,
        }
    }
}

impl<K: Word> Tally<K> {
    /// Counts `count` more.
    pub fn add(&mut self, word: K, count: u64) {
        if count == 0 {
            return;
        }
        let at = word.place();
        match self.counts.binary_search_by_key(&at, |(place, _)| *place) {
            Ok(found) => {
                let (_, held) = &mut self.counts[found];
                *held = held.saturating_add(count);
            }
            Err(free) => self.counts.insert(free, (at, count)),
        }
    }

    /// Takes up to `count` away, and says how many were left to take.
    pub(super) fn take(&mut self, word: K, count: u64) -> u64 {
        let at = word.place();
        let Ok(found) = self.counts.binary_search_by_key(&at, |(place, _)| *place) else {
            return count;
        };
        let held = self.counts[found].1;
        if held > count {
            self.counts[found].1 = held - count;
            return 0;
        }
        self.counts.remove(found);
        count - held
    }

    /// The count of a word.
    #[must_use]
    pub fn get(&self, word: K) -> u64 {
        let at = word.place();
        self.counts
            .binary_search_by_key(&at, |(place, _)| *place)
            .map_or(0, |found| self.counts[found].1)
    }

    /// The counts that are not zero, in the order of the words.
    pub fn iter(&self) -> impl Iterator<Item = (K, u64)> + '_ {
        let word = |at: u8| K::ALL[usize::from(at)];
        self.counts
            .iter()
            .map(move |(at, count)| (word(*at), *count))
    }

    /// All counts together.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.counts
            .iter()
            .fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Adds every count of another.
    pub fn merge(&mut self, other: &Self) {
        for (word, count) in other.iter() {
            self.add(word, count);
        }
    }
}

impl<K: Word> FromIterator<(K, u64)> for Tally<K> {
    fn from_iter<I: IntoIterator<Item = (K, u64)>>(counts: I) -> Self {
        let mut tally = Tally::default();
        for (word, count) in counts {
            tally.add(word, count);
        }
        tally
    }
}

impl<K: Word> fmt::Debug for Tally<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.iter().map(|(word, count)| (word.word(), count)))
            .finish()
    }
}

impl<K: Word> Serialize for Tally<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.counts.len()))?;
        for (word, count) in self.iter() {
            map.serialize_entry(word.word(), &count)?;
        }
        map.end()
    }
}

impl<'de, K: Word> Deserialize<'de> for Tally<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words<K>(PhantomData<K>);
        impl<'de, K: Word> Visitor<'de> for Words<K> {
            type Value = Tally<K>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("counts by word")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tally<K>, A::Error> {
                let mut tally = Tally::default();
                while let Some((word, count)) = map.next_entry::<String, u64>()? {
                    // A word of a later version is nothing that can be shown.
                    if let Some(word) = K::ALL.iter().find(|known| known.word() == word) {
                        tally.add(*word, count);
                    }
                }
                Ok(tally)
            }
        }
        deserializer.deserialize_map(Words(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn counts_are_kept_by_word_and_read_back() {
        let mut tally: Tally<ErrorKind> = Tally::default();
        tally.add(ErrorKind::Timeout, 2);
        tally.add(ErrorKind::Http, 1);
        tally.add(ErrorKind::Timeout, 3);
        tally.add(ErrorKind::Worker, 0);
        assert_eq!(tally.get(ErrorKind::Timeout), 5);
        assert_eq!(tally.get(ErrorKind::Worker), 0);
        assert_eq!(tally.sum(), 6);
        let json = serde_json::to_string(&tally).expect("JSON");
        assert_eq!(json, r#"{"http":1,"timeout":5}"#);
        assert_eq!(
            serde_json::from_str::<Tally<_>>(&json).expect("JSON"),
            tally
        );
        let foreign: Tally<ErrorKind> =
            serde_json::from_str(r#"{"of_tomorrow":9,"http":1}"#).expect("JSON");
        assert_eq!(foreign.sum(), 1);
    }

    #[test]
    fn what_is_taken_away_is_never_more_than_there_is() {
        let mut tally: Tally<ErrorKind> = [(ErrorKind::Http, 3)].into_iter().collect();
        assert_eq!(tally.take(ErrorKind::Http, 2), 0);
        assert_eq!(tally.take(ErrorKind::Http, 5), 4);
        assert_eq!(tally.take(ErrorKind::Timeout, 1), 1);
        assert!(tally.is_empty());
    }
}
