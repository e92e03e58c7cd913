//! [`Log`]: what was asked, when, and on which host.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Req;

/// A request that came. Its fields can be read as those of its [`Req`].
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(super) req: Arc<Req>,
    /// When its first bytes were seen.
    pub(crate) at: Instant,
    /// When it was there whole.
    pub(crate) whole: Instant,
    /// When its answer was finished, just before the last byte was sent, or
    /// when the client went. `None` while it is in flight.
    pub(crate) answered: Option<Instant>,
    /// The status of its answer; 0 when there is none (yet).
    pub(crate) status: u16,
}

impl Deref for Entry {
    type Target = Req;

    fn deref(&self) -> &Req {
        &self.req
    }
}

/// What was asked up to some moment, in the order in which it came.
///
/// The instants are the server's. On a busy machine its threads may wake late,
/// by some milliseconds and rarely more, so a gap may look shorter than it was
/// on the client's side: leave room for that.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    started: Instant,
    entries: Vec<Entry>,
}

impl Deref for Log {
    type Target = [Entry];

    fn deref(&self) -> &[Entry] {
        &self.entries
    }
}

impl Log {
    pub(super) fn new(started: Instant, mut entries: Vec<Entry>) -> Self {
        entries.sort_by_key(|entry| entry.at);
        Log { started, entries }
    }

    /// The part that this test is about.
    pub(crate) fn filter(&self, keep: impl Fn(&Entry) -> bool) -> Log {
        Log {
            started: self.started,
            entries: self.iter().filter(|entry| keep(entry)).cloned().collect(),
        }
    }

    /// The part about one host.
    pub(crate) fn on(&self, host: &str) -> Log {
        let host = super::address(host);
        self.filter(|entry| entry.host == host)
    }

    /// The paths in the order in which they were asked for.
    pub(crate) fn paths(&self) -> Vec<&str> {
        self.iter().map(|entry| entry.path.as_str()).collect()
    }

    /// How often a path was asked for, on all hosts.
    pub(crate) fn count(&self, path: &str) -> usize {
        self.iter().filter(|entry| entry.path == path).count()
    }

    /// How often each (host, path) was asked for.
    pub(crate) fn counts(&self) -> BTreeMap<(IpAddr, &str), usize> {
        let mut counts = BTreeMap::new();
        for entry in self.iter() {
            *counts.entry((entry.host, entry.path.as_str())).or_insert(0) += 1;
        }
        counts
    }

    /// When each request came, since the server started, with host and path.
    pub(crate) fn trace(&self) -> Vec<(Duration, IpAddr, &str)> {
        self.iter()
            .map(|entry| {
                let since = entry.at.duration_since(self.started);
                (since, entry.host, entry.path.as_str())
            })
            .collect()
    }

    /// The times between one request to a host and the next.
    pub(crate) fn gaps(&self, host: &str) -> Vec<Duration> {
        let host = super::address(host);
        let times: Vec<_> = self
            .iter()
            .filter(|entry| entry.host == host)
            .map(|entry| entry.at)
            .collect();
        times
            .windows(2)
            .map(|pair| pair[1].duration_since(pair[0]))
            .collect()
    }

    /// The most requests that came within any such span of time, its end not
    /// included.
    pub(crate) fn max_in_window(&self, span: Duration) -> usize {
        let mut from = 0;
        let mut most = 0;
        for (at, entry) in self.iter().enumerate() {
            while from < at && entry.at.duration_since(self[from].at) >= span {
                from += 1;
            }
            most = most.max(at + 1 - from);
        }
        most
    }

    /// The most requests that were in flight at once, from the first byte of
    /// the request to the last of the answer. Never more than the client had
    /// in flight, unless it walked away from some.
    pub(crate) fn max_in_flight(&self) -> usize {
        let mut changes: Vec<(Instant, i32)> = Vec::with_capacity(self.len() * 2);
        for entry in self.iter() {
            changes.push((entry.at, 1));
            if let Some(answered) = entry.answered {
                changes.push((answered, -1));
            }
        }
        // At the same instant an end goes before a start.
        changes.sort_unstable();
        let (mut now, mut most) = (0_i32, 0_i32);
        for (_, change) in changes {
            now += change;
            most = most.max(now);
        }
        usize::try_from(most).unwrap_or(0)
    }

    /// How many connections these requests came on.
    pub(crate) fn connections(&self) -> usize {
        let mut numbers: Vec<_> = self.iter().map(|entry| entry.connection).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.len()
    }

    /// Fails the test when some path was asked for twice on the same host.
    #[track_caller]
    pub(crate) fn assert_no_repeats(&self) {
        let repeats: Vec<_> = self.counts().into_iter().filter(|(_, n)| *n > 1).collect();
        assert!(repeats.is_empty(), "asked for more than once: {repeats:?}");
    }
}
