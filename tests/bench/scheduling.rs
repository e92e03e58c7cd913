//! What the scheduling alone costs, in CPU time per request and bytes per
//! queued URL: the engine with 1,000 requests in flight, over many hosts and
//! over few, without threads, sockets or pages.
//!
//! `cargo bench --bench scheduling`

mod clock;

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use canter::crawler::{
    Engine, EngineOptions, Finished, Job, OriginRules, Poll, Report, RobotsAnswer,
};
use canter::fetch::{Fetch, Response};
use canter::frontier::{Candidate, Kind};
use canter::robots::Robots;
use canter::{Crawler, Policy, Purpose, Request, uri};

use clock::cpu_seconds;

const IN_FLIGHT: usize = 1_000;
const MANY_HOSTS: usize = 10_000;
const FEW_HOSTS: usize = 10;
/// URLs in the queue while requests are timed.
const QUEUED: usize = 400_000;
/// Requests that are timed.
const TIMED: u32 = 200_000;
/// URLs whose bytes are counted, and how long each is.
const WEIGHED: usize = 1_000_000;
const URL_BYTES: usize = 60;
/// How long an answer takes in virtual time.
const LATENCY: Duration = Duration::from_millis(250);
/// Over how many bytes the queue is put away, as in a run with a state.
const PUT_AWAY_OVER: usize = 1 << 20;
/// Bytes of a page of memory, on every Linux that matters.
const PAGE_BYTES: u64 = 4096;

fn main() {
    let gap = Duration::from_millis(500);
    println!("CPU µs per request with {IN_FLIGHT} in flight: poll and finish, and push");
    time("10,000 hosts", MANY_HOSTS, Duration::ZERO);
    time("10,000 hosts with a gap", MANY_HOSTS, gap);
    time("10 hosts", FEW_HOSTS, Duration::ZERO);
    println!("bytes per queued URL of {URL_BYTES} bytes, {WEIGHED} of them");
    for hosts in [1, FEW_HOSTS, MANY_HOSTS] {
        weigh(hosts, None);
        weigh(hosts, Some(PUT_AWAY_OVER));
    }
    wakes();
}

/// A site that answers every page after a while, and has no robots.txt.
struct Slow;

impl Fetch for Slow {
    fn fetch(&self, request: &Request, _deadline: Instant) -> canter::Result<Response> {
        std::thread::sleep(LATENCY / 10);
        Ok(Response::new(request.url().clone(), 200))
    }
}

/// How often threads wake one another, with real threads.
fn wakes() {
    let seeds: Vec<String> = (0..MANY_HOSTS).map(|n| url(n, MANY_HOSTS)).collect();
    let policy = Policy::builder()
        .concurrency(IN_FLIGHT)
        .build()
        .expect("a policy");
    let crawler = Crawler::builder()
        .seeds(&seeds)
        .policy(policy)
        .fetcher(Slow)
        .handler(|head: canter::extract::Head| drop(head))
        .build()
        .expect("a crawl");
    let stats = crawler.run().expect("a run");
    let each = crawler.wakes() as f64 / stats.requests as f64;
    println!(
        "{each:.2} wakes per request: {} requests to {MANY_HOSTS} hosts on {IN_FLIGHT} threads",
        stats.requests
    );
}

/// The number of a URL's host, and the URL.
fn url(number: usize, hosts: usize) -> String {
    let mut url = format!("http://host{:05}.test/section/{number:09}/", number % hosts);
    while url.len() < URL_BYTES {
        url.push('x');
    }
    url
}

fn candidate(number: usize, hosts: usize) -> Candidate {
    let request = Request::get(url(number, hosts))
        .expect("a URL")
        .with_depth(1);
    Candidate {
        fingerprint: uri::fingerprint("GET", request.url(), &[]),
        purpose: Purpose::Page,
        seed: false,
        refusal: None,
        foreign_host: false,
        too_deep: false,
        variant_of: None,
        leads_back: false,
        request,
    }
}

fn engine(hosts: usize, gap: Duration, put_away_over: Option<usize>) -> Engine {
    let policy = Policy::builder()
        .concurrency(IN_FLIGHT)
        .host_concurrency(IN_FLIGHT.div_ceil(hosts).max(2))
        .host_delay(gap)
        .build()
        .expect("a valid policy");
    let options = EngineOptions {
        put_away_over,
        ..EngineOptions::default()
    };
    Engine::new(Arc::new(policy), options)
}

