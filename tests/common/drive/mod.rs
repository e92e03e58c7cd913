//! [`Driver`]: whole crawls over the pure engine in virtual time. No threads,
//! no sleep, no socket: instants are one base plus durations, and the workers
//! are counted, not started. Keeps: the engine is asked in the order in which
//! a pool of threads would ask it, one event at a time, so that a trace is the
//! same on every machine and in every run.

#![allow(
    dead_code,
    unused_imports,
    reason = "each test binary uses its own part of these helpers"
)]

mod admit;
mod answer;
mod disk;
mod trace;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use canter::crawler::{
    Done, Engine, EngineOptions, Finished, Job, JobId, OriginRules, Outlook, Poll, Report,
    RobotsAnswer, Then,
};
use canter::frontier::{Candidate, Kind, TrapLimits};
use canter::robots::Robots;
use canter::{
    Error, ErrorKind, Method, Policy, Purpose, Request, RunEnd, Scope, Stats, Tag, TagScope, http,
    uri,
};

pub(crate) use admit::Admit;
pub(crate) use answer::{Answer, Handled, Link, Site, World};
pub(crate) use trace::{Ended, Trace, Watch};

use admit::hop;

/// The name by which robots.txt files speak of the crawler.
const AGENT: &str = "canter";
/// Redirects of a robots.txt that are followed.
const ROBOTS_HOPS: usize = 5;
/// The wall clock when virtual time begins, after 1970: 2023-11-14, 22:13:20 UTC.
pub(crate) const WALL_EPOCH: Duration = Duration::from_secs(1_700_000_000);
/// More events than any scripted crawl has: one that gets here never ends.
const MAX_EVENTS: u64 = 20_000_000;

/// A job in flight.
struct Flight {
    request: Request,
    kind: Kind,
    seed: bool,
    answer: Answer,
}

/// An engine, what answers it, and what looks on.
pub(crate) struct Driver<W = Site, S = Trace> {
    pub(crate) engine: Engine,
    pub(crate) world: W,
    pub(crate) watch: S,
    pub(crate) admit: Admit,
    pub(crate) policy: Arc<Policy>,
    base: Instant,
    now: Instant,
    flights: HashMap<JobId, Flight>,
    ends: BinaryHeap<Reverse<(Instant, JobId)>>,
    /// Workers that rest between two requests.
    rests: BinaryHeap<Reverse<Instant>>,
    free: usize,
    rng: fastrand::Rng,
    pub(crate) disk: disk::Disk,
    stop_at: Option<Instant>,
    events: u64,
    /// A crawl with more events than this never ends.
    pub(crate) max_events: u64,
}

impl Driver<Site, Trace> {
    /// A crawl of a scripted site, without robots.txt, in the scope of `*`.
    pub(crate) fn new(policy: Policy, site: Site) -> Self {
        let options = EngineOptions {
            obey_robots: false,
            ..EngineOptions::default()
        };
        Driver::with(policy, options, site, Trace::default()).scope(&["*"])
    }

    /// The same, obeying robots.txt.
    pub(crate) fn obeying(policy: Policy, site: Site) -> Self {
        Driver::with(policy, EngineOptions::default(), site, Trace::default()).scope(&["*"])
    }

    /// Runs, and says how it went.
    pub(crate) fn run(&mut self) -> Stats {
        self.watch.begin(self.base);
        self.drive()
    }
}

impl<W: World, S: Watch> Driver<W, S> {
    pub(crate) fn with(policy: Policy, options: EngineOptions, world: W, watch: S) -> Self {
        let policy = Arc::new(policy);
        let base = Instant::now();
        let seed = options.seed;
        Driver {
            engine: Engine::new(Arc::clone(&policy), options),
            world,
            watch,
            admit: Admit {
                scope: Scope::default(),
                traps: TrapLimits::default(),
                max_depth: None,
            },
            base,
            now: base,
            flights: HashMap::new(),
            ends: BinaryHeap::new(),
            rests: BinaryHeap::new(),
            free: policy.concurrency,
            rng: fastrand::Rng::with_seed(seed),
            disk: disk::Disk::new(seed),
            stop_at: None,
            events: 0,
            max_events: MAX_EVENTS,
            policy,
        }
    }

    pub(crate) fn scope(mut self, hosts: &[&str]) -> Self {
        self.admit.scope = Scope::builder()
            .hosts(hosts.iter().copied())
            .build()
            .expect("valid patterns");
        self
    }

