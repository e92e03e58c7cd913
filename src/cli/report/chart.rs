//! [`Chart`]: a plot as inline SVG in a frame of HTML. The SVG is stretched to
//! whatever width there is; its labels are HTML, so that they stay as large as
//! the other text, on a telephone too. Each mark has a title, which browsers
//! show under the pointer, and the numbers stand below in a table.

use std::fmt::Write as _;

use super::scale::{Scale, Time};
use super::table::Table;
use super::text::{coordinate, escape};

/// The SVG's own units.
pub(super) const WIDTH: f64 = 1000.0;
pub(super) const HEIGHT: f64 = 100.0;
/// How near to an end of the axis a label would stand out over it.
const EDGE: f64 = 0.04;
/// The part of a column that is left free to the next one.
const FREE: f64 = 0.12;

/// A name in a legend.
pub(super) struct Legend {
    /// The class of its colour.
    pub(super) class: &'static str,
    pub(super) name: String,
    /// What there is of it in all.
    pub(super) total: String,
}

/// A plot over time.
pub(super) struct Chart<'a> {
    pub(super) title: &'a str,
    /// What is to be seen, in a sentence or two.
    pub(super) note: String,
    pub(super) time: &'a Time,
    pub(super) scale: Scale,
    pub(super) legend: Vec<Legend>,
    /// What is drawn.
    pub(super) marks: String,
    pub(super) table: Table,
}

impl Chart<'_> {
    /// The chart as HTML.
    pub(super) fn html(&self) -> String {
        let mut out = String::from("<figure class=\"chart\">");
        let _ = write!(
            out,
            "<figcaption><h3>{}</h3><p>{}</p></figcaption>",
            escape(self.title),
            escape(&self.note)
        );
        out.push_str(&legend(&self.legend));
        out.push_str("<div class=\"frame\"><div class=\"ys\">");
        for (place, label) in &self.scale.ticks {
            let _ = write!(
                out,
                "<span style=\"bottom:{}%\">{}</span>",
                coordinate(place * 100.0),
                escape(label)
            );
        }
        let _ = write!(
            out,
            "</div><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" \
             aria-label=\"{}\"><g class=\"grid\">",
            escape(&format!("{}. {}", self.title, self.note))
        );
        for (place, _) in &self.scale.ticks {
            out.push_str(&across(*place));
        }
        for (place, _) in &self.time.ticks {
            out.push_str(&upright(*place));
        }
        let _ = write!(out, "</g>{}</svg>", self.marks);
        out.push_str(&below(&self.time.ticks));
        out.push_str("</div>");
        let _ = write!(
            out,
            "<details><summary>Numbers</summary>{}</details></figure>",
            self.table.html()
        );
        out
    }
}

/// Names and colours, those without anything left out.
pub(super) fn legend(names: &[Legend]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let mut out = String::from("<ul class=\"legend\">");
    for Legend { class, name, total } in names {
        let _ = write!(
            out,
            "<li><i class=\"{class}\"></i>{} <b>{}</b></li>",
            escape(name),
            escape(total)
        );
    }
    out.push_str("</ul>");
    out
}

/// The labels of the ticks under a plot.
pub(super) fn below(ticks: &[(f64, String)]) -> String {
    let mut out = String::from("<div class=\"xs\">");
    for (place, label) in ticks {
        // At the edges a label stays inside.
        let class = match place {
            p if *p < EDGE => " class=\"first\"",
            p if *p > 1.0 - EDGE => " class=\"last\"",
            _ => "",
        };
        let _ = write!(
            out,
            "<span{class} style=\"left:{}%\">{}</span>",
            coordinate(place * 100.0),
            escape(label)
        );
    }
    out.push_str("</div>");
    out
}

/// A line from left to right.
fn across(place: f64) -> String {
    let y = coordinate(HEIGHT * (1.0 - place));
    format!("<path d=\"M0 {y}H{WIDTH}\"/>")
}

