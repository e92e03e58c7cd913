//! [`Delayed`]: what may not start before an instant, soonest first.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::time::Instant;

/// Things that wait for an instant each. Equal instants come in the order in
/// which they were put in.
#[derive(Debug)]
pub struct Delayed<T> {
    heap: BinaryHeap<Reverse<Held<T>>>,
    sequence: u64,
}

#[derive(Debug)]
struct Held<T> {
    due: Instant,
    sequence: u64,
    value: T,
}

impl<T> PartialEq for Held<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Held<T> {}

impl<T> PartialOrd for Held<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Held<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.due, self.sequence).cmp(&(other.due, other.sequence))
    }
}

impl<T> Default for Delayed<T> {
    fn default() -> Self {
        Delayed {
            heap: BinaryHeap::new(),
            sequence: 0,
        }
    }
}

impl<T> Delayed<T> {
    /// Holds a value back until `due`.
    pub fn push(&mut self, due: Instant, value: T) {
        self.heap.push(Reverse(Held {
            due,
            sequence: self.sequence,
            value,
        }));
        self.sequence += 1;
    }

    /// When the next one is due.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse(held)| held.due)
    }

    /// The next one, and when it is due.
    #[must_use]
    pub fn peek(&self) -> Option<(Instant, &T)> {
        self.heap
            .peek()
            .map(|Reverse(held)| (held.due, &held.value))
    }

    /// Takes out one that is due at `now`.
    pub fn pop_due(&mut self, now: Instant) -> Option<T> {
        if self.next_due()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse(held)| held.value)
    }

    /// How many are held back.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Takes out those that `wanted` names, soonest first.
    pub fn extract(&mut self, mut wanted: impl FnMut(&T) -> bool) -> Vec<T> {
        let (out, keep): (Vec<_>, Vec<_>) = std::mem::take(&mut self.heap)
            .into_iter()
            .partition(|Reverse(held)| wanted(&held.value));
        self.heap = keep.into();
        let mut out: Vec<_> = out.into_iter().map(|Reverse(held)| held).collect();
        out.sort();
        out.into_iter().map(|held| held.value).collect()
    }

    /// Changes all of them.
    pub fn update(&mut self, mut change: impl FnMut(&mut T)) {
        let mut all = std::mem::take(&mut self.heap).into_vec();
        for Reverse(held) in &mut all {
            change(&mut held.value);
        }
        self.heap = all.into();
    }

    /// All of them, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.heap.iter().map(|Reverse(held)| &held.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_soonest_comes_first_and_equal_ones_in_order() {
        let now = Instant::now();
        let at = |s| now + Duration::from_secs(s);
        let mut delayed = Delayed::default();
        for (second, name) in [(3, "late"), (1, "first"), (1, "second")] {
            delayed.push(at(second), name);
        }
        assert_eq!(delayed.pop_due(now), None);
        assert_eq!(delayed.pop_due(at(1)), Some("first"));
        assert_eq!(delayed.pop_due(at(1)), Some("second"));
        assert_eq!(delayed.pop_due(at(2)), None);
        assert_eq!(delayed.next_due(), Some(at(3)));
        delayed.push(at(2), "mid");
        assert_eq!(delayed.extract(|name| *name != "none"), ["mid", "late"]);
        assert!(delayed.is_empty());
    }
}
