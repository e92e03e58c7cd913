//! [`named_tables`]: `[extract.NAME]`, whether or not this build can read what
//! is in it.

use crate::config::document::{Table, Value};
use crate::config::problem::{Origin, Problem};
use crate::config::section::Report;

/// The table that holds them.
pub(super) const EXTRACT: &str = "extract";

/// The tables in `[extract]`, in the order of the file.
pub(super) fn named_tables(root: &mut Table, report: &mut Report) -> Vec<(String, Origin, Table)> {
    report.know(EXTRACT, &["paths", "select", "fields", "output", "format"]);
    let mut tables = Vec::new();
    let Some((origin, node)) = root.entries.remove(EXTRACT) else {
        return tables;
    };
    let mut wrong = |origin: Origin, key: &str, what: String| {
        let mut problem = Problem::new(origin, key, what);
        problem.hint = Some("write [extract.NAME] above its keys".to_owned());
        report.problem(problem);
    };
    let Value::Table(table) = node.value else {
        wrong(origin, EXTRACT, no_table(&node.value));
        return tables;
    };
    for (name, (origin, node)) in table.entries {
        match node.value {
            // The fields of nobody: their selectors are no tables of rules.
            Value::Table(table) if name == "fields" && !table.entries.contains_key("fields") => {
                let what = "must be in a table that has a name".to_owned();
                wrong(origin, &format!("{EXTRACT}.{name}"), what);
            }
            Value::Table(table) => tables.push((name, origin, table)),
            value => wrong(origin, &format!("{EXTRACT}.{name}"), no_table(&value)),
        }
    }
    tables.sort_by_key(|(_, origin, _)| place(*origin));
    tables
}

fn no_table(value: &Value) -> String {
    format!("must be a table, not {}", value.kind())
}

/// Where something stands, for an order: what is on the command line is last.
pub(super) fn place(origin: Origin) -> (usize, usize) {
    match origin {
        Origin::File { line, column } => (line, column),
        _ => (usize::MAX, 0),
    }
}
