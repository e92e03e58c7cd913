//! One run: threads are started as they are needed, the caller writes what
//! they did, and everything is flushed before the run returns.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use log::{info, warn};

use super::Control;
use super::admit::Admit;
use super::books::Books;
use super::builder::{Plan, Sitemaps};
use super::chronicle::{Chronicle, Recorder, RunNote};
use super::conditions::Conditions;
use super::engine::Engine;
use super::event::Events;
use super::known::Known;
use super::options::{EngineOptions, Keeping};
use super::pool::Pool;
use super::stats::{ParkReason, Parked, RunEnd, Stats};
use crate::admission::{Admission, SkipReason};
use crate::error::{Error, ErrorKind, Result};
use crate::extract::{Context, Preview, Services, panicked};
use crate::frontier::{Candidate, ChunkId};
use crate::handler::{self, Handler};
use crate::ledger::{Anchor, Overflow, Pages};
use crate::policy::Policy;
use crate::request::{Method, Request, parse_url};

/// Stack of a worker. Parsers keep no deep recursion on it, and handlers get
/// as much as a thread of the standard library has on most systems.
const STACK_BYTES: usize = 2 * 1024 * 1024;
/// How many bytes of changes may be kept before workers wait for them to be
/// written: a fast crawl goes on over a sync of a slow disk.
const JOURNAL_LIMIT: usize = 8 * 1024 * 1024;
/// Over how many bytes of queued requests the rest is put away: thousands of
/// them stay in memory.
const PUT_AWAY_OVER: usize = 1024 * 1024;
/// How soon what happened is written for the first time, and how often once the
/// run is under way; in between the time doubles. A run that is killed early, and
/// again and again, so comes further each time.
const COMMIT_INTERVALS: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];

/// How often what happened when is written: at first, and in a run so long
/// that its picture changes slowly. It costs two syncs of the disk.
const CHRONICLE_INTERVALS: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(30)];
/// What part of the run so far may be missing from it after a kill.
const CHRONICLE_PART: u32 = 20;

/// What the threads of a run share.
pub(super) struct Run {
    pub(super) pool: Arc<Pool>,
    pub(super) policy: Arc<Policy>,
    pub(super) admit: Arc<Admit>,
    pub(super) known: Arc<Known>,
    pub(super) services: Arc<Services>,
    pub(super) handler: Arc<dyn Handler>,
    pub(super) fetch_only: Box<dyn Handler>,
    pub(super) product_token: String,
    pub(super) sitemaps: bool,
    pub(super) plan: Arc<Plan>,
    /// Where the part of the queue is that is not in memory.
    pub(super) overflow: Option<Arc<Overflow>>,
    pub(super) events: Arc<Events>,
    /// Keeps what happens when, if anybody wants to know.
    pub(super) recorder: Option<Arc<Recorder>>,
    /// What earlier runs remember of pages, if this one has a state.
    pub(super) pages: Option<Arc<Pages>>,
    pub(super) conditions: Conditions,
}

/// Answers handlers what would become of a link.
struct Gate {
    pool: Arc<Pool>,
    admit: Arc<Admit>,
    known: Arc<Known>,
}

impl Preview for Gate {
    fn preview(&self, request: &Request) -> Admission {
        let candidate = self.admit.link(request.clone());
        self.pool
            .with_engine(|engine| engine.preview(&candidate))
            .unwrap_or(Admission::Queued)
    }

    fn is_known(&self, fingerprint: u64) -> bool {
        self.known.has(fingerprint)
    }
}

