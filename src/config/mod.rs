//! [`Settings`]: a crawl's whole configuration as plain, validated data.
//!
//! A configuration is a TOML file, with values of the command line in front of
//! it. [`Source`] reads both; whatever is wrong is found here, all at once,
//! with file, line and key ([`ConfigError`]), before any request. Each value
//! knows where it comes from ([`Settings::entries`]), and what came from the
//! environment is never shown.
//!
//! | file | what it holds |
//! |---|---|
//! | `source` | file, command line and environment put together |
//! | `document`, `section`, `scalar`, `units` | TOML with places; tables; values; durations and sizes |
//! | `tables` | the tables, one function each |
//! | `problem`, `suggest` | what is wrong, and what was probably meant |
//! | `seeds` | lists of URLs |
//! | `crawl`, `page_handler` | the crawl that the settings describe; what it does with each page |
//! | `outputs`, `owned` | which record goes to which file; whether a file is the crawl's own |
//! | `record`, `item_record`, `json`, `rfc3339` | the fields of a page's record and of an item's, and how they are written |
//! | `bodies`, `kept`, `offline` | bodies that are kept, their index, and reading them again |

mod bodies;
mod crawl;
mod document;
#[cfg(feature = "select")]
mod item_record;
pub(crate) mod json;
mod kept;
#[cfg(feature = "cli")]
pub(crate) mod offline;
mod outputs;
mod owned;
mod page_handler;
mod problem;
mod record;
pub(crate) mod rfc3339;
mod scalar;
mod section;
mod seeds;
mod source;
pub(crate) mod suggest;
mod tables;
pub(crate) mod units;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use url::Url;

use crate::frontier::TrapLimits;
use crate::policy::{HostRule, Policy};

pub use problem::{ConfigError, Origin, Problem};
pub use record::{PageField, PageFields, PageRecord};
pub use section::Entry;
pub(crate) use section::HIDDEN;
pub use seeds::{SeedError, SeedLines};
pub use source::Source;
pub use tables::{default_policy, default_user_agent};
pub use units::{parse_duration, parse_size, show_duration, show_size};

/// A crawl's configuration, validated. Made by [`Source::read`].
///
/// Its `Debug` form shows every value that is in effect, without secrets.
///
/// ```
/// use canter::config::Source;
/// let settings = Source::text(r#"
///     [crawl]
///     seeds = ["https://example.com/"]
///     [policy]
///     host_delay = "2s"
/// "#).set("policy.concurrency=8").read()?;
/// assert_eq!(settings.policy.concurrency, 8);
/// assert_eq!(settings.policy.host_delay.as_secs(), 2);
///
/// let error = Source::text("[policy]\nconcurency = 8").read().unwrap_err();
/// assert!(error.to_string().contains("did you mean concurrency?"));
/// # Ok::<(), canter::config::ConfigError>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Settings {
    /// What is crawled, and how far.
    pub crawl: CrawlSettings,
    /// Which of the URLs that are found belong to the crawl.
    pub scope: ScopeSettings,
    /// Pace and bounds, `[[host]]` tables included.
    pub policy: Policy,
    /// Whether robots.txt is obeyed.
    pub robots: RobotsSettings,
    /// How a URL is fetched.
    pub fetch: FetchSettings,
    /// Where a URL begins to look like a trap.
    pub traps: TrapSettings,
    /// Where records go.
    pub output: OutputSettings,
    /// What is read of pages besides: `[extract.NAME]`, in the order of the
    /// file.
    #[cfg(feature = "select")]
    pub extract: Vec<ExtractSettings>,
    /// The folder of what is kept between runs; `None` keeps nothing.
    pub state: Option<PathBuf>,
    file: Option<PathBuf>,
    entries: Vec<Entry>,
    host_places: Vec<tables::HostPlace>,
}

/// A `[[host]]` table in effect. It displays in one line, without secrets.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct HostEntry<'a> {
    /// The rule.
    pub rule: &'a HostRule,
    /// Where it comes from.
    pub origin: Origin,
    /// Whether its name or its delay came from the environment, so that it
    /// must not be shown.
    pub hidden: bool,
}

impl HostEntry<'_> {
    /// The name, unless it must not be shown.
    #[must_use]
    pub fn shown_name(&self) -> &str {
        if self.hidden { HIDDEN } else { &self.rule.name }
    }
}

impl fmt::Display for HostEntry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.hidden {
            return f.write_str(HIDDEN);
        }
        f.write_str(&self.rule.name)?;
        if let Some(delay) = self.rule.delay {
            write!(f, " delay = {:?}", show_duration(delay))?;
        }
        if let Some(concurrency) = self.rule.concurrency {
            write!(f, " concurrency = {concurrency}")?;
        }
        for (name, _) in &self.rule.headers {
            write!(f, " {name}: {HIDDEN}")?;
        }
        Ok(())
    }
}

