//! [`Books`]: the ledger of a run, and what it has to say about earlier runs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::builder::{Plan, Sitemaps};
use super::engine::Engine;
use super::origins::OriginRules;
use crate::error::Result;
use crate::frontier::Candidate;
use crate::ledger::{
    Anchor, Identity, Ledger, LedgerOptions, Pages, RecordLine, Restored, Sink, StateSpec,
};
use crate::request::{Purpose, Request};
use crate::robots::Robots;

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
    pages: Arc<Pages>,
}

impl Books {
    /// Opens what the plan wants to be kept; `None` when that is nothing.
    pub(super) fn open(plan: &Plan, seeds: &[Candidate]) -> Result<Option<Books>> {
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
        options.state = plan.keep.state_dir.as_ref().map(|dir| {
            StateSpec::new(dir, identity(plan, seeds))
                .with_fresh(plan.keep.fresh)
                .with_revisit(plan.keep.revisit)
        });
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
            pages,
        }))
    }

    /// What earlier runs remember of the pages that are due.
    pub(super) fn pages(&self) -> Arc<Pages> {
        Arc::clone(&self.pages)
    }

    /// Gives the engine what earlier runs left, once. `seeds` is what this one
    /// is told to begin with; `earlier` is the engine of the run before, if it
    /// was one of this process.
    pub(super) fn restore(
        &mut self,
        engine: &mut Engine,
        plan: &Plan,
        seeds: &[Candidate],
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
            if end.is_some() {
                engine.restore_seen(fingerprint);
            }
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
        let seeds: HashMap<u64, &Candidate> =
            seeds.iter().map(|seed| (seed.fingerprint, seed)).collect();
        restored.each_pending(|pending| {
            let queued = pending.queued;
            let judge = pending.rejudge || restored.settings_changed;
            // What was found as a link may be a seed by now.
            let link = !queued.seed && queued.purpose == Purpose::Page;
            if judge
                && link
                && let Some(seed) = seeds.get(&queued.fingerprint)
            {
                let _ = engine.push((*seed).clone(), now);
                return;
            }
            let candidate = plan
                .admit
                .restored(queued.request, queued.purpose, queued.seed);
            if judge {
                let _ = engine.push(candidate, now);
            } else {
                engine.restore(&candidate, pending.not_before, now);
            }
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
fn identity(plan: &Plan, seeds: &[Candidate]) -> Identity {
    Identity {
        seeds: seeds.iter().map(|seed| seed.fingerprint).collect(),
        label: seeds
            .first()
            .map(|seed| seed.url().to_string())
            .unwrap_or_default(),
        settings: format!(
            "{} depth {:?} {:?}",
            plan.admit.scope.describe(),
            plan.admit.max_depth,
            plan.admit.traps
        ),
    }
}

/// A sink that several runs call in turn.
fn shared(sink: Arc<Mutex<Sink>>) -> Sink {
    Box::new(move |record: &RecordLine| {
        let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
        sink(record)
    })
}
