//! [`Pool`]: threads that share one engine under one mutex.
//!
//! Waiting is leader and followers: only the leader waits with a timeout, on
//! `timer`; the others wait on `work`. A worker that takes a job passes the
//! baton: it wakes at most one other if more can start, or starts a thread.
//! Keeps: whenever a start is possible now or at a known instant, some thread
//! is awake or will be at that instant. Lock order: the engine's mutex, then
//! nothing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::engine::Engine;
use super::finish::{Ending, Standing};
use super::job::{Job, Poll, Report};
use super::poll::Outlook;
use super::stats::{RunEnd, Stats};
use crate::frontier::ChunkId;
use crate::ledger::{Change, Totals};

/// What part of the bytes of changes that may be kept is written before its
/// time: there is room for what comes while they are written.
const DUE_PART: usize = 16;

/// An engine and the threads that wait for it.
#[derive(Debug)]
pub(super) struct Pool {
    shared: Mutex<Shared>,
    work: Condvar,
    timer: Condvar,
    /// Workers that rest between two requests.
    rest: Condvar,
    /// Workers that wait for room in the journal.
    room: Condvar,
    /// The caller, who waits for the end or for room in the journal.
    caller: Condvar,
    max_threads: usize,
    journal_limit: usize,
    wakes: AtomicU64,
}

#[derive(Debug)]
struct Shared {
    /// `None` once the run is over and the engine was taken out.
    engine: Option<Engine>,
    /// Until when the leader waits, if there is one.
    leader: Option<Instant>,
    /// Threads that wait on `work`.
    idle: usize,
    /// Of these, how many were woken and have not got the lock yet.
    batons: usize,
    /// Counts the changes that concern all who wait.
    epoch: u64,
    /// Threads that live, or are about to.
    threads: usize,
    /// Threads with a job, or on the way to their next.
    busy: usize,
    over: bool,
}

/// What a worker gets for its report.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// Its next job; none when the run is over, or it is to ask again.
    pub(super) job: Option<Box<Job>>,
    /// Whether it is to ask again, since there is none for it yet.
    pub(super) waits: bool,
    /// Parts of the queue to be read before it can have one.
    pub(super) load: Vec<ChunkId>,
    /// Whether another thread is to be started.
    pub(super) spawn: bool,
    /// What came of the job that it reported.
    pub(super) ending: Option<(Ending, Standing)>,
    /// Whether so many changes are kept that they should be written first.
    pub(super) journal_full: bool,
}

/// What happened since it was last asked.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) changes: Vec<Change>,
    pub(super) totals: Totals,
    /// How the run went when they were taken.
    pub(super) stats: Stats,
    /// Whether the run is over.
    pub(super) over: bool,
}

impl Pool {
    pub(super) fn new(engine: Engine, max_threads: usize, journal_limit: usize) -> Self {
        Pool {
            shared: Mutex::new(Shared {
                engine: Some(engine),
                leader: None,
                idle: 0,
                batons: 0,
                epoch: 0,
                threads: 0,
                busy: 0,
                over: false,
            }),
            work: Condvar::new(),
            timer: Condvar::new(),
            rest: Condvar::new(),
            room: Condvar::new(),
            caller: Condvar::new(),
            max_threads,
            journal_limit,
            wakes: AtomicU64::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // A panic under the lock is reported by the thread it happened on,
        // which ends the run; the others need to get through to their end.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports how the last job ended, without taking the next.
    pub(super) fn report(&self, report: Report) -> Turn {
        let mut shared = self.lock();
        let now = Instant::now();
        let mut turn = Turn::default();
        shared.busy -= 1;
        let Some(engine) = shared.engine.as_mut() else {
            return turn;
        };
        self.finish(engine, report, now, &mut turn);
        turn.spawn = self.pass_baton(&mut shared, now);
        turn
    }

    /// Rests until `until`, or until the run is over.
    pub(super) fn rest(&self, until: Instant) {
        let mut shared = self.lock();
        loop {
            let now = Instant::now();
            let stopping = shared.engine.as_ref().is_none_or(Engine::is_stopping);
            if shared.over || stopping || now >= until {
                return;
            }
            shared = Self::wait_timeout(&self.rest, shared, until - now);
        }
    }

    /// Reports how the last job ended, if there was one, and takes the next,
    /// under one lock. Without a report it waits for a job; none is left when the
    /// run is over. With one it does not wait ([`Turn::waits`]): what follows from
    /// the report comes first.
    pub(super) fn turn(&self, report: Option<Report>) -> Turn {
        let mut shared = self.lock();
        let mut turn = Turn::default();
        let has_reported = report.is_some();
        if let Some(report) = report {
            shared.busy -= 1;
            let Some(engine) = shared.engine.as_mut() else {
                return turn;
            };
            self.finish(engine, report, Instant::now(), &mut turn);
        }
        loop {
            if shared.over {
                return turn;
            }
            let now = Instant::now();
            let Some(engine) = shared.engine.as_mut() else {
                return turn;
            };
            match engine.poll(now) {
                Poll::Start(job) => {
                    shared.busy += 1;
                    turn.spawn = self.pass_baton(&mut shared, now);
                    turn.job = Some(job);
                    return turn;
                }
                Poll::Load(chunks) => {
                    turn.load = chunks;
                    return turn;
                }
                Poll::Done => {
                    self.end(&mut shared);
                    return turn;
                }
                Poll::Wait(..) | Poll::Idle(_) if has_reported => {
                    // What follows may take a while: whoever idles is to look.
                    if shared.idle > shared.batons {
                        turn.spawn = self.pass_baton(&mut shared, now);
                    }
                    turn.waits = true;
                    return turn;
                }
                Poll::Wait(at, _) => shared = self.wait_until(shared, at, now),
                Poll::Idle(_) => shared = self.wait_for_work(shared),
            }
        }
    }

    /// Waits as the leader, or as a follower if the leader will be up in time.
    fn wait_until<'a>(
        &'a self,
        mut shared: MutexGuard<'a, Shared>,
        at: Instant,
        now: Instant,
    ) -> MutexGuard<'a, Shared> {
        match shared.leader {
            None => {
                shared.leader = Some(at);
                shared = Self::wait_timeout(&self.timer, shared, at - now);
                shared.leader = None;
                shared
            }
            Some(until) => {
                if at < until {
                    // It went to sleep for longer than is right now.
                    shared.leader = Some(at);
                    self.wake(&self.timer);
                }
                self.wait_for_work(shared)
            }
        }
    }

