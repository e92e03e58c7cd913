//! The words of a chronicle: what came of an attempt, how a URL ended, what
//! the next start waited for. Keeps: a word, once written, keeps its meaning.

use crate::admission::SkipReason;
use crate::crawler::stats::Waiting;
use crate::error::ErrorKind;

/// One of a fixed set of words.
pub trait Word: Copy + 'static {
    /// Every word, in the order in which they are shown.
    const ALL: &'static [Self];

    /// Where it stands among all.
    fn place(self) -> u8;

    /// The word as files and pages have it.
    fn word(self) -> &'static str;
}

macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl Word for $name {
            const ALL: &'static [Self] = &[$($name::$variant,)*];

            fn place(self) -> u8 {
                self as u8
            }

            fn word(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)*
                }
            }
        }
    };
}

words! {
    /// What an attempt got, by the status of its answer (RFC 9110 section 15).
    Answer {
        /// What was asked for.
        Success = "2xx",
        /// It is as it was: 304.
        Unchanged = "304",
        /// It is elsewhere.
        Redirect = "3xx",
        /// It is not to be had.
        Refused = "4xx",
        /// The host asks to be left alone: 429 and 503.
        Throttled = "429_503",
        /// The host has failed.
        ServerError = "5xx",
        /// No whole answer came.
        None = "no_answer",
        /// The handler did not ask.
        Unasked = "not_asked",
    }
}

impl Answer {
    /// The answer with a status; `failed` says whether the attempt did.
    #[must_use]
    pub fn of(status: Option<u16>, failed: bool) -> Answer {
        match status {
            Some(304) => Answer::Unchanged,
            Some(429 | 503) => Answer::Throttled,
            Some(300..=399) => Answer::Redirect,
            Some(400..=499) => Answer::Refused,
            Some(500..) => Answer::ServerError,
            Some(_) => Answer::Success,
            None if failed => Answer::None,
            None => Answer::Unasked,
        }
    }
}

words! {
    /// How a URL ended that was asked for.
    EndWord {
        /// The handler is done with it.
        Done = "done",
        /// As on an earlier pass.
        Unchanged = "unchanged",
        /// It led to another.
        Redirected = "redirected",
        /// It failed for good.
        Failed = "failed",
    }
}

words! {
    /// What the next start waited for.
    Wait {
        /// Nothing: every worker was busy, or a start was made.
        Busy = "busy",
        /// The rate of the crawl.
        Rate = "rate",
        /// The gap of a host.
        Gap = "gap",
        /// The pause of a host.
        Pause = "pause",
        /// Hosts that have as many in flight as allowed.
        HostLimit = "host_limit",
        /// The pause of a tag.
        TagPause = "tag_pause",
        /// A pause of the whole crawl.
        CrawlPause = "crawl_pause",
        /// A robots.txt.
        Robots = "robots",
        /// The delay before a retry.
        Retry = "retry",
        /// The cap on requests in flight.
        Cap = "cap",
        /// The warm-up.
        WarmUp = "warm_up",
        /// Answers, as nothing is queued.
        Answers = "answers",
        /// The end of what is in flight after a stop.
        Stopping = "stopping",
    }
}

impl Wait {
    /// What a crawl waits for as a word.
    #[must_use]
    pub fn of(waiting: Option<&Waiting>) -> Wait {
        match waiting {
            None => Wait::Busy,
            Some(Waiting::Rate) => Wait::Rate,
            Some(Waiting::HostGap(_)) => Wait::Gap,
            Some(Waiting::HostPause(_)) => Wait::Pause,
            Some(Waiting::HostLimit) => Wait::HostLimit,
            Some(Waiting::TagPause(_)) => Wait::TagPause,
            Some(Waiting::CrawlPause) => Wait::CrawlPause,
            Some(Waiting::Robots) => Wait::Robots,
            Some(Waiting::RetryDelay(_)) => Wait::Retry,
            Some(Waiting::Cap) => Wait::Cap,
            Some(Waiting::WarmUp) => Wait::WarmUp,
            // It is over before anybody could see it.
            Some(Waiting::Queue) => Wait::Busy,
            Some(Waiting::NothingQueued) => Wait::Answers,
            Some(Waiting::Stopping) => Wait::Stopping,
        }
    }
}

impl Word for ErrorKind {
    const ALL: &'static [Self] = &ErrorKind::ALL;

    fn place(self) -> u8 {
        self as u8
    }

    fn word(self) -> &'static str {
        self.as_str()
    }
}

impl Word for SkipReason {
    const ALL: &'static [Self] = &SkipReason::ALL;

    fn place(self) -> u8 {
        self as u8
    }

    fn word(self) -> &'static str {
        self.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<K: Word>() {
        let mut words: Vec<&str> = K::ALL.iter().map(|word| word.word()).collect();
        for (at, word) in K::ALL.iter().enumerate() {
            assert_eq!(usize::from(word.place()), at, "{}", word.word());
        }
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), K::ALL.len());
    }

    #[test]
    fn every_word_stands_where_it_says() {
        check::<Answer>();
        check::<EndWord>();
        check::<Wait>();
        check::<ErrorKind>();
        check::<SkipReason>();
    }

    #[test]
    fn an_answer_is_told_by_its_status() {
        for (status, failed, expected) in [
            (Some(200), false, "2xx"),
            (Some(206), true, "2xx"),
            (Some(301), false, "3xx"),
            (Some(304), false, "304"),
            (Some(404), true, "4xx"),
            (Some(429), true, "429_503"),
            (Some(500), true, "5xx"),
            (Some(503), true, "429_503"),
            (Some(999), true, "5xx"),
            (None, true, "no_answer"),
            (None, false, "not_asked"),
        ] {
            assert_eq!(Answer::of(status, failed).word(), expected, "{status:?}");
        }
    }
}
