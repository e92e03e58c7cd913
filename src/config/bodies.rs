//! [`Bodies`]: the bodies of pages, kept in a folder under their hash. Keeps: a
//! body is there whole or not at all, and two pages with the same body share
//! one file.
//!
//! `AB/ABCDEF0123456789.gz` is the gzipped body whose hash has these digits.
//! The index beside them, `index.jsonl`, is an output of the crawl like any
//! other: it commits with the records, so that it names no page whose record
//! is not there. A body that no line names is harmless, and is not deleted.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::Compression;
#[cfg(any(feature = "cli", test))]
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use crate::error::{Error, ErrorKind, Result};
#[cfg(any(feature = "cli", test))]
use crate::uri;

/// The index's name in its folder.
pub(super) const INDEX: &str = "index.jsonl";
/// The folder of bodies that are being written.
const NEW: &str = "new";
/// Bytes at the end of a gzip member that say how long its content is
/// (RFC 1952 section 2.3.1), modulo 2^32.
const LENGTH_FIELD: i64 = 4;

/// A folder of bodies.
#[derive(Debug)]
pub(crate) struct Bodies {
    dir: PathBuf,
    /// Whether what is kept must outlast a loss of power: the state must not
    /// run ahead of it.
    durable: bool,
    /// Set once the folder for new bodies is there and empty.
    ready: OnceLock<()>,
    number: AtomicU64,
}

impl Bodies {
    pub(crate) fn new(dir: impl Into<PathBuf>, durable: bool) -> Self {
        Bodies {
            dir: dir.into(),
            durable,
            ready: OnceLock::new(),
            number: AtomicU64::new(0),
        }
    }

    /// The index of a folder of bodies.
    pub(crate) fn index(dir: &Path) -> PathBuf {
        dir.join(INDEX)
    }

    /// The folder of those that are being written.
    pub(super) fn new_folder(dir: &Path) -> PathBuf {
        dir.join(NEW)
    }

    /// Keeps a body, unless it is kept already. Must not be called before the
    /// run holds the lock of the index: it clears away what a killed run left.
    ///
    /// # Errors
    /// Of kind [`Output`](ErrorKind::Output), which ends the run.
    pub(crate) fn keep(&self, hash: u64, body: &[u8]) -> Result<()> {
        let place = self.place(hash);
        let kept = Bodies::is_kept(&place, body.len());
        let kept = kept.and_then(|kept| {
            if kept {
                Ok(())
            } else {
                self.write(&place, body)
            }
        });
        kept.map_err(|error| {
            Error::new(ErrorKind::Output)
                .with_message(format!("cannot keep a body in {}", place.display()))
                .with_source(error)
        })
    }

    /// Whether a body of this length is there. Only a file that a loss of
    /// power left without its end is shorter than it says.
    fn is_kept(place: &Path, length: usize) -> io::Result<bool> {
        let mut file = match File::open(place) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        let mut said = [0; LENGTH_FIELD as usize];
        if file.metadata()?.len() < LENGTH_FIELD as u64 {
            return Ok(false);
        }
        file.seek(SeekFrom::End(-LENGTH_FIELD))?;
        file.read_exact(&mut said)?;
        Ok(u32::from_le_bytes(said) == length as u32)
    }

    fn write(&self, place: &Path, body: &[u8]) -> io::Result<()> {
        let new = self.dir.join(NEW);
        if self.ready.get().is_none() {
            self.make_ready(&new)?;
        }
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let new = new.join(number.to_string());
        let folder = place.parent().expect("a body has a folder");
        let written = (|| {
            let file = File::create_new(&new)?;
            // Crawling should cost little, and pages shrink well in any case.
            let mut coder = GzEncoder::new(file, Compression::fast());
            coder.write_all(body)?;
            let file = coder.finish()?;
            if self.durable {
                file.sync_data()?;
            }
            match fs::rename(&new, place) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    fs::create_dir_all(folder)?;
                    if self.durable {
                        sync(&self.dir)?;
                    }
                    fs::rename(&new, place)?;
                }
                renamed => renamed?,
            }
            if self.durable {
                sync(folder)?;
            }
            Ok(())
        })();
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written
    }

    /// Makes the folder for new bodies, or empties it.
    fn make_ready(&self, new: &Path) -> io::Result<()> {
        static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let _guard = ONE_AT_A_TIME
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if self.ready.get().is_some() {
            return Ok(());
        }
        match fs::remove_dir_all(new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::create_dir_all(new)?;
        if self.durable {
            sync(&self.dir)?;
        }
        let _ = self.ready.set(());
        Ok(())
    }

    /// The body with this hash and length.
    ///
    /// # Errors
    /// Of kind [`Output`](ErrorKind::Output): it is not there, or not as it
    /// was.
    #[cfg(any(feature = "cli", test))]
    pub(crate) fn read(&self, hash: u64, length: u64) -> Result<Vec<u8>> {
        let place = self.place(hash);
        let read = (|| {
            let mut body = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
            let coded = File::open(&place)?;
            // One byte more tells a longer body.
            let mut whole = GzDecoder::new(coded).take(length.saturating_add(1));
            whole.read_to_end(&mut body)?;
            if body.len() as u64 != length || uri::hash(&body) != hash {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "it is not what was kept",
                ));
            }
            Ok(body)
        })();
        read.map_err(|error| {
            Error::new(ErrorKind::Output)
                .with_message(format!("cannot read the body in {}", place.display()))
                .with_source(error)
        })
    }

    fn place(&self, hash: u64) -> PathBuf {
        // 256 folders, so that none is too large for what lists it.
        let name = format!("{hash:016x}.gz");
        self.dir.join(&name[..2]).join(&name)
    }
}

