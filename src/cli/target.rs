//! [`check`]: a file that an option names is none of the crawl's own.

use std::path::{Path, PathBuf};

use crate::config::Settings;
use crate::error::{Error, Result};

/// What stands behind the name of a file while it is written.
const NEW: &str = ".new";

/// The name that a file has while it is written.
pub(super) fn in_the_making(path: &Path) -> PathBuf {
    let mut new = path.as_os_str().to_owned();
    new.push(NEW);
    PathBuf::from(new)
}

/// Whether the file may be written in the name of an option.
///
/// # Errors
/// Of kind [`Invalid`](crate::ErrorKind::Invalid), when the crawl that the
/// settings describe reads or writes it.
pub(super) fn check(settings: &Settings, option: &str, path: &Path) -> Result<()> {
    for file in [path, &in_the_making(path)] {
        if let Some(owner) = settings.owner_of(file) {
            return Err(Error::invalid(format!(
                "{option}: {} is a file of the crawl itself ({owner}); name another",
                file.display()
            )));
        }
    }
    Ok(())
}
