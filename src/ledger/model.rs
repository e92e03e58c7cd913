//! [`Model`]: the crawl as its state tells it. Keeps: it is the fold of the
//! file's lines and of nothing else, so that what a run believes is what the
//! next one will read.

use std::collections::HashMap;

use super::anchor::Anchor;
use super::change::End;
use super::checkpoint::Checkpoint;
use super::output::Marks;
use super::pages::{Shelf, stamp};
use super::parse::{Event, Memory, Rare};
use super::table::{
    ENDED, Entry, LED_TO, NAMED, REJUDGE, REQUEST, SEED, SITEMAP, Standing, THIS_PASS, Table,
    is_judged_each_pass,
};
use crate::admission::SkipReason;

/// How long the rules of an origin hold, in milliseconds (RFC 9309 section 2.4).
pub(super) const ROBOTS_LIFETIME: u64 = 24 * 3600 * 1000;

/// The rules of an origin.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) at: u64,
    pub(super) body: Vec<u8>,
    pub(super) line: u64,
}

/// A time that was to come when it was written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wait {
    /// Milliseconds since 1970.
    pub(super) until: u64,
    /// When it was written, in milliseconds since 1970.
    pub(super) written: u64,
    pub(super) line: u64,
}

impl Wait {
    /// The milliseconds that are left, if any. A clock that was set back in
    /// the meantime does not make them more than they were.
    pub(super) fn left(&self, now: &Anchor) -> Option<u64> {
        let at_most = self.until.saturating_sub(self.written);
        let left = self.until.saturating_sub(now.millis()).min(at_most);
        (left > 0).then_some(left)
    }
}

/// Where the lines that count for a URL begin.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Trace {
    /// The line that names the URL: its request, or for want of one an end.
    pub(super) request: u64,
    pub(super) end: u64,
    pub(super) memory: u64,
}

impl Trace {
    fn end(&mut self, line: u64, names: bool, memory: &Memory) {
        self.end = line;
        if names {
            self.request = line;
        }
        if !matches!(memory, Memory::Nothing) {
            self.memory = line;
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) table: Table,
    pub(super) shelf: Shelf,
    /// When URLs that wait for a time may start.
    pub(super) not_before: HashMap<u64, Wait>,
    /// The last line of a request of which there are several.
    pub(super) repeated: HashMap<u64, u64>,
    /// Places of the URLs that failed since the last run began.
    failed: Vec<u32>,
    pub(super) robots: HashMap<String, Rules>,
    pub(super) pauses: HashMap<String, Wait>,
    /// URLs that redirects from seeds led to.
    pub(super) landed: Vec<String>,
    pub(super) label: String,
    pub(super) settings: String,
    /// In the order of the file; some perhaps twice.
    pub(super) seeds: Vec<u64>,
    pub(super) files: Marks,
    pub(super) run: u64,
    pub(super) pass: u64,
    /// The second by which a page must have ended that this pass asks for again.
    pub(super) due: u32,
    /// The line with which the pass began; `None` in the first one.
    pub(super) pass_line: Option<u64>,
    pub(super) finished: bool,
    pub(super) checkpoint: Checkpoint,
    /// Seconds since 1970 of the lines at hand.
    pub(super) at: u64,
    /// Bytes of lines that later ones have overtaken, or that only say how
    /// the file came about.
    pub(super) history: u64,
    /// By place in the table; empty unless it is wanted.
    pub(super) traces: Vec<Trace>,
    pub(super) traced: bool,
}

impl Model {
    /// A model that remembers where the lines that count begin.
    pub(super) fn traced() -> Self {
        Model {
            traced: true,
            ..Model::default()
        }
    }

    /// Takes in the event of the line that begins at `line`.
    pub(super) fn apply(&mut self, line: u64, length: u32, event: Event) {
        match event {
            Event::At(seconds) => self.at = seconds,
            Event::Queued {
                fingerprint,
                attempt,
                seed,
                sitemap,
                led_to,
                refused,
            } => {
                let place = self.request(line, length, fingerprint);
                let entry = self.table.at(place);
                entry.set(if led_to { LED_TO } else { NAMED }, true);
                entry.set(THIS_PASS, refused.is_some());
                entry.set(SEED, seed);
                entry.set(SITEMAP, sitemap);
                entry.set(REJUDGE, false);
                entry.attempt = u16::try_from(attempt).unwrap_or(u16::MAX);
                entry.standing = match refused {
                    Some(reason) => Standing::of(End::Skipped(reason)),
                    None => Standing::PENDING,
                };
            }
            Event::Named(fingerprint) => {
                if let Some(place) = self.table.find(fingerprint) {
                    self.table.at(place).set(NAMED, true);
                }
            }
            Event::Ended {
                fingerprint,
                end,
                attempts,
                named,
                memory,
            } => {
                let place = self.place_of(fingerprint);
                if self.traced {
                    let has_request = self.table.at(place).has(REQUEST);
                    self.traces[place].end(line, named && !has_request, &memory);
                }
                self.ended(place, length, end, attempts, memory);
            }
            Event::Again {
                fingerprint,
                attempt,
                not_before,
                rejudge,
            } => {
                self.history += u64::from(length);
                let Some(place) = self.table.find(fingerprint) else {
                    return;
                };
                let entry = self.table.at(place);
                entry.standing = Standing::PENDING;
                entry.set(REJUDGE, rejudge);
                entry.attempt = u16::try_from(attempt).unwrap_or(u16::MAX);
                if not_before == 0 {
                    self.not_before.remove(&fingerprint);
                } else {
                    let wait = self.wait(not_before, line);
                    self.not_before.insert(fingerprint, wait);
                }
            }
            Event::Rare(rare) => self.rare(line, length, *rare),
        }
    }

