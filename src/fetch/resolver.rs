//! [`Resolver`]: names to addresses, remembered.
//!
//! Invariant: a lookup never outlives its caller's deadline, however long the
//! system's resolver takes: names are looked up on a bounded number of threads
//! of their own, one lookup per name at a time, and callers only wait for the
//! answer. Address literals and remembered names need no thread.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver as UreqResolver};
use ureq::unversioned::transport::NextTimeout;

use super::fault::Fault;
use super::guard::{Guard, bare_host, special_address};

/// How long addresses are kept. Names move rarely, and a crawl asks for the
/// same host again and again.
const KEEP_FOUND: Duration = Duration::from_secs(300);
/// How long a failed lookup is kept: long enough that the URLs of a dead host
/// do not each ask anew, shorter than the default retries take together
/// (0.5 s + 1 s + 2 s), so that the last one asks again.
const KEEP_FAILED: Duration = Duration::from_secs(3);
/// How many names are remembered, some hundred bytes each.
const MAX_HOSTS: usize = 10_000;
/// What part of the names is dropped when there are too many: one in this many.
const EVICT_PART: usize = 8;
/// Lookups at once. Lookups that hang hold a thread each; the others wait for
/// one that is free, until their own deadline.
const MAX_LOOKUPS: usize = 16;
/// Stack of a lookup thread, in bytes; the system's resolver needs less than
/// half of it.
const LOOKUP_STACK: usize = 256 * 1024;
/// The addresses of one host that are tried.
const MAX_ADDRESSES: usize = 8;

/// Looks one name up; the system's resolver unless a user gives another.
pub(super) type LookupFn = dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync;

/// The addresses of a host, in the order they are tried.
pub(super) type Addresses = Arc<[IpAddr]>;

/// A caching resolver that refuses addresses which the [`Guard`] does not let
/// through.
pub(super) struct Resolver {
    shared: Arc<Shared>,
    guard: Guard,
    /// The proxy, as `host:port`: named by the configuration, so trusted, but
    /// only as the proxy and not as a site.
    proxy: Option<(String, u16)>,
}

struct Shared {
    lookup: Box<LookupFn>,
    state: Mutex<State>,
    answered: Condvar,
}

#[derive(Default)]
struct State {
    hosts: HashMap<Box<str>, Entry>,
    waiting: VecDeque<Box<str>>,
    threads: usize,
}

enum Entry {
    Asked,
    Known(Result<Addresses, Arc<str>>, Instant),
}

impl Resolver {
    pub(super) fn new(
        guard: Guard,
        proxy: Option<(String, u16)>,
        lookup: Option<Box<LookupFn>>,
    ) -> Self {
        Resolver {
            shared: Arc::new(Shared {
                lookup: lookup.unwrap_or_else(|| Box::new(system_lookup)),
                state: Mutex::default(),
                answered: Condvar::new(),
            }),
            guard,
            proxy,
        }
    }

    /// The addresses of a host that may be connected to, by the deadline.
    /// `host` is as in a URL: lower case, an IPv6 address in brackets.
    pub(super) fn lookup(
        &self,
        host: &str,
        port: u16,
        deadline: Instant,
    ) -> Result<Addresses, Fault> {
        let host = bare_host(host);
        let found = match host.parse::<IpAddr>() {
            Ok(address) => Arc::from([address]),
            Err(_) => self.lookup_name(host, deadline)?,
        };
        self.permitted(host, port, found)
    }

