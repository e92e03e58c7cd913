//! Reading requests and ends from their lines whole: what [`parse`] passes
//! over, since only some of them are wanted. Keeps: a request reads back as it
//! was written.

use std::time::Duration;

use serde::Deserialize;

use super::change::{End, PageMemory, Queued};
use super::parse::{self, Hash, Text, bytes, one, read};
use crate::request::{BodyLimit, Hop, Method, Purpose, Request, parse_url};

#[derive(Deserialize)]
struct QueuedWhole<'a> {
    q: Hash,
    #[serde(borrow)]
    u: Text<'a>,
    #[serde(default)]
    d: u32,
    #[serde(default = "one")]
    n: u32,
    #[serde(default)]
    s: u8,
    #[serde(borrow, default)]
    k: Text<'a>,
    #[serde(borrow, default)]
    t: Text<'a>,
    #[serde(default)]
    p: i32,
    #[serde(borrow, default)]
    m: Text<'a>,
    #[serde(borrow, default)]
    b: Text<'a>,
    #[serde(borrow, default)]
    bx: Text<'a>,
    #[serde(default)]
    h: Vec<(String, String)>,
    #[serde(default)]
    v: Vec<(String, u16)>,
    #[serde(default)]
    l: Option<(u64, u8)>,
}

/// An end, whole.
#[derive(Deserialize)]
pub(super) struct EndedWhole<'a> {
    pub(super) e: Hash,
    #[serde(borrow, default)]
    x: Text<'a>,
    #[serde(borrow, default)]
    y: Text<'a>,
    #[serde(default)]
    pub(super) s: Option<u16>,
    #[serde(default = "one")]
    pub(super) n: u32,
    #[serde(borrow, default)]
    pub(super) u: Text<'a>,
    #[serde(default)]
    d: u32,
    #[serde(borrow, default)]
    k: Text<'a>,
    #[serde(borrow, default)]
    pub(super) msg: Text<'a>,
    #[serde(default)]
    b: Option<u64>,
    #[serde(default)]
    ms: u64,
    #[serde(default)]
    h: Option<Hash>,
    #[serde(default)]
    et: Option<String>,
    #[serde(default)]
    lm: Option<String>,
}

/// The page that the requests on the next lines were found on; empty for none.
pub(super) fn referrer(line: &[u8]) -> Result<String, String> {
    #[derive(Deserialize)]
    struct ReferrerLine {
        r: String,
    }
    read::<ReferrerLine>(line).map(|line| line.r)
}

/// Reads a request's line whole, but for its referrer.
pub(super) fn queued(line: &[u8]) -> Result<Queued, String> {
    let line: QueuedWhole = read(line)?;
    let method = if line.m.is_empty() {
        Method::Get
    } else {
        Method::from_name(&line.m).ok_or_else(|| format!("no such method: {:?}", line.m))?
    };
    let mut hops = Vec::with_capacity(line.v.len());
    for (url, status) in line.v {
        let url = parse_url(&url).map_err(|error| error.to_string())?;
        hops.push(Hop { url, status });
    }
    let url = parse_url(&line.u).map_err(|error| error.to_string())?;
    let mut request = Request::new(method, url)
        .with_body(bytes(&line.b, &line.bx)?)
        .with_priority(line.p)
        .with_depth(line.d)
        .with_attempt(line.n)
        .with_hops(hops);
    if !line.t.is_empty() {
        request = request.with_tag(&*line.t);
    }
    for (name, value) in line.h {
        request = request.with_header(name, value);
    }
    if let Some((bytes, keep_start)) = line.l {
        request = request.with_body_limit(BodyLimit {
            bytes,
            keep_start: keep_start != 0,
        });
    }
    Ok(Queued {
        fingerprint: line.q.0,
        request,
        seed: line.s != 0,
        purpose: purpose(&line.k),
    })
}

/// A request of which a line says no more than URL, depth and whether it is a
/// seed, as nearly all do.
#[derive(Debug, PartialEq)]
pub(super) struct Plain {
    pub(super) url: Box<str>,
    pub(super) depth: u32,
    pub(super) seed: bool,
}

