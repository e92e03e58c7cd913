//! The `Location` field, from the bytes on the wire to the next URL.

use std::borrow::Cow;
use std::fmt::Write as _;

use url::Url;

use super::resolve;

/// Where a redirect from `base` leads, by the raw value of its `Location`
/// field (RFC 9110 section 10.2.2). `None` for an empty value, for what is no
/// URL and for schemes other than `http` and `https`.
///
/// Bytes outside ASCII are percent-encoded as they are, as browsers do:
/// whatever the encoding, the server gets back what it sent. Spaces become
/// `%20`, and white space around the value is no part of it. A target without
/// a fragment inherits that of `base`.
///
/// ```
/// use canter::{Url, uri};
/// let base = Url::parse("http://example.com/a").unwrap();
/// let next = uri::resolve_location(&base, b"/m\xFCsli bar\t").unwrap();
/// assert_eq!(next.as_str(), "http://example.com/m%FCsli%20bar");
/// ```
#[must_use]
pub fn resolve_location(base: &Url, raw: &[u8]) -> Option<Url> {
    let raw = raw.trim_ascii();
    if raw.is_empty() {
        return None;
    }
    let mut url = resolve(base, &escape(raw))?;
    if url.fragment().is_none() {
        url.set_fragment(base.fragment());
    }
    Some(url)
}

fn escape(raw: &[u8]) -> Cow<'_, str> {
    if raw.is_ascii() {
        return String::from_utf8_lossy(raw);
    }
    let mut text = String::with_capacity(raw.len() + 16);
    for &byte in raw {
        if byte.is_ascii() {
            text.push(char::from(byte));
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn location(base: &str, raw: &[u8], expected: Option<&str>) {
        let base = Url::parse(base).expect(base);
        let got = resolve_location(&base, raw).map(String::from);
        assert_eq!(got.as_deref(), expected, "{:?}", raw.escape_ascii());
    }

    #[test]
    fn bytes_of_any_encoding_come_back_as_they_were_sent() {
        let base = "http://a.test/x/y";
        location(base, b"/m\xC3\xBCsli", Some("http://a.test/m%C3%BCsli"));
        location(base, b"/m\xFCsli", Some("http://a.test/m%FCsli"));
        location(base, b"?q=\xE9&r", Some("http://a.test/x/y?q=%E9&r"));
        location(
            base,
            b"http://b\xC3\xBCcher.test/\xFF",
            Some("http://xn--bcher-kva.test/%FF"),
        );
        location(base, b"http://b\xFCcher.test/", None);
    }

    #[test]
    fn spaces_are_encoded_inside_and_trimmed_outside() {
        let base = "http://a.test/x/y";
        location(base, b"/a b", Some("http://a.test/a%20b"));
        location(base, b"/a\t", Some("http://a.test/a"));
        location(base, b"  c \r\n", Some("http://a.test/x/c"));
    }

    #[test]
    fn relative_and_hostless_forms_are_resolved_against_the_request() {
        let base = "https://a.test/x/y";
        location(base, b"//b.test/p", Some("https://b.test/p"));
        location(base, b"../z", Some("https://a.test/z"));
        location(base, b"?p=2", Some("https://a.test/x/y?p=2"));
        location(base, b"http://a.test/", Some("http://a.test/"));
    }

    #[test]
    fn what_leads_nowhere_is_none() {
        let base = "http://a.test/x";
        for raw in [
            &b""[..],
            b" \t",
            b"javascript:x()",
            b"http://",
            b"ftp://b.test/",
        ] {
            location(base, raw, None);
        }
    }

    #[test]
    fn the_fragment_of_the_request_goes_along_unless_there_is_a_new_one() {
        location("http://a.test/x#f", b"/y", Some("http://a.test/y#f"));
        location("http://a.test/x#f", b"/y#g", Some("http://a.test/y#g"));
    }
}