/// Makes what was created in a folder last, where the system can.
fn sync(dir: &Path) -> io::Result<()> {
    match File::open(dir).and_then(|dir| dir.sync_all()) {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidInput
                    | io::ErrorKind::Unsupported
                    | io::ErrorKind::PermissionDenied
            ) =>
        {
            Ok(())
        }
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("canter-bodies-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            Folder(path)
        }

        /// Every file in it but the folder of new ones.
        fn files(&self) -> Vec<PathBuf> {
            let entries = |dir: &Path| -> Vec<PathBuf> {
                let entries = fs::read_dir(dir).expect("a folder");
                entries
                    .map(|entry| entry.expect("an entry").path())
                    .collect()
            };
            let folders = entries(&self.0).into_iter();
            folders.flat_map(|folder| entries(&folder)).collect()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_is_kept_is_read_and_kept_once() {
        for durable in [false, true] {
            let folder = Folder::new("kept");
            let bodies = Bodies::new(&folder.0, durable);
            let texts: Vec<Vec<u8>> = (0..50)
                .map(|n| format!("page {}", n % 20).repeat(n % 20).into())
                .collect();
            for body in &texts {
                bodies.keep(uri::hash(body), body).expect("kept");
            }
            assert_eq!(folder.files().len(), 20);
            for body in &texts {
                let read = bodies.read(uri::hash(body), body.len() as u64);
                assert_eq!(&read.expect("a body"), body);
            }
        }
    }

    #[test]
    fn a_body_that_lost_its_end_is_told_and_written_anew() {
        let folder = Folder::new("torn");
        let bodies = Bodies::new(&folder.0, false);
        let body = b"a body that is worth keeping".repeat(9);
        let hash = uri::hash(&body);
        let read = || bodies.read(hash, body.len() as u64);
        assert!(read().is_err(), "nothing is there");
        bodies.keep(hash, &body).expect("kept");
        let place = folder.files().pop().expect("a file");
        let coded = fs::read(&place).expect("readable");
        for torn in [0, 3, 10, coded.len() - 1] {
            fs::write(&place, &coded[..torn]).expect("writable");
            let error = read().expect_err("torn");
            assert!(
                error.to_string().contains(place.to_str().expect("UTF-8")),
                "{error}"
            );
            bodies.keep(hash, &body).expect("kept");
            assert_eq!(read().expect("a body"), body);
        }
        let mut other = coded.clone();
        other[20] ^= 1;
        fs::write(&place, &other).expect("writable");
        assert!(read().is_err(), "a flipped bit");
    }

    #[test]
    fn what_a_killed_run_left_is_cleared_away() {
        let folder = Folder::new("left");
        fs::create_dir_all(folder.0.join(NEW)).expect("a folder");
        fs::write(folder.0.join(NEW).join("0"), b"half").expect("a file");
        let bodies = Bodies::new(&folder.0, false);
        bodies.keep(7, b"x").expect("kept");
        assert_eq!(
            fs::read_dir(folder.0.join(NEW)).expect("a folder").count(),
            0
        );
    }

    #[test]
    fn many_threads_may_keep_the_same_bodies() {
        let folder = Folder::new("threads");
        let bodies = Bodies::new(&folder.0, false);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for n in 0..100_u32 {
                        let body = n.to_string().repeat(50);
                        bodies
                            .keep(uri::hash(body.as_bytes()), body.as_bytes())
                            .expect("kept");
                    }
                });
            }
        });
        assert_eq!(folder.files().len(), 100);
    }

    #[test]
    fn a_folder_that_cannot_be_written_ends_the_run() {
        let folder = Folder::new("refused");
        fs::write(&folder.0, b"a file").expect("a file");
        let error = Bodies::new(&folder.0, false)
            .keep(1, b"x")
            .expect_err("no folder");
        assert_eq!(error.kind(), ErrorKind::Output);
        let _ = fs::remove_file(&folder.0);
    }
}
