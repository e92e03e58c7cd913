//! Every start: whether rate, cap, pauses, gaps, limits, robots.txt, scope and
//! bounds allow it.

use std::time::Instant;

use canter::Request;
use canter::crawler::Job;
use canter::frontier::Kind;

use super::hosts::OriginId;
use super::urls::{State, UrlId};
use super::{Asked, Flight, Item, Model, Place, Robots};

impl Model {
    pub(super) fn start(&mut self, at: Instant, job: &Job, request: &Request) {
        self.heed_bounds(at);
        self.promote(at);
        let url = request.url();
        if let Some((since, why)) = self.stopped {
            violated!(
                "stop",
                "{url} starts {:?} after the stop ({why:?})",
                at - since
            );
        }
        let cap = self.cap.at(at);
        if self.flights.len() >= cap {
            violated!(
                "cap",
                "{} in flight at a cap of {cap}",
                self.flights.len() + 1
            );
        }
        if let Some(until) = self.crawl_pause.filter(|until| *until > at) {
            violated!("crawl pause", "{url} starts {:?} too early", until - at);
        }
        if self
            .policy()
            .max_requests
            .is_some_and(|max| self.counts.requests >= max)
        {
            violated!("max requests", "{url} is one request too many");
        }
        self.bucket.take(at);
        let host = self.host_of(url.host_str().unwrap_or_default());
        self.hosts[host].start(at);
        let item = match job.kind() {
            Kind::Robots { .. } => Item::Robots(self.start_robots(at, request)),
            Kind::Page | Kind::Sitemap => Item::Url(self.start_url(at, job, request)),
        };
        self.flights.insert(
            job.id,
            Flight {
                started: at,
                host,
                item,
            },
        );
        self.counts.requests += 1;
        self.cap.started(self.flights.len());
        self.touch(host);
    }

    fn start_url(&mut self, at: Instant, job: &Job, request: &Request) -> UrlId {
        let url = request.url().as_str();
        let Some(&id) = self.by_url.get(url) else {
            violated!("conservation", "{url} starts and was never found");
        };
        let record = &self.records[id];
        if record.state != State::Queued {
            violated!(
                "conservation",
                "{url} starts while it is {:?}",
                record.state
            );
        }
        if request.attempt() != record.attempt {
            violated!(
                "retries",
                "{url}: attempt {}, not {}",
                request.attempt(),
                record.attempt
            );
        }
        if record.map != (job.kind() == Kind::Sitemap) || record.tag != job.tag {
            violated!(
                "conservation",
                "{url} starts as {:?} with tag {}",
                job.kind(),
                job.tag
            );
        }
        let tag = &self.tags[&record.tag];
        if tag.aborted {
            violated!(
                "tag",
                "{url} starts with tag {}, which was given up",
                record.tag
            );
        }
        if let Some(until) = tag.paused.filter(|until| *until > at) {
            violated!("tag", "{url} starts {:?} too early for its tag", until - at);
        }
        let (host, origin, private, map) = (record.host, record.origin, record.private, record.map);
        if self.plan.obey_robots {
            match &mut self.origins[origin].robots {
                Robots::Known { rules, until, used } => {
                    if rules.forbid(private) {
                        violated!("robots", "{url} is forbidden");
                    }
                    if *until <= at && *used {
                        violated!("robots", "{url} starts by rules that are too old");
                    }
                    *used = true;
                }
                other => violated!("robots", "{url} starts while its robots.txt is {other:?}"),
            }
        }
        let host = &mut self.hosts[host];
        if !map {
            if self
                .plan
                .policy
                .max_pages_per_host
                .is_some_and(|max| host.pages >= max)
            {
                violated!("pages per host", "{url} is one page too many");
            }
            host.pages += 1;
        }
        self.leave(id, State::Flying);
        self.counts.queued -= 1;
        id
    }

    fn start_robots(&mut self, at: Instant, request: &Request) -> OriginId {
        let url = request.url().as_str();
        if !self.plan.obey_robots {
            violated!("robots", "{url} is asked for and not obeyed");
        }
        let origin = self.origin_of(request.requested());
        let host = self.host_of(request.url().host_str().unwrap_or_default());
        let record = &mut self.origins[origin];
        let attempt = request.attempt();
        match &mut record.robots {
            Robots::Asked(asked) => {
                if asked.place != Place::Queued {
                    violated!("robots once", "{url} starts while it is {:?}", asked.place);
                }
                if (asked.url.as_str(), asked.attempt) != (url, attempt) {
                    violated!("retries", "{url} starts, attempt {attempt}, for {asked:?}");
                }
                asked.place = Place::Flying;
                self.hosts[host].robots.remove(&origin);
            }
            state @ (Robots::Unknown | Robots::Known { .. }) => {
                let fresh =
                    matches!(state, Robots::Known { until, used, .. } if *until > at || !*used);
                if fresh || attempt != 1 || url != format!("{}/robots.txt", record.name) {
                    violated!(
                        "robots once",
                        "{url} starts, attempt {attempt}, while {state:?}"
                    );
                }
                let url = url.to_owned();
                *state = Robots::Asked(Asked {
                    url,
                    host,
                    attempt,
                    place: Place::Flying,
                });
            }
            Robots::GivenUp => violated!("robots once", "{url} was given up in this run"),
        }
        self.touch(self.origins[origin].host);
        origin
    }
}
