//! A request for robots.txt: the file in, the rules of our group out
//! (RFC 9309). Keeps: what cannot be read allows nothing, and what is not
//! there forbids nothing.

use std::sync::Arc;

use super::Run;
use super::job::{Finished, RobotsAnswer};
use super::origins::OriginRules;
use super::worker::Answer;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::Response;
use crate::frontier::Candidate;
use crate::http;
use crate::request::{BodyLimit, Hop, Method, Request};
use crate::robots::Robots;
use crate::uri;

/// How much of a robots.txt is read (RFC 9309 section 2.5 asks for 500 KiB).
const ROBOTS_BYTES: u64 = 1024 * 1024;
/// Redirects of a robots.txt that are followed (RFC 9309 section 2.3.1.2).
const ROBOTS_HOPS: usize = 5;

impl Run {
    pub(super) fn robots(&self, request: Request) -> (Request, Answer) {
        let limit = BodyLimit {
            bytes: ROBOTS_BYTES,
            keep_start: true,
        };
        let request = request.with_body_limit(limit);
        let fetched = self.services.fetch_now(&request);
        let (status, bytes, answer) = match fetched {
            Ok(response) => {
                let (status, bytes) = (response.status(), response.body().len() as u64);
                (Some(status), bytes, self.read_robots(&request, &response))
            }
            // It will be said of each page: nothing is sent anyway.
            Err(error) if error.kind() == ErrorKind::Invalid => (None, 0, Ok(no_robots())),
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
        let status = response.status();
        match status {
            200..=299 => {
                let body = response.body();
                let robots = if response.truncated() {
                    Robots::parse_truncated(body)
                } else {
                    Robots::parse(body)
                };
                let note = if robots.looks_like_html() {
                    Some("robots.txt is HTML: it has no rules".to_owned())
                } else if robots.truncated() {
                    Some("robots.txt is over-long: only its first part is obeyed".to_owned())
                } else {
                    None
                };
                let rules = robots.rules_for(&self.product_token);
                let crawl_delay = robots.crawl_delay(&self.product_token);
                Ok(RobotsAnswer::Rules {
                    rules: Arc::new(OriginRules { rules, crawl_delay }),
                    body: if self.pages.is_some() {
                        body.into()
                    } else {
                        Arc::default()
                    },
                    sitemaps: self.sitemaps_of(request, robots.sitemaps()),
                    note,
                })
            }
            429 | 500..=599 => {
                let error = Error::new(ErrorKind::Http).with_status(status);
                let after = http::retry_after_fields(
                    response.header_all("retry-after"),
                    response.header_bytes("date"),
                    self.services.wall_now(),
                );
                Err(after.into_iter().fold(error, Error::with_retry_after))
            }
            _ if response.is_redirect() && request.hops().len() < ROBOTS_HOPS => {
                let target = response
                    .header_bytes("location")
                    .and_then(|raw| uri::resolve_location(request.url(), raw));
                Ok(match target {
                    Some(target) => {
                        let mut hops = request.hops().to_vec();
                        hops.push(Hop {
                            url: request.url().clone(),
                            status,
                        });
                        let next = Request::new(Method::Get, target)
                            .with_priority(request.priority())
                            .with_hops(hops);
                        RobotsAnswer::Redirected(Box::new(next))
                    }
                    None => no_robots(),
                })
            }
            // 4xx: there is none (RFC 9309 section 2.3.1.3). The same after
            // too many redirects (section 2.3.1.2).
            _ => Ok(RobotsAnswer::Rules {
                rules: Arc::default(),
                body: Arc::default(),
                sitemaps: self.sitemaps_of(request, &[]),
                note: None,
            }),
        }
    }

    /// The sitemaps of a seed's origin: those its robots.txt names, or the
    /// usual place.
    fn sitemaps_of(&self, request: &Request, named: &[String]) -> Vec<Candidate> {
        if !self.sitemaps
            || !self
                .seed_hosts
                .contains(&*uri::host_key(request.requested()))
        {
            return Vec::new();
        }
        let base = request.requested();
        let sitemap = |text: &str, referrer: Option<Arc<str>>| {
            let url = uri::resolve(base, text)?;
            let found = Request::new(Method::Get, url).with_referrer(referrer);
            Some(self.admit.sitemap(found))
        };
        if named.is_empty() {
            return sitemap("/sitemap.xml", None).into_iter().collect();
        }
        let referrer: Arc<str> = base.as_str().into();
        named
            .iter()
            .filter_map(|text| sitemap(text, Some(referrer.clone())))
            .collect()
    }
}

/// An origin without rules.
fn no_robots() -> RobotsAnswer {
    RobotsAnswer::Rules {
        rules: Arc::default(),
        body: Arc::default(),
        sitemaps: Vec::new(),
        note: None,
    }
}
