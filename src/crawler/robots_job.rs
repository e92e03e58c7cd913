//! A request for robots.txt: the file in, the rules of our group out
//! (RFC 9309). Keeps: what cannot be read allows nothing, and what is not
//! there forbids nothing.

use std::sync::Arc;
use std::time::Duration;

use super::Run;
use super::job::{Finished, RobotsAnswer};
use super::origins::OriginRules;
use super::robots_file::RobotsFile;
use super::worker::Answer;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::Response;
use crate::frontier::Candidate;
use crate::policy::MAX_DURATION;
use crate::request::Request;
use crate::uri;

/// The longest Crawl-delay that is obeyed without a word.
const WORTH_SAYING: Duration = Duration::from_secs(60);

impl Run {
    pub(super) fn robots(&self, request: Request) -> (Request, Answer) {
        let request = RobotsFile::asked_for(request);
        let fetched = self.services.fetch_now(&request);
        let (status, bytes, answer) = match fetched {
            Ok(response) => {
                let (status, bytes) = (response.status(), response.body().len() as u64);
                (Some(status), bytes, self.read_robots(&request, &response))
            }
            // It will be said of each page: nothing is sent anyway.
            Err(error) if is_unsendable(&request, &error) => (None, 0, Ok(no_rules(Vec::new()))),
            Err(error) => (None, 0, Err(error)),
        };
        let finished = match answer {
            Ok(answer) => Finished::Robots(answer),
            Err(error) if error.is_of_stale_connection() => Finished::Unanswered(error),
            Err(error) => Finished::Failed(error),
        };
        (
            request,
            Answer {
                status,
                bytes,
                finished,
            },
        )
    }

    fn read_robots(&self, request: &Request, response: &Response) -> Result<RobotsAnswer> {
        let file = RobotsFile::read(request, response, self.services.wall_now())?;
        Ok(match file {
            RobotsFile::There { robots, note } => {
                let rules = robots.rules_for(&self.product_token);
                let crawl_delay = robots.crawl_delay(&self.product_token);
                let note = note.map(str::to_owned).or_else(|| slow(crawl_delay?));
                RobotsAnswer::Rules {
                    rules: Arc::new(OriginRules { rules, crawl_delay }),
                    body: if self.pages.is_some() {
                        response.body().into()
                    } else {
                        Arc::default()
                    },
                    sitemaps: self.sitemaps_of(request, robots.sitemaps()),
                    note,
                }
            }
            RobotsFile::Absent => no_rules(self.sitemaps_of(request, &[])),
            RobotsFile::Elsewhere(next) => RobotsAnswer::Redirected(Box::new(next)),
        })
    }

    /// The sitemaps of a seed's origin: those its robots.txt names, or the
    /// usual place.
    fn sitemaps_of(&self, request: &Request, named: &[String]) -> Vec<Candidate> {
        if !self.sitemaps
            || !self
                .plan
                .seeds
                .hosts()
                .contains(&*uri::host_key(request.requested()))
        {
            return Vec::new();
        }
        self.admit.sitemaps_of(request.requested(), named)
    }
}

/// What is said of a gap that makes a crawl take hours, or no end at all.
fn slow(crawl_delay: Duration) -> Option<String> {
    (crawl_delay > WORTH_SAYING).then(|| {
        let seconds = crawl_delay.min(MAX_DURATION).as_secs();
        format!("robots.txt asks for {seconds} s between two requests")
    })
}

/// Whether no request can be sent to the origin at all. Not so when only where
/// its robots.txt was moved to cannot be asked.
fn is_unsendable(request: &Request, error: &Error) -> bool {
    error.kind() == ErrorKind::Invalid
        && !error.is_of_unreadable_answer()
        && request.hops().is_empty()
}

/// An origin without rules.
fn no_rules(sitemaps: Vec<Candidate>) -> RobotsAnswer {
    RobotsAnswer::Rules {
        rules: Arc::default(),
        body: Arc::default(),
        sitemaps,
        note: None,
    }
}
