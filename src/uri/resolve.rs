//! References to URLs, by the WHATWG URL standard.
//!
//! The one place where text becomes a URL, so that scheme filter, query
//! encoding and the standard's reading of slashes are the same for links,
//! `Location` fields and configuration.

use std::borrow::Cow;
use std::fmt::Write as _;

use encoding_rs::{EncoderResult, Encoding, UTF_8};
use url::Url;

use super::is_web;

/// Parses an absolute `http` or `https` URL (WHATWG URL section 4.4, without a
/// base). Outer white space is not part of it; the fragment is kept.
///
/// ```
/// use canter::uri;
/// assert_eq!(uri::parse(" HTTP://Example.com ").unwrap().as_str(), "http://example.com/");
/// assert!(uri::parse("/only/a/path").is_none());
/// assert!(uri::parse("mailto:someone@example.com").is_none());
/// ```
#[must_use]
pub fn parse(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok().filter(is_web)?;
    Some(encode_carets(url))
}

/// Resolves a reference against a base (WHATWG URL section 4.4): what a
/// browser opens for `href` on a page at `base`. `None` for what is no URL and
/// for schemes other than `http` and `https`. The fragment is kept.
///
/// ```
/// use canter::{Url, uri};
/// let base = Url::parse("http://example.com/dir/page.html").unwrap();
/// assert_eq!(uri::resolve(&base, "../a b?c#d").unwrap().as_str(), "http://example.com/a%20b?c#d");
/// assert!(uri::resolve(&base, "javascript:void(0)").is_none());
/// ```
#[must_use]
pub fn resolve(base: &Url, href: &str) -> Option<Url> {
    join(base, href, UTF_8).filter(is_web)
}

/// Resolves a reference that stands on a page in that encoding: the query is
/// percent-encoded from the page's encoding and everything else from UTF-8
/// (WHATWG URL section 4.4, "encoding-parsing a URL" of WHATWG HTML section
/// 2.4.3).
///
/// ```
/// use canter::{Url, uri};
/// let base = Url::parse("http://example.com/").unwrap();
/// let url = uri::resolve_with_encoding(&base, "/é?é", encoding_rs::WINDOWS_1252).unwrap();
/// assert_eq!(url.as_str(), "http://example.com/%C3%A9?%E9");
/// ```
#[must_use]
pub fn resolve_with_encoding(base: &Url, href: &str, encoding: &'static Encoding) -> Option<Url> {
    join(base, href, encoding).filter(is_web)
}

/// As [`resolve_with_encoding`], whatever the scheme of base and result.
pub(crate) fn join(base: &Url, href: &str, encoding: &'static Encoding) -> Option<Url> {
    let href = collapse_slashes(base, href);
    let options = Url::options().base_url(Some(base));
    let encoding = encoding.output_encoding();
    // Where ASCII means ASCII, only other letters can tell the encodings apart.
    if encoding == UTF_8 || (encoding.is_ascii_compatible() && href.is_ascii()) {
        return options.parse(&href).ok().map(encode_carets);
    }
    // The parser hands out a query in pieces cut at tabs and line ends, but a
    // stateful encoding needs it whole.
    let href = if href.contains(is_tab_or_newline) {
        Cow::Owned(href.replace(is_tab_or_newline, ""))
    } else {
        href
    };
    options
        .encoding_override(Some(&|query| Cow::Owned(encode_query(query, encoding))))
        .parse(&href)
        .ok()
        .map(encode_carets)
}

/// Encodes each `^` of a path: the standard's path percent-encode set has it
/// since 2024, that of the `url` crate has not.
pub(crate) fn encode_carets(mut url: Url) -> Url {
    if is_web(&url) && url.path().contains('^') {
        let path = url.path().replace('^', "%5E");
        url.set_path(&path);
    }
    url
}

fn is_tab_or_newline(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r')
}

/// Writes `///host` as `//host`. The standard's "special authority ignore
/// slashes" state skips any number of slashes before a host; the `url` crate
/// does so only after a scheme.
fn collapse_slashes<'a>(base: &Url, href: &'a str) -> Cow<'a, str> {
    if !is_web(base) {
        return Cow::Borrowed(href);
    }
    let trimmed = href.trim_start_matches(|c: char| c <= ' ');
    let mut bytes = trimmed.bytes();
    let slash = |byte| matches!(byte, Some(b'/' | b'\\'));
    let skipped = |byte| matches!(byte, Some(b'\t' | b'\n' | b'\r'));
    let (first, second) = (bytes.next(), bytes.next());
    if !slash(first) || !(slash(second) || skipped(second)) {
        return Cow::Borrowed(href);
    }
    let is_slash = |c: char| matches!(c, '/' | '\\');
    let rest = trimmed.trim_start_matches(|c| is_slash(c) || is_tab_or_newline(c));
    let slashes = trimmed[..trimmed.len() - rest.len()]
        .chars()
        .filter(|&c| is_slash(c))
        .count();
    if slashes > 2 {
        Cow::Owned(format!("//{rest}"))
    } else {
        Cow::Borrowed(href)
    }
}

