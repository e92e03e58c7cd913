//! [`Kept`]: a line of the index of kept bodies: everything of an answer but
//! its body, and of its request what a record tells. Keeps: a page that is read
//! again gives the record that it gave at first, byte for byte.

use std::io::Write as _;
use std::time::{Duration, SystemTime};

use serde::Deserialize;
use url::Url;

use super::json::string;
use super::rfc3339;
use crate::error::Result;
use crate::fetch::Response;
use crate::request::{Hop, Method, Request, parse_url};
use crate::uri;

/// A page whose body is kept.
pub(super) struct Kept<'a> {
    pub(super) request: &'a Request,
    pub(super) response: &'a Response,
    /// The body's hash.
    pub(super) hash: u64,
    pub(super) fetched_at: SystemTime,
    pub(super) changed: Option<bool>,
}

impl Kept<'_> {
    /// Appends the line, without its end.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let Kept {
            request, response, ..
        } = self;
        out.extend_from_slice(b"{\"url\":");
        string(uri::without_credentials(response.url()).as_str(), out);
        if let Some(first) = request.hops().first() {
            out.extend_from_slice(b",\"requested\":");
            string(first.url.as_str(), out);
            out.extend_from_slice(b",\"redirects\":");
            list(request.hops(), out, |hop, out| {
                out.push(b'[');
                string(hop.url.as_str(), out);
                put(out, format_args!(",{}]", hop.status));
            });
        }
        let hash = self.hash;
        put(
            out,
            format_args!(",\"hash\":\"{hash:016x}\",\"content_type\":"),
        );
        text(response.header("content-type").as_deref(), out);
        put(
            out,
            format_args!(",\"status\":{},\"fetched_at\":\"", response.status()),
        );
        rfc3339::write(self.fetched_at, out);
        put(
            out,
            format_args!(
                "\",\"elapsed_ms\":{},\"bytes\":{},\"depth\":{},\"referrer\":",
                response.elapsed().as_millis(),
                response.body().len(),
                request.depth(),
            ),
        );
        text(request.referrer().map(AsRef::as_ref), out);
        if let Some(changed) = self.changed {
            put(out, format_args!(",\"changed\":{changed}"));
        }
        for (name, is) in [
            ("truncated", response.truncated()),
            ("skipped", response.body_skipped()),
            ("undecoded", response.undecoded()),
        ] {
            if is {
                put(out, format_args!(",\"{name}\":true"));
            }
        }
        out.extend_from_slice(b",\"headers\":");
        list(response.headers(), out, |(name, value), out| {
            out.push(b'[');
            string(name, out);
            out.push(b',');
            match std::str::from_utf8(value) {
                Ok(value) => string(value, out),
                Err(_) => list(value, out, |byte, out| put(out, format_args!("{byte}"))),
            }
            out.push(b']');
        });
        out.push(b'}');
    }
}

fn put(out: &mut Vec<u8>, what: std::fmt::Arguments<'_>) {
    out.write_fmt(what).expect("a vector takes every byte");
}

