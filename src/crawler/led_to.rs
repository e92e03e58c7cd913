//! URLs that nothing but redirects have led to. Keeps: the state knows of each
//! whether a later pass is to ask for it by itself, or only when a redirect
//! leads to it again.

use super::engine::Engine;
use super::options::Keeping;
use crate::frontier::Candidate;
use crate::ledger::Change;

impl Engine {
    /// Says that nothing but redirects led to a URL in earlier runs.
    pub fn restore_led_to(&mut self, fingerprint: u64) {
        self.only_led_to.claim(fingerprint);
    }

    /// Notes how a URL was found; `new` if it is queued or refused now, with a
    /// line in the state that says it.
    pub(super) fn note_way(&mut self, candidate: &Candidate, new: bool) {
        if self.options.journal != Keeping::Everything {
            return;
        }
        let fingerprint = candidate.fingerprint;
        if !candidate.request.hops().is_empty() {
            if new {
                self.only_led_to.claim(fingerprint);
            }
        } else if self.only_led_to.give_up(fingerprint) && !new {
            self.journal.push(Change::Named { fingerprint });
        }
    }
}
