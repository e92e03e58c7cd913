//! [`Schedule`]: which request goes next. Lanes of requests hang on hosts, and
//! hosts stand in [line](super::host_line). Keeps: a lane is in at most one
//! place, and choosing costs the logarithm of how many there are, never a scan.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use super::depot::{ChunkId, Depot};
use super::entry::Entry;
use super::host_line::{HostId, HostLine, Rank, Readiness};
use super::lane_queue::{Head, LaneQueue};
use super::order::Order;

/// The number of a lane.
pub type LaneId = u32;
/// The number of an origin (scheme, host and port).
pub type OriginId = u32;
/// The number of a tag.
pub type TagId = u32;
/// The requests of one origin with one tag. Lanes that need no robots.txt
/// stand apart from those that do.
#[derive(Debug)]
pub struct Lane {
    /// The origin of its requests.
    pub origin: OriginId,
    /// The host of that origin.
    pub host: HostId,
    /// The tag of its requests.
    pub tag: TagId,
    /// Whether its requests need no robots.txt: they ask for one.
    pub exempt: bool,
    queue: LaneQueue,
    place: LanePlace,
    /// Whether it is only aside since what comes next of it is away.
    away: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LanePlace {
    /// Among the lanes of its host that could go.
    Host(Rank),
    /// Held back until an instant.
    Held(Instant),
    /// Waiting for the robots.txt of its origin, for its host's next run, or
    /// for what comes next of it.
    Aside,
}

/// Lanes and hosts in line.
#[derive(Debug)]
pub struct Schedule {
    order: Order,
    lanes: Vec<Option<Lane>>,
    free: Vec<LaneId>,
    by_key: HashMap<(OriginId, TagId, bool), LaneId>,
    hosts: HostLine,
    held: BTreeSet<(Instant, LaneId)>,
    depot: Depot,
    turn: u64,
}

impl Schedule {
    /// An empty schedule. What is queued is packed in chunks of `chunk` bytes, at
    /// most [`CHUNK_BYTES`](super::CHUNK_BYTES); when more than `budget` bytes of
    /// it are in memory, the rest is given out to be put away
    /// ([`take_outgoing`](Self::take_outgoing)).
    #[must_use]
    pub fn new(order: Order, chunk: usize, budget: Option<usize>) -> Self {
        Schedule {
            order,
            lanes: Vec::new(),
            free: Vec::new(),
            by_key: HashMap::new(),
            hosts: HostLine::new(order),
            held: BTreeSet::new(),
            depot: Depot::new(chunk, budget),
            turn: 0,
        }
    }

    /// Queues an entry. The host's place is to be set anew afterwards
    /// ([`place`](Self::place)) if this says so.
    #[must_use]
    pub fn push(
        &mut self,
        origin: OriginId,
        host: HostId,
        tag: TagId,
        exempt: bool,
        entry: Entry,
    ) -> bool {
        if let Some(&id) = self.by_key.get(&(origin, tag, exempt)) {
            let lane = self.lanes[id as usize]
                .as_mut()
                .expect("a lane that is referred to holds something");
            let before = lane.queue.head(self.order).priority();
            lane.queue.push(entry, self.order, &mut self.depot);
            if before != lane.queue.head(self.order).priority()
                && let LanePlace::Host(rank) = lane.place
            {
                self.unlist(id, rank);
                self.list(id);
                return true;
            }
            // It may have to give now what goes before all that is away.
            return self.come_back(id);
        }
        let mut queue = LaneQueue::default();
        queue.push(entry, self.order, &mut self.depot);
        let lane = Lane {
            origin,
            host,
            tag,
            exempt,
            queue,
            place: LanePlace::Aside,
            away: false,
        };
        let id = if let Some(id) = self.free.pop() {
            self.lanes[id as usize] = Some(lane);
            id
        } else {
            self.lanes.push(Some(lane));
            (self.lanes.len() - 1) as LaneId
        };
        self.by_key.insert((origin, tag, exempt), id);
        self.list(id);
        true
    }

    /// The lane of that number.
    #[must_use]
    pub fn lane(&self, id: LaneId) -> &Lane {
        self.lanes[id as usize]
            .as_ref()
            .expect("a lane that is referred to holds something")
    }

    /// Whether there is a lane of that number.
    #[must_use]
    pub fn has_lane(&self, id: LaneId) -> bool {
        matches!(self.lanes.get(id as usize), Some(Some(_)))
    }

    fn lane_mut(&mut self, id: LaneId) -> &mut Lane {
        self.lanes[id as usize]
            .as_mut()
            .expect("a lane that is referred to holds something")
    }

