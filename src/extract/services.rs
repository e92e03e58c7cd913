//! [`Services`]: what every attempt of a crawl shares. Built once, before the
//! first worker starts, and never changed.

use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::panics::panicked;
use super::state::StateMap;
use crate::admission::Admission;
use crate::error::Result;
use crate::fetch::{Fetch, Response, StatusPolicy};
use crate::html::PageOptions;
use crate::policy::MAX_DURATION;
use crate::request::Request;

/// How long a fetch may take when nothing else is said.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// How many redirects in a row are followed when nothing else is said.
pub const DEFAULT_MAX_REDIRECTS: usize = 10;
/// Our product token when nothing else is said.
const DEFAULT_AGENT: &str = "canter";

/// Says what would become of a request, without queueing it.
///
/// The crawl implements it, so that [`Queue`](super::Queue) can answer a
/// handler before anything has been committed.
pub trait Preview: Send + Sync {
    /// What pushing the request now would give. It may turn out otherwise when
    /// the attempt commits, since other workers go on meanwhile.
    fn preview(&self, request: &Request) -> Admission;

    /// Whether a `GET` of the URL with that fingerprint is sure to change
    /// nothing, since the crawl has had it. It is no fault not to know.
    fn is_known(&self, _fingerprint: u64) -> bool {
        false
    }
}

/// What every attempt of a crawl shares: the fetcher, the rules for reading
/// an answer, the handlers' state, and the clocks.
#[derive(Clone)]
pub struct Services {
    pub(crate) fetch: Arc<dyn Fetch>,
    pub(crate) status_policy: StatusPolicy,
    pub(crate) timeout: Duration,
    pub(crate) max_redirects: usize,
    pub(crate) agent: String,
    pub(crate) page_options: PageOptions,
    pub(crate) state: StateMap,
    pub(crate) preview: Option<Arc<dyn Preview>>,
    pub(crate) clock: Arc<dyn Fn() -> Instant + Send + Sync>,
    pub(crate) wall_clock: Arc<dyn Fn() -> SystemTime + Send + Sync>,
}

impl Services {
    /// Services around a fetcher, with a timeout of 30 s, ten redirects, the
    /// agent `canter`, no state, and the system's clocks.
    #[must_use]
    pub fn new(fetch: Arc<dyn Fetch>) -> Self {
        Services {
            fetch,
            status_policy: StatusPolicy::default(),
            timeout: DEFAULT_TIMEOUT,
            max_redirects: DEFAULT_MAX_REDIRECTS,
            agent: DEFAULT_AGENT.to_owned(),
            page_options: PageOptions::new().agent(DEFAULT_AGENT),
            state: StateMap::new(),
            preview: None,
            clock: Arc::new(Instant::now),
            wall_clock: Arc::new(SystemTime::now),
        }
    }

    /// Sets which statuses are failures.
    #[must_use]
    pub fn with_status_policy(mut self, policy: StatusPolicy) -> Self {
        self.status_policy = policy;
        self
    }

    /// Sets how long a fetch may take, from its own start.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets how many redirects in a row are followed.
    #[must_use]
    pub fn with_max_redirects(mut self, max: usize) -> Self {
        self.max_redirects = max;
        self
    }

    /// The agent whose instructions count.
    pub(crate) fn agent(&self) -> &str {
        &self.agent
    }

    /// Sets the agent whose `meta` and `X-Robots-Tag` instructions count
    /// beside those for all: a product token, or a user-agent string that
    /// starts with it.
    #[must_use]
    pub fn with_agent(mut self, agent: &str) -> Self {
        agent.clone_into(&mut self.agent);
        self.page_options = self.page_options.agent(agent);
        self
    }

    /// Sets whether a page's visible text is collected while it is parsed: for
    /// handlers that ask for every page's text.
    #[must_use]
    pub fn with_page_text(mut self, text: bool) -> Self {
        self.page_options = self.page_options.text(text);
        self
    }

    /// Sets whether a page's JSON-LD is collected while it is parsed.
    #[must_use]
    pub fn with_page_json_ld(mut self, json_ld: bool) -> Self {
        self.page_options = self.page_options.json_ld(json_ld);
        self
    }

    /// Sets the values that handlers share.
    #[must_use]
    pub fn with_state(mut self, state: StateMap) -> Self {
        self.state = state;
        self
    }

    /// Sets who says what would become of a link. Without one, every link is
    /// answered as queued.
    #[must_use]
    pub fn with_preview(mut self, preview: Arc<dyn Preview>) -> Self {
        self.preview = Some(preview);
        self
    }

    /// Sets the clock that deadlines are counted by.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Sets the clock that dates in answers are compared with.
    #[must_use]
    pub fn with_wall_clock(
        mut self,
        clock: impl Fn() -> SystemTime + Send + Sync + 'static,
    ) -> Self {
        self.wall_clock = Arc::new(clock);
        self
    }

    /// Fetches once, with the deadline counted from now. A panic of the
    /// fetcher, which may be the user's, is an error of this request.
    pub(crate) fn fetch_now(&self, request: &Request) -> Result<Response> {
        let start = (self.clock)();
        let deadline = start
            .checked_add(self.timeout)
            .unwrap_or_else(|| start + MAX_DURATION);
        panic::catch_unwind(AssertUnwindSafe(|| self.fetch.fetch(request, deadline)))
            .unwrap_or_else(|payload| Err(panicked("the fetcher", payload)))
    }

    /// How long a fetch may take.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// What the wall clock says.
    pub(crate) fn wall_now(&self) -> SystemTime {
        (self.wall_clock)()
    }

    /// The values that handlers share.
    #[must_use]
    pub fn state(&self) -> &StateMap {
        &self.state
    }
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Services")
            .field("status_policy", &self.status_policy)
            .field("timeout", &self.timeout)
            .field("max_redirects", &self.max_redirects)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
