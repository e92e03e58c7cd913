//! [`raw`]: what an element says for a field, before it is read as anything.
//! Keeps: it is never empty, and never taken from where the page means
//! something else.

use std::borrow::Cow;

use scraper::ElementRef;

use super::field::{Field, Kind};
use super::text::{digits_of, text_of};

/// What an element says for a field, never empty.
pub(super) fn raw<'a>(element: ElementRef<'a>, field: &Field) -> Result<Cow<'a, str>, String> {
    let attr = match &field.attr {
        Some(name) => Some(name.as_str()),
        None => usual_attr(element, field.kind),
    };
    let text = match attr {
        Some(name) => match element.attr(name) {
            Some(value) => Cow::Borrowed(value.trim_ascii()),
            None => return Err(format!("{} has no attribute {name:?}", shown(field))),
        },
        None => match field.kind {
            Kind::Html => Cow::Owned(element.inner_html().trim_ascii().to_owned()),
            Kind::Number => Cow::Owned(digits_of(element)),
            Kind::Text | Kind::Date | Kind::Url => Cow::Owned(text_of(element)),
        },
    };
    if text.is_empty() {
        return Err(match attr {
            Some(name) => format!("the attribute {name:?} of {} is empty", shown(field)),
            None => format!("{} is empty", shown(field)),
        });
    }
    Ok(text)
}

/// Where an element says it when nobody names an attribute; `None` for the
/// text.
fn usual_attr(element: ElementRef<'_>, kind: Kind) -> Option<&'static str> {
    let name = element.value().name();
    let has = |attr: &'static str| element.attr(attr).map(|_| attr);
    match (kind, name) {
        (_, "meta") => Some("content"),
        (_, "input") => Some("value"),
        (Kind::Number, "data" | "meter" | "progress") => has("value"),
        (Kind::Date, _) => has("datetime"),
        // The text of a link is no address, also when the link leads nowhere.
        (Kind::Url, "a" | "area" | "link") => Some("href"),
        (Kind::Url, name) if EMBEDDED.contains(&name) => Some("src"),
        (Kind::Url, _) => has("href").or_else(|| has("src")),
        _ => None,
    }
}

/// Elements whose address is in `src`.
const EMBEDDED: [&str; 9] = [
    "img", "iframe", "frame", "script", "source", "audio", "video", "track", "embed",
];

fn shown(field: &Field) -> String {
    match &field.css {
        Some(css) => format!("{:?}", css.to_string()),
        None => "the item".to_owned(),
    }
}

pub(super) fn no_element(field: &Field) -> String {
    format!("no element matches {}", shown(field))
}
