//! [`DropParams`]: parameters that say nothing about the page, such as session
//! ids and campaign tags, taken out of URLs.
//!
//! Dropping is idempotent and touches nothing but the named parameters: the
//! others keep their order and bytes.

use std::borrow::Cow;

use url::Url;

/// Names under which servers hand out session ids in URLs.
pub(crate) const SESSION_IDS: [&str; 14] = [
    "jsessionid",
    "phpsessid",
    "aspsessionid*",
    "sessionid",
    "session_id",
    "sessid",
    "sid",
    "cfid",
    "cftoken",
    "oscsid",
    "zenid",
    "osclid",
    "(s(*",
    "(x(1)s(*",
];

/// Names of parameters to take out of URLs; `*` stands for any letters. Case
/// makes no difference, and a name may be percent-encoded in the URL. One in
/// parentheses names a whole segment of the path, as ASP.NET's `(S(id))`.
///
/// ```
/// use canter::{Url, uri::{self, DropParams}};
/// let tags = DropParams::new(["utm_*", "sid"]);
/// let url = Url::parse("http://example.com/?b=2&utm_source=x&a=1&side=l&sid=9").unwrap();
/// assert_eq!(uri::drop_params(&url, &tags).as_str(), "http://example.com/?b=2&a=1&side=l");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DropParams {
    /// Lower case.
    patterns: Vec<Box<[u8]>>,
}

impl DropParams {
    /// Drops the parameters with these names.
    #[must_use]
    pub fn new<I>(patterns: I) -> Self
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        DropParams::default().and(patterns)
    }

    /// Drops what commonly carries a session id: `jsessionid`, `PHPSESSID`,
    /// `sid` and the like.
    ///
    /// ```
    /// use canter::{Url, uri::{self, DropParams}};
    /// let url = Url::parse("http://example.com/x;jsessionid=9F?y=1").unwrap();
    /// let url = uri::drop_params(&url, &DropParams::session_ids());
    /// assert_eq!(url.as_str(), "http://example.com/x?y=1");
    /// ```
    #[must_use]
    pub fn session_ids() -> Self {
        DropParams::new(SESSION_IDS)
    }

    /// Drops these as well.
    #[must_use]
    pub fn and<I>(mut self, patterns: I) -> Self
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        for pattern in patterns {
            let pattern = pattern.as_ref().to_ascii_lowercase().into_bytes().into();
            if !self.patterns.contains(&pattern) {
                self.patterns.push(pattern);
            }
        }
        self
    }

    /// Whether nothing is dropped.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// [`drop_params`] without a copy when there is nothing to drop.
    #[must_use]
    pub fn apply(&self, mut url: Url) -> Url {
        if self.patterns.is_empty() {
            return url;
        }
        if (url.path().contains(';') || url.path().contains("/("))
            && let Some(path) = self.without_path_params(url.path())
        {
            url.set_path(&path);
        }
        if let Some(query) = url.query()
            && let Some(left) = self.without_query_params(query)
        {
            url.set_query(left.as_deref());
        }
        url
    }

    /// The query that is left (`None` for no query at all), or `None` when
    /// nothing is dropped.
    #[expect(clippy::option_option, reason = "changed or not, and if so to what")]
    fn without_query_params(&self, query: &str) -> Option<Option<String>> {
        let dropped = |part: &&str| self.names(part.split('=').next().unwrap_or(part));
        if !query.split('&').any(|part| dropped(&part)) {
            return None;
        }
        let mut left = String::with_capacity(query.len());
        for (n, part) in query.split('&').filter(|part| !dropped(part)).enumerate() {
            if n > 0 {
                left.push('&');
            }
            left.push_str(part);
        }
        Some(Some(left).filter(|left| left.bytes().any(|byte| byte != b'&')))
    }

    /// The path without `;name=value` parts of these names, or `None` when it
    /// has none.
    fn without_path_params(&self, path: &str) -> Option<String> {
        let dropped = |param: &str| {
            param
                .split_once('=')
                .is_some_and(|(name, _)| self.names(name))
        };
        let mut left = String::with_capacity(path.len());
        for (n, segment) in path.split('/').enumerate() {
            if segment.starts_with('(') && self.names(segment) {
                continue;
            }
            if n > 0 {
                left.push('/');
            }
            let mut parts = segment.split(';');
            left.push_str(parts.next().unwrap_or_default());
            for param in parts.filter(|param| !dropped(param)) {
                left.push(';');
                left.push_str(param);
            }
        }
        (left.len() < path.len()).then_some(left)
    }

    fn names(&self, raw: &str) -> bool {
        let name = decode(raw.as_bytes());
        self.patterns
            .iter()
            .any(|pattern| matches_name(pattern, &name))
    }
}

/// The URL without the parameters of these names, in its query and as
/// `;name=value` in its path. A query that loses its last parameter goes
/// altogether.
#[must_use]
pub fn drop_params(url: &Url, patterns: &DropParams) -> Url {
    patterns.apply(url.clone())
}

