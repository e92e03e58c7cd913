//! [`Policy`]: how fast, how often and how long. One validation for the
//! builder and for the `[policy]` table, so that a policy cannot be invalid
//! once it is built.

use std::fmt;
use std::time::Duration;

use crate::error::{Error, Result};

/// When and how often a request is tried again.
///
/// The delay before retry *n* is `min(max_delay, delay · factor^(n-1))`,
/// shortened by up to `jitter` of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryPolicy {
    /// Retries per URL within a run.
    pub max_retries: u32,
    /// Delay before the first retry.
    pub delay: Duration,
    /// What the delay is multiplied with after each retry; at least 1.
    pub factor: f64,
    /// The longest delay.
    pub max_delay: Duration,
    /// The part of a delay, 0 to 1, that chance may take away.
    pub jitter: f64,
}

impl RetryPolicy {
    /// Up to `max_retries` retries after 0.5 s, 1 s, 2 s … 30 s, shortened by
    /// up to a fifth.
    #[must_use]
    pub fn new(max_retries: u32) -> Self {
        RetryPolicy {
            max_retries,
            delay: Duration::from_millis(500),
            factor: 2.0,
            max_delay: Duration::from_secs(30),
            jitter: 0.2,
        }
    }

    /// The delay before retry `n`, the first being 1. `random` in 0 to 1
    /// chooses within the jitter; 0 shortens nothing.
    ///
    /// ```
    /// use canter::RetryPolicy;
    /// use std::time::Duration;
    /// let retry = RetryPolicy::new(40);
    /// assert_eq!(retry.delay_before(3, 0.0), Duration::from_secs(2));
    /// assert_eq!(retry.delay_before(40, 0.0), Duration::from_secs(30));
    /// ```
    #[must_use]
    pub fn delay_before(&self, n: u32, random: f64) -> Duration {
        let exponent = i32::try_from(n.saturating_sub(1)).unwrap_or(i32::MAX);
        let seconds = self.delay.as_secs_f64() * self.factor.powi(exponent);
        // An infinite or unordered product is past every limit.
        let delay = if seconds < self.max_delay.as_secs_f64() {
            Duration::try_from_secs_f64(seconds).unwrap_or(self.max_delay)
        } else {
            self.max_delay
        };
        delay.mul_f64(1.0 - self.jitter * random.clamp(0.0, 1.0))
    }
}

/// Whom a `Retry-After` holds back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RetryAfterScope {
    /// The host that asked.
    #[default]
    Host,
    /// The whole crawl.
    Crawl,
}

/// Settings for hosts whose name matches. Its `Debug` form hides the values of
/// the headers, which may be credentials.
///
/// ```
/// use canter::{HostRule, Policy};
/// use std::time::Duration;
/// let mut rule = HostRule::new("*.example.org");
/// rule.delay = Some(Duration::from_secs(5));
/// let policy = Policy::builder().host(rule).build()?;
/// assert!(policy.host_rule("slow.example.org").is_some());
/// assert!(policy.host_rule("example.org").is_none());
/// # Ok::<(), canter::Error>(())
/// ```
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct HostRule {
    /// A host name, or `*.example.org` for the hosts under a name.
    pub name: String,
    /// The least gap between two starts, instead of the policy's.
    pub delay: Option<Duration>,
    /// Requests in flight, instead of the policy's.
    pub concurrency: Option<usize>,
    /// Headers sent to these hosts. A crawl sends them to the origins of its
    /// seeds, to the usual port with https, and to that of http on hosts that
    /// no seed lies on; so a redirect to another port does not get them.
    pub headers: Vec<(String, String)>,
}

