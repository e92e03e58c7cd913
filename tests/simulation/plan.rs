//! [`Plan`]: everything that makes one simulated crawl: its web, its policy and
//! its seed. Keeps: a plan alone decides every event, so that a failure can be
//! run again and shrunk.

use std::fmt;
use std::time::Duration;

use canter::frontier::{CHUNK_BYTES, Order};
use canter::{HostRule, Policy, RetryAfterScope, RetryPolicy};
use fastrand::Rng;

/// How a host treats us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Temper {
    /// Answers.
    Fine,
    /// Answers after up to a minute.
    Slow,
    /// Fails a third of the time.
    Flaky,
    /// Answers 429 or 503 half of the time, without saying how long to wait.
    Throttling,
    /// Answers 429 or 503 half of the time, with a Retry-After of any kind.
    Asking,
    /// Answers 403.
    Refusing,
    /// Answers for two minutes and then no more.
    Dying,
    /// Redirects half of its pages.
    Moved,
    /// Has lost half of its pages.
    Rotten,
    /// Its pages make their handler do anything a handler can do.
    Moody,
}

/// How a host's robots.txt is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum RobotsTemper {
    Missing,
    Forbidden,
    /// Forbids `/private`.
    Private,
    /// Forbids everything.
    All,
    /// Forbids `/private` and asks for a delay, in seconds.
    Delay(f64),
    /// Can never be read.
    Broken,
    /// Cannot be read so many times.
    Flaky(u32),
    /// Takes a minute.
    Slow,
    /// Is at the next host.
    Elsewhere,
    /// 429 with a Retry-After, once.
    Throttled,
    /// Names a sitemap.
    Mapped,
}

/// A host of the web.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HostPlan {
    pub(crate) temper: Temper,
    pub(crate) robots: RobotsTemper,
    pub(crate) pages: u32,
    /// The longest an ordinary answer takes.
    pub(crate) latency: Duration,
    /// Whether it is also known by https.
    pub(crate) secure: bool,
    /// Whether its first page is a seed.
    pub(crate) seed: bool,
    /// Whether nobody links to it: it is left out when a plan is shrunk, and
    /// the others keep their numbers.
    pub(crate) absent: bool,
}

impl HostPlan {
    pub(crate) fn plain(pages: u32) -> Self {
        HostPlan {
            temper: Temper::Fine,
            robots: RobotsTemper::Missing,
            pages,
            latency: Duration::ZERO,
            secure: false,
            seed: true,
            absent: false,
        }
    }
}

/// Which hosts belong to the crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScopePlan {
    All,
    OfSeeds,
    /// The hosts with an even number, by name.
    Even,
}

/// One crawl.
#[derive(Clone, PartialEq)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) hosts: Vec<HostPlan>,
    pub(crate) policy: Policy,
    pub(crate) order: Order,
    pub(crate) obey_robots: bool,
    pub(crate) scope: ScopePlan,
    pub(crate) max_depth: Option<u32>,
    /// How many tags links carry, untagged included.
    pub(crate) tags: u64,
    /// Links on a page at most, besides those that make every page known.
    pub(crate) links: u64,
    /// When the stop handle is used.
    pub(crate) stop_at: Option<Duration>,
    /// How often the crawl is run.
    pub(crate) runs: u32,
    /// Over how many bytes the queue is put away in part.
    pub(crate) put_away_over: Option<usize>,
    /// Bytes of the queue that are packed together.
    pub(crate) chunk_bytes: usize,
}

/// How large a crawl is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    Small,
    Middle,
    Large,
}

/// A policy without any pace or bound.
pub(crate) fn unpaced() -> Policy {
    Policy::builder()
        .max_consecutive_failures(0)
        .max_error_rate(1.0)
        .max_host_failures(0)
        .retry(RetryPolicy {
            jitter: 0.0,
            ..RetryPolicy::new(3)
        })
        .build()
        .expect("a valid policy")
}

/// Whole tenths of a second up to `most`: ties are to be common.
fn tenths(rng: &mut Rng, most: u64) -> Duration {
    Duration::from_millis(rng.u64(0..=most * 10) * 100)
}

