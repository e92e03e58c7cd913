//! `[output]` and `[state]`: where records go, and what is kept between runs.

use std::path::{Component, Path, PathBuf};

use super::Place;
use crate::config::document::{Node, Table, Value};
use crate::config::problem::Origin;
use crate::config::record::{PageField, PageFields};
use crate::config::scalar::{self, plain, quoted, show_optional};
use crate::config::section::{Fault, Report, Section};
use crate::config::{Existing, Format, OutputPath, OutputSettings, rfc3339};

/// `[output]`.
pub(in crate::config) fn output(
    root: &mut Table,
    report: &mut Report,
    place: &Place<'_>,
) -> OutputSettings {
    let mut section = report.section(root, "output");
    let stdout = OutputPath {
        folder: PathBuf::new(),
        name: "-".to_owned(),
    };
    let path = section.read("path", stdout, |node| output_path(node, place), show_output);
    let existing = section.read(
        "existing",
        Existing::default(),
        |node| scalar::choice(node, &EXISTING),
        |existing| scalar::show_word(existing, &EXISTING),
    );
    let format = format(&mut section, &path);
    let pages = section.read("pages", true, scalar::boolean, plain);
    let mut fields = fields(&mut section);
    if section.read("jsonld", false, scalar::boolean, plain) {
        fields.add(PageField::JsonLd);
    }
    let bodies = section.read(
        "bodies",
        None,
        |node| bodies(node, place).map(Some),
        |path| show_optional(path.as_ref(), |path| quoted(&path.to_string_lossy())),
    );
    let log = side_output(&mut section, "log", place, &[&path]);
    let summary = match &log {
        Some(log) => side_output(&mut section, "summary", place, &[&path, log]),
        None => side_output(&mut section, "summary", place, &[&path]),
    };
    let others: Vec<&OutputPath> = [Some(&path), log.as_ref(), summary.as_ref()]
        .into_iter()
        .flatten()
        .collect();
    let metrics = metrics(&mut section, place, &others);
    section.finish();
    OutputSettings {
        path,
        format,
        pages,
        existing,
        fields,
        bodies,
        log,
        summary,
        metrics,
    }
}

const EXISTING: [(&str, Existing); 3] = [
    ("append", Existing::Append),
    ("replace", Existing::Replace),
    ("refuse", Existing::Refuse),
];

const FORMATS: [(&str, Format); 2] = [("jsonl", Format::JsonLines), ("csv", Format::Csv)];

/// How records are written: as the key says, else as the file's name ends.
fn format(section: &mut Section<'_>, path: &OutputPath) -> Format {
    let usual = usual_format(path);
    section.read(
        "format",
        usual,
        |node| scalar::choice(node, &FORMATS),
        |format| scalar::show_word(format, &FORMATS),
    )
}

/// The format that a file's name ends in.
pub(super) fn usual_format(path: &OutputPath) -> Format {
    let end = Path::new(&path.name).extension();
    if end.is_some_and(|end| end.eq_ignore_ascii_case("csv")) {
        Format::Csv
    } else {
        Format::JsonLines
    }
}

#[cfg(feature = "select")]
pub(super) fn read_format(node: &Node) -> Result<Format, Fault> {
    scalar::choice(node, &FORMATS)
}

#[cfg(feature = "select")]
pub(super) fn show_format(format: Format) -> String {
    scalar::show_word(&format, &FORMATS)
}

/// A folder for bodies. It is the same in every run, whatever their day.
fn bodies(node: &Node, place: &Place<'_>) -> Result<PathBuf, Fault> {
    let path = place.path(node)?;
    if path.to_string_lossy().contains(['{', '}']) {
        return Err("must not hold braces: it is one folder for all runs".into());
    }
    if path.is_file() {
        return Err("must be a folder, not a file".into());
    }
    Ok(path)
}

