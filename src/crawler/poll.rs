//! The gate: [`Engine::poll`] says which request may start now, or what the
//! next start waits for. Keeps: nothing starts that rate, cap, pause, gap,
//! robots or a bound forbids, and the reason given is the true one.

use std::time::Instant;

use super::engine::{Engine, Flight, Homeless};
use super::job::{Job, Poll, Why};
use super::origins::RobotsState;
use super::stats::{Bound, RunEnd};
use crate::admission::SkipReason;
use crate::frontier::{Entry, Kind, LaneId, OriginId, Readiness};
use crate::politeness::{Hold, HostId, Verdict};
use crate::request::{Request, Tag};

/// When it is worth asking again, as far as can be said at a glance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outlook {
    /// Something may be able to start now.
    Now,
    /// Something may be able to start at this instant.
    At(Instant),
    /// Not before something in flight has ended.
    Never,
}

impl Engine {
    /// When it is worth asking again. Never later than the next start that is
    /// possible without anything ending; changes nothing.
    #[must_use]
    pub fn outlook(&self, now: Instant) -> Outlook {
        if self.stopped.is_some() {
            return Outlook::Never;
        }
        if self.schedule.is_wanting() {
            return Outlook::Now;
        }
        let at = match (self.schedule.first_ready(), self.next_event()) {
            (Some(_), _) => now,
            (None, Some((at, _))) => at.max(now),
            (None, None) => return Outlook::Never,
        };
        match self.hold_back(at, None, now) {
            None if at <= now => Outlook::Now,
            None => Outlook::At(at),
            Some(Poll::Wait(at, _)) => Outlook::At(at),
            Some(_) => Outlook::Never,
        }
    }

    /// Says which request may start at `now`, and counts it as started.
    pub fn poll(&mut self, now: Instant) -> Poll {
        let poll = self.gate(now);
        self.why = match &poll {
            Poll::Start(_) | Poll::Load(_) | Poll::Done => None,
            Poll::Wait(_, why) | Poll::Idle(why) => Some(*why),
        };
        poll
    }

    /// When the deadline or the grace period ends, whatever else happens. All
    /// workers may be stuck in a fetch by then, so somebody else has to look.
    #[must_use]
    pub fn alarm(&self) -> Option<Instant> {
        match self.stopped {
            Some((since, _)) => Some(self.grace_over(since)),
            None => self.deadline,
        }
    }

    /// Stops the run if its deadline has passed, and gives up what is in
    /// flight if the grace period has. Says whether the run is over by that.
    pub fn ring(&mut self, now: Instant) -> bool {
        self.heed_deadline(now);
        match self.stopped {
            Some((since, _)) => matches!(self.wind_down(since, now), Poll::Done),
            None => false,
        }
    }