fn one_in(rng: &mut Rng, n: u32) -> bool {
    rng.u32(0..n) == 0
}

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.usize(0..from.len())]
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A line each: failures are to be read by people.
        writeln!(f, "seed {}, {} hosts:", self.seed, self.hosts.len())?;
        for (number, host) in self
            .hosts
            .iter()
            .enumerate()
            .filter(|(_, host)| !host.absent)
        {
            writeln!(f, "  h{number}: {host:?}")?;
        }
        let Plan {
            order,
            obey_robots,
            scope,
            max_depth,
            tags,
            links,
            stop_at,
            runs,
            put_away_over,
            chunk_bytes,
            ..
        } = self;
        writeln!(f, "  {:?}", self.policy)?;
        write!(
            f,
            "  order {order:?}, obey_robots {obey_robots}, scope {scope:?}, max_depth {max_depth:?}, \
             tags {tags}, links {links}, stop_at {stop_at:?}, runs {runs}, \
             put_away_over {put_away_over:?}, chunk_bytes {chunk_bytes}"
        )
    }
}

impl Plan {
    /// The plan of a seed.
    pub(crate) fn new(seed: u64, size: Size) -> Plan {
        let mut rng = Rng::with_seed(seed);
        let rng = &mut rng;
        let disk = &mut Rng::with_seed(!seed);
        let hosts = match size {
            Size::Small => rng.usize(1..=6),
            Size::Middle => rng.usize(6..=60),
            Size::Large => 10_000,
        };
        let most_pages = match size {
            Size::Small => pick(rng, &[2, 8, 30, 80]),
            Size::Middle => pick(rng, &[4, 20, 100]),
            Size::Large => 24,
        };
        // A crawl in which nobody misbehaves shows up what waits in vain.
        let calm = one_in(rng, 6);
        let mut hosts: Vec<HostPlan> = (0..hosts)
            .map(|_| host(rng, most_pages, calm, size))
            .collect();
        hosts[0].seed = true;
        let policy = policy(rng, hosts.len(), size);
        Plan {
            seed,
            policy,
            order: pick(
                rng,
                &[Order::Fifo, Order::Fifo, Order::Lifo, Order::BestFirst],
            ),
            obey_robots: !one_in(rng, 4),
            scope: match size {
                Size::Large => ScopePlan::All,
                _ => pick(rng, &[ScopePlan::All, ScopePlan::OfSeeds, ScopePlan::Even]),
            },
            max_depth: (size != Size::Large && one_in(rng, 4)).then(|| rng.u32(0..4)),
            tags: rng.u64(1..=3),
            links: if size == Size::Large {
                2
            } else {
                rng.u64(0..6)
            },
            stop_at: (size != Size::Large && one_in(rng, 12)).then(|| tenths(rng, 120)),
            runs: if one_in(rng, 4) { 3 } else { 1 },
            put_away_over: disk.bool().then(|| pick(disk, &[0, 0, 500])),
            chunk_bytes: pick(disk, &[60, 120, 400, CHUNK_BYTES]),
            hosts,
        }
    }

    /// How many pages the web has.
    pub(crate) fn pages(&self) -> u64 {
        self.hosts.iter().map(|host| u64::from(host.pages)).sum()
    }

    /// More events than a crawl of this plan can have: one that gets here goes
    /// round in circles. Each URL (of four spellings at most) is tried a few
    /// times in each run, and each request makes a handful of events.
    pub(crate) fn most_events(&self) -> u64 {
        let urls = (self.pages() * 4 + self.hosts.len() as u64 * 8) * 4;
        let attempts = u64::from(self.policy.retry.max_retries) + 2;
        2_000 + urls * attempts * u64::from(self.runs) * 8
    }
}