/// Runs a plan, from what an earlier run left, and leaves the rest.
pub(super) fn run(
    plan: &Arc<Plan>,
    control: &Control,
    events: &Arc<Events>,
    left: &mut Option<Engine>,
) -> Result<Stats> {
    let now = Instant::now();
    let sitemaps = sitemaps(plan)?;
    let mut books = Books::open(plan, &sitemaps)?;
    // Not before the state is locked.
    let state_dir = plan.keep.state_dir.as_deref();
    let overflow = state_dir.map(|dir| Arc::new(Overflow::new(dir)));
    let overflow = overflow.as_ref();
    let mut engine = match (left.take(), &mut books) {
        (earlier, Some(books)) if plan.keep.state_dir.is_some() => {
            let mut engine = new_engine(plan);
            engine.begin_run(now);
            let storage = overflow.map(Arc::as_ref);
            books.restore(&mut engine, plan, storage, earlier.as_ref(), now)?;
            engine
        }
        (Some(mut earlier), _) if earlier.pending() > 0 => {
            earlier.begin_run(now);
            earlier
        }
        (earlier, _) => {
            let mut engine = new_engine(plan);
            engine.begin_run(now);
            if let Some(earlier) = &earlier {
                engine.restore_pace_of(earlier);
            }
            engine
        }
    };
    let recorder = recorder(plan, control, books.as_ref());
    control.set_recorder(recorder.clone());
    let keeps_state = plan.keep.state_dir.is_some();
    let pages = books.as_ref().filter(|_| keeps_state).map(Books::pages);
    let pass = books.as_ref().map_or(1, |books| books.pass);
    let seeds = plan.seeds.iter().map(|seed| plan.admit.seed(seed));
    for seed in seeds.chain(sitemaps) {
        let _ = engine.push(seed, now);
        // There may be millions.
        if engine.backlog() >= JOURNAL_LIMIT {
            let changes = engine.take_changes();
            if let Some(books) = &mut books {
                let totals = engine.totals(now);
                books.ledger.commit(&changes, Anchor::now(), totals)?;
            }
            put_away_of(&mut engine, overflow.map(Arc::as_ref));
        }
    }
    let began_with = engine.pending();
    engine.note_beginning(began_with, pass);
    let urls = if began_with == 1 { "URL" } else { "URLs" };
    info!("the run begins with {began_with} {urls}");
    if control.stop.load(Ordering::SeqCst) {
        engine.stop(RunEnd::Stopped, now);
    }
    let pool = Arc::new(Pool::new(engine, plan.policy.concurrency, JOURNAL_LIMIT));
    let known = Arc::new(Known::new());
    let preview = Gate {
        pool: Arc::clone(&pool),
        admit: Arc::clone(&plan.admit),
        known: Arc::clone(&known),
    };
    let services = plan.services.clone().with_preview(Arc::new(preview));
    let run = Arc::new(Run {
        pool: Arc::clone(&pool),
        policy: Arc::clone(&plan.policy),
        admit: Arc::clone(&plan.admit),
        known,
        services: Arc::new(services),
        handler: Arc::clone(&plan.handler),
        fetch_only: Box::new(handler::boxed(|cx: Context| cx.response().map(drop))),
        product_token: plan.product_token.clone(),
        sitemaps: plan.sitemaps == Sitemaps::Discover,
        plan: Arc::clone(plan),
        overflow: overflow.cloned(),
        events: Arc::clone(events),
        recorder: recorder.clone(),
        pages,
        conditions: Conditions::default(),
    });
    control.set_pool(Some(Arc::clone(&pool)));
    // A stop that came just before the pool was in place.
    if control.stop.load(Ordering::SeqCst) {
        pool.stop(RunEnd::Stopped);
    }
    pool.enter_first();
    run.spawn();
    let mut scribe = recorder.map(|recorder| Scribe::new(recorder, plan));
    let failed = keep_books(&pool, &mut books, overflow, scribe.as_mut());
    let mut engine = pool.take_engine();
    let now = Instant::now();
    let stats = engine.end_run(now);
    warn_of_the_endless(&stats);
    control.wakes.store(pool.wakes(), Ordering::Relaxed);
    *control.last.lock().unwrap_or_else(PoisonError::into_inner) = stats.clone();
    control.set_pool(None);
    let changes = engine.take_changes();
    let fatal = engine.take_fatal();
    let totals = engine.totals(now);
    *left = Some(engine);
    let finished = match (failed, &mut books) {
        (Some(error), _) => Err(error),
        (None, Some(books)) => {
            let complete = stats.pending() == 0 && fatal.is_none();
            books
                .ledger
                .finish(&changes, complete, Anchor::now(), totals)
        }
        (None, None) => Ok(()),
    };
    if let Some(scribe) = &mut scribe {
        scribe.finish(now, &stats, finished.is_err());
    }
    finished?;
    match fatal {
        Some(error) => Err(error),
        None => Ok(stats),
    }
}

