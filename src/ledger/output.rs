//! [`Output`]: a file of lines that is only ever appended to. Keeps: it ends
//! with a whole line after every write, also after one that failed; one that
//! has a header has it once and first; and no two runs write one file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::fault::Fault;
use super::lock::{self, Locked, folder_of, make_folder, sync_folder, with_suffix};
use crate::error::Result;

/// The name of standard output.
const STANDARD_OUTPUT: &str = "-";
/// What stands behind the name of a file that will replace another.
const PART: &str = ".part";

/// Which file the state says is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    /// From the state folder; `-` for standard output.
    pub(super) path: String,
    /// Whether it is written beside the file that it will replace.
    pub(super) part: bool,
}

impl Mark {
    /// The mark of a target, seen from the state folder.
    pub(super) fn new(dir: &Path, target: &Path, part: bool) -> Self {
        let path = if is_standard_output(target) {
            STANDARD_OUTPUT.to_owned()
        } else {
            lock::relative(dir, target).to_string_lossy().into_owned()
        };
        Mark { path, part }
    }

    /// The file that is written.
    pub(super) fn file(&self, dir: &Path) -> PathBuf {
        let target = lock::resolve(dir, Path::new(&self.path));
        if self.part { part_of(&target) } else { target }
    }

    /// Puts the file into its place, as a finished pass asks for: the run that
    /// finished it may have been killed before it came to it.
    pub(super) fn put_into_place(&mut self, dir: &Path) -> io::Result<()> {
        if !self.part {
            return Ok(());
        }
        let target = lock::resolve(dir, Path::new(&self.path));
        match fs::rename(part_of(&target), &target) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => self.part = false,
        }
        sync_folder(folder_of(&target))
    }
}

/// The files that a state knows. Their lengths stand in its checkpoints, in
/// the order of [`Marks::each`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Marks {
    pub(super) records: Option<Mark>,
    pub(super) log: Option<Mark>,
    pub(super) beside: Vec<Mark>,
}

impl Marks {
    /// The files there are, each with the place of its length.
    pub(super) fn each(&self) -> impl Iterator<Item = (usize, &Mark)> {
        let fixed = [&self.records, &self.log].into_iter().map(Option::as_ref);
        let beside = self.beside.iter().map(Some);
        let all = fixed.chain(beside).enumerate();
        all.filter_map(|(at, mark)| Some((at, mark?)))
    }

    pub(super) fn each_mut(&mut self) -> impl Iterator<Item = &mut Mark> {
        let fixed = self.records.iter_mut().chain(&mut self.log);
        fixed.chain(&mut self.beside)
    }
}

pub(super) fn is_standard_output(path: &Path) -> bool {
    path == Path::new(STANDARD_OUTPUT)
}

/// Where a file is written that is to replace another.
pub(crate) fn part_of(target: &Path) -> PathBuf {
    with_suffix(target, PART)
}

/// The path with `{date}` and `{pass}` replaced. One that is not UTF-8 holds
/// neither.
pub(super) fn fill_in(path: &Path, date: &str, pass: u64) -> PathBuf {
    match path.to_str() {
        Some(text) => text
            .replace("{date}", date)
            .replace("{pass}", &pass.to_string())
            .into(),
        None => path.to_owned(),
    }
}

#[derive(Debug)]
enum Kind {
    File(Locked),
    /// A pipe or device: cannot be cut and need not be synced.
    Stream(File),
    Standard,
}

#[derive(Debug)]
pub(super) struct Output {
    kind: Kind,
    /// What it is called; with `part`, what it will be called.
    target: PathBuf,
    part: bool,
    length: u64,
    synced: u64,
    /// What stands before the first line; empty for nothing.
    header: Vec<u8>,
    /// The file that is to be replaced, locked.
    _replaced: Option<Locked>,
}

impl Output {
    pub(super) fn standard() -> Self {
        Output::new(Kind::Standard, PathBuf::from(STANDARD_OUTPUT), 0)
    }

    pub(super) fn stream(target: PathBuf) -> Result<Self, Fault> {
        let file = OpenOptions::new().write(true).open(&target)?;
        Ok(Output::new(Kind::Stream(file), target, 0))
    }

    fn new(kind: Kind, target: PathBuf, length: u64) -> Self {
        Output {
            kind,
            target,
            part: false,
            length,
            synced: length,
            header: Vec::new(),
            _replaced: None,
        }
    }

