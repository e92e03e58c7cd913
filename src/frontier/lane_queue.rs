//! [`LaneQueue`]: the queued requests of a lane, in order. Keeps: the next few
//! are at hand, the many behind them are packed, and those that are away are
//! asked for before their turn.
//!
//! Requests of one priority form a [`Stretch`]. What cannot be packed, or comes
//! back to a place that it had before, stands in a heap beside them.

use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use super::depot::{ChunkId, Depot};
use super::entry::Entry;
use super::order::{Order, Slot};
use super::packed::{Packer, Unpacker};
use super::schedule::LaneId;

/// How many requests at the oldest end of a stretch are at hand.
const OLDEST: usize = 4;
/// How many at the newest end are packed at once.
const NEWEST: usize = 16;

/// What a lane has to give.
#[derive(Debug, Clone, Copy)]
pub(super) enum Head<'a> {
    /// This.
    Entry(&'a Entry),
    /// Something of this priority that is away.
    Away(i32),
    /// Nothing.
    Nothing,
}

impl Head<'_> {
    /// The priority of what comes next.
    pub(super) fn priority(self) -> Option<i32> {
        match self {
            Head::Entry(entry) => Some(entry.priority),
            Head::Away(priority) => Some(priority),
            Head::Nothing => None,
        }
    }

    pub(super) fn is_away(self) -> bool {
        matches!(self, Head::Away(_))
    }
}

/// The requests of a lane.
#[derive(Debug, Default)]
pub(super) struct LaneQueue {
    /// By priority, the highest last.
    stretches: Vec<Stretch>,
    loose: BinaryHeap<Slot>,
}

impl LaneQueue {
    pub(super) fn push(&mut self, entry: Entry, order: Order, depot: &mut Depot) {
        if !Packer::takes(&entry, depot.chunk_bytes()) {
            self.loose.push(Slot::new(entry, order));
            return;
        }
        let place = self
            .stretches
            .binary_search_by_key(&entry.priority, |stretch| stretch.priority);
        let place = place.unwrap_or_else(|place| {
            // Most lanes have one.
            self.stretches.reserve_exact(1);
            self.stretches.insert(place, Stretch::new(entry.priority));
            place
        });
        let stretch = &mut self.stretches[place];
        if entry.age < stretch.newest {
            self.loose.push(Slot::new(entry, order));
        } else if order == Order::Lifo {
            stretch.push_last_out_first(entry, depot);
        } else {
            stretch.push(entry, depot);
        }
    }

    /// What comes next.
    pub(super) fn head(&self, order: Order) -> Head<'_> {
        let packed = self.stretches.last();
        if self.loose_is_next(order) {
            return self
                .loose
                .peek()
                .map_or(Head::Nothing, |slot| Head::Entry(&slot.entry));
        }
        let Some(stretch) = packed else {
            return Head::Nothing;
        };
        stretch
            .head(order)
            .map_or(Head::Away(stretch.priority), Head::Entry)
    }

    /// Whether the first of the loose ones goes before what is packed.
    fn loose_is_next(&self, order: Order) -> bool {
        let (Some(slot), Some(stretch)) = (self.loose.peek(), self.stretches.last()) else {
            return !self.loose.is_empty();
        };
        let (priority, age) = (slot.entry.priority, slot.entry.age);
        if priority != stretch.priority {
            return priority > stretch.priority;
        }
        let next = stretch.next_age(order);
        if order == Order::Lifo {
            age > next
        } else {
            age < next
        }
    }

    /// Takes out what comes next, which is at hand.
    pub(super) fn pop(&mut self, order: Order, lane: LaneId, depot: &mut Depot) -> Option<Entry> {
        if self.loose_is_next(order) {
            return self.loose.pop().map(|slot| slot.entry);
        }
        let stretch = self.stretches.last_mut()?;
        let entry = stretch.pop(order, lane, depot)?;
        if stretch.is_empty() {
            self.stretches.pop();
        }
        Some(entry)
    }

    /// Takes in what was away, as far as it has come.
    pub(super) fn refill(&mut self, order: Order, lane: LaneId, depot: &mut Depot) {
        for stretch in &mut self.stretches {
            if stretch.hot.is_empty() {
                stretch.refill(order, lane, depot);
            }
        }
        self.stretches.retain(|stretch| !stretch.is_empty());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.loose.is_empty() && self.stretches.is_empty()
    }

    /// Takes everything out that is in memory, and asks for the rest.
    pub(super) fn drain(&mut self, lane: LaneId, depot: &mut Depot) -> Vec<Entry> {
        let mut all: Vec<Entry> = std::mem::take(&mut self.loose)
            .into_iter()
            .map(|slot| slot.entry)
            .collect();
        for stretch in &mut self.stretches {
            stretch.drain(lane, depot, &mut all);
        }
        self.stretches.retain(|stretch| !stretch.is_empty());
        all
    }

    /// Changes everything that is not packed; what decides the order must stay
    /// as it is.
    pub(super) fn update_loose(&mut self, mut change: impl FnMut(&mut Entry)) {
        let mut slots = std::mem::take(&mut self.loose).into_vec();
        for slot in &mut slots {
            change(&mut slot.entry);
        }
        self.loose = slots.into();
    }

    /// Calls with everything, in no order; `read` gives the chunks.
    pub(super) fn each(
        &self,
        read: impl Fn(ChunkId) -> Option<Arc<[u8]>>,
        mut look: impl FnMut(&Entry),
    ) {
        for slot in &self.loose {
            look(&slot.entry);
        }
        for stretch in &self.stretches {
            stretch.each(&read, &mut look);
        }
    }
}

