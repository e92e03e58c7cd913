//! [`Books`]: the ledger of a run, and what it has to say about earlier runs.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::admit::Admit;
use super::builder::{Plan, Sitemaps};
use super::engine::Engine;
use super::origins::OriginRules;
use super::run::put_away_of;
use crate::error::Result;
use crate::frontier::{Candidate, Order};
use crate::ledger::{
    Anchor, End, Identity, Ledger, LedgerOptions, Offer, Overflow, Pages, Queued, RecordLine,
    Restored, Sink, StateSpec,
};
use crate::request::{Purpose, Request};
use crate::robots::Robots;

/// After how many restored URLs some are put away.
const PUT_AWAY_EVERY: usize = 4096;
/// How late a commit can be, and what its time is rounded to.
const COMMIT_SLACK: Duration = Duration::from_secs(3);

/// The ledger of a run.
pub(super) struct Books {
    pub(super) ledger: Ledger,
    pub(super) pass: u64,
    /// The number of the run, and whether it goes on with a state.
    pub(super) run: u64,
    pub(super) resumed: bool,
    restored: Option<Restored>,
    /// Fingerprints of the seeds, sorted.
    seeds: Vec<u64>,
    pages: Arc<Pages>,
}

impl Books {
    /// Opens what the plan wants to be kept; `None` when that is nothing.
    /// `sitemaps` are those that the crawl begins with.
    pub(super) fn open(plan: &Plan, sitemaps: &[Candidate]) -> Result<Option<Books>> {
        if !plan.keep.anything() {
            return Ok(None);
        }
        let mut options = LedgerOptions::new(Anchor::now());
        options.records.clone_from(&plan.keep.output);
        options.beside.clone_from(&plan.keep.beside);
        options.log.clone_from(&plan.keep.log);
        options.sinks = plan
            .keep
            .sinks
            .iter()
            .map(|sink| shared(Arc::clone(sink)))
            .collect();
        let mut seeds = Vec::new();
        if let Some(dir) = &plan.keep.state_dir {
            let identity = identity(plan, sitemaps);
            seeds.clone_from(&identity.seeds);
            seeds.sort_unstable();
            let state = StateSpec::new(dir, identity)
                .with_fresh(plan.keep.fresh)
                .with_revisit(plan.keep.revisit);
            options.state = Some(state);
        }
        let (ledger, mut restored) = Ledger::open(options)?;
        if plan.sitemaps != Sitemaps::None {
            restored.remember_all();
        }
        let (pass, pages) = (restored.pass, restored.pages());
        Ok(Some(Books {
            ledger,
            pass,
            run: restored.run,
            resumed: restored.resumed,
            restored: Some(restored),
            seeds,
            pages,
        }))
    }

    /// What earlier runs remember of the pages that are due.
    pub(super) fn pages(&self) -> Arc<Pages> {
        Arc::clone(&self.pages)
    }

    /// Gives the engine what earlier runs left, once. `earlier` is the engine of
    /// the run before, if it was one of this process. Seeds that are to be judged
    /// anew are left out: whoever begins the run names them.
    pub(super) fn restore(
        &mut self,
        engine: &mut Engine,
        plan: &Plan,
        overflow: Option<&Overflow>,
        earlier: Option<&Engine>,
        now: Instant,
    ) -> Result<()> {
        let Some(restored) = self.restored.take() else {
            return Ok(());
        };
        // Before anything else: hosts learn of it as they become known.
        match (earlier, restored.last_commit) {
            (Some(earlier), _) => engine.restore_pace_of(earlier),
            (None, Some(at)) => engine.restore_pace(last_start(at, plan, now)),
            (None, None) => {}
        }
        for (fingerprint, end) in restored.known() {
            if let Some(end) = end {
                engine.restore_seen(fingerprint, end == End::Redirected);
            }
        }
        for fingerprint in restored.only_led_to() {
            engine.restore_led_to(fingerprint);
        }
        engine.restore_done(restored.counts.done);
        for url in &restored.landed {
            engine.restore_landed(url);
        }
        let mut sitemaps = Vec::new();
        for known in &restored.robots {
            let robots = Robots::parse(&known.body);
            let rules = OriginRules {
                rules: robots.rules_for(&plan.product_token),
                crawl_delay: robots.crawl_delay(&plan.product_token),
            };
            let request = Request::get(format!("{}/robots.txt", known.origin))?;
            engine.restore_robots(&request, Arc::new(rules), known.age, now);
            // It is not asked for again, and may name what nobody wanted then.
            if plan.looks_for_sitemaps_on(request.url()) {
                sitemaps.extend(plan.admit.sitemaps_of(request.url(), robots.sitemaps()));
            }
        }
        for known in &restored.pauses {
            engine.restore_pause(&known.host, known.until);
        }
        let seeds = std::mem::take(&mut self.seeds);
        let mut given = 0_usize;
        let newest_first = plan.frontier.order == Order::Lifo;
        restored.each_waiting(newest_first, |offer| {
            given += 1;
            if given.is_multiple_of(PUT_AWAY_EVERY) {
                put_away_of(engine, overflow);
            }
            let pending = match offer {
                Offer::Plain(request) => {
                    return !restored.settings_changed && engine.restore_plain(request, now);
                }
                Offer::Whole(pending) => pending,
            };
            let judge = pending.rejudge || restored.settings_changed;
            // Retries are counted within a run.
            let queued = Queued {
                request: pending.queued.request.with_attempt(1),
                ..pending.queued
            };
            // What was found as a link may be a seed by now.
            let link = !queued.seed && queued.purpose == Purpose::Page;
            if !judge {
                engine.restore(&Admit::as_it_was(queued), pending.not_before, now);
            } else if !link || seeds.binary_search(&queued.fingerprint).is_err() {
                let admit = &plan.admit;
                let candidate = admit.restored(queued.request, queued.purpose, queued.seed);
                let _ = engine.push(candidate, now);
            }
            true
        })?;
        for sitemap in sitemaps {
            let _ = engine.push(sitemap, now);
        }
        Ok(())
    }
}

/// When a run that last committed at `commit` may last have started a request.
/// A start changes nothing that is committed before its answer has come, or
/// its time is up.
fn last_start(commit: SystemTime, plan: &Plan, now: Instant) -> Instant {
    let idle = SystemTime::now().duration_since(commit).unwrap_or_default();
    let ago = idle.saturating_sub(plan.services.timeout() + COMMIT_SLACK);
    now.checked_sub(ago).unwrap_or(now)
}

/// What tells this crawl from another.
fn identity(plan: &Plan, sitemaps: &[Candidate]) -> Identity {
    let seeds = plan.seeds.iter().map(|seed| plan.admit.seed(seed).request);
    let mut all = seeds.chain(sitemaps.iter().map(|sitemap| sitemap.request.clone()));
    let mut identity = Identity {
        settings: format!(
            "{} depth {:?} {:?}",
            plan.admit.scope.describe(),
            plan.admit.max_depth,
            plan.admit.traps
        ),
        ..Identity::default()
    };
    if let Some(first) = all.next() {
        identity.label = first.url().to_string();
        identity.seeds = std::iter::once(first)
            .chain(all)
            .map(|mut request| request.fingerprint())
            .collect();
    }
    identity
}

/// A sink that several runs call in turn.
fn shared(sink: Arc<Mutex<Sink>>) -> Sink {
    Box::new(move |record: &RecordLine| {
        let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
        sink(record)
    })
}
