//! [`Engine`]: the crawl as a state machine. It takes `now`, does no I/O and
//! runs no user code. Keeps: every start passes [`poll`](Engine::poll), and
//! every URL is in exactly one place.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use url::{Position, Url};

use super::again::Again;
use super::backlog::Backlog;
use super::job::{JobId, Why};
use super::options::{EngineOptions, Keeping};
use super::origins::{OriginTable, RobotsState};
use super::stats::{RunEnd, Stats};
use super::tags::Tags;
use crate::admission::{Admission, SkipReason};
use crate::error::Error;
use crate::frontier::{
    Candidate, Delayed, Entry, Kind, LaneId, OriginId, Readiness, Schedule, Seen, TagId, Variants,
};
use crate::ledger::{Change, End, Ended, Queued};
use crate::policy::Policy;
use crate::politeness::{Breaker, HostId, HostTable, Limiter, Pacer, Pauses, Verdict};
use crate::request::Request;
use crate::uri;

/// A request in flight.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) origin: OriginId,
    pub(super) host: HostId,
    pub(super) tag: TagId,
    pub(super) started: Instant,
    /// The URL as text, once the worker has told it.
    pub(super) url: String,
    pub(super) entry: Entry,
}

/// An entry outside its lane, with what the lane held.
#[derive(Debug)]
pub(super) struct Homeless {
    pub(super) origin: OriginId,
    pub(super) host: HostId,
    pub(super) tag: TagId,
    pub(super) entry: Entry,
}

impl Flight {
    /// Its entry, to be queued again.
    pub(super) fn into_homeless(self) -> Homeless {
        Homeless {
            origin: self.origin,
            host: self.host,
            tag: self.tag,
            entry: self.entry,
        }
    }
}

/// The crawl as a state machine.
#[derive(Debug)]
pub struct Engine {
    pub(super) policy: Arc<Policy>,
    pub(super) options: EngineOptions,
    pub(super) schedule: Schedule,
    pub(super) delayed: Delayed<Homeless>,
    /// URLs beyond the depth limit, in case a shorter way to them is found.
    pub(super) deep: HashMap<u64, Homeless>,
    pub(super) seen: Seen,
    pub(super) again: Again,
    /// URLs that nothing but redirects have led to, if a state is kept.
    pub(super) only_led_to: Seen,
    pub(super) variants: Variants,
    pub(super) hosts: HostTable,
    pub(super) origins: OriginTable,
    pub(super) tags: Tags,
    pub(super) tag_pauses: Pauses<TagId>,
    pub(super) crawl_pause: Option<Instant>,
    pub(super) pacer: Pacer,
    pub(super) limiter: Limiter,
    pub(super) breaker: Breaker,
    pub(super) in_flight: HashMap<JobId, Flight>,
    /// Jobs in flight that ask for a robots.txt.
    pub(super) robots_in_flight: usize,
    pub(super) next_job: JobId,
    pub(super) age: u64,
    /// The age of the request whose place the next one takes, if it does.
    pub(super) in_place_of: Option<u64>,
    /// Hosts that seeds landed on.
    pub(super) landed: HashSet<Box<str>>,
    /// Lanes whose host has had as many pages as allowed.
    pub(super) full: HashMap<HostId, Vec<LaneId>>,
    pub(super) counts: Stats,
    /// URLs that earlier runs were done with.
    pub(super) done_before: u64,
    pub(super) started: Option<Instant>,
    /// When a request was last started.
    pub(super) last_start: Option<Instant>,
    pub(super) deadline: Option<Instant>,
    pub(super) stopped: Option<(Instant, RunEnd)>,
    /// Whether requests in flight have no time left after a stop.
    pub(super) abandoned: bool,
    pub(super) fatal: Option<Error>,
    pub(super) why: Option<Why>,
    pub(super) journal: Backlog,
    pub(super) rng: fastrand::Rng,
}

