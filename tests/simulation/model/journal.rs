//! The engine's journal, read as a ledger would: every URL is queued at most
//! once and ends at most once, and each end is the one it came to.

use std::time::Instant;

use canter::SkipReason;
use canter::ledger::{Change, End};

use super::urls::{Journaled, State};
use super::{Model, Robots};

impl Model {
    pub(super) fn read_journal(&mut self, at: Instant, change: &Change) {
        match change {
            Change::Queued(queued) => {
                let url = queued.request.url().as_str();
                let Some(&id) = self.by_url.get(url) else {
                    violated!("journal", "{url} is queued and was never found");
                };
                let record = &mut self.records[id];
                if record.journaled != Journaled::No {
                    violated!("journal", "{url} is queued twice");
                }
                if record.fingerprint != queued.fingerprint {
                    violated!("journal", "{url} has two fingerprints");
                }
                record.journaled = Journaled::Queued;
            }
            Change::Ended(ended) => {
                let Some(&id) = self.by_url.get(ended.url.as_str()) else {
                    violated!("journal", "{} ends and was never found", ended.url);
                };
                if ended.end == End::Skipped(SkipReason::Robots) {
                    self.skip_forbidden(at, id);
                }
                let record = &mut self.records[id];
                let is_right = match (record.state, ended.end) {
                    (State::Done, End::Done) | (State::Redirected, End::Redirected) => true,
                    (State::Failed(kind), End::Failed(theirs)) => kind == theirs,
                    (State::Skipped(reason), End::Skipped(theirs)) => reason == theirs,
                    _ => false,
                };
                let tried = !matches!(ended.end, End::Skipped(_));
                if !is_right || record.journaled == Journaled::Ended {
                    violated!(
                        "journal",
                        "{} ends as {:?}: {record:?}",
                        ended.url,
                        ended.end
                    );
                }
                if tried
                    && (record.journaled != Journaled::Queued || ended.attempts != record.attempt)
                {
                    violated!(
                        "journal",
                        "{} ends after {}: {record:?}",
                        ended.url,
                        ended.attempts
                    );
                }
                record.journaled = Journaled::Ended;
            }
            Change::Paused { host, until } => {
                let paused = self
                    .by_host
                    .get(&**host)
                    .and_then(|id| self.hosts[*id].paused);
                if paused.is_none_or(|paused| paused < *until) {
                    violated!(
                        "journal",
                        "a pause of {host} until {until:?}, not {paused:?}"
                    );
                }
            }
            _ => {}
        }
    }

    /// The engine found out, when it came to it, that a URL is forbidden.
    fn skip_forbidden(&mut self, at: Instant, id: usize) {
        self.promote(at);
        let record = &self.records[id];
        let forbidden = match &self.origins[record.origin].robots {
            Robots::Known { rules, until, used } => {
                rules.forbid(record.private) && (*until > at || !used)
            }
            _ => false,
        };
        if !forbidden || !self.plan.obey_robots || record.state != State::Queued {
            violated!(
                "robots",
                "{} is skipped as forbidden: {record:?}",
                record.url
            );
        }
        self.leave(id, State::Skipped(SkipReason::Robots));
        self.counts.queued -= 1;
        self.counts.skip(SkipReason::Robots);
    }
}
