//! A request for robots.txt: the file in, the rules of our group out
//! (RFC 9309). Keeps: what cannot be read allows nothing, and what is not
//! there forbids nothing.

use std::sync::Arc;

use super::Run;
use super::job::{Finished, RobotsAnswer};
use super::origins::OriginRules;
use super::robots_file::RobotsFile;
use super::worker::Answer;
use crate::error::{ErrorKind, Result};
use crate::fetch::Response;
use crate::frontier::Candidate;
use crate::request::Request;
use crate::uri;

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
            Err(error) if error.kind() == ErrorKind::Invalid => (None, 0, Ok(no_rules(Vec::new()))),
            Err(error) => (None, 0, Err(error)),
        };
        let finished = match answer {
            Ok(answer) => Finished::Robots(answer),
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
                RobotsAnswer::Rules {
                    rules: Arc::new(OriginRules { rules, crawl_delay }),
                    body: if self.pages.is_some() {
                        response.body().into()
                    } else {
                        Arc::default()
                    },
                    sitemaps: self.sitemaps_of(request, robots.sitemaps()),
                    note: note.map(str::to_owned),
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

/// An origin without rules.
fn no_rules(sitemaps: Vec<Candidate>) -> RobotsAnswer {
    RobotsAnswer::Rules {
        rules: Arc::default(),
        body: Arc::default(),
        sitemaps,
        note: None,
    }
}