impl Engine {
    /// An engine with nothing queued.
    #[must_use]
    pub fn new(policy: Arc<Policy>, options: EngineOptions) -> Self {
        Engine {
            schedule: Schedule::new(options.order, options.chunk_bytes, options.put_away_over),
            delayed: Delayed::default(),
            deep: HashMap::new(),
            seen: Seen::default(),
            again: Again::default(),
            only_led_to: Seen::default(),
            variants: Variants::default(),
            hosts: HostTable::new(&policy),
            origins: OriginTable::new(),
            tags: Tags::default(),
            tag_pauses: Pauses::default(),
            crawl_pause: None,
            pacer: Pacer::new(policy.interval(), policy.burst),
            limiter: Limiter::new(&policy),
            breaker: Breaker::new(&policy),
            in_flight: HashMap::new(),
            robots_in_flight: 0,
            next_job: 0,
            age: 0,
            in_place_of: None,
            landed: HashSet::new(),
            full: HashMap::new(),
            counts: Stats::default(),
            done_before: 0,
            started: None,
            last_start: None,
            deadline: None,
            stopped: None,
            abandoned: false,
            fatal: None,
            why: None,
            journal: Backlog::default(),
            rng: fastrand::Rng::with_seed(options.seed),
            policy,
            options,
        }
    }

    /// Begins a run: the deadline and the warm-up count from here, hosts that
    /// were parked get another chance, and the run's counts start afresh.
    pub fn begin_run(&mut self, now: Instant) {
        debug_assert!(self.in_flight.is_empty(), "one run at a time");
        self.started = Some(now);
        self.deadline = self.policy.deadline.map(|after| now + after);
        self.stopped = None;
        self.abandoned = false;
        self.fatal = None;
        self.limiter = Limiter::new(&self.policy);
        self.limiter.start(now);
        self.breaker = Breaker::new(&self.policy);
        self.hosts.new_run();
        self.tags.new_run();
        self.again.begin_run();
        // Retries are counted within a run.
        self.schedule.update_tried(|entry| entry.attempt = 1);
        self.delayed.update(|homeless| homeless.entry.attempt = 1);
        let full = std::mem::take(&mut self.full);
        let aside = self.origins.iter_mut().flat_map(|origin| {
            if matches!(origin.robots, RobotsState::GivenUp) {
                origin.robots = RobotsState::Unknown;
            }
            std::mem::take(&mut origin.aside)
        });
        let lanes: Vec<LaneId> = full.into_values().flatten().chain(aside).collect();
        for lane in lanes {
            self.put_back(lane, now);
        }
        let queued = self.counts.queued;
        self.counts = Stats {
            queued,
            discovered: queued,
            ..Stats::default()
        };
        let hosts: Vec<HostId> = self.schedule.lanes().map(|lane| lane.host).collect();
        for host in hosts {
            self.place(host, now);
        }
    }

    /// Lets a URL in that was found, or says why not. Claims it in the same
    /// step, so that it is queued once however many find it.
    pub fn push(&mut self, candidate: Candidate, now: Instant) -> Admission {
        let fingerprint = candidate.fingerprint;
        if !self.is_new(&candidate) {
            self.note_way(&candidate, false);
            return self.found_again(&candidate, now);
        }
        self.again.ask(&candidate);
        let first = self.seen.claim(fingerprint);
        if first || candidate.request.hops().is_empty() {
            self.note_way(&candidate, true);
        }
        self.counts.discovered += 1;
        if let Some(reason) = self.refusal(&candidate) {
            self.count_skip(reason);
            if reason == SkipReason::Depth {
                self.hold_deep(&candidate);
            }
            if self.options.journal >= Keeping::Ends {
                self.journal
                    .push(Change::Refused(Box::new(queued(candidate)), reason));
            }
            return Admission::Skipped(reason);
        }
        if let Some(path) = candidate.variant_of {
            let limit = self.options.max_query_variants;
            self.variants.count_named(path, limit, candidate.url());
        }
        self.admit(candidate, now);
        Admission::Queued
    }

    /// The delay before the retry that follows attempt `attempt`.
    pub(super) fn retry_delay(&mut self, attempt: u32) -> Duration {
        self.policy.retry.delay_before(attempt, self.rng.f64())
    }

