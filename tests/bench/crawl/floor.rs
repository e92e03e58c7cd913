//! The least that our HTTP client could cost: the same URLs in a bare ureq
//! loop, nothing read but bodies, nothing written. It runs in a process of its
//! own, as everything does that is measured.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use ureq::Agent;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

use crate::site;

/// The buffers that [`HttpFetch`](canter::fetch::HttpFetch) has too.
const INPUT: usize = 16 * 1024;
const OUTPUT: usize = 4 * 1024;

/// Answers every name with one address: ureq's own resolver starts a thread
/// for each lookup.
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

/// Fetches every page of the site once.
pub(crate) fn run(address: SocketAddr, connections: usize) {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_idle_connections(connections)
        .max_idle_connections_per_host(connections)
        .input_buffer_size(INPUT)
        .output_buffer_size(OUTPUT)
        .build();
    let agent = Agent::with_parts(config, DefaultConnector::default(), Fixed(address));
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..connections {
            scope.spawn(|| {
                loop {
                    let page = next.fetch_add(1, Ordering::Relaxed);
                    if page >= site::PAGES {
                        return;
                    }
                    let url = format!("http://{address}{}", site::path(page));
                    let mut response = agent.get(url).call().expect("an answer");
                    let body = response.body_mut().read_to_vec().expect("a body");
                    assert!(!body.is_empty(), "page {page}");
                }
            });
        }
    });
}
