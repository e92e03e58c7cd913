//! [`Outputs`]: which records go to which file. Keeps: whatever shares a file
//! is one output, and an output of comma-separated values has a column for
//! everything that goes there.

#[cfg(feature = "select")]
use super::tables::same_file;
use super::{Existing, Format, OutputPath, Settings, bodies::Bodies};
use crate::ledger::{self, CsvColumns, OutputSpec};

/// The outputs of a crawl.
pub(super) struct Outputs {
    /// Where pages' records go, and those that have no place of their own.
    /// Nothing if there are neither.
    pub(super) main: Option<Output>,
    /// Further ones, by the number that a record names.
    pub(super) beside: Vec<Output>,
    /// For each `[extract.NAME]` the number of its output; `None` is the main
    /// one.
    #[cfg(feature = "select")]
    pub(super) of_rules: Vec<Option<usize>>,
    /// The index of kept bodies, which comes after those.
    pub(super) index: Option<OutputSpec>,
    pub(super) log: Option<OutputSpec>,
}

/// An output of records.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) path: OutputPath,
    format: Format,
    columns: Vec<String>,
}

impl Output {
    fn new(path: &OutputPath, format: Format) -> Self {
        Output {
            path: path.clone(),
            format,
            columns: Vec::new(),
        }
    }

    /// The columns, unless it is JSON Lines.
    pub(super) fn csv(&self) -> Option<CsvColumns> {
        let columns = || CsvColumns::new(self.columns.iter().cloned());
        (self.format == Format::Csv).then(columns)
    }
}

impl Settings {
    pub(super) fn outputs(&self) -> Outputs {
        let output = &self.output;
        let mut main = Output::new(&output.path, output.format);
        if output.pages {
            let names = output.fields.iter().map(|field| field.name().to_owned());
            main.columns.extend(names);
        }
        #[cfg(feature = "select")]
        let mut beside: Vec<Output> = Vec::new();
        #[cfg(not(feature = "select"))]
        let beside = Vec::new();
        #[cfg(feature = "select")]
        let mut of_rules = Vec::with_capacity(self.extract.len());
        #[cfg(feature = "select")]
        for extract in &self.extract {
            let number = extract.output.as_ref().map(|path| {
                let known = beside.iter().position(|other| same_file(&other.path, path));
                known.unwrap_or_else(|| {
                    beside.push(Output::new(path, extract.format));
                    beside.len() - 1
                })
            });
            let columns = match number {
                None => &mut main.columns,
                Some(number) => &mut beside[number].columns,
            };
            columns.extend(super::item_record::columns(&extract.rules));
            of_rules.push(number);
        }
        let existing = match output.existing {
            Existing::Append => ledger::Existing::Append,
            Existing::Replace => ledger::Existing::Replace,
            Existing::Refuse => ledger::Existing::Refuse,
        };
        Outputs {
            main: (!main.columns.is_empty()).then_some(main),
            beside,
            #[cfg(feature = "select")]
            of_rules,
            index: output
                .bodies
                .as_ref()
                .map(|dir| OutputSpec::new(Bodies::index(dir)).with_existing(existing)),
            log: output
                .log
                .as_ref()
                .map(|path| OutputSpec::new(path.pattern()).with_existing(existing)),
        }
    }

    /// What the ledger is told of an output.
    pub(super) fn spec(&self, output: &Output) -> OutputSpec {
        let mut spec = OutputSpec::new(output.path.pattern());
        spec.csv = output.csv();
        spec.with_existing(match self.output.existing {
            Existing::Append => ledger::Existing::Append,
            Existing::Replace => ledger::Existing::Replace,
            Existing::Refuse => ledger::Existing::Refuse,
        })
    }
}
