//! Every wait: that nothing could start (work conservation), that it is over
//! no later than something could, and that its reason is the true one.

use std::time::{Duration, Instant};

use canter::Tag;
use canter::crawler::{Engine, Poll, Waiting};

use super::hosts::{Group, Host, HostId, OriginId};
use super::{Item, Model, Place, Robots, Stop};

/// How many delayed things are looked through for one that could start. What
/// is delayed is rarely held back by anything else.
const LOOKED_THROUGH: usize = 100;

impl Model {
    /// Enters anew when something could start on a host.
    pub(super) fn touch(&mut self, id: HostId) {
        let opens = self.opens(&self.hosts[id], false);
        let host = &mut self.hosts[id];
        if host.opens != opens {
            if let Some(at) = host.opens {
                self.open.remove(&(at, id));
            }
            if let Some(at) = opens {
                self.open.insert((at, id));
            }
            host.opens = opens;
        }
    }

    pub(super) fn touch_tag(&mut self, tag: &Tag) {
        let has_tag = |host: &Host| host.groups.keys().any(|(_, of_group)| of_group == tag);
        let hosts: Vec<HostId> = (0..self.hosts.len())
            .filter(|id| has_tag(&self.hosts[*id]))
            .collect();
        for id in hosts {
            self.touch(id);
        }
    }

    /// When something that is queued for a host could start, all of the
    /// crawl's own limits apart; with `crowded` also those in flight.
    fn opens(&self, host: &Host, crowded: bool) -> Option<Instant> {
        if host.parked || !crowded && host.in_flight >= host.limit {
            return None;
        }
        let rested = host.rested().unwrap_or(self.base);
        let asked = (!host.robots.is_empty()).then_some(rested);
        let groups = host.groups.iter().filter_map(|((origin, tag), group)| {
            let at = self
                .tags
                .get(tag)
                .and_then(|tag| tag.paused)
                .map_or(rested, |p| p.max(rested));
            self.could_start(host, *origin, *group, at).then_some(at)
        });
        groups.chain(asked).min()
    }

    /// Whether one of a group could start, or its robots.txt be asked for.
    fn could_start(&self, host: &Host, origin: OriginId, group: Group, at: Instant) -> bool {
        let full = self
            .policy()
            .max_pages_per_host
            .is_some_and(|max| host.pages >= max);
        let (mut pages, mut maps) = (
            group.pages + group.private_pages,
            group.maps + group.private_maps,
        );
        // Behind pages of a host that has had enough, sitemaps need not go, nor is
        // its robots.txt asked for.
        let goes = |pages, maps| pages > 0 && !full || pages == 0 && maps > 0;
        if self.plan.obey_robots {
            match &self.origins[origin].robots {
                Robots::Unknown => return goes(pages, maps),
                Robots::Asked(_) | Robots::GivenUp => return false,
                Robots::Known { until, used, .. } if at >= *until && *used => {
                    return goes(pages, maps);
                }
                Robots::Known { rules, .. } => {
                    let allowed = |private| u32::from(!rules.forbid(private));
                    pages = group.pages * allowed(false) + group.private_pages * allowed(true);
                    maps = group.maps * allowed(false) + group.private_maps * allowed(true);
                }
            }
        }
        goes(pages, maps)
    }

    /// When something in its delay could start.
    fn resumes(&self, due: Instant, item: Item) -> Option<Instant> {
        let (host, tag) = match item {
            Item::Url(id) => {
                let record = &self.records[id];
                let mut group = Group::default();
                *group.count(record.map, record.private) = 1;
                let host = &self.hosts[record.host];
                if !self.could_start(host, record.origin, group, due) {
                    return None;
                }
                (host, self.tags.get(&record.tag).and_then(|tag| tag.paused))
            }
            Item::Robots(origin) => match &self.origins[origin].robots {
                Robots::Asked(asked) => (&self.hosts[asked.host], None),
                _ => return None,
            },
        };
        let free = !host.parked && host.in_flight < host.limit;
        free.then(|| {
            due.max(host.rested().unwrap_or(due))
                .max(tag.unwrap_or(due))
        })
    }

    /// When cap, rate and pause of the crawl let something start, unless
    /// something ends before; never for the cap.
    fn global(&self, now: Instant) -> Option<Instant> {
        let mut at = self
            .bucket
            .next(now)
            .max(self.crawl_pause.unwrap_or(now))
            .max(now);
        if self.flights.len() >= self.cap.at(now) {
            at = at.max(self.cap.rises(now)?);
        }
        Some(at)
    }

    /// When the next start is possible, if nothing ends before.
    pub(super) fn next_start(&self, now: Instant) -> Option<Instant> {
        let global = self.global(now)?;
        let ready = self.open.first().map(|(at, _)| *at);
        let delayed = self
            .delayed
            .iter()
            .take(LOOKED_THROUGH)
            .take_while(|(due, _)| ready.is_none_or(|ready| *due < ready))
            .filter_map(|(due, item)| self.resumes(*due, *item))
            .min();
        let local = match (ready, delayed) {
            (Some(ready), Some(delayed)) => ready.min(delayed),
            (ready, delayed) => ready.or(delayed)?,
        };
        Some(local.max(global))
    }

