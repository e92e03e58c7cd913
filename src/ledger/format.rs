//! Writing the state file: JSON Lines, one event to a line, the event's name
//! as its first key. Keeps: a line depends on nothing but the `at` and `r`
//! lines before it, so that lines can be left out (compaction) and read in
//! parallel.
//!
//! | first key | the line says |
//! |---|---|
//! | `canter` | format version, numbers of run and pass, the crawl's name and settings; always the first line |
//! | `crawl` | other settings hold from here on |
//! | `seeds` | fingerprints of the crawl's seeds |
//! | `files` | which files are written; their lengths stand in the checkpoints |
//! | `run`, `pass` | a run began; a pass began, and what ended by `due` is asked for again |
//! | `finished` | the pass is complete |
//! | `at` | when what follows was committed (seconds since 1970) |
//! | `r` | the page on which the requests that follow were found; empty for none |
//! | `q` | a request was queued; with `x`, refused for that reason |
//! | `e` | a URL ended |
//! | `a` | a URL waits again: next attempt `n`, not before `w` (milliseconds since 1970); with `j`, to be judged again |
//! | `l` | a URL that a redirect led to was found otherwise |
//! | `robots`, `pause` | the rules of an origin; a host is left alone until `w` |
//! | `c` | checkpoint: its number, lengths of the files, totals, checksum |

use std::sync::Arc;

use super::anchor::{Anchor, millis};
use super::change::{Change, End, Ended, PageMemory, Queued};
use super::json::{push_hash, push_hex, push_number, push_str};
use super::options::Identity;
use super::output::{Mark, Marks};
use crate::admission::SkipReason;
use crate::request::{Method, Purpose, Request};

/// The version of the format. A file with a higher one is refused.
pub(super) const VERSION: u32 = 1;

/// Fingerprints on one `seeds` line, so that a pager can show it.
const SEEDS_PER_LINE: usize = 64;
/// The longest message kept with a failed URL, in bytes: a handler may put a
/// whole page into its error.
const MAX_MESSAGE: usize = 1000;

/// Writes events, and knows what the lines before them have said.
#[derive(Debug, Default)]
pub(super) struct Writer {
    at: Option<u64>,
    /// Empty for none; `None` when nothing has been said yet.
    referrer: Option<Arc<str>>,
}

impl Writer {
    /// Appends what became true, in order. Gives the bytes that will be
    /// history as soon as more is known of the same URLs.
    pub(super) fn changes(
        &mut self,
        buffer: &mut Vec<u8>,
        changes: &[Change],
        anchor: &Anchor,
        later_pass: bool,
    ) -> u64 {
        let mut passing = 0;
        self.at(buffer, anchor.seconds());
        for change in changes {
            let start = buffer.len();
            let lasts = match change {
                Change::Queued(queued) => {
                    self.queued(buffer, queued, None);
                    true
                }
                Change::Refused(queued, reason) => {
                    self.queued(buffer, queued, Some(*reason));
                    true
                }
                Change::Ended(ended) => {
                    push_ended(buffer, ended);
                    // In a later pass it takes the place of an earlier end.
                    !later_pass
                }
                Change::Retried {
                    fingerprint,
                    attempt,
                    not_before,
                } => {
                    let not_before = millis(anchor.wall_of(*not_before));
                    push_again(buffer, *fingerprint, *attempt, not_before, false);
                    false
                }
                Change::Named { fingerprint } => {
                    push_named(buffer, *fingerprint);
                    true
                }
                Change::Robots { origin, body, at } => {
                    push_robots(buffer, origin, body, millis(anchor.wall_of(*at)));
                    true
                }
                Change::Paused { host, until } => {
                    buffer.extend_from_slice(b"{\"pause\":");
                    push_str(buffer, host);
                    push_field(buffer, "w", millis(anchor.wall_of(*until)));
                    buffer.extend_from_slice(b"}\n");
                    false
                }
            };
            if !lasts {
                passing += (buffer.len() - start) as u64;
            }
        }
        passing
    }

