//! [`Offline`]: pages read again from their kept bodies, without the network
//! and on every core. Keeps: what comes of a page is what the crawl made of it
//! with the same settings, byte for byte, and in the order in which it did.

mod found;

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use log::warn;
use rayon::iter::{
    IndexedParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _,
};

use super::bodies::Bodies;
#[cfg(feature = "select")]
use super::item_record;
use super::outputs::{Output, Outputs};
use super::page_handler::PageHandler;
use super::{PageField, Settings};
use crate::error::{Error, ErrorKind, Result};
use crate::extract::{Context, Effects, Services};
use crate::fetch::{Fetch, Response};
use crate::handler::{self, Ended};
use crate::ledger::CsvColumns;
use crate::outcome::Outcome;
use crate::request::Request;
use found::Found;

/// Pages that are read in parallel before what came of them is written: enough
/// to keep every core busy, and few enough to be held in memory.
const BATCH: usize = 512;
/// Pages that one core takes at a time: few, so that no core waits long for
/// another at the end of a batch.
const SHARE: usize = 8;
/// Bytes of the index that are read at once.
const READ: usize = 1 << 20;

/// What is made of the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The items of all rules, for one output.
    Items,
    /// Everything that the crawl would write, each for its own output.
    Everything,
}

/// An output as the crawl has it.
#[derive(Debug)]
pub(crate) struct OfflineOutput {
    /// The path as the configuration has it; `-` for standard output.
    pub(crate) pattern: PathBuf,
    /// Its columns, if it has some.
    pub(crate) csv: Option<CsvColumns>,
}

/// Pages whose bodies were kept.
pub(crate) struct Offline {
    handler: PageHandler,
    services: Services,
    bodies: Bodies,
    index: PathBuf,
    outputs: Vec<OfflineOutput>,
    has_main: bool,
    columns: CsvColumns,
}

/// How many pages were read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) pages: u64,
    /// Pages that could not be read.
    pub(crate) lost: u64,
}

impl Settings {
    /// The pages that crawls with these settings kept in `dir`.
    pub(crate) fn offline(&self, dir: &Path, wanted: Wanted) -> Offline {
        let mut outputs = self.outputs();
        let output = |output: &Output| OfflineOutput {
            pattern: output.path.pattern(),
            csv: output.csv(),
        };
        let has_main = outputs.main.is_some();
        let main = outputs.main.iter().map(output);
        let files = main.chain(outputs.beside.iter().map(output)).collect();
        let columns = self.item_columns();
        if wanted == Wanted::Items {
            together(&mut outputs);
        }
        let mut handler = self.page_handler(false, &outputs);
        if wanted == Wanted::Items {
            handler = handler.without_pages();
        }
        let wants = |field| self.output.pages && self.output.fields.contains(field);
        let services = Services::new(Arc::new(Stored::default()))
            .with_agent(&self.fetch.user_agent)
            .with_page_text(wants(PageField::Text))
            .with_page_json_ld(wants(PageField::JsonLd));
        Offline {
            handler,
            services,
            bodies: Bodies::new(dir, false),
            index: Bodies::index(dir),
            outputs: files,
            has_main,
            columns,
        }
    }

    /// The columns of all items together.
    #[cfg(feature = "select")]
    fn item_columns(&self) -> CsvColumns {
        let rules = self.extract.iter();
        CsvColumns::new(rules.flat_map(|extract| item_record::columns(&extract.rules)))
    }

    #[cfg(not(feature = "select"))]
    #[expect(clippy::unused_self, reason = "without the feature there are no items")]
    fn item_columns(&self) -> CsvColumns {
        CsvColumns::new(Vec::<String>::new())
    }
}

/// Sends all items to the main output.
fn together(outputs: &mut Outputs) {
    #[cfg(feature = "select")]
    outputs.of_rules.fill(None);
    #[cfg(not(feature = "select"))]
    let _ = outputs;
}

/// A fetcher that has one answer.
#[derive(Default)]
struct Stored(Mutex<Option<Response>>);

impl Fetch for Stored {
    fn fetch(&self, _: &Request, _: Instant) -> Result<Response> {
        let mut stored = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stored
            .take()
            .ok_or_else(|| Error::invalid("nothing is fetched here"))
    }
}

