//! [`parse`]: one `Set-Cookie` line as a browser reads it (RFC 6265 sections
//! 5.2 and 5.3, with the prefixes and limits of 6265bis).
//!
//! Invariant: a cookie that comes out of here may be sent to the origin it came
//! from, its name and value as they stood there, without control characters.

use std::time::{Duration, SystemTime};

use url::{Host, Url};

use super::expires::expires;

/// Bytes of name and value together (RFC 6265 section 6.1).
const MAX_COOKIE: usize = 4096;
/// Bytes of an attribute's value; a longer attribute does not count (6265bis).
const MAX_ATTRIBUTE: usize = 1024;
/// The longest `Max-Age` in seconds: 400 days (6265bis).
const LONGEST_AGE: u64 = 400 * 24 * 3600;

/// A cookie as it is kept.
#[derive(Debug)]
pub(super) struct Cookie {
    /// May be empty: then the value alone is sent.
    pub(super) name: Vec<u8>,
    pub(super) value: Vec<u8>,
    pub(super) path: Vec<u8>,
    /// `None`: it is kept as long as the jar.
    expires: Option<SystemTime>,
}

impl Cookie {
    pub(super) fn is_over(&self, now: SystemTime) -> bool {
        self.expires.is_some_and(|at| at <= now)
    }

    /// Whether a request for this path takes it along (RFC 6265 section 5.1.4).
    pub(super) fn matches(&self, path: &str) -> bool {
        let rest = path.as_bytes().strip_prefix(&self.path[..]);
        rest.is_some_and(|rest| {
            rest.is_empty() || rest.starts_with(b"/") || self.path.ends_with(b"/")
        })
    }

    /// As it stands in a request.
    pub(super) fn pair(&self) -> Vec<u8> {
        if self.name.is_empty() {
            return self.value.clone();
        }
        [&self.name[..], b"=", &self.value[..]].concat()
    }
}

/// What the attributes say; the last of a name counts.
#[derive(Default)]
struct Attributes<'a> {
    expires: Option<SystemTime>,
    max_age: Option<SystemTime>,
    domain: Option<&'a [u8]>,
    path: Option<&'a [u8]>,
    secure: bool,
}

/// Reads a line that came with an answer from `url`. The error says why a
/// browser would not keep the cookie either.
pub(super) fn parse(line: &[u8], url: &Url, now: SystemTime) -> Result<Cookie, &'static str> {
    if line.iter().any(|&byte| is_control(byte)) {
        return Err("it has a control character");
    }
    let mut parts = line.split(|&byte| byte == b';');
    let pair = parts.next().unwrap_or_default();
    let (name, value) = match split_at_equals(pair) {
        (value, None) => (&b""[..], value),
        (name, Some(value)) => (name, value),
    };
    if name.is_empty() && value.is_empty() {
        return Err("it is empty");
    }
    if name.len() + value.len() > MAX_COOKIE {
        return Err("name and value are over 4096 bytes");
    }
    let attributes = attributes(parts, now);
    let is_https = url.scheme() == "https";
    if attributes.secure && !is_https {
        return Err("Secure, but not set over https");
    }
    let domain = attributes.domain.unwrap_or_default();
    if !domain.is_empty() && !covers(domain, url) {
        return Err("its Domain is not the host's");
    }
    // A cookie without a name must not pass for one with a prefix.
    let shown = if name.is_empty() { value } else { name };
    let has_prefix = |prefix: &[u8]| {
        let start = shown.get(..prefix.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    let for_host = has_prefix(b"__Host-");
    if for_host || has_prefix(b"__Secure-") {
        if name.is_empty() || !attributes.secure {
            return Err("its prefix needs a name and Secure");
        }
        if for_host && !(domain.is_empty() && attributes.path == Some(&b"/"[..])) {
            return Err("__Host- needs Path=/ and no Domain");
        }
    }
    let path = match attributes.path {
        Some(path) if path.starts_with(b"/") => path,
        _ => default_path(url),
    };
    Ok(Cookie {
        name: name.to_vec(),
        value: value.to_vec(),
        path: path.to_vec(),
        expires: attributes.max_age.or(attributes.expires),
    })
}

/// Those that end a cookie in 6265bis: all but the tab.
fn is_control(byte: u8) -> bool {
    byte.is_ascii_control() && byte != b'\t'
}

/// Both sides of the first `=`, without the white space around them.
fn split_at_equals(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|&byte| byte == b'=') {
        Some(at) => (text[..at].trim_ascii(), Some(text[at + 1..].trim_ascii())),
        None => (text.trim_ascii(), None),
    }
}

fn attributes<'a>(parts: impl Iterator<Item = &'a [u8]>, now: SystemTime) -> Attributes<'a> {
    let mut found = Attributes::default();
    for part in parts {
        let (name, value) = split_at_equals(part);
        let value = value.unwrap_or_default();
        if value.len() > MAX_ATTRIBUTE {
            continue;
        }
        match &name.to_ascii_lowercase()[..] {
            b"expires" => found.expires = expires(value).or(found.expires),
            b"max-age" => found.max_age = max_age(value, now).or(found.max_age),
            b"domain" => found.domain = Some(value.strip_prefix(b".").unwrap_or(value)),
            b"path" => found.path = Some(value),
            b"secure" => found.secure = true,
            _ => {}
        }
    }
    found
}

/// When an age ends (RFC 6265 section 5.2.2); `None` for what is no number.
fn max_age(value: &[u8], now: SystemTime) -> Option<SystemTime> {
    let digits = value.strip_prefix(b"-").unwrap_or(value);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    if digits.len() < value.len() {
        return Some(SystemTime::UNIX_EPOCH);
    }
    let seconds = std::str::from_utf8(digits).ok()?.parse();
    // A number that is too large to hold is above the bound as well.
    let seconds = seconds.unwrap_or(LONGEST_AGE).min(LONGEST_AGE);
    now.checked_add(Duration::from_secs(seconds))
}

/// Whether the URL's host lies in the domain (RFC 6265 section 5.1.3).
fn covers(domain: &[u8], url: &Url) -> bool {
    let Some(Ok(domain)) = std::str::from_utf8(domain).ok().map(Host::parse) else {
        return false;
    };
    match (url.host(), domain) {
        (Some(Host::Domain(host)), Host::Domain(domain)) => {
            let rest = host.strip_suffix(&*domain);
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        }
        (Some(host), domain) => host.to_owned() == domain,
        (None, _) => false,
    }
}

/// The folder that the URL lies in (RFC 6265 section 5.1.4).
fn default_path(url: &Url) -> &[u8] {
    let path = url.path();
    match path.rfind('/') {
        None | Some(0) => b"/",
        Some(at) => &path.as_bytes()[..at],
    }
}