/// A worker's report, made outside of what is timed.
fn report(job: &Job, rules: &Arc<OriginRules>) -> Report {
    let finished = match job.kind() {
        Kind::Robots { .. } => Finished::Robots(RobotsAnswer::Rules {
            rules: Arc::clone(rules),
            body: Arc::default(),
            sitemaps: Vec::new(),
            note: None,
        }),
        _ => Finished::Done(Box::default()),
    };
    Report {
        id: job.id,
        url: String::new(),
        status: Some(200),
        bytes: 12_000,
        finished,
    }
}

fn time(name: &str, hosts: usize, gap: Duration) {
    let mut engine = engine(hosts, gap, None);
    let mut now = Instant::now();
    engine.begin_run(now);
    let mut pushing = 0.0;
    for first in (0..QUEUED).step_by(IN_FLIGHT) {
        let found: Vec<_> = (first..first + IN_FLIGHT)
            .map(|n| candidate(n, hosts))
            .collect();
        let begin = cpu_seconds();
        for candidate in found {
            let _ = engine.push(candidate, now);
        }
        pushing += cpu_seconds() - begin;
    }
    let robots = Robots::parse(b"User-agent: *\nDisallow: /private\nDisallow: /*?sort=\n");
    let rules = Arc::new(OriginRules {
        rules: robots.rules_for("canter"),
        crawl_delay: None,
    });
    let mut flying: VecDeque<(Instant, Report)> = VecDeque::new();
    // Every origin's robots.txt first, and the queue's first turns.
    let warm_up = 2 * hosts as u32 + 2 * IN_FLIGHT as u32;
    let mut scheduling = 0.0;
    let mut most = 0;
    let mut done = 0;
    while done < warm_up + TIMED {
        // A batch of starts, then a batch of ends: the clock is not read in
        // between, since that takes as long as what is timed.
        let begin = cpu_seconds();
        let mut jobs = Vec::new();
        let wait = loop {
            match engine.poll(now) {
                Poll::Start(job) => jobs.push(job),
                Poll::Load(_) => panic!("nothing was put away"),
                Poll::Wait(at, _) => break Some(at),
                Poll::Idle(_) => break None,
                Poll::Done => panic!("the queue ran dry"),
            }
        };
        let mut spent = cpu_seconds() - begin;
        flying.extend(jobs.iter().map(|job| (now + LATENCY, report(job, &rules))));
        most = most.max(flying.len());
        let next = flying.front().map(|(at, _)| *at);
        now = [wait, next]
            .into_iter()
            .flatten()
            .min()
            .expect("something is in flight");
        let mut due = Vec::new();
        while flying.front().is_some_and(|(at, _)| *at <= now) {
            due.extend(flying.pop_front().map(|(_, report)| report));
        }
        let ended = due.len() as u32;
        let begin = cpu_seconds();
        for report in due {
            black_box(engine.finish(report, now));
        }
        spent += cpu_seconds() - begin;
        done += ended;
        if done > warm_up {
            scheduling += spent;
        }
    }
    println!(
        "  {name:24} {:6.2}  {:6.2}   ({most} in flight)",
        scheduling / f64::from(done - warm_up) * 1e6,
        pushing / QUEUED as f64 * 1e6
    );
}

fn weigh(hosts: usize, put_away_over: Option<usize>) {
    let mut engine = engine(hosts, Duration::ZERO, put_away_over);
    let now = Instant::now();
    engine.begin_run(now);
    let before = resident();
    for number in 0..WEIGHED {
        let _ = engine.push(candidate(number, hosts), now);
        // Where it goes takes no memory.
        let away = engine.take_outgoing().into_iter().map(|(id, _)| id);
        engine.put_away(away.collect(), true);
    }
    let bytes = resident().saturating_sub(before);
    let part = if put_away_over.is_some() {
        ", with a part put away"
    } else {
        ""
    };
    println!(
        "  {hosts:6} hosts{part} {:6.1}",
        bytes as f64 / WEIGHED as f64
    );
    assert_eq!(engine.pending(), WEIGHED as u64);
}

/// Memory of this process in use.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm
        .split(' ')
        .nth(1)
        .and_then(|field| field.parse::<u64>().ok());
    pages.unwrap_or_default() * PAGE_BYTES
}
