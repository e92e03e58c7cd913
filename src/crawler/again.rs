//! [`Again`]: pages that are asked for once more in a pass, since a cookie was
//! set on the way back to them. Keeps: a page that has ended well in this pass
//! is not asked for by a redirect that set out before it did.

use std::collections::{HashMap, HashSet};

use super::engine::Engine;
use crate::frontier::{Candidate, Seen};

/// What is known of pages that redirects lead back to.
#[derive(Debug, Default)]
pub(super) struct Again {
    /// Those that were asked for once more in this run.
    asked: HashSet<u64>,
    /// Those that were last seen to lead elsewhere, in this pass.
    redirected: Seen,
    /// Those that led elsewhere in an earlier run. The cookies that they may have
    /// set are gone: who is led to one of them needs it again, once in a run.
    earlier: Seen,
    /// Requests once more for pages that were just then in flight, by the
    /// fingerprint of the page. How that attempt ends says whether they are
    /// needed: its cookies may have come in time.
    held: HashMap<u64, Candidate>,
}

impl Again {
    pub(super) fn begin_run(&mut self) {
        self.asked.clear();
        self.held.clear();
    }

    /// A page is asked for; if once more, where it leads is open until it answers.
    pub(super) fn ask(&mut self, candidate: &Candidate) {
        let fingerprint = candidate.fingerprint;
        if candidate.request.again() {
            self.asked.insert(fingerprint);
            self.redirected.give_up(fingerprint);
        }
        self.earlier.give_up(fingerprint);
    }

    /// A page led elsewhere in an earlier run.
    pub(super) fn restore(&mut self, fingerprint: u64) {
        self.redirected.claim(fingerprint);
        if cfg!(feature = "cookies") {
            self.earlier.claim(fingerprint);
        }
    }

    /// A page led elsewhere.
    pub(super) fn redirected(&mut self, fingerprint: u64) {
        self.redirected.claim(fingerprint);
    }

    /// A page ended well.
    pub(super) fn done(&mut self, fingerprint: u64) {
        self.redirected.give_up(fingerprint);
    }

    /// Keeps a request back until the page's attempt that is in flight ends.
    pub(super) fn hold(&mut self, candidate: Candidate) {
        self.held.insert(candidate.fingerprint, candidate);
    }

    /// The request that was kept back for a page's attempt in flight.
    pub(super) fn give_back(&mut self, fingerprint: u64) -> Option<Candidate> {
        if self.held.is_empty() {
            return None;
        }
        self.held.remove(&fingerprint)
    }

    fn wants(&self, candidate: &Candidate) -> bool {
        candidate.request.again() && !self.asked.contains(&candidate.fingerprint)
    }

    /// Whether a redirect leads to a page of which an earlier run has the cookies.
    fn is_needed_anew(&self, candidate: &Candidate) -> bool {
        !candidate.request.hops().is_empty() && self.earlier.contains(candidate.fingerprint)
    }
}

impl Engine {
    /// Whether a URL has not been met before, or is to be asked for once more.
    /// Where a redirect leads back to, that is a page that has led elsewhere and
    /// has not been one since.
    pub(super) fn is_new(&self, candidate: &Candidate) -> bool {
        let fingerprint = candidate.fingerprint;
        let again = self.again.wants(candidate)
            && (!candidate.leads_back || self.again.redirected.contains(fingerprint));
        again || self.again.is_needed_anew(candidate) || !self.seen.contains(fingerprint)
    }

    /// Whether a redirect leads back to a page that would be asked for once more
    /// but is being asked for just now.
    pub(super) fn is_asked_for(&self, target: &Candidate) -> bool {
        let is_asked =
            |flight: &super::engine::Flight| flight.entry.fingerprint == target.fingerprint;
        target.leads_back && self.again.wants(target) && self.in_flight.values().any(is_asked)
    }

