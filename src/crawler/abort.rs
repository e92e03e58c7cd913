//! Giving up a tag. Keeps: every queued URL with it ends as skipped, those that
//! were put away as well, once they are back.

use std::time::Instant;

use super::engine::{Engine, Homeless};
use crate::admission::SkipReason;
use crate::frontier::{Entry, Kind};

impl Engine {
    /// Gives up a tag: what is queued with it is skipped, and what is found
    /// with it later.
    pub(super) fn abort_tag(&mut self, tag: u32, now: Instant) {
        self.tags.abort(tag);
        let mut gone = self.schedule.drain_tag(tag);
        let of_tag = |homeless: &Homeless| {
            homeless.tag == tag && !matches!(homeless.entry.kind, Kind::Robots { .. })
        };
        let delayed = self.delayed.extract(of_tag).into_iter();
        gone.extend(delayed.map(|held| (held.origin, held.host, held.entry)));
        self.skip_aborted(tag, gone, now);
    }

    /// Ends queued URLs whose tag was given up as skipped.
    pub(super) fn skip_aborted(&mut self, tag: u32, gone: Vec<(u32, u32, Entry)>, now: Instant) {
        let gone: Vec<Homeless> = gone
            .into_iter()
            .map(|(origin, host, entry)| Homeless {
                origin,
                host,
                tag,
                entry,
            })
            .collect();
        for homeless in &gone {
            self.skip_queued(homeless, SkipReason::Aborted);
        }
        let mut hosts: Vec<u32> = gone.iter().map(|homeless| homeless.host).collect();
        hosts.sort_unstable();
        hosts.dedup();
        for host in hosts {
            // Nothing may be said to wait whose lane is gone.
            if let Some(full) = self.full.get_mut(&host) {
                full.retain(|lane| self.schedule.has_lane(*lane));
                if full.is_empty() {
                    self.full.remove(&host);
                }
            }
            self.place(host, now);
        }
        for homeless in &gone {
            let aside = &mut self.origins.get_mut(homeless.origin).aside;
            if !aside.is_empty() {
                aside.retain(|lane| self.schedule.has_lane(*lane));
            }
        }
    }
}
