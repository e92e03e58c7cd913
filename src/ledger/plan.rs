//! [`Plan`]: what is to be done with an output file, found out before anything
//! is touched. Keeps: every check comes before the first change.

use std::fs::{self, File};
use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use serde::de::IgnoredAny;

use super::csv::CsvColumns;
use super::fault::Fault;
use super::lock::{self, Locked, open_locked};
use super::options::{Existing, OutputSpec};
use super::output::{Output, is_standard_output, part_of};
use crate::error::{Error, Result};

/// What the state knows of the output at hand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub(super) length: u64,
    /// Whether it is written beside the file that it will replace.
    pub(super) part: bool,
    /// Whether the pass that wrote it is complete and the next one begins.
    pub(super) next_pass: bool,
    /// Whether the crawl can do without what was written: the log.
    pub(super) spare: bool,
}

#[derive(Debug)]
enum Step {
    Standard,
    Stream,
    Create,
    /// Go on behind this many bytes.
    GoOn(Locked, u64),
    /// Give the last line its end, and go on.
    EndLine(Locked, u64),
}

#[derive(Debug)]
pub(super) struct Plan {
    step: Step,
    target: PathBuf,
    part: bool,
    replaced: Option<Locked>,
    /// The first line of a file that has one.
    header: Vec<u8>,
    /// What people should know about it.
    pub(super) note: Option<String>,
}