    /// Whether what a redirect leads to has led here, and would again. A page on
    /// the way here that was none of late is no loop: it has ended well, or its
    /// turn in this pass is still to come.
    pub(super) fn is_loop(&self, target: &Candidate) -> bool {
        target.leads_back
            && !self.is_new(target)
            && !self.is_asked_for(target)
            && self.again.redirected.contains(target.fingerprint)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use url::Url;

    use super::super::job::{Finished, Job, Poll, Report};
    use super::super::options::EngineOptions;
    use super::*;
    use crate::error::{Error, ErrorKind};
    use crate::policy::Policy;
    use crate::request::{Hop, Purpose, Request};

    /// A later pass over a page behind a wall: the page and the wall are both
    /// due, and both are asked for at once.
    struct Pass {
        engine: Engine,
        now: Instant,
        page: Job,
        wall: Job,
    }

    /// The request for a page that a redirect from another led to.
    fn request(path: &str, by: &str) -> Request {
        let url = |path: &str| Url::parse("http://a.test").and_then(|base| base.join(path));
        let hop = Hop {
            url: url(by).expect(by),
            status: 302,
        };
        Request::get(url(path).expect(path))
            .expect(path)
            .with_hops(vec![hop])
            .with_cookie_set(true)
    }

    fn candidate(request: Request) -> Candidate {
        Candidate {
            fingerprint: request.clone().fingerprint(),
            request,
            purpose: Purpose::Page,
            seed: false,
            refusal: None,
            foreign_host: false,
            too_deep: false,
            leads_back: false,
            variant_of: None,
        }
    }

    /// A redirect back to a page, with a cookie set on the way.
    fn back(path: &str, by: &str) -> Finished {
        let target = candidate(request(path, by).with_again(true));
        Finished::Redirected(Box::new(Candidate {
            leads_back: true,
            ..target
        }))
    }

    impl Pass {
        fn new() -> Pass {
            let options = EngineOptions {
                obey_robots: false,
                ..EngineOptions::default()
            };
            let policy = Policy::builder().concurrency(4).build().expect("a policy");
            let mut engine = Engine::new(Arc::new(policy), options);
            let now = Instant::now();
            engine.begin_run(now);
            engine.restore(&candidate(request("/page", "/wall")), None, now);
            engine.restore(&candidate(request("/wall", "/page")), None, now);
            let page = start(&mut engine, now).expect("the page");
            let wall = start(&mut engine, now).expect("the wall");
            Pass {
                engine,
                now,
                page,
                wall,
            }
        }

        fn finish(&mut self, id: u64, status: u16, finished: Finished) {
            let report = Report {
                id,
                url: String::new(),
                status: Some(status),
                bytes: 0,
                finished,
            };
            self.engine
                .finish(report, self.now)
                .expect("it is in flight");
        }

        fn done(&mut self, id: u64) {
            self.finish(id, 200, Finished::Done(Box::default()));
        }

        /// Lets the page in whenever it is asked for from now on; gives how
        /// often that is.
        fn rest(&mut self) -> usize {
            let mut asked = Vec::new();
            while let Some((id, path)) = self.next() {
                if path == "/page" {
                    self.done(id);
                } else {
                    self.finish(id, 302, back("/page", "/wall"));
                }
                asked.push(path);
            }
            assert!(asked.len() <= 2, "{asked:?}");
            assert_eq!(self.engine.stats(self.now).failed, 0);
            asked.iter().filter(|path| *path == "/page").count()
        }

        /// What is asked for next, if anything.
        fn next(&mut self) -> Option<(u64, String)> {
            let job = start(&mut self.engine, self.now)?;
            Some((job.id, job.request().url().path().to_owned()))
        }
    }

    fn start(engine: &mut Engine, now: Instant) -> Option<Job> {
        match engine.poll(now) {
            Poll::Start(job) => Some(*job),
            Poll::Done | Poll::Idle(_) => None,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_page_that_got_in_is_not_asked_for_once_more_by_its_wall() {
        let mut pass = Pass::new();
        pass.finish(pass.wall.id, 302, back("/page", "/wall"));
        assert_eq!(pass.next(), None, "the page may yet get in by itself");
        pass.done(pass.page.id);
        assert_eq!(pass.next(), None);
        let stats = pass.engine.stats(pass.now);
        assert_eq!((stats.succeeded, stats.redirected, stats.failed), (1, 1, 0));

        let mut pass = Pass::new();
        pass.done(pass.page.id);
        pass.finish(pass.wall.id, 302, back("/page", "/wall"));
        assert_eq!(pass.next(), None);
        let stats = pass.engine.stats(pass.now);
        assert_eq!((stats.succeeded, stats.redirected, stats.failed), (1, 1, 0));
    }

    #[test]
    fn what_is_kept_back_for_a_page_waits_for_the_attempt_that_ends_it() {
        let lost = || Error::new(ErrorKind::Connect);
        for unfinished in [
            Finished::Unanswered(lost()),
            Finished::Retry { after: None },
        ] {
            let mut pass = Pass::new();
            pass.finish(pass.wall.id, 302, back("/page", "/wall"));
            pass.finish(pass.page.id, 200, unfinished);
            pass.now += Duration::from_secs(60);
            let (id, path) = pass.next().expect("the page, for it has not ended");
            assert_eq!(path, "/page");
            pass.finish(id, 302, back("/wall", "/page"));
            assert_eq!(pass.rest(), 1, "with the wall's cookie");
        }
    }

    #[test]
    fn a_page_that_was_sent_to_its_wall_is_asked_for_once_more_and_once_only() {
        for page_first in [false, true] {
            let mut pass = Pass::new();
            if page_first {
                pass.finish(pass.page.id, 302, back("/wall", "/page"));
                pass.finish(pass.wall.id, 302, back("/page", "/wall"));
            } else {
                pass.finish(pass.wall.id, 302, back("/page", "/wall"));
                pass.finish(pass.page.id, 302, back("/wall", "/page"));
            }
            assert_eq!(pass.rest(), 1);
        }
    }
}
