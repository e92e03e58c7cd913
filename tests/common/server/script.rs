//! [`Script`]: a table of answers. Each path has a sequence; its last answer is
//! repeated for ever.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Req, Resp};

/// Answers by path.
///
/// ```ignore
/// let script = Script::new()
///     .on("/", [Resp::html("<a href=/a>")])
///     .on("/a", [Resp::new(503), Resp::html("<title>second time")]);
/// ```
#[derive(Default)]
pub(crate) struct Script {
    lines: HashMap<(Option<IpAddr>, String), Line>,
    otherwise: Option<Resp>,
}

struct Line {
    answers: Vec<Resp>,
    asked: AtomicUsize,
}

impl Script {
    /// An empty table: everything is 404.
    pub(crate) fn new() -> Self {
        Script::default()
    }

    /// The answers to a path on any host, one after the other. A path with a
    /// query is for that query alone, one without is for all others.
    pub(crate) fn on(self, path: &str, answers: impl IntoIterator<Item = Resp>) -> Self {
        self.line(None, path, answers)
    }

    /// The answers to a path on one host; goes before [`on`](Self::on).
    pub(crate) fn on_host(
        self,
        host: &str,
        path: &str,
        answers: impl IntoIterator<Item = Resp>,
    ) -> Self {
        self.line(Some(super::address(host)), path, answers)
    }

    /// The answer to everything else.
    pub(crate) fn otherwise(mut self, answer: Resp) -> Self {
        self.otherwise = Some(answer);
        self
    }

    fn line(
        mut self,
        host: Option<IpAddr>,
        path: &str,
        answers: impl IntoIterator<Item = Resp>,
    ) -> Self {
        let answers: Vec<_> = answers.into_iter().collect();
        assert!(!answers.is_empty(), "no answer for {path:?}");
        let line = Line {
            answers,
            asked: AtomicUsize::new(0),
        };
        let before = self.lines.insert((host, path.to_owned()), line);
        assert!(before.is_none(), "{path:?} is there twice");
        self
    }

    /// The answer to a request; takes it from its sequence.
    pub(crate) fn answer(&self, req: &Req) -> Resp {
        let found = [req.path.as_str(), req.path_only()]
            .into_iter()
            .flat_map(|path| [(Some(req.host), path), (None, path)])
            .find_map(|(host, path)| self.lines.get(&(host, path.to_owned())));
        match found {
            Some(line) => {
                let turn = line.asked.fetch_add(1, Ordering::Relaxed);
                line.answers[turn.min(line.answers.len() - 1)].clone()
            }
            None => self.otherwise.clone().unwrap_or_else(|| Resp::new(404)),
        }
    }
}
