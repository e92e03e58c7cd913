//! [`Model`]: an independent account of a crawl, written from the design and
//! never from the engine. It looks on and does the sums again after every
//! event. Keeps: whatever it finds wrong names the invariant in «these marks».

/// Fails with the name of the invariant that is broken.
macro_rules! violated {
    ($invariant:literal, $($text:tt)*) => {
        panic!("«{}» {}", $invariant, format_args!($($text)*))
    };
}

mod answers;
mod ends;
mod hosts;
mod journal;
mod pace;
mod starts;
mod urls;
mod waits;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use std::time::Instant;

use canter::crawler::{Engine, Job, JobId, Poll};
use canter::frontier::Candidate;
use canter::ledger::Change;
use canter::{Admission, Policy, Request, Stats, Tag};

use crate::drive::{Answer, Ended, Watch};
use crate::plan::Plan;
use answers::Rules;
use hosts::{Host, HostId, OriginId};
use pace::{Bucket, Cap, StopRules};
use urls::{Counts, Record, UrlId};

/// Above so many URLs the sums are compared with the engine's now and then
/// only, since the engine copies them for it.
const COMPARED_ALWAYS: usize = 1000;
/// How often they are then.
const COMPARED_EACH: u64 = 64;

/// What is known of an origin's robots.txt.
#[derive(Debug, Clone, PartialEq)]
enum Robots {
    Unknown,
    Asked(Asked),
    Known {
        rules: Rules,
        until: Instant,
        used: bool,
    },
    GivenUp,
}

/// A request for a robots.txt that was made and has not ended for good.
#[derive(Debug, Clone, PartialEq)]
struct Asked {
    url: String,
    host: HostId,
    attempt: u32,
    place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Queued,
    Delayed(Instant),
    Flying,
}

#[derive(Debug)]
struct Origin {
    name: String,
    host: HostId,
    robots: Robots,
    /// Its URLs that are queued or delayed.
    queued: usize,
}

#[derive(Debug, Default)]
struct TagRecord {
    paused: Option<Instant>,
    aborted: bool,
}

/// What waits for an instant of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Url(UrlId),
    Robots(OriginId),
}

#[derive(Debug)]
struct Flight {
    started: Instant,
    host: HostId,
    item: Item,
}

/// Why the run is stopping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    Deadline,
    Requests,
    Rule,
    Asked,
    Error,
}

/// An independent account of a crawl.
pub(crate) struct Model {
    plan: Rc<Plan>,
    base: Instant,
    records: Vec<Record>,
    by_url: HashMap<String, UrlId>,
    hosts: Vec<Host>,
    by_host: HashMap<String, HostId>,
    origins: Vec<Origin>,
    by_origin: HashMap<String, OriginId>,
    tags: HashMap<Tag, TagRecord>,
    flights: HashMap<JobId, Flight>,
    delayed: BTreeSet<(Instant, Item)>,
    /// Hosts by the instant at which something could start on them.
    open: BTreeSet<(Instant, HostId)>,
    /// URLs that were too deep, in this run.
    deep: HashSet<UrlId>,
    landed: HashSet<String>,
    bucket: Bucket,
    cap: Cap,
    rules: StopRules,
    crawl_pause: Option<Instant>,
    deadline: Option<Instant>,
    stopped: Option<(Instant, Stop)>,
    counts: Counts,
    events: u64,
}

impl Model {
    pub(crate) fn new(plan: Rc<Plan>, base: Instant) -> Self {
        let policy = &plan.policy;
        Model {
            base,
            records: Vec::new(),
            by_url: HashMap::new(),
            hosts: Vec::new(),
            by_host: HashMap::new(),
            origins: Vec::new(),
            by_origin: HashMap::new(),
            tags: HashMap::new(),
            flights: HashMap::new(),
            delayed: BTreeSet::new(),
            open: BTreeSet::new(),
            deep: HashSet::new(),
            landed: HashSet::new(),
            bucket: Bucket::new(policy),
            cap: Cap::new(policy, base),
            rules: StopRules::new(policy),
            crawl_pause: None,
            deadline: None,
            stopped: None,
            counts: Counts::default(),
            events: 0,
            plan,
        }
    }

    /// Counts time from the driver's beginning.
    pub(crate) fn set_base(&mut self, base: Instant) {
        self.base = base;
    }

    fn policy(&self) -> &Policy {
        &self.plan.policy
    }

    /// Stops the run. The first reason stays, but an error weighs more.
    fn stop(&mut self, at: Instant, why: Stop) {
        match &mut self.stopped {
            None => self.stopped = Some((at, why)),
            Some((_, stop)) if why == Stop::Error => *stop = why,
            Some(_) => {}
        }
    }

    /// Stops the run if one of its bounds is reached.
    fn heed_bounds(&mut self, at: Instant) {
        if self.deadline.is_some_and(|deadline| at >= deadline) {
            self.stop(at, Stop::Deadline);
        }
        let spent = self
            .policy()
            .max_requests
            .is_some_and(|max| self.counts.requests >= max);
        let asks = |origin: &Origin| matches!(&origin.robots, Robots::Asked(asked) if asked.place != Place::Flying);
        if spent && (self.counts.queued > 0 || self.origins.iter().any(asks)) {
            self.stop(at, Stop::Requests);
        }
    }

    fn compare(&mut self, at: Instant, engine: &Engine) {
        self.events += 1;
        if self.records.len() <= COMPARED_ALWAYS || self.events.is_multiple_of(COMPARED_EACH) {
            self.counts.compare(&engine.stats(at), self.flying());
        }
    }
}

impl Watch for Model {
    fn begun(&mut self, at: Instant) {
        self.begin_run(at);
    }

    fn pushed(&mut self, at: Instant, candidate: &Candidate, admission: Admission) {
        let expected = self.push(candidate, at);
        if admission != expected {
            violated!(
                "scope",
                "{}: {admission:?}, not {expected:?}",
                candidate.url()
            );
        }
    }

    fn started(&mut self, at: Instant, job: &Job, request: &Request, _answer: &Answer) {
        self.start(at, job, request);
    }

    fn ended(&mut self, at: Instant, ended: &Ended<'_>, engine: &Engine) {
        self.end(at, ended);
        self.compare(at, engine);
    }

    fn waited(&mut self, at: Instant, poll: &Poll, _free: usize, engine: &Engine) {
        self.heed_bounds(at);
        self.check_wait(at, poll, engine);
        self.compare(at, engine);
    }

    fn changed(&mut self, at: Instant, change: &Change) {
        self.read_journal(at, change);
    }

    fn stopped(&mut self, at: Instant) {
        self.stop(at, Stop::Asked);
    }

    fn over(&mut self, at: Instant, stats: &Stats, queue: &[Request]) {
        self.end_run(at, stats, queue);
    }
}
