//! The form of a URL that dedup compares. Idempotent, and never wider than
//! what RFC 3986 calls equivalent: two pages are never taken for one.

use std::borrow::Cow;

use url::{Position, Url};

/// The form that dedup compares: as the WHATWG URL standard serialises it,
/// without fragment, with the hex digits of percent-encoding in upper case
/// (RFC 3986 section 6.2.2.1). Nothing more: order and empty parts of the
/// query, `www.`, index files and final slashes tell pages apart.
///
/// ```
/// use canter::{Url, uri};
/// let url = Url::parse("HTTP://Example.com:80/a/../%c3%a9?b=2&a#top").unwrap();
/// assert_eq!(uri::canonical(&url).as_str(), "http://example.com/%C3%A9?b=2&a");
/// ```
#[must_use]
pub fn canonical(url: &Url) -> Url {
    let text = canonical_str(url);
    if matches!(text, Cow::Owned(_)) {
        // Upper-case digits are as valid as lower-case ones.
        if let Ok(upper) = Url::parse(&text) {
            return upper;
        }
    }
    let mut url = url.clone();
    url.set_fragment(None);
    url
}

/// The text of [`canonical`], borrowed from the URL when that is how it is
/// written already.
///
/// ```
/// use canter::{Url, uri};
/// let url = Url::parse("http://example.com/%2f#top").unwrap();
/// assert_eq!(uri::canonical_str(&url), "http://example.com/%2F");
/// ```
#[must_use]
pub fn canonical_str(url: &Url) -> Cow<'_, str> {
    let text = &url[..Position::AfterQuery];
    match first_lower_escape(text.as_bytes()) {
        None => Cow::Borrowed(text),
        Some(at) => Cow::Owned(upper_escapes(text, at)),
    }
}

/// Where the first `%xx` with a lower-case digit starts.
fn first_lower_escape(text: &[u8]) -> Option<usize> {
    // Few URLs have any, and this looks at many bytes at once.
    if !text.contains(&b'%') {
        return None;
    }
    let mut from = 0;
    while let Some(found) = text[from..].iter().position(|&byte| byte == b'%') {
        let at = from + found;
        if let Some([high, low]) = text.get(at + 1..at + 3)
            && high.is_ascii_hexdigit()
            && low.is_ascii_hexdigit()
            && (high.is_ascii_lowercase() || low.is_ascii_lowercase())
        {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

fn upper_escapes(text: &str, from: usize) -> String {
    let mut upper = String::with_capacity(text.len());
    upper.push_str(&text[..from]);
    let mut rest = &text[from..];
    while let Some(at) = rest.find('%') {
        let (before, escape) = rest.split_at(at);
        upper.push_str(before);
        let length = match escape.as_bytes() {
            [_, high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => 3,
            _ => 1,
        };
        upper.push_str(&escape[..length].to_ascii_uppercase());
        rest = &escape[length..];
    }
    upper.push_str(rest);
    upper
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn becomes(text: &str, expected: &str) {
        let url = Url::parse(text).expect(text);
        let once = canonical(&url);
        assert_eq!(once.as_str(), expected);
        assert_eq!(canonical_str(&url), expected);
        assert_eq!(canonical(&once), once);
    }

    #[test]
    fn escapes_are_written_in_upper_case_and_malformed_ones_left_alone() {
        becomes("http://a.test/%2f%2F%e4", "http://a.test/%2F%2F%E4");
        becomes("http://a.test/%2f%?%zz%a", "http://a.test/%2F%?%zz%a");
        becomes("http://a.test/%%2f%a", "http://a.test/%%2F%a");
        becomes("http://u%3ap@a.test/", "http://u%3Ap@a.test/");
    }

    #[test]
    fn the_fragment_goes_and_nothing_else() {
        becomes("http://a.test/a?#f%2f", "http://a.test/a?");
        becomes("http://a.test/?b=2&a=1&&b=", "http://a.test/?b=2&a=1&&b=");
        becomes(
            "http://www.a.test/index.html",
            "http://www.a.test/index.html",
        );
    }

    #[test]
    fn a_url_that_is_canonical_is_borrowed() {
        let url = Url::parse("http://a.test/%2F?q#f").unwrap();
        assert!(matches!(canonical_str(&url), Cow::Borrowed(_)));
    }
}
