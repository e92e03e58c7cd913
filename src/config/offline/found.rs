//! [`Found`]: a line of the index of kept bodies that was read. Keeps: it says
//! of the page all that [`Kept`](crate::config::kept::Kept) said.

use std::time::{Duration, SystemTime};

use serde::Deserialize;
use url::Url;

use crate::config::rfc3339;
use crate::fetch::Response;
use crate::request::{Hop, Method, Request, parse_url};

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
    use crate::config::kept::Kept;

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
