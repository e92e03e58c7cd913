//! [`Hosts`]: which hosts a crawl may visit. The parsed host is compared on
//! label borders, never text, so that no look-alike gets in.

use std::collections::HashMap;
use std::fmt;

use url::Url;

use super::host_key;
use crate::error::{Error, Result};

/// One pattern for hosts.
///
/// | pattern | matches |
/// |---|---|
/// | `example.com` | that host, on every port |
/// | `example.com:8080` | that host, on that port only |
/// | `*.example.org` | every host below it, not `example.org` itself |
/// | `*` | every host |
///
/// Names may be international; IPv6 addresses stand in brackets.
///
/// ```
/// use canter::{Url, uri::HostPattern};
/// let pattern = HostPattern::new("*.Bücher.example")?;
/// assert!(pattern.matches(&Url::parse("https://www.xn--bcher-kva.example./").unwrap()));
/// assert!(!pattern.matches(&Url::parse("https://xn--bcher-kva.example/").unwrap()));
/// # Ok::<(), canter::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostPattern {
    /// As [`host_key`] writes it; empty for every host.
    name: Box<str>,
    below: bool,
    port: Option<u16>,
}

impl HostPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid), naming the pattern,
    /// when it is no host: a URL, a path, a `*` elsewhere than as first label.
    pub fn new(pattern: &str) -> Result<Self> {
        let fail = |why: String| Err(Error::invalid(format!("host pattern {pattern:?} {why}")));
        let text = pattern.trim();
        if let Some(url) = super::parse(text) {
            return fail(format!("is a URL; write {:?}", host_and_port(&url)));
        }
        if text.contains(['/', '\\', '?', '#', '@']) || text.contains(char::is_whitespace) {
            return fail("is not a host name".to_owned());
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => match port.parse::<u16>() {
                Ok(port) if port > 0 => (host, Some(port)),
                _ => return fail(format!("has no valid port: {port:?}")),
            },
            _ => (text, None),
        };
        if host == "*" {
            return Ok(HostPattern {
                name: "".into(),
                below: true,
                port,
            });
        }
        let (name, below) = match host.strip_prefix("*.") {
            Some(name) => (name, true),
            None => (host, false),
        };
        if name.contains('*') {
            return fail("has a `*` that is not its first label".to_owned());
        }
        let Some(url) = super::parse(&format!("http://{name}/")) else {
            return fail("is not a host name".to_owned());
        };
        if below && !matches!(url.host(), Some(url::Host::Domain(_))) {
            return fail("asks for names below an address".to_owned());
        }
        Ok(HostPattern {
            name: host_key(&url).into(),
            below,
            port,
        })
    }

    /// Whether the URL's host, and its port if the pattern has one, match.
    #[must_use]
    pub fn matches(&self, url: &Url) -> bool {
        let host = host_key(url);
        let named = match host.strip_suffix(&*self.name) {
            Some("") => !self.below,
            Some(labels) => self.below && (self.name.is_empty() || labels.ends_with('.')),
            None => false,
        };
        named && (self.port.is_none() || self.port == url.port_or_known_default())
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.below, &*self.name) {
            (true, "") => f.write_str("*")?,
            (true, name) => write!(f, "*.{name}")?,
            (false, name) => f.write_str(name)?,
        }
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

fn host_and_port(url: &Url) -> String {
    match url.port() {
        Some(port) => format!("{}:{port}", host_key(url)),
        None => host_key(url).into_owned(),
    }
}

/// A set of [`HostPattern`]s. Asking takes one look-up per label of the host,
/// however many patterns there are.
///
/// ```
/// use canter::{Url, uri::Hosts};
/// let hosts = Hosts::new(["site.test", "*.example.org"])?;
/// let allowed = |text| hosts.matches(&Url::parse(text).unwrap());
/// assert!(allowed("http://SITE.test/news") && allowed("http://a.b.example.org/"));
/// assert!(!allowed("http://site.test@evil.example/") && !allowed("http://evilsite.test/"));
/// # Ok::<(), canter::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hosts {
    exact: HashMap<Box<str>, Ports>,
    below: HashMap<Box<str>, Ports>,
}

/// Ports that are allowed; none named is all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Ports {
    All,
    Only(Vec<u16>),
}

impl Ports {
    fn allow(&mut self, port: Option<u16>) {
        match (self, port) {
            (Ports::Only(ports), Some(port)) => {
                if !ports.contains(&port) {
                    ports.push(port);
                }
            }
            (Ports::All, _) => {}
            (all, None) => *all = Ports::All,
        }
    }

    fn allows(&self, port: Option<u16>) -> bool {
        match self {
            Ports::All => true,
            Ports::Only(ports) => port.is_some_and(|port| ports.contains(&port)),
        }
    }
}

