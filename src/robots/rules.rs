//! [`Rules`]: the rules that apply to one agent, indexed for the crawl.
//!
//! Invariant: the answer is that of a scan over all rules for the longest
//! match, `Allow` before `Disallow` at equal length.

use std::cmp::Reverse;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::pattern;

/// The one path that is always allowed (RFC 9309 section 2.2.2).
pub(super) const ROBOTS_PATH: &str = "/robots.txt";

/// The rules of a robots.txt that apply to one agent, merged and indexed
/// (RFC 9309 sections 2.2.1 and 2.2.2).
///
/// A crawl keeps these instead of the whole file. Cloning is cheap. The default
/// allows everything.
///
/// ```
/// use canter::robots::Robots;
/// let robots = Robots::parse(b"User-agent: *\nDisallow: /private\nAllow: /private/door\n");
/// let rules = robots.rules_for("examplebot");
/// assert!(rules.allows("/"));
/// assert!(!rules.allows("/private/room?key=1"));
/// assert!(rules.allows("/private/door"));
/// ```
#[derive(Clone, Default)]
pub struct Rules {
    index: Option<Arc<Index>>,
    crawl_delay: Option<Duration>,
}

/// A canonical pattern as its place in [`Index::text`].
#[derive(Clone, Copy)]
struct Span {
    start: u32,
    len: u32,
}

/// A rule without wildcard or anchor.
#[derive(Clone, Copy)]
struct Prefix {
    pattern: Span,
    /// The longest other prefix rule that this one starts with.
    parent: Option<u32>,
    allow: bool,
}

/// A rule with a wildcard or an anchor.
#[derive(Clone, Copy)]
struct Wild {
    pattern: Span,
    allow: bool,
}

struct Index {
    text: Box<str>,
    /// In the order of their text, each text once.
    prefixes: Box<[Prefix]>,
    /// Longest first, `Allow` before `Disallow`, each text once.
    wilds: Box<[Wild]>,
}

/// What a match weighs: the longest wins, then `Allow`.
type Weight = (u32, bool);

impl Index {
    fn get(&self, span: Span) -> &str {
        let start = span.start as usize;
        &self.text[start..start + span.len as usize]
    }

    /// The longest prefix rule that the path starts with.
    ///
    /// Every rule that is a prefix of the path is also a prefix of the rule
    /// that sorts last before it, so it is that rule or one of its parents.
    fn longest_prefix(&self, path: &str) -> Option<Weight> {
        let after = self
            .prefixes
            .partition_point(|rule| self.get(rule.pattern) <= path);
        let mut rule = &self.prefixes[after.checked_sub(1)?];
        let shared = self
            .get(rule.pattern)
            .bytes()
            .zip(path.bytes())
            .take_while(|(one, other)| one == other)
            .count();
        while rule.pattern.len as usize > shared {
            rule = &self.prefixes[rule.parent? as usize];
        }
        Some((rule.pattern.len, rule.allow))
    }

    fn allows(&self, path: &str) -> bool {
        let prefix = self.longest_prefix(path);
        self.wilds
            .iter()
            .map(|rule| ((rule.pattern.len, rule.allow), rule))
            .take_while(|&(weight, _)| prefix.is_none_or(|best| weight > best))
            .find(|(_, rule)| pattern::matches(self.get(rule.pattern), path))
            .map(|(weight, _)| weight)
            .or(prefix)
            .is_none_or(|(_, allow)| allow)
    }
}

impl Rules {
    /// Indexes canonical patterns, given with whether they allow.
    pub(super) fn new<'a>(
        rules: impl Iterator<Item = (&'a str, bool)>,
        crawl_delay: Option<Duration>,
    ) -> Self {
        let mut rules: Vec<(&str, bool)> = rules.collect();
        if rules.iter().all(|&(_, allow)| allow) {
            return Rules {
                index: None,
                crawl_delay,
            };
        }
        rules.sort_unstable_by_key(|&(text, allow)| (text, Reverse(allow)));
        rules.dedup_by_key(|&mut (text, _)| text);

        let mut text = String::with_capacity(rules.iter().map(|(text, _)| text.len()).sum());
        let mut prefixes: Vec<Prefix> = Vec::new();
        let mut wilds = Vec::new();
        // The prefix rules that the one at hand may start with, longest last.
        let mut open: Vec<(u32, &str)> = Vec::new();
        for (rule, allow) in rules {
            let pattern = Span {
                start: text.len() as u32,
                len: rule.len() as u32,
            };
            text.push_str(rule);
            if pattern::is_prefix(rule) {
                while open.last().is_some_and(|(_, last)| !rule.starts_with(last)) {
                    open.pop();
                }
                let parent = open.last().map(|&(at, _)| at);
                open.push((prefixes.len() as u32, rule));
                prefixes.push(Prefix {
                    pattern,
                    parent,
                    allow,
                });
            } else {
                wilds.push(Wild { pattern, allow });
            }
        }
        wilds.sort_by_key(|rule| Reverse((rule.pattern.len, rule.allow)));
        Rules {
            index: Some(Arc::new(Index {
                text: text.into(),
                prefixes: prefixes.into(),
                wilds: wilds.into(),
            })),
            crawl_delay,
        }
    }

    /// Whether a path and query, as a request line has them, may be fetched.
    /// `/robots.txt` always may.
    #[must_use]
    pub fn allows(&self, path_and_query: &str) -> bool {
        let Some(index) = &self.index else {
            return true;
        };
        path_and_query == ROBOTS_PATH || index.allows(&pattern::canonical_path(path_and_query))
    }

    /// Whether there is no rule that forbids anything.
    #[must_use]
    pub fn allows_all(&self) -> bool {
        self.index.is_none()
    }

    /// The gap between two requests that the site asks for.
    #[must_use]
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self
            .index
            .as_ref()
            .map_or(0, |index| index.prefixes.len() + index.wilds.len());
        f.debug_struct("Rules")
            .field("rules", &count)
            .field("crawl_delay", &self.crawl_delay)
            .finish()
    }
}
