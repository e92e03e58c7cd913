//! [`Web`]: the hosts of a plan, answering. Keeps: an answer depends on the
//! plan, the URL, how often it was asked for and, for dying hosts, the time.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use canter::{ErrorKind, Request, Tag, Url};
use fastrand::Rng;

use crate::drive::{Answer, Handled, Link, WALL_EPOCH, World};
use crate::plan::{HostPlan, Plan, RobotsTemper, Temper};

/// When a dying host dies.
const DEATH: Duration = Duration::from_secs(120);

/// The hosts of a plan.
pub(crate) struct Web {
    plan: Rc<Plan>,
    asked: HashMap<String, u32>,
}

/// The number of a host, from its name.
pub(crate) fn number_of(host: &str) -> Option<usize> {
    host.strip_prefix('h')?.strip_suffix(".test")?.parse().ok()
}

/// The URL of a page.
pub(crate) fn page(host: usize, path: &str) -> String {
    format!("http://h{host}.test{path}")
}

impl Web {
    pub(crate) fn new(plan: Rc<Plan>) -> Self {
        Web {
            plan,
            asked: HashMap::new(),
        }
    }
}

impl World for Web {
    fn answer(&mut self, request: &Request, robots: bool, at: Duration) -> Answer {
        let url = request.url();
        let nth = self.asked.entry(url.as_str().to_owned()).or_default();
        *nth += 1;
        let mut hasher = DefaultHasher::new();
        (self.plan.seed, url.as_str(), *nth).hash(&mut hasher);
        let rng = &mut Rng::with_seed(hasher.finish());
        let Some(number) = url.host_str().and_then(number_of) else {
            return Answer::status(404);
        };
        let host = &self.plan.hosts[number];
        if robots {
            return robots_txt(host, number, self.plan.hosts.len(), *nth, rng);
        }
        let latency = match host.temper {
            Temper::Slow => Duration::from_secs(rng.u64(1..60)),
            _ => short(host, rng),
        };
        page_of(&self.plan, host, number, url, at, latency, rng).takes(latency)
    }
}

/// An ordinary latency, in tenths of a second.
fn short(host: &HostPlan, rng: &mut Rng) -> Duration {
    let tenths = host.latency.as_millis() as u64 / 100;
    Duration::from_millis(rng.u64(0..=tenths) * 100)
}

fn robots_txt(host: &HostPlan, number: usize, hosts: usize, nth: u32, rng: &mut Rng) -> Answer {
    const PRIVATE: &str = "User-agent: *\nDisallow: /private\n";
    let broken = |rng: &mut Rng| match rng.u32(0..4) {
        0 => Answer::status(500),
        1 => Answer::broken(ErrorKind::Timeout),
        2 => Answer::unanswered(),
        _ => Answer::broken(ErrorKind::Connect),
    };
    let answer = match host.robots {
        RobotsTemper::Missing => Answer::status(404),
        RobotsTemper::Forbidden => Answer::status(403),
        RobotsTemper::Private | RobotsTemper::Slow => Answer::robots(PRIVATE),
        RobotsTemper::All => Answer::robots("User-agent: *\nDisallow: /\n"),
        RobotsTemper::Delay(seconds) => {
            Answer::robots(&format!("{PRIVATE}Crawl-delay: {seconds}\n"))
        }
        RobotsTemper::Broken => broken(rng),
        RobotsTemper::Flaky(times) if nth <= times => broken(rng),
        RobotsTemper::Throttled if nth == 1 => Answer::status(429).retry_after(rng.u32(1..30)),
        RobotsTemper::Flaky(_) | RobotsTemper::Throttled => Answer::robots(PRIVATE),
        RobotsTemper::Elsewhere => {
            Answer::redirect(301, &page((number + 1) % hosts, "/robots.txt"))
        }
        RobotsTemper::Mapped => Answer::robots(&format!("{PRIVATE}Sitemap: /map.xml\n")),
    };
    let latency = match host.robots {
        RobotsTemper::Slow => Duration::from_secs(60),
        _ => short(host, rng),
    };
    answer.takes(latency)
}

fn page_of(
    plan: &Plan,
    host: &HostPlan,
    number: usize,
    url: &Url,
    at: Duration,
    latency: Duration,
    rng: &mut Rng,
) -> Answer {
    let well = |rng: &mut Rng| Answer::ok().links(links(plan, host, number, url, rng));
    let throttles = |rng: &mut Rng| Answer::status(if rng.bool() { 429 } else { 503 });
    // The moods of a URL stay the same however often it is asked for.
    let mut hasher = DefaultHasher::new();
    (plan.seed, url.as_str()).hash(&mut hasher);
    let lasting = hasher.finish().is_multiple_of(2);
    match host.temper {
        Temper::Flaky if rng.u32(0..3) == 0 => match rng.u32(0..7) {
            0 => Answer::status(500),
            1 => Answer::status(408),
            2 => Answer::broken(ErrorKind::Timeout),
            3 => Answer::broken(ErrorKind::Connect),
            4 => Answer::status(500).retry_after(30),
            5 => Answer::unanswered(),
            _ => Answer::broken(ErrorKind::TooLarge),
        },
        Temper::Throttling if rng.bool() => throttles(rng),
        Temper::Asking if rng.bool() => {
            let value = retry_after(at + latency, rng);
            throttles(rng).retry_after(value)
        }
        Temper::Refusing => Answer::status(if rng.bool() { 403 } else { 401 }),
        Temper::Dying if at >= DEATH => Answer::broken(ErrorKind::Connect),
        Temper::Moved if lasting => Answer::redirect(301, &target(plan, number, rng)),
        Temper::Rotten if lasting => Answer::status(if rng.bool() { 404 } else { 410 }),
        Temper::Moody => well(rng).with(mood(plan, rng)),
        _ => well(rng),
    }
}

