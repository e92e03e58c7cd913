//! Every end: what an answer changes, by the tables of the design; and the end
//! and the beginning of a run.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use canter::Request;
use canter::crawler::{Bound, Ending, RunEnd};
use canter::ledger::End;
use canter::{ErrorKind, RetryAfterScope, SkipReason, Stats, Tag, uri};

use super::answers::{self, Failure, Meaning, RobotsMeaning, Then};
use super::hosts::OriginId;
use super::pace::{Cap, StopRules};
use super::urls::{Counts, State, UrlId};
use super::{Asked, Flight, Item, Model, Place, Robots, Stop};
use crate::drive::Ended;
use crate::plan::ScopePlan;

/// How long the rules of an origin serve.
const DAY: Duration = Duration::from_secs(24 * 3600);

impl Model {
    pub(super) fn end(&mut self, at: Instant, ended: &Ended<'_>) {
        let Some(flight) = self.flights.remove(&ended.id) else {
            violated!(
                "conservation",
                "{} ends and was not in flight",
                ended.request.url()
            );
        };
        self.hosts[flight.host].in_flight -= 1;
        let expected = match flight.item {
            Item::Url(id) => self.end_url(at, id, &flight, ended),
            Item::Robots(origin) => self.end_robots(at, origin, &flight, ended),
        };
        self.touch(flight.host);
        if ended.ending != Some(&expected) {
            let url = ended.request.url();
            violated!(
                "outcome",
                "{url} ended as {:?}, not {expected:?}",
                ended.ending
            );
        }
    }

    fn end_url(&mut self, at: Instant, id: UrlId, flight: &Flight, ended: &Ended<'_>) -> Ending {
        let hops = ended.request.hops().len();
        let most_hops = self.policy().max_redirects;
        let host = flight.host;
        match answers::of_page(ended.answer, hops, most_hops, at - self.base) {
            Meaning::Done(then) => {
                self.cap.ended(false);
                self.hosts[host].failures = 0;
                self.hosts[host].served();
                self.counts.succeeded += 1;
                self.counts.pages += u64::from(!self.records[id].map);
                self.records[id].state = State::Done;
                if self.records[id].seed && hops > 0 && self.plan.scope == ScopePlan::OfSeeds {
                    self.landed.insert(self.hosts[host].name.clone());
                }
                for link in ended.found {
                    let _ = self.push(link, at);
                }
                match then {
                    Then::Go => {}
                    Then::Stop => self.stop(at, Stop::Asked),
                    Then::Abort(tag) => {
                        let tag = tag.unwrap_or_else(|| self.records[id].tag.clone());
                        self.abort(&tag);
                    }
                }
                self.weigh(at, false);
                Ending::Ended(End::Done)
            }
            Meaning::Redirected if ended.found[0].leads_back => {
                self.cap.ended(false);
                self.hosts[host].served();
                let status = Some(ended.answer.status);
                self.give_up(at, id, Failure::new(ErrorKind::Rejected, status))
            }
            Meaning::Redirected => {
                self.cap.ended(false);
                self.hosts[host].served();
                self.counts.redirected += 1;
                self.records[id].state = State::Redirected;
                self.forget_page(id);
                let _ = self.push(&ended.found[0], at);
                Ending::Ended(End::Redirected)
            }
            Meaning::Retry(after) => {
                self.cap.ended(false);
                let exact = after.map(|after| (after, after));
                self.try_again(at, id, exact, Failure::of_handler(ended), ended)
            }
            Meaning::Backoff(tag, duration) => {
                self.cap.ended(false);
                let tag = tag.unwrap_or_else(|| self.records[id].tag.clone());
                let paused = &mut self.tags.entry(tag.clone()).or_default().paused;
                *paused = (*paused).max(Some(at + duration));
                self.touch_tag(&tag);
                let exact = Some((duration, duration));
                self.try_again(at, id, exact, Failure::of_handler(ended), ended)
            }
            Meaning::Unanswered if self.tags[&self.records[id].tag].aborted => {
                self.forget_page(id);
                self.counts.skip(SkipReason::Aborted);
                self.records[id].state = State::Skipped(SkipReason::Aborted);
                Ending::Ended(End::Skipped(SkipReason::Aborted))
            }
            Meaning::Unanswered => {
                self.give_back(id);
                Ending::Returned
            }
            Meaning::Failed(failure)
                if failure.kind == ErrorKind::Cancelled && self.stopped.is_some() =>
            {
                self.counts.cancelled += 1;
                self.give_back(id);
                Ending::Returned
            }
            Meaning::Failed(failure) => {
                let asked = self.note_failure(at, flight, failure);
                if !failure.is_retryable() {
                    return self.give_up(at, id, failure);
                }
                let (least, most) = self.delay(self.records[id].attempt);
                let bounds = (least.max(asked), most.max(asked));
                self.try_again(at, id, Some(bounds), failure, ended)
            }
            Meaning::Fatal => {
                self.stop(at, Stop::Error);
                self.give_back(id);
                Ending::Returned
            }
        }
    }

