//! [`Dialer`]: gets every request its connection, kept or new.
//!
//! Invariant: whatever lies on the way (lookup, TCP, proxy, TLS), a connection
//! is there by the deadline or an error is, and its address has passed the
//! guard.

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver as _};
use ureq::unversioned::transport::time::{Duration as Span, Instant as Moment};
use ureq::unversioned::transport::{
    Buffers, ConnectProxyConnector, ConnectionDetails, Connector, NextTimeout, RustlsConnector,
    Transport,
};

use super::link::Link;
use super::pool::{Pool, Route};
use super::resolver::{Resolver, host_and_port};
use super::socket::Socket;
use super::wire::{Forward, GrowingBuffers, INPUT_SIZE, OUTPUT_SIZE, Timing, Wire};

/// Further off than any request: for timeouts that are not set.
const FAR_OFF: Duration = Duration::from_secs(366 * 24 * 3600);
/// How much later than ours ureq's clock rings. Ours knows what was being done
/// when the time was over.
pub(super) const GRACE: Duration = Duration::from_secs(1);
/// How many hosts that need the `ca_file` are remembered; a crawl with more
/// pays a second handshake for some of them.
const MAX_KNOWN: usize = 10_000;

/// ureq's connector over our own sockets, pool and resolver.
#[derive(Debug, Clone)]
pub(super) struct Dialer(Arc<Inner>);

struct Inner {
    resolver: Resolver,
    pool: Arc<Pool>,
    proxy: Option<ProxyRoute>,
    /// The compiled-in roots, then those of the `ca_file` if there is one.
    /// ureq takes one set or the other, so a host whose issuer the first does
    /// not know is tried with the second.
    trust: Vec<Trust>,
    /// Hosts that the second set was needed for.
    second: Mutex<HashSet<String>>,
}

/// How requests go by way of a proxy.
pub(super) enum ProxyRoute {
    /// An http or https proxy: plain requests are forwarded, others tunnelled.
    Http { uri: Uri, authorization: String },
    /// A SOCKS proxy: everything is tunnelled.
    #[cfg(feature = "socks")]
    Socks,
}

/// A set of root certificates.
pub(super) struct Trust {
    connector: RustlsConnector,
    config: Config,
}

impl Trust {
    pub(super) fn new(config: Config) -> Trust {
        Trust {
            connector: RustlsConnector::default(),
            config,
        }
    }
}

impl Dialer {
    pub(super) fn new(
        resolver: Resolver,
        pool: Arc<Pool>,
        proxy: Option<ProxyRoute>,
        trust: Vec<Trust>,
    ) -> Dialer {
        Dialer(Arc::new(Inner {
            resolver,
            pool,
            proxy,
            trust,
            second: Mutex::default(),
        }))
    }

    pub(super) fn pool(&self) -> &Pool {
        &self.0.pool
    }

    pub(super) fn resolver(&self) -> &Resolver {
        &self.0.resolver
    }

    /// Whether names are left to a proxy to look up.
    pub(super) fn is_proxied(&self) -> bool {
        self.0.proxy.is_some()
    }
}

impl Connector for Dialer {
    type Out = Link;

    fn connect(
        &self,
        details: &ConnectionDetails,
        _: Option<()>,
    ) -> Result<Option<Link>, ureq::Error> {
        let inner = &self.0;
        let now = match details.now {
            Moment::Exact(now) => now,
            _ => Instant::now(),
        };
        let deadline = deadline_of(now, details.timeout)
            .checked_sub(GRACE)
            .unwrap_or(now);
        let secure = details.needs_tls();
        let authority = details
            .uri
            .authority()
            .ok_or_else(|| ureq::Error::BadUri("no host".to_owned()))?
            .as_str();
        let forwarded = match &inner.proxy {
            Some(ProxyRoute::Http { uri, authorization }) if !secure => Some((uri, authorization)),
            _ => None,
        };
        let (key_secure, key) = match forwarded {
            // No authority has a space in it.
            Some((uri, _)) => (uri.scheme_str() == Some("https"), " proxy"),
            None => (secure, authority),
        };
        // ureq's own idle age is not used otherwise: none means "a new one".
        let kept = if details.config.max_idle_age().is_zero() {
            None
        } else {
            inner.pool.take(key_secure, key, now)
        };
        let idled = kept.as_ref().map(|kept| kept.idled);
        let mut wire = match (kept, forwarded) {
            (Some(kept), _) => kept.wire,
            (None, Some((uri, authorization))) => {
                let forward = Some(Box::new(Forward {
                    authorization: authorization.clone(),
                }));
                inner.dial(details, uri, Route::new(key_secure, key), forward, deadline)?
            }
            (None, None) => inner.dial(
                details,
                details.uri,
                Route::new(key_secure, key),
                None,
                deadline,
            )?,
        };
        let output = details.config.output_buffer_size();
        wire.buffers().set_output_size(output);
        let site = forwarded.map(|_| format!("http://{authority}"));
        let pool = Arc::clone(&inner.pool);
        Ok(Some(Link::new(wire, pool, deadline, idled, site)))
    }
}