    /// What [`push`](Self::push) would say now.
    #[must_use]
    pub fn preview(&self, candidate: &Candidate) -> Admission {
        if let Some(held) = self.deep.get(&candidate.fingerprint)
            && !candidate.too_deep
        {
            debug_assert!(held.entry.fingerprint == candidate.fingerprint);
            return Admission::Queued;
        }
        if self.seen.contains(candidate.fingerprint) {
            return Admission::Duplicate;
        }
        if let Some(reason) = self.refusal(candidate) {
            return Admission::Skipped(reason);
        }
        let url = candidate.url();
        if let Some(id) = self.origins.find(&origin_name(url))
            && let RobotsState::Known { rules, .. } = &self.origins.get(id).robots
            && !rules
                .rules
                .allows(&url[Position::BeforePath..Position::AfterQuery])
        {
            return Admission::Skipped(SkipReason::Robots);
        }
        Admission::Queued
    }

    /// Why a URL is not let in, if it is not.
    fn refusal(&self, candidate: &Candidate) -> Option<SkipReason> {
        if candidate.refusal.is_some() {
            return candidate.refusal;
        }
        // Where a seed is redirected to is not in the scope, but on the way.
        let on_the_way = candidate.seed && self.options.seeds_widen_scope;
        if candidate.foreign_host
            && !on_the_way
            && !self.landed.contains(&*uri::host_key(candidate.url()))
        {
            return Some(SkipReason::Scope);
        }
        if self
            .tags
            .known(candidate.request.tag())
            .is_some_and(|tag| self.tags.is_aborted(tag))
        {
            return Some(SkipReason::Aborted);
        }
        if let Some(path) = candidate.variant_of
            && !self.variants.allows(path, self.options.max_query_variants)
        {
            return Some(SkipReason::TrapVariants);
        }
        candidate.too_deep.then_some(SkipReason::Depth)
    }

    /// A URL that was seen before: a duplicate, unless it was too deep then
    /// and is not now.
    fn found_again(&mut self, candidate: &Candidate, now: Instant) -> Admission {
        if candidate.too_deep || !self.deep.contains_key(&candidate.fingerprint) {
            return Admission::Duplicate;
        }
        if let Some(reason) = self.refusal(candidate) {
            return Admission::Skipped(reason);
        }
        if let Some(held) = self.deep.remove(&candidate.fingerprint) {
            self.release(held.origin);
        }
        if let Some(path) = candidate.variant_of {
            self.variants.count(path, self.options.max_query_variants);
        }
        self.counts.skipped -= 1;
        if let Some(count) = self.counts.skipped_by_reason.get_mut(&SkipReason::Depth) {
            *count -= 1;
        }
        self.counts.skipped_by_reason.retain(|_, count| *count > 0);
        self.admit(candidate.clone(), now);
        Admission::Queued
    }

    /// Queues a URL that is let in.
    fn admit(&mut self, candidate: Candidate, now: Instant) {
        let homeless = self.settle(&candidate);
        self.counts.queued += 1;
        self.enqueue(homeless, now);
        if self.options.journal == Keeping::Everything {
            self.journal
                .push(Change::Queued(Box::new(queued(candidate))));
        }
    }

    fn hold_deep(&mut self, candidate: &Candidate) {
        let homeless = self.settle(candidate);
        self.deep.insert(candidate.fingerprint, homeless);
    }

    /// The entry of a candidate, with the places it belongs to.
    pub(super) fn settle(&mut self, candidate: &Candidate) -> Homeless {
        let request = &candidate.request;
        let kind = Kind::from(candidate.purpose);
        let (origin, host) = self.locate(request);
        let tag = self.tags.id(request.tag());
        let age = self.in_place_of.take().unwrap_or_else(|| {
            self.age += 1;
            self.age
        });
        let entry = Entry::new(request, candidate.fingerprint, kind, candidate.seed, age);
        Homeless {
            origin,
            host,
            tag,
            entry,
        }
    }

    /// The origin and host of a request, made known if they were not. Counts
    /// the reference that is about to be made.
    pub(super) fn locate(&mut self, request: &Request) -> (OriginId, HostId) {
        let url = request.url();
        let name = origin_name(url);
        let (origin, host) = if let Some(id) = self.origins.find(&name) {
            (id, self.origins.get(id).host)
        } else {
            let host = self.hosts.find_or_add(&uri::host_key(url), &self.policy);
            self.hosts.get_mut(host).refs += 1;
            (self.origins.add(&name, host), host)
        };
        self.origins.get_mut(origin).refs += 1;
        (origin, host)
    }

