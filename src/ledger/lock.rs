//! Locks and names of files. Keeps: a lock is the kernel's, on an open file,
//! and dies with the process that holds it; a lock file is never deleted, so
//! that no two runs can each hold one of two files of the same name.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::ops::{Deref, DerefMut};
use std::path::{Component, Path, PathBuf};

use super::fault::Fault;
use crate::error::Result;

/// The file in the state folder that is locked.
const LOCK: &str = "lock";
/// How often a file is opened again that another run has just replaced.
const REOPENINGS: usize = 8;

/// A file that is locked until this is dropped. The lock is taken back and not
/// only closed: a process that is just being started elsewhere in the program
/// has the file open, too, until it runs its own program.
#[derive(Debug)]
pub(super) struct Locked(File);

impl Drop for Locked {
    fn drop(&mut self) {
        // The kernel does it otherwise, when the last one closes the file.
        let _ = self.0.unlock();
    }
}

impl Deref for Locked {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut File {
        &mut self.0
    }
}

/// Locks a state folder, which is made if it is not there.
///
/// # Errors
/// [`Fault::Held`] at once when another run holds it, or [`Fault::Io`].
pub(super) fn lock_folder(dir: &Path) -> Result<Locked> {
    let refuse = |fault: Fault| fault.state("cannot use the state folder", dir);
    make_folder(dir).map_err(|error| refuse(error.into()))?;
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(dir.join(LOCK))
        .map_err(|error| refuse(error.into()))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(refuse(Fault::Held(holder(&mut file)))),
        Err(TryLockError::Error(error)) => return Err(refuse(error.into())),
    }
    // For people only: what counts is the lock. A full disk is met soon enough.
    let _ = file.set_len(0);
    let _ = file.write_all(format!("{}\n", std::process::id()).as_bytes());
    Ok(Locked(file))
}

fn holder(file: &mut File) -> String {
    const DIGITS: u64 = 20;
    let mut text = String::new();
    match file.take(DIGITS).read_to_string(&mut text) {
        Ok(_) if text.trim().parse::<u32>().is_ok() => {
            format!("another run holds it (process {})", text.trim())
        }
        _ => "another run holds it".to_owned(),
    }
}

/// Opens and locks a file that is there. `None` if there is none.
///
/// # Errors
/// [`Fault::Held`] at once when another run holds it, or [`Fault::Io`].
pub(super) fn open_locked(path: &Path) -> Result<Option<Locked>, Fault> {
    for _ in 0..REOPENINGS {
        let file = match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let file = lock(file)?;
        // The run that held it may have put another file in its place.
        if is_at(&file, path)? {
            return Ok(Some(file));
        }
    }
    Err(Fault::Held("another run keeps replacing it".to_owned()))
}

/// Locks an open file; a file system without locks is none of our business.
pub(super) fn lock(file: File) -> Result<Locked, Fault> {
    match file.try_lock() {
        Ok(()) => Ok(Locked(file)),
        Err(TryLockError::WouldBlock) => Err(Fault::Held("another run holds it".to_owned())),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
            Ok(Locked(file))
        }
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let open = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((open.dev(), open.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

/// The path with something put behind its name.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// The folder that a file stands in.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Makes a folder and those that lead to it, so that they last.
pub(super) fn make_folder(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    let parent = folder_of(dir);
    if parent != dir {
        make_folder(parent)?;
    }
    match fs::create_dir(dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists || !dir.is_dir() => Err(error),
        _ => sync_folder(parent),
    }
}

/// Makes what was created, renamed or removed in a folder last.
pub(super) fn sync_folder(dir: &Path) -> io::Result<()> {
    match File::open(dir).and_then(|dir| dir.sync_all()) {
        // Some file systems and systems cannot, and need not.
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

/// The place of a file that is to be replaced as a whole: not that of a link to
/// it.
///
/// # Errors
/// What stands there is no file: a device or a pipe would be gone.
pub(crate) fn whole_place(path: &Path) -> io::Result<PathBuf> {
    match fs::metadata(path) {
        Ok(there) if there.is_file() => fs::canonicalize(path),
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "what is there is no file",
        )),
        Err(_) => Ok(path.to_owned()),
    }
}

/// Writes a file whole or not at all, and makes it last: beside its place
/// first, then renamed.
///
/// # Errors
/// Those of [`whole_place`], and of writing.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let place = whole_place(path)?;
    let new = with_suffix(&place, ".new");
    let written = (|| {
        let mut file = File::create(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&new, &place)?;
        sync_folder(folder_of(&place))
    })();
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

/// How `to` is reached from `dir`, by names alone, so that a state and its
/// outputs can be moved together.
pub(super) fn relative(dir: &Path, to: &Path) -> PathBuf {
    let (dir, to) = (plain(dir), plain(to));
    let same = dir
        .components()
        .zip(to.components())
        .take_while(|(one, other)| one == other)
        .count();
    if same == 0 {
        return to;
    }
    let up = dir.components().count() - same;
    std::iter::repeat_n(Component::ParentDir, up)
        .chain(to.components().skip(same))
        .collect()
}

/// Where `path` leads from `dir`; undoes [`relative`].
pub(super) fn resolve(dir: &Path, path: &Path) -> PathBuf {
    plain(&dir.join(path))
}

/// An absolute path without `.` and `..`, by names alone.
fn plain(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_leads_back() {
        for (dir, to, way) in [
            ("/a/state", "/a/pages.jsonl", "../pages.jsonl"),
            ("/a/state/", "/a/./out/../pages.jsonl", "../pages.jsonl"),
            ("/a", "/a/b/c", "b/c"),
            ("/a/b", "/c/d", "../../c/d"),
        ] {
            let (dir, to) = (Path::new(dir), Path::new(to));
            assert_eq!(relative(dir, to), Path::new(way));
            assert_eq!(resolve(dir, Path::new(way)), plain(to));
        }
    }
}
