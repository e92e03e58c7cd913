//! Reading the lines that [`format`](super::format) writes. Keeps: whatever
//! the bytes are, the answer is an event or a reason, never a panic.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, Visitor};

use super::change::End;
use super::checkpoint::{CHECKPOINT_KEY, CRC_END, CRC_KEY, Checkpoint};
use super::json::{read_hash, read_hex};
use super::options::Totals;
use super::output::{Mark, Marks};
use super::pages::pack;
use super::whole;
use crate::admission::SkipReason;
use crate::error::ErrorKind;

/// What a line says, as far as it is needed to know how every URL stands.
#[derive(Debug)]
pub(super) enum Event {
    At(u64),
    Queued {
        fingerprint: u64,
        attempt: u32,
        seed: bool,
        sitemap: bool,
        /// Whether a redirect led to it.
        led_to: bool,
        refused: Option<SkipReason>,
    },
    /// A URL that a redirect led to was found otherwise.
    Named(u64),
    Ended {
        fingerprint: u64,
        end: End,
        attempts: u32,
        /// Whether the line says the URL.
        named: bool,
        memory: Memory,
    },
    Again {
        fingerprint: u64,
        attempt: u32,
        not_before: u64,
        rejudge: bool,
    },
    Rare(Box<Rare>),
}

/// What an end remembers of its page.
#[derive(Debug)]
pub(super) enum Memory {
    Nothing,
    /// Something, which was not asked for.
    Something,
    /// What [`pack`] makes of it, not yet stamped.
    Packed(Box<[u8]>),
}

#[derive(Debug)]
pub(super) enum Rare {
    Header {
        run: u64,
        pass: u64,
        label: String,
        settings: String,
    },
    Identity {
        label: String,
        settings: String,
        rejudge: bool,
    },
    Seeds(Vec<u64>),
    Files(Marks),
    Run(u64),
    Pass {
        pass: u64,
        due: u64,
    },
    Finished,
    Robots {
        origin: String,
        at: u64,
        body: Vec<u8>,
    },
    Pause {
        host: String,
        until: u64,
    },
    Checkpoint(Checkpoint),
    /// A redirect from a seed led to this URL, which was queued.
    Landed {
        fingerprint: u64,
        attempt: u32,
        sitemap: bool,
        url: String,
    },
}

/// A fingerprint or hash: 16 hexadecimal digits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hash(pub(super) u64);

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Digits;
        impl Visitor<'_> for Digits {
            type Value = Hash;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("16 hexadecimal digits")
            }

            fn visit_str<E: serde::de::Error>(self, digits: &str) -> Result<Hash, E> {
                read_hash(digits.as_bytes())
                    .map(Hash)
                    .ok_or_else(|| E::custom("expected 16 hexadecimal digits"))
            }
        }
        deserializer.deserialize_str(Digits)
    }
}

/// Strings are borrowed where they hold no escapes; an empty one stands for
/// one that is not there.
pub(super) type Text<'a> = Cow<'a, str>;

#[derive(Deserialize)]
struct QueuedLight<'a> {
    q: Hash,
    #[serde(borrow)]
    u: Text<'a>,
    #[serde(borrow, default)]
    x: Text<'a>,
    #[serde(default = "one")]
    n: u32,
    #[serde(default)]
    s: u8,
    #[serde(borrow, default)]
    k: Text<'a>,
    #[serde(default)]
    v: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct EndedLight<'a> {
    e: Hash,
    #[serde(borrow, default)]
    x: Text<'a>,
    #[serde(borrow, default)]
    y: Text<'a>,
    #[serde(default = "one")]
    n: u32,
    #[serde(default)]
    u: Option<IgnoredAny>,
    #[serde(default)]
    b: Option<u64>,
}

#[derive(Deserialize)]
struct AgainLine {
    a: Hash,
    #[serde(default = "one")]
    n: u32,
    #[serde(default)]
    w: u64,
    #[serde(default)]
    j: u8,
}

pub(super) fn one() -> u32 {
    1
}

