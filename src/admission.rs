//! [`Admission`]: what becomes of a URL that was found, and why.

use std::fmt;

/// Why a URL that was found is not asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum SkipReason {
    /// Outside the scope of the crawl.
    Scope,
    /// The origin's robots.txt forbids it (RFC 9309).
    Robots,
    /// Too many links away from a seed.
    Depth,
    /// A handler gave up the request's tag.
    Aborted,
    /// The path repeats itself.
    TrapRepeat,
    /// The path has too many segments.
    TrapDepth,
    /// The URL is too long.
    TrapLength,
    /// The path was already queued with too many queries.
    TrapVariants,
    /// The page asks that the link is not followed. An answer of the queue to
    /// a handler; nothing that was queued ends so.
    NoFollow,
    /// Not an http or https URL. An answer of the queue to a handler; nothing
    /// that was queued ends so.
    Invalid,
}

impl SkipReason {
    /// Every reason.
    pub const ALL: [SkipReason; 10] = [
        SkipReason::Scope,
        SkipReason::Robots,
        SkipReason::Depth,
        SkipReason::Aborted,
        SkipReason::TrapRepeat,
        SkipReason::TrapDepth,
        SkipReason::TrapLength,
        SkipReason::TrapVariants,
        SkipReason::NoFollow,
        SkipReason::Invalid,
    ];

    /// The stable lower-case word that logs, summaries and state files use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            SkipReason::Scope => "scope",
            SkipReason::Robots => "robots",
            SkipReason::Depth => "depth",
            SkipReason::Aborted => "aborted",
            SkipReason::TrapRepeat => "trap_repeat",
            SkipReason::TrapDepth => "trap_depth",
            SkipReason::TrapLength => "trap_length",
            SkipReason::TrapVariants => "trap_variants",
            SkipReason::NoFollow => "nofollow",
            SkipReason::Invalid => "invalid",
        }
    }

    /// The reason that [`as_str`](Self::as_str) names, if any.
    #[must_use]
    pub fn from_word(word: &str) -> Option<SkipReason> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == word)
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What becomes of a URL that was found: the answer of a
/// [`Queue`](crate::extract::Queue) to a handler.
///
/// ```
/// use canter::extract::Queue;
/// use canter::{Admission, SkipReason};
///
/// fn handler(queue: Queue) {
///     if let Admission::Skipped(reason) = queue.follow("mailto:me@example.com") {
///         assert_eq!(reason, SkipReason::Invalid);
///     }
/// }
/// # let _ = canter::handler::boxed(handler);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Admission {
    /// It is queued; within a handler, with the handler's success.
    Queued,
    /// It was found before.
    Duplicate,
    /// It is not asked for.
    Skipped(SkipReason),
}

impl Admission {
    /// Whether the URL is queued.
    #[must_use]
    pub fn is_queued(self) -> bool {
        self == Admission::Queued
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_word_of_its_own_that_reads_back() {
        for reason in SkipReason::ALL {
            assert_eq!(SkipReason::from_word(reason.as_str()), Some(reason));
        }
        assert_eq!(SkipReason::from_word("else"), None);
    }
}
