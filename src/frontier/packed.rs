//! Queued requests as bytes: a [`Chunk`](super::depot) holds some, one behind
//! the other. Keeps: what comes out is what went in, in the same order.
//!
//! | part of an entry | bytes |
//! |---|---|
//! | kind, whether it is a seed, where the referrer stands | 1 |
//! | fingerprint | 8 |
//! | age, beyond that of the one before | 1 or more |
//! | depth | 1 or more |
//! | referrer, unless it is that of the one before | its length, and itself |
//! | path | its length, and itself |

use std::sync::Arc;

use super::entry::{Entry, Kind};

/// The first byte of an entry.
const SITEMAP: u8 = 1;
const SEED: u8 = 2;
const REFERRER: u8 = 4;
const SAME_REFERRER: u8 = 8;

/// Bytes of a number at most, seven bits in each.
const NUMBER: usize = 10;

/// Writes entries one behind the other.
#[derive(Debug, Default)]
pub(super) struct Packer {
    bytes: Vec<u8>,
    age: u64,
    referrer: Option<Arc<str>>,
}

impl Packer {
    /// Whether an entry can be packed at all: it is one of the many that are
    /// ordinary, and shorter than `limit`.
    pub(super) fn takes(entry: &Entry, limit: usize) -> bool {
        let referrer = entry.referrer.as_ref().map_or(0, |url| url.len());
        entry.extra.is_none()
            && entry.attempt == 1
            && !matches!(entry.kind, Kind::Robots { .. })
            && 1 + 8 + 4 * NUMBER + referrer + entry.path.len() <= limit
    }

    /// Bytes so far.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Appends an entry that it [`takes`](Self::takes), no younger than the one
    /// before. `false`, and nothing is written, when that would make more than
    /// `limit` bytes.
    pub(super) fn push(&mut self, entry: &Entry, limit: usize) -> bool {
        let age = entry.age - self.age;
        let depth = u64::from(entry.depth);
        let same = !self.is_empty() && self.referrer == entry.referrer;
        let referrer = entry.referrer.as_deref().filter(|_| !same);
        let length = 1
            + size_of_val(&entry.fingerprint)
            + number_length(age)
            + number_length(depth)
            + referrer.map_or(0, text_length)
            + text_length(&entry.path);
        let needed = self.len() + length;
        if needed > limit {
            return false;
        }
        if needed > self.bytes.capacity() {
            let capacity = (2 * self.bytes.capacity()).clamp(needed, limit);
            self.bytes.reserve_exact(capacity - self.len());
        }
        let mut flags = 0;
        let mut set = |flag, on| flags |= if on { flag } else { 0 };
        set(SITEMAP, entry.kind == Kind::Sitemap);
        set(SEED, entry.seed);
        set(SAME_REFERRER, same);
        set(REFERRER, referrer.is_some());
        self.bytes.push(flags);
        self.bytes.extend(entry.fingerprint.to_le_bytes());
        push_number(&mut self.bytes, age);
        push_number(&mut self.bytes, depth);
        if let Some(url) = referrer {
            push_text(&mut self.bytes, url);
        }
        push_text(&mut self.bytes, &entry.path);
        self.age = entry.age;
        if !same {
            self.referrer.clone_from(&entry.referrer);
        }
        true
    }

    /// The bytes so far.
    pub(super) fn copy(&self) -> Arc<[u8]> {
        Arc::from(&self.bytes[..])
    }

    /// Takes the bytes out, and begins anew.
    pub(super) fn take(&mut self) -> Arc<[u8]> {
        let bytes = self.copy();
        self.bytes.clear();
        self.age = 0;
        self.referrer = None;
        bytes
    }
}

/// Reads what a [`Packer`] has written.
#[derive(Debug, Clone)]
pub(super) struct Unpacker {
    bytes: Arc<[u8]>,
    at: usize,
    age: u64,
    referrer: Option<Arc<str>>,
}

impl Unpacker {
    pub(super) fn new(bytes: Arc<[u8]>) -> Self {
        Unpacker {
            bytes,
            at: 0,
            age: 0,
            referrer: None,
        }
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for (at, byte) in self.rest().iter().take(NUMBER).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * at);
            if byte & 0x80 == 0 {
                self.at += at + 1;
                return Some(value);
            }
        }
        None
    }

    fn text<T: for<'a> From<&'a str>>(&mut self) -> Option<T> {
        let length = usize::try_from(self.number()?).ok()?;
        let text = str::from_utf8(self.rest().get(..length)?).ok()?.into();
        self.at += length;
        Some(text)
    }
}