    pub(super) fn check_wait(&mut self, now: Instant, poll: &Poll, engine: &Engine) {
        self.promote(now);
        let waiting = engine.stats(now).waiting.expect("a wait has a reason");
        if waiting == Waiting::Stopping && self.stopped.is_none() {
            // A robots.txt that no URL waits for any more may be queued, which
            // the model does not know.
            let max = self.policy().max_requests;
            if max.is_some_and(|max| self.counts.requests >= max) {
                self.stop(now, Stop::Requests);
            }
        }
        let until = match poll {
            Poll::Wait(until, _) => Some(*until),
            _ => None,
        };
        if let Some((since, why)) = self.stopped {
            let grace = since + self.policy().shutdown_grace;
            if waiting != Waiting::Stopping || until != Some(grace) {
                violated!(
                    "stop",
                    "{waiting} until {:?} after {why:?}",
                    self.show(until)
                );
            }
            return;
        }
        self.check_work(now, until, &waiting);
        self.check_reason(now, until, &waiting);
    }

    /// Work conservation: nothing could start before the wait is over.
    fn check_work(&self, now: Instant, until: Option<Instant>, waiting: &Waiting) {
        let possible = self.next_start(now);
        if let Some(start) = possible
            && until.is_none_or(|until| until > start)
        {
            let (start, until) = (self.show(Some(start)), self.show(until));
            violated!(
                "work",
                "one could start at {start:?}, and the wait ({waiting}) is until {until:?}"
            );
        }
        let global = self.global(now);
        if let (Some(until), Some(global)) = (until, global)
            && until < global
            && Some(until) != self.deadline
        {
            violated!(
                "wake",
                "at {:?} in vain ({waiting})",
                self.show(Some(until))
            );
        }
    }

    fn show(&self, at: Option<Instant>) -> Option<Duration> {
        at.map(|at| at - self.base)
    }

    fn check_reason(&self, now: Instant, until: Option<Instant>, waiting: &Waiting) {
        let host = |name: &str| self.by_host.get(name).map(|id| &self.hosts[*id]);
        let queued = |name: &str| host(name).filter(|host| self.has_work(host));
        // Until when the reason holds, if it does; `None` within for a wait
        // until something ends.
        let holds: Option<Option<Instant>> = match waiting {
            Waiting::Rate => Some(Some(self.bucket.next(now))),
            Waiting::CrawlPause => self.crawl_pause.map(Some),
            Waiting::WarmUp => (self.flights.len() >= self.cap.at(now))
                .then(|| self.cap.rises(now))
                .flatten()
                .map(Some),
            Waiting::Cap => (self.flights.len() >= self.cap.at(now)
                && self.cap.rises(now).is_none())
            .then_some(None),
            Waiting::HostGap(name) => queued(name)
                .filter(|host| host.gap_over() >= host.paused)
                .and_then(Host::gap_over)
                .map(Some),
            Waiting::HostPause(name) => queued(name)
                .filter(|host| host.paused >= host.gap_over())
                .and_then(|host| host.paused)
                .map(Some),
            Waiting::TagPause(tag) => {
                let has = |host: &Host| host.groups.keys().any(|(_, of_group)| of_group == tag);
                let paused = self.tags.get(tag).and_then(|tag| tag.paused);
                paused.filter(|_| self.hosts.iter().any(has)).map(Some)
            }
            Waiting::RetryDelay(name) => self
                .delayed
                .first()
                .filter(|(due, _)| {
                    self.delayed
                        .iter()
                        .any(|(d, item)| d == due && self.is_on(*item, name))
                })
                .map(|(due, _)| Some(*due)),
            Waiting::HostLimit => self
                .hosts
                .iter()
                .any(|h| self.is_crowded(h))
                .then_some(None),
            Waiting::Robots => self.waits_for_robots().then_some(None),
            Waiting::NothingQueued => {
                let crowded = |h: &Host| h.in_flight >= h.limit && self.opens(h, true).is_some();
                let waits = self.waits_for_robots() || self.hosts.iter().any(crowded);
                (!waits && !self.flights.is_empty()).then_some(None)
            }
            _ => None,
        };
        let Some(holds) = holds else {
            violated!("reason", "waits for {waiting}, which holds nothing back");
        };
        let expected = match (holds, self.deadline) {
            (Some(at), Some(deadline)) => Some(at.min(deadline)),
            (holds, deadline) => holds.or(deadline),
        };
        if until != expected {
            let (until, expected) = (self.show(until), self.show(expected));
            violated!(
                "reason",
                "waits until {until:?} for {waiting}, which holds until {expected:?}"
            );
        }
    }

    /// Whether anything waits for its turn on a host: a URL, or a robots.txt
    /// that may have been queued for URLs that were given up since.
    fn has_work(&self, host: &Host) -> bool {
        let unknown = |robots: &Robots| match robots {
            Robots::Unknown => true,
            Robots::Known { used, .. } => *used,
            _ => false,
        };
        let leftover = |origin: &super::Origin| {
            self.hosts[origin.host].name == host.name && unknown(&origin.robots)
        };
        host.has_queued() || self.plan.obey_robots && self.origins.iter().any(leftover)
    }

    fn is_crowded(&self, host: &Host) -> bool {
        host.in_flight >= host.limit && !host.parked && self.has_work(host)
    }

    fn is_on(&self, item: Item, name: &str) -> bool {
        let host = match item {
            Item::Url(id) => self.records[id].host,
            Item::Robots(origin) => match &self.origins[origin].robots {
                Robots::Asked(asked) => asked.host,
                _ => return false,
            },
        };
        self.hosts[host].name == name
    }

    /// Whether a robots.txt is in flight that a queued URL waits for.
    fn waits_for_robots(&self) -> bool {
        self.origins.iter().enumerate().any(|(id, origin)| {
            let flying =
                matches!(&origin.robots, Robots::Asked(asked) if asked.place == Place::Flying);
            flying
                && self.hosts[origin.host]
                    .groups
                    .keys()
                    .any(|(of, _)| *of == id)
        })
    }
}
