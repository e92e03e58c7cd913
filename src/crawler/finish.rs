//! [`Engine::finish`]: what the end of a job changes. Keeps: what an attempt
//! did commits together with its `Done` or not at all, and a URL that does not
//! end goes back to the queue.

use std::time::{Duration, Instant};

use super::engine::{Engine, Flight, Homeless};
use super::job::{Done, Finished, Report, Then};
use super::options::Keeping;
use super::stats::RunEnd;
use crate::admission::SkipReason;
use crate::error::{Error, ErrorKind};
use crate::frontier::{Candidate, Extra, Kind};
use crate::ledger::{BesideLine, Change, End, Ended, PageMemory, RecordLine};
use crate::outcome::TagScope;
use crate::policy::{MAX_DURATION, RetryAfterScope};
use crate::politeness::{HostId, Weight};

/// What came of a job, for those who look on.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Ending {
    /// The URL came to its end.
    Ended(End),
    /// It is tried again.
    Retrying {
        /// After this delay.
        delay: Duration,
    },
    /// It was given back unfinished: the run is stopping, or a kept connection
    /// broke before any answer came.
    Returned,
    /// It was a request for robots.txt.
    Robots,
    /// It was the last request for a robots.txt that could not be read; its
    /// origin's URLs are left for the next run.
    RobotsUnreachable,
}

/// How a host stands after a job on it has ended, for those who look on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// The gap between two starts, as it is now.
    pub(crate) gap: Duration,
    /// Until when it is left alone.
    pub(crate) paused_until: Option<Instant>,
    /// Until when every host is.
    pub(crate) crawl_paused_until: Option<Instant>,
    /// Whether its URLs are left for the next run.
    pub(crate) parked: bool,
}

/// What a request's end says in the ledger, besides the end itself.
#[derive(Default)]
struct Note {
    status: Option<u16>,
    to: Option<url::Url>,
    message: Option<String>,
}

/// What a request's end leaves in the ledger.
#[derive(Default)]
struct Left {
    page: Option<Box<PageMemory>>,
    records: Vec<RecordLine>,
    beside: Vec<BesideLine>,
}

impl Engine {
    /// Takes in how a job ended. A job that was given up in the meantime
    /// changes nothing.
    pub fn finish(&mut self, report: Report, now: Instant) -> Option<Ending> {
        let (ending, _) = self.finish_and_look(report, now)?;
        Some(ending)
    }

    /// The same, and how the job's host stands afterwards.
    pub(super) fn finish_and_look(
        &mut self,
        report: Report,
        now: Instant,
    ) -> Option<(Ending, Standing)> {
        let mut flight = self.in_flight.remove(&report.id)?;
        flight.url.clone_from(&report.url);
        self.hosts.get_mut(flight.host).on_end();
        self.counts.bytes += report.bytes;
        let host = flight.host;
        let ending = if let Kind::Robots { of } = flight.entry.kind {
            self.robots_in_flight -= 1;
            self.finish_robots(flight, of, report, now)
        } else {
            self.finish_page(flight, report, now)
        };
        // The host's place follows from what has just changed.
        self.place(host, now);
        let standing = self.standing(host);
        self.sweep(now);
        Some((ending, standing))
    }

    fn standing(&self, host: HostId) -> Standing {
        let host = self.hosts.get(host);
        Standing {
            gap: host.gap(),
            paused_until: host.paused_until(),
            crawl_paused_until: self.crawl_pause,
            parked: host.parked(),
        }
    }

    fn finish_page(&mut self, flight: Flight, report: Report, now: Instant) -> Ending {
        let fingerprint = flight.entry.fingerprint;
        let ending = self.finish_attempt(flight, report, now);
        if matches!(ending, Ending::Ended(_)) {
            // Whatever was kept back until then is settled.
            self.again.give_back(fingerprint);
        }
        ending
    }

