//! CPU seconds per 10,000 requests of the client thread: a loop over plain
//! sockets, a bare ureq loop with its resolver replaced, and `HttpFetch`, over
//! the same pages of 12 KB from a server on loopback.
//!
//! `cargo bench --bench fetch [-- NAME]`. Needs Linux: the time of a thread is
//! read from `/proc`.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use canter::Request;
use canter::fetch::{Fetch, HttpFetch};
use flate2::Compression;
use flate2::write::GzEncoder;
use ureq::Agent;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

/// Requests of one run.
const REQUESTS: usize = 10_000;
/// Each is run so often, in turn; the least time counts.
const ROUNDS: usize = 5;
/// Bytes of a page's body.
const PAGE: usize = 12_000;
/// Hosts of the runs over many hosts.
const HOSTS: usize = 256;
/// Threads of the run with several.
const THREADS: usize = 16;

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Makes its requests; says how many bytes of bodies it got and what processor
/// time that took.
type Run = Box<dyn FnMut() -> (usize, Duration)>;

fn main() {
    let wanted = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    let html = html();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&html).expect("memory");
    let packed = encoder.finish().expect("memory");
    let plain = serve(respond("", &html));
    let gzip = serve(respond("content-encoding: gzip\r\n", &packed));

    let one = move |_: usize| format!("http://bench.test:{}/page", plain.port());
    let many = move |n: usize| format!("http://h{}.test:{}/page", n % HOSTS, plain.port());
    let coded = move |_: usize| format!("http://bench.test:{}/page", gzip.port());
    let mut runs: Vec<(&str, Run)> = vec![
        ("std TcpStream", Box::new(move || timed(|| std_loop(plain)))),
        ("bare ureq", {
            let agent = bare_ureq(plain, 1);
            Box::new(move || timed(|| ureq_loop(&agent, one)))
        }),
        ("bare ureq, timeout", {
            let agent = bare_ureq_with_timeout(plain);
            Box::new(move || timed(|| ureq_loop(&agent, one)))
        }),
        ("HttpFetch", {
            let fetch = fetcher();
            Box::new(move || timed(|| fetch_loop(&fetch, REQUESTS, one)))
        }),
        ("HttpFetch, gzip", {
            let fetch = fetcher();
            Box::new(move || timed(|| fetch_loop(&fetch, REQUESTS, coded)))
        }),
        ("HttpFetch, 256 hosts", {
            let fetch = fetcher();
            Box::new(move || timed(|| fetch_loop(&fetch, REQUESTS, many)))
        }),
        ("HttpFetch, 16 threads", {
            let fetch = fetcher();
            Box::new(move || {
                let per_thread = REQUESTS / THREADS;
                let each = || timed(|| fetch_loop(&fetch, per_thread, one));
                thread::scope(|scope| {
                    let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(each)).collect();
                    threads
                        .into_iter()
                        .map(|thread| thread.join().expect("no panic"))
                        .fold((0, Duration::ZERO), |sum, one| {
                            (sum.0 + one.0, sum.1 + one.1)
                        })
                })
            })
        }),
    ];
    runs.retain(|(name, _)| wanted.as_deref().is_none_or(|wanted| *name == wanted));
    let mut least = vec![Duration::MAX; runs.len()];
    for _ in 0..ROUNDS {
        for (least, (name, run)) in least.iter_mut().zip(&mut runs) {
            let (bytes, time) = run();
            *least = (*least).min(time);
            assert_eq!(bytes, REQUESTS * PAGE, "{name}");
        }
    }
    println!("CPU seconds per {REQUESTS} requests, least of {ROUNDS} runs");
    for ((name, _), least) in runs.iter().zip(least) {
        println!("{name:24} {:.3}", least.as_secs_f64());
    }
}

fn timed(work: impl FnOnce() -> usize) -> (usize, Duration) {
    let begin = thread_time();
    let bytes = work();
    (bytes, thread_time().saturating_sub(begin))
}

