//! [`Table`]: rows of text as HTML. Keeps: every cell is escaped.

use std::fmt::Write as _;

use super::text::escape;

/// A table.
#[derive(Debug, Default)]
pub(super) struct Table {
    heads: Vec<(String, Kind)>,
    rows: Vec<Vec<String>>,
}

/// How a column is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text, from the left.
    Text,
    /// A URL or a message: text that may break anywhere.
    Long,
    /// Words that may go on in a second line.
    Words,
    /// A number, from the right.
    Number,
}

impl Table {
    /// A table with these columns.
    pub(super) fn new<S: Into<String>>(heads: impl IntoIterator<Item = (S, Kind)>) -> Table {
        Table {
            heads: heads
                .into_iter()
                .map(|(name, kind)| (name.into(), kind))
                .collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row, a cell for each column.
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells: Vec<String> = cells.into_iter().collect();
        debug_assert_eq!(cells.len(), self.heads.len(), "{cells:?}");
        self.rows.push(cells);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as HTML, in a box that scrolls by itself where it is too wide.
    pub(super) fn html(&self) -> String {
        let mut out = String::from("<div class=\"wide\"><table><thead><tr>");
        let class = |kind: Kind| match kind {
            Kind::Text => "",
            Kind::Long => " class=\"long\"",
            Kind::Words => " class=\"words\"",
            Kind::Number => " class=\"num\"",
        };
        for (name, kind) in &self.heads {
            let _ = write!(out, "<th{}>{}</th>", class(*kind), escape(name));
        }
        out.push_str("</tr></thead><tbody>");
        for row in &self.rows {
            out.push_str("<tr>");
            for (cell, (_, kind)) in row.iter().zip(&self.heads) {
                let _ = write!(out, "<td{}>{}</td>", class(*kind), escape(cell));
            }
            out.push_str("</tr>");
        }
        out.push_str("</tbody></table></div>");
        out
    }
}

/// Counts by name as bars, longest first, with what each is of all.
pub(super) fn bars(mut counts: Vec<(&'static str, String, u64)>) -> String {
    counts.retain(|(_, _, count)| *count > 0);
    counts.sort_by_key(|(_, _, count)| std::cmp::Reverse(*count));
    let most = counts.first().map_or(1, |(_, _, count)| *count);
    let mut out = String::from("<table class=\"bars\"><tbody>");
    for (class, name, count) in counts {
        let _ = write!(
            out,
            "<tr><th>{}</th><td class=\"num\">{}</td><td class=\"bar\"><i class=\"{class}\" \
             style=\"width:{:.1}%\"></i></td></tr>",
            escape(&name),
            super::text::count(count),
            100.0 * count as f64 / most as f64
        );
    }
    out.push_str("</tbody></table>");
    out
}
