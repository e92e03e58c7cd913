//! The colour of each word of a chronicle, and what it is called on the page.

use crate::admission::SkipReason;
use crate::crawler::chronicle::{Answer, EndWord, Wait};
use crate::error::ErrorKind;

/// The class of its colour, and its name.
pub(super) trait Shown: Copy {
    fn class(self) -> &'static str;
    fn name(self) -> &'static str;
}

impl Shown for Answer {
    fn class(self) -> &'static str {
        match self {
            Answer::Success => "blue",
            Answer::Unchanged => "sky",
            Answer::Redirect => "grey",
            Answer::Refused => "amber",
            Answer::Throttled => "orange",
            Answer::ServerError => "red",
            Answer::None => "violet",
            Answer::Unasked => "pale",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Answer::Success => "2xx",
            Answer::Unchanged => "304 as it was",
            Answer::Redirect => "3xx elsewhere",
            Answer::Refused => "4xx",
            Answer::Throttled => "429 and 503",
            Answer::ServerError => "5xx",
            Answer::None => "no answer",
            Answer::Unasked => "not asked",
        }
    }
}

impl Shown for EndWord {
    fn class(self) -> &'static str {
        match self {
            EndWord::Done => "blue",
            EndWord::Unchanged => "sky",
            EndWord::Redirected => "grey",
            EndWord::Failed => "red",
        }
    }

    fn name(self) -> &'static str {
        match self {
            EndWord::Done => "done",
            EndWord::Unchanged => "unchanged",
            EndWord::Redirected => "redirected",
            EndWord::Failed => "failed",
        }
    }
}

impl Shown for ErrorKind {
    fn class(self) -> &'static str {
        match self {
            ErrorKind::Http => "red",
            ErrorKind::Rejected => "amber",
            ErrorKind::Timeout => "violet",
            ErrorKind::Connect => "plum",
            ErrorKind::Extract => "teal",
            ErrorKind::TooLarge => "green",
            ErrorKind::Worker => "brown",
            _ => "grey",
        }
    }

    fn name(self) -> &'static str {
        self.as_str()
    }
}

impl Shown for SkipReason {
    fn class(self) -> &'static str {
        match self {
            SkipReason::Robots => "violet",
            SkipReason::Scope => "grey",
            SkipReason::Depth => "teal",
            SkipReason::Aborted => "brown",
            _ => "amber",
        }
    }

    fn name(self) -> &'static str {
        match self {
            SkipReason::Scope => "scope: not of the crawl",
            SkipReason::Robots => "robots: forbidden by robots.txt",
            SkipReason::Depth => "depth: too many links away",
            SkipReason::Aborted => "aborted: its tag was given up",
            SkipReason::TrapRepeat => "trap_repeat: the path repeats itself",
            SkipReason::TrapDepth => "trap_depth: the path is too deep",
            SkipReason::TrapLength => "trap_length: the URL is too long",
            SkipReason::TrapVariants => "trap_variants: too many queries of one path",
            other => other.as_str(),
        }
    }
}

impl Shown for Wait {
    fn class(self) -> &'static str {
        match self {
            Wait::Busy => "blue",
            Wait::Answers => "sky",
            Wait::Rate => "green",
            Wait::Gap => "lime",
            Wait::Pause => "orange",
            Wait::CrawlPause => "red",
            Wait::TagPause => "amber",
            Wait::HostLimit => "grey",
            Wait::Robots => "violet",
            Wait::Retry => "plum",
            Wait::Cap => "teal",
            Wait::WarmUp => "brown",
            Wait::Stopping => "pale",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Wait::Busy => "nothing",
            Wait::Answers => "answers, nothing is queued",
            Wait::Rate => "the rate",
            Wait::Gap => "the gap of a host",
            Wait::Pause => "the pause of a host",
            Wait::CrawlPause => "a pause of the crawl",
            Wait::TagPause => "the pause of a tag",
            Wait::HostLimit => "hosts at their limit",
            Wait::Robots => "robots.txt",
            Wait::Retry => "a retry",
            Wait::Cap => "concurrency",
            Wait::WarmUp => "the warm-up",
            Wait::Stopping => "the end, after a stop",
        }
    }
}