impl HostRule {
    /// A rule for the hosts that `name` matches, with nothing set.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        HostRule {
            name: name.into(),
            ..HostRule::default()
        }
    }

    /// Whether the rule is about this host: lower case, no final dot.
    #[must_use]
    pub fn matches(&self, host: &str) -> bool {
        let name = self.name.trim_end_matches('.');
        match name.strip_prefix("*.") {
            Some(parent) => {
                host.len() > parent.len() + 1
                    && host[host.len() - parent.len()..].eq_ignore_ascii_case(parent)
                    && host.as_bytes()[host.len() - parent.len() - 1] == b'.'
            }
            None => name.eq_ignore_ascii_case(host),
        }
    }
}

impl fmt::Debug for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| &**name).collect();
        f.debug_struct("HostRule")
            .field("name", &self.name)
            .field("delay", &self.delay)
            .field("concurrency", &self.concurrency)
            .field("headers", &names)
            .finish()
    }
}

/// The pace and the bounds of a crawl. Built by [`Policy::builder`]; the
/// fields can be read, and a policy cannot be invalid once built.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Policy {
    /// Requests in flight at once.
    pub concurrency: usize,
    /// How many requests start each minute, of every kind; `None` for no bound.
    pub max_requests_per_minute: Option<f64>,
    /// Size of the token bucket: how many may start at once after idling.
    pub burst: u32,
    /// A free worker waits a random time up to this before its next request.
    pub jitter: Duration,
    /// How long the cap on requests in flight takes to rise to `concurrency`.
    pub warmup: Duration,
    /// Whether the cap on requests in flight follows the failures.
    pub adaptive_concurrency: bool,
    /// Retries and their delays.
    pub retry: RetryPolicy,
    /// The longest pause that a site may ask for.
    pub max_retry_after: Duration,
    /// Whom a `Retry-After` holds back.
    pub retry_after_scope: RetryAfterScope,
    /// Requests in flight on one host.
    pub host_concurrency: usize,
    /// The least gap between two starts on one host.
    pub host_delay: Duration,
    /// What a throttling host's gap may grow to.
    pub max_host_delay: Duration,
    /// Failures in a row, over all hosts, that end the run; 0 for never.
    pub max_consecutive_failures: u32,
    /// The failed part of recent requests that ends the run; 1 for never.
    pub max_error_rate: f64,
    /// How many recent requests the error rate is taken over.
    pub error_rate_window: usize,
    /// Failures in a row on one host that park it for this run; 0 for never.
    pub max_host_failures: u32,
    /// Requests of every kind in one run; `None` for no bound.
    pub max_requests: Option<u64>,
    /// How long a run may start requests; `None` for no bound.
    pub deadline: Option<Duration>,
    /// Pages fetched from one host in one run; `None` for no bound.
    pub max_pages_per_host: Option<u64>,
    /// How long requests in flight may go on after a stop.
    pub shutdown_grace: Duration,
    /// Redirects in a row that are followed.
    pub max_redirects: usize,
    /// Settings for single hosts; the first that matches counts.
    pub hosts: Vec<HostRule>,
}

impl Default for Policy {
    /// The library's defaults: four at once, two to a host, no rate.
    fn default() -> Self {
        Policy {
            concurrency: 4,
            max_requests_per_minute: None,
            burst: 1,
            jitter: Duration::ZERO,
            warmup: Duration::ZERO,
            adaptive_concurrency: false,
            retry: RetryPolicy::new(3),
            max_retry_after: Duration::from_secs(600),
            retry_after_scope: RetryAfterScope::Host,
            host_concurrency: 2,
            host_delay: Duration::ZERO,
            max_host_delay: Duration::from_secs(60),
            max_consecutive_failures: 50,
            max_error_rate: 0.5,
            error_rate_window: 200,
            max_host_failures: 20,
            max_requests: None,
            deadline: None,
            max_pages_per_host: None,
            shutdown_grace: Duration::from_secs(10),
            max_redirects: 10,
            hosts: Vec::new(),
        }
    }
}

/// The most threads that a policy may ask for.
pub const MAX_CONCURRENCY: usize = 10_000;
/// The longest time that any setting may name: a year of 366 days.
pub const MAX_DURATION: Duration = Duration::from_secs(366 * 24 * 3600);

