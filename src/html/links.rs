//! [`Link`], and how the references on a page become links.
//!
//! A reference is resolved once, after the page has been read: only then is
//! its base known. Links are in document order and no URL is there twice.

use std::borrow::Cow;

use encoding_rs::Encoding;
use url::Url;

use crate::uri;

/// A link of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Link {
    /// Where it leads: `http` or `https`, fragment kept.
    pub url: Url,
    /// Whether it is not to be followed: every link to this URL says
    /// `rel=nofollow`, or the page says so for all of its links.
    pub nofollow: bool,
    /// What kind of link comes first.
    pub kind: LinkKind,
}

/// What makes a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LinkKind {
    /// `a href`, in SVG (also as `xlink:href`) and `MathML` too.
    Anchor,
    /// `area href`
    Area,
    /// `iframe src` or `frame src`
    Frame,
    /// `meta http-equiv=refresh`, or the header field `Refresh`
    Refresh,
}

/// The references of a page as they are written, each once.
#[derive(Debug, Clone, Default)]
pub(super) struct References {
    text: Vec<u8>,
    entries: Vec<Reference>,
    seen: Seen,
}

#[derive(Debug, Clone, Copy)]
struct Reference {
    start: usize,
    end: usize,
    nofollow: bool,
    kind: LinkKind,
}

/// The links of a page.
#[derive(Debug, Clone, Default)]
pub(super) struct Resolved {
    pub(super) links: Vec<Link>,
    /// Different references that are no URL.
    pub(super) malformed: usize,
}

impl References {
    pub(super) fn push(&mut self, kind: LinkKind, href: &[u8], nofollow: bool) {
        let (text, entries) = (&self.text, &self.entries);
        let same = |at: usize| &text[entries[at].start..entries[at].end] == href;
        if let Some(at) = self.seen.find_or_insert(href, same) {
            self.entries[at].nofollow &= nofollow;
            return;
        }
        let start = self.text.len();
        self.text.extend_from_slice(href);
        self.entries.push(Reference {
            start,
            end: self.text.len(),
            nofollow,
            kind,
        });
    }

    /// Gives back what only [`push`](Self::push) needs.
    pub(super) fn shrink(&mut self) {
        self.seen = Seen::default();
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Forgets all but the first `length`.
    pub(super) fn truncate(&mut self, length: usize) {
        if let Some(first) = self.entries.get(length) {
            self.text.truncate(first.start);
            self.entries.truncate(length);
            self.seen.truncate(length);
        }
    }

    pub(super) fn resolve(
        &self,
        base: &Url,
        encoding: &'static Encoding,
        nofollow: bool,
    ) -> Resolved {
        let mut links: Vec<Link> = Vec::with_capacity(self.entries.len());
        let mut seen = Seen::default();
        let mut malformed = 0;
        for entry in &self.entries {
            let href = text_of(&self.text[entry.start..entry.end]);
            let url = if is_pasted_text(&href) {
                None
            } else {
                uri::join(base, &href, encoding)
            };
            let Some(url) = url else {
                malformed += 1;
                continue;
            };
            if !uri::is_web(&url) {
                continue;
            }
            let nofollow = nofollow || entry.nofollow;
            let same = |at: usize| links[at].url.as_str() == url.as_str();
            match seen.find_or_insert(url.as_str().as_bytes(), same) {
                Some(at) => links[at].nofollow &= nofollow,
                None => links.push(Link {
                    url,
                    nofollow,
                    kind: entry.kind,
                }),
            }
        }
        Resolved { links, malformed }
    }
}

/// The text of an attribute. It comes from a page that was text, so this only
/// makes sure.
fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Whether a reference is text with a URL in it, such as `1.<tab>https://…`.
/// The standard takes it for a relative path, which no author means and which
/// leads ever deeper on servers that answer any path.
fn is_pasted_text(href: &str) -> bool {
    let href = href.trim_ascii();
    if !href.bytes().any(|byte| byte.is_ascii_whitespace()) {
        return false;
    }
    let relative = !href.starts_with(['/', '\\', '?', '#']);
    relative
        && href.match_indices("://").any(|(at, _)| {
            let before = href[..at].to_ascii_lowercase();
            ["http", "https"].iter().any(|scheme| {
                before
                    .strip_suffix(scheme)
                    .is_some_and(|text| text.ends_with(|c: char| c.is_ascii_whitespace()))
            })
        })
}

/// Finds what is there already among numbered texts that lie elsewhere.
///
/// The texts come from the network, so the hash has a random key: a page
/// cannot choose texts that all meet in one slot. There are dozens on each page
/// and none outlives it, so the hash is a quick one: each word is multiplied
/// into the state, and the product's halves are folded together.
#[derive(Debug, Clone)]
struct Seen {
    /// The state to begin with, and what words are multiplied by.
    key: [u64; 2],
    hashes: Vec<u64>,
    /// One more than a text's number; 0 is free. A power of two, at most half
    /// of it used.
    slots: Vec<u32>,
}

impl Default for Seen {
    fn default() -> Self {
        Seen {
            // An odd factor loses no bit.
            key: [fastrand::u64(..), fastrand::u64(..) | 1],
            hashes: Vec::new(),
            slots: Vec::new(),
        }
    }
}

impl Seen {
    /// Slots to begin with: room for the links of an ordinary page.
    const FIRST_SLOTS: usize = 128;

