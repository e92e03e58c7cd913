//! The fields of an `[extract.NAME]`: a selector each, or a table of a
//! selector and how what it finds is read.

use super::named::place;
use crate::config::document::{Node, Value};
use crate::config::problem::Origin;
use crate::config::scalar::{self, quoted};
use crate::config::section::{Fault, HIDDEN, Section};
use crate::select::{self, Decimal, Field, Kind, Number, Pick, check_selector};

/// What a field is read as; `None` is a list.
const TYPES: [(&str, Option<Kind>); 6] = [
    ("text", Some(Kind::Text)),
    ("number", Some(Kind::Number)),
    ("date", Some(Kind::Date)),
    ("url", Some(Kind::Url)),
    ("html", Some(Kind::Html)),
    ("list", None),
];
const DECIMALS: [(&str, Decimal); 2] = [(".", Decimal::Point), (",", Decimal::Comma)];
const PICKS: [(&str, Pick); 2] = [("first", Pick::First), ("last", Pick::Last)];

/// The fields in the order in which they are written, each with its text and
/// its place.
pub(super) fn fields(
    section: &mut Section<'_>,
    origin: Origin,
    node: Node,
) -> Vec<(Field, String, Origin)> {
    const KEY: &str = "fields";
    let Value::Table(table) = node.value else {
        let fault = Fault::from(format!("must be a table, not {}", node.value.kind()));
        let fault = fault.hint("write fields = { NAME = \"SELECTOR\" }");
        section.fault(KEY, node.origin, fault);
        return Vec::new();
    };
    if table.entries.is_empty() {
        section.fault(KEY, origin, "must not be empty".into());
    }
    let mut entries: Vec<_> = table.entries.into_iter().collect();
    by_place(&mut entries, |(_, (origin, _))| *origin);
    let mut fields = Vec::with_capacity(entries.len());
    for (name, (origin, node)) in entries {
        if name.chars().any(char::is_control) {
            let fault = Fault::from("must not hold control characters");
            section.fault(&format!("{KEY}.{name:?}"), origin, fault);
            continue;
        }
        let secret = node.secret;
        let (field, shown) = field(section, &name, node);
        let shown = if secret { HIDDEN.to_owned() } else { shown };
        fields.push((field, shown, origin));
    }
    fields
}

/// Sorts by the place in the file.
pub(super) fn by_place<T>(items: &mut [T], origin: impl Fn(&T) -> Origin) {
    items.sort_by_key(|item| place(origin(item)));
}

/// One field, as far as it can be used.
fn field(section: &mut Section<'_>, name: &str, node: Node) -> (Field, String) {
    let field = Field::new(name);
    let path = section.path(&format!("fields.{name}"));
    let Value::Table(table) = node.value else {
        return match css(&node) {
            Ok(css) => (with_css(field, &css), quoted(&css)),
            Err(fault) => {
                section.fault(&format!("fields.{name}"), node.origin, fault);
                (field, String::new())
            }
        };
    };
    let mut keys = Keys {
        section: section
            .report
            .section_labelled(table, "extract.fields", &path),
        shown: Vec::new(),
        field,
    };
    keys.read();
    let Keys {
        section,
        shown,
        field,
    } = keys;
    section.finish();
    (field, shown.join(" "))
}

fn css(node: &Node) -> Result<String, Fault> {
    let css = scalar::line(node)?;
    check_selector(&css).map_err(|error| Fault::from(error.message()))?;
    Ok(css)
}

/// Sets a selector that was checked.
fn with_css(field: Field, css: &str) -> Field {
    field.select(css).expect("it is a selector")
}

/// The table of a field while it is read.
struct Keys<'r> {
    section: Section<'r>,
    shown: Vec<String>,
    field: Field,
}

