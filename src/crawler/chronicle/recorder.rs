//! [`Recorder`]: the chronicle of a run while it goes on. Workers and the
//! committer tell it what happened, outside the engine's lock and under its
//! own, which is held for a few hundred nanoseconds.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use url::Url;

use super::minute::Minute;
use super::run_note::{RunNote, millis};
use super::spans::{Span, Step};
use super::words::{Answer, EndWord, Wait};
use super::{Chronicle, Record};
use crate::admission::SkipReason;
use crate::crawler::finish::{Ending, Standing};
use crate::crawler::stats::Stats;
use crate::error::ErrorKind;
use crate::ledger::{Anchor, End};
use crate::uri;

/// An attempt that has ended.
#[derive(Debug, Clone, Copy)]
pub(in crate::crawler) struct Attempt<'a> {
    /// What was asked for.
    pub(in crate::crawler) url: &'a Url,
    /// When it ended.
    pub(in crate::crawler) ended: Instant,
    /// How long it took, the handler's time included.
    pub(in crate::crawler) took: Duration,
    /// The status of its answer.
    pub(in crate::crawler) status: Option<u16>,
    /// Decoded bytes of its body.
    pub(in crate::crawler) bytes: u64,
    /// The kind of its failure, if it failed.
    pub(in crate::crawler) error: Option<ErrorKind>,
    /// Whether the site said how long it wants to be left alone.
    pub(in crate::crawler) asked: bool,
    /// What went wrong.
    pub(in crate::crawler) message: &'a str,
    /// What came of it.
    pub(in crate::crawler) ending: &'a Ending,
    /// How its host stands since.
    pub(in crate::crawler) standing: Standing,
}

/// The chronicle of a run that goes on.
#[derive(Debug)]
pub(in crate::crawler) struct Recorder {
    anchor: Anchor,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    chronicle: Chronicle,
    minute: Minute,
    /// When it was last looked at how the run goes.
    sampled: u64,
    skipped: [u64; SkipReason::ALL.len()],
}

