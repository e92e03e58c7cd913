//! [`Engine`]: the crawl as a state machine. It takes `now`, does no I/O and
//! runs no user code. Keeps: every start passes [`poll`](Engine::poll), and
//! every URL is in exactly one place.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use url::{Position, Url};

use super::job::{JobId, Why};
use super::origins::{OriginRules, OriginTable, ROBOTS_LIFETIME, RobotsState};
use super::stats::{Bound, ParkReason, Parked, RunEnd, Stats, Waiting};
use super::tags::Tags;
use crate::admission::{Admission, SkipReason};
use crate::error::Error;
use crate::frontier::{
    Candidate, Delayed, Entry, Kind, LaneId, OriginId, Readiness, Schedule, Seen, TagId, Variants,
};
use crate::ledger::{Change, End, Ended, Queued, Totals};
use crate::policy::Policy;
use crate::politeness::{Breaker, Host, HostId, HostTable, Limiter, Pacer, Pauses, Trip, Verdict};
use crate::request::Request;
use crate::uri;

/// What the engine is told besides the policy.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// In which order queued requests are taken.
    pub order: crate::frontier::Order,
    /// Whether robots.txt is asked for and obeyed.
    pub obey_robots: bool,
    /// Whether the scope takes in the host that a seed lands on.
    pub seeds_widen_scope: bool,
    /// The most queries that one path may be asked with.
    pub max_query_variants: u32,
    /// Whether changes are kept for a ledger.
    pub journal: bool,
    /// Where chance begins.
    pub seed: u64,
}

impl Default for EngineOptions {
    fn default() -> Self {
        EngineOptions {
            order: crate::frontier::Order::Fifo,
            obey_robots: true,
            seeds_widen_scope: true,
            max_query_variants: u32::MAX,
            journal: false,
            seed: 0,
        }
    }
}

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
    /// Hosts that seeds landed on.
    pub(super) landed: HashSet<Box<str>>,
    /// Lanes whose host has had as many pages as allowed.
    pub(super) full: HashMap<HostId, Vec<LaneId>>,
    pub(super) counts: Stats,
    /// URLs that earlier runs were done with.
    pub(super) done_before: u64,
    pub(super) started: Option<Instant>,
    pub(super) deadline: Option<Instant>,
    pub(super) stopped: Option<(Instant, RunEnd)>,
    /// Whether requests in flight have no time left after a stop.
    pub(super) abandoned: bool,
    pub(super) fatal: Option<Error>,
    pub(super) why: Option<Why>,
    pub(super) journal: Vec<Change>,
    pub(super) rng: fastrand::Rng,
}

impl Engine {
    /// An engine with nothing queued.
    #[must_use]
    pub fn new(policy: Arc<Policy>, options: EngineOptions) -> Self {
        Engine {
            schedule: Schedule::new(options.order),
            delayed: Delayed::default(),
            deep: HashMap::new(),
            seen: Seen::default(),
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
            landed: HashSet::new(),
            full: HashMap::new(),
            counts: Stats::default(),
            done_before: 0,
            started: None,
            deadline: None,
            stopped: None,
            abandoned: false,
            fatal: None,
            why: None,
            journal: Vec::new(),
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
        let hosts: Vec<HostId> = self.schedule.iter().map(|(lane, _)| lane.host).collect();
        for host in hosts {
            self.place(host, now);
        }
    }

    /// Lets a URL in that was found, or says why not. Claims it in the same
    /// step, so that it is queued once however many find it.
    pub fn push(&mut self, candidate: Candidate, now: Instant) -> Admission {
        let fingerprint = candidate.fingerprint;
        if self.seen.contains(fingerprint) {
            return self.found_again(&candidate, now);
        }
        self.seen.claim(fingerprint);
        self.counts.discovered += 1;
        if let Some(reason) = self.refusal(&candidate) {
            self.count_skip(reason);
            if reason == SkipReason::Depth {
                self.hold_deep(&candidate);
            }
            if self.options.journal {
                self.journal
                    .push(Change::Refused(Box::new(queued(candidate)), reason));
            }
            return Admission::Skipped(reason);
        }
        if let Some(path) = candidate.variant_of {
            self.variants.count(path, self.options.max_query_variants);
        }
        self.admit(candidate, now);
        Admission::Queued
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
        if candidate.foreign_host && !self.landed.contains(&*uri::host_key(candidate.url())) {
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
        self.deep.remove(&candidate.fingerprint);
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
        let homeless = self.settle(&candidate.request, candidate.fingerprint, &candidate);
        self.counts.queued += 1;
        self.enqueue(homeless, now);
        if self.options.journal {
            self.journal
                .push(Change::Queued(Box::new(queued(candidate))));
        }
    }

    fn hold_deep(&mut self, candidate: &Candidate) {
        let homeless = self.settle(&candidate.request, candidate.fingerprint, candidate);
        self.deep.insert(candidate.fingerprint, homeless);
    }

    fn settle(&mut self, request: &Request, fingerprint: u64, candidate: &Candidate) -> Homeless {
        let kind = Kind::from(candidate.purpose);
        let (origin, host) = self.locate(request);
        let tag = self.tags.id(request.tag());
        self.age += 1;
        let entry = Entry::new(request, fingerprint, kind, candidate.seed, self.age);
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
        }
        if self.hosts.wants_sweep() {
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
            Verdict::Busy | Verdict::Parked => Readiness::Later,
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

    /// Ends the run with an error. The first one stays.
    pub fn fail(&mut self, error: Error, now: Instant) {
        self.fatal.get_or_insert(error);
        self.stop(RunEnd::Error, now);
    }

    /// Whether the run is stopping.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.stopped.is_some()
    }

    /// The error that ended the run, if one did.
    pub fn take_fatal(&mut self) -> Option<Error> {
        self.fatal.take()
    }

    /// The changes since they were last taken, oldest first.
    pub fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.journal)
    }

