//! How single values are read: their type, their range, and how they are
//! shown. A message never repeats a value that is secret.

use std::fmt::Display;
use std::time::Duration;

use super::document::{Node, Value};
use super::section::Fault;
use super::suggest::nearest;
use super::units;

/// The word for an optional value that is not set.
pub(super) const NONE: &str = "none";

fn wrong(wanted: &str, node: &Node) -> Fault {
    let fault = Fault::from(format!("must be {wanted}, not {}", node.value.kind()));
    match &node.value {
        // A number or a flag in quotes is the common slip.
        Value::Text(text) if !node.secret && looks_bare(text) => {
            fault.hint(format!("write {text} without quotes"))
        }
        _ => fault,
    }
}

fn looks_bare(text: &str) -> bool {
    text.parse::<f64>().is_ok() || matches!(text, "true" | "false")
}

/// Hides the text of a message that repeats it.
fn hide(node: &Node, why: String) -> Fault {
    if node.secret {
        Fault::from("what the environment holds cannot be used here")
    } else {
        Fault::from(why)
    }
}

pub(super) fn text(node: &Node) -> Result<String, Fault> {
    if let Some(spelt) = &node.spelt {
        return Ok(spelt.clone());
    }
    let Value::Text(text) = &node.value else {
        let fault = wrong("a string", node);
        return Err(match node.value {
            Value::Integer(_) | Value::Float(_) | Value::Bool(_) => fault.hint("put it in quotes"),
            _ => fault,
        });
    };
    Ok(text.clone())
}

/// A string that is not empty and has no control characters.
pub(super) fn line(node: &Node) -> Result<String, Fault> {
    let text = text(node)?;
    if text.trim().is_empty() {
        return Err("must not be empty".into());
    }
    if text.chars().any(char::is_control) {
        return Err("must not hold control characters".into());
    }
    Ok(text)
}

pub(super) fn boolean(node: &Node) -> Result<bool, Fault> {
    match node.value {
        Value::Bool(value) => Ok(value),
        _ => Err(wrong("true or false", node)),
    }
}

/// A whole number from `least` to what the type holds.
pub(super) fn integer<T>(node: &Node, least: T) -> Result<T, Fault>
where
    T: TryFrom<i128> + Display + PartialOrd + Copy,
{
    let Value::Integer(number) = node.value else {
        return Err(wrong("a whole number", node));
    };
    match T::try_from(number) {
        Ok(value) if value >= least => Ok(value),
        _ if number > 0 => Err(format!("is too large: {number}").into()),
        _ => Err(format!("must be at least {least}, not {number}").into()),
    }
}

/// A whole number from `least` to `most`.
pub(super) fn integer_within(node: &Node, least: usize, most: usize) -> Result<usize, Fault> {
    let Value::Integer(number) = node.value else {
        return Err(wrong("a whole number", node));
    };
    match usize::try_from(number) {
        Ok(value) if (least..=most).contains(&value) => Ok(value),
        _ => Err(format!("must be from {least} to {most}, not {number}").into()),
    }
}

/// A number, with or without a fraction.
pub(super) fn number(node: &Node) -> Result<f64, Fault> {
    match node.value {
        Value::Integer(number) => Ok(number as f64),
        Value::Float(number) if number.is_finite() => Ok(number),
        Value::Float(number) => Err(format!("must be a finite number, not {number}").into()),
        _ => Err(wrong("a number", node)),
    }
}

/// Seconds, or a string such as `"10m"`.
pub(super) fn duration(node: &Node) -> Result<Duration, Fault> {
    match &node.value {
        Value::Integer(seconds) => Ok(units::seconds_to_duration(*seconds as f64)?),
        Value::Float(seconds) => Ok(units::seconds_to_duration(*seconds)?),
        Value::Text(text) => units::parse_duration(text).map_err(|why| hide(node, why)),
        _ => Err(wrong("seconds or a string such as \"10m\"", node)),
    }
}

/// Bytes, or a string such as `"10 MiB"`.
pub(super) fn size(node: &Node) -> Result<u64, Fault> {
    match &node.value {
        Value::Integer(bytes) => u64::try_from(*bytes)
            .map_err(|_| format!("must be from 0 to {}, not {bytes}", u64::MAX).into()),
        Value::Text(text) => units::parse_size(text).map_err(|why| hide(node, why)),
        _ => Err(wrong("bytes or a string such as \"10 MiB\"", node)),
    }
}

/// One of some words.
pub(super) fn choice<T: Copy>(node: &Node, words: &[(&str, T)]) -> Result<T, Fault> {
    let text = text(node)?;
    if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
        return Ok(*value);
    }
    let all: Vec<String> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
    let mut fault = hide(node, format!("must be {}, not {text:?}", all.join(" or ")));
    if !node.secret {
        fault.hint = nearest(&text, words.iter().map(|(word, _)| *word))
            .map(|word| format!("did you mean {word:?}?"));
    }
    Err(fault)
}

/// Shows one of some words.
pub(super) fn show_word<T: PartialEq>(value: &T, words: &[(&str, T)]) -> String {
    let word = words.iter().find(|(_, of)| of == value);
    quoted(word.map_or("", |(word, _)| word))
}

/// `"none"`, or what `read` reads.
pub(super) fn optional<T>(
    node: &Node,
    read: impl FnOnce(&Node) -> Result<T, Fault>,
) -> Result<Option<T>, Fault> {
    match &node.value {
        Value::Text(text) if text == NONE => Ok(None),
        _ => read(node).map(Some),
    }
}

/// Shows an optional value.
pub(super) fn show_optional<T>(value: Option<&T>, show: impl FnOnce(&T) -> String) -> String {
    value.map_or_else(|| NONE.to_owned(), show)
}

/// Shows text as TOML does.
pub(super) fn quoted<T: AsRef<str> + ?Sized>(text: &T) -> String {
    format!("{:?}", text.as_ref())
}

/// Shows whatever has a display.
pub(super) fn plain<T: Display>(value: &T) -> String {
    value.to_string()
}

/// Shows a duration as a string that reads back.
pub(super) fn duration_text(value: &Duration) -> String {
    quoted(&units::show_duration(*value))
}
