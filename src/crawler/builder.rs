//! [`CrawlerBuilder`]: what a crawl is given. Keeps: everything that can fail
//! is built before the first thread starts and before any request.

use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use url::Url;

use super::admit::Admit;
use super::event::Events;
use super::seeds::Seeds;
use super::{Control, Crawler};
use crate::error::{Error, Result};
use crate::extract::{Services, StateMap};
use crate::fetch::{Fetch, HttpFetch, HttpFetchBuilder, StatusPolicy};
use crate::frontier::{MemoryFrontier, Scope, TrapLimits};
use crate::handler::{Handler, IntoHandler};
use crate::ledger::{OutputSpec, RecordLine, Sink};
use crate::policy::{Policy, RetryPolicy};
use crate::request::{Request, parse_url};
use crate::robots::product_token;
use crate::uri;

/// The name we give ourselves (RFC 9110 section 10.1.5).
const DEFAULT_USER_AGENT: &str = concat!("canter/", env!("CARGO_PKG_VERSION"));

/// Which sitemaps are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sitemaps {
    /// None.
    #[default]
    None,
    /// Those that the robots.txt of each seed's origin names, or
    /// `/sitemap.xml` where it names none.
    Discover,
    /// These.
    Urls(Vec<String>),
}

/// What a crawl is, once it is built.
pub(super) struct Plan {
    pub(super) policy: Arc<Policy>,
    pub(super) admit: Arc<Admit>,
    pub(super) frontier: MemoryFrontier,
    pub(super) obey_robots: bool,
    pub(super) product_token: String,
    pub(super) sitemaps: Sitemaps,
    pub(super) seeds: Seeds,
    pub(super) handler: Arc<dyn Handler>,
    pub(super) services: Services,
    pub(super) keep: Keep,
}

impl Plan {
    /// Whether the sitemaps that the robots.txt at this URL names are wanted.
    pub(super) fn looks_for_sitemaps_on(&self, robots: &Url) -> bool {
        self.obey_robots
            && self.sitemaps == Sitemaps::Discover
            && self.seeds.hosts().contains(&*uri::host_key(robots))
    }
}

/// What is written, and where. Opened at the beginning of each run.
#[derive(Default)]
pub(super) struct Keep {
    pub(super) output: Option<OutputSpec>,
    pub(super) beside: Vec<OutputSpec>,
    pub(super) log: Option<OutputSpec>,
    pub(super) state_dir: Option<PathBuf>,
    pub(super) fresh: bool,
    pub(super) revisit: Duration,
    pub(super) chronicle: bool,
    pub(super) sinks: Vec<Arc<Mutex<Sink>>>,
}

impl Keep {
    /// Whether anything is.
    pub(super) fn anything(&self) -> bool {
        self.output.is_some()
            || !self.beside.is_empty()
            || self.log.is_some()
            || self.state_dir.is_some()
            || !self.sinks.is_empty()
    }
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plan")
            .field("policy", &self.policy)
            .field("admit", &self.admit)
            .field("seeds", &self.seeds.len())
            .finish_non_exhaustive()
    }
}

/// Builds a [`Crawler`]. Whatever cannot be used is an error of
/// [`build`](Self::build), before any request.
///
/// ```
/// use canter::extract::Links;
/// use canter::{Crawler, ErrorKind, Scope};
///
/// let builder = Crawler::builder()
///     .seed("https://example.com/docs/")
///     .scope(Scope::builder().include(["/docs/**"]).build()?)
///     .max_depth(5)
///     .user_agent("examplebot/1.0 (+https://example.com/bot)")
///     .handler(|links: Links| println!("{} links", links.len()));
/// let crawler = builder.build()?;
/// # let _ = crawler;
///
/// let error = Crawler::builder().seed("example.com").handler(|| ()).build().unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Invalid);
/// # Ok::<(), canter::Error>(())
/// ```
#[must_use = "a builder does nothing until it is built"]
#[expect(clippy::struct_excessive_bools, reason = "each is set on its own")]
pub struct CrawlerBuilder {
    seeds: Seeds,
    /// What is wrong with the first seed that cannot be used.
    bad_seed: Option<Error>,
    policy: Policy,
    retry: Option<RetryPolicy>,
    scope: Scope,
    max_depth: Option<u32>,
    dedup: bool,
    traps: TrapLimits,
    frontier: MemoryFrontier,
    obey_robots: bool,
    user_agent: String,
    sitemaps: Sitemaps,
    handler: Option<Arc<dyn Handler>>,
    fetcher: Option<Arc<dyn Fetch>>,
    http: HttpFetchBuilder,
    status_policy: StatusPolicy,
    timeout: Duration,
    page_text: bool,
    page_json_ld: bool,
    shared: StateMap,
    keep: Keep,
}

/// How long a request may take in all.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