    /// The sums of this run so far.
    #[must_use]
    pub fn totals(&self, now: Instant) -> Totals {
        Totals {
            requests: self.counts.requests,
            retried: self.counts.retried,
            unchanged: self.counts.unchanged,
            bytes: self.counts.bytes,
            elapsed: self.elapsed(now),
        }
    }

    fn elapsed(&self, now: Instant) -> Duration {
        self.started.map_or(Duration::ZERO, |started| {
            now.saturating_duration_since(started)
        })
    }

    /// How many changes are kept.
    #[must_use]
    pub fn changes(&self) -> usize {
        self.journal.len()
    }

    /// URLs that are queued or in flight.
    #[must_use]
    pub fn pending(&self) -> u64 {
        self.counts.queued + self.pages_in_flight()
    }

    /// URLs in flight: requests but for those of robots.txt.
    fn pages_in_flight(&self) -> u64 {
        (self.in_flight.len() - self.robots_in_flight) as u64
    }

    /// Requests in flight, those for robots.txt included.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// How many requests may be in flight at `now`.
    #[must_use]
    pub fn cap(&self, now: Instant) -> usize {
        self.limiter.cap(now)
    }

    /// What is known of a host, by its name.
    #[must_use]
    pub fn host(&self, name: &str) -> Option<&Host> {
        self.hosts.iter().find(|host| &*host.name == name)
    }

    /// Hosts that are known.
    #[must_use]
    pub fn hosts_known(&self) -> usize {
        self.hosts.len()
    }