/// Requests of one priority, in the order in which they were found.
#[derive(Debug)]
struct Stretch {
    priority: i32,
    /// The age of the newest that was put in.
    newest: u64,
    /// The oldest ones, or the newest if these come first: they are at hand.
    /// Empty only while what comes next is away.
    hot: VecDeque<Entry>,
    tail: Option<Box<Tail>>,
}

/// What is packed of a stretch.
#[derive(Debug, Default)]
struct Tail {
    /// What is left of the oldest chunk.
    reading: Option<Unpacker>,
    /// The others, the oldest first.
    chunks: VecDeque<Chunk>,
    /// What will be the newest.
    open: Packer,
    /// The age of the oldest in it.
    open_since: u64,
}

#[derive(Debug, Clone, Copy)]
struct Chunk {
    id: ChunkId,
    /// The age of the entry that comes out of it first.
    age: u64,
}

impl Stretch {
    fn new(priority: i32) -> Self {
        Stretch {
            priority,
            newest: 0,
            hot: VecDeque::new(),
            tail: None,
        }
    }

    fn is_empty(&self) -> bool {
        self.hot.is_empty() && self.tail.is_none()
    }

    fn head(&self, order: Order) -> Option<&Entry> {
        if order == Order::Lifo {
            self.hot.back()
        } else {
            self.hot.front()
        }
    }

    /// The age of what comes next, which may be away.
    fn next_age(&self, order: Order) -> u64 {
        let chunks = || self.tail.as_ref().map(|tail| &tail.chunks);
        let away = match order {
            Order::Lifo => chunks().and_then(VecDeque::back),
            _ => chunks().and_then(VecDeque::front),
        };
        match (self.head(order), away) {
            (Some(entry), _) => entry.age,
            (None, Some(chunk)) => chunk.age,
            (None, None) => 0,
        }
    }

    /// Puts an entry behind the others.
    fn push(&mut self, entry: Entry, depot: &mut Depot) {
        self.newest = entry.age;
        if self.tail.is_none() && self.hot.len() < OLDEST {
            self.hot.push_back(entry);
            return;
        }
        let tail = self.tail.get_or_insert_default();
        if !tail.open.push(&entry, depot.chunk_bytes()) {
            tail.close(tail.open_since, depot);
            // What comes next is needed soon.
            if let [_, .., last] = tail.chunks.make_contiguous() {
                depot.spare(last.id);
            }
            let fits = tail.open.push(&entry, depot.chunk_bytes());
            debug_assert!(fits, "whoever pushes has asked");
        }
        if tail.open_since == 0 {
            tail.open_since = entry.age;
        }
    }

    /// Puts an entry before the others: the last in is the first out.
    fn push_last_out_first(&mut self, entry: Entry, depot: &mut Depot) {
        self.newest = entry.age;
        self.hot.push_back(entry);
        if self.hot.len() < 2 * NEWEST {
            return;
        }
        let tail = self.tail.get_or_insert_default();
        let needed_next = tail.chunks.len().saturating_sub(1);
        let mut age = 0;
        for entry in self.hot.drain(..NEWEST) {
            if !tail.open.push(&entry, depot.chunk_bytes()) {
                tail.close(age, depot);
                tail.open.push(&entry, depot.chunk_bytes());
            }
            age = entry.age;
        }
        tail.close(age, depot);
        let needed_now = tail.chunks.len() - 1;
        for spare in tail.chunks.range(needed_next..needed_now) {
            depot.spare(spare.id);
        }
    }

