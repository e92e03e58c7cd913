//! [`CsvColumns`]: records as comma-separated values (RFC 4180). Keeps: a row
//! has a cell for each column, and whatever a value holds, it ends neither its
//! cell nor its row.

use std::borrow::Cow;

/// What ends a row (RFC 4180 section 2).
const ROW_END: &[u8] = b"\r\n";
/// What stands between the values of a list in one cell.
const BETWEEN: &str = "; ";

/// The columns of a file of comma-separated values, by the names that the
/// values have in the records.
///
/// The first line names the columns. A record's value that has no column is
/// left out, and a column without a value is empty, as is `null`. The values
/// of a list stand in one cell with `"; "` between them; a list of lists or
/// objects, and an object, stand there as JSON. Control characters other than
/// tab and line end become U+FFFD: no other program wants them, and terminals
/// obey them.
///
/// ```
/// use canter::ledger::CsvColumns;
/// let columns = CsvColumns::new(["url", "names"]);
/// assert_eq!(columns.header(), b"url,names\r\n");
/// let mut row = Vec::new();
/// columns.push_row(&mut row, br#"{"names":["a","b \"c\""],"url":"http://a.test/"}"#);
/// assert_eq!(row, b"http://a.test/,\"a; b \"\"c\"\"\"\r\n");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvColumns(Vec<String>);

impl CsvColumns {
    /// These columns in this order; later repeats are dropped.
    #[must_use]
    pub fn new<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        let mut columns: Vec<String> = Vec::new();
        for name in names {
            let name = name.into();
            if !columns.contains(&name) {
                columns.push(name);
            }
        }
        CsvColumns(columns)
    }

    /// The line that names the columns, its end included.
    #[must_use]
    pub fn header(&self) -> Vec<u8> {
        let mut row = Vec::new();
        self.cells(&mut row, Cow::Borrowed);
        row
    }

    /// Appends the row of a record, which is one value of JSON; its end is
    /// included. One that is no object is the first cell of an empty row.
    pub fn push_row(&self, rows: &mut Vec<u8>, record: &[u8]) {
        let Some(members) = members(record) else {
            let mut whole = Some(text_of(record.trim_ascii()));
            self.cells(rows, |_| whole.take().unwrap_or_default());
            return;
        };
        self.cells(rows, |name| {
            let found = members.iter().find(|(key, _)| key == name);
            found.map_or(Cow::Borrowed(""), |(_, value)| text_of(value))
        });
    }

    fn cells<'a>(&'a self, row: &mut Vec<u8>, mut cell: impl FnMut(&'a str) -> Cow<'a, str>) {
        for (at, name) in self.0.iter().enumerate() {
            if at > 0 {
                row.push(b',');
            }
            push_cell(row, &cell(name));
        }
        row.extend_from_slice(ROW_END);
    }
}

/// Appends a value, in quotes if it needs them.
fn push_cell(row: &mut Vec<u8>, value: &str) {
    let unprintable = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r');
    let value = if value.contains(unprintable) {
        Cow::Owned(value.replace(unprintable, "\u{fffd}"))
    } else {
        Cow::Borrowed(value)
    };
    // White space at an end is part of the value, and some readers trim it.
    // Some end a line at Unicode's separators.
    let special = |c: char| matches!(c, '"' | ',' | '\n' | '\r' | '\u{2028}' | '\u{2029}');
    let at_end = |c: Option<char>| c.is_some_and(char::is_whitespace);
    if !value.contains(special)
        && !at_end(value.chars().next())
        && !at_end(value.chars().next_back())
    {
        row.extend_from_slice(value.as_bytes());
        return;
    }
    row.push(b'"');
    for (at, part) in value.split('"').enumerate() {
        if at > 0 {
            row.extend_from_slice(b"\"\"");
        }
        row.extend_from_slice(part.as_bytes());
    }
    row.push(b'"');
}

/// What stands in a cell for a value of JSON.
fn text_of(value: &[u8]) -> Cow<'_, str> {
    match value.first() {
        Some(b'"') => match serde_json::from_slice(value) {
            Ok(text) => Cow::Owned(text),
            Err(_) => String::from_utf8_lossy(value),
        },
        Some(b'[') => list_text(value),
        Some(b'n') => Cow::Borrowed(""),
        _ => String::from_utf8_lossy(value),
    }
}

fn list_text(list: &[u8]) -> Cow<'_, str> {
    let inside = list.get(1..list.len() - 1).unwrap_or_default();
    let values: Vec<&[u8]> = split(inside, b',').map(<[u8]>::trim_ascii).collect();
    if values
        .iter()
        .any(|value| value.starts_with(b"{") || value.starts_with(b"["))
    {
        return String::from_utf8_lossy(list);
    }
    let texts: Vec<Cow<'_, str>> = values.into_iter().map(text_of).collect();
    Cow::Owned(texts.join(BETWEEN))
}

