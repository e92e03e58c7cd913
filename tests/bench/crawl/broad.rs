//! A crawl of very many hosts beside one of a few, with as many pages in all.
//! The names of the hosts are made up, so the crawl is the library's, with a
//! lookup that gives every name one address.

use std::env;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use canter::extract::Html;
use canter::fetch::HttpFetch;
use canter::{Crawler, Policy, Request};

use crate::child::{self, Usage};
use crate::server::Server;
use crate::site;

/// Hosts of the two crawls.
const HOSTS: [usize; 2] = [10, 10_000];
/// Pages of each crawl.
const PAGES: usize = 40_000;
/// Requests in flight.
const CONNECTIONS: usize = 16;
/// Each is run so often, in turn; the least time counts.
const ROUNDS: usize = 3;

/// Measures and prints.
pub(crate) fn run(_: &Path) {
    let page: Arc<str> = site::page(1).into();
    let same = Arc::clone(&page);
    let kept = Server::own(move |_| Some(Arc::clone(&page)));
    let closed = Server::own_closing(move |_| Some(Arc::clone(&same)));
    println!("| hosts | connections are | CPU us a page | peak MiB |");
    println!("|---|---|---|---|");
    for (server, kind) in [(&kept, "kept"), (&closed, "closed by the server")] {
        let mut least = [None::<Usage>; HOSTS.len()];
        for _ in 0..ROUNDS {
            for (hosts, least) in HOSTS.into_iter().zip(&mut least) {
                let usage = child::run(
                    Command::new(env::current_exe().expect("a path"))
                        .arg("hosts")
                        .arg(server.address().port().to_string())
                        .arg(hosts.to_string()),
                );
                assert_eq!(usage.code, Some(0), "{hosts} hosts");
                server.take_asked();
                if least.is_none_or(|least| usage.cpu < least.cpu) {
                    *least = Some(usage);
                }
            }
        }
        for (hosts, usage) in HOSTS.into_iter().zip(least.into_iter().flatten()) {
            let each = usage.cpu.as_secs_f64() * 1e6 / PAGES as f64;
            let peak = usage.peak as f64 / 1024.0;
            println!("| {hosts} | {kind} | {each:.0} | {peak:.1} |");
        }
    }
    println!();
}

/// The crawl itself, in a process of its own.
pub(crate) fn crawl(port: u16, hosts: usize) {
    let fetch = HttpFetch::builder()
        .allow_private(true)
        .connections(CONNECTIONS)
        .lookup(|_| Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]))
        .build()
        .expect("a fetcher");
    let policy = Policy::builder()
        .concurrency(CONNECTIONS)
        .host_concurrency(CONNECTIONS)
        .shutdown_grace(Duration::from_secs(1))
        .build()
        .expect("a policy");
    let seeds = (0..PAGES).map(|n| {
        let (host, page) = (n % hosts, n / hosts);
        Request::get(format!("http://h{host}.test:{port}/page/{page}")).expect("a URL")
    });
    let mut builder = Crawler::builder()
        .policy(policy)
        .obey_robots(false)
        .fetcher(fetch)
        .max_depth(0)
        // Links are resolved and not followed: the same links on more hosts are
        // more URLs, and it is hosts that are compared.
        .handler(|page: Html| {
            let _ = page.links();
        });
    for seed in seeds {
        builder = builder.seed_request(seed);
    }
    let stats = builder.build().expect("a crawl").run().expect("a run");
    assert_eq!(stats.succeeded, PAGES as u64);
}
