//! The pace of a crawl by the program, read from the server's log: real time,
//! real sockets. Rates are higher and delays shorter than anybody should use,
//! so that the tests are quick.

#![cfg(feature = "cli")]

mod common;

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::{Crawl, Crawled, Log, Req, Resp, Server};

const HOSTS: [&str; 2] = ["127.0.0.1", "127.0.0.2"];
/// How late the server may notice a request, on a busy machine. A gap may look
/// so much shorter than it was.
const SLACK: Duration = Duration::from_millis(40);

fn two_hosts(handler: impl Fn(&Req) -> Resp + Send + Sync + 'static) -> Server {
    Server::builder().addresses(&HOSTS).start(handler)
}

fn is_first(req: &Req) -> bool {
    req.host.to_string() == HOSTS[0]
}

fn links(paths: impl IntoIterator<Item = String>) -> String {
    paths.into_iter().fold(String::new(), |mut html, path| {
        let _ = write!(html, "<a href={path}>x</a>");
        html
    })
}

/// From the first request to the last.
fn span(log: &Log) -> Duration {
    let (first, last) = (
        log.first().expect("requests"),
        log.last().expect("requests"),
    );
    last.at - first.at
}

/// 600 a minute.
const INTERVAL: Duration = Duration::from_millis(100);
/// Links of each home page.
const LINKS: usize = 30;

/// The part of the rate that a thread uses which does nothing but sleep: what
/// this machine allows while `work` goes on.
fn possible_while<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            let (start, mut naps) = (Instant::now(), 0);
            while !over.load(Ordering::Relaxed) {
                std::thread::sleep(INTERVAL);
                naps += 1;
            }
            (INTERVAL * naps).as_secs_f64() / start.elapsed().as_secs_f64()
        });
        let done = work();
        over.store(true, Ordering::Relaxed);
        (sleeper.join().expect("it only sleeps"), done)
    })
}

/// A crawl of pages, hops, robots.txt and retries on two hosts. The bound
/// holds in any window; gives the part of it that was used.
fn used_part_of_the_rate() -> f64 {
    let home = links((0..LINKS).map(|n| match n % 10 {
        0 => format!("/moved/{n}"),
        5 => format!("/flaky/{n}"),
        _ => format!("/{n}"),
    }));
    let server = two_hosts(move |req| match req.path.split('/').nth(1) {
        Some("") => Resp::html(home.clone()),
        Some("robots.txt") => Resp::text("User-agent: *\nDisallow: /no\n"),
        Some("moved") => Resp::redirect(301, format!("/to{}", req.path)),
        Some("flaky") if req.nth == 1 => Resp::new(500),
        _ => Resp::html("a page"),
    });
    let crawled = Crawl::new(HOSTS.map(|host| server.url_on(host, "/")))
        .set("policy.max_requests_per_minute=600")
        .run()
        .expect(0);
    let log = server.log();
    // robots.txt, home and its pages; hops; retries.
    assert_eq!(log.len(), 2 * (1 + 1 + LINKS + LINKS / 10 + LINKS / 10));
    assert_eq!(crawled.summary["retried"], 2 * LINKS / 10);
    let gaps = u32::try_from(log.len() - 1).expect("few");
    assert!(span(&log) + SLACK >= INTERVAL * gaps, "{:?}", span(&log));
    for seconds in [1, 3] {
        let window = Duration::from_secs(seconds);
        let bound = window.as_millis() / INTERVAL.as_millis();
        let most = log.max_in_window(window.saturating_sub(2 * SLACK)) as u128;
        assert!(most <= bound, "{most} in {window:?}");
    }
    (INTERVAL * gaps).as_secs_f64() / span(&log).as_secs_f64()
}

#[test]
fn the_rate_is_never_passed_and_used_while_there_is_work() {
    // A machine that is busy with something else wakes threads late, and what
    // is late is lost: so the part is taken of what is possible, in three tries.
    let mut tries = Vec::new();
    let enough = |(possible, used): &(f64, f64)| *used >= 0.95 * possible;
    while tries.len() < 3 && !tries.iter().any(enough) {
        tries.push(possible_while(used_part_of_the_rate));
    }
    assert!(tries.iter().any(enough), "possible and used: {tries:?}");
}

