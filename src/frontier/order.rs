//! [`Order`]: in which order a lane gives its requests out.

use std::cmp::Ordering;

use super::entry::Entry;

/// In which order queued requests are taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Order {
    /// Higher priority first, then oldest first; hosts take turns.
    #[default]
    Fifo,
    /// Higher priority first, then newest first; hosts take turns.
    Lifo,
    /// Highest priority of all hosts first, then oldest first.
    BestFirst,
}

/// The frontier that is kept in memory, by its order.
///
/// ```
/// use canter::MemoryFrontier;
/// let depth_first = MemoryFrontier::lifo();
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryFrontier {
    pub(crate) order: Order,
}

impl MemoryFrontier {
    /// Oldest first: breadth first, the default.
    #[must_use]
    pub fn fifo() -> Self {
        MemoryFrontier { order: Order::Fifo }
    }

    /// Newest first: depth first.
    #[must_use]
    pub fn lifo() -> Self {
        MemoryFrontier { order: Order::Lifo }
    }

    /// Highest priority first, over all hosts.
    #[must_use]
    pub fn best_first() -> Self {
        MemoryFrontier {
            order: Order::BestFirst,
        }
    }
}

/// An entry in a lane's heap; the greatest goes first.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) entry: Entry,
    /// The entry's age, turned round for newest first.
    rank: u64,
}

impl Slot {
    pub(super) fn new(entry: Entry, order: Order) -> Self {
        let rank = if order == Order::Lifo {
            entry.age
        } else {
            u64::MAX - entry.age
        };
        Slot { entry, rank }
    }
}

impl PartialEq for Slot {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Slot {}

impl PartialOrd for Slot {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Slot {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.entry.priority, self.rank).cmp(&(other.entry.priority, other.rank))
    }
}
