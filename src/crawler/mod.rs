//! [`Crawler`]: the engine, its threads and the fetcher, put together.

mod abort;
mod admit;
mod again;
mod backlog;
mod books;
mod builder;
pub mod chronicle;
mod conditions;
mod engine;
mod engine_stats;
mod event;
mod finish;
mod finish_robots;
mod job;
mod known;
mod led_to;
mod options;
mod origins;
mod poll;
mod pool;
mod put_away;
mod restore;
mod robots_file;
mod robots_job;
mod run;
mod seeds;
mod sitemap_job;
mod stats;
mod tags;
mod worker;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crossbeam::channel::Receiver;

pub use builder::{CrawlerBuilder, Sitemaps};
pub use engine::Engine;
pub use event::Event;
pub use finish::Ending;
pub use job::{Done, Finished, Job, JobId, Poll, Report, RobotsAnswer, Then, Why};
pub use options::{EngineOptions, Keeping};
pub use origins::{OriginRules, ROBOTS_LIFETIME};
pub use poll::Outlook;
#[cfg(feature = "cli")]
pub(crate) use robots_file::RobotsFile;
pub use stats::{Bound, ParkReason, Parked, RunEnd, Stats, Waiting};

use crate::error::{Error, Result};
use builder::Plan;
use chronicle::{Chronicle, Recorder};
use event::Events;
use pool::Pool;
use run::Run;

/// A crawl that can be run.
///
/// ```
/// use canter::extract::Queue;
/// use canter::fetch::MockSite;
/// use canter::{Crawler, Url};
///
/// let site = MockSite::new()
///     .page("http://a.test/", |page| page.html(r#"<a href="/b">b</a>"#))
///     .page("http://a.test/b", |page| page.html("<title>b</title>"));
/// let crawler = Crawler::builder()
///     .seed("http://a.test/")
///     .fetcher(site)
///     .handler(|page: canter::extract::Html, queue: Queue| {
///         queue.follow_all(page.links());
///     })
///     .build()?;
/// let stats = crawler.run()?;
/// assert_eq!(stats.succeeded, 2);
/// # Ok::<(), canter::Error>(())
/// ```
#[derive(Debug)]
pub struct Crawler {
    plan: Arc<Plan>,
    control: Arc<Control>,
    events: Arc<Events>,
    /// What an earlier run left; held while a run goes on.
    left: Mutex<Option<Engine>>,
}

/// The run that goes on, for those who look on or stop it.
#[derive(Debug, Default)]
struct Control {
    stop: AtomicBool,
    pool: Mutex<Option<Arc<Pool>>>,
    last: Mutex<Stats>,
    recorder: Mutex<Option<Arc<Recorder>>>,
    wakes: AtomicU64,
}

impl Control {
    fn pool(&self) -> Option<Arc<Pool>> {
        self.pool
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn recorder(&self) -> Option<Arc<Recorder>> {
        self.recorder
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set_recorder(&self, recorder: Option<Arc<Recorder>>) {
        *self.recorder.lock().unwrap_or_else(PoisonError::into_inner) = recorder;
    }

    fn set_pool(&self, pool: Option<Arc<Pool>>) {
        *self.pool.lock().unwrap_or_else(PoisonError::into_inner) = pool;
    }
}

/// Stops a crawl from any thread. What is queued is left: for the next call of
/// [`run`](Crawler::run), or in the state for the next process.
///
/// ```
/// use canter::fetch::MockSite;
/// use canter::{Crawler, RunEnd};
///
/// let site = MockSite::new().page("http://a.test/", |page| page.html(""));
/// let crawler = Crawler::builder().seed("http://a.test/").fetcher(site).handler(|| ()).build()?;
/// let stop = crawler.stop_handle();
/// std::thread::spawn(move || stop.stop()).join().unwrap();
/// assert_eq!(crawler.run()?.end, Some(RunEnd::Stopped));
/// assert_eq!(crawler.run()?.end, Some(RunEnd::Complete));
/// # Ok::<(), canter::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct StopHandle {
    control: Arc<Control>,
}

impl StopHandle {
    /// Stops the crawl: nothing new starts, and requests in flight have the
    /// policy's grace period to finish. A crawl that is not running stops as
    /// soon as it is run.
    pub fn stop(&self) {
        self.control.stop.store(true, Ordering::SeqCst);
        if let Some(pool) = self.control.pool() {
            pool.stop(RunEnd::Stopped);
        }
    }