/// Names what may have spent a bound that ended the run or a host's share of it.
fn warn_of_the_endless(stats: &Stats) {
    let full = |parked: &Parked| parked.reason == ParkReason::PageLimit;
    let capped = stats
        .skipped_by_reason
        .contains_key(&SkipReason::TrapVariants);
    if matches!(stats.end, Some(RunEnd::Bound(_))) || stats.parked.iter().any(full) || capped {
        for (path, count) in &stats.many_queries {
            warn!("{path}: found with {count} different queries, perhaps without end");
        }
    }
}

fn new_engine(plan: &Plan) -> Engine {
    let options = EngineOptions {
        order: plan.frontier.order,
        obey_robots: plan.obey_robots,
        seeds_widen_scope: plan.admit.scope.is_of_seeds(),
        max_query_variants: plan.admit.traps.max_query_variants,
        journal: if plan.keep.state_dir.is_some() {
            Keeping::Everything
        } else if plan.keep.anything() {
            Keeping::Ends
        } else {
            Keeping::Nothing
        },
        put_away_over: plan.keep.state_dir.as_ref().map(|_| PUT_AWAY_OVER),
        seed: fastrand::u64(..),
        ..EngineOptions::default()
    };
    Engine::new(Arc::clone(&plan.policy), options)
}

/// Begins the chronicle of the run, if one is wanted: on that of the runs
/// before, if this one goes on where they ended.
fn recorder(plan: &Plan, control: &Control, books: Option<&Books>) -> Option<Arc<Recorder>> {
    let (run, pass) = books.map_or((1, 1), |books| (books.run, books.pass));
    let before = match &plan.keep.state_dir {
        Some(dir) if books.is_some_and(|books| books.resumed) => {
            // Nothing but a picture is lost, so that is no reason to stop.
            Chronicle::read(dir).unwrap_or_else(|error| {
                warn!("{error}; it is begun anew");
                None
            })
        }
        Some(_) => None,
        None if plan.keep.chronicle => control.recorder().map(|recorder| recorder.chronicle()),
        None => return None,
    };
    let earlier = before.as_ref().and_then(|before| before.runs().last());
    let run = earlier.map_or(run, |earlier| run.max(earlier.number + 1));
    let note = RunNote::new(&plan.policy, run, pass);
    Some(Arc::new(Recorder::begin(before, note, Anchor::now())))
}

/// Writes the chronicle from time to time.
struct Scribe<'a> {
    recorder: Arc<Recorder>,
    dir: Option<&'a Path>,
    began: Instant,
    written: Instant,
    /// Whether it was said that it cannot be written.
    failed: bool,
}

impl<'a> Scribe<'a> {
    fn new(recorder: Arc<Recorder>, plan: &'a Plan) -> Self {
        let now = Instant::now();
        let mut scribe = Scribe {
            recorder,
            dir: plan.keep.state_dir.as_deref(),
            began: now,
            written: now,
            failed: false,
        };
        scribe.write();
        scribe
    }

    /// Notes how the run goes, and writes if it is time.
    fn look(&mut self, stats: &Stats) {
        let now = Instant::now();
        self.recorder.sample(now, stats);
        let [least, most] = CHRONICLE_INTERVALS;
        let interval = ((now - self.began) / CHRONICLE_PART).clamp(least, most);
        if now - self.written >= interval {
            self.written = now;
            self.write();
        }
    }

    fn write(&mut self) {
        let Some(dir) = self.dir else { return };
        if let Err(error) = self.recorder.chronicle().write(dir)
            && !self.failed
        {
            self.failed = true;
            warn!("{error}");
        }
    }

    fn finish(&mut self, now: Instant, stats: &Stats, failed: bool) {
        let end = failed.then_some(RunEnd::Error).or(stats.end);
        let stats = Stats {
            end,
            ..stats.clone()
        };
        self.recorder.finish(now, &stats);
        self.write();
    }
}