impl Plan {
    /// Finds out what to do with the file at `target`.
    ///
    /// # Errors
    /// [`Fault::OutputLost`] when the state knows of bytes that are not
    /// there, [`Fault::Held`], [`Fault::Io`], or one of kind
    /// [`Invalid`](crate::ErrorKind::Invalid) when `existing` refuses the file.
    pub(super) fn new(target: PathBuf, spec: &OutputSpec, known: Option<Known>) -> Result<Plan> {
        let existing = spec.existing;
        let mut plan = Plan {
            step: Step::Create,
            target,
            part: false,
            replaced: None,
            header: spec.csv.as_ref().map_or_else(Vec::new, CsvColumns::header),
            note: None,
        };
        if is_standard_output(&plan.target) {
            plan.step = Step::Standard;
            return Ok(plan);
        }
        match fs::metadata(&plan.target) {
            Ok(there) if there.is_dir() => {
                let error = io::Error::from(io::ErrorKind::IsADirectory);
                return Err(plan.error(error.into()));
            }
            Ok(there) if !there.is_file() => {
                plan.step = Step::Stream;
                return Ok(plan);
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(plan.error(error.into())),
        }
        if let Some(known) = known
            && (!known.next_pass || existing == Existing::Append)
            && plan.resume(known)?
        {
            return Ok(plan);
        }
        plan.begin(existing)?;
        Ok(plan)
    }

    fn error(&self, fault: Fault) -> Error {
        fault.output("cannot write", &self.target)
    }

    /// Plans to go on with the file that the state knows. `false` if it is not
    /// there, and that does not matter.
    fn resume(&mut self, known: Known) -> Result<bool> {
        let path = if known.part {
            part_of(&self.target)
        } else {
            self.target.clone()
        };
        let lost = match open_locked(&path).map_err(|fault| self.error(fault))? {
            Some(mut file) => {
                let length = file
                    .metadata()
                    .map_err(|error| self.error(error.into()))?
                    .len();
                if length >= known.length
                    && ends_line(&mut file, known.length).map_err(|e| self.error(e.into()))?
                {
                    self.check_header(&mut file, known.length)?;
                    if length > known.length {
                        self.note = Some(format!(
                            "{}: cut off {} bytes that were not committed",
                            path.display(),
                            length - known.length
                        ));
                    }
                    if known.part {
                        self.replaced =
                            open_locked(&self.target).map_err(|fault| self.error(fault))?;
                        self.part = true;
                    }
                    self.step = Step::GoOn(file, known.length);
                    return Ok(true);
                }
                if length < known.length {
                    format!(
                        "it has {length} bytes, but the state knows of {}",
                        known.length
                    )
                } else {
                    format!(
                        "no line ends at byte {}, as the state knows it to",
                        known.length
                    )
                }
            }
            None if known.length == 0 => return Ok(false),
            None => format!(
                "it is missing, but the state knows of {} bytes",
                known.length
            ),
        };
        if known.next_pass || known.spare {
            self.note = Some(format!("{}: {lost}; going on without", path.display()));
            return Ok(false);
        }
        let text = format!(
            "{lost}; bring it back, or start over and keep the old state aside (--fresh); \
             nothing was changed"
        );
        Err(Fault::OutputLost(text).state("output does not fit the state:", &path))
    }

    /// Plans for a file that the state does not know.
    fn begin(&mut self, existing: Existing) -> Result<()> {
        let io = |plan: &Plan, error: io::Error| plan.error(error.into());
        let there = open_locked(&self.target).map_err(|fault| self.error(fault))?;
        let Some(mut file) = there else {
            return Ok(());
        };
        let length = file.metadata().map_err(|error| io(self, error))?.len();
        if length == 0 {
            self.step = Step::GoOn(file, 0);
            return Ok(());
        }
        match existing {
            Existing::Append => {
                self.check_header(&mut file, length)?;
                let tail = if self.header.is_empty() {
                    tail(&mut *file, length)
                } else {
                    csv_tail(&mut *file, length)
                };
                self.step = match tail.map_err(|error| io(self, error))? {
                    Tail::Whole => Step::GoOn(file, length),
                    Tail::NoEnd => Step::EndLine(file, length),
                    Tail::Torn(whole) => {
                        self.note = Some(format!(
                            "{}: cut off {} bytes of a line that was not whole",
                            self.target.display(),
                            length - whole
                        ));
                        Step::GoOn(file, whole)
                    }
                    Tail::Foreign => {
                        return Err(Error::invalid(format!(
                            "{} is there and does not end in JSON Lines; not appending to it",
                            self.target.display()
                        )));
                    }
                };
            }
            Existing::Replace => {
                self.part = true;
                self.replaced = Some(file);
                let part = part_of(&self.target);
                if let Some(file) = open_locked(&part).map_err(|fault| self.error(fault))? {
                    self.step = Step::GoOn(file, 0);
                }
            }
            Existing::Refuse => {
                return Err(Error::invalid(format!(
                    "{} is there, and existing = \"refuse\"",
                    self.target.display()
                )));
            }
        }
        Ok(())
    }

    /// Refuses a file whose first line is another header than the one that
    /// would stand there: its columns would not be those of the new rows. One
    /// that is only the beginning of the header was torn there.
    fn check_header(&self, file: &mut File, length: u64) -> Result<()> {
        let mut first = Vec::new();
        file.rewind()
            .and_then(|()| {
                let most = length.min(self.header.len() as u64);
                file.take(most).read_to_end(&mut first)
            })
            .map_err(|error| self.error(error.into()))?;
        if self.header.starts_with(&first) {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "{} is there and has other columns than {}; not appending to it, name another file",
            self.target.display(),
            String::from_utf8_lossy(self.header.trim_ascii_end()),
        )))
    }

    /// Does what was planned.
    ///
    /// # Errors
    /// [`Fault::Io`] or [`Fault::Held`].
    pub(super) fn carry_out(self) -> Result<Output> {
        let Plan {
            step,
            target,
            part,
            replaced,
            header,
            ..
        } = self;
        let path = target.clone();
        let done = match step {
            Step::Standard => Ok(Output::standard()),
            Step::Stream => Output::stream(target),
            Step::Create => Output::create(target, part, replaced),
            Step::GoOn(file, length) => Output::go_on(file, length, target, part, replaced),
            Step::EndLine(file, length) => {
                return Output::go_on(file, length, target, part, replaced)
                    .map_err(|fault| fault.output("cannot write", &path))
                    .and_then(|mut output| {
                        output.write(b"\n")?;
                        Ok(output)
                    });
            }
        };
        done.map(|output| output.with_header(header))
            .map_err(|fault| fault.output("cannot write", &path))
    }
}

/// Cuts what was not committed off a file that is not gone on with. One that
/// does not look as it was left is let alone.
pub(super) fn trim(path: &Path, length: u64) -> Option<String> {
    let mut file = lock::open_locked(path).ok()??;
    let there = file.metadata().ok()?.len();
    if there <= length || !ends_line(&mut file, length).ok()? {
        return None;
    }
    file.set_len(length).and_then(|()| file.sync_all()).ok()?;
    let cut = there - length;
    Some(format!(
        "{}: cut off {cut} bytes that were not committed",
        path.display()
    ))
}

fn ends_line(file: &mut File, length: u64) -> io::Result<bool> {
    if length == 0 {
        return Ok(true);
    }
    let mut byte = [0];
    file.seek(SeekFrom::Start(length - 1))?;
    file.read_exact(&mut byte)?;
    Ok(byte[0] == b'\n')
}

/// How a file ends.
#[derive(Debug, PartialEq, Eq)]
enum Tail {
    /// With a line's end.
    Whole,
    /// With a JSON value that lacks the line's end.
    NoEnd,
    /// In the middle of a line; its last whole line ends at this byte.
    Torn(u64),
    /// With something that never was a line of JSON.
    Foreign,
}