    /// Says when what follows is committed, if that was not said before.
    pub(super) fn at(&mut self, buffer: &mut Vec<u8>, seconds: u64) {
        if self.at != Some(seconds) {
            push_at(buffer, seconds);
            self.at = Some(seconds);
        }
    }

    fn queued(&mut self, buffer: &mut Vec<u8>, queued: &Queued, refused: Option<SkipReason>) {
        let referrer = queued.request.referrer();
        let url = referrer.map_or("", |url| url);
        if self.referrer.as_deref() != Some(url) {
            push_referrer(buffer, url);
            self.referrer = Some(referrer.map_or_else(|| Arc::from(""), Arc::clone));
        }
        push_queued(buffer, queued, refused);
    }
}

pub(super) fn push_field(buffer: &mut Vec<u8>, key: &str, value: u64) {
    push_key(buffer, key);
    push_number(buffer, value);
}

fn push_text(buffer: &mut Vec<u8>, key: &str, value: &str) {
    push_key(buffer, key);
    push_str(buffer, value);
}

pub(super) fn push_key(buffer: &mut Vec<u8>, key: &str) {
    buffer.extend_from_slice(b",\"");
    buffer.extend_from_slice(key.as_bytes());
    buffer.extend_from_slice(b"\":");
}

/// Bytes as text under one key if they are UTF-8, as hexadecimal digits under
/// another if not.
fn push_bytes(buffer: &mut Vec<u8>, text_key: &str, hex_key: &str, bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        push_text(buffer, text_key, text);
    } else {
        push_key(buffer, hex_key);
        buffer.push(b'"');
        push_hex(buffer, bytes);
        buffer.push(b'"');
    }
}

/// An event's first key with a fingerprint.
fn open_with_hash(buffer: &mut Vec<u8>, key: &str, hash: u64) {
    buffer.extend_from_slice(b"{\"");
    buffer.extend_from_slice(key.as_bytes());
    buffer.extend_from_slice(b"\":\"");
    push_hash(buffer, hash);
    buffer.push(b'"');
}

fn push_queued(buffer: &mut Vec<u8>, queued: &Queued, refused: Option<SkipReason>) {
    let request: &Request = &queued.request;
    open_with_hash(buffer, "q", queued.fingerprint);
    push_text(buffer, "u", request.url().as_str());
    if let Some(reason) = refused {
        push_text(buffer, "x", reason.as_str());
    }
    if request.depth() != 0 {
        push_field(buffer, "d", u64::from(request.depth()));
    }
    if request.attempt() != 1 {
        push_field(buffer, "n", u64::from(request.attempt()));
    }
    if queued.seed {
        push_field(buffer, "s", 1);
    }
    if queued.purpose == Purpose::Sitemap {
        push_text(buffer, "k", "sitemap");
    }
    if let Some(tag) = request.tag().name() {
        push_text(buffer, "t", tag);
    }
    if request.priority() != 0 {
        push_key(buffer, "p");
        if request.priority() < 0 {
            buffer.push(b'-');
        }
        push_number(buffer, u64::from(request.priority().unsigned_abs()));
    }
    if request.method() != Method::Get {
        push_text(buffer, "m", request.method().as_str());
    }
    if !request.body().is_empty() {
        push_bytes(buffer, "b", "bx", request.body());
    }
    if !request.headers().is_empty() {
        push_key(buffer, "h");
        push_list(buffer, request.headers(), |buffer, (name, value)| {
            push_str(buffer, name);
            buffer.push(b',');
            push_str(buffer, value);
        });
    }
    if !request.hops().is_empty() {
        push_key(buffer, "v");
        push_list(buffer, request.hops(), |buffer, hop| {
            push_str(buffer, hop.url.as_str());
            buffer.push(b',');
            push_number(buffer, u64::from(hop.status));
        });
    }
    if let Some(limit) = request.body_limit() {
        push_key(buffer, "l");
        buffer.push(b'[');
        push_number(buffer, limit.bytes);
        buffer.push(b',');
        push_number(buffer, u64::from(limit.keep_start));
        buffer.push(b']');
    }
    buffer.extend_from_slice(b"}\n");
}

