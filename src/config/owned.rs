//! What a crawl reads and writes by the names of its settings, and whether a
//! further file is one of these. Keeps: no output is written over the
//! configuration, the state, a list of seeds or another output, whatever links,
//! `.` and `..` its name goes through.

use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

#[cfg(feature = "cli")]
use super::Existing;
use super::bodies::Bodies;
use super::problem::Problem;
#[cfg(feature = "select")]
use super::tables::same_file;
use super::{Origin, OutputPath, SeedFile, Settings};
#[cfg(feature = "cli")]
use crate::ledger;

/// A file, or a folder with all that is in it.
struct Owned {
    place: PathBuf,
    is_folder: bool,
    /// What it is, in words that go on from "is".
    what: String,
}

impl Owned {
    fn file(path: &Path, what: impl Into<String>) -> Self {
        Owned {
            place: real(path),
            is_folder: false,
            what: what.into(),
        }
    }

    fn folder(path: &Path, what: impl Into<String>) -> Self {
        Owned {
            is_folder: true,
            ..Owned::file(path, what)
        }
    }

    /// Whether it is that place, or holds it.
    fn has(&self, place: &Path) -> bool {
        let mut parts = place.components();
        let begins = self.place.components().all(|own| {
            let part = parts.next();
            part.is_some_and(|part| may_be_same(own.as_os_str(), part.as_os_str()))
        });
        begins && (self.is_folder || parts.next().is_none())
    }
}

/// A file that the crawl writes: its key, where that was set, and its place.
struct Written {
    key: String,
    origin: Origin,
    place: PathBuf,
}

impl Settings {
    /// What a file is to crawls with these settings, if it is theirs.
    #[cfg(feature = "cli")]
    pub(crate) fn owner_of(&self, path: &Path) -> Option<String> {
        let place = real(path);
        let mut all = self.kept();
        for written in self.written() {
            let what = format!("the file of {}", written.key);
            if self.output.existing == Existing::Replace {
                // It is there from run to run until the crawl is complete.
                let part = ledger::part_of(&written.place);
                all.push(Owned::file(&part, what.as_str()));
            }
            all.push(Owned::file(&written.place, what));
        }
        let bodies = self.output.bodies.as_deref();
        all.extend(bodies.map(|dir| Owned::folder(dir, "inside output.bodies")));
        let owner = all.into_iter().find(|owned| owned.has(&place))?;
        Some(owner.what)
    }

    /// Outputs that would be written over something else.
    pub(super) fn collisions(&self) -> Vec<Problem> {
        let mut kept = self.kept();
        if let Some(dir) = &self.output.bodies {
            let (index, new) = (Bodies::index(dir), Bodies::new_folder(dir));
            kept.push(Owned::file(&index, "the index of output.bodies"));
            kept.push(Owned::folder(&new, "inside a folder of output.bodies"));
        }
        let mut problems = Vec::new();
        let mut others: Vec<Owned> = Vec::new();
        for Written { key, origin, place } in self.written() {
            let owner = kept.iter().chain(&others).find(|owned| owned.has(&place));
            if let Some(owner) = owner {
                problems.push(Problem::new(origin, key, format!("is {}", owner.what)));
            }
            others.push(Owned {
                place,
                is_folder: false,
                what: "the file of another output".to_owned(),
            });
        }
        if let (Some(bodies), Some(state)) = (&self.output.bodies, &self.state) {
            let state = Owned::folder(state, "");
            let bodies = Owned::folder(bodies, "");
            let message = if state.has(&bodies.place) {
                Some("is inside state.dir")
            } else if bodies.has(&state.place) {
                Some("holds state.dir")
            } else {
                None
            };
            let origin = self.origin_of("output", "bodies");
            problems.extend(message.map(|why| Problem::new(origin, "output.bodies", why)));
        }
        problems
    }

    /// What no output may be.
    fn kept(&self) -> Vec<Owned> {
        let file = self.file.iter();
        let mut all: Vec<Owned> = file
            .map(|file| Owned::file(file, "the configuration file"))
            .collect();
        let state = self.state.iter();
        all.extend(state.map(|dir| Owned::folder(dir, "inside state.dir")));
        for list in &self.crawl.seed_files {
            if let SeedFile::File(path) = list {
                all.push(Owned::file(path, "a file of crawl.seed_files"));
            }
        }
        let trusted = self.fetch.ca_file.iter();
        all.extend(trusted.map(|path| Owned::file(path, "the file of fetch.ca_file")));
        all
    }

