//! URLs as a crawl uses them: how a reference becomes a URL, which spellings
//! are one page, and which hosts and paths a rule is about.
//!
//! Everything here is pure, and everything it returns is an absolute `http` or
//! `https` URL: other schemes are turned away where text becomes a URL.
//! Parsing and resolving follow the WHATWG URL standard, as browsers do.

mod canonical;
mod fingerprint;
mod glob;
mod hosts;
mod location;
mod params;
mod resolve;

pub use canonical::{canonical, canonical_str};
pub use fingerprint::{fingerprint, hash};
pub use glob::Glob;
pub use hosts::{HostPattern, Hosts};
pub use location::resolve_location;
pub(crate) use params::SESSION_IDS;
pub use params::{DropParams, drop_params};
pub(crate) use resolve::{encode_carets, join};
pub use resolve::{parse, resolve, resolve_with_encoding};

use std::borrow::Cow;

use url::{Position, Url};

/// Whether a crawl can ask for this URL: its scheme is `http` or `https`.
///
/// ```
/// use canter::{Url, uri};
/// assert!(uri::is_web(&Url::parse("https://example.com/").unwrap()));
/// assert!(!uri::is_web(&Url::parse("ftp://example.com/").unwrap()));
/// ```
#[must_use]
pub fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
}

/// The host's name as scope and pauses compare it: lower case and without a
/// final dot, so that `site.test.` and `site.test` share both. The port is no
/// part of it; a URL without a host gives the empty string.
///
/// ```
/// use canter::{Url, uri};
/// let url = Url::parse("http://Site.TEST.:8080/").unwrap();
/// assert_eq!(uri::host_key(&url), "site.test");
/// ```
#[must_use]
pub fn host_key(url: &Url) -> Cow<'_, str> {
    let host = url.host_str().unwrap_or_default();
    let host = match host.trim_end_matches('.') {
        "" => host,
        name => name,
    };
    // The parser has lowered the host of every special scheme already.
    if host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(host.to_ascii_lowercase())
    } else {
        Cow::Borrowed(host)
    }
}

/// The origin (RFC 6454 section 6.2): scheme, host, and the port unless it is
/// the scheme's own. User info is never part of it.
///
/// ```
/// use canter::{Url, uri};
/// let url = Url::parse("http://user@example.com:8080/a?b").unwrap();
/// assert_eq!(uri::origin(&url), "http://example.com:8080");
/// assert_eq!(uri::origin(&Url::parse("https://example.com:443/").unwrap()), "https://example.com");
/// ```
#[must_use]
pub fn origin(url: &Url) -> String {
    let scheme = &url[..Position::BeforeUsername];
    let host = &url[Position::BeforeHost..Position::AfterPort];
    let mut origin = String::with_capacity(scheme.len() + host.len());
    origin.push_str(scheme);
    origin.push_str(host);
    origin
}

/// The URL without user name and password, which belong in no record, log or
/// state file. Borrowed when there are none.
///
/// ```
/// use canter::{Url, uri};
/// let url = Url::parse("http://me:secret@example.com/").unwrap();
/// assert_eq!(uri::without_credentials(&url).as_str(), "http://example.com/");
/// ```
#[must_use]
pub fn without_credentials(url: &Url) -> Cow<'_, Url> {
    if url.username().is_empty() && url.password().is_none() {
        return Cow::Borrowed(url);
    }
    let mut bare = url.clone();
    // Both fail only for URLs without a host, which have no credentials.
    let _ = bare.set_password(None);
    let _ = bare.set_username("");
    Cow::Owned(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect(text)
    }

    #[test]
    fn the_final_dot_spelling_shares_the_host_key_of_the_plain_one() {
        for text in [
            "HTTP://Site.test:80/",
            "http://site.test",
            "http://site.test./",
            "https://site.test:443/a",
            "http://site.test:8080/",
            "http://u:p@SITE.test./",
        ] {
            assert_eq!(host_key(&url(text)), "site.test", "{text}");
        }
        assert_eq!(host_key(&url("http://[::1]:80/")), "[::1]");
        assert_eq!(host_key(&url("http://site.test../")), "site.test");
    }

    #[test]
    fn an_origin_tells_ports_and_schemes_apart_and_hides_credentials() {
        assert_eq!(origin(&url("HTTP://Site.test:80/a")), "http://site.test");
        assert_eq!(origin(&url("https://site.test:80")), "https://site.test:80");
        assert_eq!(origin(&url("http://a:b@[::1]:8/x")), "http://[::1]:8");
    }

    #[test]
    fn user_info_never_gets_into_what_is_written() {
        for (text, bare) in [
            ("http://user:pw@a.test/p?q#f", "http://a.test/p?q#f"),
            ("http://user@a.test/", "http://a.test/"),
            ("http://:pw@a.test/", "http://a.test/"),
            ("http://site.test@evil.example/", "http://evil.example/"),
        ] {
            assert_eq!(without_credentials(&url(text)).as_str(), bare);
        }
        assert!(matches!(
            without_credentials(&url("http://a.test/@b")),
            Cow::Borrowed(_)
        ));
    }
}