/// Reads a request's line if it is a plain one: byte for byte as
/// [`format`](super::format) writes it, without anything escaped.
pub(super) fn plain(line: &[u8]) -> Option<Plain> {
    const BEFORE_HASH: &[u8] = b"{\"q\":\"";
    const BEFORE_URL: &[u8] = b"\",\"u\":\"";
    let (_hash, rest) = line.strip_prefix(BEFORE_HASH)?.split_at_checked(16)?;
    let rest = rest.strip_prefix(BEFORE_URL)?;
    let end = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
    let (url, mut rest) = rest.split_at(end);
    rest = rest.strip_prefix(b"\"")?;
    let mut depth = 0;
    if let Some(digits) = rest.strip_prefix(b",\"d\":") {
        let end = digits.iter().position(|byte| !byte.is_ascii_digit())?;
        depth = str::from_utf8(&digits[..end]).ok()?.parse().ok()?;
        rest = &digits[end..];
    }
    let seed = rest.strip_prefix(b",\"s\":1");
    (seed.unwrap_or(rest) == b"}\n").then_some(())?;
    Some(Plain {
        url: str::from_utf8(url).ok()?.into(),
        depth,
        seed: seed.is_some(),
    })
}

impl Plain {
    /// The request.
    pub(super) fn request(&self) -> Result<Request, String> {
        let url = parse_url(&self.url).map_err(|error| error.to_string())?;
        Ok(Request::new(Method::Get, url).with_depth(self.depth))
    }
}

fn purpose(word: &str) -> Purpose {
    match word {
        "sitemap" => Purpose::Sitemap,
        _ => Purpose::Page,
    }
}

/// Reads an end's line whole.
pub(super) fn ended(line: &[u8]) -> Result<EndedWhole<'_>, String> {
    read(line)
}

impl EndedWhole<'_> {
    pub(super) fn fingerprint(&self) -> u64 {
        self.e.0
    }

    pub(super) fn end(&self) -> Result<End, String> {
        parse::end(&self.x, &self.y)
    }

    pub(super) fn memory(&self) -> Option<PageMemory> {
        Some(PageMemory {
            bytes: self.b?,
            elapsed: Duration::from_millis(self.ms),
            hash: self.h.map(|hash| hash.0),
            etag: self.et.clone(),
            last_modified: self.lm.clone(),
        })
    }

    /// The request of a URL that ended without having been queued, if the URL
    /// is named.
    pub(super) fn queued(&self) -> Result<Option<Queued>, String> {
        if self.u.is_empty() {
            return Ok(None);
        }
        let url = parse_url(&self.u).map_err(|error| error.to_string())?;
        Ok(Some(Queued {
            fingerprint: self.fingerprint(),
            request: Request::new(Method::Get, url).with_depth(self.d),
            seed: false,
            purpose: purpose(&self.k),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::anchor::Anchor;
    use crate::ledger::change::Change;
    use crate::ledger::format::Writer;

    /// The line of a request as it is written.
    fn line(queued: Queued) -> Vec<u8> {
        let mut buffer = Vec::new();
        let changes = [Change::Queued(Box::new(queued))];
        Writer::default().changes(&mut buffer, &changes, &Anchor::now(), false);
        let start = buffer.windows(6).position(|bytes| bytes == b"{\"q\":\"");
        buffer.split_off(start.expect("a request's line"))
    }

    fn request(random: &mut fastrand::Rng) -> Request {
        let url = [
            "http://a.test/x",
            "https://b.test:8/%22?a=\"b\"&c",
            "http://c.test/é",
        ];
        let mut request = Request::get(url[random.usize(..3)]).expect("a URL");
        request = request.with_depth(random.u32(..3));
        match random.u8(..8) {
            0 => request.with_tag("t"),
            1 => request.with_priority(-1),
            2 => request.with_header("X-A", "1"),
            3 => request.with_attempt(2),
            _ => request,
        }
    }

    #[test]
    fn a_plain_line_says_the_same_as_when_it_is_read_whole() {
        let mut random = fastrand::Rng::with_seed(4);
        let mut plain_ones = 0;
        for _ in 0..2_000 {
            let mut bytes = line(Queued {
                fingerprint: random.u64(..),
                request: request(&mut random),
                seed: random.bool(),
                purpose: [Purpose::Page, Purpose::Sitemap][usize::from(random.u8(..9) == 0)],
            });
            if random.u8(..4) == 0 {
                let at = random.usize(..bytes.len());
                bytes[at] = random.u8(..);
            }
            let Some(plain) = plain(&bytes) else { continue };
            plain_ones += 1;
            // A damaged state is told by its checksum, not here.
            let (Ok(whole), Ok(request)) = (queued(&bytes), plain.request()) else {
                continue;
            };
            assert_eq!(format!("{request:?}"), format!("{:?}", whole.request));
            assert_eq!((plain.seed, Purpose::Page), (whole.seed, whole.purpose));
        }
        assert!(plain_ones > 500, "{plain_ones} were plain");
    }
}