    fn heed_deadline(&mut self, now: Instant) {
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            self.stop(RunEnd::Bound(Bound::Deadline), now);
        }
    }

    fn gate(&mut self, now: Instant) -> Poll {
        self.heed_deadline(now);
        let spent = self
            .policy
            .max_requests
            .is_some_and(|max| self.counts.requests >= max);
        if spent && self.has_queued() {
            self.stop(RunEnd::Bound(Bound::Requests), now);
        }
        if let Some((since, _)) = self.stopped {
            return self.wind_down(since, now);
        }
        self.promote(now);
        let choice = self.choose(now);
        if self.schedule.is_wanting() {
            return Poll::Load(self.schedule.take_wanted());
        }
        let (ready, at, why) = match choice {
            Some(choice) => (Some(choice), now, None),
            None => match self.next_event() {
                Some((at, why)) => (None, at, Some(why)),
                None if self.schedule.is_waiting() => {
                    return self.until_deadline(Poll::Idle(Why::Load));
                }
                None if self.in_flight.is_empty() => return Poll::Done,
                None => return self.until_deadline(Poll::Idle(self.idle_reason())),
            },
        };
        let poll = match self.hold_back(at, why, now) {
            Some(poll) => poll,
            None => match ready {
                Some((host, lane)) => return Poll::Start(Box::new(self.start(host, lane, now))),
                None => Poll::Wait(at, why.unwrap_or(Why::Nothing)),
            },
        };
        self.until_deadline(poll)
    }

    /// Whether anything is queued or held, a request for robots.txt included
    /// that no URL waits for any more.
    fn has_queued(&self) -> bool {
        self.counts.queued > 0
            || self.schedule.first_ready().is_some()
            || self.next_event().is_some()
    }

    /// What holds back a start that could otherwise be made at `at`: the one
    /// of cap, rate and pause of the crawl that does so the longest.
    fn hold_back(&self, at: Instant, why: Option<Why>, now: Instant) -> Option<Poll> {
        let mut latest = (at, why);
        let mut later = |until: Instant, why: Why| {
            if until > latest.0 {
                latest = (until, Some(why));
            }
        };
        if self.in_flight.len() >= self.limiter.cap(now) {
            match self.limiter.next_rise(now) {
                Some(rise) => later(rise, Why::WarmUp),
                None => return Some(Poll::Idle(Why::Cap)),
            }
        }
        later(self.pacer.next(now), Why::Rate);
        if let Some(until) = self.crawl_pause {
            later(until, Why::Crawl);
        }
        (latest.0 > now).then(|| Poll::Wait(latest.0, latest.1.unwrap_or(Why::Nothing)))
    }

    /// A wait is over when the run's time is.
    fn until_deadline(&self, poll: Poll) -> Poll {
        match (self.deadline, poll) {
            (Some(deadline), Poll::Wait(at, why)) => Poll::Wait(at.min(deadline), why),
            (Some(deadline), Poll::Idle(why)) => Poll::Wait(deadline, why),
            (_, poll) => poll,
        }
    }

    /// Waits for what is in flight, as long as the grace period lasts.
    fn wind_down(&mut self, since: Instant, now: Instant) -> Poll {
        if self.in_flight.is_empty() {
            return Poll::Done;
        }
        let grace_over = self.grace_over(since);
        if now < grace_over {
            return Poll::Wait(grace_over, Why::Stopping);
        }
        self.cancel_in_flight(now);
        Poll::Done
    }

    /// When requests in flight have had their time after a stop.
    fn grace_over(&self, stopped: Instant) -> Instant {
        if self.abandoned {
            stopped
        } else {
            stopped + self.policy.shutdown_grace
        }
    }

    /// Gives up what is in flight: it stays pending, its attempt not counted.
    fn cancel_in_flight(&mut self, now: Instant) {
        let mut flights: Vec<_> = self.in_flight.drain().collect();
        flights.sort_unstable_by_key(|(id, _)| *id);
        for (
            _,
            Flight {
                origin,
                host,
                tag,
                entry,
                ..
            },
        ) in flights
        {
            self.hosts.get_mut(host).on_end();
            if let Kind::Robots { of } = entry.kind {
                self.robots_in_flight -= 1;
                self.forget_robots(origin, of, now);
            } else {
                self.counts.cancelled += 1;
                self.counts.queued += 1;
                self.hosts.get_mut(host).pages -= u64::from(entry.kind == Kind::Page);
                self.enqueue(
                    Homeless {
                        origin,
                        host,
                        tag,
                        entry,
                    },
                    now,
                );
            }
        }
    }

    /// Lets the lanes and hosts go on whose time has come.
    fn promote(&mut self, now: Instant) {
        while let Some(homeless) = self.delayed.pop_due(now) {
            self.enqueue(homeless, now);
        }
        while let Some((at, lane)) = self.schedule.first_held()
            && at <= now
        {
            self.put_back(lane, now);
        }
        while let Some((at, host)) = self.schedule.first_waiting()
            && at <= now
        {
            self.place(host, now);
        }
    }

    /// The host and lane that go next, if one could now. Lanes that turn out
    /// to wait for something are set aside on the way; each is touched once
    /// for each thing that it waits for.
    fn choose(&mut self, now: Instant) -> Option<(HostId, LaneId)> {
        loop {
            let (host, lane) = self.schedule.first_ready()?;
            if self.hosts.get(host).may_start(now) != Verdict::Now {
                self.place(host, now);
                continue;
            }
            let (origin, tag, exempt) = {
                let lane = self.schedule.lane(lane);
                (lane.origin, lane.tag, lane.exempt)
            };
            if exempt {
                return Some((host, lane));
            }
            if let Some(until) = self.tag_pauses.held(&tag, now) {
                self.schedule.hold(lane, until);
                self.place(host, now);
                continue;
            }
            // A host that has had its pages is not asked for its rules either.
            if !self.knows_robots(origin, now) && self.stands_back(host, lane) {
                self.place(host, now);
                continue;
            }
            if self.waits_for_robots(origin, lane, now) {
                self.place(host, now);
                continue;
            }
            let head = self.schedule.peek(lane);
            if self.is_forbidden(origin, head) {
                let entry = self.schedule.pop(lane);
                self.skip_queued(
                    &Homeless {
                        origin,
                        host,
                        tag,
                        entry,
                    },
                    SkipReason::Robots,
                );
                self.place(host, now);
                continue;
            }
            if self.stands_back(host, lane) {
                self.place(host, now);
                continue;
            }
            return Some((host, lane));
        }
    }

    /// Whether what a lane has next is a page, and its host has had as many as
    /// allowed; if so it is set aside.
    fn stands_back(&mut self, host: HostId, lane: LaneId) -> bool {
        let full = self
            .policy
            .max_pages_per_host
            .is_some_and(|max| self.hosts.get(host).pages >= max)
            && self.schedule.peek(lane).kind == Kind::Page;
        if full {
            self.schedule.set_aside(lane);
            self.full.entry(host).or_default().push(lane);
        }
        full
    }

    /// Whether requests to an origin may go by the rules that are known.
    fn knows_robots(&self, origin: OriginId, now: Instant) -> bool {
        !self.options.obey_robots
            || match &self.origins.get(origin).robots {
                RobotsState::Known { until, used, .. } => *until > now || !used,
                _ => false,
            }
    }

    /// Whether a lane waits for its origin's robots.txt; if so it is set aside,
    /// and the file is asked for if that has not been done.
    fn waits_for_robots(&mut self, origin: OriginId, lane: LaneId, now: Instant) -> bool {
        if self.knows_robots(origin, now) {
            return false;
        }
        match &self.origins.get(origin).robots {
            RobotsState::Known { .. } | RobotsState::Unknown => self.ask_for_robots(origin, now),
            RobotsState::Asked | RobotsState::GivenUp => {}
        }
        self.schedule.set_aside(lane);
        self.origins.get_mut(origin).aside.push(lane);
        true
    }

    fn ask_for_robots(&mut self, of: OriginId, now: Instant) {
        let name = std::sync::Arc::clone(&self.origins.get(of).name);
        let request = Request::get(format!("{name}/robots.txt"))
            .expect("an origin was cut from a parsed URL")
            .with_priority(i32::MAX);
        self.origins.get_mut(of).robots = RobotsState::Asked;
        self.queue_robots(of, &request, now);
    }

    /// Queues a request for the robots.txt of an origin, ahead of everything.
    pub(super) fn queue_robots(&mut self, of: OriginId, request: &Request, now: Instant) {
        let (origin, host) = self.locate(request);
        // The origin whose rules are wanted is referred to as well: it may be
        // another, and all its URLs may be given up while this is in flight.
        self.origins.get_mut(of).refs += 1;
        let tag = self.tags.id(&Tag::UNTAGGED);
        self.age += 1;
        let entry = Entry::new(request, 0, Kind::Robots { of }, false, self.age);
        self.enqueue(
            Homeless {
                origin,
                host,
                tag,
                entry,
            },
            now,
        );
    }

    fn is_forbidden(&self, origin: OriginId, entry: &Entry) -> bool {
        self.options.obey_robots
            && match &self.origins.get(origin).robots {
                RobotsState::Known { rules, .. } => !rules.rules.allows(&entry.path),
                _ => true,
            }
    }

    /// Ends a queued URL as skipped.
    pub(super) fn skip_queued(&mut self, homeless: &Homeless, reason: SkipReason) {
        self.counts.queued -= 1;
        self.count_skip(reason);
        self.journal_skip(homeless, reason);
        self.release(homeless.origin);
    }

    /// The next instant at which a start may become possible, and what is
    /// waited for until then.
    fn next_event(&self) -> Option<(Instant, Why)> {
        let host = self.schedule.first_waiting().map(|(at, host)| {
            let pause = self.hosts.get(host).paused_until() == Some(at);
            (
                at,
                if pause {
                    Why::Pause(host)
                } else {
                    Why::Gap(host)
                },
            )
        });
        let held = self
            .schedule
            .first_held()
            .map(|(at, lane)| (at, Why::Tag(self.schedule.lane(lane).tag)));
        let retry = self
            .delayed
            .peek()
            .map(|(at, homeless)| (at, Why::Retry(homeless.host)));
        [host, held, retry]
            .into_iter()
            .flatten()
            .min_by_key(|(at, _)| *at)
    }

    /// What the next start waits for when only an end can bring it about. What
    /// is left for the next run waits for nothing in this one.
    fn idle_reason(&self) -> Why {
        let is_waited_for = |flight: &Flight| match flight.entry.kind {
            Kind::Robots { of } => !self.origins.get(of).aside.is_empty(),
            _ => false,
        };
        if self.schedule.any_busy() {
            Why::HostLimit
        } else if self.robots_in_flight > 0 && self.in_flight.values().any(is_waited_for) {
            Why::Robots
        } else {
            Why::Nothing
        }
    }

    fn start(&mut self, host: HostId, lane: LaneId, now: Instant) -> Job {
        let (origin, tag) = {
            let lane = self.schedule.lane(lane);
            (lane.origin, lane.tag)
        };
        let entry = self.schedule.pop(lane);
        if let RobotsState::Known { used, .. } = &mut self.origins.get_mut(origin).robots
            && !matches!(entry.kind, Kind::Robots { .. })
        {
            *used = true;
        }
        self.pacer.take(now);
        self.last_start = Some(now);
        let record = self.hosts.get_mut(host);
        record.on_start(now);
        record.pages += u64::from(entry.kind == Kind::Page);
        // Off the line and on again: behind the other hosts.
        self.schedule.place(host, Readiness::Later);
        self.place(host, now);
        self.counts.requests += 1;
        if matches!(entry.kind, Kind::Robots { .. }) {
            self.robots_in_flight += 1;
        } else {
            self.counts.queued -= 1;
        }
        let id = self.next_job;
        self.next_job += 1;
        let job = Job {
            id,
            origin: std::sync::Arc::clone(&self.origins.get(origin).name),
            tag: self.tags.name(tag).clone(),
            started: now,
            entry: entry.clone(),
        };
        self.in_flight.insert(
            id,
            Flight {
                origin,
                host,
                tag,
                started: now,
                url: String::new(),
                entry,
            },
        );
        self.limiter.on_start(self.in_flight.len());
        job
    }

    /// Puts back the lanes that waited for an origin's robots.txt.
    pub(super) fn put_back_lanes_of(&mut self, origin: OriginId, now: Instant) {
        for lane in std::mem::take(&mut self.origins.get_mut(origin).aside) {
            self.put_back(lane, now);
        }
    }

    /// Whether the next entry of a host waits for its pause rather than its gap.
    #[must_use]
    pub fn host_hold(&self, name: &str, now: Instant) -> Option<(Instant, Hold)> {
        match self.host(name)?.may_start(now) {
            Verdict::At(at, hold) => Some((at, hold)),
            _ => None,
        }
    }
}
