//! [`HostLine`]: hosts, each with its lanes, in line by when they could start.
//! Keeps: a host is in at most one place.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::time::Instant;

use super::order::Order;
use super::schedule::LaneId;

/// The number of a host, as politeness counts them.
pub(super) type HostId = u32;

/// What the lanes of a host, and the hosts, are ordered by: higher priority
/// first, then whose turn came first.
pub(super) type Rank = (Reverse<i32>, u64);

#[derive(Debug, Default)]
struct HostQueue {
    lanes: BTreeSet<(Rank, LaneId)>,
    place: HostPlace,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum HostPlace {
    /// Nothing to give, or nothing may start until something ends.
    #[default]
    Off,
    /// Has as many in flight as allowed.
    Busy,
    /// Could start one now.
    Ready(Rank),
    /// Could start one at an instant.
    Waiting(Instant),
}

/// When a host could start its next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// Now.
    Now,
    /// At this instant.
    At(Instant),
    /// When one of its requests in flight has ended.
    Busy,
    /// Not until it is placed anew.
    Later,
}

/// Hosts in line.
#[derive(Debug)]
pub(super) struct HostLine {
    order: Order,
    hosts: Vec<HostQueue>,
    ready: BTreeSet<(Rank, HostId)>,
    waiting: BTreeSet<(Instant, HostId)>,
    /// How many hosts have something to give and as much in flight as allowed.
    busy: usize,
    turn: u64,
}

impl HostLine {
    pub(super) fn new(order: Order) -> Self {
        HostLine {
            order,
            hosts: Vec::new(),
            ready: BTreeSet::new(),
            waiting: BTreeSet::new(),
            busy: 0,
            turn: 0,
        }
    }

    /// Adds a lane to those of its host.
    pub(super) fn list(&mut self, host: HostId, rank: Rank, lane: LaneId) {
        let at = host as usize;
        if self.hosts.len() <= at {
            self.hosts.resize_with(at + 1, HostQueue::default);
        }
        self.hosts[at].lanes.insert((rank, lane));
    }

    /// Takes a lane away from its host.
    pub(super) fn unlist(&mut self, host: HostId, rank: Rank, lane: LaneId) {
        self.hosts[host as usize].lanes.remove(&(rank, lane));
    }

    /// Says when a host could start its next request, and puts it in line
    /// accordingly: behind the others, unless it stood in line already.
    pub(super) fn place(&mut self, host: HostId, readiness: Readiness) {
        let Some(queue) = self.hosts.get_mut(host as usize) else {
            return;
        };
        let wanted = match (queue.lanes.first(), readiness) {
            (None, _) | (_, Readiness::Later) => HostPlace::Off,
            (Some(_), Readiness::Busy) => HostPlace::Busy,
            (Some(_), Readiness::At(at)) => HostPlace::Waiting(at),
            (Some(((priority, _), _)), Readiness::Now) => {
                let priority = if self.order == Order::BestFirst {
                    *priority
                } else {
                    Reverse(0)
                };
                if let HostPlace::Ready((_, turn)) = queue.place {
                    HostPlace::Ready((priority, turn))
                } else {
                    self.turn += 1;
                    HostPlace::Ready((priority, self.turn))
                }
            }
        };
        if queue.place == wanted {
            return;
        }
        match std::mem::replace(&mut queue.place, wanted) {
            HostPlace::Off => {}
            HostPlace::Busy => self.busy -= 1,
            HostPlace::Ready(rank) => {
                self.ready.remove(&(rank, host));
            }
            HostPlace::Waiting(at) => {
                self.waiting.remove(&(at, host));
            }
        }
        match wanted {
            HostPlace::Off => {}
            HostPlace::Busy => self.busy += 1,
            HostPlace::Ready(rank) => {
                self.ready.insert((rank, host));
            }
            HostPlace::Waiting(at) => {
                self.waiting.insert((at, host));
            }
        }
    }

    /// Whether the host stands in line as one that could start now.
    pub(super) fn is_ready(&self, host: HostId) -> bool {
        matches!(
            self.hosts.get(host as usize),
            Some(HostQueue {
                place: HostPlace::Ready(_),
                ..
            })
        )
    }

    /// Whether a host has something to give, and as much in flight as allowed.
    pub(super) fn any_busy(&self) -> bool {
        self.busy > 0
    }

    /// Whether the host has lanes that could go.
    pub(super) fn has_lanes(&self, host: HostId) -> bool {
        self.hosts
            .get(host as usize)
            .is_some_and(|queue| !queue.lanes.is_empty())
    }

    /// The host and lane whose turn it is, if one could start now.
    pub(super) fn first_ready(&self) -> Option<(HostId, LaneId)> {
        let (_, host) = self.ready.first()?;
        let (_, lane) = self.hosts[*host as usize].lanes.first()?;
        Some((*host, *lane))
    }

    /// The host that could start next at an instant, and that instant.
    pub(super) fn first_waiting(&self) -> Option<(Instant, HostId)> {
        self.waiting.first().copied()
    }
}