/// The name that percent-encoding and `+` stand for (WHATWG URL section 5.1).
fn decode(raw: &[u8]) -> Cow<'_, [u8]> {
    if !raw.iter().any(|byte| matches!(byte, b'%' | b'+')) {
        return Cow::Borrowed(raw);
    }
    let digit = |at: usize| raw.get(at).and_then(|&byte| char::from(byte).to_digit(16));
    let mut name = Vec::with_capacity(raw.len());
    let mut at = 0;
    while at < raw.len() {
        match (raw[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                name.push((high * 16 + low) as u8);
                at += 3;
            }
            (byte, ..) => {
                name.push(if byte == b'+' { b' ' } else { byte });
                at += 1;
            }
        }
    }
    Cow::Owned(name)
}

/// Whether a lower-case pattern with `*` matches the whole name.
fn matches_name(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    // Where to go on after the last star when the rest does not fit.
    let mut star = None;
    while n < name.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p + 1, n));
            p += 1;
        } else if pattern.get(p) == Some(&name[n].to_ascii_lowercase()) {
            p += 1;
            n += 1;
        } else if let Some((after, from)) = star {
            star = Some((after, from + 1));
            p = after;
            n = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn becomes(patterns: &DropParams, text: &str, expected: &str) {
        let url = Url::parse(text).expect(text);
        let once = drop_params(&url, patterns);
        assert_eq!(once.as_str(), expected);
        assert_eq!(drop_params(&once, patterns), once, "not idempotent");
    }

    #[test]
    fn the_other_parameters_keep_their_order_and_bytes() {
        let sid = DropParams::new(["sid"]);
        becomes(
            &sid,
            "http://a.test/?b=%2f+2&sid=1&a&&c==&sid",
            "http://a.test/?b=%2f+2&a&&c==",
        );
        becomes(
            &sid,
            "http://a.test/?side=1#sid=2",
            "http://a.test/?side=1#sid=2",
        );
        becomes(
            &sid,
            "http://a.test/?a=sid&x[sid]=1",
            "http://a.test/?a=sid&x[sid]=1",
        );
    }

    #[test]
    fn a_query_that_loses_everything_goes_and_an_empty_one_stays() {
        let sid = DropParams::new(["sid"]);
        becomes(&sid, "http://a.test/p?sid=1", "http://a.test/p");
        becomes(&sid, "http://a.test/p?sid=1&", "http://a.test/p");
        becomes(&sid, "http://a.test/p?", "http://a.test/p?");
        becomes(&sid, "http://a.test/p?&", "http://a.test/p?&");
    }

    #[test]
    fn a_star_stands_for_any_letters() {
        let tags = DropParams::new(["utm_*", "*click*id"]);
        becomes(
            &tags,
            "http://a.test/?utm_source=a&utm_=b&UTM_Medium=c&utm=d&gclickid=1&clickxid=2&click=3",
            "http://a.test/?utm=d&click=3",
        );
        becomes(
            &DropParams::new(["*"]),
            "http://a.test/?a&b",
            "http://a.test/",
        );
    }

    #[test]
    fn a_name_is_compared_as_the_server_reads_it() {
        let tags = DropParams::new(["utm_source", "a b"]);
        becomes(
            &tags,
            "http://a.test/?utm%5fsource=x&a+b=1&c",
            "http://a.test/?c",
        );
        becomes(
            &tags,
            "http://a.test/?%=1&%5=2&a%=3",
            "http://a.test/?%=1&%5=2&a%=3",
        );
    }

    #[test]
    fn session_ids_go_from_query_and_path_but_never_from_the_host() {
        let ids = DropParams::session_ids();
        becomes(
            &ids,
            "http://a.test/x;jsessionid=9F?y=1",
            "http://a.test/x?y=1",
        );
        becomes(&ids, "http://a.test/;JSESSIONID=9F.n_2", "http://a.test/");
        becomes(
            &ids,
            "http://a.test/x;v=1;jsessionid=9F;w=2/y;jsessionid=",
            "http://a.test/x;v=1;w=2/y",
        );
        becomes(
            &ids,
            "http://a.test/a;sid/b;side=1",
            "http://a.test/a;sid/b;side=1",
        );
        becomes(
            &ids,
            "http://a.test/?PHPSESSID=1&p=2&sid=3",
            "http://a.test/?p=2",
        );
        becomes(
            &ids,
            "http://a.test;jsessionid=E4.node_2?p=v",
            "http://a.test;jsessionid=e4.node_2/?p=v",
        );
    }

    #[test]
    fn a_segment_of_the_path_may_be_a_session_id() {
        let ids = DropParams::session_ids();
        for path in ["/(S(lit3py55t21z5v))/a/b?c", "/a/(X(1)S(lit3))/b?c"] {
            let url = format!("http://a.test{path}");
            becomes(&ids, &url, "http://a.test/a/b?c");
        }
        becomes(&ids, "http://a.test/(s(x))", "http://a.test/");
        let other = "http://a.test/(draft)/Rust_(S(x))/(S)";
        becomes(&ids, other, other);
    }

    #[test]
    fn no_names_drop_nothing() {
        assert!(DropParams::default().is_empty());
        becomes(
            &DropParams::default(),
            "http://a.test/;a=1?b",
            "http://a.test/;a=1?b",
        );
    }
}