    fn finish_attempt(&mut self, flight: Flight, report: Report, now: Instant) -> Ending {
        let status = report.status;
        match report.finished {
            Finished::Done(done) => self.finish_done(flight, status, *done, now),
            Finished::Redirected(target) => {
                let held = self.again.give_back(flight.entry.fingerprint);
                self.again.redirected(flight.entry.fingerprint);
                if held.is_none() && self.is_loop(&target) {
                    return self.finish_failed(flight, target.loop_error(status), now);
                }
                let ending = self.finish_redirect(flight, status, *target, now);
                if let Some(held) = held {
                    let _ = self.push(held, now);
                }
                ending
            }
            Finished::Retry { after } => {
                self.note_attempt(&flight, None, now);
                self.try_again(
                    flight,
                    status,
                    after,
                    "the handler asked for another attempt",
                    now,
                )
            }
            Finished::Backoff { scope, duration } => {
                self.note_attempt(&flight, None, now);
                let tag = self.tag_of(&scope, flight.tag);
                // A handler's durations are unchecked; no instant is beyond this.
                let duration = duration.min(MAX_DURATION);
                let until = self.tag_pauses.pause(tag, now + duration);
                self.schedule.hold_longer(tag, until);
                let why = "the handler asked for a pause and another attempt";
                self.try_again(flight, status, Some(duration), why, now)
            }
            Finished::Failed(error) => self.finish_failed(flight, error, now),
            Finished::Fatal(error) => {
                Engine::fail(self, error, now);
                self.give_back(flight, now)
            }
            // No answer to this request: it is as if it had not been sent.
            Finished::Unanswered(_) | Finished::Robots(_) => {
                if self.tags.is_aborted(flight.tag) {
                    let homeless = self.take_back(flight, now);
                    self.skip_queued(&homeless, SkipReason::Aborted);
                    return Ending::Ended(End::Skipped(SkipReason::Aborted));
                }
                self.give_back(flight, now)
            }
        }
    }

    fn finish_done(
        &mut self,
        flight: Flight,
        status: Option<u16>,
        done: Done,
        now: Instant,
    ) -> Ending {
        self.note_attempt(&flight, None, now);
        self.again.done(flight.entry.fingerprint);
        self.hosts.get_mut(flight.host).on_success();
        self.counts.succeeded += 1;
        self.counts.pages += u64::from(flight.entry.kind == Kind::Page);
        self.counts.unchanged += u64::from(done.unchanged);
        let beside = done.beside.iter().filter(|line| line.counts);
        self.counts.records += (done.records.len() + beside.count()) as u64;
        let end = if done.unchanged {
            End::Unchanged
        } else {
            End::Done
        };
        let was_redirected = |extra: &Extra| !extra.hops.is_empty();
        if flight.entry.seed
            && self.options.seeds_widen_scope
            && flight.entry.extra.as_deref().is_some_and(was_redirected)
        {
            let host = self.hosts.get(flight.host);
            self.landed.insert((&*host.name).into());
        }
        let tag = flight.tag;
        let note = Note {
            status,
            message: done.message,
            ..Note::default()
        };
        let left = Left {
            page: done.page,
            records: done.records,
            beside: done.beside,
        };
        self.journal_end(&flight, end, note, left);
        self.release(flight.origin);
        for link in done.links {
            let _ = self.push(link, now);
        }
        match done.then {
            Then::Go => {}
            Then::Stop => self.stop(RunEnd::Stopped, now),
            Then::Abort(scope) => {
                let tag = self.tag_of(&scope, tag);
                self.abort_tag(tag, now);
            }
        }
        self.weigh(Weight::Good, now);
        Ending::Ended(end)
    }

