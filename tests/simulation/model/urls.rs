//! The model's own set of URLs: what was found, where each is, and the sums.

use std::collections::BTreeMap;
use std::time::Instant;

use canter::frontier::Candidate;
use canter::{Admission, ErrorKind, Purpose, SkipReason, Stats, Tag};

use super::hosts::{Host, HostId, OriginId};
use super::{Item, Model, Origin, Robots};
use crate::plan::ScopePlan;
use crate::web;

pub(super) type UrlId = usize;

/// Where a URL is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum State {
    Queued,
    Delayed(Instant),
    Flying,
    Done,
    Redirected,
    Failed(ErrorKind),
    Skipped(SkipReason),
}

/// How far the engine's journal has got with a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Journaled {
    No,
    Queued,
    Ended,
}

/// A URL.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) url: String,
    pub(super) fingerprint: u64,
    pub(super) host: HostId,
    pub(super) origin: OriginId,
    pub(super) tag: Tag,
    pub(super) map: bool,
    /// Whether its path is one that some robots.txt forbid.
    pub(super) private: bool,
    pub(super) seed: bool,
    pub(super) attempt: u32,
    pub(super) state: State,
    pub(super) journaled: Journaled,
}

/// The sums of a run.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Counts {
    pub(super) requests: u64,
    pub(super) discovered: u64,
    pub(super) queued: u64,
    pub(super) succeeded: u64,
    pub(super) pages: u64,
    pub(super) redirected: u64,
    pub(super) failed: BTreeMap<ErrorKind, u64>,
    pub(super) skipped: BTreeMap<SkipReason, u64>,
    pub(super) retried: u64,
    pub(super) cancelled: u64,
}

impl Counts {
    /// Compares these with the engine's.
    pub(super) fn compare(&self, stats: &Stats, flying: u64) {
        let theirs = Counts {
            requests: stats.requests,
            discovered: stats.discovered,
            queued: stats.queued,
            succeeded: stats.succeeded,
            pages: stats.pages,
            redirected: stats.redirected,
            failed: stats.failed_by_kind.clone(),
            skipped: stats.skipped_by_reason.clone(),
            retried: stats.retried,
            cancelled: stats.cancelled,
        };
        if *self != theirs || stats.in_flight != flying {
            violated!(
                "conservation",
                "the sums are {theirs:?} and {} in flight, not {self:?} and {flying}",
                stats.in_flight
            );
        }
        if !stats.adds_up() || stats.records != stats.succeeded {
            violated!("conservation", "the sums do not add up: {stats:?}");
        }
    }

    pub(super) fn skip(&mut self, reason: SkipReason) {
        *self.skipped.entry(reason).or_default() += 1;
    }
}

impl Model {
    /// URLs in flight.
    pub(super) fn flying(&self) -> u64 {
        self.flights
            .values()
            .filter(|flight| matches!(flight.item, Item::Url(_)))
            .count() as u64
    }

    pub(super) fn host_of(&mut self, name: &str) -> HostId {
        if let Some(id) = self.by_host.get(name) {
            return *id;
        }
        self.hosts.push(Host::new(name, &self.plan.policy));
        self.by_host.insert(name.to_owned(), self.hosts.len() - 1);
        self.hosts.len() - 1
    }

    pub(super) fn origin_of(&mut self, url: &canter::Url) -> OriginId {
        let name = url.origin().ascii_serialization();
        if let Some(id) = self.by_origin.get(&name) {
            return *id;
        }
        let host = self.host_of(url.host_str().unwrap_or_default());
        self.by_origin.insert(name.clone(), self.origins.len());
        self.origins.push(Origin {
            name,
            host,
            robots: Robots::Unknown,
            queued: 0,
        });
        self.origins.len() - 1
    }

    /// Whether the plan's scope has a host.
    fn has_host(&self, name: &str) -> bool {
        match self.plan.scope {
            ScopePlan::All => true,
            ScopePlan::OfSeeds => {
                let seed = |n: usize| self.plan.hosts[n].seed;
                web::number_of(name).is_some_and(seed) || self.landed.contains(name)
            }
            ScopePlan::Even => web::number_of(name).is_some_and(|n| n % 2 == 0),
        }
    }

    /// What becomes of a URL that was found.
    fn refusal(&self, candidate: &Candidate) -> Option<SkipReason> {
        let map = candidate.purpose == Purpose::Sitemap;
        let host = candidate.url().host_str().unwrap_or_default();
        let on_the_way = candidate.seed && self.plan.scope == ScopePlan::OfSeeds;
        if !map && !on_the_way && !self.has_host(host) {
            return Some(SkipReason::Scope);
        }
        if self
            .tags
            .get(candidate.request.tag())
            .is_some_and(|tag| tag.aborted)
        {
            return Some(SkipReason::Aborted);
        }
        let depth = candidate.request.depth();
        let too_deep = self.plan.max_depth.is_some_and(|max| depth > max);
        (!map && too_deep).then_some(SkipReason::Depth)
    }

