//! `[extract.NAME]` in a build that has no selectors: refused, with what the
//! build lacks.

use super::named::{EXTRACT, named_tables};
use crate::config::document::Table;
use crate::config::problem::Problem;
use crate::config::section::Report;

/// Refuses every `[extract.NAME]`: what it asks for is not in this build.
pub(in crate::config) fn refuse_extract(root: &mut Table, report: &mut Report) {
    for (name, origin, _) in named_tables(root, report) {
        let what = "this program is built without the feature \"select\", which it needs";
        let mut problem = Problem::new(origin, format!("{EXTRACT}.{name}"), what);
        problem.hint = Some("`make install` builds it with every feature, `cargo build --features select` with this one".to_owned());
        report.problem(problem);
    }
}