    /// The scope is the hosts of the seeds.
    pub(crate) fn scope_of_seeds(mut self) -> Self {
        self.admit.scope = Scope::default();
        self
    }

    pub(crate) fn max_depth(mut self, max: u32) -> Self {
        self.admit.max_depth = Some(max);
        self
    }

    /// Stops the run at a time after the beginning, as a stop handle does.
    pub(crate) fn stop_at(mut self, at: Duration) -> Self {
        self.stop_at = Some(self.base + at);
        self
    }

    pub(crate) fn seed(mut self, url: &str) -> Self {
        self.push_seed(Request::get(url).expect(url));
        self
    }

    pub(crate) fn seeds(self, urls: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        urls.into_iter()
            .fold(self, |driver, url| driver.seed(url.as_ref()))
    }

    pub(crate) fn push_seed(&mut self, request: Request) {
        self.admit.scope.add_seed(request.url());
        let candidate = self.admit.seed(request);
        let admission = self.engine.push(candidate.clone(), self.now);
        self.watch.pushed(self.now, &candidate, admission);
        self.show_changes();
    }

    fn show_changes(&mut self) {
        if self.engine.backlog() > 0 {
            for change in self.engine.take_changes() {
                self.watch.changed(self.now, &change);
            }
        }
    }

    /// How long time has gone on.
    pub(crate) fn elapsed(&self) -> Duration {
        self.now - self.base
    }