impl Policy {
    /// Starts from the library's defaults.
    pub fn builder() -> PolicyBuilder {
        PolicyBuilder {
            policy: Policy::default(),
        }
    }

    /// The gap between two starts that `max_requests_per_minute` asks for,
    /// rounded up to a nanosecond so that no window of 60 s holds one more.
    #[must_use]
    pub fn interval(&self) -> Option<Duration> {
        self.max_requests_per_minute.map(|rate| {
            let nanos = (60e9 / rate).ceil();
            if nanos < MAX_DURATION.as_nanos() as f64 {
                Duration::from_nanos(nanos as u64)
            } else {
                MAX_DURATION
            }
        })
    }

    /// The first rule about this host.
    #[must_use]
    pub fn host_rule(&self, host: &str) -> Option<&HostRule> {
        self.hosts.iter().find(|rule| rule.matches(host))
    }

    /// Checks every value, naming the key that is out of range.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) with the key first.
    pub fn validate(&self) -> Result<()> {
        let fail = |key: &str, why: String| Err(Error::invalid(format!("{key}: {why}")));
        if self.concurrency == 0 || self.concurrency > MAX_CONCURRENCY {
            return fail(
                "concurrency",
                format!(
                    "must be from 1 to {MAX_CONCURRENCY}, not {}",
                    self.concurrency
                ),
            );
        }
        if let Some(rate) = self.max_requests_per_minute
            && !(rate > 0.0 && rate.is_finite())
        {
            return fail(
                "max_requests_per_minute",
                format!("must be more than 0, not {rate}"),
            );
        }
        if self.burst == 0 {
            return fail("burst", "must be at least 1, not 0".to_owned());
        }
        if !(self.retry.factor >= 1.0 && self.retry.factor.is_finite()) {
            return fail(
                "backoff_factor",
                format!("must be at least 1, not {}", self.retry.factor),
            );
        }
        if !(0.0..=1.0).contains(&self.retry.jitter) {
            return fail(
                "retry_jitter",
                format!("must be from 0 to 1, not {}", self.retry.jitter),
            );
        }
        if self.host_concurrency == 0 {
            return fail("host_concurrency", "must be at least 1, not 0".to_owned());
        }
        if !(self.max_error_rate > 0.0 && self.max_error_rate <= 1.0) {
            return fail(
                "max_error_rate",
                format!("must be over 0 and at most 1, not {}", self.max_error_rate),
            );
        }
        if self.error_rate_window == 0 {
            return fail("error_rate_window", "must be at least 1, not 0".to_owned());
        }
        for (key, value) in self.durations() {
            if value > MAX_DURATION {
                return fail(key, "must be at most 366 days".to_owned());
            }
        }
        for (at, rule) in self.hosts.iter().enumerate() {
            if rule.name.is_empty() {
                return fail("host.name", "must not be empty".to_owned());
            }
            if rule.concurrency == Some(0) {
                return fail(
                    "host.concurrency",
                    format!("must be at least 1, not 0, for {:?}", rule.name),
                );
            }
            if rule.delay.is_some_and(|delay| delay > MAX_DURATION) {
                return fail(
                    "host.delay",
                    format!("must be at most 366 days, for {:?}", rule.name),
                );
            }
            let same = |other: &HostRule| {
                other
                    .name
                    .trim_end_matches('.')
                    .eq_ignore_ascii_case(rule.name.trim_end_matches('.'))
            };
            if self.hosts[..at].iter().any(same) {
                return fail("host.name", format!("{:?} is there twice", rule.name));
            }
        }
        Ok(())
    }