fn text(text: Option<&str>, out: &mut Vec<u8>) {
    match text {
        Some(text) => string(text, out),
        None => out.extend_from_slice(b"null"),
    }
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

#[derive(Deserialize)]
#[serde(untagged)]
enum HeaderValue {
    Text(String),
    Bytes(Vec<u8>),
}

#[derive(Deserialize)]
struct Line {
    url: String,
    #[serde(default)]
    redirects: Vec<(String, u16)>,
    hash: String,
    status: u16,
    fetched_at: String,
    elapsed_ms: u64,
    bytes: u64,
    depth: u32,
    referrer: Option<String>,
    changed: Option<bool>,
    #[serde(default)]
    truncated: bool,
    #[serde(default)]
    skipped: bool,
    #[serde(default)]
    undecoded: bool,
    headers: Vec<(String, HeaderValue)>,
}

/// A line that was read.
pub(super) struct Found {
    pub(super) request: Request,
    /// The answer without its body.
    pub(super) response: Response,
    pub(super) hash: u64,
    /// Bytes of the body.
    pub(super) bytes: u64,
    pub(super) fetched_at: SystemTime,
    pub(super) changed: Option<bool>,
}

impl Found {
    /// Reads a line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn read(line: &[u8]) -> Result<Found, String> {
        let line: Line = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        let url = |text: &str| -> Result<Url, String> {
            parse_url(text).map_err(|error| error.to_string())
        };
        let hops = line.redirects.iter().map(|(hop, status)| {
            Ok(Hop {
                url: url(hop)?,
                status: *status,
            })
        });
        let hops = hops.collect::<Result<Vec<_>, String>>()?;
        let url = url(&line.url)?;
        let request = Request::new(Method::Get, url.clone())
            .with_hops(hops)
            .with_depth(line.depth)
            .with_referrer(line.referrer.map(Into::into));
        let headers = line.headers.into_iter().map(|(name, value)| match value {
            HeaderValue::Text(text) => (name, text.into_bytes()),
            HeaderValue::Bytes(bytes) => (name, bytes),
        });
        let response = Response::new(url, line.status)
            .with_headers(headers.collect())
            .with_truncated(line.truncated)
            .with_body_skipped(line.skipped)
            .with_undecoded(line.undecoded)
            .with_elapsed(Duration::from_millis(line.elapsed_ms));
        Ok(Found {
            request,
            response,
            hash: u64::from_str_radix(&line.hash, 16).map_err(|_| "the hash is none")?,
            bytes: line.bytes,
            fetched_at: rfc3339::parse(&line.fetched_at).ok_or("the time is none")?,
            changed: line.changed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reads_back_as_what_it_was_written_of() {
        let url = |text: &str| Url::parse(text).expect("a URL");
        let request = Request::get("http://a.test/new")
            .expect("a URL")
            .with_depth(3)
            .with_referrer(Some("http://a.test/".into()))
            .with_hops(vec![Hop {
                url: url("http://a.test/old"),
                status: 301,
            }]);
        let response = Response::new(url("http://u:p@a.test/new"), 203)
            .with_header("Content-Type", "text/html; x=\"\u{2028}\"")
            .with_header("X-Odd", vec![0xe9, b'a'])
            .with_header("X-Odd", "é")
            .with_body("abc")
            .with_truncated(true)
            .with_elapsed(Duration::from_micros(12_900));
        for changed in [None, Some(true), Some(false)] {
            let fetched_at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_123);
            let kept = Kept {
                request: &request,
                response: &response,
                hash: 0xab,
                fetched_at,
                changed,
            };
            let mut line = Vec::new();
            kept.write(&mut line);
            let text = std::str::from_utf8(&line).expect("UTF-8");
            assert!(
                !text.contains(['\n', '\u{2028}']) && !text.contains("u:p"),
                "{text}"
            );
            let found = Found::read(&line).expect(text);
            assert_eq!(found.request.url().as_str(), "http://a.test/new");
            assert_eq!(found.request.hops(), request.hops());
            assert_eq!(found.request.depth(), 3);
            assert_eq!(found.request.referrer(), request.referrer());
            assert_eq!(found.response.headers(), response.headers());
            assert_eq!(found.response.status(), 203);
            assert!(found.response.truncated() && !found.response.undecoded());
            assert_eq!(found.response.elapsed().as_millis(), 12);
            assert_eq!((found.hash, found.bytes), (0xab, 3));
            assert_eq!((found.fetched_at, found.changed), (fetched_at, changed));
            let mut again = Vec::new();
            let response = found.response.clone().with_body("abc");
            let kept = Kept {
                request: &found.request,
                response: &response,
                ..kept
            };
            kept.write(&mut again);
            assert_eq!(again, line);
        }
        assert!(Found::read(b"{\"url\":\"http://a.test/\"}").is_err());
    }
}