    /// Stops the crawl at once: requests in flight are given up and stay
    /// pending. What is done is written as after any stop.
    pub fn stop_now(&self) {
        self.control.stop.store(true, Ordering::SeqCst);
        if let Some(pool) = self.control.pool() {
            pool.abandon(RunEnd::Stopped);
        }
    }
}

/// Looks at a crawl from any thread.
#[derive(Debug, Clone)]
pub struct StatsHandle {
    control: Arc<Control>,
}

impl StatsHandle {
    /// How the crawl goes, or how its last run ended.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let running = self.control.pool().and_then(|pool| pool.stats());
        running.unwrap_or_else(|| {
            self.control
                .last
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone()
        })
    }
}

impl Crawler {
    /// Starts from the library's defaults.
    pub fn builder() -> CrawlerBuilder {
        CrawlerBuilder::new()
    }

    /// Crawls until nothing is left to do, a bound or a stop rule ends it, or
    /// it is stopped. Called again, it goes on with what was left, or begins
    /// anew if nothing was.
    ///
    /// # Errors
    /// The error of an [`Outcome::Fatal`](crate::Outcome::Fatal), or that of
    /// writing records or state. What was written until then is whole. Kind
    /// [`Invalid`](crate::ErrorKind::Invalid) when the crawl is running
    /// already.
    pub fn run(&self) -> Result<Stats> {
        let Ok(mut left) = self.left.try_lock() else {
            return Err(Error::invalid("the crawl is running already"));
        };
        let result = run::run(&self.plan, &self.control, &self.events, &mut left);
        self.control.stop.store(false, Ordering::SeqCst);
        result
    }

    /// How the crawl goes, or how its last run ended.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.stats_handle().stats()
    }

    /// What happened and when, in the run that goes on or the last one, and in
    /// those before; `None` when nobody [asked](CrawlerBuilder::chronicle) for
    /// it.
    #[must_use]
    pub fn chronicle(&self) -> Option<Chronicle> {
        self.control.recorder().map(|recorder| recorder.chronicle())
    }

    /// How often one thread of the last run woke another: a measure of what
    /// scheduling costs.
    #[must_use]
    pub fn wakes(&self) -> u64 {
        self.control.wakes.load(Ordering::Relaxed)
    }

    /// Looks at the crawl from other threads.
    #[must_use]
    pub fn stats_handle(&self) -> StatsHandle {
        StatsHandle {
            control: Arc::clone(&self.control),
        }
    }

    /// Stops the crawl from other threads.
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        StopHandle {
            control: Arc::clone(&self.control),
        }
    }

    /// Calls `observer` with what happens from now on, on a thread of its own.
    /// An observer that falls behind misses events; it never slows the crawl.
    ///
    /// # Errors
    /// [`Worker`](crate::ErrorKind::Worker) when the thread cannot be started.
    pub fn on_event(&self, observer: impl FnMut(&Event) + Send + 'static) -> Result<()> {
        self.events.observe(observer).map_err(|error| {
            Error::worker("a thread for the observer could not be started").with_source(error)
        })
    }

    /// A channel of what happens from now on, which holds up to `capacity`
    /// events; those that do not fit are dropped.
    #[must_use]
    pub fn subscribe(&self, capacity: usize) -> Receiver<Event> {
        self.events.subscribe(capacity)
    }

    /// Events that were dropped, since an observer did not take them in time.
    #[must_use]
    pub fn events_dropped(&self) -> u64 {
        self.events.dropped()
    }
}