    fn pop(&mut self, order: Order, lane: LaneId, depot: &mut Depot) -> Option<Entry> {
        let entry = if order == Order::Lifo {
            self.hot.pop_back()
        } else {
            self.hot.pop_front()
        };
        if self.hot.is_empty() {
            self.refill(order, lane, depot);
        }
        entry
    }

    /// Unpacks what comes next, or asks for it.
    fn refill(&mut self, order: Order, lane: LaneId, depot: &mut Depot) {
        let Some(tail) = &mut self.tail else { return };
        let priority = self.priority;
        let ours = |entry: Entry| Entry { priority, ..entry };
        if order == Order::Lifo {
            if let Some(chunk) = tail.chunks.back() {
                let Some(bytes) = depot.take(chunk.id, lane) else {
                    return;
                };
                tail.chunks.pop_back();
                self.hot.extend(Unpacker::new(bytes).map(ours));
                if let Some(next) = tail.chunks.back() {
                    depot.want(next.id, lane);
                }
            }
        } else {
            while self.hot.is_empty() {
                let Some(reading) = &mut tail.reading else {
                    if !tail.read_on(lane, depot) {
                        break;
                    }
                    continue;
                };
                self.hot.extend(reading.by_ref().take(OLDEST).map(ours));
                if self.hot.len() < OLDEST {
                    tail.reading = None;
                }
            }
        }
        if tail.is_empty() {
            self.tail = None;
        }
    }

    fn drain(&mut self, lane: LaneId, depot: &mut Depot, all: &mut Vec<Entry>) {
        let priority = self.priority;
        let ours = |entry: Entry| Entry { priority, ..entry };
        all.extend(self.hot.drain(..));
        let Some(tail) = &mut self.tail else { return };
        all.extend(tail.reading.take().into_iter().flatten().map(ours));
        tail.chunks
            .retain(|chunk| match depot.take(chunk.id, lane) {
                Some(bytes) => {
                    all.extend(Unpacker::new(bytes).map(ours));
                    false
                }
                None => true,
            });
        if !tail.open.is_empty() {
            all.extend(Unpacker::new(tail.take_open()).map(ours));
        }
        if tail.is_empty() {
            self.tail = None;
        }
    }

    fn each(&self, read: impl Fn(ChunkId) -> Option<Arc<[u8]>>, look: &mut impl FnMut(&Entry)) {
        self.hot.iter().for_each(&mut *look);
        let Some(tail) = &self.tail else { return };
        let chunks = tail.chunks.iter().filter_map(|chunk| read(chunk.id));
        let packed = tail.reading.iter().cloned();
        let open = (!tail.open.is_empty()).then(|| Unpacker::new(tail.open.copy()));
        for unpacker in packed.chain(chunks.map(Unpacker::new)).chain(open) {
            for entry in unpacker {
                look(&Entry {
                    priority: self.priority,
                    ..entry
                });
            }
        }
    }
}

impl Tail {
    fn is_empty(&self) -> bool {
        self.reading.is_none() && self.chunks.is_empty() && self.open.is_empty()
    }

    fn take_open(&mut self) -> Arc<[u8]> {
        self.open_since = 0;
        self.open.take()
    }

    /// Makes a chunk of what is open. `age` is that of the entry that will come
    /// out of it first.
    fn close(&mut self, age: u64, depot: &mut Depot) {
        if !self.open.is_empty() {
            let id = depot.put(self.take_open());
            self.chunks.push_back(Chunk { id, age });
        }
    }

    /// Goes on to the next chunk, and asks for the one after it. `false` when
    /// there is none, or it is away.
    fn read_on(&mut self, lane: LaneId, depot: &mut Depot) -> bool {
        let bytes = match self.chunks.front() {
            Some(chunk) => depot.take(chunk.id, lane),
            None if self.open.is_empty() => None,
            None => Some(self.take_open()),
        };
        let Some(bytes) = bytes else { return false };
        self.chunks.pop_front();
        if let Some(next) = self.chunks.front() {
            depot.want(next.id, lane);
        }
        self.reading = Some(Unpacker::new(bytes));
        true
    }
}

#[cfg(test)]
mod tests;
