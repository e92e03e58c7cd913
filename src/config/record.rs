//! [`PageFields`] chooses what a page's record holds, [`PageRecord`] is the
//! page, and [`PageFields::write`] makes one line of JSON of them.
//!
//! Whatever a page holds, the line is valid JSON in UTF-8, and nothing in it
//! ends a line or reaches a terminal as a control character.

use std::borrow::Cow;
use std::fmt;
use std::io::Write as _;
use std::time::{Duration, SystemTime};

use url::Url;

use super::document::Node;
use super::json::string;
use super::rfc3339;
use super::scalar;
use super::section::Fault;
use crate::request::Hop;

/// A field of a page's record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PageField {
    /// The URL that answered, after all redirects.
    Url,
    /// The URL that was asked for, if another.
    Requested,
    /// The redirects between the two, if any: URL and status of each.
    Redirects,
    /// The HTTP status.
    Status,
    /// The media type as the server wrote it.
    ContentType,
    /// The page's title.
    Title,
    /// The page's description.
    Description,
    /// The URL that the page names as its canonical one.
    Canonical,
    /// The language that the page declares.
    Lang,
    /// The body's length, decoded.
    Bytes,
    /// How many links away from a seed.
    Depth,
    /// The page that the URL was found on.
    Referrer,
    /// How many different links the page has.
    Links,
    /// When the fetch ended.
    FetchedAt,
    /// How long it took, in milliseconds.
    ElapsedMs,
    /// What the body's first bytes look like: `html`, `pdf`, `zip` and so on;
    /// `null` if nobody looked, since the declared type was not wanted. On
    /// request.
    SeenType,
    /// The visible text. On request.
    Text,
    /// The links themselves. On request.
    LinksList,
    /// The response's headers: each name in lower case with a list of values.
    /// On request.
    Headers,
    /// A hash of the decoded body, as 16 hexadecimal digits. On request.
    Hash,
    /// Whether the body is another than on an earlier pass; `null` when there
    /// was none. On request.
    Changed,
    /// The objects of the page's JSON-LD. On request.
    JsonLd,
}

impl PageField {
    /// Every field, in the order of the default record, those on request last.
    pub const ALL: [PageField; 22] = [
        PageField::Url,
        PageField::Requested,
        PageField::Redirects,
        PageField::Status,
        PageField::ContentType,
        PageField::Title,
        PageField::Description,
        PageField::Canonical,
        PageField::Lang,
        PageField::Bytes,
        PageField::Depth,
        PageField::Referrer,
        PageField::Links,
        PageField::FetchedAt,
        PageField::ElapsedMs,
        PageField::SeenType,
        PageField::Text,
        PageField::LinksList,
        PageField::Headers,
        PageField::Hash,
        PageField::Changed,
        PageField::JsonLd,
    ];
    /// How many of them a record has by default.
    const BY_DEFAULT: usize = 15;

    /// The field's name in the record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            PageField::Url => "url",
            PageField::Requested => "requested",
            PageField::Redirects => "redirects",
            PageField::Status => "status",
            PageField::ContentType => "content_type",
            PageField::Title => "title",
            PageField::Description => "description",
            PageField::Canonical => "canonical",
            PageField::Lang => "lang",
            PageField::Bytes => "bytes",
            PageField::Depth => "depth",
            PageField::Referrer => "referrer",
            PageField::Links => "links",
            PageField::FetchedAt => "fetched_at",
            PageField::ElapsedMs => "elapsed_ms",
            PageField::SeenType => "seen_type",
            PageField::Text => "text",
            PageField::LinksList => "links_list",
            PageField::Headers => "headers",
            PageField::Hash => "hash",
            PageField::Changed => "changed",
            PageField::JsonLd => "jsonld",
        }
    }
}