    /// Every output, those that share a file once.
    fn written(&self) -> Vec<Written> {
        let output = &self.output;
        let paths = [
            ("path", Some(output.path.pattern())),
            ("log", output.log.as_ref().map(OutputPath::pattern)),
            ("summary", output.summary.as_ref().map(OutputPath::pattern)),
            ("metrics", output.metrics.clone()),
        ];
        let mut all = Vec::new();
        for (key, path) in paths {
            // Of these only the records may go to standard output.
            let is_stdout = key == "path" && output.path.is_stdout();
            if let Some(path) = path.filter(|_| !is_stdout) {
                all.push(Written {
                    key: format!("output.{key}"),
                    origin: self.origin_of("output", key),
                    place: real(&path),
                });
            }
        }
        #[cfg(feature = "select")]
        for (at, extract) in self.extract.iter().enumerate() {
            let mut earlier = self.extract[..at].iter().flat_map(|other| &other.output);
            if let Some(path) = &extract.output
                && !path.is_stdout()
                && !earlier.any(|other| same_file(other, path))
            {
                let entry = extract.entries.iter().find(|(key, ..)| key == "output");
                all.push(Written {
                    key: format!("extract.{}.output", extract.rules.name()),
                    origin: entry.map_or(Origin::Default, |(_, _, origin)| *origin),
                    place: real(&path.pattern()),
                });
            }
        }
        all
    }

    fn origin_of(&self, table: &str, key: &str) -> Origin {
        let mut entries = self.entries.iter();
        let entry = entries.find(|entry| entry.table == table && entry.key == key);
        entry.map_or(Origin::Default, |entry| entry.origin)
    }
}

/// The path without links, `.` and `..`, as far as there is something; what is
/// not there yet is taken by its name.
fn real(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut real = PathBuf::new();
    for part in whole.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(real.pop()),
            part => {
                real.push(part);
                if let Ok(found) = fs::canonicalize(&real) {
                    real = found;
                }
            }
        }
    }
    real
}

/// Whether two names are or can become the same.
fn may_be_same(a: &OsStr, b: &OsStr) -> bool {
    let may_become = |pattern: &OsStr, name: &OsStr| {
        let both = pattern.to_str().zip(name.to_str());
        both.is_some_and(|(pattern, name)| may_become(pattern, name))
    };
    a == b || may_become(a, b) || may_become(b, a)
}

/// Whether a name comes of a pattern with `{date}` and `{pass}` in it.
fn may_become(pattern: &str, name: &str) -> bool {
    const DATE: &str = "{date}";
    const PASS: &str = "{pass}";
    let name = name.as_bytes();
    let digits = |from: usize, count: usize| {
        let part = name.get(from..from + count);
        part.is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    let dash = |at: usize| name.get(at) == Some(&b'-');
    // Every length to which the pattern so far can stand for the name's start.
    let mut ends = vec![0];
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let mut next = Vec::new();
        if let Some(after) = rest.strip_prefix(DATE) {
            rest = after;
            let is_date = |at: usize| {
                digits(at, 4)
                    && dash(at + 4)
                    && digits(at + 5, 2)
                    && dash(at + 7)
                    && digits(at + 8, 2)
            };
            next.extend(ends.iter().filter(|at| is_date(**at)).map(|at| at + 10));
        } else if let Some(after) = rest.strip_prefix(PASS) {
            rest = after;
            for at in ends {
                next.extend((at + 1..=name.len()).take_while(|end| digits(at, end - at)));
            }
            next.sort_unstable();
            next.dedup();
        } else {
            let (literal, after) = rest.split_at(c.len_utf8());
            rest = after;
            let goes_on = |at: &&usize| name[**at..].starts_with(literal.as_bytes());
            next.extend(ends.iter().filter(goes_on).map(|at| at + literal.len()));
        }
        ends = next;
    }
    ends.contains(&name.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_every_name_that_a_run_may_give_it() {
        for (pattern, name) in [
            ("a.jsonl", "a.jsonl"),
            ("a-{date}.jsonl", "a-2026-01-31.jsonl"),
            ("{pass}", "17"),
            ("{pass}{pass}", "17"),
            ("{pass}0.csv", "100.csv"),
            ("é-{pass}-{date}", "é-1-2026-01-31"),
        ] {
            assert!(may_become(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("a-{date}.jsonl", "a-2026-1-31.jsonl"),
            ("a-{date}.jsonl", "a-2026-01-31.jsonl.new"),
            ("{pass}", ""),
            ("{pass}{pass}", "1"),
            ("{pass}", "one"),
            ("a", "ab"),
        ] {
            assert!(!may_become(pattern, name), "{pattern} {name}");
        }
        let (many, digits) = ("{pass}".repeat(80), "1".repeat(200));
        assert!(may_become(&many, &digits));
        assert!(!may_become(&many, &format!("{digits}x")));
    }

    #[test]
    fn names_that_are_not_there_yet_are_compared_without_dots() {
        let here = real(Path::new("no-such-folder/file"));
        assert_eq!(
            real(Path::new("./no-such-folder/../no-such-folder/./file")),
            here
        );
        assert!(Owned::folder(Path::new("no-such-folder"), "").has(&here));
        assert!(!Owned::file(Path::new("no-such-folder"), "").has(&here));
        assert!(!Owned::folder(Path::new("no-such"), "").has(&here));
    }
}