/// Everything that stands in lines of which a file has few.
#[derive(Deserialize, Default)]
#[serde(default)]
struct RareLine {
    at: u64,
    run: u64,
    pass: u64,
    due: u64,
    crawl: String,
    settings: String,
    rejudge: u8,
    seeds: Vec<Hash>,
    files: FilesLine,
    robots: String,
    pause: String,
    w: u64,
    body: String,
    hex: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct FilesLine {
    records: Option<FileLine>,
    log: Option<FileLine>,
    beside: Vec<FileLine>,
}

#[derive(Deserialize)]
struct FileLine {
    path: String,
    #[serde(default)]
    part: u8,
}

impl FileLine {
    fn mark(self) -> Mark {
        Mark {
            path: self.path,
            part: self.part != 0,
        }
    }
}

#[derive(Deserialize)]
struct CheckpointLine {
    c: u64,
    o: Vec<u64>,
    t: [u64; 5],
    crc: String,
}

#[derive(Deserialize)]
struct HeaderLine {
    canter: String,
    version: u32,
    #[serde(default)]
    pass: u64,
}

/// The name of the event on a line: its first key.
pub(super) fn key(line: &[u8]) -> &[u8] {
    match line.strip_prefix(b"{\"") {
        Some(rest) => {
            let end = rest.iter().position(|&byte| byte == b'"').unwrap_or(0);
            &rest[..end]
        }
        None => b"",
    }
}

pub(super) fn read<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(line).map_err(|error| error.to_string())
}

/// Version and pass in a file's first line, if it is the first line of a state.
pub(super) fn header(line: &[u8]) -> Option<(u32, u64)> {
    let header: HeaderLine = serde_json::from_slice(line).ok()?;
    (header.canter == "state").then_some((header.version, header.pass))
}

/// Reads a line. `pages` says whether memories of pages are wanted. `None` is
/// for a line that says nothing of how a URL stands.
pub(super) fn event(line: &[u8], pages: bool) -> Result<Option<Event>, String> {
    Ok(Some(match key(line) {
        b"q" => {
            let line: QueuedLight = read(line)?;
            if line.s != 0 && line.v.is_some() && line.x.is_empty() {
                return Ok(Some(Event::Rare(Box::new(Rare::Landed {
                    fingerprint: line.q.0,
                    attempt: line.n,
                    sitemap: line.k == "sitemap",
                    url: line.u.into_owned(),
                }))));
            }
            Event::Queued {
                fingerprint: line.q.0,
                attempt: line.n,
                seed: line.s != 0,
                sitemap: line.k == "sitemap",
                led_to: line.v.is_some(),
                refused: reason(&line.x)?,
            }
        }
        b"e" if pages => {
            let line = whole::ended(line)?;
            let memory = match line.memory() {
                Some(memory) => Memory::Packed(pack(&memory, 0).into()),
                None => Memory::Nothing,
            };
            Event::Ended {
                fingerprint: line.fingerprint(),
                end: line.end()?,
                attempts: line.n,
                named: !line.u.is_empty(),
                memory,
            }
        }
        b"e" => {
            let line: EndedLight = read(line)?;
            Event::Ended {
                fingerprint: line.e.0,
                end: end(&line.x, &line.y)?,
                attempts: line.n,
                named: line.u.is_some(),
                memory: match line.b {
                    Some(_) => Memory::Something,
                    None => Memory::Nothing,
                },
            }
        }
        b"a" => {
            let line: AgainLine = read(line)?;
            Event::Again {
                fingerprint: line.a.0,
                attempt: line.n,
                not_before: line.w,
                rejudge: line.j != 0,
            }
        }
        b"l" => match fingerprint(line) {
            Some(fingerprint) => Event::Named(fingerprint),
            None => return Err("expected 16 hexadecimal digits".to_owned()),
        },
        b"r" => return Ok(None),
        b"at" => Event::At(read::<RareLine>(line)?.at),
        b"c" => Event::Rare(Box::new(Rare::Checkpoint(checkpoint(line)?))),
        name => Event::Rare(Box::new(rare(name, read(line)?)?)),
    }))
}

