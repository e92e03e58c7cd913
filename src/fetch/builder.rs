//! [`HttpFetchBuilder`]: the settings of an [`HttpFetch`].
//!
//! Invariant: whatever can be wrong with a setting is found in
//! [`build`](HttpFetchBuilder::build), before the first request.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ureq::Proxy;
use ureq::config::Config;
use ureq::http::HeaderValue;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

use super::coding::ACCEPT_ENCODING;
use super::connector::{Dialer, ProxyRoute, Trust};
use super::credentials::basic;
use super::guard::{Guard, bare_host};
use super::http::{HttpFetch, Settings};
use super::media::{ReadBody, TypeSet};
use super::pool::Pool;
use super::resolver::{Later, LookupFn, Resolver};
use super::wire::{INPUT_SIZE, MAX_HEAD, OUTPUT_SIZE};
use crate::error::{Error, Result};

/// The default of [`HttpFetchBuilder::timeout`]: servers that need longer are
/// as good as down.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The default of [`HttpFetchBuilder::max_body`]: 10 MiB, far above any page.
const MAX_BODY: u64 = 10 * 1024 * 1024;
/// The default of [`HttpFetchBuilder::connections`]: some connections for each
/// worker of a small crawl, and well below the usual limit of 1,024 files.
const CONNECTIONS: usize = 64;
/// Room for a line that ureq writes by itself, in bytes: the host.
const UREQ_LINE: usize = 1024;
/// The default of [`HttpFetchBuilder::user_agent`].
const USER_AGENT: &str = concat!("canter/", env!("CARGO_PKG_VERSION"));
/// The default of [`HttpFetchBuilder::accept`]: pages first, all else too.
const ACCEPT: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

/// Builds an [`HttpFetch`].
///
/// ```
/// use std::time::Duration;
/// use canter::fetch::{HttpFetch, ReadBody};
/// let fetch = HttpFetch::builder()
///     .user_agent("examplebot/1.0 (+https://example.com/bot)")
///     .timeout(Duration::from_secs(10))
///     .max_body(2 * 1024 * 1024)
///     .read_body(ReadBody::pages())
///     .build()?;
/// assert!(HttpFetch::builder().user_agent("two\nlines").build().is_err());
/// # Ok::<(), canter::Error>(())
/// ```
#[must_use = "a builder does nothing until it is built"]
pub struct HttpFetchBuilder {
    user_agent: String,
    accept: String,
    timeout: Duration,
    proxy: Option<String>,
    ca_file: Option<PathBuf>,
    max_body: u64,
    read_body: ReadBody,
    allow_private: bool,
    allowed_hosts: Vec<String>,
    connections: usize,
    lookup: Option<Box<LookupFn>>,
}

impl Default for HttpFetchBuilder {
    fn default() -> Self {
        HttpFetchBuilder {
            user_agent: USER_AGENT.to_owned(),
            accept: ACCEPT.to_owned(),
            timeout: TIMEOUT,
            proxy: None,
            ca_file: None,
            max_body: MAX_BODY,
            read_body: ReadBody::All,
            allow_private: false,
            allowed_hosts: Vec::new(),
            connections: CONNECTIONS,
            lookup: None,
        }
    }
}

impl HttpFetchBuilder {
    /// The `User-Agent` of every request. By default `canter/` and the version;
    /// a crawl should name a page or an address where its operator can be
    /// reached. Empty sends none.
    pub fn user_agent(mut self, value: impl Into<String>) -> Self {
        self.user_agent = value.into();
        self
    }

    /// The `Accept` of every request that has none of its own. By default pages
    /// are preferred to anything else.
    pub fn accept(mut self, value: impl Into<String>) -> Self {
        self.accept = value.into();
        self
    }

    /// The longest time that a request may take as a whole: lookup, connection,
    /// TLS, head and body. 30 s by default. The deadline that
    /// [`fetch`](super::Fetch::fetch) is given counts if it is earlier.
    pub fn timeout(mut self, value: Duration) -> Self {
        self.timeout = value;
        self
    }