/// The members of an object: each name, and its value as it stands.
fn members(record: &[u8]) -> Option<Vec<(String, &[u8])>> {
    let inside = record.trim_ascii().strip_prefix(b"{")?.strip_suffix(b"}")?;
    split(inside, b',')
        .filter(|member| !member.trim_ascii().is_empty())
        .map(|member| {
            let mut parts = split(member, b':');
            let name = serde_json::from_slice(parts.next()?.trim_ascii()).ok()?;
            let value = parts.next()?.trim_ascii();
            Some((name, value))
        })
        .collect()
}

/// Splits JSON at a character that stands outside strings, lists and objects.
fn split(json: &[u8], at: u8) -> impl Iterator<Item = &[u8]> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    json.split(move |&byte| {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            return false;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => return depth == 0 && byte == at,
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(record: &str) -> String {
        let columns = CsvColumns::new(["a", "b, c", "a"]);
        let mut row = Vec::new();
        columns.push_row(&mut row, record.as_bytes());
        String::from_utf8(row).expect("UTF-8")
    }

    /// Reads what is written, by the grammar of RFC 4180 section 2.
    fn read(text: &str) -> Vec<Vec<String>> {
        let mut rows = vec![vec![String::new()]];
        let mut quoted = false;
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let row = rows.last_mut().expect("a row");
            let cell = row.last_mut().expect("a cell");
            match c {
                '"' if quoted && chars.peek() == Some(&'"') => {
                    chars.next();
                    cell.push('"');
                }
                '"' => quoted = !quoted,
                ',' if !quoted => row.push(String::new()),
                '\r' if !quoted => {
                    assert_eq!(chars.next(), Some('\n'));
                    rows.push(vec![String::new()]);
                }
                _ => cell.push(c),
            }
        }
        assert!(!quoted);
        assert_eq!(rows.pop(), Some(vec![String::new()]), "it ends with a row");
        rows
    }

    #[test]
    fn values_are_quoted_where_they_must_be() {
        let columns = CsvColumns::new(["a", "b, c"]);
        assert_eq!(columns.header(), b"a,\"b, c\"\r\n");
        assert_eq!(row(r#"{"a":"plain","b, c":12.50}"#), "plain,12.50\r\n");
        assert_eq!(row(r#"{"b, c":true,"x":1,"a":null}"#), ",true\r\n");
        assert_eq!(row("{}"), ",\r\n");
        assert_eq!(
            row(r#"{"a":"1,5","b, c":"say \"x\""}"#),
            "\"1,5\",\"say \"\"x\"\"\"\r\n"
        );
        assert_eq!(
            row(r#"{"a":"two\nlines","b, c":" x"}"#),
            "\"two\nlines\",\" x\"\r\n"
        );
        assert_eq!(
            row(r#"{"a":"\u001b[31m\u0000","b, c":"\t"}"#),
            "\u{fffd}[31m\u{fffd},\"\t\"\r\n"
        );
    }

    #[test]
    fn lists_are_joined_and_objects_stay_json() {
        assert_eq!(
            row(r#"{"a":["x","y, z",3],"b, c":[]}"#),
            "\"x; y, z; 3\",\r\n"
        );
        assert_eq!(
            row(r#"{"a":[{"k":[1,2]}],"b, c":{"k":"}"}}"#),
            "\"[{\"\"k\"\":[1,2]}]\",\"{\"\"k\"\":\"\"}\"\"}\"\r\n"
        );
        assert_eq!(row(" [1, 2] "), "1; 2,\r\n", "no object: one cell");
        assert_eq!(row("\"x\\\"{\""), "\"x\"\"{\",\r\n");
    }

    #[test]
    fn whatever_the_values_are_they_read_back() {
        let mut rng = fastrand::Rng::with_seed(4180);
        let pool = [
            '"', ',', '\n', '\r', ' ', 'a', '\\', '{', ']', ':', 'é', '\u{2028}', ';',
        ];
        let columns = CsvColumns::new(["a", "b"]);
        let mut text = Vec::new();
        let mut expected = Vec::new();
        for _ in 0..2_000 {
            let mut value = || -> String {
                let length = rng.usize(0..8);
                std::iter::repeat_with(|| pool[rng.usize(..pool.len())])
                    .take(length)
                    .collect()
            };
            let (a, b) = (value(), value());
            let record = serde_json::json!({"b": b, "x": [a, {"b": 1}], "a": a}).to_string();
            columns.push_row(&mut text, record.as_bytes());
            expected.push(vec![a, b]);
        }
        assert_eq!(read(&String::from_utf8(text).expect("UTF-8")), expected);
    }
}