/// `[crawl]`: what is crawled, and how far.
#[derive(Clone)]
#[non_exhaustive]
pub struct CrawlSettings {
    /// URLs to begin with.
    pub seeds: Vec<Url>,
    /// Lists of further URLs to begin with, read by [`SeedLines`].
    pub seed_files: Vec<SeedFile>,
    /// Whether links in scope are followed.
    pub follow: bool,
    /// Which sitemaps are read; none unless they are asked for.
    pub sitemaps: Sitemaps,
    /// How many links away from a seed a page may be; `None` for any number.
    pub max_depth: Option<u32>,
    /// How old a known page must be to be asked for again, when a finished
    /// crawl is run again.
    pub revisit: Duration,
    /// Whether a URL that was found before is dropped.
    pub dedup: bool,
    /// Which of the queued requests goes first.
    pub order: Order,
    /// Key and place of each URL whose path came from the environment.
    pub exposed: Vec<(String, Origin)>,
}

/// A list of URLs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SeedFile {
    /// Standard input.
    Stdin,
    /// A file.
    File(PathBuf),
}

/// Which sitemaps are read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sitemaps {
    /// None.
    Off,
    /// Those that robots.txt names, and `/sitemap.xml`, of each seed's host.
    Discover,
    /// These.
    List(Vec<Url>),
}

/// Which of the queued requests goes first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Order {
    /// The oldest: breadth first.
    #[default]
    Fifo,
    /// The newest: depth first.
    Lifo,
    /// The one with the highest priority, then the oldest.
    BestFirst,
}

/// `[scope]`: which of the URLs that are found belong to the crawl.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ScopeSettings {
    /// Host names in lower case, or `*.example.org` for the hosts under a
    /// name; empty for the seeds' hosts.
    pub hosts: Vec<String>,
    /// Patterns of paths that are in; empty for all.
    pub include: Vec<String>,
    /// Patterns of paths that are out, whatever `include` says.
    pub exclude: Vec<String>,
    /// Names of query parameters that are dropped from every URL; a `*` at the
    /// end stands for any rest.
    pub drop_params: Vec<String>,
}

/// `[robots]`: what of a site's wishes is heeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RobotsSettings {
    /// Whether robots.txt (RFC 9309) is obeyed.
    pub obey: bool,
    /// Whether links are left alone that say `rel=nofollow`, and those of pages
    /// whose `meta name=robots` or `X-Robots-Tag` says `nofollow`.
    pub nofollow: bool,
    /// Whether pages that say `noindex` are left out of the records. Their links
    /// are followed all the same.
    pub noindex: bool,
}

impl Default for RobotsSettings {
    fn default() -> Self {
        RobotsSettings {
            obey: true,
            nofollow: true,
            // It speaks to search engines. Whoever gathers pages for a search
            // engine turns it on.
            noindex: false,
        }
    }
}

/// `[fetch]`: how a URL is fetched.
#[derive(Clone)]
#[non_exhaustive]
pub struct FetchSettings {
    /// The `User-Agent` header; its first product is whom robots.txt speaks to.
    pub user_agent: String,
    /// The longest time for a whole request, from name lookup to the end of
    /// the body.
    pub timeout: Duration,
    /// The proxy for every request.
    pub proxy: Option<Url>,
    /// A file of certificates (PEM) that are trusted beside the usual ones.
    pub ca_file: Option<PathBuf>,
    /// The longest body, in decoded bytes.
    pub max_body: u64,
    /// Whether hosts with private, loopback and link-local addresses may be
    /// asked, beside those that a seed names.
    pub allow_private: bool,
    /// Media types whose bodies are read, such as `text/html` or `text/*`.
    pub accept: Vec<String>,
}

impl FetchSettings {
    /// The product token (RFC 9309 section 2.2.1) that `user_agent` begins
    /// with.
    ///
    /// ```
    /// let settings = canter::config::Source::text("crawl.seeds = [\"https://example.com/\"]")
    ///     .set("fetch.user_agent=examplebot/2.1 (+https://example.com/bot)")
    ///     .read()?;
    /// assert_eq!(settings.fetch.product_token(), "examplebot");
    /// # Ok::<(), canter::config::ConfigError>(())
    /// ```
    #[must_use]
    pub fn product_token(&self) -> &str {
        tables::product_token(&self.user_agent)
    }
}

/// `[traps]`: where a URL begins to look like one that a site makes up without
/// end. `None` is no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TrapSettings {
    /// Segments in a path.
    pub max_path_depth: Option<u32>,
    /// Bytes of a URL.
    pub max_url_length: Option<u32>,
    /// Times that a name may stand in a path. Numbers and names of one or two
    /// letters may more often, if no run of them repeats over and over.
    pub max_repeats: Option<u32>,
    /// Different queries of one path.
    pub max_query_variants: Option<u32>,
}

