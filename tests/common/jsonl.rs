//! Reading JSON Lines, strictly: every line whole, every line JSON.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

/// The records of a file.
///
/// # Panics
/// When it cannot be read, when a line is not JSON or is empty, and when the
/// last line does not end.
pub(crate) fn read(path: impl AsRef<Path>) -> Vec<Value> {
    let path = path.as_ref();
    let text =
        fs::read_to_string(path).unwrap_or_else(|e| panic!("cannot read {}: {e}", path.display()));
    parse_as(&text, &path.display().to_string())
}

/// The records of a text, as strictly as [`read`].
pub(crate) fn parse(text: &str) -> Vec<Value> {
    parse_as(text, "text")
}

fn parse_as(text: &str, name: &str) -> Vec<Value> {
    assert!(
        text.is_empty() || text.ends_with('\n'),
        "{name}: the last line does not end: {:?}",
        text.lines().last()
    );
    text.split_terminator('\n')
        .enumerate()
        .map(|(at, line)| {
            serde_json::from_str(line)
                .unwrap_or_else(|e| panic!("{name}:{}: {e}: {line:?}", at + 1))
        })
        .collect()
}

/// The text in a record's field.
///
/// # Panics
/// When the field is missing or is no text.
pub(crate) fn text<'a>(record: &'a Value, field: &str) -> &'a str {
    record[field]
        .as_str()
        .unwrap_or_else(|| panic!("no text in {field:?}: {record}"))
}

/// The records by the text in a field.
///
/// # Panics
/// When two records have the same text there.
pub(crate) fn by<'a>(records: &'a [Value], field: &str) -> BTreeMap<&'a str, &'a Value> {
    let mut map = BTreeMap::new();
    for record in records {
        if let Some(first) = map.insert(text(record, field), record) {
            panic!("two records with the same {field:?}: {first} and {record}");
        }
    }
    map
}