/// A file beside the records: never standard output, never another's file.
fn side_output(
    section: &mut Section<'_>,
    key: &'static str,
    place: &Place<'_>,
    others: &[&OutputPath],
) -> Option<OutputPath> {
    section.read(
        key,
        None,
        |node| {
            let path = output_path(node, place)?;
            if path.is_stdout() {
                return Err("must be a file: only records go to standard output".into());
            }
            if others.iter().any(|other| same_file(other, &path)) {
                return Err("is the file of another output".into());
            }
            Ok(Some(path))
        },
        |path| show_optional(path.as_ref(), show_output),
    )
}

/// The file of metrics. Whoever collects it knows it by one name, so the name
/// does not change with the run.
fn metrics(
    section: &mut Section<'_>,
    place: &Place<'_>,
    others: &[&OutputPath],
) -> Option<PathBuf> {
    const KEY: &str = "metrics";
    let braced = |value: &Value| matches!(value, Value::Text(text) if text.contains(['{', '}']));
    if section.peek(KEY, braced) {
        let origin = section.take(KEY).map_or(Origin::Default, |(at, _)| at);
        section.fault(
            KEY,
            origin,
            "must be one name, without {date} and {pass}".into(),
        );
        return None;
    }
    let path = side_output(section, KEY, place, others)?;
    Some(path.pattern())
}

/// Whether the names lead to one file as far as they are written out.
pub(in crate::config) fn same_file(a: &OutputPath, b: &OutputPath) -> bool {
    let plain = |path: &OutputPath| -> PathBuf {
        let whole = path.folder.join(&path.name);
        let parts = whole.components();
        parts.filter(|part| *part != Component::CurDir).collect()
    };
    plain(a) == plain(b)
}

pub(super) fn output_path(node: &Node, place: &Place<'_>) -> Result<OutputPath, Fault> {
    let name = scalar::line(node)?;
    if name.ends_with('/') {
        return Err("must be a file, not a folder".into());
    }
    let left = name.replace("{date}", "").replace("{pass}", "");
    if left.contains(['{', '}']) {
        return Err("may hold {date} and {pass}, and no other brace".into());
    }
    let path = OutputPath {
        folder: place.folder(node.origin).to_owned(),
        name,
    };
    let file = path.file(rfc3339::EPOCH, 1);
    if file.is_some_and(|file| file.is_dir()) {
        return Err("must be a file, not a folder".into());
    }
    Ok(path)
}

pub(super) fn show_output(path: &OutputPath) -> String {
    quoted(&path.folder.join(&path.name).to_string_lossy())
}

fn fields(section: &mut Section<'_>) -> PageFields {
    const KEY: &str = "fields";
    let listed = section.list(KEY, PageFields::read_field, |field| quoted(field.name()));
    let Some(listed) = listed else {
        let fields = PageFields::default();
        section.entry(KEY, fields.to_string(), Origin::Default);
        return fields;
    };
    section.entry(KEY, listed.show(), listed.origin);
    if listed.written == 0 {
        section.fault(KEY, listed.origin, "must not be empty".into());
    }
    let mut fields = Vec::new();
    for (origin, field) in listed.items {
        if fields.contains(&field) {
            let fault = format!("{:?} is there twice", field.name());
            section.fault(KEY, origin, fault.into());
        } else {
            fields.push(field);
        }
    }
    PageFields::new(fields)
}

/// `[state]`.
pub(in crate::config) fn state(
    root: &mut Table,
    report: &mut Report,
    place: &Place<'_>,
) -> Option<PathBuf> {
    let table = root.entries.get("state").map(|(origin, _)| *origin);
    let mut section = report.section(root, "state");
    let faults = section.report.problems.len();
    let dir = section.read(
        "dir",
        None,
        |node| {
            let path = place.path(node)?;
            if path.is_file() {
                return Err("must be a folder, not a file".into());
            }
            Ok(Some(path))
        },
        |path| show_optional(path.as_ref(), |path| quoted(&path.to_string_lossy())),
    );
    if let Some(origin) = table
        && dir.is_none()
        && section.report.problems.len() == faults
    {
        section.fault("dir", origin, "is missing".into());
    }
    section.finish();
    dir
}