    /// The delay of the policy after an attempt: the least and the most.
    fn delay(&self, attempt: u32) -> (Duration, Duration) {
        let retry = &self.policy().retry;
        let seconds = retry.delay.as_secs_f64() * retry.factor.powf(f64::from(attempt - 1));
        let most = Duration::from_secs_f64(seconds.min(retry.max_delay.as_secs_f64()));
        (most.mul_f64(1.0 - retry.jitter), most)
    }

    /// What a failure says about the pace. Gives the pause that was asked for.
    fn note_failure(&mut self, at: Instant, flight: &Flight, failure: Failure) -> Duration {
        self.cap.ended(failure.is_of_the_site());
        let asked = failure
            .asked
            .unwrap_or_default()
            .min(self.policy().max_retry_after);
        let most = self.policy().max_host_delay;
        let host = &mut self.hosts[flight.host];
        if !asked.is_zero() {
            host.asked_to_wait(at, at + asked);
            if self.plan.policy.retry_after_scope == RetryAfterScope::Crawl {
                self.crawl_pause = self.crawl_pause.max(Some(at + asked));
            }
        } else if failure.throttles() {
            host.throttled(flight.started, at, most);
        } else if !failure.is_of_the_site() && failure.status.is_some() {
            host.served();
        }
        asked
    }

    /// Another attempt after a delay within the bounds, or none.
    fn try_again(
        &mut self,
        at: Instant,
        id: UrlId,
        bounds: Option<(Duration, Duration)>,
        failure: Failure,
        ended: &Ended<'_>,
    ) -> Ending {
        let attempt = self.records[id].attempt;
        if attempt > self.policy().retry.max_retries {
            return self.give_up(at, id, failure);
        }
        self.forget_page(id);
        self.records[id].attempt += 1;
        self.counts.queued += 1;
        if self.tags[&self.records[id].tag].aborted {
            self.counts.queued -= 1;
            self.counts.skip(SkipReason::Aborted);
            self.records[id].state = State::Skipped(SkipReason::Aborted);
            return Ending::Ended(End::Skipped(SkipReason::Aborted));
        }
        self.counts.retried += 1;
        let delay = chosen(bounds.unwrap_or_else(|| self.delay(attempt)), ended);
        if self.hosts[self.records[id].host].parked {
            self.enter(id, State::Queued, at);
        } else {
            self.enter(id, State::Delayed(at + delay), at);
        }
        Ending::Retrying { delay }
    }

    fn give_up(&mut self, at: Instant, id: UrlId, failure: Failure) -> Ending {
        *self.counts.failed.entry(failure.kind).or_default() += 1;
        self.records[id].state = State::Failed(failure.kind);
        if failure.is_of_the_site() {
            let most = self.policy().max_host_failures;
            let of_host = self.records[id].host;
            let host = &mut self.hosts[of_host];
            host.failures += 1;
            if most > 0 && host.failures >= most && !host.parked {
                host.parked = true;
                let is_there = |(_, item): &&(Instant, Item)| match item {
                    Item::Url(id) => self.records[*id].host == of_host,
                    Item::Robots(origin) => {
                        matches!(&self.origins[*origin].robots, Robots::Asked(a) if a.host == of_host)
                    }
                };
                let theirs: Vec<Item> = self
                    .delayed
                    .iter()
                    .filter(is_there)
                    .map(|(_, item)| *item)
                    .collect();
                for item in theirs {
                    self.release(item);
                }
            }
            self.weigh(at, true);
        }
        Ending::Ended(End::Failed(failure.kind))
    }