/// Which fields a record has, in their order.
///
/// ```
/// use canter::Url;
/// use canter::config::{PageField, PageFields, PageRecord};
/// let url = Url::parse("https://example.com/").unwrap();
/// let page = PageRecord { title: Some("A \"title\"\u{2028}".into()), ..PageRecord::new(&url, 200) };
/// let mut line = Vec::new();
/// PageFields::new([PageField::Url, PageField::Title]).write(&page, &mut line);
/// assert_eq!(
///     String::from_utf8(line).unwrap(),
///     "{\"url\":\"https://example.com/\",\"title\":\"A \\\"title\\\"\\u2028\"}\n"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageFields(Vec<PageField>);

impl Default for PageFields {
    fn default() -> Self {
        PageFields(PageField::ALL[..PageField::BY_DEFAULT].to_vec())
    }
}

impl fmt::Display for PageFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().map(|field| field.name());
        f.debug_list().entries(names).finish()
    }
}

/// A page, as a record shows it. What a page does not have is `null`.
#[derive(Debug, Clone)]
pub struct PageRecord<'a> {
    /// The URL that answered.
    pub url: &'a Url,
    /// The redirects that led to it, oldest first.
    pub hops: &'a [Hop],
    /// The HTTP status.
    pub status: u16,
    /// The `Content-Type` header.
    pub content_type: Option<Cow<'a, str>>,
    /// The title.
    pub title: Option<Cow<'a, str>>,
    /// The description.
    pub description: Option<Cow<'a, str>>,
    /// The canonical URL.
    pub canonical: Option<Cow<'a, str>>,
    /// The language.
    pub lang: Option<Cow<'a, str>>,
    /// The body's length, decoded.
    pub bytes: u64,
    /// How many links away from a seed.
    pub depth: u32,
    /// The page that the URL was found on.
    pub referrer: Option<&'a str>,
    /// How many different links the page has.
    pub links: usize,
    /// The links themselves; only looked at when the field is chosen.
    pub links_list: &'a [&'a str],
    /// When the fetch ended.
    pub fetched_at: SystemTime,
    /// How long it took.
    pub elapsed: Duration,
    /// What the body looks like.
    pub seen_type: Option<&'a str>,
    /// The visible text; only looked at when the field is chosen.
    pub text: Option<Cow<'a, str>>,
    /// The response's headers as they came.
    pub headers: &'a [(String, Vec<u8>)],
    /// A hash of the decoded body; only looked at when the field is chosen.
    pub hash: u64,
    /// Whether the body is another than on an earlier pass.
    pub changed: Option<bool>,
    /// The objects of the page's JSON-LD, each as JSON on one line.
    pub json_ld: &'a [String],
}

impl<'a> PageRecord<'a> {
    /// A page of which nothing but URL and status is known.
    #[must_use]
    pub fn new(url: &'a Url, status: u16) -> Self {
        PageRecord {
            url,
            hops: &[],
            status,
            content_type: None,
            title: None,
            description: None,
            canonical: None,
            lang: None,
            bytes: 0,
            depth: 0,
            referrer: None,
            links: 0,
            links_list: &[],
            fetched_at: rfc3339::EPOCH,
            elapsed: Duration::ZERO,
            seen_type: None,
            text: None,
            headers: &[],
            hash: 0,
            changed: None,
            json_ld: &[],
        }
    }
}

impl PageFields {
    /// These fields in this order; later repeats are dropped.
    #[must_use]
    pub fn new(fields: impl IntoIterator<Item = PageField>) -> Self {
        let mut kept = Vec::new();
        for field in fields {
            if !kept.contains(&field) {
                kept.push(field);
            }
        }
        PageFields(kept)
    }

    /// Whether the field is chosen.
    #[must_use]
    pub fn contains(&self, field: PageField) -> bool {
        self.0.contains(&field)
    }

