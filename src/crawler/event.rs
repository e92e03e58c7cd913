//! [`Event`]: what happens in a crawl, for those who look on. Keeps: an
//! observer never slows the crawl; what it does not take in time is dropped
//! and counted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crossbeam::channel::{Receiver, Sender, bounded};
use url::Url;

use crate::ledger::End;

/// How many events an observer may be behind before the next are dropped.
const OBSERVER_BACKLOG: usize = 1024;

/// Something that happened to a URL. Of robots.txt, which is no URL of the
/// crawl, only the starts are told.
///
/// ```
/// use canter::fetch::MockSite;
/// use canter::{Crawler, Event};
///
/// let site = MockSite::new().page("http://a.test/", |page| page.html(""));
/// let crawler = Crawler::builder().seed("http://a.test/").fetcher(site).handler(|| ()).build()?;
/// let events = crawler.subscribe(100);
/// crawler.run()?;
/// let ended = |event: &Event| matches!(event, Event::Ended { url, .. } if url.path() == "/");
/// assert_eq!(events.try_iter().filter(ended).count(), 1);
/// # Ok::<(), canter::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// An attempt has started.
    Started {
        /// The URL.
        url: Url,
        /// Which attempt it is; the first is 1.
        attempt: u32,
    },
    /// The attempt failed and another follows.
    Retrying {
        /// The URL.
        url: Url,
        /// Which attempt failed.
        attempt: u32,
        /// What comes before the next one, besides the pace.
        delay: Duration,
        /// What went wrong, or what the handler asked for.
        message: String,
    },
    /// The URL has come to its end.
    Ended {
        /// The URL.
        url: Url,
        /// How.
        end: End,
        /// Status of the answer, if one came.
        status: Option<u16>,
        /// Attempts made.
        attempts: u32,
        /// Decoded bytes of the body.
        bytes: u64,
        /// How long the last attempt took, the handler's time included.
        elapsed: Duration,
    },
}

/// Hands events to whoever has asked for them.
#[derive(Debug, Default)]
pub(super) struct Events {
    subscribers: Mutex<Vec<Sender<Event>>>,
    dropped: AtomicU64,
}

impl Events {
    /// A channel that gets every event from now on, as long as there is room.
    pub(super) fn subscribe(&self, capacity: usize) -> Receiver<Event> {
        let (sender, receiver) = bounded(capacity.max(1));
        self.lock().push(sender);
        receiver
    }

    /// Calls `observer` with every event, on a thread of its own that ends
    /// when the crawler is dropped.
    pub(super) fn observe(
        self: &Arc<Self>,
        mut observer: impl FnMut(&Event) + Send + 'static,
    ) -> std::io::Result<()> {
        let events = self.subscribe(OBSERVER_BACKLOG);
        std::thread::Builder::new()
            .name("canter-observer".to_owned())
            .spawn(move || events.iter().for_each(|event| observer(&event)))
            .map(drop)
    }

    /// Whether anybody listens.
    pub(super) fn wanted(&self) -> bool {
        !self.lock().is_empty()
    }

    pub(super) fn send(&self, event: &Event) {
        self.lock()
            .retain(|subscriber| match subscriber.try_send(event.clone()) {
                Ok(()) => true,
                Err(error) => {
                    self.dropped
                        .fetch_add(u64::from(error.is_full()), Ordering::Relaxed);
                    error.is_full()
                }
            });
    }

    /// How many events were dropped, since nobody took them in time.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Sender<Event>>> {
        self.subscribers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