    /// Creates the file, with the folders that lead to it.
    pub(super) fn create(
        target: PathBuf,
        part: bool,
        replaced: Option<Locked>,
    ) -> Result<Self, Fault> {
        let path = if part {
            part_of(&target)
        } else {
            target.clone()
        };
        make_folder(folder_of(&path))?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)?;
        let file = lock::lock(file)?;
        sync_folder(folder_of(&path))?;
        // Should another run have made it in the meantime, its lines stay.
        let length = if part { 0 } else { file.metadata()?.len() };
        Output::go_on(file, length, target, part, replaced)
    }

    /// Goes on with a locked file behind its first `length` bytes; what is
    /// behind them is cut off.
    pub(super) fn go_on(
        mut file: Locked,
        length: u64,
        target: PathBuf,
        part: bool,
        replaced: Option<Locked>,
    ) -> Result<Self, Fault> {
        if file.metadata()?.len() != length {
            file.set_len(length)?;
        }
        file.seek(SeekFrom::Start(length))?;
        Ok(Output {
            part,
            _replaced: replaced,
            ..Output::new(Kind::File(file), target, length)
        })
    }

    /// Puts a line of its own before the first one.
    pub(super) fn with_header(mut self, header: Vec<u8>) -> Self {
        self.header = header;
        self
    }

    /// Writes the header if there is nothing yet, so that a file without lines
    /// still says what would be in it.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub(super) fn write_header(&mut self) -> Result<()> {
        if self.length > 0 {
            return Ok(());
        }
        let header = std::mem::take(&mut self.header);
        self.write(&header)
    }

    /// Bytes of whole lines; 0 for what is no file.
    pub(super) fn length(&self) -> u64 {
        match self.kind {
            Kind::File(_) => self.length,
            Kind::Stream(_) | Kind::Standard => 0,
        }
    }

    pub(super) fn mark(&self, dir: &Path) -> Mark {
        Mark::new(dir, &self.target, self.part)
    }

    /// The file that is written.
    pub(super) fn path(&self) -> PathBuf {
        if self.part {
            part_of(&self.target)
        } else {
            self.target.clone()
        }
    }

    /// Whether it is written beside the file that it will replace.
    pub(super) fn is_part(&self) -> bool {
        self.part
    }

    pub(super) fn target(&self) -> &Path {
        &self.target
    }

    /// Appends whole lines in one piece.
    ///
    /// # Errors
    /// [`Fault::Io`]; a file is then cut back to the lines it had.
    pub(super) fn write(&mut self, lines: &[u8]) -> Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        if self.length == 0 && !self.header.is_empty() {
            let mut first = std::mem::take(&mut self.header);
            first.extend_from_slice(lines);
            return self.write(&first);
        }
        let written = match &mut self.kind {
            Kind::File(file) => {
                let written = file.write_all(lines);
                if written.is_err() {
                    cut_back(file, self.length);
                }
                written
            }
            Kind::Stream(file) => file.write_all(lines),
            Kind::Standard => {
                let mut standard = io::stdout().lock();
                standard.write_all(lines).and_then(|()| standard.flush())
            }
        };
        match written {
            Ok(()) => {
                self.length += lines.len() as u64;
                Ok(())
            }
            Err(error) => Err(self.error("cannot write", error)),
        }
    }

    /// Makes what was written last.
    ///
    /// # Errors
    /// [`Fault::Io`]; a file is then cut back to what is known to last.
    pub(super) fn sync(&mut self) -> Result<()> {
        let Kind::File(file) = &mut self.kind else {
            return Ok(());
        };
        if self.length == self.synced {
            return Ok(());
        }
        if let Err(error) = file.sync_data() {
            cut_back(file, self.synced);
            return Err(self.error("cannot sync", error));
        }
        self.synced = self.length;
        Ok(())
    }

    /// Puts the file into the place of the one that it replaces.
    pub(super) fn put_into_place(&mut self) -> Result<()> {
        if !self.part {
            return Ok(());
        }
        let done = fs::rename(part_of(&self.target), &self.target)
            .and_then(|()| sync_folder(folder_of(&self.target)));
        match done {
            Ok(()) => {
                self.part = false;
                Ok(())
            }
            Err(error) => Err(self.error("cannot put into place", error)),
        }
    }

    fn error(&self, doing: &str, error: io::Error) -> crate::error::Error {
        if let Kind::Standard = self.kind {
            return Fault::from(error).output(doing, Path::new("standard output"));
        }
        Fault::from(error).output(doing, &self.path())
    }
}

fn cut_back(file: &mut File, length: u64) {
    if let Err(error) = file
        .set_len(length)
        .and_then(|()| file.seek(SeekFrom::Start(length)))
    {
        log::warn!("an output may end in the middle of a line: {error}");
    }
}