fn rare(name: &[u8], line: RareLine) -> Result<Rare, String> {
    Ok(match name {
        b"canter" => Rare::Header {
            run: line.run,
            pass: line.pass,
            label: line.crawl,
            settings: line.settings,
        },
        b"crawl" => Rare::Identity {
            label: line.crawl,
            settings: line.settings,
            rejudge: line.rejudge != 0,
        },
        b"seeds" => Rare::Seeds(line.seeds.iter().map(|seed| seed.0).collect()),
        b"files" => Rare::Files(Marks {
            records: line.files.records.map(FileLine::mark),
            log: line.files.log.map(FileLine::mark),
            beside: line.files.beside.into_iter().map(FileLine::mark).collect(),
        }),
        b"run" => Rare::Run(line.run),
        b"pass" => Rare::Pass {
            pass: line.pass,
            due: line.due,
        },
        b"finished" => Rare::Finished,
        b"robots" => Rare::Robots {
            origin: line.robots,
            at: line.w,
            body: bytes(&line.body, &line.hex)?,
        },
        b"pause" => Rare::Pause {
            host: line.pause,
            until: line.w,
        },
        _ => return Err("no such event".to_owned()),
    })
}

/// Bytes that were written as text or as hexadecimal digits.
pub(super) fn bytes(text: &str, hex: &str) -> Result<Vec<u8>, String> {
    if hex.is_empty() {
        return Ok(text.as_bytes().to_vec());
    }
    read_hex(hex.as_bytes()).ok_or_else(|| "odd hexadecimal digits".to_owned())
}

fn reason(word: &str) -> Result<Option<SkipReason>, String> {
    if word.is_empty() {
        return Ok(None);
    }
    match SkipReason::from_word(word) {
        Some(reason) => Ok(Some(reason)),
        None => Err(format!("no such reason: {word:?}")),
    }
}

pub(super) fn end(end: &str, why: &str) -> Result<End, String> {
    match end {
        "" => Some(End::Done),
        "unchanged" => Some(End::Unchanged),
        "redirected" => Some(End::Redirected),
        "failed" => ErrorKind::from_word(why).map(End::Failed),
        "skipped" => SkipReason::from_word(why).map(End::Skipped),
        _ => None,
    }
    .ok_or_else(|| format!("no such end: {end:?} {why:?}"))
}

/// Whether a line has a checkpoint's checksum at its end, and where what the
/// checksum is about ends.
pub(super) fn sealed(line: &[u8]) -> Option<usize> {
    let digits = 8;
    let at = line
        .len()
        .checked_sub(CRC_KEY.len() + digits + CRC_END.len())?;
    (line.starts_with(CHECKPOINT_KEY) && line[at..].starts_with(CRC_KEY) && line.ends_with(CRC_END))
        .then_some(at)
}

/// Reads a checkpoint's line.
pub(super) fn checkpoint(line: &[u8]) -> Result<Checkpoint, String> {
    if sealed(line).is_none() {
        return Err("a checkpoint without a checksum at its end".to_owned());
    }
    let line: CheckpointLine = read(line)?;
    let crc = read_hex(line.crc.as_bytes())
        .and_then(|bytes| bytes.try_into().ok())
        .map(u32::from_be_bytes)
        .ok_or("a checksum that is no hexadecimal number")?;
    let [requests, retried, unchanged, bytes, elapsed] = line.t;
    Ok(Checkpoint {
        number: line.c,
        lengths: line.o,
        totals: Totals {
            requests,
            retried,
            unchanged,
            bytes,
            elapsed: Duration::from_millis(elapsed),
        },
        crc,
    })
}

/// The fingerprint on the line of a request or an end.
pub(super) fn fingerprint(line: &[u8]) -> Option<u64> {
    // `{"q":"` and then the digits.
    read_hash(line.get(6..22)?)
}

/// The fingerprint and URL of a request's line.
pub(super) fn url(line: &[u8]) -> Result<String, String> {
    read::<QueuedLight>(line).map(|line| line.u.into_owned())
}
