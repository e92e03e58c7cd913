//! [`Pool`]: connections that wait for the next request to their host.
//!
//! Invariant: never more than `capacity` of them, none older than
//! [`MAX_IDLE_AGE`] handed out, and each goes only to the route it was opened
//! for. A route whose server has closed a connection under a request learns
//! from it. Sharded by route, so that neither the lock nor the search grows
//! with the number of hosts.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::wire::Wire;

/// How long a connection may idle before it is closed instead of used: below
/// what common servers allow (5 s: Apache, Node), so that a request rarely
/// meets a connection that its server is just closing.
const MAX_IDLE_AGE: Duration = Duration::from_secs(4);
/// How long a route keeps in mind after which idle time its server has closed a
/// connection: servers are set up anew now and then.
const DISTRUST_FOR: Duration = Duration::from_secs(600);
/// A server that closes connections after less idle time than this does not
/// keep them at all: it closes them when the next request comes.
const LEAST_IDLE_AGE: Duration = Duration::from_millis(50);
/// How many routes that have learned are kept in mind; with more, all begin anew.
const MAX_DISTRUSTED: usize = 10_000;
/// Enough that threads rarely meet at one lock, few enough to look through.
const SHARDS: usize = 16;

/// What a connection leads to: scheme and authority of a site, or the proxy
/// that answers for any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Route {
    hash: u64,
    secure: bool,
    authority: Box<str>,
}

impl Route {
    pub(super) fn new(secure: bool, authority: &str) -> Route {
        Route {
            hash: route_hash(secure, authority),
            secure,
            authority: authority.into(),
        }
    }

    fn is(&self, hash: u64, secure: bool, authority: &str) -> bool {
        self.hash == hash && self.secure == secure && *self.authority == *authority
    }
}

fn route_hash(secure: bool, authority: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (secure, authority).hash(&mut hasher);
    hasher.finish()
}

struct Idle {
    since: Instant,
    wire: Box<Wire>,
}

/// The idle connections, oldest first in each shard.
pub(super) struct Pool {
    shards: [Mutex<VecDeque<Idle>>; SHARDS],
    count: AtomicUsize,
    capacity: usize,
    /// By hash of the route.
    distrusted: Mutex<HashMap<u64, Distrust>>,
    /// Whether there are any: most crawls never look further.
    distrusts: AtomicBool,
}

/// What a route has learned.
struct Distrust {
    since: Instant,
    /// How long a connection of it may idle.
    idle_age: Duration,
}

/// A kept connection.
pub(super) struct Kept {
    pub(super) wire: Box<Wire>,
    /// How long it has idled.
    pub(super) idled: Duration,
}

impl Pool {
    pub(super) fn new(capacity: usize) -> Pool {
        Pool {
            shards: std::array::from_fn(|_| Mutex::default()),
            count: AtomicUsize::new(0),
            capacity,
            distrusted: Mutex::default(),
            distrusts: AtomicBool::new(false),
        }
    }

    /// How many connections idle.
    pub(super) fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// The connection of that route that was used last, if there is one that
    /// still works.
    pub(super) fn take(&self, secure: bool, authority: &str, now: Instant) -> Option<Kept> {
        let hash = route_hash(secure, authority);
        let max_idle_age = self.max_idle_age(hash, now);
        loop {
            let found = {
                let mut shard = self.shard(hash);
                let at = shard
                    .iter()
                    .rposition(|idle| idle.wire.route().is(hash, secure, authority))?;
                shard.remove(at)?
            };
            self.count.fetch_sub(1, Ordering::Relaxed);
            // Looked at outside the lock: it takes system calls, and closing
            // does too.
            let idled = now.saturating_duration_since(found.since);
            let mut wire = found.wire;
            if idled < max_idle_age && wire.is_quiet() {
                return Some(Kept { wire, idled });
            }
        }
    }

