//! What an answer means, by the error table and the outcome table of the
//! design.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use canter::{ErrorKind, Tag};

use crate::drive::{Answer, Handled, WALL_EPOCH};

/// What an answer to a request for a page or a sitemap means.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Meaning {
    Done(Then),
    Redirected,
    Retry(Option<Duration>),
    Backoff(Option<Tag>, Duration),
    Failed(Failure),
    Unanswered,
    Fatal,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Then {
    Go,
    Stop,
    Abort(Option<Tag>),
}

/// A failure, and what it says about the site.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Failure {
    pub(super) kind: ErrorKind,
    pub(super) status: Option<u16>,
    /// The pause that the site asked for.
    pub(super) asked: Option<Duration>,
}

impl Failure {
    pub(super) fn new(kind: ErrorKind, status: Option<u16>) -> Self {
        Failure {
            kind,
            status,
            asked: None,
        }
    }

    pub(super) fn is_retryable(self) -> bool {
        matches!(
            self.kind,
            ErrorKind::Http | ErrorKind::Timeout | ErrorKind::Connect
        )
    }

    /// Whether it counts toward stop rules, a host's failures and the adaptive
    /// cap.
    pub(super) fn is_of_the_site(self) -> bool {
        self.is_retryable()
            || self.kind == ErrorKind::Rejected && matches!(self.status, Some(401 | 403 | 407))
    }

    /// Whether the host wants us to be slower.
    pub(super) fn throttles(self) -> bool {
        self.kind == ErrorKind::Timeout || matches!(self.status, Some(429 | 503))
    }
}

/// Reads a Retry-After; `now` is the time since virtual time began.
fn asked(value: &str, now: Duration) -> Option<Duration> {
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return value.parse().ok().map(Duration::from_secs);
    }
    let date: SystemTime = httpdate::parse_http_date(value).ok()?;
    Some(
        date.duration_since(UNIX_EPOCH + WALL_EPOCH + now)
            .unwrap_or_default(),
    )
}

fn by_status(answer: &Answer, now: Duration) -> Option<Failure> {
    let failure = match answer.status {
        200..=299 => return None,
        408 | 429 | 500..=599 => Failure::new(ErrorKind::Http, Some(answer.status)),
        _ => Failure::new(ErrorKind::Rejected, Some(answer.status)),
    };
    let says = matches!(answer.status, 429 | 503);
    let asked = answer
        .retry_after
        .as_deref()
        .filter(|_| says)
        .and_then(|text| asked(text, now));
    Some(Failure { asked, ..failure })
}

/// What the answer to a page or a sitemap means, after so many hops.
pub(super) fn of_page(answer: &Answer, hops: usize, most_hops: usize, now: Duration) -> Meaning {
    if answer.unanswered {
        return Meaning::Unanswered;
    }
    if let Some(kind) = answer.broken {
        return Meaning::Failed(Failure::new(kind, None));
    }
    if answer.location.is_some() {
        return if hops < most_hops {
            Meaning::Redirected
        } else {
            Meaning::Failed(Failure::new(ErrorKind::Rejected, Some(answer.status)))
        };
    }
    if let Some(failure) = by_status(answer, now) {
        return Meaning::Failed(failure);
    }
    match &answer.handled {
        Handled::Done => Meaning::Done(Then::Go),
        Handled::Stop => Meaning::Done(Then::Stop),
        Handled::Abort(tag) => Meaning::Done(Then::Abort(tag.clone())),
        Handled::Retry(after) => Meaning::Retry(*after),
        Handled::Backoff(tag, duration) => Meaning::Backoff(tag.clone(), *duration),
        Handled::Fail(kind) => Meaning::Failed(Failure::new(*kind, Some(answer.status))),
        Handled::Fatal => Meaning::Fatal,
    }
}

/// What a robots.txt says to everybody.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Rules {
    all: bool,
    private: bool,
    pub(super) delay: Option<Duration>,
}

impl Rules {
    /// The simulated files have one group, and one or two rules.
    fn read(text: &str) -> Self {
        let mut rules = Rules::default();
        for line in text.lines() {
            match line.split_once(": ") {
                Some(("Disallow", "/")) => rules.all = true,
                Some(("Disallow", "/private")) => rules.private = true,
                Some(("Crawl-delay", seconds)) => {
                    rules.delay = seconds.parse().ok().map(Duration::from_secs_f64);
                }
                _ => {}
            }
        }
        rules
    }

    pub(super) fn forbid(self, private: bool) -> bool {
        self.all || self.private && private
    }
}

/// What an answer to a request for a robots.txt means.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RobotsMeaning {
    Rules(Rules),
    Redirected,
    Failed(Failure),
    Unanswered,
}

pub(super) fn of_robots(answer: &Answer, hops: usize, now: Duration) -> RobotsMeaning {
    if answer.unanswered {
        return RobotsMeaning::Unanswered;
    }
    if let Some(kind) = answer.broken {
        return RobotsMeaning::Failed(Failure::new(kind, None));
    }
    match answer.status {
        200..=299 => RobotsMeaning::Rules(Rules::read(&answer.text)),
        300..=399 if hops < 5 => RobotsMeaning::Redirected,
        429 | 500..=599 => match by_status(answer, now) {
            Some(failure) => RobotsMeaning::Failed(failure),
            None => unreachable!("a status that is no success"),
        },
        _ => RobotsMeaning::Rules(Rules::default()),
    }
}