/// Seconds, dates to come and gone by, and what is neither.
fn retry_after(now: Duration, rng: &mut Rng) -> String {
    let wall = SystemTime::UNIX_EPOCH + WALL_EPOCH + now;
    let date = |at: SystemTime| httpdate::fmt_http_date(at);
    match rng.u32(0..6) {
        0 => "0".to_owned(),
        1 => "soon".to_owned(),
        2 => date(wall + Duration::from_secs(rng.u64(1..90))),
        3 => date(wall - Duration::from_secs(rng.u64(1..9000))),
        _ => rng.u32(1..90).to_string(),
    }
}

/// Where a redirect leads.
fn target(plan: &Plan, number: usize, rng: &mut Rng) -> String {
    let other = rng.usize(0..plan.hosts.len());
    match rng.u32(0..8) {
        0 => "http://out0.example/".to_owned(),
        1 => page(number, "/private/moved"),
        2 => page(number, &format!("/moved{}", rng.u32(0..9))),
        3 => page(other, "/landed"),
        _ => page(other, &format!("/p{}", rng.u32(0..plan.hosts[other].pages))),
    }
}

fn mood(plan: &Plan, rng: &mut Rng) -> Handled {
    let own = rng.bool();
    let tag = (!own).then(|| tag(plan, rng));
    let tenths = Duration::from_millis(rng.u64(0..300) * 100);
    match rng.u32(0..200) {
        0 => Handled::Stop,
        1 => Handled::Fatal,
        2..5 => Handled::Abort(tag),
        5..20 => Handled::Retry(None),
        20..35 => Handled::Retry(Some(tenths)),
        35..55 => Handled::Backoff(tag, tenths),
        55..70 => Handled::Fail(ErrorKind::Worker),
        70..85 => Handled::Fail(ErrorKind::Http),
        85..90 => Handled::Fail(ErrorKind::Extract),
        90..95 => Handled::Fail(ErrorKind::Cancelled),
        _ => Handled::Done,
    }
}

fn tag(plan: &Plan, rng: &mut Rng) -> Tag {
    match rng.u64(0..plan.tags) {
        0 => Tag::UNTAGGED,
        n => Tag::from(format!("t{n}")),
    }
}

/// The links of a page: two pages that only it makes known for sure, and some
/// more to anywhere.
fn links(plan: &Plan, host: &HostPlan, number: usize, url: &Url, rng: &mut Rng) -> Vec<Link> {
    let mut hrefs = Vec::new();
    let of_page = url
        .path()
        .strip_prefix("/p")
        .and_then(|n| n.parse::<u32>().ok());
    if let Some(n) = of_page {
        let known = [2 * n + 1, 2 * n + 2]
            .into_iter()
            .filter(|n| *n < host.pages);
        hrefs.extend(known.map(|n| format!("/p{n}")));
    }
    for _ in 0..rng.u64(0..=plan.links) {
        let other = rng.usize(0..plan.hosts.len());
        let of_other = rng.u32(0..plan.hosts[other].pages);
        hrefs.push(match rng.u32(0..10) {
            0 => format!("http://out{}.example/", rng.u32(0..3)),
            1 => format!("/private/p{}", rng.u32(0..9)),
            2 => url.path().to_owned(),
            3 if host.secure => format!("https://h{number}.test/p{}", rng.u32(0..host.pages)),
            4 | 5 => page(other, &format!("/p{of_other}")),
            6 => page(other, &format!("/p{of_other}#part")),
            7 if plan.hosts[other].secure => format!("https://h{other}.test/p{of_other}"),
            _ => format!("/p{}", rng.u32(0..host.pages)),
        });
    }
    let mut links: Vec<Link> = hrefs
        .into_iter()
        .map(|href| Link {
            href,
            tag: tag(plan, rng),
            priority: if rng.u32(0..8) == 0 {
                rng.i32(-2..3)
            } else {
                0
            },
        })
        .collect();
    // Last of all, so that nothing else changes when a host is left out.
    links.retain(|link| {
        let host = link.href.split('/').nth(2).unwrap_or_default();
        !number_of(host).is_some_and(|number| plan.hosts[number].absent)
    });
    links
}
