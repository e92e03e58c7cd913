//! [`TempDir`]: a folder of a test's own, gone when the test is.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A fresh, empty folder that is removed with everything in it on drop. Set
/// `CANTER_KEEP_TEMP` to keep it and read its path on standard error.
///
/// It lies beside the build where Cargo says so, since `/tmp` is memory on many
/// machines and proves little about files that were synced.
#[derive(Debug)]
pub(crate) struct TempDir {
    path: PathBuf,
}

impl TempDir {
    /// Makes the folder.
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let parent =
            option_env!("CARGO_TARGET_TMPDIR").map_or_else(std::env::temp_dir, PathBuf::from);
        fs::create_dir_all(&parent)
            .unwrap_or_else(|e| panic!("cannot make {}: {e}", parent.display()));
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("canter-{}-{count}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return TempDir { path },
                // Left over from a process that was killed and had this id.
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => panic!("cannot make {}: {e}", path.display()),
            }
        }
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A path inside the folder.
    pub(crate) fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file, and the folders that it lies in.
    pub(crate) fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)
                .unwrap_or_else(|e| panic!("cannot make {}: {e}", parent.display()));
        }
        fs::write(&path, content)
            .unwrap_or_else(|e| panic!("cannot write {}: {e}", path.display()));
        path
    }

    /// Reads a file as text.
    pub(crate) fn read(&self, name: impl AsRef<Path>) -> String {
        let path = self.join(name);
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("cannot read {}: {e}", path.display()))
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        if std::env::var_os("CANTER_KEEP_TEMP").is_some() {
            eprintln!("kept {}", self.path.display());
        } else if let Err(e) = fs::remove_dir_all(&self.path)
            && e.kind() != std::io::ErrorKind::NotFound
        {
            eprintln!("cannot remove {}: {e}", self.path.display());
        }
    }
}
