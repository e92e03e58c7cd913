//! [`Seen`]: which URLs were found before, in about ten bytes each. Keeps: a
//! fingerprint is claimed in the same step in which it is looked up.

/// Tables that the fingerprints are spread over: when one grows, little is
/// held twice.
const SHARDS: usize = 64;
/// Bits of a fingerprint that choose its table.
const SHARD_BITS: u32 = SHARDS.trailing_zeros();
/// Spreads fingerprints whose upper bits are poor; odd, so that two stay two
/// (Fibonacci hashing).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A set of fingerprints.
#[derive(Debug, Default, Clone)]
pub struct Seen {
    shards: Vec<Shard>,
    /// 0 marks a free slot, so it is kept here.
    zero: bool,
    len: usize,
}

impl Seen {
    /// Claims a fingerprint; `false` when it was claimed before.
    pub fn claim(&mut self, fingerprint: u64) -> bool {
        let value = fingerprint.wrapping_mul(SPREAD);
        let new = if value == 0 {
            !std::mem::replace(&mut self.zero, true)
        } else {
            if self.shards.is_empty() {
                self.shards.resize_with(SHARDS, Shard::default);
            }
            self.shards[shard(value)].insert(value)
        };
        self.len += usize::from(new);
        new
    }

    /// Whether a fingerprint was claimed.
    #[must_use]
    pub fn contains(&self, fingerprint: u64) -> bool {
        let value = fingerprint.wrapping_mul(SPREAD);
        if value == 0 {
            return self.zero;
        }
        self.shards
            .get(shard(value))
            .is_some_and(|shard| shard.find(value).is_ok())
    }

    /// Gives a fingerprint up; `false` when it was not claimed.
    pub fn give_up(&mut self, fingerprint: u64) -> bool {
        let value = fingerprint.wrapping_mul(SPREAD);
        let had = if value == 0 {
            std::mem::take(&mut self.zero)
        } else {
            self.shards
                .get_mut(shard(value))
                .is_some_and(|shard| shard.remove(value))
        };
        self.len -= usize::from(had);
        had
    }

    /// How many were claimed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

fn shard(value: u64) -> usize {
    (value >> (u64::BITS - SHARD_BITS)) as usize
}

/// Values in increasing order with free slots, which are 0, between them. Each
/// stands at its home or behind it, with no free slot in between; the home of a
/// value is the part of the table that it is of all values.
#[derive(Debug, Default, Clone)]
struct Shard {
    slots: Vec<u64>,
    /// Slots that are homes; the rest takes what is pushed over the end.
    homes: usize,
    taken: usize,
}

impl Shard {
    /// A table is full when nine of ten homes could be taken.
    const FULL: (usize, usize) = (9, 10);
    const FIRST_HOMES: usize = 8;
    /// Slots behind the last home. The last slot of all is always free.
    const BEHIND: usize = 8;

    fn home(&self, value: u64) -> usize {
        let within = u128::from(value << SHARD_BITS);
        ((within * self.homes as u128) >> u64::BITS) as usize
    }

    /// Where a value stands, or where it would have to.
    fn find(&self, value: u64) -> Result<usize, usize> {
        if self.slots.is_empty() {
            return Err(0);
        }
        let mut at = self.home(value);
        while self.slots[at] != 0 && self.slots[at] < value {
            at += 1;
        }
        if self.slots[at] == value {
            Ok(at)
        } else {
            Err(at)
        }
    }

    fn insert(&mut self, value: u64) -> bool {
        let Err(mut at) = self.find(value) else {
            return false;
        };
        if self.taken * Self::FULL.1 >= self.homes * Self::FULL.0 {
            self.grow();
            at = self.find(value).unwrap_or_else(|at| at);
        }
        let mut free = at;
        while self.slots[free] != 0 {
            free += 1;
        }
        if free + 1 == self.slots.len() {
            self.slots.reserve_exact(Self::BEHIND);
            self.slots.push(0);
        }
        self.taken += 1;
        let mut moving = value;
        while at <= free {
            std::mem::swap(&mut self.slots[at], &mut moving);
            at += 1;
        }
        true
    }

    fn remove(&mut self, value: u64) -> bool {
        let Ok(mut at) = self.find(value) else {
            return false;
        };
        // Those behind it move up, as long as that brings none before its home.
        while self.slots[at + 1] != 0 && self.home(self.slots[at + 1]) <= at {
            self.slots[at] = self.slots[at + 1];
            at += 1;
        }
        self.slots[at] = 0;
        self.taken -= 1;
        true
    }

    fn grow(&mut self) {
        self.homes = (self.homes * 5 / 4).max(self.homes + Self::FIRST_HOMES);
        let mut slots = vec![0; self.homes + Self::BEHIND];
        let mut next = 0;
        for value in std::mem::take(&mut self.slots) {
            if value != 0 {
                let at = self.home(value).max(next);
                if at + 1 >= slots.len() {
                    slots.resize(at + 2, 0);
                }
                slots[at] = value;
                next = at + 1;
            }
        }
        self.slots = slots;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_fingerprint_is_claimed_once_however_many_there_are() {
        let mut random = fastrand::Rng::with_seed(5);
        // Poorly spread ones, and random ones.
        let low = 0..3_000u64;
        let high = (0..3_000u64).map(|n| n << 52);
        let ends = [u64::MAX, u64::MAX - 1, 1 << 63];
        let all: Vec<u64> = low
            .chain(high)
            .chain(ends)
            .chain((0..50_000).map(|_| random.u64(..)))
            .collect();
        let (mut seen, mut model) = (Seen::default(), HashSet::new());
        assert!(!seen.contains(0) && seen.is_empty());
        for (at, fingerprint) in all.iter().enumerate() {
            assert_eq!(seen.contains(*fingerprint), model.contains(fingerprint));
            assert_eq!(seen.claim(*fingerprint), model.insert(*fingerprint));
            if at % 3 == 0 {
                let old = all[random.usize(..=at)];
                assert_eq!(seen.give_up(old), model.remove(&old));
            }
            assert_eq!(seen.len(), model.len());
        }
        for fingerprint in &all {
            assert_eq!(seen.contains(*fingerprint), model.contains(fingerprint));
        }
    }

    #[test]
    fn a_fingerprint_takes_about_ten_bytes() {
        let mut random = fastrand::Rng::with_seed(6);
        let mut seen = Seen::default();
        for _ in 0..200_000 {
            seen.claim(random.u64(..));
        }
        let slots: usize = seen.shards.iter().map(|shard| shard.slots.capacity()).sum();
        let each = slots * size_of::<u64>() / seen.len();
        assert!(each <= 11, "{each} bytes each");
    }
}
