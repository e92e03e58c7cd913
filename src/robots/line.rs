//! [`Lines`] and [`Field`]: robots.txt line by line (RFC 9309 section 2.2).
//!
//! Invariant: whatever a line holds, it costs at most itself.

/// A line that means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field<'a> {
    /// `User-agent: *`
    AnyAgent,
    /// `User-agent:` with the product token it names, empty if it names none.
    Agent(&'a str),
    Allow(&'a [u8]),
    Disallow(&'a [u8]),
    CrawlDelay(&'a [u8]),
    Sitemap(&'a [u8]),
}

/// Field names, with the misspellings that are common in the wild.
const AGENT: &[&str] = &["user-agent", "user agent", "useragent"];
const ALLOW: &[&str] = &["allow"];
const DISALLOW: &[&str] = &[
    "disallow",
    "dissallow",
    "dissalow",
    "disalow",
    "diasllow",
    "disallaw",
];
const CRAWL_DELAY: &[&str] = &["crawl-delay", "crawl delay", "crawldelay"];
const SITEMAP: &[&str] = &["sitemap", "site-map"];

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

impl<'a> Field<'a> {
    pub(super) fn read(line: &'a [u8]) -> Option<Field<'a>> {
        let text = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        let text = match text.iter().position(|&b| b == b'#') {
            Some(comment) => &text[..comment],
            None => text,
        };
        let (name, value) = split(trim(text))?;
        let is = |names: &[&str]| {
            names
                .iter()
                .any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
        };
        Some(if is(DISALLOW) {
            Field::Disallow(value)
        } else if is(ALLOW) {
            Field::Allow(value)
        } else if is(AGENT) {
            match value {
                [b'*'] => Field::AnyAgent,
                [b'*', next, ..] if next.is_ascii_whitespace() => Field::AnyAgent,
                _ => Field::Agent(leading_token(value)),
            }
        } else if is(CRAWL_DELAY) {
            Field::CrawlDelay(value)
        } else if is(SITEMAP) {
            Field::Sitemap(value)
        } else {
            return None;
        })
    }
}

/// Name and value: parted by the first colon, or by white space where a line is
/// two words without one.
fn split(text: &[u8]) -> Option<(&[u8], &[u8])> {
    if let Some(colon) = text.iter().position(|&b| b == b':') {
        return Some((trim(&text[..colon]), trim(&text[colon + 1..])));
    }
    let mut words = text.split(|&b| is_blank(b)).filter(|word| !word.is_empty());
    match (words.next(), words.next(), words.next()) {
        (Some(name), Some(value), None) => Some((name, value)),
        _ => None,
    }
}

/// White space, and the NUL bytes that some editors and generators leave.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b'\t' | b' ' | 0x0B | 0x0C | 0)
}

fn trim(mut text: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = text
        && is_blank(*first)
    {
        text = rest;
    }
    while let [rest @ .., last] = text
        && is_blank(*last)
    {
        text = rest;
    }
    text
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// The product token that a text starts with; empty for none. Digits count,
/// beyond RFC 9309 section 2.2.1: crawlers do have them in their names.
pub(super) fn leading_token(text: &[u8]) -> &str {
    let end = text
        .iter()
        .position(|&b| !is_token_byte(b))
        .unwrap_or(text.len());
    std::str::from_utf8(&text[..end]).unwrap_or_default()
}

/// The lines of a text with their numbers, first is 1. A line ends with LF, CR
/// or both; its place is given without its end.
pub(super) struct Lines<'a> {
    text: &'a [u8],
    at: usize,
    number: u32,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Lines {
            text,
            at: 0,
            number: 0,
        }
    }
}

pub(super) fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

impl Iterator for Lines<'_> {
    type Item = (u32, std::ops::Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let length = rest
            .iter()
            .position(|&b| is_line_end(b))
            .unwrap_or(rest.len());
        let range = self.at..self.at + length;
        self.at = range.end
            + match rest[length..] {
                [b'\r', b'\n', ..] => 2,
                [_, ..] => 1,
                [] => 0,
            };
        self.number += 1;
        Some((self.number, range))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_line_end_counts_once() {
        let text = b"a\nb\rc\r\n\r\nd\n\re";
        let lines: Vec<_> = Lines::new(text)
            .map(|(number, range)| (number, &text[range]))
            .collect();
        let expected: [(u32, &[u8]); 7] = [
            (1, b"a"),
            (2, b"b"),
            (3, b"c"),
            (4, b""),
            (5, b"d"),
            (6, b""),
            (7, b"e"),
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn names_are_read_leniently_and_values_as_they_are() {
        assert_eq!(
            Field::read(b" disallow : /y # c"),
            Some(Field::Disallow(b"/y"))
        );
        assert_eq!(Field::read(b"Disallow:"), Some(Field::Disallow(b"")));
        assert_eq!(Field::read(b"Dissallow: /z"), Some(Field::Disallow(b"/z")));
        assert_eq!(Field::read(b"\0Allow\t/x\0"), Some(Field::Allow(b"/x")));
        assert_eq!(
            Field::read(b"sitemap:http://a.test/m2.xml"),
            Some(Field::Sitemap(b"http://a.test/m2.xml"))
        );
        assert_eq!(Field::read(b"User-Agent: *"), Some(Field::AnyAgent));
        assert_eq!(Field::read(b"User-Agent: * x"), Some(Field::AnyAgent));
        assert_eq!(Field::read(b"User-Agent: *x"), Some(Field::Agent("")));
        assert_eq!(
            Field::read(b"User-Agent: 5bot/2"),
            Some(Field::Agent("5bot"))
        );
        assert_eq!(
            Field::read("\u{feff}allow:/".as_bytes()),
            Some(Field::Allow(b"/"))
        );
        for nothing in [
            &b""[..],
            b"#",
            b"disallow",
            b"a b c",
            b"Noindex: /",
            b"\xEF\x11\xBFallow: /",
        ] {
            assert_eq!(Field::read(nothing), None, "{nothing:?}");
        }
    }
}