/// The time that this thread has been on a processor.
fn thread_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let nanos = text.split(' ').next().and_then(|text| text.parse().ok());
    Duration::from_nanos(nanos.expect("a number of nanoseconds"))
}

fn html() -> Vec<u8> {
    let mut page = String::from("<!doctype html><title>a page</title>");
    let mut n = 0;
    while page.len() < PAGE {
        write!(page, "<p>text of some length <a href='/page/{n}'>{n}</a>").expect("memory");
        n += 1;
    }
    page.truncate(PAGE);
    page.into_bytes()
}

fn respond(lines: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nserver: bench\r\ndate: Thu, 01 Jan 2026 00:00:00 GMT\r\n\
         content-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
         last-modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nconnection: keep-alive\r\n\
         etag: \"0123456789\"\r\naccept-ranges: bytes\r\n{lines}\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// A server that answers every request with the same bytes.
fn serve(answer: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind((LOOPBACK, 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            stream.set_nodelay(true).expect("no delay");
            let answer = answer.clone();
            thread::spawn(move || {
                let mut request = [0; 4096];
                // A request comes in one piece on loopback.
                while stream.read(&mut request).is_ok_and(|read| read > 0) {
                    if stream.write_all(&answer).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

fn std_loop(address: SocketAddr) -> usize {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_nodelay(true).expect("no delay");
    let mut buffer = vec![0; 16 * 1024];
    let mut bytes = 0;
    for _ in 0..REQUESTS {
        stream
            .write_all(b"GET /page HTTP/1.1\r\nhost: bench.test\r\naccept: */*\r\n\r\n")
            .expect("sent");
        let mut filled = 0;
        let body = loop {
            let read = stream.read(&mut buffer[filled..]).expect("read");
            assert!(read > 0);
            filled += read;
            let end = buffer[..filled]
                .windows(4)
                .position(|four| four == b"\r\n\r\n");
            if let Some(head) = end
                && filled == head + 4 + PAGE
            {
                break buffer[head + 4..filled].to_vec();
            }
        };
        bytes += body.len();
    }
    bytes
}

/// Answers every name with one address, without asking anybody.
#[derive(Debug)]
struct Fixed(SocketAddr);

impl Resolver for Fixed {
    fn resolve(
        &self,
        _: &Uri,
        _: &Config,
        _: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let mut addresses = self.empty();
        addresses.push(self.0);
        Ok(addresses)
    }
}

fn bare_ureq(address: SocketAddr, hosts: usize) -> Agent {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_idle_connections(hosts)
        .input_buffer_size(16 * 1024)
        .output_buffer_size(4 * 1024)
        .build();
    Agent::with_parts(config, DefaultConnector::default(), Fixed(address))
}

fn bare_ureq_with_timeout(address: SocketAddr) -> Agent {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_global(Some(Duration::from_secs(30)))
        .input_buffer_size(16 * 1024)
        .output_buffer_size(4 * 1024)
        .build();
    Agent::with_parts(config, DefaultConnector::default(), Fixed(address))
}

fn ureq_loop(agent: &Agent, url: impl Fn(usize) -> String) -> usize {
    (0..REQUESTS)
        .map(|n| {
            let mut response = agent.get(url(n)).call().expect("an answer");
            response.body_mut().read_to_vec().expect("a body").len()
        })
        .sum()
}

fn fetcher() -> HttpFetch {
    HttpFetch::builder()
        .allow_private(true)
        .connections(HOSTS)
        .lookup(|_| Ok(vec![LOOPBACK]))
        .build()
        .expect("a fetcher")
}

fn fetch_loop(fetch: &HttpFetch, requests: usize, url: impl Fn(usize) -> String) -> usize {
    (0..requests)
        .map(|n| {
            let request = Request::get(url(n)).expect("a URL");
            let deadline = Instant::now() + Duration::from_secs(30);
            let response = fetch.fetch(&request, deadline).expect("an answer");
            response.body().len()
        })
        .sum()
}