    fn durations(&self) -> [(&'static str, Duration); 9] {
        [
            ("jitter", self.jitter),
            ("warmup_seconds", self.warmup),
            ("retry_delay", self.retry.delay),
            ("max_retry_delay", self.retry.max_delay),
            ("max_retry_after", self.max_retry_after),
            ("host_delay", self.host_delay),
            ("max_host_delay", self.max_host_delay),
            ("deadline", self.deadline.unwrap_or_default()),
            ("shutdown_grace", self.shutdown_grace),
        ]
    }
}

/// Builds a [`Policy`].
///
/// ```
/// use canter::Policy;
/// use std::time::Duration;
/// let policy = Policy::builder().concurrency(8).host_delay(Duration::from_secs(2)).build()?;
/// assert_eq!(policy.concurrency, 8);
/// assert!(Policy::builder().concurrency(0).build().is_err());
/// # Ok::<(), canter::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until it is built"]
pub struct PolicyBuilder {
    policy: Policy,
}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $type:ty => |$policy:ident, $value:ident| $set:expr;)*) => {
        impl PolicyBuilder {
            $($(#[$doc])* pub fn $name(mut self, $value: $type) -> Self {
                let $policy = &mut self.policy;
                $set;
                self
            })*

            /// Checks every value.
            ///
            /// # Errors
            /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid), naming the
            /// key that is out of range.
            pub fn build(self) -> Result<Policy> {
                self.policy.validate()?;
                Ok(self.policy)
            }
        }
    };
}

setters! {
    /// Requests in flight at once.
    concurrency: usize => |policy, value| policy.concurrency = value;
    /// How many requests start each minute, of every kind, spaced evenly.
    max_requests_per_minute: u32 => |policy, value| policy.max_requests_per_minute = Some(f64::from(value));
    /// Size of the token bucket.
    burst: u32 => |policy, value| policy.burst = value;
    /// A free worker waits a random time up to this before its next request.
    jitter: Duration => |policy, value| policy.jitter = value;
    /// How long the cap on requests in flight takes to rise to `concurrency`.
    warmup: Duration => |policy, value| policy.warmup = value;
    /// Whether the cap on requests in flight follows the failures.
    adaptive_concurrency: bool => |policy, value| policy.adaptive_concurrency = value;
    /// Retries and their delays.
    retry: RetryPolicy => |policy, value| policy.retry = value;
    /// The longest pause that a site may ask for.
    max_retry_after: Duration => |policy, value| policy.max_retry_after = value;
    /// Whom a `Retry-After` holds back.
    retry_after_scope: RetryAfterScope => |policy, value| policy.retry_after_scope = value;
    /// Requests in flight on one host.
    host_concurrency: usize => |policy, value| policy.host_concurrency = value;
    /// The least gap between two starts on one host.
    host_delay: Duration => |policy, value| policy.host_delay = value;
    /// What a throttling host's gap may grow to.
    max_host_delay: Duration => |policy, value| policy.max_host_delay = value;
    /// Failures in a row that end the run; 0 for never.
    max_consecutive_failures: u32 => |policy, value| policy.max_consecutive_failures = value;
    /// The failed part of recent requests that ends the run; 1 for never.
    max_error_rate: f64 => |policy, value| policy.max_error_rate = value;
    /// How many recent requests the error rate is taken over.
    error_rate_window: usize => |policy, value| policy.error_rate_window = value;
    /// Failures in a row on one host that park it for this run; 0 for never.
    max_host_failures: u32 => |policy, value| policy.max_host_failures = value;
    /// Requests of every kind in one run.
    max_requests: u64 => |policy, value| policy.max_requests = Some(value);
    /// How long a run may start requests.
    deadline: Duration => |policy, value| policy.deadline = Some(value);
    /// Pages fetched from one host in one run.
    max_pages_per_host: u64 => |policy, value| policy.max_pages_per_host = Some(value);
    /// How long requests in flight may go on after a stop.
    shutdown_grace: Duration => |policy, value| policy.shutdown_grace = value;
    /// Redirects in a row that are followed.
    max_redirects: usize => |policy, value| policy.max_redirects = value;
    /// Settings for one host, or for the hosts under a name.
    host: HostRule => |policy, value| policy.hosts.push(value);
}