#[test]
fn whatever_way_a_url_comes_in_its_host_has_its_gap() {
    const GAP: Duration = Duration::from_millis(70);
    let server = two_hosts(|req| {
        let number = |prefix: &str| {
            let rest = req.path.strip_prefix(prefix)?;
            rest.parse::<usize>().ok()
        };
        let origin = format!("http://{}:{}", req.host, req.port);
        match req.path.as_str() {
            _ if !is_first(req) => Resp::html("the other host"),
            "/robots.txt" => Resp::text(format!("Sitemap: {origin}/map.xml\n")),
            "/map.xml" => {
                let entries: String = (0..10)
                    .map(|n| format!("<url><loc>{origin}/mapped/{n}</loc></url>"))
                    .collect();
                Resp::ok("application/xml", format!("<urlset>{entries}</urlset>"))
            }
            "/seed/0" => Resp::html(links((0..10).map(|n| format!("/linked/{n}")))),
            _ if number("/linked/").is_some_and(|n| n < 5) => {
                Resp::redirect(302, format!("/to{}", req.path))
            }
            "/linked/5" => Resp::redirect(302, format!("http://127.0.0.2:{}/a", req.port)),
            "/linked/6" => Resp::redirect(302, format!("http://127.0.0.2:{}/b", req.port)),
            _ if number("/mapped/").is_some_and(|n| n < 5) && req.nth == 1 => Resp::new(503),
            _ => Resp::html("a page"),
        }
    });
    let seeds: Vec<_> = (0..10).map(|n| server.url(&format!("/seed/{n}"))).collect();
    let crawl = Crawl::new(seeds)
        .set("crawl.sitemaps=true")
        .set("scope.hosts=['127.0.0.1','127.0.0.2']")
        .set(format!("policy.host_delay={}", GAP.as_secs_f64()))
        .set("policy.max_host_delay=0.1")
        .set("policy.concurrency=8")
        .with_state();
    let assert_gaps = |log: &Log| {
        for host in HOSTS {
            // One that was noticed late has a long gap before it and a short
            // one behind it: few of those, and none in the sum.
            let gaps = log.gaps(host);
            let short = gaps.iter().filter(|gap| **gap + SLACK < GAP).count();
            assert!(short <= 2, "{host}: {gaps:?}");
            for from in 0..gaps.len() {
                let mut sum = Duration::ZERO;
                for (count, gap) in (1_u32..).zip(&gaps[from..]) {
                    sum += *gap;
                    assert!(sum + 3 * SLACK >= GAP * count, "{host}: {gaps:?}");
                }
            }
        }
    };
    // What is left of the first run is the resumed part of the second.
    let first = crawl.program().arg("--max-requests=15").run();
    first.expect_code(3);
    assert_eq!(server.requests(), 15);
    assert_gaps(&server.log());
    server.clear_log();
    let crawled = crawl.run();
    crawled.run.expect_code(0);
    assert_eq!(crawled.records.len(), 10 + 10 + 8 + 2);
    assert_gaps(&server.log());
    assert!(server.log().on(HOSTS[1]).len() >= 2);
}

/// A crawl of two hosts, the first of which answers one of its pages once with
/// this.
fn crawl_with_a_pause(status: u16, seconds: &'static str) -> (Server, Crawled) {
    let server = two_hosts(move |req| match req.path.as_str() {
        "/robots.txt" => Resp::new(404),
        "/busy" if req.nth == 1 => Resp::new(status).header("Retry-After", seconds),
        _ => Resp::html("a page"),
    });
    let mut seeds = vec![server.url("/busy")];
    seeds.extend((0..20).map(|n| server.url_on(HOSTS[0], &format!("/{n}"))));
    seeds.extend((0..20).map(|n| server.url_on(HOSTS[1], &format!("/{n}"))));
    let crawled = Crawl::new(seeds)
        .set("policy.host_delay=0.03")
        .set("policy.concurrency=2")
        .run()
        .expect(0);
    (server, crawled)
}

