//! `canter extract`: the extraction again, over the bodies that crawls have
//! kept. Keeps: nothing is fetched, no file of the crawl is touched, and a file
//! is written whole or not at all.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::args::ExtractArgs;
use super::exit::Exit;
use super::progress::counted;
use super::{advise, complain, logger, signal, target};
use crate::config::offline::{Offline, Wanted};
use crate::config::{OutputPath, Settings, Source};
use crate::error::{Error, ErrorKind, Result};
use crate::extract::Effects;
use crate::ledger::{self, CsvColumns};

/// Bytes that are gathered before they are written.
const BUFFER: usize = 1 << 16;

/// Runs the extraction again.
pub(super) fn extract(args: &ExtractArgs) -> Exit {
    let settings = match args.given.source().and_then(Source::read) {
        Ok(settings) => settings,
        Err(error) => {
            complain(&error.to_string());
            return Exit::Usage;
        }
    };
    logger::start(args.verbose, false);
    match run(&settings, args) {
        Ok(exit) => exit,
        Err(error) => {
            if is_closed_pipe(&error) {
                return Exit::Signal(signal::PIPE);
            }
            complain(&error.to_string());
            Exit::of_error(&error)
        }
    }
}

fn run(settings: &Settings, args: &ExtractArgs) -> Result<Exit> {
    let Some(bodies) = &settings.output.bodies else {
        return Err(Error::invalid(
            "nothing was kept: the configuration has no output.bodies",
        ));
    };
    let wanted = match &args.into {
        None => Wanted::Items,
        Some(_) => Wanted::Everything,
    };
    if wanted == Wanted::Items && !settings.has_rules() {
        return Err(Error::invalid(
            "nothing to extract: the configuration has no [extract.NAME]; \
             --into FOLDER writes the records of the pages anew",
        ));
    }
    let offline = settings.offline(bodies, wanted);
    if let Err(error) = fs::metadata(offline.index()) {
        return Err(Error::new(ErrorKind::Output)
            .with_message(format!(
                "no crawl has kept a body yet: cannot read {}",
                offline.index().display()
            ))
            .with_source(error));
    }
    let mut outputs = Outputs::open(settings, args, &offline)?;
    if args.into.is_some() {
        warn_of_passes(settings, offline.has_main());
    }
    let counts = offline.run(&mut |effects| outputs.take(&effects))?;
    let items = outputs.records;
    outputs.finish()?;
    if !args.quiet {
        complain(&format!(
            "{} read again from {}: {}{}",
            counted(counts.pages, "page"),
            bodies.display(),
            counted(
                items,
                if wanted == Wanted::Items {
                    "item"
                } else {
                    "record"
                }
            ),
            match counts.lost {
                0 => String::new(),
                lost => format!("; {} could not be read", counted(lost, "page")),
            }
        ));
    }
    Ok(if counts.lost == 0 {
        Exit::Complete
    } else {
        Exit::Failure
    })
}

/// Says which outputs would be files of passes in a crawl: what was kept is
/// read as a whole.
fn warn_of_passes(settings: &Settings, has_main: bool) {
    let has_pass = |path: &OutputPath| path.pattern().to_string_lossy().contains("{pass}");
    let mut keys = Vec::new();
    if has_main && has_pass(&settings.output.path) {
        keys.push("output.path".to_owned());
    }
    #[cfg(feature = "select")]
    for extract in &settings.extract {
        if extract.output.as_ref().is_some_and(has_pass) {
            keys.push(format!("extract.{}.output", extract.rules.name()));
        }
    }
    if !keys.is_empty() {
        advise(&format!(
            "{{pass}} in {} stands for 1: the kept pages of all passes are read as one",
            keys.join(", ")
        ));
    }
}