impl Inner {
    /// Opens a connection for `uri`, which is the site's or, to have requests
    /// forwarded, the proxy's.
    fn dial(
        self: &Arc<Self>,
        details: &ConnectionDetails,
        uri: &Uri,
        route: Route,
        forward: Option<Box<Forward>>,
        deadline: Instant,
    ) -> Result<Box<Wire>, ureq::Error> {
        let secure = uri.scheme_str() == Some("https");
        let tunnelled = self.proxy.is_some() && forward.is_none();
        if !secure && !tunnelled {
            let socket = self.open(uri, deadline)?;
            return Ok(Wire::plain(socket, route, forward));
        }
        let setup = Setup::until(deadline);
        let open = || {
            if tunnelled {
                self.tunnel(details, &setup)
            } else {
                self.transport(uri, &setup)
            }
        };
        let transport = if secure {
            self.secured(details, uri, &setup, open)?
        } else {
            open()?
        };
        setup.end();
        Ok(Wire::layered(transport, route, forward))
    }

    /// A TCP connection to the host of `uri`.
    fn open(&self, uri: &Uri, deadline: Instant) -> Result<Socket, ureq::Error> {
        let (host, port) = host_and_port(uri)?;
        let addresses = self.resolver.lookup(host, port, deadline)?;
        Socket::connect(&addresses, port, deadline).map_err(|error| {
            // The host may have moved; the next try looks it up again.
            self.resolver.forget(host);
            let timing = Timing {
                deadline,
                doing: "connecting",
            };
            timing.fault(error).into()
        })
    }

    /// The same as ureq's transport.
    fn transport(&self, uri: &Uri, setup: &Arc<Setup>) -> Result<Box<dyn Transport>, ureq::Error> {
        Ok(Box::new(SocketTransport {
            socket: self.open(uri, setup.deadline)?,
            buffers: GrowingBuffers::new(INPUT_SIZE, OUTPUT_SIZE),
            setup: Arc::clone(setup),
        }))
    }

    /// A connection to the site through the proxy.
    fn tunnel(
        self: &Arc<Self>,
        details: &ConnectionDetails,
        setup: &Arc<Setup>,
    ) -> Result<Box<dyn Transport>, ureq::Error> {
        #[cfg(feature = "socks")]
        if matches!(self.proxy, Some(ProxyRoute::Socks)) {
            return self.socks_tunnel(details, setup);
        }
        let inner = Arc::clone(self);
        let for_proxy = Arc::clone(setup);
        let mut details = self.details(details, details.uri, details.config, setup);
        details.run_connector = Arc::new(move |proxy: &ConnectionDetails| {
            if proxy.needs_tls() {
                inner.secured(proxy, proxy.uri, &for_proxy, || {
                    inner.transport(proxy.uri, &for_proxy)
                })
            } else {
                inner.transport(proxy.uri, &for_proxy)
            }
        });
        let transport = ConnectProxyConnector::default().connect(&details, None::<()>)?;
        Ok(Box::new(transport.ok_or(ureq::Error::ConnectionFailed)?))
    }

    #[cfg(feature = "socks")]
    fn socks_tunnel(
        &self,
        details: &ConnectionDetails,
        setup: &Arc<Setup>,
    ) -> Result<Box<dyn Transport>, ureq::Error> {
        use std::net::SocketAddr;
        use ureq::unversioned::transport::SocksConnector;

        let mut details = self.details(details, details.uri, details.config, setup);
        // SOCKS4 and ureq's SOCKS5 are given an address, not a name.
        if details
            .config
            .proxy()
            .is_some_and(ureq::Proxy::resolve_target)
        {
            let (host, port) = host_and_port(details.uri)?;
            let found = self.resolver.lookup(host, port, setup.deadline)?;
            for &address in found.iter() {
                details.addrs.push(SocketAddr::new(address, port));
            }
        }
        let transport = SocksConnector::default().connect(&details, None::<()>)?;
        Ok(Box::new(transport.ok_or(ureq::Error::ConnectionFailed)?))
    }