fn push_list<T>(buffer: &mut Vec<u8>, items: &[T], push: impl Fn(&mut Vec<u8>, &T)) {
    buffer.push(b'[');
    for (at, item) in items.iter().enumerate() {
        buffer.extend_from_slice(if at == 0 { b"[" } else { b",[" });
        push(buffer, item);
        buffer.push(b']');
    }
    buffer.push(b']');
}

fn push_ended(buffer: &mut Vec<u8>, ended: &Ended) {
    open_with_hash(buffer, "e", ended.fingerprint);
    match ended.end {
        End::Done => {}
        End::Unchanged => push_text(buffer, "x", "unchanged"),
        End::Redirected => push_text(buffer, "x", "redirected"),
        End::Failed(kind) => {
            push_text(buffer, "x", "failed");
            push_text(buffer, "y", kind.as_str());
        }
        End::Skipped(reason) => {
            push_text(buffer, "x", "skipped");
            push_text(buffer, "y", reason.as_str());
        }
    }
    if let Some(status) = ended.status {
        push_field(buffer, "s", u64::from(status));
    }
    if ended.attempts != 1 {
        push_field(buffer, "n", u64::from(ended.attempts));
    }
    if let Some(to) = &ended.to {
        push_text(buffer, "to", to.as_str());
    }
    // Only these may come without having been queued.
    if matches!(ended.end, End::Failed(_) | End::Skipped(_)) {
        push_text(buffer, "u", ended.url.as_str());
        if ended.depth != 0 {
            push_field(buffer, "d", u64::from(ended.depth));
        }
        if ended.purpose == Purpose::Sitemap {
            push_text(buffer, "k", "sitemap");
        }
    }
    if let Some(message) = &ended.message {
        push_text(buffer, "msg", start_of(message, MAX_MESSAGE));
    }
    if let Some(page) = &ended.page {
        push_memory(buffer, page);
    }
    buffer.extend_from_slice(b"}\n");
}

