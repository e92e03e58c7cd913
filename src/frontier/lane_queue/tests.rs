//! The queue of a lane beside a sorted map that holds the same.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::*;
use crate::frontier::Kind;
use crate::request::Request;

const LANE: LaneId = 7;

/// What a queue gives first: higher priority, then by age.
type Key = (Reverse<i32>, i64);

fn key(entry: &Entry, order: Order) -> Key {
    let age = i64::try_from(entry.age).expect("a small number");
    let rank = if order == Order::Lifo { -age } else { age };
    (Reverse(entry.priority), rank)
}

fn entry(random: &mut fastrand::Rng, age: u64) -> Entry {
    let url = format!("http://a.test/{}{age}", "x".repeat(random.usize(..90)));
    let mut request = Request::get(url).expect("a URL");
    if random.u8(..8) == 0 {
        request = request.with_priority(random.i32(-1..2));
    }
    if random.u8(..20) == 0 {
        request = request.with_header("X-A", "1");
    }
    request =
        request.with_referrer([None, Some("http://a.test/".into())][random.usize(..2)].clone());
    Entry::new(&request, random.u64(..), Kind::Page, random.bool(), age)
}

/// Chunks that were put away.
#[derive(Default)]
struct Disk {
    stored: HashMap<ChunkId, Arc<[u8]>>,
    writing: Vec<(ChunkId, Arc<[u8]>)>,
    reads: usize,
}

impl Disk {
    fn write(&mut self, depot: &mut Depot) {
        for (id, bytes) in self.writing.drain(..) {
            self.stored.insert(id, bytes);
            depot.stored(id);
        }
        self.writing = depot.take_outgoing();
    }

    fn read(&mut self, depot: &mut Depot) {
        for id in depot.take_wanted() {
            self.reads += 1;
            let bytes = self.stored[&id].clone();
            assert_eq!(depot.loaded(id, bytes), Some(LANE));
        }
        assert!(!depot.is_waiting());
    }
}

/// Puts in and takes out at random, more in than out at first; counts chunks
/// that were away.
fn compare(seed: u64, order: Order, chunk: usize, budget: Option<usize>) -> usize {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut depot = Depot::new(chunk, budget);
    let (mut queue, mut disk) = (LaneQueue::default(), Disk::default());
    let mut model: BTreeMap<Key, String> = BTreeMap::new();
    let mut taken: Vec<Entry> = Vec::new();
    let mut age = 0;
    let mut pushes = 0;
    while pushes < 800 || !model.is_empty() {
        if pushes < 800 && random.u8(..5) < 3 {
            pushes += 1;
            // Some come back to the place that they had.
            let entry = match taken.pop() {
                Some(old) if random.u8(..6) == 0 => Entry { attempt: 2, ..old },
                _ => {
                    age += random.u64(1..4);
                    entry(&mut random, age)
                }
            };
            model.insert(key(&entry, order), format!("{entry:?}"));
            queue.push(entry, order, &mut depot);
        } else if queue.head(order).is_away() {
            disk.read(&mut depot);
            queue.refill(order, LANE, &mut depot);
            assert!(!queue.head(order).is_away(), "it has come");
        } else {
            let entry = queue.pop(order, LANE, &mut depot);
            let expected = model.pop_first().map(|(_, entry)| entry);
            assert_eq!(entry.as_ref().map(|entry| format!("{entry:?}")), expected);
            taken.extend(entry);
        }
        if random.u8(..4) == 0 {
            disk.write(&mut depot);
        }
        let head = queue.head(order).priority();
        assert_eq!(head, model.keys().next().map(|(priority, _)| priority.0));
        assert_eq!(queue.is_empty(), model.is_empty());
        if random.u8(..100) == 0 {
            let mut all = Vec::new();
            let read = |id| depot.peek(id).or_else(|| disk.stored.get(&id)).cloned();
            queue.each(read, |entry| all.push(format!("{entry:?}")));
            all.sort();
            let mut expected: Vec<_> = model.values().cloned().collect();
            expected.sort();
            assert_eq!(all, expected);
        }
    }
    disk.reads
}

#[test]
fn what_comes_out_is_in_order_wherever_it_was() {
    for order in [Order::Fifo, Order::Lifo, Order::BestFirst] {
        let mut reads = 0;
        for seed in 0..30 {
            let chunk = [200, 300, 1018][seed as usize % 3];
            let budget = [None, Some(0), Some(2_000)][seed as usize / 3 % 3];
            reads += compare(seed, order, chunk, budget);
        }
        assert!(reads > 100, "only {reads} chunks were away");
    }
}

#[test]
fn draining_gives_what_is_in_memory_and_asks_for_the_rest() {
    for order in [Order::Fifo, Order::Lifo] {
        let mut random = fastrand::Rng::with_seed(1);
        let mut depot = Depot::new(200, Some(0));
        let (mut queue, mut disk) = (LaneQueue::default(), Disk::default());
        for age in 1..=300 {
            queue.push(entry(&mut random, age), order, &mut depot);
        }
        disk.write(&mut depot);
        disk.write(&mut depot);
        let mut all = queue.drain(LANE, &mut depot);
        assert!(all.len() < 200, "{} were in memory", all.len());
        assert!(!queue.is_empty());
        disk.read(&mut depot);
        all.extend(queue.drain(LANE, &mut depot));
        assert!(queue.is_empty());
        let mut ages: Vec<u64> = all.iter().map(|entry| entry.age).collect();
        ages.sort_unstable();
        assert_eq!(ages, (1..=300).collect::<Vec<_>>());
    }
}

#[test]
fn without_room_elsewhere_everything_stays_in_memory() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut depot = Depot::new(200, Some(0));
    let mut queue = LaneQueue::default();
    for age in 1..=300 {
        queue.push(entry(&mut random, age), Order::Fifo, &mut depot);
        if age == 100 {
            for (id, _) in depot.take_outgoing() {
                depot.keep(id);
            }
        }
    }
    assert!(depot.take_outgoing().is_empty());
    for _ in 1..=300 {
        assert!(queue.pop(Order::Fifo, LANE, &mut depot).is_some());
    }
    assert!(queue.is_empty() && !depot.is_waiting());
}