    /// How many events there were.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    pub(crate) fn base(&self) -> Instant {
        self.base
    }

    /// Lets time pass between two runs.
    pub(crate) fn pass(&mut self, time: Duration) {
        self.now += time;
    }

    /// Drives one run to its end.
    pub(crate) fn drive(&mut self) -> Stats {
        self.engine.begin_run(self.now);
        self.watch.begun(self.now);
        self.free = self.policy.concurrency;
        loop {
            let wake = match self.ask() {
                Asked::Over => break,
                Asked::Wait(at) => Some(at),
                Asked::Event => None,
            };
            self.step(wake);
            self.events += 1;
            assert!(
                self.events < self.max_events,
                "«end» the crawl does not end"
            );
        }
        // Answers that come after the end change nothing.
        let before = self.engine.stats(self.now);
        for id in std::mem::take(&mut self.ends)
            .into_iter()
            .map(|Reverse((_, id))| id)
        {
            let flight = self
                .flights
                .remove(&id)
                .expect("an end belongs to a flight");
            let (report, _) = self.report(id, &flight);
            assert_eq!(self.engine.finish(report, self.now), None);
        }
        assert_eq!(self.engine.stats(self.now), before);
        self.disk.read(&mut self.engine, self.now);
        self.rests.clear();
        let stats = self.engine.end_run(self.now);
        self.show_changes();
        assert!(stats.adds_up(), "«conservation» {stats:?}");
        let queue = self.engine.queue(|id| self.disk.stored(id));
        self.watch.over(self.now, &stats, &queue);
        stats
    }

    /// Asks the engine until it has nothing more to start, as free workers do.
    fn ask(&mut self) -> Asked {
        loop {
            if self.engine.is_stopping() {
                self.free += self.rests.len();
                self.rests.clear();
            } else if self.free == 0 && !self.rests.is_empty() {
                return Asked::Event;
            }
            // With every worker at work the cap keeps anything from starting,
            // and the answer says until when to wait for a deadline or a grace
            // period: the pool's caller looks at those.
            let outlook = self.engine.outlook(self.now);
            let poll = self.engine.poll(self.now);
            self.check_outlook(outlook, &poll);
            self.show_changes();
            match poll {
                Poll::Start(job) => self.start(&job),
                Poll::Load(chunks) => self.disk.want(chunks, &mut self.engine, self.now),
                // A worker that reads comes back before time goes on.
                _ if self.disk.read(&mut self.engine, self.now) => {}
                Poll::Done => return Asked::Over,
                Poll::Wait(at, _) => {
                    assert!(
                        at > self.now,
                        "«wake» a wait of no time keeps a thread spinning: {poll:?}"
                    );
                    self.watch.waited(self.now, &poll, self.free, &self.engine);
                    return Asked::Wait(at);
                }
                Poll::Idle(_) => {
                    assert!(
                        self.engine.in_flight() > 0,
                        "«end» nobody would ever ask again: {poll:?}"
                    );
                    self.watch.waited(self.now, &poll, self.free, &self.engine);
                    return Asked::Event;
                }
            }
        }
    }

    /// A pool wakes a thread by the outlook: it must not be later than what a
    /// poll finds.
    fn check_outlook(&self, outlook: Outlook, poll: &Poll) {
        let in_time = match (poll, outlook) {
            // Reading ahead may come before its time.
            (_, Outlook::Now) | (Poll::Idle(_) | Poll::Done | Poll::Load(_), _) => true,
            (Poll::Start(_), _) => false,
            // Whoever waits for these ends looks at the alarm.
            (Poll::Wait(at, _), _) if self.engine.alarm() == Some(*at) => true,
            (Poll::Wait(at, _), Outlook::At(seen)) => seen <= *at,
            (Poll::Wait(..), Outlook::Never) => false,
        };
        assert!(in_time, "«outlook» {outlook:?} is too late for {poll:?}");
    }

    fn start(&mut self, job: &Job) {
        assert!(self.free > 0, "a job without a worker");
        self.free -= 1;
        let request = job.request();
        let kind = job.kind();
        let robots = matches!(kind, Kind::Robots { .. });
        let answer = self.world.answer(&request, robots, self.now - self.base);
        self.watch.started(self.now, job, &request, &answer);
        self.ends.push(Reverse((self.now + answer.latency, job.id)));
        let seed = job.entry.seed;
        self.flights.insert(
            job.id,
            Flight {
                request,
                kind,
                seed,
                answer,
            },
        );
    }

    /// Goes on to the next event, or to `wake` if nothing happens before it.
    fn step(&mut self, wake: Option<Instant>) {
        let end = self.ends.peek().map(|Reverse((at, _))| *at);
        let rest = self.rests.peek().map(|Reverse(at)| *at);
        self.disk.write(&mut self.engine);
        let stop = self.stop_at.filter(|_| !self.engine.is_stopping());
        let next = [stop, end, rest, wake].into_iter().flatten().min();
        let next = next.expect("something is in flight, or a wait has an end");
        self.now = self.now.max(next);
        if stop.is_some_and(|at| at <= self.now) {
            self.stop_at = None;
            self.engine.stop(RunEnd::Stopped, self.now);
            self.watch.stopped(self.now);
        } else if end == Some(next) {
            let Some(Reverse((_, id))) = self.ends.pop() else {
                return;
            };
            let flight = self
                .flights
                .remove(&id)
                .expect("an end belongs to a flight");
            self.end(id, &flight);
        } else if rest == Some(next) {
            self.rests.pop();
            self.free += 1;
        }
    }

    fn end(&mut self, id: JobId, flight: &Flight) {
        let (report, found) = self.report(id, flight);
        let ending = self.engine.finish(report, self.now);
        if matches!(flight.answer.handled, Handled::Abort(_)) {
            // What is away of a tag that was given up is skipped once it is
            // back: those who look on are told of it all at once.
            let wanted = self.engine.take_wanted();
            self.disk.want(wanted, &mut self.engine, self.now);
            self.disk.read(&mut self.engine, self.now);
        }
        let ended = Ended {
            id,
            request: &flight.request,
            kind: flight.kind,
            answer: &flight.answer,
            found: &found,
            ending: ending.as_ref(),
        };
        self.watch.ended(self.now, &ended, &self.engine);
        self.show_changes();
        if self.policy.jitter.is_zero() {
            self.free += 1;
        } else {
            let rest = self.policy.jitter.mul_f64(self.rng.f64());
            self.rests.push(Reverse(self.now + rest));
        }
    }

    fn wall_now(&self) -> SystemTime {
        UNIX_EPOCH + WALL_EPOCH + (self.now - self.base)
    }

    /// What a worker reports of an answer, and what it found in it.
    fn report(&self, id: JobId, flight: &Flight) -> (Report, Vec<Candidate>) {
        let Flight {
            request,
            kind,
            seed,
            answer,
        } = flight;
        let mut found = Vec::new();
        let finished = match kind {
            Kind::Robots { .. } => self.robots(request, answer, &mut found),
            Kind::Page => self.page(request, *seed, Purpose::Page, answer, &mut found),
            Kind::Sitemap => self.page(request, *seed, Purpose::Sitemap, answer, &mut found),
        };
        let report = Report {
            id,
            url: uri::without_credentials(request.url()).to_string(),
            status: answer.broken.is_none().then_some(answer.status),
            bytes: 0,
            finished,
        };
        (report, found)
    }

    fn failure(&self, kind: ErrorKind, answer: &Answer) -> Error {
        let error = Error::new(kind).with_status(answer.status);
        let asked = answer
            .retry_after
            .as_deref()
            .and_then(|value| http::retry_after_fields([value.as_bytes()], None, self.wall_now()));
        match asked {
            Some(asked) if kind == ErrorKind::Http => error.with_retry_after(asked),
            _ => error,
        }
    }

    fn page(
        &self,
        request: &Request,
        seed: bool,
        purpose: Purpose,
        answer: &Answer,
        found: &mut Vec<Candidate>,
    ) -> Finished {
        if answer.unanswered {
            return Finished::Unanswered(Error::new(ErrorKind::Connect));
        }
        if let Some(kind) = answer.broken {
            return Finished::Failed(Error::new(kind));
        }
        match (answer.status, &answer.location) {
            (300..=399, Some(location)) => {
                if request.hops().len() >= self.policy.max_redirects {
                    return Finished::Failed(self.failure(ErrorKind::Rejected, answer));
                }
                let target = uri::resolve(request.url(), location).expect(location);
                let next = hop(request, answer.status, target);
                let mut target = self.admit.candidate(next, purpose, seed);
                let mut hops = target.request.hops().iter();
                target.leads_back = hops.any(|hop| hop.url == *target.url());
                found.push(target.clone());
                return Finished::Redirected(Box::new(target));
            }
            (200..=399, _) => {}
            (408 | 429 | 500..=599, _) => {
                return Finished::Failed(self.failure(ErrorKind::Http, answer));
            }
            _ => return Finished::Failed(self.failure(ErrorKind::Rejected, answer)),
        }
        let scope = |tag: &Option<Tag>| tag.clone().map_or(TagScope::Own, TagScope::Tag);
        let then = match &answer.handled {
            Handled::Done => Then::Go,
            Handled::Stop => Then::Stop,
            Handled::Abort(tag) => Then::Abort(scope(tag)),
            Handled::Retry(after) => return Finished::Retry { after: *after },
            Handled::Backoff(tag, duration) => {
                return Finished::Backoff {
                    scope: scope(tag),
                    duration: *duration,
                };
            }
            Handled::Fail(kind) => {
                return Finished::Failed(Error::new(*kind).with_status(answer.status));
            }
            Handled::Fatal => return Finished::Fatal(Error::worker("the handler gave up")),
        };
        found.extend(answer.links.iter().filter_map(|link| {
            let url = uri::resolve(request.url(), &link.href)?;
            let found = Request::new(Method::Get, url)
                .with_tag(link.tag.clone())
                .with_priority(link.priority)
                .with_depth(request.depth() + 1)
                .with_referrer(Some(request.url().as_str().into()));
            Some(self.admit.candidate(found, Purpose::Page, false))
        }));
        Finished::Done(Box::new(Done {
            links: found.clone(),
            records: vec![b"{}".to_vec().into()],
            then,
            ..Done::default()
        }))
    }

    fn robots(&self, request: &Request, answer: &Answer, found: &mut Vec<Candidate>) -> Finished {
        if answer.unanswered {
            return Finished::Unanswered(Error::new(ErrorKind::Connect));
        }
        if let Some(kind) = answer.broken {
            return Finished::Failed(Error::new(kind));
        }
        let text = match (answer.status, &answer.location) {
            (200..=299, _) => answer.text.as_str(),
            (429 | 500..=599, _) => {
                return Finished::Failed(self.failure(ErrorKind::Http, answer));
            }
            (300..=399, Some(location)) if request.hops().len() < ROBOTS_HOPS => {
                let target = uri::resolve(request.url(), location).expect(location);
                let next = hop(request, answer.status, target);
                return Finished::Robots(RobotsAnswer::Redirected(Box::new(next)));
            }
            _ => "",
        };
        let robots = Robots::parse(text.as_bytes());
        found.extend(robots.sitemaps().iter().filter_map(|href| {
            let url = uri::resolve(request.requested(), href)?;
            Some(
                self.admit
                    .candidate(Request::new(Method::Get, url), Purpose::Sitemap, false),
            )
        }));
        Finished::Robots(RobotsAnswer::Rules {
            rules: Arc::new(OriginRules {
                rules: robots.rules_for(AGENT),
                crawl_delay: robots.crawl_delay(AGENT),
            }),
            body: Arc::default(),
            sitemaps: found.clone(),
            note: None,
        })
    }
}

enum Asked {
    /// The run is over.
    Over,
    /// Nothing before this instant, unless something ends.
    Wait(Instant),
    /// Nothing before something ends.
    Event,
}