/// The first characters of a text, in at most `bytes` bytes.
fn start_of(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn push_memory(buffer: &mut Vec<u8>, page: &PageMemory) {
    push_field(buffer, "b", page.bytes);
    push_field(buffer, "ms", page.elapsed.as_millis() as u64);
    if let Some(hash) = page.hash {
        push_key(buffer, "h");
        buffer.push(b'"');
        push_hash(buffer, hash);
        buffer.push(b'"');
    }
    if let Some(etag) = &page.etag {
        push_text(buffer, "et", etag);
    }
    if let Some(date) = &page.last_modified {
        push_text(buffer, "lm", date);
    }
}

pub(super) fn push_again(
    buffer: &mut Vec<u8>,
    fingerprint: u64,
    attempt: u32,
    not_before: u64,
    rejudge: bool,
) {
    open_with_hash(buffer, "a", fingerprint);
    if attempt != 1 {
        push_field(buffer, "n", u64::from(attempt));
    }
    if not_before != 0 {
        push_field(buffer, "w", not_before);
    }
    if rejudge {
        push_field(buffer, "j", 1);
    }
    buffer.extend_from_slice(b"}\n");
}

pub(super) fn push_named(buffer: &mut Vec<u8>, fingerprint: u64) {
    open_with_hash(buffer, "l", fingerprint);
    buffer.extend_from_slice(b"}\n");
}

fn push_robots(buffer: &mut Vec<u8>, origin: &str, body: &[u8], at: u64) {
    buffer.extend_from_slice(b"{\"robots\":");
    push_str(buffer, origin);
    push_field(buffer, "w", at);
    push_bytes(buffer, "body", "hex", body);
    buffer.extend_from_slice(b"}\n");
}

pub(super) fn push_at(buffer: &mut Vec<u8>, seconds: u64) {
    buffer.extend_from_slice(b"{\"at\":");
    push_number(buffer, seconds);
    buffer.extend_from_slice(b"}\n");
}

pub(super) fn push_referrer(buffer: &mut Vec<u8>, url: &str) {
    buffer.extend_from_slice(b"{\"r\":");
    push_str(buffer, url);
    buffer.extend_from_slice(b"}\n");
}

/// The first line of a file, and the seeds.
pub(super) fn push_header(buffer: &mut Vec<u8>, run: u64, pass: u64, identity: &Identity) {
    buffer.extend_from_slice(b"{\"canter\":\"state\"");
    push_field(buffer, "version", u64::from(VERSION));
    push_field(buffer, "run", run);
    push_field(buffer, "pass", pass);
    push_text(buffer, "crawl", &identity.label);
    push_text(buffer, "settings", &identity.settings);
    buffer.extend_from_slice(b"}\n");
    push_seeds(buffer, &identity.seeds);
}

/// Other settings hold from here on; with `rejudge`, what was skipped is to be
/// judged again.
pub(super) fn push_identity(buffer: &mut Vec<u8>, identity: &Identity, rejudge: bool) {
    buffer.extend_from_slice(b"{\"crawl\":");
    push_str(buffer, &identity.label);
    push_text(buffer, "settings", &identity.settings);
    if rejudge {
        push_field(buffer, "rejudge", 1);
    }
    buffer.extend_from_slice(b"}\n");
    push_seeds(buffer, &identity.seeds);
}

fn push_seeds(buffer: &mut Vec<u8>, seeds: &[u64]) {
    for some in seeds.chunks(SEEDS_PER_LINE) {
        buffer.extend_from_slice(b"{\"seeds\":[");
        for (at, seed) in some.iter().enumerate() {
            buffer.extend_from_slice(if at == 0 { b"\"" } else { b",\"" });
            push_hash(buffer, *seed);
            buffer.push(b'"');
        }
        buffer.extend_from_slice(b"]}\n");
    }
}

pub(super) fn push_files(buffer: &mut Vec<u8>, files: &Marks) {
    buffer.extend_from_slice(b"{\"files\":{");
    let fixed = [("records", &files.records), ("log", &files.log)];
    let mut between: &[u8] = b"\"";
    for (key, mark) in fixed
        .into_iter()
        .filter_map(|(key, mark)| Some((key, mark.as_ref()?)))
    {
        buffer.extend_from_slice(between);
        buffer.extend_from_slice(key.as_bytes());
        buffer.extend_from_slice(b"\":");
        push_mark(buffer, mark);
        between = b",\"";
    }
    for (at, mark) in files.beside.iter().enumerate() {
        buffer.extend_from_slice(if at == 0 { between } else { b"," });
        buffer.extend_from_slice(if at == 0 { b"beside\":[" } else { b"" });
        push_mark(buffer, mark);
    }
    buffer.extend_from_slice(if files.beside.is_empty() {
        b"}}\n"
    } else {
        b"]}}\n"
    });
}

fn push_mark(buffer: &mut Vec<u8>, mark: &Mark) {
    buffer.extend_from_slice(b"{\"path\":");
    push_str(buffer, &mark.path);
    if mark.part {
        push_field(buffer, "part", 1);
    }
    buffer.push(b'}');
}

pub(super) fn push_run(buffer: &mut Vec<u8>, run: u64) {
    push_single(buffer, "run", run);
}

pub(super) fn push_pass(buffer: &mut Vec<u8>, pass: u64, due: u64) {
    buffer.extend_from_slice(b"{\"pass\":");
    push_number(buffer, pass);
    push_field(buffer, "due", due);
    buffer.extend_from_slice(b"}\n");
}

pub(super) fn push_finished(buffer: &mut Vec<u8>, pass: u64) {
    push_single(buffer, "finished", pass);
}

fn push_single(buffer: &mut Vec<u8>, key: &str, value: u64) {
    buffer.extend_from_slice(b"{\"");
    buffer.extend_from_slice(key.as_bytes());
    buffer.extend_from_slice(b"\":");
    push_number(buffer, value);
    buffer.extend_from_slice(b"}\n");
}
