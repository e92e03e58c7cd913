//! `canter report`: a page about the last run and the crawl so far, one file
//! that needs no other. Keeps: the state is read without its lock, and a page
//! is written whole or not at all.
//!
//! | file | what it holds |
//! |---|---|
//! | `page` | the document and its sections |
//! | `pace`, `hosts`, `crawl` | the plots of a run; hosts; the crawl so far |
//! | `series`, `scale` | a timeline in columns; places on axes |
//! | `chart`, `table`, `names`, `text` | plots, tables, colours and names, text |

mod chart;
mod crawl;
mod hosts;
mod names;
mod pace;
mod page;
mod scale;
mod series;
mod table;
mod text;

use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::exit::Exit;
use super::status::{is_before_first_run, nothing_yet};
use super::term::sanitize;
use super::{complain, print, target};
use crate::config::{ConfigError, Settings};
use crate::crawler::chronicle::Chronicle;
use crate::error::Result;
use crate::ledger::{self, Ledger};
use page::Page;

/// Makes a page about the crawl that a configuration describes.
pub(super) fn report(settings: Result<Settings, ConfigError>, output: Option<&Path>) -> Exit {
    let settings = match settings {
        Ok(settings) => settings,
        Err(error) => {
            complain(&error.to_string());
            return Exit::Usage;
        }
    };
    let Some(dir) = &settings.state else {
        complain("the configuration keeps no state: it has no state.dir");
        return Exit::Usage;
    };
    if let Some(path) = output
        && let Err(error) = target::check(&settings, "--output", path)
    {
        complain(&error.to_string());
        return Exit::of_error(&error);
    }
    let page = match of_state(&settings, dir) {
        Ok(page) => page,
        Err(error) if is_before_first_run(&error) => {
            complain(&nothing_yet(dir));
            // The page that was asked for says so as well.
            page(&settings, None, None, &[])
        }
        Err(error) => {
            complain(&error.to_string());
            return Exit::of_error(&error);
        }
    };
    match output {
        None => print(&page),
        Some(path) => match write(path, &page) {
            Ok(()) => Exit::Complete,
            Err(error) => {
                complain(&cannot_write(path, &error));
                Exit::Failure
            }
        },
    }
}

/// Writes a page about the run that has just ended.
///
/// # Errors
/// What kept it from being written, ready to be shown.
pub(super) fn of_run(
    settings: &Settings,
    chronicle: Option<&Chronicle>,
    path: &Path,
) -> Result<(), String> {
    // A state that cannot be read was told of already.
    let of_state = settings
        .state
        .as_deref()
        .and_then(|dir| of_state(settings, dir).ok());
    let page = of_state.unwrap_or_else(|| page(settings, chronicle, None, &[]));
    write(path, &page).map_err(|error| cannot_write(path, &error))
}

fn cannot_write(path: &Path, error: &io::Error) -> String {
    format!(
        "the report cannot be written to {}: {error}",
        path.display()
    )
}

/// Whether a page could be written there.
pub(super) fn can_write(path: &Path) -> Result<(), String> {
    if path.is_dir() {
        return Err(cannot_write(path, &io::ErrorKind::IsADirectory.into()));
    }
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    match folder {
        Some(folder) => std::fs::create_dir_all(folder).map_err(|error| cannot_write(path, &error)),
        None => Ok(()),
    }
}

fn write(path: &Path, page: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    ledger::write_whole(path, page.as_bytes())
}

/// The page of a crawl with a state.
fn of_state(settings: &Settings, dir: &Path) -> Result<String> {
    let status = Ledger::status(dir)?;
    let failed = Ledger::failed(dir)?;
    let chronicle = Chronicle::read(dir).unwrap_or_else(|error| {
        complain(&error.to_string());
        None
    });
    Ok(page(settings, chronicle.as_ref(), Some(&status), &failed))
}

fn page(
    settings: &Settings,
    chronicle: Option<&Chronicle>,
    status: Option<&ledger::Status>,
    failed: &[ledger::FailedUrl],
) -> String {
    let name = settings
        .file()
        .map_or("crawl".to_owned(), |file| file.display().to_string());
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or(Duration::ZERO);
    Page {
        name: sanitize(&name).into_owned(),
        chronicle,
        status,
        failed,
        now: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
    }
    .html()
}