    /// The entry that a lane of a host that is ready gives out next.
    #[must_use]
    pub fn peek(&self, id: LaneId) -> &Entry {
        match self.lane(id).queue.head(self.order) {
            Head::Entry(entry) => entry,
            _ => unreachable!("a lane with nothing at hand stands aside"),
        }
    }

    /// Takes the next entry out of a lane, which moves behind its host's other
    /// lanes, or is dropped when that was its last.
    pub fn pop(&mut self, id: LaneId) -> Entry {
        let lane = self.lanes[id as usize]
            .as_mut()
            .expect("a lane that is referred to holds something");
        let entry = lane
            .queue
            .pop(self.order, id, &mut self.depot)
            .expect("a lane with nothing at hand stands aside");
        let emptied = lane.queue.is_empty();
        if let LanePlace::Host(rank) = lane.place {
            self.unlist(id, rank);
            if !emptied {
                self.list(id);
            }
        }
        if emptied {
            self.drop_lane(id);
        }
        entry
    }

    /// Says when a host could start its next request, and puts it in line
    /// accordingly: behind the others, unless it stood in line already.
    pub fn place(&mut self, host: HostId, readiness: Readiness) {
        self.hosts.place(host, readiness);
    }

    /// Whether the host stands in line as one that could start now.
    #[must_use]
    pub fn is_ready(&self, host: HostId) -> bool {
        self.hosts.is_ready(host)
    }

    /// Whether a host has something to give, and as much in flight as allowed.
    #[must_use]
    pub fn any_busy(&self) -> bool {
        self.hosts.any_busy()
    }

    /// Whether the host has lanes that could go.
    #[must_use]
    pub fn has_lanes(&self, host: HostId) -> bool {
        self.hosts.has_lanes(host)
    }

    /// The host and lane whose turn it is, if one could start now.
    #[must_use]
    pub fn first_ready(&self) -> Option<(HostId, LaneId)> {
        self.hosts.first_ready()
    }

    /// The host that could start next at an instant, and that instant.
    #[must_use]
    pub fn first_waiting(&self) -> Option<(Instant, HostId)> {
        self.hosts.first_waiting()
    }

    /// The lane that is held back the least, and until when.
    #[must_use]
    pub fn first_held(&self) -> Option<(Instant, LaneId)> {
        self.held.first().copied()
    }

    /// Holds a lane back until an instant. Its host is to be placed anew.
    pub fn hold(&mut self, id: LaneId, until: Instant) {
        self.set_aside(id);
        self.lane_mut(id).place = LanePlace::Held(until);
        self.held.insert((until, id));
    }

    /// Holds the lanes of a tag that are held back already until `until`, if
    /// that is later. A scan over those that are held: few are.
    pub fn hold_longer(&mut self, tag: TagId, until: Instant) {
        let shorter = |(at, id): &&(Instant, LaneId)| *at < until && self.lane(*id).tag == tag;
        let lanes: Vec<LaneId> = self
            .held
            .iter()
            .filter(shorter)
            .map(|(_, id)| *id)
            .collect();
        for id in lanes {
            self.hold(id, until);
        }
    }

    /// Takes a lane away from its host until it is [`put back`](Self::put_back).
    /// The host is to be placed anew.
    pub fn set_aside(&mut self, id: LaneId) {
        let lane = self.lane_mut(id);
        lane.away = false;
        match std::mem::replace(&mut lane.place, LanePlace::Aside) {
            LanePlace::Host(rank) => self.unlist(id, rank),
            LanePlace::Held(until) => {
                self.held.remove(&(until, id));
            }
            LanePlace::Aside => {}
        }
    }

    /// Puts back a lane that was set aside or held, if it still is, and says
    /// which host is to be placed anew.
    pub fn put_back(&mut self, id: LaneId) -> Option<HostId> {
        let lane = self.lanes.get_mut(id as usize)?.as_mut()?;
        match std::mem::replace(&mut lane.place, LanePlace::Aside) {
            place @ LanePlace::Host(_) => {
                lane.place = place;
                return None;
            }
            LanePlace::Held(until) => {
                self.held.remove(&(until, id));
            }
            LanePlace::Aside => {}
        }
        self.list(id);
        Some(self.lane(id).host)
    }

    /// Takes out every entry with a tag that is in memory, and says which hosts
    /// are to be placed anew. What is away is asked for, and its lanes stand
    /// back. A scan: giving up a tag is rare.
    pub fn drain_tag(&mut self, tag: TagId) -> Vec<(OriginId, HostId, Entry)> {
        let of_tag: Vec<LaneId> = self
            .by_key
            .iter()
            .filter(|((_, of, exempt), _)| *of == tag && !exempt)
            .map(|(_, id)| *id)
            .collect();
        let mut drained = Vec::new();
        for id in of_tag {
            self.drain(id, &mut drained);
        }
        drained.sort_by_key(|(_, _, entry)| entry.age);
        drained
    }