    /// Keeps a connection, at the cost of the one idle longest in its shard if
    /// there are too many.
    pub(super) fn put(&self, wire: Box<Wire>, now: Instant) {
        let hash = wire.route().hash;
        while self
            .count
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
                (count < self.capacity).then_some(count + 1)
            })
            .is_err()
        {
            let Some(victim) = self.evict(hash) else {
                return;
            };
            drop(victim);
        }
        let mut shard = self.shard(hash);
        shard.push_back(Idle { since: now, wire });
        // At most one outdated connection per return: as many go as come.
        let outdated = shard
            .front()
            .is_some_and(|idle| now.saturating_duration_since(idle.since) >= MAX_IDLE_AGE);
        let outdated = if outdated { shard.pop_front() } else { None };
        drop(shard);
        if outdated.is_some() {
            self.count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Takes in that a server closed a connection under a request, before any
    /// answer, after it had idled that long. Each time the route keeps its
    /// connections for half as long at the most, and soon not at all.
    pub(super) fn distrust(&self, route: &Route, idled: Duration, now: Instant) {
        let mut idle_age = idled.min(MAX_IDLE_AGE) / 2;
        if idle_age < LEAST_IDLE_AGE {
            idle_age = Duration::ZERO;
        }
        let mut distrusted = self.distrusted();
        if distrusted.len() >= MAX_DISTRUSTED {
            distrusted.clear();
        }
        let distrust = distrusted.entry(route.hash).or_insert(Distrust {
            since: now,
            idle_age,
        });
        distrust.since = now;
        distrust.idle_age = distrust.idle_age.min(idle_age);
        self.distrusts.store(true, Ordering::Relaxed);
    }

    fn max_idle_age(&self, hash: u64, now: Instant) -> Duration {
        if !self.distrusts.load(Ordering::Relaxed) {
            return MAX_IDLE_AGE;
        }
        let mut distrusted = self.distrusted();
        match distrusted.get(&hash) {
            Some(distrust) if now.saturating_duration_since(distrust.since) < DISTRUST_FOR => {
                distrust.idle_age
            }
            Some(_) => {
                distrusted.remove(&hash);
                MAX_IDLE_AGE
            }
            None => MAX_IDLE_AGE,
        }
    }

    fn distrusted(&self) -> MutexGuard<'_, HashMap<u64, Distrust>> {
        self.distrusted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn evict(&self, hash: u64) -> Option<Idle> {
        (0..SHARDS as u64)
            .find_map(|step| self.shard(hash.wrapping_add(step)).pop_front())
            .inspect(|_| {
                self.count.fetch_sub(1, Ordering::Relaxed);
            })
    }

    fn shard(&self, hash: u64) -> MutexGuard<'_, VecDeque<Idle>> {
        self.shards[(hash % SHARDS as u64) as usize]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("idle", &self.len())
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};

    use super::super::socket::Socket;
    use super::*;

    /// A wire to a peer of our own.
    fn wire(listener: &TcpListener, route: Route) -> (Box<Wire>, TcpStream) {
        let address = listener.local_addr().expect("address");
        let deadline = Instant::now() + Duration::from_secs(20);
        let socket = Socket::connect(&[address.ip()], address.port(), deadline).expect("connect");
        let peer = listener.accept().expect("accept").0;
        (Wire::plain(socket, route, None), peer)
    }

    fn listener() -> TcpListener {
        TcpListener::bind((IpAddr::V4(Ipv4Addr::LOCALHOST), 0)).expect("bind")
    }

    #[test]
    fn a_connection_goes_back_only_to_the_route_it_came_from() {
        let (pool, listener, now) = (Pool::new(8), listener(), Instant::now());
        let (wire, _peer) = wire(&listener, Route::new(false, "a.test"));
        pool.put(wire, now);
        assert!(pool.take(true, "a.test", now).is_none());
        assert!(pool.take(false, "b.test", now).is_none());
        assert!(pool.take(false, "a.test:81", now).is_none());
        assert!(pool.take(false, "a.test", now).is_some());
        assert_eq!(pool.len(), 0);
    }

    #[test]
    fn what_idled_too_long_or_got_unasked_bytes_is_closed_instead() {
        let (pool, listener, now) = (Pool::new(8), listener(), Instant::now());
        let (old, _old_peer) = wire(&listener, Route::new(false, "a.test"));
        pool.put(old, now);
        assert!(pool.take(false, "a.test", now + MAX_IDLE_AGE).is_none());
        let (odd, mut peer) = wire(&listener, Route::new(false, "a.test"));
        peer.write_all(b"HTTP/1.1 200 OK\r\n\r\n").expect("write");
        peer.flush().expect("flush");
        // Loopback delivers before the write returns.
        pool.put(odd, now);
        assert!(pool.take(false, "a.test", now).is_none());
        assert_eq!(pool.len(), 0);
    }

    #[test]
    fn a_route_whose_server_closes_connections_keeps_them_for_less_long() {
        let (pool, listener, start) = (Pool::new(8), listener(), Instant::now());
        let route = || Route::new(false, "a.test");
        let ms = Duration::from_millis;
        let kept = |idled: Duration, now: Instant| {
            let (wire, _peer) = wire(&listener, route());
            pool.put(wire, now);
            let kept = pool.take(false, "a.test", now + idled);
            kept.inspect(|kept| assert_eq!(kept.idled, idled)).is_some()
        };
        assert!(kept(ms(3999), start));
        pool.distrust(&route(), ms(3000), start);
        assert!(kept(ms(1499), start) && !kept(ms(1500), start));
        // What is learned is not forgotten for less.
        pool.distrust(&route(), ms(3500), start);
        assert!(!kept(ms(1500), start));
        pool.distrust(&route(), ms(99), start);
        assert!(!kept(ms(0), start), "none at all");
        let other = Route::new(false, "b.test");
        let (wire, _peer) = wire(&listener, other);
        pool.put(wire, start);
        assert!(pool.take(false, "b.test", start + ms(3999)).is_some());
        assert!(!kept(ms(0), start + DISTRUST_FOR / 2));
        assert!(kept(ms(3999), start + DISTRUST_FOR));
    }

    #[test]
    fn the_pool_stays_within_its_bound_over_any_number_of_hosts() {
        let (pool, listener, now) = (Pool::new(5), listener(), Instant::now());
        let mut peers = Vec::new();
        for n in 0..40 {
            let (wire, peer) = wire(&listener, Route::new(false, &format!("h{n}.test")));
            pool.put(wire, now);
            peers.push(peer);
            assert!(pool.len() <= 5);
        }
        assert_eq!(pool.len(), 5);
        let held: usize = pool
            .shards
            .iter()
            .map(|shard| shard.lock().map_or(0, |shard| shard.len()))
            .sum();
        assert_eq!(held, 5);
        let none = Pool::new(0);
        let (wire, _peer) = wire(&listener, Route::new(false, "a.test"));
        none.put(wire, now);
        assert_eq!(none.len(), 0);
    }
}