impl Default for TrapSettings {
    /// The library's limits.
    fn default() -> Self {
        let limits = TrapLimits::default();
        let narrow = |limit: usize| u32::try_from(limit).ok();
        TrapSettings {
            max_path_depth: narrow(limits.max_path_depth),
            max_url_length: narrow(limits.max_url_length),
            max_repeats: narrow(limits.max_repeats),
            max_query_variants: Some(limits.max_query_variants),
        }
    }
}

/// `[output]`: where records go.
#[derive(Clone)]
#[non_exhaustive]
pub struct OutputSettings {
    /// Where records go.
    pub path: OutputPath,
    /// How they are written.
    pub format: Format,
    /// Whether there is a record of each page. Without it there are only those
    /// of `[extract.NAME]`.
    pub pages: bool,
    /// What happens to a file that is there.
    pub existing: Existing,
    /// What a page's record holds.
    pub fields: PageFields,
    /// The folder in which the bodies of pages are kept, for `canter extract`.
    pub bodies: Option<PathBuf>,
    /// Where a line for each URL that ended goes.
    pub log: Option<OutputPath>,
    /// Where the totals of the run go.
    pub summary: Option<OutputPath>,
    /// Where metrics for Prometheus go, in the text format, while a run goes on
    /// and at its end.
    pub metrics: Option<PathBuf>,
}

/// How records are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// One value of JSON a line.
    #[default]
    JsonLines,
    /// Comma-separated values (RFC 4180), for files that end in `.csv`.
    Csv,
}

/// `[extract.NAME]`: what is read of pages.
#[cfg(feature = "select")]
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ExtractSettings {
    /// The rules, which have the table's name.
    pub rules: crate::select::Rules,
    /// Where its records go, if not to where those of pages go.
    pub output: Option<OutputPath>,
    /// How they are written there.
    pub format: Format,
    /// What is in effect: each key, its value as TOML, and where it comes from.
    pub entries: Vec<(String, String, Origin)>,
}

/// What happens to an output file that is there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Existing {
    /// New records come after the old ones.
    #[default]
    Append,
    /// The file is written anew.
    Replace,
    /// The run does not begin.
    Refuse,
}

/// Standard output, or a file whose name may change with the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputPath {
    folder: PathBuf,
    name: String,
}

impl OutputPath {
    /// Whether records go to standard output.
    #[must_use]
    pub fn is_stdout(&self) -> bool {
        self.name == "-"
    }

    /// The path as it is written, nothing replaced; `-` for standard output.
    #[must_use]
    pub fn pattern(&self) -> PathBuf {
        if self.is_stdout() {
            return PathBuf::from(&self.name);
        }
        self.folder.join(&self.name)
    }

    /// The file of a run: `{date}` stands for the day it began on, in UTC, and
    /// `{pass}` for the number of the pass. `None` for standard output.
    #[must_use]
    pub fn file(&self, began: SystemTime, pass: u64) -> Option<PathBuf> {
        if self.is_stdout() {
            return None;
        }
        let name = self
            .name
            .replace("{date}", &rfc3339::date(began))
            .replace("{pass}", &pass.to_string());
        Some(self.folder.join(name))
    }
}

impl Settings {
    /// Whether anything is read of pages besides their records.
    #[cfg(all(feature = "cli", feature = "select"))]
    pub(crate) fn has_rules(&self) -> bool {
        !self.extract.is_empty()
    }

    #[cfg(all(feature = "cli", not(feature = "select")))]
    #[expect(clippy::unused_self, reason = "without the feature there are no rules")]
    pub(crate) fn has_rules(&self) -> bool {
        false
    }

    /// Every setting in effect but those of `[[host]]`, in the order of the
    /// tables.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The `[[host]]` tables, in the order of `policy.hosts`.
    pub fn hosts(&self) -> impl Iterator<Item = HostEntry<'_>> {
        self.policy
            .hosts
            .iter()
            .zip(&self.host_places)
            .map(|(rule, place)| HostEntry {
                rule,
                origin: place.origin,
                hidden: place.hidden,
            })
    }

    /// The file that was read, if it was one.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct Plain<'a>(&'a str);
        impl fmt::Debug for Plain<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.0)
            }
        }
        let mut map = f.debug_map();
        for Entry {
            table, key, value, ..
        } in &self.entries
        {
            map.entry(&Plain(&format!("{table}.{key}")), &Plain(value));
        }
        #[cfg(feature = "select")]
        for extract in &self.extract {
            for (key, value, _) in &extract.entries {
                let key = format!("extract.{}.{key}", extract.rules.name());
                map.entry(&Plain(&key), &Plain(value));
            }
        }
        for host in self.hosts() {
            map.entry(&Plain("host"), &Plain(&host.to_string()));
        }
        map.finish()
    }
}
