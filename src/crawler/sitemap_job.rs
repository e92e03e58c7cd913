//! A request for a sitemap or feed: the file in, the URLs it lists out. Keeps:
//! a sitemap passes the gate like everything else, and what was read of a
//! broken one is used.

use std::sync::Arc;
use std::time::Duration;

use super::Run;
use super::admit::Redirect;
use super::job::{Done, Finished, Job};
use super::worker::{Answer, unfinished};
use crate::error::{Error, ErrorKind, Result};
use crate::extract::Context;
use crate::fetch::Response;
use crate::frontier::Candidate;
use crate::handler::{self, Ended};
use crate::outcome::Outcome;
use crate::request::{BodyLimit, Method, Purpose, Request};
use crate::sitemap;
use crate::uri;

/// How much of a sitemap is read, compressed or not. It is asked for as what
/// it is, so neither the types nor the size that pages may have hold for it.
const SITEMAP_BYTES: u64 = sitemap::MAX_TEXT as u64;
/// How far clocks and the ends of days may differ.
const DAY: Duration = Duration::from_secs(24 * 3600);
/// How deep indexes of sitemaps may be nested. The protocol knows one level.
const SITEMAP_NESTING: u32 = 5;

/// So many entries that nothing can be fetched for.
fn no_url(left_out: usize) -> String {
    let entries = if left_out == 1 { "entry" } else { "entries" };
    format!("{left_out} {entries} of the sitemap left out: no absolute URL")
}

impl Run {
    pub(super) fn sitemap(&self, request: Request, job: &Job) -> (Request, Answer) {
        let limit = BodyLimit {
            bytes: SITEMAP_BYTES,
            keep_start: true,
        };
        let request = request.with_body_limit(limit);
        let cx = Context::new(request, Arc::clone(&self.services));
        let report = handler::run(&*self.fetch_only, cx);
        let status = report.response.as_ref().map(|response| response.status());
        let bytes = report
            .response
            .as_ref()
            .map_or(0, |response| response.body().len() as u64);
        let finished = match (report.ended, report.response.as_deref()) {
            (Ended::Redirected { status, target }, response) => {
                let redirect = Redirect::new(status, target, Purpose::Sitemap, response);
                let hop = self.admit.hop(&job.request(), redirect, job.entry.seed);
                Finished::Redirected(Box::new(hop))
            }
            (Ended::Outcome(Outcome::Done), Some(response)) => {
                match self.read_sitemap(&report.request, response) {
                    Ok(done) => Finished::Done(Box::new(done)),
                    // Many sites answer with a page whatever they are asked for.
                    Err(error) if self.is_guess(&report.request) => {
                        Finished::Done(Box::new(Done {
                            message: Some(error.to_string()),
                            ..Done::default()
                        }))
                    }
                    Err(error) => Finished::Failed(error),
                }
            }
            (Ended::Outcome(Outcome::Fail(error)), _)
                if self.is_guess(&report.request) && error.kind() == ErrorKind::Rejected =>
            {
                Finished::Done(Box::default())
            }
            (Ended::Outcome(outcome), _) => unfinished(outcome),
            (Ended::Unanswered(error), _) => Finished::Unanswered(error),
            (Ended::Unchanged, _) => Finished::Done(Box::new(Done {
                unchanged: true,
                ..Done::default()
            })),
        };
        (
            report.request,
            Answer {
                status,
                bytes,
                finished,
            },
        )
    }

    fn read_sitemap(&self, request: &Request, response: &Response) -> Result<Done> {
        let read = sitemap::parse(response.body());
        let is_index = read.kind == sitemap::Kind::Index;
        if read.entries.is_empty() && (read.error.is_some() || read.kind == sitemap::Kind::Unknown)
        {
            let why = read.error.as_ref().map_or("no sitemap", Error::message);
            return Err(Error::new(ErrorKind::Extract)
                .with_message(why)
                .with_status(response.status()));
        }
        let referrer: Arc<str> = uri::without_credentials(response.url()).as_str().into();
        let nested = request.depth() + 1;
        let mut done = Done::default();
        let mut left_out = read.left_out;
        let mut too_deep = false;
        for entry in read.entries {
            let Some(url) = uri::resolve(response.url(), &entry.loc) else {
                left_out += 1;
                continue;
            };
            let found = Request::new(Method::Get, url).with_referrer(Some(referrer.clone()));
            if !is_index {
                let mut link = self.admit.link(found.with_depth(1));
                if self.has_changed(&link, &entry) {
                    link.request = link.request.with_again(true);
                }
                done.links.push(link);
            } else if nested <= SITEMAP_NESTING {
                done.links
                    .push(self.admit.sitemap(found.with_depth(nested)));
            } else {
                too_deep = true;
            }
        }
        let partial = read.error;
        let said = [
            partial.map(|error| format!("the sitemap was read in part: {error}")),
            (left_out > 0).then(|| no_url(left_out)),
            too_deep.then(|| format!("sitemap indexes are nested over {SITEMAP_NESTING} deep")),
        ];
        let said: Vec<String> = said.into_iter().flatten().collect();
        done.message = (!said.is_empty()).then(|| said.join("; "));
        Ok(done)
    }

    /// Whether it is the usual place of a sitemap, and nobody has said that
    /// there is one. Where the configuration names them, none is guessed.
    fn is_guess(&self, request: &Request) -> bool {
        self.sitemaps && request.referrer().is_none()
    }

    /// Whether a page that is not due has changed since it was fetched, as the
    /// sitemap says. A date to come is not believed.
    fn has_changed(&self, page: &Candidate, entry: &sitemap::Entry) -> bool {
        let known = || self.pages.as_ref()?.not_due(page.fingerprint);
        entry.changed_by().is_some_and(|changed| {
            changed <= self.services.wall_now() + DAY
                && known().is_some_and(|known| known.fetched < changed)
        })
    }
}