    fn finish_redirect(
        &mut self,
        flight: Flight,
        status: Option<u16>,
        target: Candidate,
        now: Instant,
    ) -> Ending {
        self.note_attempt(&flight, None, now);
        self.hosts.get_mut(flight.host).on_served();
        self.counts.redirected += 1;
        // A hop is no page: it leaves room for one.
        self.hosts.get_mut(flight.host).pages -= u64::from(flight.entry.kind == Kind::Page);
        self.reopen(flight.host, now);
        let note = Note {
            status,
            to: Some(target.url().clone()),
            ..Note::default()
        };
        self.journal_end(&flight, End::Redirected, note, Left::default());
        self.release(flight.origin);
        if self.is_asked_for(&target) {
            self.again.hold(target);
        } else {
            // It comes next: a cookie that a wall sets spares the others the way.
            self.in_place_of = Some(flight.entry.age);
            let _ = self.push(target, now);
            self.in_place_of = None;
        }
        Ending::Ended(End::Redirected)
    }

    fn finish_failed(&mut self, flight: Flight, error: Error, now: Instant) -> Ending {
        // Without a stop it would start again at once, and for ever.
        if error.kind() == ErrorKind::Cancelled && self.is_stopping() {
            self.counts.cancelled += 1;
            return self.give_back(flight, now);
        }
        if error.kind().is_fatal() {
            Engine::fail(self, error, now);
            return self.give_back(flight, now);
        }
        let asked = self.note_attempt(&flight, Some(&error), now);
        if error.kind().is_retryable() && flight.entry.attempt <= self.policy.retry.max_retries {
            let delay = self
                .retry_delay(flight.entry.attempt)
                .max(asked.unwrap_or_default());
            return self.retry(flight, delay, now);
        }
        self.give_up(flight, &error, now)
    }

    /// Ends a request as failed for good.
    fn give_up(&mut self, flight: Flight, error: &Error, now: Instant) -> Ending {
        self.counts.failed += 1;
        *self.counts.failed_by_kind.entry(error.kind()).or_default() += 1;
        let weight = Weight::of_failure(error.kind(), error.status());
        let note = Note {
            status: error.status(),
            message: Some(error.to_string()),
            ..Note::default()
        };
        let end = End::Failed(error.kind());
        self.journal_end(&flight, end, note, Left::default());
        self.release(flight.origin);
        if weight == Weight::Bad
            && self
                .hosts
                .get_mut(flight.host)
                .on_failure(self.policy.max_host_failures)
        {
            // Its retries would hold up the end of the run for nothing.
            for homeless in self
                .delayed
                .extract(|homeless| homeless.host == flight.host)
            {
                self.enqueue(homeless, now);
            }
        }
        self.weigh(weight, now);
        Ending::Ended(End::Failed(error.kind()))
    }

    /// Another attempt as a handler wants it, if the policy has one left.
    fn try_again(
        &mut self,
        flight: Flight,
        status: Option<u16>,
        after: Option<Duration>,
        why: &str,
        now: Instant,
    ) -> Ending {
        if flight.entry.attempt <= self.policy.retry.max_retries {
            let delay = after.unwrap_or_else(|| self.retry_delay(flight.entry.attempt));
            return self.retry(flight, delay.min(MAX_DURATION), now);
        }
        let mut error = Error::worker(format!("{why} after the last one"));
        if let Some(status) = status {
            error = error.with_status(status);
        }
        self.give_up(flight, &error, now)
    }

    fn retry(&mut self, flight: Flight, delay: Duration, now: Instant) -> Ending {
        let mut homeless = self.take_back(flight, now);
        homeless.entry.attempt += 1;
        if self.tags.is_aborted(homeless.tag) {
            self.skip_queued(&homeless, SkipReason::Aborted);
            return Ending::Ended(End::Skipped(SkipReason::Aborted));
        }
        self.counts.retried += 1;
        let not_before = now + delay;
        if self.options.journal == Keeping::Everything {
            self.journal.push(Change::Retried {
                fingerprint: homeless.entry.fingerprint,
                attempt: homeless.entry.attempt,
                not_before,
            });
        }
        self.put_off(homeless, not_before, now);
        Ending::Retrying { delay }
    }