impl Offline {
    /// The outputs of the crawl, that of the pages' records first, if there is
    /// one.
    pub(crate) fn outputs(&self) -> &[OfflineOutput] {
        &self.outputs
    }

    /// Whether the first of them is that of the pages' records.
    pub(crate) fn has_main(&self) -> bool {
        self.has_main
    }

    /// The columns of all items together.
    pub(crate) fn columns(&self) -> &CsvColumns {
        &self.columns
    }

    /// The index.
    pub(crate) fn index(&self) -> &Path {
        &self.index
    }

    /// Reads every page, and hands over what comes of each, in the order in
    /// which the crawl ended them. A page that cannot be read is logged and
    /// counted. A last line that was torn is passed over.
    ///
    /// # Errors
    /// When the index cannot be read, or `take` fails.
    pub(crate) fn run(
        &self,
        take: &mut (dyn FnMut(Effects) -> Result<()> + Send),
    ) -> Result<Counts> {
        let refuse = |error: io::Error| {
            Error::new(ErrorKind::Output)
                .with_message(format!("cannot read {}", self.index.display()))
                .with_source(error)
        };
        let file = File::open(&self.index).map_err(refuse)?;
        let mut lines = Lines {
            file: BufReader::with_capacity(READ, file),
            number: 0,
        };
        let mut counts = Counts::default();
        let mut read: Vec<Result<Effects, String>> = Vec::new();
        loop {
            let batch = lines.next(BATCH).map_err(refuse)?;
            // What came of one batch is written while the next is read.
            let (pages, taken) = rayon::join(
                || -> Vec<_> {
                    let shares = batch.par_iter().with_max_len(SHARE);
                    shares.map(|line| self.line(line)).collect()
                },
                || -> Result<()> {
                    for page in read.drain(..) {
                        match page {
                            Ok(effects) => {
                                counts.pages += 1;
                                take(effects)?;
                            }
                            Err(why) => {
                                counts.lost += 1;
                                warn!("{why}");
                            }
                        }
                    }
                    Ok(())
                },
            );
            taken?;
            if pages.is_empty() {
                return Ok(counts);
            }
            read = pages;
        }
    }

    /// Reads the page of a line.
    fn line(&self, (number, line): &(u64, Vec<u8>)) -> Result<Effects, String> {
        let in_line = |why: String| format!("{}: line {number}: {why}", self.index.display());
        let found = Found::read(line).map_err(in_line)?;
        let url = found.request.url().clone();
        self.page(found).map_err(|why| format!("{url}: {why}"))
    }

    fn page(&self, found: Found) -> Result<Effects> {
        let Found {
            request,
            response,
            hash,
            bytes,
            fetched_at,
            changed,
        } = found;
        let response = if bytes == 0 {
            response
        } else {
            response.with_body(self.bodies.read(hash, bytes)?)
        };
        let mut services = self.services.clone().with_wall_clock(move || fetched_at);
        services.fetch = Arc::new(Stored(Mutex::new(Some(response))));
        // Another hash than the body's stands for the one that it had.
        let previous = changed.map(|changed| if changed { !hash } else { hash });
        let cx = Context::new(request, Arc::new(services)).with_previous(previous);
        let report = handler::run(&self.handler, cx);
        match report.ended {
            Ended::Outcome(Outcome::Done) => Ok(report.effects),
            Ended::Outcome(Outcome::Fail(error)) => Err(error),
            _ => Err(Error::worker("the page did not end as it did in the crawl")),
        }
    }
}

/// The whole lines of a file, numbered from 1.
struct Lines<R> {
    file: R,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// The next lines, at most `most`; none at the end.
    fn next(&mut self, most: usize) -> io::Result<Vec<(u64, Vec<u8>)>> {
        let mut lines = Vec::with_capacity(most);
        while lines.len() < most {
            let mut line = Vec::new();
            self.file.read_until(b'\n', &mut line)?;
            if line.last() != Some(&b'\n') {
                if !line.is_empty() {
                    warn!("the last line of the index is not whole, and passed over");
                }
                break;
            }
            self.number += 1;
            lines.push((self.number, line));
        }
        Ok(lines)
    }
}
