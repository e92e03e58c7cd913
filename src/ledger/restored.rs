//! [`Restored`]: what earlier runs have left. Keeps: requests stay in the file
//! until they are asked for, so that a state of millions of URLs needs little
//! memory.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use url::Url;

use super::anchor::{Anchor, wall_of_millis};
use super::blocks::{Sharing, drive};
use super::change::{End, Queued};
use super::counts::Counts;
use super::fault::Fault;
use super::model::{Model, ROBOTS_LIFETIME, Wait};
use super::options::Totals;
use super::pages::Pages;
use super::parse;
use super::table::{Entry, REJUDGE, REQUEST, THIS_PASS, Table};
use super::waiting::{Offer, Pending, PlainPending};
use super::whole::{self, Plain};
use crate::admission::SkipReason;
use crate::error::Result;
use crate::request::Purpose;

/// The rules of an origin that still hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownRobots {
    /// The origin, such as `http://example.com:8080`.
    pub origin: String,
    /// The bytes of the file; empty when the origin has none.
    pub body: Vec<u8>,
    /// How long ago they were read: less than 24 hours.
    pub age: Duration,
}

/// A host that is still to be left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownPause {
    /// The host's name.
    pub host: String,
    /// When the pause is over.
    pub until: Instant,
}

#[derive(Debug)]
struct Source {
    file: File,
    path: PathBuf,
    length: u64,
}

/// What earlier runs have left, as this run begins: URLs that failed wait
/// again, and if the last pass was complete, a new one has begun.
///
/// Take over what is needed and drop it: it holds a few dozen bytes for each
/// URL.
#[derive(Debug)]
#[non_exhaustive]
pub struct Restored {
    source: Option<Source>,
    table: Table,
    repeated: HashMap<u64, u64>,
    not_before: HashMap<u64, Wait>,
    due: u32,
    now: Anchor,
    pages: Arc<Pages>,
    /// Whether there was a state to go on with.
    pub resumed: bool,
    /// The number of this run; 1 for the first.
    pub run: u64,
    /// The number of the pass; 1 for the first.
    pub pass: u64,
    /// Whether the pass begins with this run, as the one before is complete.
    pub new_pass: bool,
    /// Whether other settings hold than before: URLs that wait may be out of
    /// the new scope.
    pub settings_changed: bool,
    /// Totals of all runs before this one.
    pub totals: Totals,
    /// How the URLs stand now.
    pub counts: Counts,
    /// The rules that still hold.
    pub robots: Vec<KnownRobots>,
    /// The pauses that are not over.
    pub pauses: Vec<KnownPause>,
    /// When something was last committed, to the second; `None` if never.
    pub last_commit: Option<SystemTime>,
    /// URLs that redirects from seeds led to.
    pub landed: Vec<Url>,
    /// What people should be told; it has been logged, too.
    pub notes: Vec<String>,
}

/// What is special about this run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Beginning {
    pub(super) new_pass: bool,
    pub(super) settings_changed: bool,
}

impl Restored {
    /// Nothing: the run starts from its seeds.
    pub(super) fn nothing(now: Anchor) -> Self {
        Restored {
            source: None,
            table: Table::default(),
            repeated: HashMap::new(),
            not_before: HashMap::new(),
            due: 0,
            now,
            pages: Arc::default(),
            resumed: false,
            run: 1,
            pass: 1,
            new_pass: false,
            settings_changed: false,
            totals: Totals::default(),
            counts: Counts::default(),
            robots: Vec::new(),
            pauses: Vec::new(),
            last_commit: None,
            landed: Vec::new(),
            notes: Vec::new(),
        }
    }

    pub(super) fn new(
        model: Model,
        (file, path, length): (File, PathBuf, u64),
        beginning: Beginning,
        now: Anchor,
    ) -> Self {
        let counts = Counts::of(&model.table, model.due);
        let index = model
            .table
            .entries()
            .iter()
            .filter(|entry| entry.page != 0)
            .filter(|entry| entry.standing.is_pending() || entry.is_left_to_redirects(model.due))
            .map(|entry| (entry.fingerprint, entry.page))
            .collect();
        let mut robots: Vec<KnownRobots> = model
            .robots
            .into_iter()
            .filter_map(|(origin, rules)| {
                let age = now.millis().saturating_sub(rules.at);
                (age < ROBOTS_LIFETIME).then(|| KnownRobots {
                    origin,
                    body: rules.body,
                    age: Duration::from_millis(age),
                })
            })
            .collect();
        robots.sort_unstable_by(|one, other| one.origin.cmp(&other.origin));
        let mut pauses: Vec<KnownPause> = model
            .pauses
            .into_iter()
            .filter_map(|(host, wait)| {
                Some(KnownPause {
                    host,
                    until: instant_of(wait, &now)?,
                })
            })
            .collect();
        pauses.sort_unstable_by(|one, other| one.host.cmp(&other.host));
        Restored {
            source: Some(Source { file, path, length }),
            table: model.table,
            repeated: model.repeated,
            not_before: model.not_before,
            due: model.due,
            now,
            pages: Arc::new(Pages::new(index, model.shelf)),
            resumed: true,
            run: model.run,
            pass: model.pass,
            new_pass: beginning.new_pass,
            settings_changed: beginning.settings_changed,
            totals: model.checkpoint.totals,
            counts,
            robots,
            pauses,
            last_commit: Some(wall_of_millis(model.at.saturating_mul(1000))),
            landed: model
                .landed
                .iter()
                .filter_map(|url| Url::parse(url).ok())
                .collect(),
            notes: Vec::new(),
        }
    }