    /// A URL was found.
    pub(super) fn push(&mut self, candidate: &Candidate, at: Instant) -> Admission {
        let refusal = self.refusal(candidate);
        if let Some(&id) = self.by_url.get(candidate.url().as_str()) {
            // Found by a shorter way?
            let too_deep = self
                .plan
                .max_depth
                .is_some_and(|max| candidate.request.depth() > max);
            if !self.deep.contains(&id) || too_deep && candidate.purpose == Purpose::Page {
                return Admission::Duplicate;
            }
            if let Some(reason) = refusal {
                return Admission::Skipped(reason);
            }
            self.deep.remove(&id);
            match self.counts.skipped.get_mut(&SkipReason::Depth) {
                Some(1) => drop(self.counts.skipped.remove(&SkipReason::Depth)),
                Some(count) => *count -= 1,
                None => violated!("conservation", "a deep URL that was not counted"),
            }
            let (tag, seed) = (candidate.request.tag().clone(), candidate.seed);
            self.tags.entry(tag.clone()).or_default();
            let map = candidate.purpose == Purpose::Sitemap;
            let record = &mut self.records[id];
            (record.tag, record.seed, record.map) = (tag, seed, map);
            self.counts.queued += 1;
            self.enter(id, State::Queued, at);
            return Admission::Queued;
        }
        let id = self.record(candidate);
        self.counts.discovered += 1;
        if let Some(reason) = refusal {
            self.records[id].state = State::Skipped(reason);
            self.counts.skip(reason);
            if reason == SkipReason::Depth {
                self.deep.insert(id);
            }
            return Admission::Skipped(reason);
        }
        self.counts.queued += 1;
        self.enter(id, State::Queued, at);
        Admission::Queued
    }

    fn record(&mut self, candidate: &Candidate) -> UrlId {
        let url = candidate.url();
        let origin = self.origin_of(url);
        let host = self.origins[origin].host;
        self.tags
            .entry(candidate.request.tag().clone())
            .or_default();
        self.records.push(Record {
            url: url.as_str().to_owned(),
            fingerprint: candidate.fingerprint,
            host,
            origin,
            tag: candidate.request.tag().clone(),
            map: candidate.purpose == Purpose::Sitemap,
            private: url.path().starts_with("/private"),
            seed: candidate.seed,
            attempt: 1,
            state: State::Flying,
            journaled: Journaled::No,
        });
        self.by_url
            .insert(url.as_str().to_owned(), self.records.len() - 1);
        self.records.len() - 1
    }

    /// Puts a URL into the queue, or into its delay.
    pub(super) fn enter(&mut self, id: UrlId, state: State, at: Instant) {
        let record = &mut self.records[id];
        record.state = state;
        let (host, origin) = (record.host, record.origin);
        self.origins[origin].queued += 1;
        match state {
            State::Delayed(until) if until > at => {
                self.delayed.insert((until, Item::Url(id)));
            }
            _ => {
                record.state = State::Queued;
                let group = self.hosts[host].groups.entry((origin, record.tag.clone()));
                *group.or_default().count(record.map, record.private) += 1;
                self.touch(host);
            }
        }
    }

    /// Takes a URL out of the queue or its delay.
    pub(super) fn leave(&mut self, id: UrlId, state: State) {
        let record = &mut self.records[id];
        let (host, origin) = (record.host, record.origin);
        self.origins[origin].queued -= 1;
        match record.state {
            State::Delayed(until) => {
                self.delayed.remove(&(until, Item::Url(id)));
            }
            State::Queued => {
                let key = (origin, record.tag.clone());
                let groups = &mut self.hosts[host].groups;
                let group = groups.get_mut(&key).expect("a queued URL is in its group");
                *group.count(record.map, record.private) -= 1;
                if group.all() == 0 {
                    groups.remove(&key);
                }
            }
            other => violated!("conservation", "{} is {other:?}, not queued", record.url),
        }
        record.state = state;
        self.touch(host);
    }

    /// Lets what was delayed go on.
    pub(super) fn promote(&mut self, now: Instant) {
        while let Some(&(due, item)) = self.delayed.first()
            && due <= now
        {
            self.release(item);
        }
    }

    /// Ends the delay of something.
    pub(super) fn release(&mut self, item: Item) {
        match item {
            Item::Url(id) => {
                self.leave(id, State::Queued);
                self.enter(id, State::Queued, self.base);
            }
            Item::Robots(origin) => {
                let Robots::Asked(asked) = &mut self.origins[origin].robots else {
                    violated!(
                        "conservation",
                        "a robots.txt in its delay that nobody asked for"
                    );
                };
                if let super::Place::Delayed(until) = asked.place {
                    self.delayed.remove(&(until, item));
                }
                asked.place = super::Place::Queued;
                let host = asked.host;
                self.hosts[host].robots.insert(origin);
                self.touch(host);
            }
        }
    }
}