    /// Sends every request through this proxy: `http://` or `https://`, with
    /// the feature `socks` also `socks4://`, `socks4a://`, `socks5://` and
    /// `socks5h://`. A user name and a password may stand in it. Through an
    /// HTTP proxy, http URLs are forwarded (RFC 9112 section 3.2.2) and https
    /// URLs tunnelled; names are then looked up by the proxy. The environment
    /// is not asked for one.
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        self.proxy = Some(url.into());
        self
    }

    /// Trusts the certificates in this PEM file as roots, beside the
    /// compiled-in ones (Mozilla's).
    pub fn ca_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.ca_file = Some(path.into());
        self
    }

    /// The longest body, in decoded bytes, unless the request says otherwise.
    /// 10 MiB by default. A longer one is [`TooLarge`](crate::ErrorKind::TooLarge).
    pub fn max_body(mut self, bytes: u64) -> Self {
        self.max_body = bytes;
        self
    }

    /// Which bodies are read; all of them by default.
    pub fn read_body(mut self, value: ReadBody) -> Self {
        self.read_body = value;
        self
    }

    /// Whether addresses may be connected to that are not public: loopback,
    /// private, link-local, unique local, multicast and the like
    /// ([`special_address`](super::special_address)). `false` by default, so
    /// that a page cannot send the crawl into the network it runs in.
    pub fn allow_private(mut self, value: bool) -> Self {
        self.allow_private = value;
        self
    }

    /// Lets this host have an address that is not public: a name, an address,
    /// or `*.example.org` for the names under one.
    pub fn allow_host(mut self, name: impl Into<String>) -> Self {
        self.allowed_hosts.push(name.into());
        self
    }

    /// How many connections are kept open while they are not used, over all
    /// hosts. 64 by default; each takes 20 KiB, with TLS about 80 KiB.
    pub fn connections(mut self, count: usize) -> Self {
        self.connections = count;
        self
    }

    /// Looks names up with this function instead of the system's resolver. It
    /// runs on a thread of its own, may take its time, and its answers are
    /// remembered and checked like the system's.
    pub fn lookup(
        mut self,
        lookup: impl Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync + 'static,
    ) -> Self {
        self.lookup = Some(Box::new(lookup));
        self
    }

    /// Checks every setting.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid), naming the setting: a header
    /// value that cannot be sent, a proxy URL that is none or needs a feature
    /// that is off, a `ca_file` that cannot be read or has no certificate, a
    /// timeout of zero, a media type that is none.
    pub fn build(self) -> Result<HttpFetch> {
        for (key, value) in [("user_agent", &self.user_agent), ("accept", &self.accept)] {
            if HeaderValue::from_str(value).is_err() {
                return Err(Error::invalid(format!(
                    "{key}: cannot be sent as a header: {value:?}"
                )));
            }
        }
        if self.timeout.is_zero() {
            return Err(Error::invalid("timeout: must be more than 0"));
        }
        let types = TypeSet::new(&self.read_body).map_err(|pattern| {
            Error::invalid(format!("read_body: not a media type: {pattern:?}"))
        })?;
        let proxy = self.proxy.as_deref().map(parsed_proxy).transpose()?;
        let (uri_proxy, route) = proxy.unzip();
        let mut trust = vec![Trust::new(self.config(None, RootCerts::WebPki))];
        if let Some(roots) = self.own_roots()? {
            trust.push(Trust::new(self.config(None, roots)));
        }
        let named_proxy = uri_proxy.as_ref().map(|proxy| {
            let host = bare_host(proxy.host()).to_ascii_lowercase();
            (host, proxy.port())
        });
        let guard = Guard::new(self.allow_private, &self.allowed_hosts);
        let config = self.config(uri_proxy, RootCerts::WebPki);
        let settings = Settings {
            timeout: self.timeout,
            max_body: self.max_body,
            types,
            longest_default: UREQ_LINE.max(self.user_agent.len()).max(self.accept.len()),
        };
        let resolver = Resolver::new(guard, named_proxy, self.lookup);
        let pool = Arc::new(Pool::new(self.connections));
        let dialer = Dialer::new(resolver, pool, route, trust);
        let agent = ureq::Agent::with_parts(config, dialer.clone(), Later);
        Ok(HttpFetch::new(agent, dialer, settings))
    }

    fn config(&self, proxy: Option<Proxy>, roots: RootCerts) -> Config {
        ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(proxy)
            .user_agent(&self.user_agent)
            .accept(&self.accept)
            .accept_encoding(ACCEPT_ENCODING)
            .max_response_header_size(MAX_HEAD)
            .input_buffer_size(INPUT_SIZE)
            .output_buffer_size(OUTPUT_SIZE)
            .max_idle_connections(0)
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .build()
    }

    fn own_roots(&self) -> Result<Option<RootCerts>> {
        let Some(path) = &self.ca_file else {
            return Ok(None);
        };
        let invalid = |why: String| Error::invalid(format!("ca_file: {}: {why}", path.display()));
        let pem = std::fs::read(path).map_err(|error| invalid(error.to_string()))?;
        let mut roots = Vec::new();
        for item in parse_pem(&pem) {
            if let PemItem::Certificate(root) = item.map_err(|error| invalid(error.to_string()))? {
                roots.push(root);
            }
        }
        if roots.is_empty() {
            return Err(invalid("no certificate in it".to_owned()));
        }
        Ok(Some(RootCerts::new_with_certs(&roots)))
    }
}