    /// Remembers the pages that are not due, too, since a sitemap may say that one
    /// has changed; but none that was asked for in this pass. To be called before [`pages`](Self::pages) is.
    pub fn remember_all(&mut self) {
        let rest = self
            .table
            .entries()
            .iter()
            .filter(|entry| {
                entry.page != 0
                    && matches!(entry.standing.end(), Some(End::Done | End::Unchanged))
                    && !entry.has(THIS_PASS)
                    && !entry.is_left_to_redirects(self.due)
            })
            .map(|entry| (entry.fingerprint, entry.page, entry.ended_at))
            .collect();
        if let Some(pages) = Arc::get_mut(&mut self.pages) {
            pages.add_rest(rest);
        }
    }

    /// What is remembered of the pages that are due in this run.
    #[must_use]
    pub fn pages(&self) -> Arc<Pages> {
        Arc::clone(&self.pages)
    }

    /// Every URL's fingerprint and how it ended, `None` if it waits. Left out is
    /// what was done in an earlier pass, is due, and to which only redirects have
    /// led: it is asked for when one does again.
    pub fn known(&self) -> impl Iterator<Item = (u64, Option<End>)> + '_ {
        self.table
            .entries()
            .iter()
            .filter(|entry| !entry.is_left_to_redirects(self.due))
            .map(|entry| (entry.fingerprint, entry.standing.end()))
    }

    /// Fingerprints of the URLs to which only redirects have led.
    pub fn only_led_to(&self) -> impl Iterator<Item = u64> + '_ {
        let entries = self.table.entries().iter();
        entries
            .filter(|entry| entry.is_only_led_to())
            .map(|entry| entry.fingerprint)
    }

    /// Hands over every request that waits, in the order in which they were
    /// first found; but those that failed in this pass come last, or runs that
    /// are cut short would ask for them again and again, and for nothing else.
    ///
    /// # Errors
    /// Of kind [`State`](crate::ErrorKind::State) when the state cannot be read again.
    pub fn each_pending(&self, mut take: impl FnMut(Pending)) -> Result<()> {
        self.each_waiting(false, |offer| match offer {
            Offer::Plain(_) => false,
            Offer::Whole(pending) => {
                take(pending);
                true
            }
        })
    }

    /// As [`each_pending`](Self::each_pending), but hands over a plain request
    /// without making one of it: that is most of the time that a large state
    /// takes. When `take` answers `false` to that, it gets the same one whole.
    /// With `reversed` what failed in this pass comes first: for a queue whose
    /// last one is the next.
    pub(crate) fn each_waiting(
        &self,
        reversed: bool,
        mut take: impl FnMut(Offer<'_>) -> bool,
    ) -> Result<()> {
        let entries = self.table.entries();
        if !entries.iter().any(Entry::returns) {
            return self.each_waiting_of(|entry| entry.standing.is_pending(), &mut take);
        }
        for returning in [reversed, !reversed] {
            let which = |entry: &Entry| entry.standing.is_pending() && entry.returns() == returning;
            self.each_waiting_of(which, &mut take)?;
        }
        Ok(())
    }

    fn each_waiting_of(
        &self,
        which: impl Fn(&Entry) -> bool + Sync,
        mut take: impl FnMut(Offer<'_>) -> bool,
    ) -> Result<()> {
        enum Item {
            Plain(Plain),
            Whole(Box<Queued>),
        }
        let mut unreadable = None;
        self.each(
            which,
            |line| {
                let queued = if parse::key(line) == b"q" {
                    if let Some(plain) = whole::plain(line) {
                        return Ok(Some(Item::Plain(plain)));
                    }
                    Some(whole::queued(line)?)
                } else {
                    whole::ended(line)?.queued()?
                };
                Ok(queued.map(|queued| Item::Whole(Box::new(queued))))
            },
            |entry, referrer, item| {
                let waits =
                    !self.not_before.is_empty() && self.not_before.contains_key(&entry.fingerprint);
                let queued = match item {
                    Item::Whole(queued) => *queued,
                    Item::Plain(plain) => {
                        let offer = PlainPending {
                            fingerprint: entry.fingerprint,
                            url: &plain.url,
                            depth: plain.depth,
                            seed: plain.seed,
                            referrer,
                        };
                        if !waits && !entry.has(REJUDGE) && take(Offer::Plain(offer)) {
                            return;
                        }
                        match plain.request() {
                            Ok(request) => Queued {
                                fingerprint: entry.fingerprint,
                                request,
                                seed: plain.seed,
                                purpose: Purpose::Page,
                            },
                            Err(why) => {
                                unreadable.get_or_insert(why);
                                return;
                            }
                        }
                    }
                };
                take(Offer::Whole(self.pending(entry, referrer, queued)));
            },
        )?;
        match (unreadable, &self.source) {
            (Some(why), Some(source)) => {
                Err(Fault::Damaged(why).state("cannot understand the state", &source.path))
            }
            _ => Ok(()),
        }
    }

    /// A request that waits, as it stands now.
    fn pending(&self, entry: &Entry, referrer: Option<&Arc<str>>, queued: Queued) -> Pending {
        let wait = self.not_before.get(&entry.fingerprint);
        let request = queued
            .request
            .with_attempt(u32::from(entry.attempt))
            .with_referrer(referrer.cloned());
        Pending {
            queued: Queued { request, ..queued },
            not_before: wait.and_then(|wait| instant_of(*wait, &self.now)),
            rejudge: entry.has(REJUDGE),
        }
    }

    /// Hands over every request that was skipped for a reason.
    ///
    /// # Errors
    /// As [`each_pending`](Self::each_pending).
    pub fn each_skipped(&self, reason: SkipReason, mut take: impl FnMut(Queued)) -> Result<()> {
        self.each_request(
            |entry| entry.standing.end() == Some(End::Skipped(reason)),
            |_, queued| take(queued),
        )
    }

    /// Hands over the URL of everything that was ever found, with its
    /// fingerprint, and how it ended; `None` if it waits.
    ///
    /// # Errors
    /// As [`each_pending`](Self::each_pending).
    pub fn each_url(&self, mut take: impl FnMut(u64, &str, Option<End>)) -> Result<()> {
        self.each(
            |_| true,
            |line| match parse::key(line) {
                b"q" => parse::url(line).map(Some),
                _ => whole::ended(line)
                    .map(|ended| Some(ended.u.into_owned()).filter(|url| !url.is_empty())),
            },
            |entry, _, url| take(entry.fingerprint, &url, entry.standing.end()),
        )
    }

    fn each_request(
        &self,
        which: impl Fn(&Entry) -> bool + Sync,
        mut take: impl FnMut(&Entry, Queued),
    ) -> Result<()> {
        self.each(
            which,
            |line| match parse::key(line) {
                b"q" => whole::queued(line).map(|queued| Some(Box::new(queued))),
                _ => Ok(whole::ended(line)?.queued()?.map(Box::new)),
            },
            |entry, referrer, queued| {
                let Queued {
                    fingerprint,
                    request,
                    seed,
                    purpose,
                } = *queued;
                let queued = Queued {
                    fingerprint,
                    request: request.with_referrer(referrer.cloned()),
                    seed,
                    purpose,
                };
                take(entry, queued);
            },
        )
    }

    /// Goes through the lines on which the requests of some URLs stand: the
    /// last `q` of each, or an `e` that names the URL if there is no `q`.
    fn each<T: Send>(
        &self,
        which: impl Fn(&Entry) -> bool + Sync,
        read: impl Fn(&[u8]) -> Result<Option<T>, String> + Sync,
        mut take: impl FnMut(&Entry, Option<&Arc<str>>, T),
    ) -> Result<()> {
        enum Item<T> {
            Referrer(String),
            Request(usize, T),
            End(usize, T),
        }
        let Some(source) = &self.source else {
            return Ok(());
        };
        let place_of = |line: &[u8]| {
            let place = self.table.find(parse::fingerprint(line)?)?;
            which(&self.table.entries()[place]).then_some(place)
        };
        let mut referrer: Option<Arc<str>> = None;
        let mut ended: HashSet<usize> = HashSet::new();
        drive(
            &source.file,
            &source.path,
            source.length,
            Sharing::for_length(source.length),
            |at, line| {
                Ok(match parse::key(line) {
                    b"r" => Some(Item::Referrer(whole::referrer(line)?)),
                    b"q" => match place_of(line) {
                        Some(place) if self.is_last_request(place, at) => {
                            read(line)?.map(|item| Item::Request(place, item))
                        }
                        _ => None,
                    },
                    b"e" => match place_of(line) {
                        Some(place) if !self.table.entries()[place].has(REQUEST) => {
                            read(line)?.map(|item| Item::End(place, item))
                        }
                        _ => None,
                    },
                    _ => None,
                })
            },
            |_, _, item| match item {
                Item::Referrer(url) => {
                    referrer = (!url.is_empty()).then(|| Arc::from(url));
                }
                Item::Request(place, item) => {
                    take(&self.table.entries()[place], referrer.as_ref(), item);
                }
                Item::End(place, item) => {
                    if ended.insert(place) {
                        take(&self.table.entries()[place], None, item);
                    }
                }
            },
        )
    }

    fn is_last_request(&self, place: usize, at: u64) -> bool {
        self.repeated.is_empty()
            || self
                .repeated
                .get(&self.table.entries()[place].fingerprint)
                .is_none_or(|last| *last == at)
    }
}

fn instant_of(wait: Wait, now: &Anchor) -> Option<Instant> {
    let left = wait.left(now)?;
    now.instant.checked_add(Duration::from_millis(left))
}