    fn wait(&self, until: u64, line: u64) -> Wait {
        Wait {
            until,
            written: self.at.saturating_mul(1000),
            line,
        }
    }

    fn place_of(&mut self, fingerprint: u64) -> usize {
        let place = self.table.place_of(fingerprint);
        if self.traced && place == self.traces.len() {
            self.traces.push(Trace::default());
        }
        place
    }

    fn request(&mut self, line: u64, length: u32, fingerprint: u64) -> usize {
        let place = self.place_of(fingerprint);
        if self.table.at(place).has(REQUEST) {
            self.repeated.insert(fingerprint, line);
            self.history += u64::from(length);
        }
        self.table.at(place).set(REQUEST, true);
        if self.traced {
            self.traces[place].request = line;
        }
        if !self.not_before.is_empty() {
            self.not_before.remove(&fingerprint);
        }
        place
    }

    fn ended(&mut self, place: usize, length: u32, end: End, attempts: u32, memory: Memory) {
        let entry = self.table.at(place);
        if entry.has(ENDED) {
            self.history += u64::from(length);
        }
        entry.set(ENDED, true);
        entry.set(THIS_PASS, true);
        entry.set(REJUDGE, false);
        entry.standing = Standing::of(end);
        entry.attempt = u16::try_from(attempts).unwrap_or(u16::MAX);
        entry.ended_at = u32::try_from(self.at).unwrap_or(u32::MAX);
        if entry.standing.is_failed() {
            self.failed.push(place as u32);
        }
        let fingerprint = entry.fingerprint;
        if let Memory::Packed(mut packed) = memory {
            stamp(&mut packed, self.at);
            self.table.at(place).page = self.shelf.put(&packed);
        }
        if !self.not_before.is_empty() {
            self.not_before.remove(&fingerprint);
        }
    }

    fn rare(&mut self, line: u64, length: u32, rare: Rare) {
        match rare {
            Rare::Header {
                run,
                pass,
                label,
                settings,
            } => {
                self.run = run;
                self.pass = pass;
                self.label = label;
                self.settings = settings;
            }
            Rare::Identity {
                label,
                settings,
                rejudge,
            } => {
                self.history += u64::from(length);
                self.label = label;
                self.settings = settings;
                self.seeds.clear();
                if rejudge {
                    self.judge_again(|_, _| true);
                }
            }
            Rare::Seeds(seeds) => self.seeds.extend(seeds),
            Rare::Files(files) => {
                self.history += u64::from(length);
                self.files = files;
            }
            Rare::Run(run) => {
                self.history += u64::from(length);
                self.run = run;
                for place in std::mem::take(&mut self.failed) {
                    let entry = self.table.at(place as usize);
                    // A redirect of the pass that begins may lead to it anew.
                    let is_left =
                        entry.is_only_led_to() && (self.finished || !entry.has(THIS_PASS));
                    if entry.standing.is_failed() && !is_left {
                        entry.standing = Standing::PENDING;
                        entry.attempt = 1;
                    }
                }
            }
            Rare::Pass { pass, due } => {
                self.history += u64::from(length);
                self.pass = pass;
                self.pass_line = Some(line);
                self.finished = false;
                self.begin_pass(due);
            }
            Rare::Finished => {
                self.history += u64::from(length);
                self.finished = true;
            }
            Rare::Robots { origin, at, body } => {
                let rules = Rules { at, body, line };
                if self.robots.insert(origin, rules).is_some() {
                    self.history += u64::from(length);
                }
            }
            Rare::Pause { host, until } => {
                self.history += u64::from(length);
                let wait = self.wait(until, line);
                self.pauses.insert(host, wait);
            }
            Rare::Checkpoint(checkpoint) => {
                self.history += u64::from(length);
                self.checkpoint = checkpoint;
            }
            Rare::Landed {
                fingerprint,
                attempt,
                sitemap,
                url,
            } => {
                let queued = Event::Queued {
                    fingerprint,
                    attempt,
                    seed: true,
                    sitemap,
                    led_to: true,
                    refused: None,
                };
                self.apply(line, length, queued);
                self.landed.push(url);
            }
        }
    }

    /// What is old enough waits again, and so does every sitemap, since it tells
    /// of pages that are new or have changed. What was skipped for a reason that
    /// may have gone is judged again. What only redirects led to is left to them.
    fn begin_pass(&mut self, due: u64) {
        self.due = u32::try_from(due).unwrap_or(u32::MAX);
        for place in 0..self.table.len() {
            let entry = self.table.at(place);
            entry.set(THIS_PASS, false);
            if entry.is_only_led_to() {
                continue;
            }
            if matches!(
                entry.standing.end(),
                Some(End::Done | End::Unchanged | End::Redirected)
            ) && (entry.ended_at <= self.due || entry.has(SITEMAP))
            {
                entry.standing = Standing::PENDING;
                entry.attempt = 1;
            }
        }
        self.judge_again(|entry, reason| !entry.is_only_led_to() && is_judged_each_pass(reason));
    }

    fn judge_again(&mut self, which: impl Fn(&Entry, SkipReason) -> bool) {
        for place in 0..self.table.len() {
            let entry = self.table.at(place);
            if let Some(End::Skipped(reason)) = entry.standing.end()
                && which(entry, reason)
            {
                entry.standing = Standing::PENDING;
                entry.attempt = 1;
                entry.set(REJUDGE, true);
            }
        }
    }
}