    /// The fields in their order.
    pub fn iter(&self) -> impl Iterator<Item = PageField> + '_ {
        self.0.iter().copied()
    }

    pub(super) fn read_field(node: &Node) -> Result<PageField, Fault> {
        scalar::choice(node, &PageField::ALL.map(|field| (field.name(), field)))
    }

    /// Chooses one more field, if it is not chosen yet.
    pub(super) fn add(&mut self, field: PageField) {
        if !self.contains(field) {
            self.0.push(field);
        }
    }

    /// Appends the record as one line of JSON, its line end included. Nothing
    /// but `out` grows.
    pub fn write(&self, page: &PageRecord<'_>, out: &mut Vec<u8>) {
        out.push(b'{');
        let mut first = true;
        for &field in &self.0 {
            let absent = match field {
                PageField::Requested | PageField::Redirects => page.hops.is_empty(),
                _ => false,
            };
            if absent {
                continue;
            }
            if !first {
                out.push(b',');
            }
            first = false;
            out.push(b'"');
            out.extend_from_slice(field.name().as_bytes());
            out.extend_from_slice(b"\":");
            write_field(field, page, out);
        }
        out.extend_from_slice(b"}\n");
    }
}

fn write_field(field: PageField, page: &PageRecord<'_>, out: &mut Vec<u8>) {
    match field {
        PageField::Url => string(page.url.as_str(), out),
        PageField::Requested => {
            let requested = page.hops.first().map_or(page.url, |hop| &hop.url);
            string(requested.as_str(), out);
        }
        PageField::Redirects => {
            list(page.hops, out, |hop, out| {
                out.extend_from_slice(b"{\"url\":");
                string(hop.url.as_str(), out);
                out.extend_from_slice(b",\"status\":");
                number(u64::from(hop.status), out);
                out.push(b'}');
            });
        }
        PageField::Status => number(u64::from(page.status), out),
        PageField::ContentType => optional(page.content_type.as_deref(), out),
        PageField::Title => optional(page.title.as_deref(), out),
        PageField::Description => optional(page.description.as_deref(), out),
        PageField::Canonical => optional(page.canonical.as_deref(), out),
        PageField::Lang => optional(page.lang.as_deref(), out),
        PageField::Bytes => number(page.bytes, out),
        PageField::Depth => number(u64::from(page.depth), out),
        PageField::Referrer => optional(page.referrer, out),
        PageField::Links => number(page.links as u64, out),
        PageField::FetchedAt => {
            out.push(b'"');
            rfc3339::write(page.fetched_at, out);
            out.push(b'"');
        }
        PageField::ElapsedMs => number(page.elapsed.as_millis() as u64, out),
        PageField::SeenType => optional(page.seen_type, out),
        PageField::Text => optional(page.text.as_deref(), out),
        PageField::LinksList => list(page.links_list, out, |link, out| string(link, out)),
        PageField::Headers => headers(page.headers, out),
        PageField::Hash => {
            write!(out, "\"{:016x}\"", page.hash).expect("a vector takes every byte");
        }
        PageField::Changed => out.extend_from_slice(match page.changed {
            None => b"null",
            Some(true) => b"true",
            Some(false) => b"false",
        }),
        PageField::JsonLd => list(page.json_ld, out, |object, out| {
            out.extend_from_slice(object.as_bytes());
        }),
    }
}

fn optional(text: Option<&str>, out: &mut Vec<u8>) {
    match text {
        Some(text) => string(text, out),
        None => out.extend_from_slice(b"null"),
    }
}

fn number(value: u64, out: &mut Vec<u8>) {
    write!(out, "{value}").expect("a vector takes every byte");
}

fn list<T>(items: &[T], out: &mut Vec<u8>, mut item: impl FnMut(&T, &mut Vec<u8>)) {
    out.push(b'[');
    for (at, each) in items.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        item(each, out);
    }
    out.push(b']');
}