#[test]
fn a_retry_after_silences_its_host_alone_and_exactly_so_long() {
    for (status, header, pause) in [
        (429, "1", Duration::from_secs(1)),
        (503, "0.6", Duration::from_secs(1)),
    ] {
        let (server, crawled) = crawl_with_a_pause(status, header);
        assert_eq!(crawled.records.len(), 41);
        let log = server.log();
        let busy = log.filter(|entry| entry.path == "/busy");
        assert_eq!(busy.len(), 2);
        let answered = busy[0].answered.expect("it was answered");
        let after = log.on(HOSTS[0]).filter(|entry| entry.at > answered);
        // One may have been on its way.
        let next = after.iter().find(|entry| entry.at > answered + SLACK);
        let silence = next.expect("it goes on").at - answered;
        assert!(silence + SLACK >= pause, "{silence:?}");
        assert!(silence < pause + 10 * SLACK, "{silence:?}");
        let others = log
            .on(HOSTS[1])
            .filter(|entry| entry.at > answered && entry.at < answered + pause);
        assert!(
            others.len() >= 15,
            "the other host goes on: {}",
            others.len()
        );
        let line = crawled.line(&server.url("/busy"));
        assert_eq!(line["attempts"], 2);
    }
}

#[test]
fn retries_come_after_one_two_and_four_steps() {
    const STEP: Duration = Duration::from_millis(300);
    let server = Server::start(|req| match req.path.as_str() {
        "/robots.txt" => Resp::new(404),
        _ if req.nth <= 3 => Resp::new(500),
        _ => Resp::html("at last"),
    });
    let crawled = Crawl::new([server.url("/")])
        .set(format!("policy.retry_delay={}", STEP.as_secs_f64()))
        .run()
        .expect(0);
    assert_eq!(crawled.line(&server.url("/"))["attempts"], 4);
    let log = server.log().filter(|entry| entry.path == "/");
    let gaps = log.gaps(HOSTS[0]);
    assert_eq!(gaps.len(), 3);
    for (gap, steps) in gaps.iter().zip([1, 2, 4]) {
        assert!(*gap + SLACK >= STEP * steps, "{gaps:?}");
    }
}

#[test]
fn warm_up_raises_the_cap_from_one_to_the_concurrency() {
    const CONCURRENCY: f64 = 6.0;
    const WARMUP: f64 = 1.2;
    let home = links((0..60).map(|n| format!("/{n}")));
    let server = Server::start(move |req| match req.path.as_str() {
        "/robots.txt" => Resp::new(404),
        "/" => Resp::html(home.clone()),
        _ => Resp::html("a page").delay(Duration::from_millis(120)),
    });
    Crawl::new([server.url("/")])
        .set(format!("policy.concurrency={CONCURRENCY}"))
        .set(format!("policy.host_concurrency={CONCURRENCY}"))
        .set(format!("policy.warmup_seconds={WARMUP}"))
        .run()
        .expect(0);
    let log = server.log();
    for entry in log.iter() {
        let in_flight = log
            .iter()
            .filter(|other| other.at <= entry.at && other.answered.is_none_or(|at| at > entry.at))
            .count();
        // The run begins before its first request comes.
        let since = (entry.at - log[0].at + 3 * SLACK).as_secs_f64();
        let cap = (1.0 + (CONCURRENCY - 1.0) * since / WARMUP).min(CONCURRENCY);
        assert!(
            in_flight as f64 <= cap,
            "{in_flight} in flight after {since} s"
        );
    }
    assert_eq!(log.max_in_flight(), 6, "in the end the cap is used");
}

#[test]
fn jitter_spreads_the_starts_and_leaves_the_rate_as_it_is() {
    const JITTER: Duration = Duration::from_millis(80);
    let home = links((0..25).map(|n| format!("/{n}")));
    let server = Server::start(move |req| match req.path.as_str() {
        "/robots.txt" => Resp::new(404),
        "/" => Resp::html(home.clone()),
        _ => Resp::html("a page"),
    });
    let crawl = |rate: &str| {
        server.clear_log();
        Crawl::new([server.url("/")])
            .set("policy.concurrency=1")
            .set(format!("policy.jitter={}", JITTER.as_secs_f64()))
            .set(format!("policy.max_requests_per_minute={rate}"))
            .run()
            .expect(0);
        server.log()
    };
    let log = crawl("'none'");
    // 26 random waits of 40 ms on average; far less or more has no chance.
    assert!(span(&log) > JITTER * 26 / 5, "{:?}", span(&log));
    let gaps = log.gaps(HOSTS[0]);
    let wide = gaps.iter().filter(|gap| **gap > JITTER / 2).count();
    assert!((3..=23).contains(&wide), "{gaps:?}");
    // A start every 50 ms at most, and one waits 40 on average.
    let log = crawl("1200");
    let gaps = u32::try_from(log.len() - 1).expect("few");
    assert!(span(&log) + SLACK >= Duration::from_millis(50) * gaps);
}