/// Writes what happens until the run is over. After an error nothing more is
/// written, the run stops, and the error is given.
fn keep_books(
    pool: &Pool,
    books: &mut Option<Books>,
    overflow: Option<&Arc<Overflow>>,
    mut scribe: Option<&mut Scribe<'_>>,
) -> Option<Error> {
    let mut failed = None;
    let [mut interval, longest] = COMMIT_INTERVALS;
    loop {
        let batch = pool.wait_for_changes(interval);
        interval = (interval * 2).min(longest);
        if let Some(books) = books
            && failed.is_none()
            && let Err(error) = books
                .ledger
                .commit(&batch.changes, Anchor::now(), batch.totals)
        {
            pool.fail(error.clone());
            // What is in flight could not be written either.
            pool.abandon(RunEnd::Error);
            failed = Some(error);
        }
        if batch.over {
            return failed;
        }
        if let Some(overflow) = overflow {
            let outgoing = pool.with_engine_mut(Engine::take_outgoing);
            let (chunks, stored) = put_away(overflow, outgoing.unwrap_or_default());
            pool.with_engine_mut(|engine| engine.put_away(chunks, stored));
        }
        if let Some(scribe) = &mut scribe {
            scribe.look(&batch.stats);
        }
    }
}

/// Puts parts of an engine's queue away before its run begins.
pub(super) fn put_away_of(engine: &mut Engine, overflow: Option<&Overflow>) {
    if let Some(overflow) = overflow {
        let (chunks, stored) = put_away(overflow, engine.take_outgoing());
        engine.put_away(chunks, stored);
    }
}

/// Puts parts of the queue away; says which they were, and whether that went
/// well. If not, all is as it was but for the memory it takes.
fn put_away(overflow: &Overflow, chunks: Vec<(ChunkId, Arc<[u8]>)>) -> (Vec<ChunkId>, bool) {
    let written = overflow.write(&chunks);
    if let Err(error) = &written {
        warn!("{error}; it stays in memory");
    }
    let ids = chunks.into_iter().map(|(id, _)| id).collect();
    (ids, written.is_ok())
}

/// The sitemaps that a run begins with.
fn sitemaps(plan: &Plan) -> Result<Vec<Candidate>> {
    let candidate = |url| plan.admit.sitemap(Request::new(Method::Get, url));
    match &plan.sitemaps {
        Sitemaps::Urls(urls) => urls
            .iter()
            .map(|url| parse_url(url).map(candidate))
            .collect(),
        // Without robots.txt there is only the usual place.
        Sitemaps::Discover if !plan.obey_robots => {
            let usual = |seed| {
                crate::uri::resolve(seed, "/sitemap.xml")
                    .ok_or_else(|| Error::invalid(format!("no sitemap for {seed}")))
            };
            let seeds = plan.seeds.of_origins().iter();
            seeds.map(|seed| usual(seed).map(candidate)).collect()
        }
        Sitemaps::None | Sitemaps::Discover => Ok(Vec::new()),
    }
}

impl Run {
    /// Starts a thread, which the pool has counted in. If the system has none
    /// left, the run goes on with those it has.
    pub(super) fn spawn(self: &Arc<Self>) {
        let run = Arc::clone(self);
        let started = std::thread::Builder::new()
            .name("canter-worker".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                // Handlers' panics are caught around each attempt. One that
                // gets here is a fault of ours: it ends the run, and does not
                // leave it waiting for this thread.
                if let Err(payload) = catch_unwind(AssertUnwindSafe(|| run.work())) {
                    let error = panicked("a worker of the crawl", payload);
                    run.pool.fail_worker(error);
                }
                run.pool.leave();
            });
        if let Err(error) = started {
            warn!("a thread could not be started: {error}");
            if self.pool.leave() {
                self.pool.fail(
                    Error::new(ErrorKind::Worker)
                        .with_message("no thread could be started")
                        .with_source(error),
                );
            }
        }
    }
}