/// Bytes that are read first, from the end backwards; twice as many each time.
const STRIDE: u64 = 64 << 10;

fn tail<F: Read + io::Seek>(file: &mut F, length: u64) -> io::Result<Tail> {
    let mut last: Vec<u8> = Vec::new();
    let mut start = length;
    let mut stride = STRIDE;
    let whole = loop {
        if start == 0 {
            break 0;
        }
        let from = start.saturating_sub(stride);
        stride *= 2;
        file.seek(SeekFrom::Start(from))?;
        let mut more = Vec::with_capacity((start - from) as usize + last.len());
        (&mut *file).take(start - from).read_to_end(&mut more)?;
        let end = more.iter().rposition(|&byte| byte == b'\n');
        more.append(&mut last);
        last = more;
        if let Some(end) = end {
            last.drain(..=end);
            break from + end as u64 + 1;
        }
        start = from;
    };
    Ok(if last.is_empty() {
        Tail::Whole
    } else if serde_json::from_slice::<IgnoredAny>(&last).is_ok() {
        Tail::NoEnd
    } else if could_be_torn(&last) {
        Tail::Torn(whole)
    } else {
        Tail::Foreign
    })
}

/// How a file of comma-separated values ends. A row may hold line ends between
/// quotes, so the quotes are counted from the start.
fn csv_tail<F: Read + io::Seek>(file: &mut F, length: u64) -> io::Result<Tail> {
    file.rewind()?;
    let mut bytes = (&mut *file).take(length);
    let mut block = vec![0; STRIDE as usize];
    let (mut at, mut whole, mut quoted) = (0, 0, false);
    loop {
        let read = bytes.read(&mut block)?;
        if read == 0 {
            break;
        }
        for &byte in &block[..read] {
            at += 1;
            match byte {
                b'"' => quoted = !quoted,
                b'\n' if !quoted => whole = at,
                _ => {}
            }
        }
    }
    Ok(if whole == length {
        Tail::Whole
    } else {
        Tail::Torn(whole)
    })
}

/// Whether a line that is not JSON may be what a crash left of one: it begins
/// as JSON does, or is the nothing that a file system puts where data was lost.
fn could_be_torn(line: &[u8]) -> bool {
    const STARTS: &[u8] = b"{[\"-0123456789tfn\0";
    STARTS.contains(&line[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn tail_of(text: impl AsRef<[u8]>) -> Tail {
        let length = text.as_ref().len() as u64;
        tail(&mut Cursor::new(text.as_ref()), length).expect("memory can be read")
    }

    #[test]
    fn the_last_whole_row_is_found_though_a_value_holds_line_ends() {
        let tail = |text: &str| {
            let length = text.len() as u64;
            csv_tail(&mut Cursor::new(text), length).expect("memory can be read")
        };
        assert_eq!(tail("a,b\r\n1,\"x\ny\"\r\n"), Tail::Whole);
        assert_eq!(tail("a,b\r\n1,\"x\ny"), Tail::Torn(5));
        assert_eq!(tail("a,b\r\n1,\"x\"\"\n\"\"y\n"), Tail::Torn(5));
        assert_eq!(
            tail("a,b\r\n1,2"),
            Tail::Torn(5),
            "2 may be the start of 23"
        );
        assert_eq!(tail("a,"), Tail::Torn(0));
    }

    #[test]
    fn the_end_of_a_file_is_found_however_long_its_last_line_is() {
        assert_eq!(tail_of("{}\n"), Tail::Whole);
        assert_eq!(tail_of("{}\n{\"a\":1}"), Tail::NoEnd);
        assert_eq!(tail_of("{}\n{\"url\":\"http://a.te"), Tail::Torn(3));
        assert_eq!(tail_of("{}\n\0\0\0"), Tail::Torn(3));
        assert_eq!(tail_of("{\"url\":"), Tail::Torn(0));
        assert_eq!(tail_of("PK\x03\x04"), Tail::Foreign);
        for length in [STRIDE - 1, STRIDE, STRIDE + 1, 3 * STRIDE] {
            let long = "x".repeat(length as usize);
            assert_eq!(tail_of(format!("{{}}\n{{\"a\":\"{long}\"}}")), Tail::NoEnd);
            assert_eq!(tail_of(format!("{{}}\n{{\"a\":\"{long}")), Tail::Torn(3));
            assert_eq!(tail_of(format!("{long}\n{{")), Tail::Torn(length + 1));
        }
    }
}