    /// Refuses an address literal of the inner network without any lookup.
    /// A proxy resolves names itself; this much can be checked before it.
    pub(super) fn check_literal(&self, host: &str) -> Result<(), Fault> {
        let host = bare_host(host);
        match host.parse::<IpAddr>() {
            Ok(address) if !self.guard.trusts(host) => match special_address(address) {
                Some(kind) => Err(refusal(host, address, kind)),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Forgets a host, so that its next request looks it up again.
    pub(super) fn forget(&self, host: &str) {
        let mut state = self.shared.lock();
        let host = bare_host(host);
        if matches!(state.hosts.get(host), Some(Entry::Known(..))) {
            state.hosts.remove(host);
        }
    }

    fn permitted(&self, host: &str, port: u16, found: Addresses) -> Result<Addresses, Fault> {
        if self.guard.trusts(host)
            || self
                .proxy
                .as_ref()
                .is_some_and(|(name, at)| name == host && *at == port)
        {
            return Ok(found);
        }
        let special = found
            .iter()
            .find_map(|&address| Some((address, special_address(address)?)));
        let Some((address, kind)) = special else {
            return Ok(found);
        };
        // A host with public addresses too is reached by those alone.
        let public: Addresses = found
            .iter()
            .copied()
            .filter(|&address| special_address(address).is_none())
            .collect();
        if public.is_empty() {
            return Err(refusal(host, address, kind));
        }
        Ok(public)
    }

    fn lookup_name(&self, host: &str, deadline: Instant) -> Result<Addresses, Fault> {
        let shared = &self.shared;
        let mut state = shared.lock();
        loop {
            let now = Instant::now();
            match state.hosts.get(host) {
                Some(Entry::Known(answer, until)) if *until > now => {
                    return answer
                        .clone()
                        .map_err(|why| Fault::Lookup(format!("cannot look up {host:?}: {why}")));
                }
                Some(Entry::Asked) => {}
                _ => self.ask(&mut state, host)?,
            }
            let Some(left) = deadline
                .checked_duration_since(now)
                .filter(|left| !left.is_zero())
            else {
                return Err(Fault::Timeout("looking up the host"));
            };
            state = shared
                .answered
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Puts a name in the queue and sees to it that a thread works it off.
    fn ask(&self, state: &mut State, host: &str) -> Result<(), Fault> {
        state.make_room(Instant::now());
        if state.threads < MAX_LOOKUPS {
            let shared = Arc::clone(&self.shared);
            let started = thread::Builder::new()
                .name("canter-lookup".to_owned())
                .stack_size(LOOKUP_STACK)
                .spawn(move || shared.work());
            match started {
                Ok(_) => state.threads += 1,
                Err(error) if state.threads == 0 => {
                    return Err(Fault::Connection("cannot start a lookup thread", error));
                }
                // The threads that there are will come to it.
                Err(_) => {}
            }
        }
        state.hosts.insert(host.into(), Entry::Asked);
        state.waiting.push_back(host.into());
        Ok(())
    }
}

fn refusal(host: &str, address: IpAddr, kind: &str) -> Fault {
    let what = if address.to_string() == host {
        format!("{host} is a {kind} address")
    } else {
        format!("{host} has the {kind} address {address}")
    };
    Fault::Refused(format!(
        "{what}, which is refused unless the host is allowed by name or `allow_private` is on"
    ))
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks up waiting names until there are none.
    fn work(&self) {
        let mut state = self.lock();
        while let Some(host) = state.waiting.pop_front() {
            drop(state);
            // A user's lookup function may panic; the callers must not hang.
            let answer = catch_unwind(AssertUnwindSafe(|| (self.lookup)(&host)))
                .unwrap_or_else(|_| Err(io::Error::other("the lookup function panicked")));
            let (answer, keep) = match answer {
                Ok(found) if found.is_empty() => (Err("it has no address".into()), KEEP_FAILED),
                Ok(found) => (
                    Ok(found.into_iter().take(MAX_ADDRESSES).collect()),
                    KEEP_FOUND,
                ),
                Err(error) => (Err(error.to_string().into()), KEEP_FAILED),
            };
            state = self.lock();
            state
                .hosts
                .insert(host, Entry::Known(answer, Instant::now() + keep));
            self.answered.notify_all();
        }
        state.threads -= 1;
    }
}

impl State {
    fn make_room(&mut self, now: Instant) {
        if self.hosts.len() < MAX_HOSTS {
            return;
        }
        self.hosts.retain(|_, entry| match entry {
            Entry::Asked => true,
            Entry::Known(_, until) => *until > now,
        });
        // The map's order is as good as chance, and no host is asked for so
        // often that losing its address would show.
        let mut surplus = self
            .hosts
            .len()
            .saturating_sub(MAX_HOSTS - MAX_HOSTS / EVICT_PART);
        self.hosts.retain(|_, entry| {
            let keep = surplus == 0 || matches!(entry, Entry::Asked);
            surplus -= usize::from(!keep);
            keep
        });
    }
}

fn system_lookup(host: &str) -> io::Result<Vec<IpAddr>> {
    // The port only has to be there.
    let found = (host, 0).to_socket_addrs()?;
    let mut addresses: Vec<IpAddr> = Vec::new();
    for address in found.map(|found| found.ip()) {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    Ok(addresses)
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolver")
            .field("guard", &self.guard)
            .finish_non_exhaustive()
    }
}

/// For ureq's proxy connectors, which look up the proxy's name themselves.
impl UreqResolver for Resolver {
    fn resolve(
        &self,
        uri: &Uri,
        _: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let (host, port) = host_and_port(uri)?;
        let deadline = super::connector::deadline_of(Instant::now(), timeout);
        let found = self.lookup(host, port, deadline)?;
        let mut addresses = self.empty();
        for &address in found.iter() {
            addresses.push(SocketAddr::new(address, port));
        }
        Ok(addresses)
    }
}

/// The host and the port that a URI leads to.
pub(super) fn host_and_port(uri: &Uri) -> Result<(&str, u16), ureq::Error> {
    /// The port of every SOCKS version (RFC 1928).
    const SOCKS_PORT: u16 = 1080;
    let host = uri
        .host()
        .ok_or_else(|| ureq::Error::BadUri("no host".to_owned()))?;
    let default = match uri.scheme_str() {
        Some("https") => 443,
        Some("http") => 80,
        _ => SOCKS_PORT,
    };
    Ok((host, uri.port_u16().unwrap_or(default)))
}

/// What ureq's agent resolves with: nothing. It would look up the host of
/// every request, also of those that go out on a connection that is there; our
/// connector looks a host up when it really connects.
#[derive(Debug)]
pub(super) struct Later;

impl UreqResolver for Later {
    fn resolve(
        &self,
        _: &Uri,
        _: &Config,
        _: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        Ok(self.empty())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    fn resolver(
        lookup: impl Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync + 'static,
    ) -> Resolver {
        Resolver::new(Guard::default(), None, Some(Box::new(lookup)))
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    const PUBLIC: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(1, 1, 1, 1));

    #[test]
    fn a_name_is_looked_up_once_however_many_ask() {
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        let resolver = resolver(move |_| {
            counter.fetch_add(1, Ordering::SeqCst);
            Ok(vec![PUBLIC])
        });
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let found = resolver.lookup("a.test", 80, soon());
                    assert_eq!(found.expect("found").as_ref(), [PUBLIC]);
                });
            }
        });
        resolver.lookup("a.test.", 443, soon()).expect("remembered");
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        resolver.forget("a.test");
        resolver.lookup("a.test", 80, soon()).expect("asked again");
        assert_eq!(asked.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn a_failed_lookup_is_remembered_for_a_while() {
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        let resolver = resolver(move |_| {
            counter.fetch_add(1, Ordering::SeqCst);
            Err(io::Error::other("no such name"))
        });
        for _ in 0..5 {
            let error = resolver.lookup("gone.test", 80, soon()).expect_err("fails");
            assert_eq!(
                error.to_string(),
                "cannot look up \"gone.test\": no such name"
            );
        }
        assert_eq!(asked.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn lookups_that_hang_hold_up_neither_their_callers_nor_other_names_for_ever() {
        let (release, hold) = mpsc::channel::<()>();
        let hold = Mutex::new(hold);
        let resolver = resolver(move |host| {
            if host.starts_with("hangs") {
                let _ = hold.lock().map(|hold| hold.recv());
            }
            Ok(vec![PUBLIC])
        });
        let begin = Instant::now();
        thread::scope(|scope| {
            for n in 0..MAX_LOOKUPS * 2 {
                let resolver = &resolver;
                scope.spawn(move || {
                    let host = format!("hangs{n}.test");
                    let deadline = Instant::now() + Duration::from_millis(50);
                    let error = resolver.lookup(&host, 80, deadline).expect_err("hangs");
                    assert!(matches!(error, Fault::Timeout(_)), "{error}");
                });
            }
        });
        assert!(begin.elapsed() < Duration::from_secs(10));
        assert_eq!(resolver.shared.lock().threads, MAX_LOOKUPS);
        // Literals go on while every thread hangs.
        resolver.lookup("1.1.1.1", 80, soon()).expect("a literal");
        drop(release);
        resolver.lookup("quick.test", 80, soon()).expect("released");
    }

    #[test]
    fn a_lookup_function_that_panics_is_a_failed_lookup() {
        let resolver = resolver(|_| panic!("in the lookup"));
        let error = resolver.lookup("a.test", 80, soon()).expect_err("fails");
        assert!(error.to_string().contains("panicked"), "{error}");
    }

    #[test]
    fn a_public_name_with_an_inner_address_is_refused_and_its_public_ones_are_used() {
        let inner: IpAddr = "10.0.0.7".parse().expect("address");
        let resolver = resolver(move |host| {
            Ok(match host {
                "rebound.test" => vec![inner],
                _ => vec![inner, PUBLIC],
            })
        });
        let error = resolver
            .lookup("rebound.test", 80, soon())
            .expect_err("refused");
        assert!(matches!(error, Fault::Refused(_)));
        assert!(error.to_string().contains("10.0.0.7"), "{error}");
        let found = resolver.lookup("mixed.test", 80, soon()).expect("found");
        assert_eq!(found.as_ref(), [PUBLIC]);
        for literal in ["127.0.0.1", "[::1]", "[::ffff:192.168.0.1]"] {
            assert!(resolver.lookup(literal, 80, soon()).is_err(), "{literal}");
            assert!(resolver.check_literal(literal).is_err(), "{literal}");
        }
    }

    #[test]
    fn the_proxy_is_reached_as_the_proxy_only() {
        let proxy = Some(("127.0.0.1".to_owned(), 3128));
        let resolver = Resolver::new(Guard::default(), proxy, None);
        assert!(resolver.lookup("127.0.0.1", 3128, soon()).is_ok());
        assert!(resolver.lookup("127.0.0.1", 80, soon()).is_err());
    }

    #[test]
    fn the_memory_of_names_is_bounded() {
        let resolver = resolver(|_| Ok(vec![PUBLIC]));
        {
            let mut state = resolver.shared.lock();
            for n in 0..MAX_HOSTS {
                let answer = Ok(Arc::from([PUBLIC]));
                let entry = Entry::Known(answer, Instant::now() + KEEP_FOUND);
                state.hosts.insert(format!("h{n}.test").into(), entry);
            }
        }
        resolver.lookup("one.more.test", 80, soon()).expect("found");
        let kept = resolver.shared.lock().hosts.len();
        assert!(kept <= MAX_HOSTS - MAX_HOSTS / EVICT_PART + 1, "{kept}");
    }
}
