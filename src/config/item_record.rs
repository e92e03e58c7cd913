//! How an item is written: one line of JSON, its page and its rules first.

use super::json::string;
use crate::select::{Field, Item, Rules, Value};

/// The names in a record of these rules, in their order.
pub(super) fn columns(rules: &Rules) -> impl Iterator<Item = String> {
    let own = ["url", "extract"].into_iter();
    let fields = rules.fields().map(Field::name);
    own.chain(fields).map(str::to_owned)
}

/// Appends the record of an item, without a line end.
pub(super) fn write(item: &Item, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"url\":");
    string(item.url().as_str(), out);
    out.extend_from_slice(b",\"extract\":");
    string(item.rules(), out);
    for (name, value) in item.fields() {
        out.push(b',');
        string(name, out);
        out.push(b':');
        write_value(value, out);
    }
    out.push(b'}');
}

fn write_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Text(text) => string(text, out),
        // The digits of the page, which no floating-point number rounds.
        Value::Number(number) => out.extend_from_slice(number.as_str().as_bytes()),
        Value::List(values) => {
            out.push(b'[');
            for (at, value) in values.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_value(value, out);
            }
            out.push(b']');
        }
        _ => out.extend_from_slice(b"null"),
    }
}
