//! [`Seeds`]: what a crawl begins with. Keeps: the order in which they were
//! named, in little memory, since a list may hold millions.

use std::collections::HashSet;
use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use url::Url;

use crate::request::{Method, Request, Tag};
use crate::uri;

/// Bytes of URLs that are compressed together.
const BLOCK: usize = 64 << 10;

/// The requests that a crawl begins with.
#[derive(Debug, Default)]
pub(super) struct Seeds {
    /// URLs, one a line; an empty line stands for a request that is not plain.
    blocks: Vec<Box<[u8]>>,
    last: Vec<u8>,
    special: Vec<Request>,
    len: usize,
    hosts: HashSet<String>,
    origins: HashSet<String>,
    /// A URL of each origin.
    of_origins: Vec<Url>,
}

impl Seeds {
    pub(super) fn push(&mut self, request: Request) {
        let url = request.url();
        let origin = uri::origin(url);
        if !self.origins.contains(&origin) {
            self.origins.insert(origin);
            self.hosts.insert(uri::host_key(url).into_owned());
            self.of_origins.push(url.clone());
        }
        if is_plain(&request) {
            self.last.extend(url.as_str().as_bytes());
        } else {
            self.special.push(request);
        }
        self.last.push(b'\n');
        self.len += 1;
        if self.last.len() >= BLOCK {
            self.blocks.push(compressed(&self.last));
            self.last.clear();
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Names of their hosts, as [`uri::host_key`] gives them.
    pub(super) fn hosts(&self) -> &HashSet<String> {
        &self.hosts
    }

    pub(super) fn origins(&self) -> &HashSet<String> {
        &self.origins
    }

    /// The URL of the first seed of each origin.
    pub(super) fn of_origins(&self) -> &[Url] {
        &self.of_origins
    }

    /// All of them, in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Request> + '_ {
        let mut special = self.special.iter();
        let blocks = self.blocks.iter().map(|block| decompressed(block));
        blocks
            .chain(std::iter::once_with(|| self.last.clone()))
            .flat_map(|block| {
                let lines = block.split_inclusive(|byte| *byte == b'\n');
                let lines = lines.map(|line| String::from_utf8_lossy(line).trim_end().to_owned());
                lines.collect::<Vec<_>>()
            })
            .filter_map(move |line| {
                if line.is_empty() {
                    return special.next().cloned();
                }
                let url = Url::parse(&line).expect("it was a URL before it was a line");
                Some(Request::new(Method::Get, url))
            })
    }
}

/// Whether there is nothing to a request but its URL.
fn is_plain(request: &Request) -> bool {
    request.method() == Method::Get
        && *request.tag() == Tag::UNTAGGED
        && request.headers().is_empty()
        && request.body().is_empty()
        && request.hops().is_empty()
        && request.referrer().is_none()
        && (request.depth(), request.priority(), request.attempt()) == (0, 0, 1)
        && !request.cookie_set()
        && !request.again()
}

fn compressed(bytes: &[u8]) -> Box<[u8]> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder
        .write_all(bytes)
        .and_then(|()| encoder.finish())
        .expect("memory takes what is written")
        .into_boxed_slice()
}

fn decompressed(block: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(BLOCK + BLOCK / 8);
    DeflateDecoder::new(block)
        .read_to_end(&mut bytes)
        .expect("it was compressed here");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_come_back_in_their_order() {
        let mut seeds = Seeds::default();
        let mut model = Vec::new();
        for n in 0..5_000 {
            let url = format!("http://host{}.test/a/rather/long/path/{n}?q=ä#f", n % 7);
            let mut request = Request::get(url).expect("a URL");
            if n % 100 == 7 {
                request = request.with_tag("t").with_priority(n);
            }
            if n % 1_000 == 1 {
                request = Request::post("http://host1.test/", "body").expect("a URL");
            }
            model.push(format!("{request:?}"));
            seeds.push(request);
        }
        assert!(seeds.blocks.len() > 2, "{} blocks", seeds.blocks.len());
        let again: Vec<_> = seeds.iter().map(|seed| format!("{seed:?}")).collect();
        assert_eq!(again, model);
        assert_eq!((seeds.len(), seeds.hosts().len()), (5_000, 7));
        assert_eq!(seeds.of_origins().len(), 7);
        assert_eq!(Seeds::default().iter().count(), 0);
    }
}