    /// Forgets hosts and origins that are idle, when there are many.
    pub(super) fn sweep(&mut self, now: Instant) {
        if self.origins.wants_sweep() {
            for host in self.origins.sweep() {
                self.hosts.get_mut(host).refs -= 1;
            }
            // Hosts that only those origins referred to.
            self.hosts.sweep(now);
        } else if self.hosts.wants_sweep() {
            self.hosts.sweep(now);
        }
    }

    /// Puts an entry into its lane.
    pub(super) fn enqueue(&mut self, homeless: Homeless, now: Instant) {
        let Homeless {
            origin,
            host,
            tag,
            entry,
        } = homeless;
        let exempt = matches!(entry.kind, Kind::Robots { .. });
        if self.schedule.push(origin, host, tag, exempt, entry) {
            self.place(host, now);
        }
    }

    /// Puts a host in line as politeness says.
    pub(super) fn place(&mut self, host: HostId, now: Instant) {
        if !self.schedule.has_lanes(host) {
            self.schedule.place(host, Readiness::Later);
            return;
        }
        let readiness = match self.hosts.get(host).may_start(now) {
            Verdict::Now => Readiness::Now,
            Verdict::At(at, _) => Readiness::At(at),
            Verdict::Busy => Readiness::Busy,
            Verdict::Parked => Readiness::Later,
        };
        self.schedule.place(host, readiness);
    }

    pub(super) fn put_back(&mut self, lane: LaneId, now: Instant) {
        if let Some(host) = self.schedule.put_back(lane) {
            self.place(host, now);
        }
    }

    pub(super) fn count_skip(&mut self, reason: SkipReason) {
        self.counts.skipped += 1;
        *self.counts.skipped_by_reason.entry(reason).or_default() += 1;
    }

    /// Stops the run: nothing new starts. The first reason stays.
    pub fn stop(&mut self, end: RunEnd, now: Instant) {
        self.stopped.get_or_insert((now, end));
    }

    /// Stops the run, and gives requests in flight no time to end.
    pub fn abandon(&mut self, end: RunEnd, now: Instant) {
        self.stop(end, now);
        self.abandoned = true;
    }

    /// Ends the run with an error. The first one stays, and an error weighs
    /// more than whatever the run was stopping for.
    pub fn fail(&mut self, error: Error, now: Instant) {
        self.fatal.get_or_insert(error);
        let since = self.stopped.map_or(now, |(since, _)| since);
        self.stopped = Some((since, RunEnd::Error));
    }

    /// Notes that an entry no longer refers to its origin.
    pub(super) fn release(&mut self, origin: OriginId) {
        self.origins.get_mut(origin).refs -= 1;
    }

    pub(super) fn journal_skip(&mut self, homeless: &Homeless, reason: SkipReason) {
        if self.options.journal < Keeping::Ends {
            return;
        }
        let Some(purpose) = homeless.entry.kind.purpose() else {
            return;
        };
        let origin = &self.origins.get(homeless.origin).name;
        self.journal.push(Change::Ended(Box::new(Ended {
            fingerprint: homeless.entry.fingerprint,
            url: format!("{origin}{}", homeless.entry.path),
            purpose,
            end: End::Skipped(reason),
            status: None,
            attempts: homeless.entry.attempt - 1,
            to: None,
            message: None,
            referrer: None,
            depth: homeless.entry.depth,
            page: None,
            records: Vec::new(),
            beside: Vec::new(),
        })));
    }
}

/// The origin of a URL as it stands before the path. Borrowed from the URL
/// unless that carries a user's name.
fn origin_name(url: &Url) -> Cow<'_, str> {
    if url.username().is_empty() && url.password().is_none() {
        Cow::Borrowed(&url[..Position::BeforePath])
    } else {
        Cow::Owned(uri::origin(url))
    }
}

/// A candidate as the ledger keeps it.
fn queued(candidate: Candidate) -> Queued {
    Queued {
        fingerprint: candidate.fingerprint,
        request: candidate.request,
        seed: candidate.seed,
        purpose: candidate.purpose,
    }
}
