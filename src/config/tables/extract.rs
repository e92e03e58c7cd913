//! `[extract.NAME]`: what is read of pages. Keeps: selectors and patterns are
//! read here, so that none can fail in the middle of a crawl.

use super::Place;
use super::extract_field::{by_place, fields};
use super::named::{EXTRACT, named_tables};
use super::output::{output_path, read_format, same_file, show_format, show_output, usual_format};
use crate::config::document::{Node, Table};
use crate::config::problem::{Origin, Problem};
use crate::config::scalar::{self, quoted};
use crate::config::section::{Fault, HIDDEN, Report, Section};
use crate::config::{ExtractSettings, Format, OutputPath, OutputSettings};
use crate::select::{Rules, check_selector};
use crate::uri::Glob;

/// `[extract.NAME]`.
pub(in crate::config) fn extract(
    root: &mut Table,
    report: &mut Report,
    place: &Place<'_>,
    main: &OutputSettings,
) -> Vec<ExtractSettings> {
    let mut extracts: Vec<ExtractSettings> = Vec::new();
    for (name, origin, table) in named_tables(root, report) {
        let label = format!("{EXTRACT}.{name}");
        let mut reader = Reader {
            section: report.section_labelled(table, EXTRACT, &label),
            entries: Vec::new(),
        };
        if name.trim().is_empty() || name.chars().any(char::is_control) {
            let mut problem = Problem::new(origin, label.as_str(), "must have a name");
            problem.hint = Some("write [extract.NAME]".to_owned());
            reader.section.report.problem(problem);
        }
        let rules = reader.rules(&name, origin);
        let (output, format) = reader.output(place, main, &extracts);
        let Reader {
            section,
            mut entries,
        } = reader;
        section.finish();
        by_place(&mut entries, |(_, _, origin)| *origin);
        extracts.push(ExtractSettings {
            rules,
            output,
            format,
            entries,
        });
    }
    extracts
}

fn path_pattern(node: &Node) -> Result<String, Fault> {
    let pattern = scalar::line(node)?;
    match Glob::new(pattern.as_str()) {
        Ok(_) => Ok(pattern),
        Err(error) => Err(error.message().into()),
    }
}

/// One table while it is read.
struct Reader<'r> {
    section: Section<'r>,
    entries: Vec<(String, String, Origin)>,
}

impl Reader<'_> {
    fn rules(&mut self, name: &str, origin: Origin) -> Rules {
        let mut rules = Rules::new(name);
        if let Some(listed) = self.section.list("paths", path_pattern, quoted) {
            if listed.written == 0 {
                let fault = Fault::from("must not be empty");
                let fault = fault.hint("leave it out for every page");
                self.section.fault("paths", listed.origin, fault);
            }
            self.entries
                .push(("paths".to_owned(), listed.show(), listed.origin));
            let paths = listed.values();
            rules = rules.paths(paths).expect("they are patterns");
        }
        let css = self.value("select", |node| {
            let css = scalar::line(node)?;
            check_selector(&css).map_err(|error| Fault::from(error.message()))?;
            Ok((quoted(&css), css))
        });
        if let Some(css) = css {
            rules = rules.select(&css).expect("it is a selector");
        }
        let Some((place, node)) = self.section.take("fields") else {
            let fault = Fault::from("is missing");
            let fault = fault.hint("write fields = { NAME = \"SELECTOR\" }");
            self.section.fault("fields", origin, fault);
            return rules;
        };
        for (field, shown, origin) in fields(&mut self.section, place, node) {
            let name = format!("fields.{}", field.name());
            match rules.clone().field(field) {
                Ok(with) => rules = with,
                Err(error) => {
                    let fault = Fault::from(error.message());
                    self.section.fault(&name, origin, fault);
                }
            }
            self.entries.push((name, shown, origin));
        }
        rules
    }

    /// Where the records go, and how they are written there.
    fn output(
        &mut self,
        place: &Place<'_>,
        main: &OutputSettings,
        others: &[ExtractSettings],
    ) -> (Option<OutputPath>, Format) {
        let output = self.value("output", |node| {
            let path = output_path(node, place)?;
            let taken = [&main.log, &main.summary].into_iter().flatten();
            if taken.into_iter().any(|other| same_file(other, &path)) {
                return Err("is the file of another output".into());
            }
            Ok((show_output(&path), path))
        });
        let said = self.value("format", |node| {
            let format = read_format(node)?;
            Ok((show_format(format), format))
        });
        // Whoever shares a file shares its format.
        let (path, shared) = match &output {
            None => (&main.path, Some(main.format)),
            Some(path) if same_file(path, &main.path) => (path, Some(main.format)),
            Some(path) => {
                let same = |other: &&ExtractSettings| {
                    other
                        .output
                        .as_ref()
                        .is_some_and(|other| same_file(other, path))
                };
                (path, others.iter().find(same).map(|other| other.format))
            }
        };
        let format = said.or(shared).unwrap_or_else(|| usual_format(path));
        if shared.is_some_and(|shared| shared != format) {
            let origin = self.entries.iter().find(|(key, _, _)| key == "format");
            let origin = origin.map_or(Origin::Default, |(_, _, origin)| *origin);
            let fault = Fault::from("is not the format of the others that write the same file");
            self.section.fault("format", origin, fault);
        }
        let output = output.filter(|path| !same_file(path, &main.path));
        (output, format)
    }

    /// The value of a key, with its text, if it is there and can be used.
    fn value<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Node) -> Result<(String, T), Fault>,
    ) -> Option<T> {
        let (origin, node) = self.section.take(key)?;
        match read(&node) {
            Ok((shown, value)) => {
                let shown = if node.secret {
                    HIDDEN.to_owned()
                } else {
                    shown
                };
                self.entries.push((key.to_owned(), shown, origin));
                Some(value)
            }
            Err(fault) => {
                self.section.fault(key, node.origin, fault);
                None
            }
        }
    }
}