impl Hosts {
    /// Reads patterns.
    ///
    /// # Errors
    /// As [`HostPattern::new`], for the first that fails.
    pub fn new<I>(patterns: I) -> Result<Self>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let mut hosts = Hosts::default();
        for pattern in patterns {
            hosts.insert(HostPattern::new(pattern.as_ref())?);
        }
        Ok(hosts)
    }

    /// Adds a pattern.
    pub fn insert(&mut self, pattern: HostPattern) {
        let hosts = if pattern.below {
            &mut self.below
        } else {
            &mut self.exact
        };
        hosts
            .entry(pattern.name)
            .or_insert_with(|| Ports::Only(Vec::new()))
            .allow(pattern.port);
    }

    /// Adds the host of a URL, on every port. Returns whether it was not
    /// matched before.
    pub fn insert_host_of(&mut self, url: &Url) -> bool {
        let name = host_key(url);
        let known = self.exact.get(&*name) == Some(&Ports::All) || self.matches(url);
        if !name.is_empty() {
            self.exact.insert(name.into(), Ports::All);
        }
        !known
    }

    /// Whether any pattern matches the URL's host.
    #[must_use]
    pub fn matches(&self, url: &Url) -> bool {
        let host = host_key(url);
        let port = url.port_or_known_default();
        let allows = |ports: Option<&Ports>| ports.is_some_and(|ports| ports.allows(port));
        if host.is_empty() {
            return false;
        }
        if allows(self.exact.get(&*host)) {
            return true;
        }
        if self.below.is_empty() {
            return false;
        }
        let labels = host.match_indices('.').map(|(at, _)| &host[at + 1..]);
        labels
            .chain([""])
            .any(|parent| allows(self.below.get(parent)))
    }

    /// Whether there is no pattern, so that nothing matches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.below.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, matching: &[&str], other: &[&str]) {
        let one = HostPattern::new(pattern).expect(pattern);
        let set = Hosts::new([pattern]).expect(pattern);
        for (urls, expected) in [(matching, true), (other, false)] {
            for text in urls {
                let url = Url::parse(text).expect(text);
                assert_eq!(one.matches(&url), expected, "{pattern} and {text}");
                assert_eq!(set.matches(&url), expected, "{pattern} in a set and {text}");
            }
        }
    }

    #[test]
    fn a_name_matches_that_host_alone() {
        check(
            "site.test",
            &[
                "http://SITE.test/news/1",
                "https://site.test:8443/",
                "http://site.test./",
                "http://user@site.test/",
            ],
            &[
                "http://evilsite.test/",
                "http://site.test.evil.example/",
                "http://site.test@evil.example/",
                "http://www.site.test/",
            ],
        );
        // A backslash is a slash: the host is what stands before it.
        check("site.test", &["http://site.test\\@evil.example/"], &[]);
    }

    #[test]
    fn a_star_label_matches_the_hosts_below_on_label_borders() {
        check(
            "*.example.org",
            &["http://a.example.org/", "http://a.b.EXAMPLE.org./"],
            &[
                "http://example.org/",
                "http://badexample.org/",
                "http://org/",
            ],
        );
        check(
            "*",
            &["http://a/", "http://[::1]/", "http://1.2.3.4:5/"],
            &[],
        );
        check("*:8080", &["http://a.b:8080/"], &["http://a.b/"]);
    }

    #[test]
    fn a_port_in_the_pattern_must_be_the_one_in_use() {
        check(
            "a.test:8080",
            &["http://a.test:8080/"],
            &["http://a.test/", "https://a.test/"],
        );
        check(
            "a.test:80",
            &["http://a.test/"],
            &["https://a.test/", "http://a.test:81/"],
        );
        check(
            "*.a.test:443",
            &["https://x.a.test/"],
            &["http://x.a.test/"],
        );
        check("[::1]:8080", &["http://[::1]:8080/"], &["http://[::1]/"]);
        check("[0:0:0:0:0:0:0:1]", &["http://[::1]/"], &["http://[::2]/"]);
    }

    #[test]
    fn international_names_match_in_any_spelling() {
        let urls = ["http://xn--bcher-kva.example/", "http://BÜCHER.example/"];
        check("bücher.example", &urls, &["http://bucher.example/"]);
        check("xn--bcher-kva.example.", &urls, &[]);
    }

    #[test]
    fn what_is_no_host_is_an_error_that_names_it() {
        for bad in [
            "",
            "http://example.com/",
            "example.com/path",
            "user@example.com",
            "a b",
            "a.*.test",
            "*a.test",
            "a.test:0",
            "a.test:port",
            "a.test:99999",
            "*.1.2.3.4",
            "[::1",
        ] {
            let error = HostPattern::new(bad).expect_err(bad).to_string();
            assert!(error.contains(&format!("{bad:?}")), "{error}");
        }
        let hint = HostPattern::new("http://a.test:81/x")
            .unwrap_err()
            .to_string();
        assert!(hint.contains("write \"a.test:81\""), "{hint}");
    }

    #[test]
    fn a_set_takes_in_hosts_as_they_are_met() {
        let mut hosts = Hosts::new(["a.test:81", "a.test:82"]).unwrap();
        let url = |text: &str| Url::parse(text).unwrap();
        assert!(hosts.matches(&url("http://a.test:82/")));
        assert!(!hosts.matches(&url("http://a.test/")));
        assert!(hosts.insert_host_of(&url("http://a.test./")));
        assert!(!hosts.insert_host_of(&url("http://a.test:9/")));
        assert!(hosts.matches(&url("http://a.test/")));
        assert!(!hosts.matches(&url("data:,x")) && Hosts::default().is_empty());
    }

    #[test]
    fn a_pattern_is_written_as_it_is_compared() {
        for (text, shown) in [
            ("*.Bücher.example:80", "*.xn--bcher-kva.example:80"),
            ("A.test.", "a.test"),
            ("*", "*"),
        ] {
            assert_eq!(HostPattern::new(text).unwrap().to_string(), shown);
        }
    }
}