fn host(rng: &mut Rng, most_pages: u32, calm: bool, size: Size) -> HostPlan {
    use RobotsTemper as R;
    use Temper as T;
    let tempers = [
        T::Fine,
        T::Fine,
        T::Slow,
        T::Flaky,
        T::Throttling,
        T::Asking,
        T::Refusing,
        T::Dying,
        T::Moved,
        T::Rotten,
        // Handlers that may end the crawl; a large one goes on to its end.
        if size == Size::Large {
            T::Fine
        } else {
            T::Moody
        },
    ];
    let robots = [
        R::Missing,
        R::Missing,
        R::Forbidden,
        R::Private,
        R::Private,
        R::All,
        R::Delay(pick(rng, &[0.2, 1.0, 2.5, 30.0])),
        R::Broken,
        R::Flaky(rng.u32(1..4)),
        R::Slow,
        R::Elsewhere,
        R::Throttled,
        R::Mapped,
    ];
    HostPlan {
        temper: if calm {
            pick(rng, &[T::Fine, T::Slow])
        } else {
            pick(rng, &tempers)
        },
        robots: if calm {
            pick(rng, &robots[..6])
        } else {
            pick(rng, &robots)
        },
        pages: rng.u32(1..=most_pages),
        latency: if one_in(rng, 3) {
            Duration::ZERO
        } else {
            tenths(rng, 3)
        },
        secure: one_in(rng, 5),
        seed: size == Size::Large || one_in(rng, 2),
        absent: false,
    }
}

fn policy(rng: &mut Rng, hosts: usize, size: Size) -> Policy {
    let large = size == Size::Large;
    let mut policy = unpaced();
    policy.concurrency = if large {
        1000
    } else {
        pick(rng, &[1, 2, 3, 5, 8, 16, 40])
    };
    if !large && one_in(rng, 2) {
        policy.max_requests_per_minute = Some(f64::from(pick(
            rng,
            &[1_u32, 6, 30, 59, 60, 120, 601, 6000],
        )));
        policy.burst = if one_in(rng, 3) { rng.u32(2..6) } else { 1 };
    } else if large {
        policy.max_requests_per_minute = Some(60_000.0);
    }
    if one_in(rng, 5) {
        policy.jitter = tenths(rng, 3);
    }
    if one_in(rng, 4) {
        policy.warmup = tenths(rng, 60);
    }
    policy.adaptive_concurrency = one_in(rng, 3);
    policy.retry = RetryPolicy {
        max_retries: rng.u32(0..4),
        delay: tenths(rng, 3),
        factor: pick(rng, &[1.0, 1.5, 2.0, 10.0]),
        max_delay: tenths(rng, 60),
        jitter: if one_in(rng, 3) { 0.2 } else { 0.0 },
    };
    policy.max_retry_after = if one_in(rng, 6) {
        Duration::ZERO
    } else {
        tenths(rng, 120)
    };
    if one_in(rng, 6) {
        policy.retry_after_scope = RetryAfterScope::Crawl;
    }
    policy.host_concurrency = rng.usize(1..=4);
    if one_in(rng, 2) {
        policy.host_delay = tenths(rng, 5);
    }
    if !large && one_in(rng, 20) {
        // Rules of a robots.txt are older than a day before all is done.
        policy.host_delay = Duration::from_secs(3600 * rng.u64(1..40));
    }
    policy.max_host_delay = if one_in(rng, 8) {
        Duration::ZERO
    } else {
        tenths(rng, 60)
    };
    if one_in(rng, 5) {
        policy.max_consecutive_failures = rng.u32(1..20);
    }
    if one_in(rng, 6) {
        policy.max_error_rate = pick(rng, &[0.1, 0.3, 0.5, 0.9]);
        policy.error_rate_window = pick(rng, &[5, 20, 50, 200]);
    }
    if one_in(rng, 2) {
        policy.max_host_failures = rng.u32(1..6);
    }
    if one_in(rng, 8) {
        policy.max_requests = Some(rng.u64(1..60));
    }
    if one_in(rng, 8) {
        policy.deadline = Some(tenths(rng, 300));
    }
    if one_in(rng, 6) {
        policy.max_pages_per_host = Some(rng.u64(1..8));
    }
    policy.shutdown_grace = tenths(rng, 20);
    policy.max_redirects = rng.usize(0..4);
    if one_in(rng, 5) {
        let mut rule = HostRule::new(format!("h{}.test", rng.usize(0..hosts)));
        rule.delay = Some(tenths(rng, 9));
        rule.concurrency = Some(rng.usize(1..4));
        policy.hosts.push(rule);
    }
    if large {
        // It is to go on to its end.
        policy.max_consecutive_failures = 0;
        policy.max_error_rate = 1.0;
        policy.max_requests = None;
        policy.deadline = None;
        policy.max_pages_per_host = None;
    }
    policy.validate().expect("a valid policy");
    policy
}
