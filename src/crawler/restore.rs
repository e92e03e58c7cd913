//! What earlier runs left, given to the engine before a run begins.

use std::sync::Arc;
use std::time::{Duration, Instant};

use url::Url;

use super::engine::{Engine, Homeless};
use super::origins::{OriginRules, ROBOTS_LIFETIME, RobotsState};
use crate::frontier::{Candidate, Entry, Kind};
use crate::ledger::PlainPending;
use crate::request::{Request, Tag};
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

    /// Marks a URL as found in an earlier run, without queueing it, and says
    /// whether it led elsewhere.
    pub fn restore_seen(&mut self, fingerprint: u64, redirected: bool) {
        self.seen.claim(fingerprint);
        if redirected {
            self.again.restore(fingerprint);
        }
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

    /// As [`restore`](Self::restore), for a request of which nothing is special.
    /// `false`, and nothing is done, for one of an origin that is not known yet,
    /// or with parts that are looked at one by one.
    pub(crate) fn restore_plain(&mut self, plain: PlainPending<'_>, now: Instant) -> bool {
        let Some((origin, path)) = split_at_path(plain.url) else {
            return false;
        };
        let Some(origin) = self.origins.find(origin) else {
            return false;
        };
        if !self.seen.claim(plain.fingerprint) {
            return true;
        }
        self.counts.discovered += 1;
        self.counts.queued += 1;
        let record = self.origins.get_mut(origin);
        record.refs += 1;
        let host = record.host;
        let tag = self.tags.id(&Tag::UNTAGGED);
        self.age += 1;
        let entry = Entry {
            fingerprint: plain.fingerprint,
            path: path.into(),
            referrer: plain.referrer.cloned(),
            extra: None,
            age: self.age,
            priority: 0,
            depth: plain.depth,
            attempt: 1,
            kind: Kind::Page,
            seed: plain.seed,
        };
        self.enqueue(
            Homeless {
                origin,
                host,
                tag,
                entry,
            },
            now,
        );
        true
    }
}

/// A URL as it was written, cut before its path; `None` when it has a query or a
/// user's name.
fn split_at_path(url: &str) -> Option<(&str, &str)> {
    let authority = url.find("://")? + "://".len();
    let path = authority + url[authority..].find('/')?;
    let odd = |byte: u8| matches!(byte, b'?' | b'#');
    let plain = !url[authority..path].contains('@') && !url[path..].bytes().any(odd);
    plain.then(|| url.split_at(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_url_is_cut_before_its_path() {
        assert_eq!(
            split_at_path("https://a.test:8443/b/@c://d"),
            Some(("https://a.test:8443", "/b/@c://d"))
        );
        for odd in [
            "http://u@a.test/",
            "http://a.test/?q",
            "http://a.test",
            "/x",
            "",
        ] {
            assert_eq!(split_at_path(odd), None, "{odd}");
        }
    }
}