    /// TLS to the host of `uri` over what `open` opens.
    fn secured(
        &self,
        details: &ConnectionDetails,
        uri: &Uri,
        setup: &Arc<Setup>,
        open: impl Fn() -> Result<Box<dyn Transport>, ureq::Error>,
    ) -> Result<Box<dyn Transport>, ureq::Error> {
        let host = uri.host().unwrap_or_default();
        let with = |trust: &Trust| {
            let details = self.details(details, uri, &trust.config, setup);
            let secured = trust.connector.connect(&details, Some(open()?))?;
            let secured = secured.ok_or(ureq::Error::ConnectionFailed)?;
            Ok(Box::new(secured) as Box<dyn Transport>)
        };
        let [compiled_in, from_file] = &self.trust[..] else {
            return with(&self.trust[0]);
        };
        let second = || self.second.lock().unwrap_or_else(PoisonError::into_inner);
        if second().contains(host) {
            return with(from_file);
        }
        match with(compiled_in) {
            Err(error) if is_unknown_issuer(&error) => {
                let secured = with(from_file)?;
                let mut second = second();
                if second.len() >= MAX_KNOWN {
                    second.clear();
                }
                second.insert(host.to_owned());
                Ok(secured)
            }
            result => result,
        }
    }

    /// ureq's details for one of its connectors, with our resolver and what
    /// is left of the time.
    fn details<'a>(
        &'a self,
        details: &ConnectionDetails,
        uri: &'a Uri,
        config: &'a Config,
        setup: &Setup,
    ) -> ConnectionDetails<'a> {
        let timing = Timing {
            deadline: setup.deadline,
            doing: "connecting",
        };
        ConnectionDetails {
            uri,
            addrs: ResolvedSocketAddrs::clone(&self.resolver.empty()),
            config,
            // Otherwise each connection would build its TLS settings anew.
            request_level: false,
            resolver: &self.resolver,
            now: Moment::now(),
            timeout: timing.next(),
            current_time: Arc::clone(&details.current_time),
            run_connector: Arc::clone(&details.run_connector),
            register_shutdown: Arc::clone(&details.register_shutdown),
        }
    }
}

/// Whether a handshake failed since no root certificate vouches for the host.
/// Only the text tells, without a dependency on the TLS library itself.
fn is_unknown_issuer(error: &ureq::Error) -> bool {
    error.to_string().contains("UnknownIssuer")
}

/// The deadline that a timeout of ureq's means.
pub(super) fn deadline_of(now: Instant, timeout: NextTimeout) -> Instant {
    match timeout.after {
        Span::Exact(left) => now + left.min(FAR_OFF),
        Span::NotHappening => now + FAR_OFF,
    }
}

/// The time in which a connection is set up. ureq's proxy connectors begin the
/// timeout anew for each read; this does not.
#[derive(Debug)]
struct Setup {
    deadline: Instant,
    over: AtomicBool,
}

impl Setup {
    fn until(deadline: Instant) -> Arc<Setup> {
        Arc::new(Setup {
            deadline,
            over: AtomicBool::new(false),
        })
    }

    fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    fn timing(&self, timeout: NextTimeout) -> Timing {
        let deadline = deadline_of(Instant::now(), timeout);
        if self.over.load(Ordering::Relaxed) {
            Timing {
                deadline,
                doing: "waiting for the answer",
            }
        } else {
            Timing {
                deadline: deadline.min(self.deadline),
                doing: "connecting",
            }
        }
    }
}

/// A socket as ureq's transport, for TLS and tunnels to be laid over.
#[derive(Debug)]
struct SocketTransport {
    socket: Socket,
    buffers: GrowingBuffers,
    setup: Arc<Setup>,
}

impl Transport for SocketTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        let timing = self.setup.timing(timeout);
        let output = &self.buffers.output()[..amount];
        self.socket
            .write_all(output, timing.deadline)
            .map_err(|error| timing.fault(error).into())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        let timing = self.setup.timing(timeout);
        let room = self.buffers.room()?;
        let amount = self
            .socket
            .read(room, timing.deadline)
            .map_err(|error| timing.fault(error))?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        self.buffers.input().is_empty() && self.socket.is_quiet()
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dialer")
            .field("resolver", &self.resolver)
            .finish_non_exhaustive()
    }
}
