//! What the answer to a request for robots.txt changes. Keeps: until the file
//! was read, nothing of its origin starts.

use std::sync::Arc;
use std::time::Instant;

use super::engine::{Engine, Flight};
use super::finish::Ending;
use super::job::{Finished, Report, RobotsAnswer};
use super::options::Keeping;
use super::origins::{OriginRules, ROBOTS_LIFETIME, RobotsState};
use crate::error::{Error, ErrorKind};
use crate::frontier::OriginId;
use crate::ledger::Change;

impl Engine {
    pub(super) fn finish_robots(
        &mut self,
        flight: Flight,
        of: OriginId,
        report: Report,
        now: Instant,
    ) -> Ending {
        match report.finished {
            Finished::Robots(RobotsAnswer::Rules {
                rules,
                body,
                sitemaps,
                ..
            }) => {
                self.note_attempt(&flight, None, now);
                self.hosts.get_mut(flight.host).on_served();
                self.learn_robots(of, rules, body, now);
                self.release(flight.origin);
                self.release(of);
                for sitemap in sitemaps {
                    let _ = self.push(sitemap, now);
                }
            }
            Finished::Robots(RobotsAnswer::Redirected(request)) => {
                self.note_attempt(&flight, None, now);
                self.hosts.get_mut(flight.host).on_served();
                self.queue_robots(of, &request, now);
                self.release(flight.origin);
                self.release(of);
            }
            Finished::Unanswered(_) => {
                let homeless = flight.into_homeless();
                self.put_off(homeless, now, now);
                return Ending::Returned;
            }
            Finished::Fatal(error) => {
                Engine::fail(self, error, now);
                self.forget_robots(flight.origin, of, now);
            }
            Finished::Failed(error) if error.kind().is_fatal() => {
                Engine::fail(self, error, now);
                self.forget_robots(flight.origin, of, now);
            }
            // Without a stop a cancelled one would start again at once.
            Finished::Failed(error)
                if error.kind() != ErrorKind::Cancelled || !self.is_stopping() =>
            {
                return self.retry_robots(flight, of, &error, now);
            }
            // Given up or unanswered: asked for again when it is next needed.
            _ => self.forget_robots(flight.origin, of, now),
        }
        Ending::Robots
    }

    fn retry_robots(
        &mut self,
        flight: Flight,
        of: OriginId,
        error: &Error,
        now: Instant,
    ) -> Ending {
        let asked = self.note_attempt(&flight, Some(error), now);
        if flight.entry.attempt > self.policy.retry.max_retries {
            self.origins.get_mut(of).robots = RobotsState::GivenUp;
            self.release(flight.origin);
            self.release(of);
            return Ending::RobotsUnreachable;
        }
        let delay = self
            .retry_delay(flight.entry.attempt)
            .max(asked.unwrap_or_default());
        let mut homeless = flight.into_homeless();
        self.counts.retried += 1;
        homeless.entry.attempt += 1;
        self.put_off(homeless, now + delay, now);
        Ending::Retrying { delay }
    }

    /// Takes the robots.txt of an origin for not asked for, after a request to
    /// `at` that came to nothing.
    pub(super) fn forget_robots(&mut self, at: OriginId, of: OriginId, now: Instant) {
        self.origins.get_mut(of).robots = RobotsState::Unknown;
        self.put_back_lanes_of(of, now);
        self.release(at);
        self.release(of);
    }

    fn learn_robots(
        &mut self,
        of: OriginId,
        rules: Arc<OriginRules>,
        body: Arc<[u8]>,
        now: Instant,
    ) {
        let host = self.origins.get(of).host;
        if let Some(delay) = rules.crawl_delay {
            self.hosts.get_mut(host).raise_gap(delay);
        }
        let origin = self.origins.get_mut(of);
        if self.options.journal == Keeping::Everything {
            let origin = Arc::clone(&origin.name);
            self.journal.push(Change::Robots {
                origin,
                body,
                at: now,
            });
        }
        origin.robots = RobotsState::Known {
            rules,
            until: now + ROBOTS_LIFETIME,
            used: false,
        };
        self.put_back_lanes_of(of, now);
        self.place(host, now);
    }
}
