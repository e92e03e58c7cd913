//! [`Services`]: what every attempt of a crawl shares. Built once, before the
//! first worker starts, and never changed.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crate::admission::Admission;
use crate::error::{Error, Result};
use crate::fetch::{Fetch, StatusPolicy};
use crate::html::PageOptions;
use crate::request::Request;

/// How long a fetch may take when nothing else is said.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// How many redirects in a row are followed when nothing else is said.
pub const DEFAULT_MAX_REDIRECTS: usize = 10;

/// Says what would become of a request, without queueing it.
///
/// The crawl implements it, so that [`Queue`](super::Queue) can answer a
/// handler before anything has been committed.
pub trait Preview: Send + Sync {
    /// What pushing the request now would give. It may turn out otherwise when
    /// the attempt commits, since other workers go on meanwhile.
    fn preview(&self, request: &Request) -> Admission;
}

/// The values that handlers reach through [`State`](super::State): one for
/// each type.
#[derive(Clone, Default)]
pub struct StateMap {
    values: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
}

impl StateMap {
    /// A map without values.
    #[must_use]
    pub fn new() -> Self {
        StateMap::default()
    }

    /// Keeps a value, in place of an earlier one of the same type.
    pub fn insert<S: Send + Sync + 'static>(&mut self, value: S) {
        self.insert_shared(Arc::new(value));
    }

    /// Keeps a value that others hold too, in place of an earlier one of the
    /// same type.
    pub fn insert_shared<S: Send + Sync + 'static>(&mut self, value: Arc<S>) {
        self.values.insert(TypeId::of::<S>(), value);
    }

    /// The value of this type.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid), naming the type,
    /// when there is none.
    pub fn get<S: Send + Sync + 'static>(&self) -> Result<Arc<S>> {
        self.values
            .get(&TypeId::of::<S>())
            .and_then(|value| Arc::clone(value).downcast::<S>().ok())
            .ok_or_else(|| {
                Error::invalid(format!(
                    "the crawl was given no state of type {}",
                    type_name::<S>()
                ))
            })
    }
}

impl fmt::Debug for StateMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateMap")
            .field("values", &self.values.len())
            .finish()
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
    pub(crate) page_options: PageOptions,
    pub(crate) state: StateMap,
    pub(crate) preview: Option<Arc<dyn Preview>>,
    pub(crate) clock: Arc<dyn Fn() -> Instant + Send + Sync>,
    pub(crate) wall_clock: Arc<dyn Fn() -> SystemTime + Send + Sync>,
}

impl Services {
    /// Services around a fetcher, with a timeout of 30 s, ten redirects, no
    /// state, and the system's clocks.
    #[must_use]
    pub fn new(fetch: Arc<dyn Fetch>) -> Self {
        Services {
            fetch,
            status_policy: StatusPolicy::default(),
            timeout: DEFAULT_TIMEOUT,
            max_redirects: DEFAULT_MAX_REDIRECTS,
            page_options: PageOptions::new(),
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

    /// Sets what pages are parsed for, and whom their directives speak to.
    #[must_use]
    pub fn with_page_options(mut self, options: PageOptions) -> Self {
        self.page_options = options;
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

    /// Fetches outside any attempt, with the deadline counted from now.
    pub(crate) fn fetch_now(&self, request: &Request) -> Result<crate::fetch::Response> {
        self.fetch.fetch(request, (self.clock)() + self.timeout)
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