fn is_closed_pipe(error: &Error) -> bool {
    let source = error
        .source()
        .and_then(|source| source.downcast_ref::<io::Error>());
    source.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Where the records go.
struct Outputs {
    /// One for each output of the crawl, or one for all.
    files: Vec<Target>,
    /// The number of the first output beside that of the pages' records.
    beside: usize,
    /// How many records were written.
    records: u64,
    line: Vec<u8>,
}

impl Outputs {
    /// Opens everything, and checks that none of it is the crawl's own.
    fn open(settings: &Settings, args: &ExtractArgs, offline: &Offline) -> Result<Outputs> {
        let mut files = Vec::new();
        let mut beside = 0;
        match (&args.into, &args.output) {
            (Some(_), Some(_)) => {
                return Err(Error::invalid("--output and --into exclude each other"));
            }
            (None, None) => files.push(Target::standard()),
            (None, Some(path)) => {
                let is_csv = path
                    .extension()
                    .is_some_and(|end| end.eq_ignore_ascii_case("csv"));
                let csv = is_csv.then(|| offline.columns().clone());
                target::check(settings, "--output", path)?;
                files.push(Target::create(path, csv)?);
            }
            (Some(folder), None) => {
                beside = usize::from(offline.has_main());
                let mut names = BTreeMap::new();
                for output in offline.outputs() {
                    let name = file_name(&output.pattern, output.csv.is_some());
                    let path = folder.join(&name);
                    if let Some(other) = names.insert(name, output.pattern.clone()) {
                        return Err(Error::invalid(format!(
                            "{} and {} would both be {}",
                            other.display(),
                            output.pattern.display(),
                            path.display()
                        )));
                    }
                    target::check(settings, "--into", &path)?;
                    files.push(Target::create(&path, output.csv.clone())?);
                }
            }
        }
        for file in &mut files {
            file.write_header()?;
        }
        Ok(Outputs {
            files,
            beside,
            records: 0,
            line: Vec::new(),
        })
    }

    /// Writes what came of a page.
    fn take(&mut self, effects: &Effects) -> Result<()> {
        let main = effects.records.iter().map(|record| (0, record));
        let beside = effects.beside.iter();
        let beside = beside.map(|line| (self.beside + line.output, &line.line));
        for (at, record) in main.chain(beside) {
            let file = &mut self.files[at];
            self.line.clear();
            if let Some(columns) = &file.csv {
                columns.push_row(&mut self.line, record.as_bytes());
            } else {
                self.line.extend_from_slice(record.as_bytes());
                self.line.push(b'\n');
            }
            file.write(&self.line)?;
            self.records += 1;
        }
        Ok(())
    }

    /// Puts the files into their places.
    fn finish(self) -> Result<()> {
        self.files.into_iter().try_for_each(Target::finish)
    }
}

/// The name under which an output of the crawl is written again.
fn file_name(pattern: &Path, csv: bool) -> String {
    let name = pattern.file_name().unwrap_or_default().to_string_lossy();
    if name == "-" {
        return if csv { "records.csv" } else { "records.jsonl" }.to_owned();
    }
    let today = crate::config::rfc3339::date(SystemTime::now());
    name.replace("{date}", &today).replace("{pass}", "1")
}

/// A file, or standard output.
struct Target {
    out: BufWriter<Box<dyn Write + Send>>,
    csv: Option<CsvColumns>,
    /// The file in the making, and its place.
    file: Option<(PathBuf, PathBuf)>,
}

impl Target {
    fn standard() -> Target {
        Target {
            out: BufWriter::with_capacity(BUFFER, Box::new(io::stdout())),
            csv: None,
            file: None,
        }
    }

    fn create(path: &Path, csv: Option<CsvColumns>) -> Result<Target> {
        let path = &*ledger::whole_place(path).map_err(|error| cannot_write(path, error))?;
        let new = target::in_the_making(path);
        let folder = path.parent().unwrap_or(Path::new(""));
        let file = fs::create_dir_all(folder).and_then(|()| File::create(&new));
        let file = file.map_err(|error| cannot_write(path, error))?;
        Ok(Target {
            out: BufWriter::with_capacity(BUFFER, Box::new(file)),
            csv,
            file: Some((new, path.to_owned())),
        })
    }

    fn write_header(&mut self) -> Result<()> {
        let header = self.csv.as_ref().map(CsvColumns::header);
        self.write(&header.unwrap_or_default())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|error| self.error(error))
    }

    fn finish(mut self) -> Result<()> {
        self.out.flush().map_err(|error| self.error(error))?;
        let Some((new, place)) = &self.file else {
            return Ok(());
        };
        let placed = File::open(new)
            .and_then(|file| file.sync_all())
            .and_then(|()| fs::rename(new, place));
        placed.map_err(|error| self.error(error))
    }

    fn error(&self, error: io::Error) -> Error {
        match &self.file {
            Some((_, place)) => cannot_write(place, error),
            None => cannot_write(Path::new("standard output"), error),
        }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // Nothing is left of what did not come to its end.
        if let Some((new, _)) = &self.file {
            let _ = fs::remove_file(new);
        }
    }
}

fn cannot_write(path: &Path, error: io::Error) -> Error {
    Error::new(ErrorKind::Output)
        .with_message(format!("cannot write {}", path.display()))
        .with_source(error)
}