impl Recorder {
    /// Begins the chronicle of a run, on what earlier runs have left.
    #[must_use]
    pub(in crate::crawler) fn begin(
        before: Option<Chronicle>,
        mut run: RunNote,
        now: Anchor,
    ) -> Self {
        let origin = now
            .wall
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, millis);
        run.began = origin;
        let mut chronicle = before.unwrap_or_default();
        chronicle.begin(run, Record::new(origin));
        Recorder {
            anchor: now,
            inner: Mutex::new(Inner {
                chronicle,
                minute: Minute::default(),
                sampled: 0,
                skipped: [0; SkipReason::ALL.len()],
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing under the lock can panic half-way that would matter here.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Milliseconds since the run began.
    fn at(&self, instant: Instant) -> u64 {
        millis(instant.saturating_duration_since(self.anchor.instant))
    }

    /// Notes that a request has started.
    pub(in crate::crawler) fn started(&self, url: &Url, instant: Instant) {
        let at = self.at(instant);
        let mut inner = self.lock();
        let Inner {
            chronicle, minute, ..
        } = &mut *inner;
        let record = &mut chronicle.run;
        record.totals.starts += 1;
        record.timeline.at(at).starts += 1;
        let host = record.hosts.at(&uri::host_key(url));
        host.starts += 1;
        host.last = record.totals.starts;
        host.activity.add(at);
        record.busiest_minute = record.busiest_minute.max(minute.add(at / 1000));
    }

    /// Notes that an attempt has ended.
    pub(in crate::crawler) fn ended(&self, attempt: &Attempt<'_>) {
        let at = self.at(attempt.ended);
        let mut inner = self.lock();
        let took = millis(attempt.took);
        let record = &mut inner.chronicle.run;
        let retried = matches!(attempt.ending, Ending::Retrying { .. });
        let answer = Answer::of(attempt.status, attempt.error.is_some());
        let end = match attempt.ending {
            Ending::Ended(End::Done) => Some(EndWord::Done),
            Ending::Ended(End::Unchanged) => Some(EndWord::Unchanged),
            Ending::Ended(End::Redirected) => Some(EndWord::Redirected),
            Ending::Ended(End::Failed(_)) => Some(EndWord::Failed),
            _ => None,
        };
        for part in [&mut record.totals, record.timeline.at(at)] {
            part.answers.add(answer, 1);
            part.retried += u64::from(retried);
            part.bytes += attempt.bytes;
            part.latencies.add(attempt.took);
            part.slowest = part.slowest.max(took);
            if let Some(kind) = attempt.error {
                part.errors.add(kind, 1);
            }
            if let Some(end) = end {
                part.ends.add(end, 1);
            }
            if let Ending::Ended(End::Failed(kind)) = attempt.ending {
                part.failed.add(*kind, 1);
            }
        }
        let from = at.saturating_sub(took);
        record.totals.in_flight += at - from;
        record
            .timeline
            .spread(from, at, |part, millis| part.in_flight += millis);
        if let Some(status) = attempt.status {
            record.count_status(status, 1);
        }
        record.slowest.add(attempt.url, took, attempt.status);
        if attempt.error.is_some() || retried {
            record
                .failing
                .add(attempt.url, attempt.error, attempt.status, attempt.message);
        }
        let host = record.hosts.at(&uri::host_key(attempt.url));
        host.answers.add(answer, 1);
        host.retried += u64::from(retried);
        host.bytes += attempt.bytes;
        host.latencies.add(attempt.took);
        host.slowest = host.slowest.max(took);
        if let Some(kind) = attempt.error {
            host.errors.add(kind, 1);
        }
        if let Some(end) = end {
            host.ends.add(end, 1);
        }
        let standing = &attempt.standing;
        host.parked |= standing.parked;
        let gap = millis(standing.gap);
        host.widest_gap = host.widest_gap.max(gap);
        host.gaps.add(Step { from: at, gap });
        let pause = |until: Option<Instant>| {
            let to = self.at(until?);
            (to > at).then_some(Span {
                from: at,
                to,
                asked: attempt.asked,
            })
        };
        if let Some(span) = pause(standing.paused_until) {
            host.pauses.add(span);
            host.paused = host.pauses.sum();
        }
        if let Some(span) = pause(standing.crawl_paused_until) {
            record.pauses.add(span);
        }
    }

    /// Notes how the run goes; what is told about a level holds since the last
    /// look.
    pub(in crate::crawler) fn sample(&self, now: Instant, stats: &Stats) {
        let mut inner = self.lock();
        self.look(&mut inner, now, stats);
    }

    fn look(&self, inner: &mut Inner, now: Instant, stats: &Stats) {
        let at = self.at(now);
        let record = &mut inner.chronicle.run;
        let wait = Wait::of(stats.waiting.as_ref());
        let cap = stats.cap as u64;
        let since = inner.sampled.min(at);
        let level = |part: &mut super::Part, millis: u64| {
            part.active += millis;
            part.cap += cap.saturating_mul(millis);
            part.queued = stats.queued;
            part.most_in_flight = part.most_in_flight.max(stats.in_flight);
            part.waits.add(wait, millis);
        };
        record.timeline.spread(since, at, level);
        level(&mut record.totals, at - since);
        for (held, reason) in inner.skipped.iter_mut().zip(SkipReason::ALL) {
            let count = stats.skipped_by_reason.get(&reason).copied().unwrap_or(0);
            if count > *held {
                let more = count - *held;
                record.totals.skipped.add(reason, more);
                record.timeline.at(at).skipped.add(reason, more);
            } else if count < *held {
                // A URL that was too deep was found nearer to a seed.
                record.totals.skipped.take(reason, *held - count);
                record.timeline.take_skips(reason, *held - count);
            }
            *held = count;
        }
        inner.sampled = at;
        if let Some(run) = inner.chronicle.runs.last_mut() {
            run.update(stats);
        }
    }

    /// Notes how the run ended.
    pub(in crate::crawler) fn finish(&self, now: Instant, stats: &Stats) {
        let mut inner = self.lock();
        self.look(&mut inner, now, stats);
        let at = self.at(now);
        inner.chronicle.run.hosts.each(|host| host.close(at));
        inner.chronicle.run.pauses.clip(at);
        if let Some(run) = inner.chronicle.runs.last_mut() {
            run.end(stats);
        }
    }

    /// The chronicle so far.
    #[must_use]
    pub(in crate::crawler) fn chronicle(&self) -> Chronicle {
        self.lock().chronicle.clone()
    }
}