    /// The number of an equal text, or else takes this one in under the next.
    fn find_or_insert(&mut self, text: &[u8], same: impl Fn(usize) -> bool) -> Option<usize> {
        if self.hashes.len() * 2 >= self.slots.len() {
            self.resize((self.slots.len() * 2).max(Self::FIRST_SLOTS));
        }
        let hash = self.hash(text);
        let mut slot = self.slot(hash);
        loop {
            match self.slots[slot] {
                0 => break,
                number => {
                    let at = number as usize - 1;
                    if self.hashes[at] == hash && same(at) {
                        return Some(at);
                    }
                }
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        self.hashes.push(hash);
        self.slots[slot] = self.hashes.len() as u32;
        None
    }

    fn hash(&self, text: &[u8]) -> u64 {
        let [first, factor] = self.key;
        let fold = |state: u64, word: [u8; 8]| {
            let product = u128::from(state ^ u64::from_le_bytes(word)) * u128::from(factor);
            product as u64 ^ (product >> 64) as u64
        };
        let (words, rest) = text.as_chunks();
        let state = words
            .iter()
            .fold(first ^ text.len() as u64, |state, word| fold(state, *word));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        fold(state, last)
    }

    fn slot(&self, hash: u64) -> usize {
        hash as usize & (self.slots.len() - 1)
    }

    fn truncate(&mut self, length: usize) {
        self.hashes.truncate(length);
        self.resize(self.slots.len());
    }

    fn resize(&mut self, slots: usize) {
        self.slots.clear();
        self.slots.resize(slots, 0);
        for at in 0..self.hashes.len() {
            let mut slot = self.slot(self.hashes[at]);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (slots - 1);
            }
            self.slots[slot] = at as u32 + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_again_under_its_number() {
        let texts: Vec<String> = (0..1000).map(|n| format!("text {n}")).collect();
        let mut seen = Seen::default();
        for _ in 0..2 {
            for (n, text) in texts.iter().enumerate() {
                let found = seen.find_or_insert(text.as_bytes(), |at| texts[at] == *text);
                assert!(found.is_none_or(|at| at == n));
            }
        }
        assert_eq!(seen.hashes.len(), 1000);
        seen.truncate(10);
        let again = seen.find_or_insert(b"text 9", |at| texts[at] == "text 9");
        assert_eq!(again, Some(9));
        let gone = seen.find_or_insert(b"text 10", |at| texts[at] == "text 10");
        assert_eq!(gone, None);
    }

    #[test]
    fn texts_that_are_alike_spread_over_the_slots() {
        let seen = Seen::default();
        let texts = (0..1 << 12).flat_map(|n| {
            let zeros = "\0".repeat(n % 64);
            [format!("/item?page={n}"), format!("{n}{zeros}")]
        });
        let mut counts = [0_u32; 64];
        for text in texts {
            counts[(seen.hash(text.as_bytes()) % 64) as usize] += 1;
        }
        // 128 each on average; by chance hardly ever half as many again.
        assert!(counts.iter().all(|&count| (64..192).contains(&count)));
    }

    #[test]
    fn text_with_a_url_in_it_is_told_from_paths_that_hold_one() {
        for pasted in [
            "1.\thttps://b.test/",
            "see http://b.test",
            " x HTTPS://b.test/",
        ] {
            assert!(is_pasted_text(pasted), "{pasted:?}");
        }
        for path in [
            "https://b.test/",
            " http://b.test/",
            "/web/2020/https://b.test/",
            "web/http://b.test/",
            "?u= http://b.test/",
            "login?to=https://b.test",
        ] {
            assert!(!is_pasted_text(path), "{path:?}");
        }
    }
}