    /// Waits for the baton, or for a change that concerns all.
    fn wait_for_work<'a>(&'a self, mut shared: MutexGuard<'a, Shared>) -> MutexGuard<'a, Shared> {
        let epoch = shared.epoch;
        shared.idle += 1;
        while shared.batons == 0 && shared.epoch == epoch {
            shared = self
                .work
                .wait(shared)
                .unwrap_or_else(PoisonError::into_inner);
        }
        shared.idle -= 1;
        if shared.epoch == epoch {
            shared.batons -= 1;
        }
        shared
    }

    fn wait_timeout<'a>(
        condvar: &Condvar,
        shared: MutexGuard<'a, Shared>,
        duration: Duration,
    ) -> MutexGuard<'a, Shared> {
        condvar
            .wait_timeout(shared, duration)
            .unwrap_or_else(PoisonError::into_inner)
            .0
    }

    fn wake(&self, condvar: &Condvar) {
        self.wakes.fetch_add(1, Ordering::Relaxed);
        condvar.notify_one();
    }

    /// Sees to it that somebody looks when the next start may be possible.
    /// Says whether a thread is to be started for it.
    fn pass_baton(&self, shared: &mut Shared, now: Instant) -> bool {
        let Some(engine) = shared.engine.as_ref() else {
            return false;
        };
        let due = match engine.outlook(now) {
            Outlook::Never => return false,
            Outlook::Now => None,
            Outlook::At(at) => Some(at),
        };
        match (due, shared.leader) {
            // The leader will be up in time.
            (Some(at), Some(until)) if until <= at => false,
            (Some(at), Some(_)) => {
                shared.leader = Some(at);
                self.wake(&self.timer);
                false
            }
            _ if shared.idle > shared.batons => {
                shared.batons += 1;
                self.wake(&self.work);
                false
            }
            (None, Some(until)) => {
                if until > now {
                    shared.leader = Some(now);
                    self.wake(&self.timer);
                }
                false
            }
            _ if shared.threads < self.max_threads => {
                shared.threads += 1;
                true
            }
            // All are at work: whoever finishes first will look.
            _ => false,
        }
    }

    /// Wakes everybody who waits, to look again.
    fn wake_all(&self, shared: &mut Shared) {
        shared.epoch += 1;
        shared.batons = 0;
        self.work.notify_all();
        self.timer.notify_all();
        self.rest.notify_all();
        self.room.notify_all();
        self.caller.notify_all();
    }

    fn end(&self, shared: &mut Shared) {
        shared.over = true;
        self.wake_all(shared);
    }

    fn is_full(&self, engine: &Engine) -> bool {
        engine.backlog() >= self.journal_limit
    }

    /// Whether so many changes are kept that the caller should write them
    /// before its time.
    fn is_due(&self, engine: &Engine) -> bool {
        engine.backlog() >= self.journal_limit / DUE_PART
    }

    /// Tells the engine how a job ended.
    fn finish(&self, engine: &mut Engine, report: Report, now: Instant, turn: &mut Turn) {
        let was_due = self.is_due(engine);
        turn.ending = engine.finish_and_look(report, now);
        turn.journal_full = self.is_full(engine);
        if self.is_due(engine) && !was_due {
            self.caller.notify_all();
        }
    }

    /// Counts the first thread in. Later ones are counted by `pass_baton`.
    pub(super) fn enter_first(&self) {
        self.lock().threads += 1;
    }

    /// Counts a thread out that has ended or could not be started; `true` when
    /// it was the last.
    pub(super) fn leave(&self) -> bool {
        let mut shared = self.lock();
        shared.threads -= 1;
        let last = shared.threads == 0;
        if last && !shared.over {
            self.end(&mut shared);
        }
        self.caller.notify_all();
        last
    }

    /// Stops the run: nothing new starts.
    pub(super) fn stop(&self, end: RunEnd) {
        let mut shared = self.lock();
        if let Some(engine) = shared.engine.as_mut() {
            engine.stop(end, Instant::now());
        }
        self.wake_all(&mut shared);
    }

    /// Stops the run, and gives up what is in flight.
    pub(super) fn abandon(&self, end: RunEnd) {
        let mut shared = self.lock();
        if let Some(engine) = shared.engine.as_mut() {
            engine.abandon(end, Instant::now());
        }
        self.wake_all(&mut shared);
    }

    /// Ends the run with an error.
    pub(super) fn fail(&self, error: crate::Error) {
        {
            let mut shared = self.lock();
            if let Some(engine) = shared.engine.as_mut() {
                engine.fail(error, Instant::now());
            }
        }
        self.stop(RunEnd::Error);
    }

    /// Ends the run since a worker panicked, the one that calls.
    pub(super) fn fail_worker(&self, error: crate::Error) {
        let busy = {
            let mut shared = self.lock();
            shared.busy = shared.busy.saturating_sub(1);
            shared.busy
        };
        log::error!("{error} ({busy} others at work)");
        self.fail(error);
    }

    /// Calls with the engine, if the run is not over.
    pub(super) fn with_engine<R>(&self, look: impl FnOnce(&Engine) -> R) -> Option<R> {
        self.lock().engine.as_ref().map(look)
    }

    /// As [`with_engine`](Self::with_engine), to change it. Whoever does sees to
    /// it that somebody looks at what that makes possible.
    pub(super) fn with_engine_mut<R>(&self, work: impl FnOnce(&mut Engine) -> R) -> Option<R> {
        self.lock().engine.as_mut().map(work)
    }

    pub(super) fn stats(&self) -> Option<Stats> {
        self.with_engine(|engine| engine.stats(Instant::now()))
    }

    /// Waits for the end, for many changes, or for a time; takes the changes
    /// out, and says whether the run is over. Rings the engine's alarm while
    /// it waits: the workers may all be stuck.
    pub(super) fn wait_for_changes(&self, timeout: Duration) -> Batch {
        let mut shared = self.lock();
        let until = Instant::now() + timeout;
        loop {
            let now = Instant::now();
            let alarm = shared.engine.as_ref().and_then(Engine::alarm);
            if !shared.over && alarm.is_some_and(|at| at <= now) {
                if shared
                    .engine
                    .as_mut()
                    .is_some_and(|engine| engine.ring(now))
                {
                    self.end(&mut shared);
                } else {
                    self.wake_all(&mut shared);
                }
            }
            let due = shared
                .engine
                .as_ref()
                .is_some_and(|engine| self.is_due(engine));
            if shared.over || due || now >= until {
                let over = shared.over;
                let mut batch = Batch {
                    over,
                    ..Batch::default()
                };
                if let Some(engine) = shared.engine.as_mut() {
                    batch.changes = engine.take_changes();
                    batch.totals = engine.totals(now);
                    batch.stats = engine.stats(now);
                }
                self.room.notify_all();
                return batch;
            }
            let next = shared
                .engine
                .as_ref()
                .and_then(Engine::alarm)
                .filter(|at| *at > now);
            let next = next.map_or(until, |at| at.min(until));
            shared = Self::wait_timeout(&self.caller, shared, next - now);
        }
    }

    /// Waits until the journal has room, or the run is over. The caller takes
    /// the changes out; until then the worker holds nothing.
    pub(super) fn wait_for_room(&self) {
        let mut shared = self.lock();
        while !shared.over
            && shared
                .engine
                .as_ref()
                .is_some_and(|engine| self.is_full(engine))
        {
            shared = self
                .room
                .wait(shared)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until no thread is left but those that are stuck in a job that
    /// was given up, and takes the engine out.
    pub(super) fn take_engine(&self) -> Engine {
        let mut shared = self.lock();
        loop {
            if shared.over && shared.threads <= shared.busy {
                // Given-up jobs are unknown to the engine: their threads find
                // it gone, and end.
                return shared.engine.take().expect("the engine is taken out once");
            }
            shared = self
                .caller
                .wait(shared)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// How often a thread was woken by another so far.
    pub(super) fn wakes(&self) -> u64 {
        self.wakes.load(Ordering::Relaxed)
    }
}