    fn weigh(&mut self, at: Instant, failed: bool) {
        if self.rules.ended(failed) {
            self.stop(at, Stop::Rule);
        }
    }

    fn forget_page(&mut self, id: UrlId) {
        let record = &self.records[id];
        self.hosts[record.host].pages -= u64::from(!record.map);
    }

    fn give_back(&mut self, id: UrlId) {
        self.forget_page(id);
        self.counts.queued += 1;
        self.enter(id, State::Queued, self.base);
    }

    /// A tag is given up: what is queued with it is skipped.
    fn abort(&mut self, tag: &Tag) {
        self.tags.entry(tag.clone()).or_default().aborted = true;
        for id in 0..self.records.len() {
            let record = &self.records[id];
            if record.tag == *tag && matches!(record.state, State::Queued | State::Delayed(_)) {
                self.leave(id, State::Skipped(SkipReason::Aborted));
                self.counts.queued -= 1;
                self.counts.skip(SkipReason::Aborted);
            }
        }
    }

    fn end_robots(
        &mut self,
        at: Instant,
        origin: OriginId,
        flight: &Flight,
        ended: &Ended<'_>,
    ) -> Ending {
        let Robots::Asked(asked) = self.origins[origin].robots.clone() else {
            violated!("robots once", "{} ends unasked", ended.request.url());
        };
        let hops = ended.request.hops().len();
        let own_host = self.origins[origin].host;
        let ending = match answers::of_robots(ended.answer, hops, at - self.base) {
            RobotsMeaning::Rules(rules) => {
                self.cap.ended(false);
                self.hosts[flight.host].served();
                if let Some(delay) = rules.delay {
                    self.hosts[own_host].crawl_delay(delay);
                }
                let known = Robots::Known {
                    rules,
                    until: at + DAY,
                    used: false,
                };
                self.origins[origin].robots = known;
                for map in ended.found {
                    let _ = self.push(map, at);
                }
                Ending::Robots
            }
            RobotsMeaning::Redirected => {
                self.cap.ended(false);
                self.hosts[flight.host].served();
                let to = ended.answer.location.as_deref().unwrap_or_default();
                let url = uri::resolve(ended.request.url(), to).expect("a URL of the web");
                let host = self.host_of(url.host_str().unwrap_or_default());
                let asked = Asked {
                    url: url.to_string(),
                    host,
                    attempt: 1,
                    place: Place::Queued,
                };
                self.origins[origin].robots = Robots::Asked(asked);
                self.hosts[host].robots.insert(origin);
                self.touch(host);
                Ending::Robots
            }
            RobotsMeaning::Unanswered => {
                let place = Place::Delayed(at);
                self.origins[origin].robots = Robots::Asked(Asked { place, ..asked });
                self.delayed.insert((at, Item::Robots(origin)));
                self.release(Item::Robots(origin));
                Ending::Returned
            }
            RobotsMeaning::Failed(failure) => {
                let pause = self.note_failure(at, flight, failure);
                if asked.attempt > self.policy().retry.max_retries {
                    self.origins[origin].robots = Robots::GivenUp;
                    self.touch(own_host);
                    return Ending::RobotsUnreachable;
                }
                let (least, most) = self.delay(asked.attempt);
                let delay = chosen((least.max(pause), most.max(pause)), ended);
                self.counts.retried += 1;
                let until = at + delay;
                let place = Place::Delayed(until);
                let attempt = asked.attempt + 1;
                self.origins[origin].robots = Robots::Asked(Asked {
                    attempt,
                    place,
                    ..asked
                });
                self.delayed.insert((until, Item::Robots(origin)));
                if self.hosts[flight.host].parked || delay.is_zero() {
                    self.release(Item::Robots(origin));
                }
                Ending::Retrying { delay }
            }
        };
        self.touch(own_host);
        ending
    }

    pub(super) fn begin_run(&mut self, at: Instant) {
        self.stopped = None;
        self.deadline = self.policy().deadline.map(|after| at + after);
        self.cap = Cap::new(self.policy(), at);
        self.rules = StopRules::new(self.policy());
        let queued = self.counts.queued;
        self.counts = Counts {
            queued,
            discovered: queued,
            ..Counts::default()
        };
        self.tags.values_mut().for_each(|tag| tag.aborted = false);
        self.records
            .iter_mut()
            .for_each(|record| record.attempt = 1);
        for origin in &mut self.origins {
            match &mut origin.robots {
                Robots::Asked(asked) => asked.attempt = 1,
                robots @ Robots::GivenUp => *robots = Robots::Unknown,
                _ => {}
            }
        }
        for host in 0..self.hosts.len() {
            self.hosts[host].new_run();
            self.touch(host);
        }
    }