/// The query's bytes in the page's encoding. A letter that the encoding lacks
/// becomes the percent-encoded form of its decimal character reference
/// (WHATWG URL section 1.3, "percent-encode after encoding").
fn encode_query(query: &str, encoding: &'static Encoding) -> Vec<u8> {
    let mut encoder = encoding.new_encoder();
    let mut bytes = Vec::with_capacity(query.len());
    let mut rest = query;
    loop {
        let room = encoder
            .max_buffer_length_from_utf8_without_replacement(rest.len())
            .unwrap_or(rest.len());
        bytes.reserve(room);
        let (result, read) =
            encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut bytes, true);
        rest = &rest[read..];
        match result {
            EncoderResult::InputEmpty => return bytes,
            EncoderResult::OutputFull => {}
            EncoderResult::Unmappable(letter) => {
                let mut reference = String::new();
                // Writing to a `String` cannot fail.
                let _ = write!(reference, "%26%23{}%3B", u32::from(letter));
                bytes.extend_from_slice(reference.as_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use encoding_rs::{BIG5, EUC_JP, ISO_2022_JP, SHIFT_JIS, UTF_16LE, WINDOWS_1251, WINDOWS_1252};

    fn url(text: &str) -> Url {
        Url::parse(text).expect(text)
    }

    #[track_caller]
    fn resolved(base: &str, href: &str, expected: &str) {
        let got = resolve(&url(base), href).map(String::from);
        assert_eq!(got.as_deref(), Some(expected), "{href:?} on {base}");
    }

    #[test]
    fn white_space_around_a_reference_is_no_part_of_it() {
        let base = "http://a.test/?p=1";
        resolved(base, " http://b.test/ ", "http://b.test/");
        resolved(base, "\n\t/feed.xml \n", "http://a.test/feed.xml");
        resolved(base, "/a\nb", "http://a.test/ab");
        resolved(base, "/bare", "http://a.test/bare");
    }

    #[test]
    fn one_page_under_several_spellings_has_one_url() {
        let base = "http://site.test/";
        resolved(base, "HTTP://Site.test:80/", "http://site.test/");
        resolved(base, "https://site.test:443/a", "https://site.test/a");
        for same in ["/./b", "/././b", "/a/../../b", "/a/%2E%2e/b", "/a/.%2e/b"] {
            resolved(base, same, "http://site.test/b");
        }
        resolved(base, "http://site.test:8080/", "http://site.test:8080/");
    }

    #[test]
    fn any_number_of_slashes_leads_to_a_host() {
        let base = "http://a.test/x";
        for many in [
            "//b.test/y",
            "///b.test/y",
            "/\\\\/b.test/y",
            " ////b.test/y",
            "/\t/\n/b.test/y",
            "\\\\\\b.test/y",
            "http:///b.test/y",
        ] {
            resolved(base, many, "http://b.test/y");
        }
        resolved(base, "/\t/b.test/y", "http://b.test/y");
        resolved(base, "/\ty", "http://a.test/y");
        assert!(resolve(&url(base), "///").is_none());
    }

    #[test]
    fn what_is_no_web_link_is_turned_away() {
        for href in [
            "mailto:x@b.test",
            "TEL:1",
            "JavaScript:x()",
            "data:,x",
            "C:\\x",
            "http://",
            "http://[::1",
            "ftp://b.test/",
            "http://a b/",
        ] {
            assert!(resolve(&url("http://a.test/p"), href).is_none(), "{href}");
        }
        resolved("http://a.test/p", "http:///x", "http://x/");
    }

    #[test]
    fn an_empty_reference_is_the_page_itself() {
        resolved("http://a.test/p?q#f", "", "http://a.test/p?q");
        resolved("http://a.test/p?q#f", "#", "http://a.test/p?q#");
    }

    #[test]
    fn long_and_odd_references_are_read_without_a_panic() {
        let long = "a/".repeat(50_000);
        let got = resolve(&url("http://a.test/"), &long).expect("a URL");
        assert_eq!(got.as_str().len(), "http://a.test/".len() + long.len());
        resolved("http://a.test/", "/a\0b", "http://a.test/a%00b");
    }

    #[test]
    fn a_caret_is_encoded_in_a_path_and_nowhere_else() {
        let base = "http://a.test/d^r/";
        resolved(base, "x^/../y^?^#^", "http://a.test/d%5Er/y%5E?^#^");
        assert_eq!(
            parse("http://a.test/^").map(String::from).as_deref(),
            Some("http://a.test/%5E")
        );
        let other = resolve_with_encoding(&url(base), "^?é", WINDOWS_1252).expect("a URL");
        assert_eq!(other.as_str(), "http://a.test/d%5Er/%5E?%E9");
        assert!(join(&url("data:,a^b"), "#^", UTF_8).is_some());
    }

    #[track_caller]
    fn encoded(href: &str, encoding: &'static Encoding, expected: &str) {
        let got = resolve_with_encoding(&url("http://a.test/"), href, encoding);
        assert_eq!(got.expect(href).as_str(), expected);
    }

    #[test]
    fn only_the_query_is_in_the_encoding_of_the_page() {
        encoded("/ü?ü#ü", WINDOWS_1252, "http://a.test/%C3%BC?%FC#%C3%BC");
        encoded("?да", WINDOWS_1251, "http://a.test/?%E4%E0");
        encoded("?日", SHIFT_JIS, "http://a.test/?%93%FA");
        encoded("?日", EUC_JP, "http://a.test/?%C6%FC");
        encoded("http://ü.test/?ü", WINDOWS_1252, "http://xn--tda.test/?%FC");
    }

    #[test]
    fn a_page_in_utf_16_writes_its_queries_in_utf_8() {
        encoded("?ü", UTF_16LE, "http://a.test/?%C3%BC");
    }

    #[test]
    fn a_letter_that_the_encoding_lacks_becomes_a_character_reference() {
        encoded("?☃", WINDOWS_1252, "http://a.test/?%26%239731%3B");
        encoded("?a☃b&c", BIG5, "http://a.test/?a%26%239731%3Bb&c");
    }

    #[test]
    fn a_stateful_encoding_sees_the_query_whole() {
        // Both letters share one pair of escape sequences, tab or not.
        let expected = "http://a.test/?%1B$BF|F|%1B(B";
        encoded("?日日", ISO_2022_JP, expected);
        encoded("?日\t日", ISO_2022_JP, expected);
    }
}