/// A line from the bottom to the top.
pub(super) fn upright(place: f64) -> String {
    let x = coordinate(WIDTH * place);
    format!("<path d=\"M{x} 0V{HEIGHT}\"/>")
}

/// A rectangle between two places on both axes.
pub(super) fn rectangle(class: &str, x: (f64, f64), y: (f64, f64)) -> String {
    let class = if class.is_empty() {
        String::new()
    } else {
        format!(" class=\"{class}\"")
    };
    format!(
        "<rect{class} x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
        coordinate(WIDTH * x.0),
        coordinate(HEIGHT * (1.0 - y.1)),
        coordinate(WIDTH * (x.1 - x.0)),
        coordinate(HEIGHT * (y.1 - y.0)),
    )
}

/// A column of parts on top of each other: their colours and heights. The
/// whole height has the title, so that low columns are found as well.
pub(super) fn column(x: (f64, f64), scale: &Scale, parts: &[(&str, f64)], title: &str) -> String {
    let free = (x.1 - x.0) * FREE / 2.0;
    let inner = (x.0 + free, x.1 - free);
    let mut out = format!("<g><title>{}</title>", escape(title));
    out.push_str(&rectangle("hit", x, (0.0, 1.0)));
    let mut below = 0.0;
    for (class, value) in parts {
        if *value > 0.0 {
            let y = (scale.place(below), scale.place(below + value));
            out.push_str(&rectangle(class, inner, y));
            below += value;
        }
    }
    out.push_str("</g>");
    out
}

/// A line through places; a part of `None` leaves a hole.
pub(super) fn line(class: &str, points: impl IntoIterator<Item = Option<(f64, f64)>>) -> String {
    let mut path = String::new();
    let mut pen_up = true;
    let mut alone: Option<(f64, f64)> = None;
    let dot = |path: &mut String, point: Option<(f64, f64)>| {
        // A single point is drawn as a line of no length, with round ends.
        if point.is_some() {
            path.push_str("h0");
        }
    };
    for point in points {
        let Some((x, y)) = point else {
            dot(&mut path, alone.take());
            pen_up = true;
            continue;
        };
        let (left, top) = (coordinate(WIDTH * x), coordinate(HEIGHT * (1.0 - y)));
        if pen_up {
            let _ = write!(path, "M{left} {top}");
            alone = Some((x, y));
        } else {
            let _ = write!(path, "L{left} {top}");
            alone = None;
        }
        pen_up = false;
    }
    dot(&mut path, alone);
    if path.is_empty() {
        return String::new();
    }
    format!("<path class=\"{class}\" d=\"{path}\"/>")
}

/// A line across the whole plot, with a title.
pub(super) fn level(class: &str, place: f64, title: &str) -> String {
    let y = coordinate(HEIGHT * (1.0 - place));
    format!(
        "<path class=\"{class}\" d=\"M0 {y}H{WIDTH}\"><title>{}</title></path>",
        escape(title)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_holes_where_there_is_nothing() {
        let points = [
            Some((0.0, 0.0)),
            Some((0.5, 1.0)),
            None,
            Some((0.75, 0.5)),
            None,
            None,
        ];
        assert_eq!(
            line("p50", points),
            "<path class=\"p50\" d=\"M0 100L500 0M750 50h0\"/>"
        );
        assert_eq!(line("p50", [None]), "");
    }

    #[test]
    fn a_column_is_as_high_as_its_parts() {
        let scale = Scale::linear(95.0, |value| value.to_string());
        let drawn = column(
            (0.0, 0.1),
            &scale,
            &[("a", 50.0), ("b", 0.0), ("c", 50.0)],
            "<t>",
        );
        assert_eq!(
            drawn,
            "<g><title>&lt;t&gt;</title><rect class=\"hit\" x=\"0\" y=\"0\" width=\"100\" \
             height=\"100\"/><rect class=\"a\" x=\"6\" y=\"50\" width=\"88\" height=\"50\"/><rect \
             class=\"c\" x=\"6\" y=\"0\" width=\"88\" height=\"50\"/></g>"
        );
    }
}
