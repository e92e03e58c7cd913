//! What reading a state promises of any file whatever.
//!
//! A checksum would turn nearly every damaged file away at the door, so each is
//! tried as it is and once more with checksums that fit.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use canter::ErrorKind;
use canter::ledger::{Anchor, Identity, Ledger, LedgerOptions, StateSpec};
use flate2::Crc;

/// The seeds of the crawl that the corpus tells of.
const SEEDS: [u64; 2] = [0x3a88_5600_679b_8cd1, 0x53a2_ca54_145c_e992];
/// What a checkpoint's line begins with, and what stands before its checksum.
const CHECKPOINT: &[u8] = b"{\"c\":";
const CHECKSUM: &[u8] = b",\"crc\":\"";

/// A folder for states, in memory where there is one: each is synced many times.
fn folder() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() {
        memory.to_owned()
    } else {
        std::env::temp_dir()
    };
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    parent.join(format!("canter-states-{}-{count}", std::process::id()))
}

/// A place where states are tried; removed at its end.
pub(crate) struct Bench {
    folder: PathBuf,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let folder = folder();
        fs::create_dir_all(&folder).expect("a folder for states");
        Bench { folder }
    }

    /// A state is read or turned away with a reason, and never changed by who
    /// only looks; what can be opened can be opened again, and gives the
    /// requests that it counts.
    pub(crate) fn state(&self, body: &[u8]) {
        self.one(body);
        self.one(&sealed(body));
    }

    fn one(&self, body: &[u8]) {
        let dir = self.folder.join("state");
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).expect("a folder for a state");
        let journal = dir.join("journal.jsonl");
        fs::write(&journal, body).expect("a state is written");
        let status = Ledger::status(&dir);
        match &status {
            Ok(status) => {
                assert!(status.bytes <= body.len() as u64);
                let counted: u64 = status.counts.failed.values().sum();
                match Ledger::failed(&dir) {
                    Ok(failed) => assert!(failed.len() as u64 <= counted),
                    Err(error) => is_told(&error),
                }
            }
            Err(error) => is_told(error),
        }
        assert_eq!(fs::read(&journal).expect("it is there"), body);
        if names_files(body) {
            return;
        }
        let mut earlier = None;
        for _ in 0..2 {
            match Ledger::open(options(&dir)) {
                Ok((_ledger, restored)) => {
                    assert!(status.is_ok());
                    let mut pending = 0;
                    let read = restored.each_pending(|request| {
                        pending += 1;
                        assert!(canter::uri::is_web(request.queued.request.url()));
                    });
                    // The checksum fits, and yet it is no request: only who
                    // wrote it is to blame, and that is told too.
                    if let Err(error) = read {
                        is_told(&error);
                        return;
                    }
                    // A URL of which only its end is known has no request.
                    assert!(pending <= restored.counts.pending);
                    let total = restored.counts.total();
                    assert_eq!(*earlier.get_or_insert(total), total);
                }
                Err(error) => {
                    assert!(earlier.is_none(), "opened once and not again: {error}");
                    is_told(&error);
                    assert_eq!(fs::read(&journal).expect("it is there"), body);
                    return;
                }
            }
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn options(dir: &Path) -> LedgerOptions {
    let identity = Identity {
        seeds: SEEDS.to_vec(),
        label: "http://a.test/".to_owned(),
        settings: "hosts = [\"a.test\"]".to_owned(),
    };
    let mut options = LedgerOptions::new(Anchor::now());
    options.state = Some(StateSpec::new(dir, identity));
    options
}

/// A refusal is of its kind, on one line, and names the file.
fn is_told(error: &canter::Error) {
    assert_eq!(error.kind(), ErrorKind::State, "{error}");
    let text = error.to_string();
    assert!(text.contains("journal.jsonl"), "{text}");
    assert!(!text.contains('\n'), "{text}");
}

/// Whether the state may name files that are not in its folder: opening it
/// would cut them to the length that it knows.
fn names_files(body: &[u8]) -> bool {
    let has = |line: &[u8], word: &[u8]| line.windows(word.len()).any(|part| part == word);
    body.split(|&byte| byte == b'\n').any(|line| {
        has(line, b"files") && (has(line, b"/") || has(line, b"\\") || has(line, b".."))
    })
}

/// The state with a checksum that fits in every checkpoint, and a checkpoint at
/// its end.
fn sealed(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + 80);
    let mut number = 0_u64;
    let mut crc = started(0);
    let mut ends_sealed = false;
    for line in body.split_inclusive(|&byte| byte == b'\n') {
        let cut = line
            .windows(CHECKSUM.len())
            .position(|part| part == CHECKSUM)
            .filter(|_| line.starts_with(CHECKPOINT) && line.ends_with(b"\n"));
        ends_sealed = cut.is_some();
        let Some(cut) = cut else {
            crc.update(line);
            out.extend_from_slice(line);
            continue;
        };
        crc.update(&line[..cut]);
        out.extend_from_slice(&line[..cut]);
        seal(&mut out, &mut crc);
        number += 1;
    }
    if !ends_sealed {
        let line = format!("\n{{\"c\":{number},\"o\":[0,0],\"t\":[0,0,0,0,0]");
        let start = usize::from(out.ends_with(b"\n"));
        crc.update(&line.as_bytes()[start..]);
        out.extend_from_slice(&line.as_bytes()[start..]);
        seal(&mut out, &mut crc);
    }
    out
}

fn started(before: u32) -> Crc {
    let mut crc = Crc::new();
    crc.update(&before.to_le_bytes());
    crc
}

fn seal(out: &mut Vec<u8>, crc: &mut Crc) {
    let sum = crc.sum();
    out.extend_from_slice(CHECKSUM);
    out.extend_from_slice(format!("{sum:08x}\"}}\n").as_bytes());
    *crc = started(sum);
}