    pub(super) fn end_run(&mut self, at: Instant, stats: &Stats, queue: &[Request]) {
        self.heed_bounds(at);
        self.promote(at);
        if let Some((since, why)) = self.stopped {
            if !self.flights.is_empty() && at < since + self.policy().shutdown_grace {
                violated!("grace", "cut short: {:?} after {why:?}", at - since);
            }
            self.cancel();
        } else {
            if !self.flights.is_empty() {
                violated!("end", "with {} in flight", self.flights.len());
            }
            if let Some(start) = self.next_start(at) {
                violated!("end", "though one could start in {:?}", start - at);
            }
        }
        self.counts.compare(stats, 0);
        let queued: BTreeSet<String> = queue
            .iter()
            .map(|request| request.url().to_string())
            .collect();
        let is_queued = |state| matches!(state, State::Queued | State::Delayed(_));
        let ours: BTreeSet<String> = self
            .records
            .iter()
            .filter(|record| is_queued(record.state))
            .map(|record| record.url.clone())
            .collect();
        if queued != ours {
            violated!(
                "conservation",
                "queued at the end: {queued:?}, not {ours:?}"
            );
        }
        self.check_end(stats.end);
        self.deep.clear();
    }

    /// What was in flight at the end of the grace period stays queued.
    fn cancel(&mut self) {
        let flights: Vec<Flight> = std::mem::take(&mut self.flights).into_values().collect();
        for flight in flights {
            self.hosts[flight.host].in_flight -= 1;
            match flight.item {
                Item::Url(id) => {
                    self.counts.cancelled += 1;
                    self.give_back(id);
                }
                Item::Robots(origin) => self.origins[origin].robots = Robots::Unknown,
            }
        }
    }

    fn check_end(&self, end: Option<RunEnd>) {
        let counts = &self.counts;
        let given_up =
            |origin: &super::Origin| origin.robots == Robots::GivenUp && origin.queued > 0;
        let parked = self.hosts.iter().any(|host| host.parked) || self.origins.iter().any(given_up);
        let pending = counts.queued > 0;
        let is_right = match (self.stopped.map(|(_, why)| why), end) {
            (Some(Stop::Error), end) => end == Some(RunEnd::Error),
            (Some(Stop::Asked), end) if pending => end == Some(RunEnd::Stopped),
            (Some(Stop::Rule), end) => matches!(end, Some(RunEnd::Refused(_))),
            (Some(Stop::Deadline), end) if pending => end == Some(RunEnd::Bound(Bound::Deadline)),
            (Some(Stop::Requests), end) if pending => end == Some(RunEnd::Bound(Bound::Requests)),
            (_, end) if counts.pages == 0 && counts.discovered > 0 => end == Some(RunEnd::Nothing),
            (_, end) if !pending => end == Some(RunEnd::Complete),
            (_, end) if parked => end == Some(RunEnd::HostsParked),
            (_, end) => end == Some(RunEnd::Bound(Bound::PagesPerHost)),
        };
        if !is_right {
            violated!(
                "outcome",
                "the run ended as {end:?}: {:?}, {counts:?}",
                self.stopped
            );
        }
    }
}

/// The delay that the engine chose, if it is within the bounds.
fn chosen((least, most): (Duration, Duration), ended: &Ended<'_>) -> Duration {
    // Durations are cut to whole nanoseconds on the way.
    const SLACK: Duration = Duration::from_nanos(2);
    match ended.ending {
        Some(Ending::Retrying { delay }) if *delay + SLACK >= least && *delay <= most + SLACK => {
            *delay
        }
        other => violated!(
            "retries",
            "{}: {other:?}, not within {least:?} and {most:?}",
            ended.request.url()
        ),
    }
}

impl Failure {
    /// What a request fails with whose handler wants one attempt too many.
    fn of_handler(ended: &Ended<'_>) -> Failure {
        Failure {
            kind: ErrorKind::Worker,
            status: Some(ended.answer.status),
            asked: None,
        }
    }
}
