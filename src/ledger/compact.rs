//! Compaction: a state file written anew without its history. Keeps: the new
//! file tells the same as the old one. It holds the old one's lines that still
//! count, unchanged and in their order, and says the rest in lines of its own.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use super::anchor::Anchor;
use super::blocks::{Blocks, Sharing, lines};
use super::checkpoint::{Checkpoint, push_checkpoint, start_crc};
use super::fault::Fault;
use super::format::{self, push_again, push_named};
use super::model::{Model, ROBOTS_LIFETIME};
use super::options::{Identity, sorted};
use super::parse;
use super::replay;
use super::table::{ENDED, Entry, LED_TO, NAMED, REJUDGE};
use crate::error::Result;

/// Bytes that are gathered before they are written.
const WRITE: usize = 1 << 20;

/// The new file, synced, not yet in its place.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) file: File,
    pub(super) length: u64,
    pub(super) checkpoint: Checkpoint,
}

struct Sink {
    file: File,
    buffer: Vec<u8>,
    length: u64,
    crc: flate2::Crc,
}

impl Sink {
    fn flush(&mut self) -> io::Result<()> {
        self.crc.update(&self.buffer);
        self.write_out()
    }

    fn write_out(&mut self) -> io::Result<()> {
        self.file.write_all(&self.buffer)?;
        self.length += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

/// Writes the first `length` bytes of a state, which end in a checkpoint, anew
/// to `new`.
pub(super) fn write(
    old: &File,
    path: &Path,
    length: u64,
    new: &Path,
    now: &Anchor,
) -> Result<Made> {
    let mut model = Model::traced();
    replay::fold(
        &mut model,
        old,
        path,
        length,
        Sharing::for_length(length),
        false,
    )?;
    write_model(old, length, &model, new, now)
        .map_err(|error| Fault::from(error).state("cannot write the state anew to", new))
}

fn write_model(
    old: &File,
    length: u64,
    model: &Model,
    new: &Path,
    now: &Anchor,
) -> io::Result<Made> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(new)?;
    let mut sink = Sink {
        file,
        buffer: Vec::with_capacity(WRITE + WRITE / 4),
        length: 0,
        crc: start_crc(0),
    };
    let identity = Identity {
        seeds: sorted(&model.seeds),
        label: model.label.clone(),
        settings: model.settings.clone(),
    };
    format::push_header(&mut sink.buffer, model.run, model.pass, &identity);
    format::push_files(&mut sink.buffer, &model.files);
    copy(old, length, model, &mut sink, now)?;
    format::push_at(&mut sink.buffer, now.seconds());
    for entry in model.table.entries() {
        // Of its requests only the last is copied.
        if entry.has(LED_TO) && entry.has(NAMED) {
            push_named(&mut sink.buffer, entry.fingerprint);
        }
        push_waiting(&mut sink.buffer, model, entry);
        if sink.buffer.len() >= WRITE {
            sink.flush()?;
        }
    }
    if model.finished {
        format::push_finished(&mut sink.buffer, model.pass);
    }
    // The time of the last commit is what `status` shows.
    format::push_at(&mut sink.buffer, model.at);
    let mut checkpoint = Checkpoint {
        number: 0,
        ..model.checkpoint.clone()
    };
    let crc = std::mem::replace(&mut sink.crc, start_crc(0));
    push_checkpoint(&mut sink.buffer, crc, &mut checkpoint);
    sink.write_out()?;
    sink.file.sync_all()?;
    Ok(Made {
        file: sink.file,
        length: sink.length,
        checkpoint,
    })
}

/// Says of a URL that it waits, if the lines that are copied say otherwise.
fn push_waiting(buffer: &mut Vec<u8>, model: &Model, entry: &Entry) {
    if !entry.standing.is_pending() {
        return;
    }
    let wait = model.not_before.get(&entry.fingerprint);
    let repeated = model.repeated.contains_key(&entry.fingerprint);
    if entry.has(ENDED) || entry.has(REJUDGE) || entry.attempt != 1 || wait.is_some() || repeated {
        push_again(
            buffer,
            entry.fingerprint,
            u32::from(entry.attempt),
            wait.map_or(0, |wait| wait.until),
            entry.has(REJUDGE),
        );
    }
}

/// Copies the lines that still count. The `at` and `r` lines between them are
/// copied when a line comes that they are about.
fn copy(old: &File, length: u64, model: &Model, sink: &mut Sink, now: &Anchor) -> io::Result<()> {
    let rules: HashMap<u64, bool> = model
        .robots
        .values()
        .map(|rules| {
            (
                rules.line,
                now.millis().saturating_sub(rules.at) < ROBOTS_LIFETIME,
            )
        })
        .collect();
    let pauses: HashMap<u64, bool> = model
        .pauses
        .values()
        .map(|wait| (wait.line, wait.left(now).is_some()))
        .collect();
    let mut at: Vec<u8> = Vec::new();
    let mut referrer: Vec<u8> = Vec::new();
    let mut blocks = Blocks::new(old, 0, length)?;
    while let Some((start, bytes)) = blocks.next()? {
        for (offset, line) in lines(bytes) {
            let place = start + offset as u64;
            let context = match parse::key(line) {
                b"at" => {
                    at.clear();
                    at.extend_from_slice(line);
                    continue;
                }
                b"r" => {
                    referrer.clear();
                    referrer.extend_from_slice(line);
                    continue;
                }
                b"q" if counts(model, line, |trace| trace.request == place) => &mut referrer,
                b"e" if counts(model, line, |trace| {
                    [trace.request, trace.end, trace.memory].contains(&place)
                }) =>
                {
                    &mut at
                }
                // What ended after it is of the pass at hand.
                b"pass" if model.pass_line == Some(place) => {
                    sink.buffer.extend_from_slice(line);
                    continue;
                }
                b"robots" if rules.get(&place) == Some(&true) => &mut at,
                b"pause" if pauses.get(&place) == Some(&true) => &mut at,
                _ => continue,
            };
            sink.buffer.append(context);
            sink.buffer.extend_from_slice(line);
        }
        if sink.buffer.len() >= WRITE {
            sink.flush()?;
        }
    }
    Ok(())
}

fn counts(model: &Model, line: &[u8], test: impl Fn(&super::model::Trace) -> bool) -> bool {
    parse::fingerprint(line)
        .and_then(|fingerprint| model.table.find(fingerprint))
        .is_some_and(|place| test(&model.traces[place]))
}