/// Ends at the end of the bytes, or where they are not what was written.
impl Iterator for Unpacker {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let (&flags, rest) = self.rest().split_first()?;
        let fingerprint = u64::from_le_bytes(*rest.first_chunk()?);
        self.at += 1 + size_of::<u64>();
        self.age = self.age.checked_add(self.number()?)?;
        let depth = u32::try_from(self.number()?).ok()?;
        if flags & SAME_REFERRER == 0 {
            self.referrer = if flags & REFERRER == 0 {
                None
            } else {
                Some(self.text()?)
            };
        }
        Some(Entry {
            fingerprint,
            path: self.text()?,
            referrer: self.referrer.clone(),
            extra: None,
            age: self.age,
            priority: 0,
            depth,
            attempt: 1,
            kind: if flags & SITEMAP == 0 {
                Kind::Page
            } else {
                Kind::Sitemap
            },
            seed: flags & SEED != 0,
        })
    }
}

fn number_length(value: u64) -> usize {
    (u64::BITS - (value | 1).leading_zeros()).div_ceil(7) as usize
}

fn text_length(text: &str) -> usize {
    number_length(text.len() as u64) + text.len()
}

fn push_number(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn push_text(bytes: &mut Vec<u8>, text: &str) {
    push_number(bytes, text.len() as u64);
    bytes.extend(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Request;

    const LIMIT: usize = 4096;

    fn entries(random: &mut fastrand::Rng) -> Vec<Entry> {
        let mut age = random.u64(..1 << 40);
        let pages: [Option<Arc<str>>; 3] = [None, Some("http://a.test/".into()), Some("ü".into())];
        (0..random.usize(..60))
            .map(|_| {
                age += random.u64(..300);
                let url = format!("http://a.test/{}?x", "é".repeat(random.usize(..40)));
                let request = Request::get(url)
                    .expect("a URL")
                    .with_depth(random.u32(..200))
                    .with_referrer(pages[random.usize(..3)].clone());
                let kind = [Kind::Page, Kind::Sitemap][random.usize(..2)];
                Entry::new(&request, random.u64(..), kind, random.bool(), age)
            })
            .collect()
    }

    #[test]
    fn what_was_packed_comes_out_again() {
        let mut random = fastrand::Rng::with_seed(8);
        let mut packer = Packer::default();
        for _ in 0..300 {
            let entries = entries(&mut random);
            let mut taken = 0;
            for entry in &entries {
                assert!(Packer::takes(entry, LIMIT));
                if !packer.push(entry, LIMIT) {
                    break;
                }
                taken += 1;
            }
            assert!(packer.len() <= LIMIT);
            assert!(packer.bytes.capacity() <= LIMIT, "none is kept for more");
            let again: Vec<Entry> = Unpacker::new(packer.take()).collect();
            assert!(packer.is_empty());
            assert_eq!(format!("{again:?}"), format!("{:?}", &entries[..taken]));
        }
    }

    #[test]
    fn bytes_that_were_not_written_so_end_early() {
        let mut random = fastrand::Rng::with_seed(9);
        for _ in 0..2_000 {
            let mut packer = Packer::default();
            for entry in entries(&mut random) {
                packer.push(&entry, LIMIT);
            }
            let mut bytes = packer.take().to_vec();
            for _ in 0..random.usize(1..4) {
                if !bytes.is_empty() {
                    let at = random.usize(..bytes.len());
                    bytes[at] = random.u8(..);
                }
            }
            bytes.truncate(random.usize(..=bytes.len()));
            assert!(Unpacker::new(bytes.into()).count() <= LIMIT);
        }
    }

    #[test]
    fn only_ordinary_requests_are_packed() {
        let plain = Request::get("http://a.test/x").expect("a URL");
        let entry = |request: &Request, kind| Entry::new(request, 1, kind, false, 0);
        assert!(Packer::takes(&entry(&plain, Kind::Page), LIMIT));
        assert!(!Packer::takes(
            &entry(&plain, Kind::Robots { of: 0 }),
            LIMIT
        ));
        assert!(!Packer::takes(&entry(&plain, Kind::Page), 40));
        let post = Request::post("http://a.test/x", "b").expect("a URL");
        assert!(!Packer::takes(&entry(&post, Kind::Page), LIMIT));
        let second = plain.with_attempt(2);
        assert!(!Packer::takes(&entry(&second, Kind::Page), LIMIT));
    }
}
