//! What earlier runs left, given to the engine before a run begins.

use std::sync::Arc;
use std::time::{Duration, Instant};

use url::Url;

use super::engine::Engine;
use super::origins::{OriginRules, ROBOTS_LIFETIME, RobotsState};
use crate::frontier::Candidate;
use crate::request::Request;
use crate::uri;

impl Engine {
    /// Gives an origin rules that were read before, `age` ago.
    pub fn restore_robots(
        &mut self,
        request: &Request,
        rules: Arc<OriginRules>,
        age: Duration,
        now: Instant,
    ) {
        if age >= ROBOTS_LIFETIME {
            return;
        }
        let (origin, host) = self.locate(request);
        self.release(origin);
        if let Some(delay) = rules.crawl_delay {
            self.hosts.get_mut(host).raise_gap(delay);
        }
        let until = now + ROBOTS_LIFETIME.saturating_sub(age);
        self.origins.get_mut(origin).robots = RobotsState::Known {
            rules,
            until,
            used: true,
        };
    }

    /// Says when an earlier run may last have started a request: rate and gaps
    /// count from then, so that two runs are not faster than one.
    pub fn restore_pace(&mut self, last_start: Instant) {
        self.hosts.assume_started(last_start);
        self.pacer.assume_started(last_start);
    }

    /// Takes over the pace of an engine whose crawl is complete: when it last
    /// started something, and which hosts asked to be left alone.
    pub fn restore_pace_of(&mut self, other: &Engine) {
        if let Some(last_start) = other.last_start {
            self.restore_pace(last_start);
        }
        for host in other.hosts.iter() {
            if let Some(until) = host.paused_until() {
                self.restore_pause(&host.name, until);
            }
        }
    }

    /// Leaves a host alone until `until`, as an earlier run was asked to.
    pub fn restore_pause(&mut self, host: &str, until: Instant) {
        let host = self.hosts.find_or_add(host, &self.policy);
        self.hosts.get_mut(host).pause(until);
    }

    /// Says how many URLs earlier runs of this pass were done with.
    pub fn restore_done(&mut self, done: u64) {
        self.done_before = done;
    }

    /// Takes a host into the scope that a seed landed on in an earlier run.
    pub fn restore_landed(&mut self, url: &Url) {
        self.landed.insert(uri::host_key(url).into());
    }

    /// Marks a URL as found in an earlier run, without queueing it.
    pub fn restore_seen(&mut self, fingerprint: u64) {
        self.seen.claim(fingerprint);
    }

    /// Queues a URL that an earlier run left, whatever the scope says now.
    pub fn restore(&mut self, candidate: &Candidate, not_before: Option<Instant>, now: Instant) {
        if !self.seen.claim(candidate.fingerprint) {
            return;
        }
        self.counts.discovered += 1;
        self.counts.queued += 1;
        if let Some(path) = candidate.variant_of {
            let limit = self.options.max_query_variants;
            self.variants.count_named(path, limit, candidate.url());
        }
        let homeless = self.settle(candidate);
        match not_before.filter(|at| *at > now) {
            Some(at) => self.delayed.push(at, homeless),
            None => self.enqueue(homeless, now),
        }
    }
}
