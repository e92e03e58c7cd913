//! A discrete-event simulator: thousands of made-up crawls of made-up webs in
//! virtual time, with an independent model that looks on and checks every
//! invariant after every event.
//!
//! `SIMULATE_CRAWLS=N` runs N crawls instead of the usual number, and
//! `SIMULATE_SEED=S` the one of seed S. A failure prints its seed, what broke,
//! and a plan that is as small as could be found and breaks in the same way.

#[path = "../common/drive/mod.rs"]
mod drive;
mod model;
mod plan;
mod shrink;
mod web;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use canter::Request;
use canter::crawler::EngineOptions;

use drive::Driver;
use model::Model;
use plan::{Plan, ScopePlan, Size};
use web::Web;

/// Crawls in an ordinary test run: as many as take well under a minute without
/// optimisation.
const USUAL_CRAWLS: u64 = 10_000;
/// One crawl of so many is of middle size.
const MIDDLE_EACH: u64 = 4;
/// How long the crawl rests between two runs.
const REST: Duration = Duration::from_secs(5);

/// What a crawl came to.
#[derive(Debug, Default, Clone, Copy)]
struct Sum {
    requests: u64,
    urls: u64,
    events: u64,
    virtual_time: Duration,
}

/// Runs a crawl; panics with the invariant that breaks.
fn crawl(plan: &Rc<Plan>) -> Sum {
    let options = EngineOptions {
        order: plan.order,
        obey_robots: plan.obey_robots,
        seeds_widen_scope: plan.scope == ScopePlan::OfSeeds,
        journal: canter::crawler::Keeping::Everything,
        seed: plan.seed,
        put_away_over: plan.put_away_over,
        chunk_bytes: plan.chunk_bytes,
        ..EngineOptions::default()
    };
    let web = Web::new(Rc::clone(plan));
    let model = Model::new(Rc::clone(plan), Instant::now());
    let driver = Driver::with(plan.policy.clone(), options, web, model);
    let mut driver = match plan.scope {
        ScopePlan::All => driver.scope(&["*"]),
        ScopePlan::OfSeeds => driver.scope_of_seeds(),
        ScopePlan::Even => {
            let names: Vec<String> = (0..plan.hosts.len())
                .step_by(2)
                .map(|n| format!("h{n}.test"))
                .collect();
            driver.scope(&names.iter().map(String::as_str).collect::<Vec<_>>())
        }
    };
    let base = driver.base();
    driver.watch.set_base(base);
    driver.admit.max_depth = plan.max_depth;
    driver.max_events = plan.most_events();
    if let Some(at) = plan.stop_at {
        driver = driver.stop_at(at);
    }
    let is_seed = |host: &plan::HostPlan| host.seed && !host.absent;
    for (number, _) in plan
        .hosts
        .iter()
        .enumerate()
        .filter(|(_, host)| is_seed(host))
    {
        driver.push_seed(Request::get(web::page(number, "/p0")).expect("a URL"));
    }
    let mut sum = Sum::default();
    for _ in 0..plan.runs {
        let stats = driver.drive();
        driver.pass(REST);
        sum.requests += stats.requests;
        sum.urls = sum.urls.max(stats.discovered);
    }
    sum.events = driver.events();
    sum.virtual_time = driver.elapsed();
    sum
}

thread_local! {
    /// Whether a panic of this thread is expected and not to be printed.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs a crawl; says what broke, if anything did.
fn try_crawl(plan: &Plan) -> Result<Sum, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                usual(info);
            }
        }));
    });
    QUIET.set(true);
    let plan = Rc::new(plan.clone());
    let result = catch_unwind(AssertUnwindSafe(|| crawl(&plan)));
    QUIET.set(false);
    result.map_err(|payload| {
        let text = payload.downcast_ref::<String>().cloned();
        text.or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string))
            .unwrap_or_else(|| "a panic without words".to_owned())
    })
}

/// The invariant that a failure names.
fn invariant(message: &str) -> Option<&str> {
    message
        .strip_prefix('«')?
        .split_once('»')
        .map(|(name, _)| name)
}

/// Fails with a plan that breaks, and one as small as could be found.
fn report(plan: &Plan, message: &str) -> ! {
    let broken = invariant(message);
    let small = shrink::shrink(plan, |smaller| {
        try_crawl(smaller).is_err_and(|message| invariant(&message) == broken)
    });
    let small_message = try_crawl(&small).err().unwrap_or_default();
    panic!(
        "the crawl of seed {} breaks: {message}\n{plan:?}\nshrunk, it breaks: {small_message}\n\
         {small:?}\n(SIMULATE_SEED={} runs it again)",
        plan.seed, plan.seed
    );
}

fn plan_of(seed: u64) -> Plan {
    Plan::new(
        seed,
        if seed.is_multiple_of(MIDDLE_EACH) {
            Size::Middle
        } else {
            Size::Small
        },
    )
}

fn number_of(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is no number: {text:?}")),
    )
}

#[test]
fn every_invariant_holds_in_made_up_crawls() {
    let begin = Instant::now();
    let (first, crawls) = match number_of("SIMULATE_SEED") {
        Some(seed) => (seed, 1),
        None => (0, number_of("SIMULATE_CRAWLS").unwrap_or(USUAL_CRAWLS)),
    };
    let next = AtomicU64::new(first);
    let failed: Mutex<Option<(u64, String)>> = Mutex::new(None);
    let total = Mutex::new(Sum::default());
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + crawls {
                return;
            }
            match try_crawl(&plan_of(seed)) {
                Ok(sum) => {
                    let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
                    total.requests += sum.requests;
                    total.urls += sum.urls;
                    total.events += sum.events;
                    total.virtual_time += sum.virtual_time;
                }
                Err(message) => {
                    next.store(first + crawls, Ordering::Relaxed);
                    let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                    if failed.as_ref().is_none_or(|(other, _)| seed < *other) {
                        *failed = Some((seed, message));
                    }
                }
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    if let Some((seed, message)) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        report(&plan_of(seed), &message);
    }
    let total = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!(
        "{crawls} crawls: {} URLs, {} requests, {} events, {} h of virtual time, in {:.1} s",
        total.urls,
        total.requests,
        total.events,
        total.virtual_time.as_secs() / 3600,
        begin.elapsed().as_secs_f64()
    );
}

/// One crawl of 10,000 hosts and about 100,000 pages for each 10,000 others.
#[test]
fn every_invariant_holds_in_crawls_of_ten_thousand_hosts() {
    let crawls = number_of("SIMULATE_CRAWLS").unwrap_or(USUAL_CRAWLS);
    for seed in 0..crawls.div_ceil(10_000) {
        let begin = Instant::now();
        let plan = Plan::new(seed, Size::Large);
        let sum = try_crawl(&plan).unwrap_or_else(|message| report(&plan, &message));
        println!("{sum:?}, in {:.1} s", begin.elapsed().as_secs_f64());
    }
}

#[test]
fn the_same_seed_gives_the_same_crawl() {
    for seed in [1, 2, 3, 10] {
        let sums = [(); 2].map(|()| {
            let sum = try_crawl(&plan_of(seed)).unwrap_or_else(|m| report(&plan_of(seed), &m));
            (sum.requests, sum.urls, sum.events, sum.virtual_time)
        });
        assert_eq!(sums[0], sums[1], "seed {seed}");
    }
}