impl CrawlerBuilder {
    pub(super) fn new() -> Self {
        CrawlerBuilder {
            seeds: Seeds::default(),
            bad_seed: None,
            policy: Policy::default(),
            retry: None,
            scope: Scope::default(),
            max_depth: None,
            dedup: true,
            traps: TrapLimits::default(),
            frontier: MemoryFrontier::fifo(),
            obey_robots: true,
            user_agent: DEFAULT_USER_AGENT.to_owned(),
            sitemaps: Sitemaps::None,
            handler: None,
            fetcher: None,
            http: HttpFetch::builder(),
            status_policy: StatusPolicy::default(),
            timeout: DEFAULT_TIMEOUT,
            page_text: false,
            page_json_ld: false,
            shared: StateMap::new(),
            keep: Keep::default(),
        }
    }

    /// Adds a URL to begin with. One that cannot be used is an error of
    /// [`build`](Self::build).
    pub fn seed(self, url: impl AsRef<str>) -> Self {
        self.seeds([url])
    }

    /// Adds URLs to begin with.
    pub fn seeds<I>(mut self, urls: I) -> Self
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        for url in urls {
            match parse_url(url.as_ref()) {
                Ok(url) => self.seeds.push(Request::new(crate::Method::Get, url)),
                Err(error) => {
                    self.bad_seed.get_or_insert(error);
                }
            }
        }
        self
    }

    /// Adds a request to begin with.
    pub fn seed_request(mut self, request: Request) -> Self {
        self.add_seed(request);
        self
    }

    /// As [`seed_request`](Self::seed_request), for one of many.
    pub(crate) fn add_seed(&mut self, request: Request) {
        self.seeds.push(request);
    }

    /// Sets pace and bounds.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets how often a request is tried again, with the delays of
    /// [`RetryPolicy::new`], instead of what the policy says.
    pub fn retry(self, max_retries: u32) -> Self {
        self.retry_with(RetryPolicy::new(max_retries))
    }

    /// Sets when and how often a request is tried again, instead of what the
    /// policy says.
    pub fn retry_with(mut self, retry: RetryPolicy) -> Self {
        self.retry = Some(retry);
        self
    }

    /// Sets which URLs belong to the crawl; by default those on the seeds'
    /// hosts.
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Sets how many links away from a seed a page may be; 0 is the seeds alone.
    pub fn max_depth(mut self, depth: u32) -> Self {
        self.max_depth = Some(depth);
        self
    }

    /// Sets whether a URL that was found before is dropped; it is by default.
    /// Without that, a page is fetched as often as it is linked: only a depth
    /// or another bound ends such a crawl.
    pub fn dedup(mut self, dedup: bool) -> Self {
        self.dedup = dedup;
        self
    }

    /// Sets what is taken for a trap.
    pub fn traps(mut self, limits: TrapLimits) -> Self {
        self.traps = limits;
        self
    }

    /// Sets in which order queued requests are taken.
    pub fn frontier(mut self, frontier: MemoryFrontier) -> Self {
        self.frontier = frontier;
        self
    }

    /// Sets whether robots.txt is asked for and obeyed (RFC 9309); it is by
    /// default.
    pub fn obey_robots(mut self, obey: bool) -> Self {
        self.obey_robots = obey;
        self
    }

    /// Sets the User-Agent header. Its product token names us in robots.txt.
    pub fn user_agent(mut self, value: impl Into<String>) -> Self {
        self.user_agent = value.into();
        self
    }

    /// Sets which sitemaps are read; none are by default.
    pub fn sitemaps(mut self, sitemaps: Sitemaps) -> Self {
        self.sitemaps = sitemaps;
        self
    }

    /// Sets what is done with each page: a closure or function of up to eight
    /// [extractors](crate::extract), or a [`Router`](crate::handler::Router).
    pub fn handler<Args, H>(mut self, handler: H) -> Self
    where
        H: IntoHandler<Args>,
        H::Handler: Handler + 'static,
    {
        self.handler = Some(Arc::new(handler.into_handler()));
        self
    }

    /// Sets what fetches, instead of [`HttpFetch`].
    pub fn fetcher(mut self, fetcher: impl Fetch + 'static) -> Self {
        self.fetcher = Some(Arc::new(fetcher));
        self
    }

    /// Sets how [`HttpFetch`] fetches. Its User-Agent, timeout, number of
    /// connections and the hosts of the seeds are set by the crawl.
    pub fn http(mut self, http: HttpFetchBuilder) -> Self {
        self.http = http;
        self
    }

    /// Sets which statuses are failures.
    pub fn status_policy(mut self, policy: StatusPolicy) -> Self {
        self.status_policy = policy;
        self
    }

    /// Sets how long a request may take in all: lookup, connection, headers
    /// and body.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Whether every page's visible text is gathered in the pass that reads its
    /// links. [`Html::text`](crate::extract::Html::text) gives it either way;
    /// this saves a second pass where each page is asked for it.
    pub fn page_text(mut self, gather: bool) -> Self {
        self.page_text = gather;
        self
    }

    /// Whether every page's JSON-LD is gathered in the pass that reads its
    /// links, for [`Html::json_ld`](crate::extract::Html::json_ld).
    pub fn page_json_ld(mut self, gather: bool) -> Self {
        self.page_json_ld = gather;
        self
    }

    /// Gives handlers a value, which they reach through
    /// [`State`](crate::extract::State).
    pub fn share<S: Send + Sync + 'static>(mut self, value: S) -> Self {
        self.shared.insert(value);
        self
    }

    /// Writes the records that handlers emit to a file, one JSON value a line.
    /// With a [state](Self::state) the file holds each record exactly once,
    /// however the run ends.
    pub fn output(mut self, output: OutputSpec) -> Self {
        self.keep.output = Some(output);
        self
    }

    /// Outputs for what a handler emits beside the records, by number.
    pub(crate) fn outputs_beside(mut self, outputs: Vec<OutputSpec>) -> Self {
        self.keep.beside = outputs;
        self
    }

    /// Writes a line for each URL that came to its end.
    pub fn log(mut self, log: OutputSpec) -> Self {
        self.keep.log = Some(log);
        self
    }

    /// Keeps the state of the crawl in a folder: what is queued, what is done.
    /// The next run goes on where this one ended, even if it was killed.
    pub fn state(mut self, dir: impl Into<PathBuf>) -> Self {
        self.keep.state_dir = Some(dir.into());
        self
    }

    /// Starts over, and keeps an old state aside.
    pub fn fresh(mut self, fresh: bool) -> Self {
        self.keep.fresh = fresh;
        self
    }

    /// Sets how old a page must be to be asked for again when a complete crawl
    /// is run again; without it, all are.
    pub fn revisit(mut self, age: Duration) -> Self {
        self.keep.revisit = age;
        self
    }

    /// Keeps what happened and when, for a report, also without a
    /// [state](Self::state); with one it is kept in any case. See
    /// [`Crawler::chronicle`].
    pub fn chronicle(mut self, keep: bool) -> Self {
        self.keep.chronicle = keep;
        self
    }

    /// Hands each record to `sink` as one line of JSON, about once a second.
    ///
    /// After a crash the next run may hand over records of the last second
    /// again: a sink gets each record at least once. The files of
    /// [`output`](Self::output) hold each exactly once. An error ends the run.
    pub fn sink(mut self, sink: impl FnMut(&RecordLine) -> Result<()> + Send + 'static) -> Self {
        self.keep.sinks.push(Arc::new(Mutex::new(Box::new(sink))));
        self
    }

    /// Builds the crawl. Nothing is fetched yet.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid), naming what cannot be
    /// used: a seed, a setting, a route of the handler.
    pub fn build(self) -> Result<Crawler> {
        let mut policy = self.policy;
        if let Some(retry) = self.retry {
            policy.retry = retry;
        }
        policy.validate()?;
        if let Some(error) = self.bad_seed {
            return Err(error);
        }
        let seeds = self.seeds;
        let handler = self
            .handler
            .ok_or_else(|| Error::invalid("the crawl has no handler"))?;
        handler.check(&self.shared)?;
        let mut scope = self.scope;
        let mut http = self
            .http
            .user_agent(&self.user_agent)
            .timeout(self.timeout)
            .connections(policy.concurrency);
        for seed in seeds.of_origins() {
            scope.add_seed(seed);
            http = http.allow_host(uri::host_key(seed));
        }
        let fetcher = match self.fetcher {
            Some(fetcher) => fetcher,
            None => Arc::new(http.build()?),
        };
        let product_token = product_token(&self.user_agent).to_owned();
        let services = Services::new(fetcher)
            .with_status_policy(self.status_policy)
            .with_timeout(self.timeout)
            .with_max_redirects(policy.max_redirects)
            .with_agent(&self.user_agent)
            .with_page_text(self.page_text)
            .with_page_json_ld(self.page_json_ld)
            .with_state(self.shared);
        let plan = Plan {
            admit: Arc::new(Admit {
                scope,
                traps: self.traps,
                max_depth: self.max_depth,
                repeats: (!self.dedup).then(|| AtomicU64::new(fastrand::u64(..))),
            }),
            policy: Arc::new(policy),
            frontier: self.frontier,
            obey_robots: self.obey_robots,
            product_token,
            sitemaps: self.sitemaps,
            seeds,
            handler,
            services,
            keep: self.keep,
        };
        Ok(Crawler {
            plan: Arc::new(plan),
            control: Arc::new(Control::default()),
            events: Arc::new(Events::default()),
            left: Mutex::new(None),
        })
    }
}
