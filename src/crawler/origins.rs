//! [`OriginTable`]: what is known of each origin's robots.txt, and which lanes
//! wait for it. Keeps: one request for the file at a time, and rules are used
//! for 24 hours at most (RFC 9309 section 2.4).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::frontier::{LaneId, OriginId};
use crate::politeness::HostId;
use crate::robots::Rules;

/// How long the rules of an origin are used (RFC 9309 section 2.4).
pub const ROBOTS_LIFETIME: Duration = Duration::from_secs(24 * 3600);
/// How many origins with nothing queued keep their rules. At a few hundred
/// bytes each they stay small beside the queue of so broad a crawl.
const IDLE_ORIGINS: usize = 16_384;

/// What an origin's robots.txt says to us.
#[derive(Debug, Clone, Default)]
pub struct OriginRules {
    /// The rules of our group.
    pub rules: Rules,
    /// The delay our group asks for.
    pub crawl_delay: Option<Duration>,
}

/// What is known of an origin's robots.txt.
#[derive(Debug, Clone)]
pub(super) enum RobotsState {
    /// Nothing yet.
    Unknown,
    /// It is being asked for, or is to be.
    Asked,
    /// It was read.
    Known {
        rules: Arc<OriginRules>,
        until: Instant,
        /// Whether anything was started by these rules. Those that were not
        /// serve once even when they are old: where the pace is slower than
        /// their life, they would be asked for again and again, and no page.
        used: bool,
    },
    /// It cannot be read in this run: everything is forbidden until it can.
    GivenUp,
}

#[derive(Debug)]
pub(super) struct Origin {
    /// Scheme, host and port, as they stand before the path.
    pub(super) name: Arc<str>,
    pub(super) host: HostId,
    pub(super) robots: RobotsState,
    /// Lanes that wait for the robots.txt.
    pub(super) aside: Vec<LaneId>,
    /// Entries queued or in flight.
    pub(super) refs: usize,
}

#[derive(Debug)]
pub(super) struct OriginTable {
    origins: Vec<Option<Origin>>,
    free: Vec<OriginId>,
    by_name: HashMap<Arc<str>, OriginId>,
    sweep_at: usize,
}

impl OriginTable {
    pub(super) fn new() -> Self {
        OriginTable {
            origins: Vec::new(),
            free: Vec::new(),
            by_name: HashMap::new(),
            sweep_at: IDLE_ORIGINS * 2,
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<OriginId> {
        self.by_name.get(name).copied()
    }

    pub(super) fn add(&mut self, name: &str, host: HostId) -> OriginId {
        let name: Arc<str> = name.into();
        let origin = Origin {
            name: Arc::clone(&name),
            host,
            robots: RobotsState::Unknown,
            aside: Vec::new(),
            refs: 0,
        };
        let id = if let Some(id) = self.free.pop() {
            self.origins[id as usize] = Some(origin);
            id
        } else {
            self.origins.push(Some(origin));
            (self.origins.len() - 1) as OriginId
        };
        self.by_name.insert(name, id);
        id
    }

    pub(super) fn get(&self, id: OriginId) -> &Origin {
        self.origins[id as usize]
            .as_ref()
            .expect("an origin that is referred to is kept")
    }

    pub(super) fn get_mut(&mut self, id: OriginId) -> &mut Origin {
        self.origins[id as usize]
            .as_mut()
            .expect("an origin that is referred to is kept")
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Origin> {
        self.origins.iter_mut().flatten()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Origin> {
        self.origins.iter().flatten()
    }

    pub(super) fn wants_sweep(&self) -> bool {
        self.by_name.len() >= self.sweep_at
    }

    /// Forgets origins with nothing queued, those with the oldest rules first,
    /// until few enough are left; says which hosts they were of.
    pub(super) fn sweep(&mut self) -> Vec<HostId> {
        let mut idle: Vec<(Option<Instant>, OriginId)> = self
            .origins
            .iter()
            .enumerate()
            .filter_map(|(id, slot)| slot.as_ref().map(|origin| (id as OriginId, origin)))
            .filter(|(_, origin)| origin.refs == 0)
            .map(|(id, origin)| match origin.robots {
                RobotsState::Known { until, .. } => (Some(until), id),
                _ => (None, id),
            })
            .collect();
        idle.sort_unstable();
        let surplus = idle.len().saturating_sub(IDLE_ORIGINS);
        let gone = idle[..surplus]
            .iter()
            .filter_map(|(_, id)| {
                let origin = self.origins[*id as usize].take()?;
                self.by_name.remove(&origin.name);
                self.free.push(*id);
                Some(origin.host)
            })
            .collect();
        self.sweep_at = (self.by_name.len() * 2).max(IDLE_ORIGINS * 2);
        gone
    }
}