fn parsed_proxy(url: &str) -> Result<(Proxy, ProxyRoute)> {
    // The URL may hold a password: it is not in the message.
    let proxy = Proxy::new(url)
        .map_err(|_| Error::invalid("proxy: not an http, https or socks URL with a host"))?;
    let route = match proxy.uri().scheme_str() {
        Some("http" | "https") => {
            let credentials = match (proxy.username(), proxy.password()) {
                (None, None) => String::new(),
                (user, password) => {
                    let user = user.unwrap_or_default().as_bytes();
                    let value = basic(user, password.unwrap_or_default().as_bytes());
                    format!("proxy-authorization: {value}\r\n")
                }
            };
            ProxyRoute::Http {
                uri: proxy.uri().clone(),
                authorization: credentials,
            }
        }
        #[cfg(feature = "socks")]
        _ => ProxyRoute::Socks,
        #[cfg(not(feature = "socks"))]
        _ => {
            return Err(Error::invalid(
                "proxy: a SOCKS proxy needs the feature `socks`",
            ));
        }
    };
    Ok((proxy, route))
}

impl fmt::Debug for HttpFetchBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the proxy, which may hold a password.
        f.debug_struct("HttpFetchBuilder")
            .field("user_agent", &self.user_agent)
            .field("timeout", &self.timeout)
            .field("max_body", &self.max_body)
            .field("read_body", &self.read_body)
            .field("allow_private", &self.allow_private)
            .field("allowed_hosts", &self.allowed_hosts)
            .field("connections", &self.connections)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_cannot_work_is_named_before_any_request() {
        let cases: [(HttpFetchBuilder, &str); 8] = [
            (HttpFetch::builder().user_agent("a\r\nb"), "user_agent"),
            (HttpFetch::builder().accept("\u{7f}"), "accept"),
            (HttpFetch::builder().timeout(Duration::ZERO), "timeout"),
            (HttpFetch::builder().proxy("ftp://u:secret@a.test"), "proxy"),
            (HttpFetch::builder().proxy("http://"), "proxy"),
            (
                HttpFetch::builder().ca_file("/nowhere/ca.pem"),
                "/nowhere/ca.pem",
            ),
            (HttpFetch::builder().ca_file("Cargo.toml"), "Cargo.toml"),
            (
                HttpFetch::builder().read_body(ReadBody::Types(vec!["html".into()])),
                "read_body",
            ),
        ];
        for (builder, key) in cases {
            let error = builder.build().expect_err(key);
            assert_eq!(error.kind(), crate::ErrorKind::Invalid);
            assert!(error.to_string().contains(key), "{error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