    /// Takes out every entry of a lane that is in memory.
    pub fn drain(&mut self, id: LaneId, drained: &mut Vec<(OriginId, HostId, Entry)>) {
        self.set_aside(id);
        let lane = self.lanes[id as usize]
            .as_mut()
            .expect("a lane that is referred to holds something");
        let entries = lane.queue.drain(id, &mut self.depot);
        drained.extend(
            entries
                .into_iter()
                .map(|entry| (lane.origin, lane.host, entry)),
        );
        if lane.queue.is_empty() {
            self.drop_lane(id);
        } else {
            lane.away = true;
        }
    }

    /// Chunks of what is queued that are to be put away, and may be asked for
    /// again: each is to be [`stored`](Self::stored), or [`kept`](Self::keep).
    pub fn take_outgoing(&mut self) -> Vec<(ChunkId, Arc<[u8]>)> {
        self.depot.take_outgoing()
    }

    /// Says that a chunk was put away, and can be had again.
    pub fn stored(&mut self, id: ChunkId) {
        self.depot.stored(id);
    }

    /// Says that a chunk could not be put away; no more will be given out.
    pub fn keep(&mut self, id: ChunkId) {
        self.depot.keep(id);
    }

    /// Whether chunks that are away are needed, and nobody was told of them.
    #[must_use]
    pub fn is_wanting(&self) -> bool {
        self.depot.is_wanting()
    }

    /// Whether chunks that are away are needed.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.depot.is_waiting()
    }

    /// The chunks that are needed since this was last asked.
    pub fn take_wanted(&mut self) -> Vec<ChunkId> {
        self.depot.take_wanted()
    }

    /// Takes in a chunk that was needed, and says which lane did. Its host is to
    /// be placed anew.
    pub fn loaded(&mut self, id: ChunkId, bytes: Arc<[u8]>) -> Option<LaneId> {
        let lane = self.depot.loaded(id, bytes)?;
        if self.has_lane(lane) {
            self.come_back(lane);
        }
        Some(lane)
    }

    /// Puts a lane back that was only aside for what comes next of it, if that
    /// has come. Says whether it did.
    fn come_back(&mut self, id: LaneId) -> bool {
        let lane = self.lane(id);
        if !lane.away {
            return false;
        }
        self.list(id);
        !self.lane(id).away
    }

    /// Changes what was tried before; what decides the order must stay as it
    /// is.
    pub fn update_tried(&mut self, mut change: impl FnMut(&mut Entry)) {
        for lane in self.lanes.iter_mut().flatten() {
            lane.queue.update_loose(&mut change);
        }
    }

    /// The lanes there are.
    pub fn lanes(&self) -> impl Iterator<Item = &Lane> {
        self.lanes.iter().flatten()
    }

    /// Calls with everything that is queued, in no order. `read` gives what was
    /// put away.
    pub fn each(
        &self,
        read: impl Fn(ChunkId) -> Option<Arc<[u8]>>,
        mut look: impl FnMut(&Lane, &Entry),
    ) {
        let chunk = |id| self.depot.peek(id).cloned().or_else(|| read(id));
        for lane in self.lanes() {
            lane.queue.each(chunk, |entry| look(lane, entry));
        }
    }

    /// Puts a lane among those of its host that could go, behind the others;
    /// or aside, as long as what comes next of it is away.
    fn list(&mut self, id: LaneId) {
        let lane = self.lanes[id as usize]
            .as_mut()
            .expect("a lane that is referred to holds something");
        if lane.queue.head(self.order).is_away() {
            lane.queue.refill(self.order, id, &mut self.depot);
        }
        let head = lane.queue.head(self.order);
        lane.away = head.is_away();
        if lane.away {
            lane.place = LanePlace::Aside;
            return;
        }
        self.turn += 1;
        let rank = (Reverse(head.priority().unwrap_or(0)), self.turn);
        lane.place = LanePlace::Host(rank);
        self.hosts.list(lane.host, rank, id);
    }

    fn unlist(&mut self, id: LaneId, rank: Rank) {
        let host = self.lane(id).host;
        self.hosts.unlist(host, rank, id);
    }

    fn drop_lane(&mut self, id: LaneId) {
        if let Some(lane) = self.lanes[id as usize].take() {
            if let LanePlace::Held(until) = lane.place {
                self.held.remove(&(until, id));
            }
            debug_assert!(lane.queue.is_empty());
            self.by_key.remove(&(lane.origin, lane.tag, lane.exempt));
            self.free.push(id);
        }
    }
}