/// Names in lower case, in the order of their first line; a name may stand on
/// several lines, so each has a list of values.
fn headers(headers: &[(String, Vec<u8>)], out: &mut Vec<u8>) {
    out.push(b'{');
    for (at, (name, _)) in headers.iter().enumerate() {
        let same = |other: &&(String, Vec<u8>)| other.0.eq_ignore_ascii_case(name);
        if headers[..at].iter().any(|other| same(&other)) {
            continue;
        }
        if at > 0 {
            out.push(b',');
        }
        string(&name.to_ascii_lowercase(), out);
        out.extend_from_slice(b":[");
        for (at, (_, value)) in headers[at..].iter().filter(same).enumerate() {
            if at > 0 {
                out.push(b',');
            }
            // Bytes that are not UTF-8 are Latin-1 (RFC 9110 section 5.5).
            match std::str::from_utf8(value) {
                Ok(text) => string(text, out),
                Err(_) => string(
                    &value.iter().map(|&b| char::from(b)).collect::<String>(),
                    out,
                ),
            }
        }
        out.push(b']');
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_record_is_one_line_with_every_field() {
        let url = Url::parse("https://b.test/new?q=%22").unwrap();
        let hops = [Hop {
            url: Url::parse("https://a.test/old").unwrap(),
            status: 301,
        }];
        let headers = [
            ("Content-Type".to_owned(), b"text/html".to_vec()),
            ("Set-Cookie".to_owned(), b"a=1".to_vec()),
            ("X".to_owned(), vec![0xfc, b'\n']),
            ("set-cookie".to_owned(), b"b=2".to_vec()),
        ];
        let page = PageRecord {
            hops: &hops,
            content_type: Some("text/html; charset=\"x\"".into()),
            title: Some("T\u{0}\u{1b}[31m".into()),
            bytes: 12,
            depth: 2,
            referrer: Some("https://a.test/"),
            links: 2,
            links_list: &["https://b.test/1", "https://b.test/2"],
            elapsed: Duration::from_micros(1_999),
            seen_type: Some("html"),
            text: Some("some text".into()),
            headers: &headers,
            hash: 0xa1,
            changed: Some(true),
            json_ld: &["{\"@type\":\"Lamp\"}".to_owned(), "{}".to_owned()],
            ..PageRecord::new(&url, 200)
        };
        let mut line = Vec::new();
        PageFields::new(PageField::ALL).write(&page, &mut line);
        assert_eq!(
            line.iter().position(|&byte| byte == b'\n'),
            Some(line.len() - 1)
        );
        let value: serde_json::Value = serde_json::from_slice(&line).expect("valid JSON");
        let expected = serde_json::json!({
            "url": "https://b.test/new?q=%22",
            "requested": "https://a.test/old",
            "redirects": [{"url": "https://a.test/old", "status": 301}],
            "status": 200,
            "content_type": "text/html; charset=\"x\"",
            "title": "T\u{0}\u{1b}[31m",
            "description": null,
            "canonical": null,
            "lang": null,
            "bytes": 12,
            "depth": 2,
            "referrer": "https://a.test/",
            "links": 2,
            "fetched_at": "1970-01-01T00:00:00.000Z",
            "elapsed_ms": 1,
            "seen_type": "html",
            "text": "some text",
            "links_list": ["https://b.test/1", "https://b.test/2"],
            "headers": {"content-type": ["text/html"], "set-cookie": ["a=1", "b=2"], "x": ["\u{fc}\n"]},
            "hash": "00000000000000a1",
            "changed": true,
            "jsonld": [{"@type": "Lamp"}, {}],
        });
        assert_eq!(value, expected);
    }

    #[test]
    fn the_default_record_leaves_out_what_is_only_on_request_and_what_did_not_happen() {
        let url = Url::parse("https://a.test/").unwrap();
        let mut line = Vec::new();
        PageFields::default().write(&PageRecord::new(&url, 404), &mut line);
        assert_eq!(
            String::from_utf8(line).unwrap(),
            "{\"url\":\"https://a.test/\",\"status\":404,\"content_type\":null,\"title\":null,\
             \"description\":null,\"canonical\":null,\"lang\":null,\"bytes\":0,\"depth\":0,\
             \"referrer\":null,\"links\":0,\"fetched_at\":\"1970-01-01T00:00:00.000Z\",\
             \"elapsed_ms\":0}\n"
        );
    }
}
