//! [`Answer`]: what a site answers to one request, [`World`]: what answers, and
//! [`Site`]: a world that is a script.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use canter::{ErrorKind, Request, Tag};

/// What a handler makes of a page.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Handled {
    Done,
    Retry(Option<Duration>),
    /// `None` is the request's own tag.
    Backoff(Option<Tag>, Duration),
    Abort(Option<Tag>),
    Stop,
    Fail(ErrorKind),
    Fatal,
}

/// A link on a page.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Link {
    pub(crate) href: String,
    pub(crate) tag: Tag,
    pub(crate) priority: i32,
}

impl From<&str> for Link {
    fn from(href: &str) -> Self {
        Link {
            href: href.to_owned(),
            tag: Tag::UNTAGGED,
            priority: 0,
        }
    }
}

impl From<String> for Link {
    fn from(href: String) -> Self {
        Link::from(href.as_str())
    }
}

impl Link {
    pub(crate) fn tagged(href: &str, tag: &str) -> Self {
        Link {
            tag: Tag::from(tag),
            ..Link::from(href)
        }
    }
}

/// What a site answers to one request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    /// From the request's start to the end of its job.
    pub(crate) latency: Duration,
    /// A failure without a status.
    pub(crate) broken: Option<ErrorKind>,
    /// No answer, since a kept connection broke.
    pub(crate) unanswered: bool,
    pub(crate) status: u16,
    /// The `Retry-After` field, as on the wire.
    pub(crate) retry_after: Option<String>,
    pub(crate) location: Option<String>,
    /// A robots.txt.
    pub(crate) text: String,
    pub(crate) links: Vec<Link>,
    pub(crate) handled: Handled,
}

impl Answer {
    /// A status, at once.
    pub(crate) fn status(status: u16) -> Self {
        Answer {
            latency: Duration::ZERO,
            broken: None,
            unanswered: false,
            status,
            retry_after: None,
            location: None,
            text: String::new(),
            links: Vec::new(),
            handled: Handled::Done,
        }
    }

    /// A page without links.
    pub(crate) fn ok() -> Self {
        Answer::status(200)
    }

    /// A page with links.
    pub(crate) fn page(links: &[&str]) -> Self {
        Answer::ok().links(links.iter().copied())
    }

    pub(crate) fn redirect(status: u16, to: &str) -> Self {
        Answer {
            location: Some(to.to_owned()),
            ..Answer::status(status)
        }
    }

    /// No answer.
    pub(crate) fn broken(kind: ErrorKind) -> Self {
        Answer {
            broken: Some(kind),
            ..Answer::status(0)
        }
    }

    /// No answer, since a kept connection broke.
    pub(crate) fn unanswered() -> Self {
        Answer {
            unanswered: true,
            ..Answer::status(0)
        }
    }

    /// A page that its handler makes something else of than `Done`.
    pub(crate) fn handled(handled: Handled) -> Self {
        Answer {
            handled,
            ..Answer::ok()
        }
    }

    /// A robots.txt.
    pub(crate) fn robots(text: &str) -> Self {
        Answer {
            text: text.to_owned(),
            ..Answer::ok()
        }
    }

    pub(crate) fn links(mut self, links: impl IntoIterator<Item = impl Into<Link>>) -> Self {
        self.links.extend(links.into_iter().map(Into::into));
        self
    }

    pub(crate) fn retry_after(mut self, value: impl ToString) -> Self {
        self.retry_after = Some(value.to_string());
        self
    }

    /// What the handler makes of the page.
    pub(crate) fn with(mut self, handled: Handled) -> Self {
        self.handled = handled;
        self
    }

    pub(crate) fn takes(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }
}

/// What answers requests.
pub(crate) trait World {
    /// The answer to a request that starts `at` after the beginning of time.
    fn answer(&mut self, request: &Request, robots: bool, at: Duration) -> Answer;
}

/// Pages by their URL, each with the answers it gives one after the other; the
/// last one stays. What is not there answers 404.
#[derive(Debug, Default)]
pub(crate) struct Site {
    answers: HashMap<String, VecDeque<Answer>>,
    latency: Duration,
}

impl Site {
    pub(crate) fn new() -> Self {
        Site::default()
    }

    /// How long an answer takes that names no time of its own.
    pub(crate) fn latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    pub(crate) fn on(mut self, url: &str, answer: Answer) -> Self {
        self.answers
            .entry(url.to_owned())
            .or_default()
            .push_back(answer);
        self
    }

    pub(crate) fn then(self, url: &str, answers: impl IntoIterator<Item = Answer>) -> Self {
        answers
            .into_iter()
            .fold(self, |site, answer| site.on(url, answer))
    }

    /// Plain pages, `{prefix}{n}` for each number.
    pub(crate) fn pages(self, prefix: &str, numbers: impl IntoIterator<Item = usize>) -> Self {
        numbers.into_iter().fold(self, |site, n| {
            site.on(&format!("{prefix}{n}"), Answer::ok())
        })
    }
}

impl World for Site {
    fn answer(&mut self, request: &Request, _robots: bool, _at: Duration) -> Answer {
        let mut answer = match self.answers.get_mut(request.url().as_str()) {
            Some(answers) if answers.len() > 1 => answers.pop_front(),
            Some(answers) => answers.front().cloned(),
            None => None,
        }
        .unwrap_or_else(|| Answer::status(404));
        if answer.latency.is_zero() {
            answer.latency = self.latency;
        }
        answer
    }
}