impl Keys<'_> {
    fn read(&mut self) {
        if let Some(css) = self.key("select", css) {
            self.shown.push(quoted(&css));
            self.put(|field| with_css(field, &css));
        }
        if let Some(attr) = self.key("attr", scalar::line) {
            self.shown.push(format!("attr = {attr:?}"));
            self.put(|field| field.attr(&attr));
        }
        let said = self.section.peek("type", |_| true);
        let kind = self.key("type", |node| scalar::choice(node, &TYPES));
        let list = kind == Some(None);
        if said && kind.is_none() {
            // Whether the other keys fit nobody knows.
            for key in ["of", "decimal", "pick", "default"] {
                let _ = self.section.take(key);
            }
        }
        if let Some(kind) = &kind {
            self.shown
                .push(format!("type = {}", scalar::show_word(kind, &TYPES)));
        }
        let of = self.key("of", |node| {
            if !list {
                return Err("is for type = \"list\"".into());
            }
            match scalar::choice(node, &TYPES)? {
                Some(kind) => Ok(kind),
                None => Err("must not be \"list\": lists hold no lists".into()),
            }
        });
        if let Some(of) = of {
            self.shown
                .push(format!("of = {}", scalar::show_word(&Some(of), &TYPES)));
        }
        let kind = of.or(kind.flatten()).unwrap_or_default();
        self.put(|field| field.kind(kind));
        if list {
            self.put(Field::list);
        }
        self.numbers(kind);
        if self.key("required", scalar::boolean) == Some(true) {
            self.shown.push("required".to_owned());
            self.put(Field::required);
        }
        if let Some((shown, value)) = self.key("default", |node| default(node, kind, list)) {
            self.shown.push(format!("default = {shown}"));
            self.put(|field| field.default_value(value));
        }
    }

    /// Keys that only numbers have.
    fn numbers(&mut self, kind: Kind) {
        let is_number = || {
            if kind == Kind::Number {
                Ok(())
            } else {
                Err(Fault::from("is for type = \"number\""))
            }
        };
        let decimal = self.key("decimal", |node| {
            is_number()?;
            scalar::choice(node, &DECIMALS)
        });
        if let Some(decimal) = decimal {
            let word = scalar::show_word(&decimal, &DECIMALS);
            self.shown.push(format!("decimal = {word}"));
            self.put(|field| field.decimal(decimal));
        }
        let pick = self.key("pick", |node| {
            is_number()?;
            scalar::choice(node, &PICKS)
        });
        if let Some(pick) = pick {
            let word = scalar::show_word(&pick, &PICKS);
            self.shown.push(format!("pick = {word}"));
            self.put(|field| field.pick(pick));
        }
    }

    fn put(&mut self, with: impl FnOnce(Field) -> Field) {
        self.field = with(self.field.clone());
    }

    /// The value of a key, if it is there and can be used.
    fn key<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Node) -> Result<T, Fault>,
    ) -> Option<T> {
        let (_, node) = self.section.take(key)?;
        match read(&node) {
            Ok(value) => Some(value),
            Err(fault) => {
                self.section.fault(key, node.origin, fault);
                None
            }
        }
    }
}

/// A default: of the field's own type, or a list of such.
fn default(node: &Node, kind: Kind, list: bool) -> Result<(String, select::Value), Fault> {
    if list {
        let Value::List(items) = &node.value else {
            return Err(format!("must be a list, not {}", node.value.kind()).into());
        };
        let items = items.iter().map(|item| default(item, kind, false));
        let (shown, values): (Vec<String>, Vec<select::Value>) =
            items.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        return Ok((
            format!("[{}]", shown.join(", ")),
            select::Value::List(values),
        ));
    }
    if kind != Kind::Number {
        let text = scalar::text(node)?;
        return Ok((quoted(&text), select::Value::Text(text)));
    }
    let number = match node.value {
        Value::Integer(number) => i64::try_from(number).ok().map(Number::from),
        _ => Number::try_from(scalar::number(node)?).ok(),
    };
    let number = number.ok_or("is too large")?;
    Ok((number.to_string(), select::Value::Number(number)))
}
