//! The URLs that a chronicle names: [`Slowest`] and [`Failing`]. Keeps: a
//! bounded number of them, each in bounded bytes, without user and password.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use url::Url;

use crate::error::ErrorKind;
use crate::uri;

/// How many slow URLs are kept.
pub(super) const SLOW_URLS: usize = 20;
/// How many URLs with failed attempts are kept, and how many of them stay when
/// there is no more room.
pub(super) const FAILING_URLS: usize = 128;
const KEEP_FAILING: usize = FAILING_URLS / 2;
/// Bytes of a URL and of a message that are kept.
const MAX_URL: usize = 400;
const MAX_MESSAGE: usize = 200;

/// The last boundary of characters that is not beyond `most` bytes.
pub(super) fn boundary(text: &str, most: usize) -> usize {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

/// The start of a text, as much as is kept.
pub(super) fn start_of(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    format!("{}\u{2026}", &text[..boundary(text, most)])
}

fn shown(url: &Url) -> String {
    start_of(uri::without_credentials(url).as_str(), MAX_URL)
}

/// A request that took long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SlowUrl {
    /// The URL.
    pub url: String,
    /// How long it took, in milliseconds.
    pub took: u64,
    /// The status, if an answer came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

/// The requests that took longest, longest first, each URL once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Slowest {
    urls: Vec<SlowUrl>,
}

impl Slowest {
    /// Notes how long a request took. Costs next to nothing unless it is one
    /// of the slowest.
    pub fn add(&mut self, url: &Url, took: u64, status: Option<u16>) {
        let least = self.urls.last().map_or(0, |slow| slow.took);
        if self.urls.len() >= SLOW_URLS && took <= least {
            return;
        }
        self.put(SlowUrl {
            url: shown(url),
            took,
            status,
        });
    }

    fn put(&mut self, slow: SlowUrl) {
        if let Some(at) = self.urls.iter().position(|held| held.url == slow.url) {
            if self.urls[at].took >= slow.took {
                return;
            }
            self.urls.remove(at);
        }
        let at = self.urls.partition_point(|held| held.took >= slow.took);
        self.urls.insert(at, slow);
        self.urls.truncate(SLOW_URLS);
    }

    /// The slowest, first.
    #[must_use]
    pub fn as_slice(&self) -> &[SlowUrl] {
        &self.urls
    }

    pub(super) fn merge(&mut self, later: &Slowest) {
        for slow in &later.urls {
            self.put(slow.clone());
        }
    }

    pub(super) fn bounded(mut self) -> Self {
        self.urls.truncate(SLOW_URLS);
        self
    }
}

/// A URL with failed attempts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FailingUrl {
    /// Attempts that failed.
    pub failures: u64,
    /// The kind of the last failure; `None` for a handler that asked for
    /// another attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The status of the last answer, if one came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Which failure it was, counted over all; tells which of two URLs stays.
    last: u64,
}

/// The URLs with the most failed attempts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Failing {
    by_url: BTreeMap<String, FailingUrl>,
    seen: u64,
}

impl Failing {
    /// Notes that an attempt has failed.
    pub fn add(&mut self, url: &Url, kind: Option<ErrorKind>, status: Option<u16>, message: &str) {
        self.seen += 1;
        let last = self.seen;
        self.put(
            shown(url),
            &FailingUrl {
                failures: 1,
                kind: kind.map(|kind| kind.as_str().to_owned()),
                status,
                message: start_of(message, MAX_MESSAGE),
                last,
            },
        );
    }

    fn put(&mut self, url: String, later: &FailingUrl) {
        if let Some(held) = self.by_url.get_mut(&url) {
            let failures = held.failures.saturating_add(later.failures);
            *held = FailingUrl {
                failures,
                ..later.clone()
            };
        } else {
            if self.by_url.len() >= FAILING_URLS {
                self.make_room();
            }
            self.by_url.insert(url, later.clone());
        }
    }

    fn make_room(&mut self) {
        let mut order: Vec<(u64, u64)> = self
            .by_url
            .values()
            .map(|held| (held.failures, held.last))
            .collect();
        order.sort_unstable_by(|a, b| b.cmp(a));
        let Some(least) = order.get(KEEP_FAILING - 1).copied() else {
            return;
        };
        self.by_url
            .retain(|_, held| (held.failures, held.last) >= least);
        while self.by_url.len() >= FAILING_URLS {
            self.by_url.pop_last();
        }
    }

    /// The URLs, those with the most failed attempts first.
    #[must_use]
    pub fn most(&self) -> Vec<(&str, &FailingUrl)> {
        let mut urls: Vec<(&str, &FailingUrl)> = self
            .by_url
            .iter()
            .map(|(url, held)| (url.as_str(), held))
            .collect();
        urls.sort_by_key(|(_, held)| Reverse((held.failures, held.last)));
        urls
    }

    pub(super) fn merge(&mut self, later: &Failing) {
        let before = self.seen;
        for (url, held) in &later.by_url {
            let held = FailingUrl {
                last: before.saturating_add(held.last),
                ..held.clone()
            };
            self.put(url.clone(), &held);
        }
        self.seen = before.saturating_add(later.seen);
    }

    pub(super) fn bounded(mut self) -> Self {
        if self.by_url.len() > FAILING_URLS {
            self.make_room();
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    #[test]
    fn the_slowest_are_kept_once_each_and_without_a_password() {
        let mut slowest = Slowest::default();
        for n in 0..1_000_u64 {
            let url = url(&format!("http://u:secret@a.test/{}", n % 50));
            slowest.add(&url, n, Some(200));
        }
        assert_eq!(slowest.as_slice().len(), SLOW_URLS);
        let took: Vec<u64> = slowest.as_slice().iter().map(|slow| slow.took).collect();
        assert_eq!(took[0], 999);
        assert!(took.is_sorted_by(|a, b| a >= b));
        assert_eq!(
            slowest.as_slice().first().expect("one").url,
            "http://a.test/49"
        );
        let long = url(&format!("http://a.test/{}", "x".repeat(5_000)));
        slowest.add(&long, 5_000, None);
        assert!(
            slowest
                .as_slice()
                .iter()
                .all(|slow| slow.url.len() <= MAX_URL + 3)
        );
    }

    #[test]
    fn the_urls_that_fail_most_are_kept() {
        let mut failing = Failing::default();
        for n in 0..10_000 {
            failing.add(&url("http://a.test/worst"), None, None, "again");
            let other = url(&format!("http://a.test/{n}"));
            let kind = Some(ErrorKind::Timeout);
            failing.add(&other, kind, None, &"long ".repeat(1_000));
        }
        assert!(failing.by_url.len() <= FAILING_URLS);
        let most = failing.most();
        assert_eq!(most[0].0, "http://a.test/worst");
        assert_eq!(most[0].1.failures, 10_000);
        // Of those that failed once the last ones are kept.
        assert_eq!(most[1].0, "http://a.test/9999");
        assert!(
            most.iter()
                .all(|(_, held)| held.message.len() <= MAX_MESSAGE + 3)
        );

        let mut all = failing.clone();
        all.merge(&failing);
        assert_eq!(all.most()[0].1.failures, 20_000);
        assert!(all.by_url.len() <= FAILING_URLS);
    }
}