    /// Keeps an entry back until an instant; on a host that is parked it would
    /// only hold up the end of the run.
    pub(super) fn put_off(&mut self, homeless: Homeless, not_before: Instant, now: Instant) {
        if self.hosts.get(homeless.host).parked() {
            self.enqueue(homeless, now);
        } else {
            self.delayed.push(not_before, homeless);
        }
    }

    /// Puts a request back as it was, its attempt not counted.
    fn give_back(&mut self, flight: Flight, now: Instant) -> Ending {
        let homeless = self.take_back(flight, now);
        self.enqueue(homeless, now);
        Ending::Returned
    }

    /// Counts a request in flight as queued again.
    fn take_back(&mut self, flight: Flight, now: Instant) -> Homeless {
        self.counts.queued += 1;
        let of_a_page = flight.entry.kind == Kind::Page;
        self.hosts.get_mut(flight.host).pages -= u64::from(of_a_page);
        self.reopen(flight.host, now);
        flight.into_homeless()
    }

    /// What an attempt says about the pace: failures for the cap, throttling
    /// for the host. Gives the pause that the site asked for.
    pub(super) fn note_attempt(
        &mut self,
        flight: &Flight,
        error: Option<&Error>,
        now: Instant,
    ) -> Option<Duration> {
        let weight = error.map_or(Weight::Good, |error| {
            Weight::of_failure(error.kind(), error.status())
        });
        self.limiter.on_outcome(weight == Weight::Bad);
        let error = error?;
        let throttled = matches!(error.status(), Some(429 | 503));
        let asked = error
            .retry_after()
            .filter(|_| throttled)
            .map(|asked| asked.min(self.policy.max_retry_after));
        let host = self.hosts.get_mut(flight.host);
        match asked {
            // A date gone by, or 0: no wait is asked for, so our own holds.
            Some(asked) if !asked.is_zero() => {
                let until = now + asked;
                if self.policy.retry_after_scope == RetryAfterScope::Crawl {
                    self.crawl_pause = Some(self.crawl_pause.map_or(until, |held| held.max(until)));
                }
                host.on_asked_to_wait(now, until);
                if self.options.journal == Keeping::Everything {
                    let host = std::sync::Arc::clone(&host.name);
                    self.journal.push(Change::Paused { host, until });
                }
                return Some(asked);
            }
            _ if throttled || error.kind() == ErrorKind::Timeout => {
                host.on_throttled(flight.started, now, self.policy.max_host_delay);
            }
            _ if weight == Weight::None && error.status().is_some() => host.on_served(),
            _ => {}
        }
        None
    }

    /// What a request's end says to the stop rules.
    fn weigh(&mut self, weight: Weight, now: Instant) {
        if let Some(trip) = self.breaker.record(weight) {
            self.stop(RunEnd::Refused(trip), now);
        }
    }

    fn tag_of(&mut self, scope: &TagScope, own: u32) -> u32 {
        match scope {
            TagScope::Own => own,
            TagScope::Tag(tag) => self.tags.id(tag),
        }
    }

    /// Lets lanes go on that stood back since their host had enough pages.
    fn reopen(&mut self, host: u32, now: Instant) {
        for lane in self.full.remove(&host).unwrap_or_default() {
            self.put_back(lane, now);
        }
    }

    fn journal_end(&mut self, flight: &Flight, end: End, note: Note, left: Left) {
        if self.options.journal < Keeping::Ends {
            return;
        }
        let Some(purpose) = flight.entry.kind.purpose() else {
            return;
        };
        self.journal.push(Change::Ended(Box::new(Ended {
            fingerprint: flight.entry.fingerprint,
            url: flight.url.clone(),
            purpose,
            end,
            status: note.status,
            attempts: flight.entry.attempt,
            to: note.to,
            message: note.message,
            referrer: match end {
                End::Failed(_) => flight.entry.referrer.clone(),
                _ => None,
            },
            depth: flight.entry.depth,
            page: left.page,
            records: left.records,
            beside: left.beside,
        })));
    }
}