    /// Everything queued, with its origin and tag, in no order.
    pub fn queue(&self) -> impl Iterator<Item = Request> + '_ {
        let in_lanes = self
            .schedule
            .iter()
            .map(|(lane, entry)| (lane.origin, lane.tag, entry));
        let held = self.delayed.iter().map(|h| (h.origin, h.tag, &h.entry));
        in_lanes
            .chain(held)
            .filter(|(_, _, entry)| !matches!(entry.kind, Kind::Robots { .. }))
            .map(|(origin, tag, entry)| {
                entry.request(&self.origins.get(origin).name, self.tags.name(tag))
            })
    }

    /// How the run goes at `now`.
    #[must_use]
    pub fn stats(&self, now: Instant) -> Stats {
        let mut stats = self.counts.clone();
        stats.in_flight = self.pages_in_flight();
        stats.cap = self.limiter.cap(now);
        stats.elapsed = self.started.map_or(Duration::ZERO, |started| {
            now.saturating_duration_since(started)
        });
        stats.waiting = self.why.map(|why| self.waiting(why));
        stats
    }

    fn waiting(&self, why: Why) -> Waiting {
        let host = |id| Arc::clone(&self.hosts.get(id).name);
        match why {
            Why::Rate => Waiting::Rate,
            Why::Gap(id) => Waiting::HostGap(host(id)),
            Why::Pause(id) => Waiting::HostPause(host(id)),
            Why::HostLimit => Waiting::HostLimit,
            Why::Tag(id) => Waiting::TagPause(self.tags.name(id).clone()),
            Why::Crawl => Waiting::CrawlPause,
            Why::Robots => Waiting::Robots,
            Why::Retry(id) => Waiting::RetryDelay(host(id)),
            Why::Cap => Waiting::Cap,
            Why::WarmUp => Waiting::WarmUp,
            Why::Nothing => Waiting::NothingQueued,
            Why::Stopping => Waiting::Stopping,
        }
    }

    /// Ends the run: says how it went, and lets go of URLs that stayed too deep.
    pub fn end_run(&mut self, now: Instant) -> Stats {
        let deep: Vec<Homeless> = {
            let mut deep: Vec<_> = std::mem::take(&mut self.deep).into_values().collect();
            deep.sort_by_key(|homeless| homeless.entry.age);
            deep
        };
        for homeless in deep {
            self.journal_skip(&homeless, SkipReason::Depth);
            self.release(homeless.origin);
        }
        self.why = None;
        let mut stats = self.stats(now);
        stats.parked = self.parked();
        stats.unmatched_host_rules = self
            .policy
            .hosts
            .iter()
            .zip(self.hosts.rule_used())
            .filter(|(_, used)| !**used)
            .map(|(rule, _)| rule.name.clone())
            .collect();
        stats.end = Some(self.run_end(&stats));
        stats
    }

    fn run_end(&self, stats: &Stats) -> RunEnd {
        let fetched_nothing = stats.pages == 0 && self.done_before == 0;
        match self.stopped {
            Some((_, end @ (RunEnd::Refused(_) | RunEnd::Error | RunEnd::Stopped))) => end,
            Some((_, end)) if stats.pending() > 0 => end,
            _ if fetched_nothing && stats.discovered > 0 => RunEnd::Nothing,
            _ if stats.pending() == 0 => RunEnd::Complete,
            _ if stats
                .parked
                .iter()
                .all(|parked| parked.reason == ParkReason::PageLimit) =>
            {
                RunEnd::Bound(Bound::PagesPerHost)
            }
            _ => RunEnd::HostsParked,
        }
    }

    fn parked(&self) -> Vec<Parked> {
        let mut parked: Vec<Parked> = self
            .hosts
            .iter()
            .filter(|host| host.parked())
            .map(|host| Parked {
                host: Arc::clone(&host.name),
                reason: ParkReason::Failures(host.failures()),
            })
            .collect();
        let unreachable = |origin: &&super::origins::Origin| {
            matches!(origin.robots, RobotsState::GivenUp) && origin.refs > 0
        };
        parked.extend(
            self.origins
                .iter()
                .filter(unreachable)
                .map(|origin| Parked {
                    host: Arc::clone(&self.hosts.get(origin.host).name),
                    reason: ParkReason::RobotsUnreachable,
                }),
        );
        parked.extend(self.full.keys().map(|host| Parked {
            host: Arc::clone(&self.hosts.get(*host).name),
            reason: ParkReason::PageLimit,
        }));
        parked.sort_by(|a, b| a.host.cmp(&b.host));
        parked.dedup_by(|a, b| a.host == b.host);
        parked
    }

    /// Which stop rule ended the run, if one did.
    #[must_use]
    pub fn tripped(&self) -> Option<Trip> {
        match self.stopped {
            Some((_, RunEnd::Refused(trip))) => Some(trip),
            _ => None,
        }
    }

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
        self.origins.get_mut(origin).robots = RobotsState::Known { rules, until };
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
        let homeless = self.settle(&candidate.request, candidate.fingerprint, candidate);
        match not_before.filter(|at| *at > now) {
            Some(at) => self.delayed.push(at, homeless),
            None => self.enqueue(homeless, now),
        }
    }

    /// Notes that an entry no longer refers to its origin.
    pub(super) fn release(&mut self, origin: OriginId) {
        self.origins.get_mut(origin).refs -= 1;
    }

    pub(super) fn journal_skip(&mut self, homeless: &Homeless, reason: SkipReason) {
        if !self.options.journal {
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
            depth: homeless.entry.depth,
            page: None,
            records: Vec::new(),
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
