//! [`Table`] and [`Node`]: a configuration as it was written, every key and
//! value with its origin, `${NAME}` replaced. What came from the environment is
//! marked as secret and stays marked.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::problem::{Origin, Problem};

/// A value and where it stands.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) origin: Origin,
    /// Whether the value, or a part of it, came from the environment.
    pub(super) secret: bool,
    /// Where in a text the last value from the environment ends.
    pub(super) secret_to: usize,
    /// How a number, flag or date was spelt on the command line, where quotes
    /// are not asked for: a file may be called `7`.
    pub(super) spelt: Option<String>,
}

/// A value of TOML.
#[derive(Clone)]
pub(super) enum Value {
    Text(String),
    Integer(i128),
    Float(f64),
    Bool(bool),
    Date,
    List(Vec<Node>),
    Table(Table),
}

impl Value {
    /// What the value is, as an error names it.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Value::Text(_) => "a string",
            Value::Integer(_) => "a whole number",
            Value::Float(_) => "a number with a fraction",
            Value::Bool(_) => "true or false",
            Value::Date => "a date",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }
}

/// Keys with their values. The origin beside the node is the key's own.
#[derive(Clone, Default)]
pub(super) struct Table {
    pub(super) entries: BTreeMap<String, (Origin, Node)>,
}

/// Looks a name up in the environment.
pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Where byte offsets of a text lie.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        let ends = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        let starts = std::iter::once(0).chain(ends.map(|(at, _)| at + 1));
        Lines {
            text,
            starts: starts.collect(),
        }
    }

    fn origin(&self, offset: usize) -> Origin {
        let offset = offset.min(self.text.len());
        let line = self.starts.partition_point(|&start| start <= offset);
        let start = self.starts[line - 1];
        let column = self
            .text
            .get(start..offset)
            .map_or(offset - start, |before| before.chars().count());
        Origin::File {
            line,
            column: column + 1,
        }
    }
}

/// Reads the text of a configuration file. With errors of syntax nothing else
/// is looked at: what follows one is often only its echo.
pub(super) fn parse(text: &str, lookup: Lookup<'_>) -> Result<Table, Vec<Problem>> {
    let lines = Lines::new(text);
    let (table, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        return Err(vec![syntax_problem(text, &lines, &errors[0])]);
    }
    let mut reader = Reader {
        place: &|span| lines.origin(span.start),
        lookup,
        problems: Vec::new(),
    };
    let table = reader.table(table.get_ref(), "");
    if reader.problems.is_empty() {
        Ok(table)
    } else {
        Err(reader.problems)
    }
}

/// An error of the parser's, on one line.
fn syntax_problem(text: &str, lines: &Lines<'_>, error: &toml::de::Error) -> Problem {
    let span = error.span().unwrap_or(text.len()..text.len());
    let message = error.message();
    let what = if message.starts_with("duplicate key") {
        let key = text.get(span.clone()).unwrap_or("the key").trim();
        return Problem::new(
            lines.origin(span.start),
            "",
            format!("{key} is there twice"),
        );
    } else if message.starts_with("string values must be quoted") {
        // Also what the parser says where no value is at all.
        if span.is_empty() {
            "a value is missing".to_owned()
        } else {
            "strings must stand in quotes".to_owned()
        }
    } else {
        message.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let what = format!("not valid TOML: {what}");
    Problem::new(lines.origin(span.start), "", what)
}

/// Puts the value of `--set KEY=VALUE`, or of an option that sets a key, in its
/// place, in front of what the file says.
pub(super) fn put(
    root: &mut Table,
    key: &str,
    text: &str,
    option: &'static str,
    lookup: Lookup<'_>,
) -> Result<(), Problem> {
    let origin = Origin::CommandLine(option);
    let mut reader = Reader {
        place: &|_| origin,
        lookup,
        problems: Vec::new(),
    };
    // What is no TOML is a string without its quotes, as a shell hands it over.
    let node = match DeValue::parse(text) {
        Ok(value) => {
            let mut node = reader.node(value.get_ref(), value.span(), key);
            if !matches!(
                node.value,
                Value::Text(_) | Value::List(_) | Value::Table(_)
            ) {
                node.spelt = Some(text.to_owned());
            }
            node
        }
        Err(_) => reader.node(&DeValue::String(text.into()), 0..0, key),
    };
    if let Some(problem) = reader.problems.pop() {
        return Err(problem);
    }
    let mut table = root;
    let mut parts = key.split('.').map(str::trim).peekable();
    while let Some(part) = parts.next() {
        if part.is_empty() {
            return Err(Problem::new(
                origin,
                key,
                "needs a key and a value, write TABLE.KEY=VALUE",
            ));
        }
        if parts.peek().is_none() {
            table.entries.insert(part.to_owned(), (origin, node));
            return Ok(());
        }
        let empty = || Node {
            value: Value::Table(Table::default()),
            origin,
            secret: false,
            secret_to: 0,
            spelt: None,
        };
        let (_, inner) = table
            .entries
            .entry(part.to_owned())
            .or_insert_with(|| (origin, empty()));
        if !matches!(inner.value, Value::Table(_)) {
            *inner = empty();
        }
        let Value::Table(next) = &mut inner.value else {
            unreachable!("it was made a table above");
        };
        table = next;
    }
    unreachable!("a split has at least one part");
}

/// Turns parsed TOML into nodes.
struct Reader<'a> {
    place: &'a dyn Fn(Range<usize>) -> Origin,
    lookup: Lookup<'a>,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn table(&mut self, table: &DeTable<'_>, path: &str) -> Table {
        let mut out = Table::default();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            let path = if path.is_empty() {
                name.to_owned()
            } else {
                format!("{path}.{name}")
            };
            let node = self.node(value.get_ref(), value.span(), &path);
            let origin = (self.place)(key.span());
            out.entries.insert(name.to_owned(), (origin, node));
        }
        out
    }

    fn node(&mut self, value: &DeValue<'_>, span: Range<usize>, path: &str) -> Node {
        let origin = (self.place)(span);
        let mut secret = false;
        let mut secret_to = 0;
        let value = match value {
            DeValue::String(text) => match expand(text, self.lookup) {
                Ok((text, replaced)) => {
                    secret = replaced.is_some();
                    secret_to = replaced.unwrap_or(0);
                    Value::Text(text)
                }
                Err(why) => {
                    self.problems.push(Problem::new(origin, path, why));
                    Value::Text(String::new())
                }
            },
            DeValue::Integer(number) => {
                // More digits than that are out of every setting's range.
                let number = i128::from_str_radix(number.as_str(), number.radix());
                Value::Integer(number.unwrap_or(i128::MAX))
            }
            DeValue::Float(number) => Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(value) => Value::Bool(*value),
            DeValue::Datetime(_) => Value::Date,
            DeValue::Array(items) => {
                let items: Vec<Node> = items
                    .iter()
                    .map(|item| self.node(item.get_ref(), item.span(), path))
                    .collect();
                secret = items.iter().any(|item| item.secret);
                Value::List(items)
            }
            DeValue::Table(table) => {
                let table = self.table(table, path);
                secret = table.entries.values().any(|(_, node)| node.secret);
                Value::Table(table)
            }
        };
        Node {
            value,
            origin,
            secret,
            secret_to,
            spelt: None,
        }
    }
}

/// Replaces `${NAME}`; `$${` stands for `${`. Says where the last value ends
/// that was put in, if one was.
fn expand(text: &str, lookup: Lookup<'_>) -> Result<(String, Option<usize>), String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut replaced = None;
    while let Some(at) = rest.find("${") {
        let (before, after) = rest.split_at(at);
        let after = &after[2..];
        if let Some(before) = before.strip_suffix('$') {
            out.push_str(before);
            out.push_str("${");
            rest = after;
            continue;
        }
        out.push_str(before);
        let Some(end) = after.find('}') else {
            return Err("\"${\" without \"}\", write \"$${\" for the characters".to_owned());
        };
        let name = &after[..end];
        let valid = !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !valid {
            return Err(format!(
                "${{{name}}} does not name an environment variable, write \"$${{\" for the characters"
            ));
        }
        out.push_str(&lookup(name)?);
        replaced = Some(out.len());
        rest = &after[end + 1..];
    }
    out.push_str(rest);
    Ok((out, replaced))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(name: &str) -> Result<String, String> {
        match name {
            "TOKEN" => Ok("s3cret".to_owned()),
            "NESTED" => Ok("${TOKEN}".to_owned()),
            _ => Err(format!("the environment has no {name}")),
        }
    }

    #[test]
    fn names_are_replaced_once_and_two_dollars_escape() {
        let expanded = |text| expand(text, &lookup);
        assert_eq!(
            expanded("Bearer ${TOKEN}!"),
            Ok(("Bearer s3cret!".to_owned(), Some("Bearer s3cret".len())))
        );
        assert_eq!(
            expanded("$${TOKEN} $5 $"),
            Ok(("${TOKEN} $5 $".to_owned(), None))
        );
        assert_eq!(
            expanded("${NESTED}"),
            Ok(("${TOKEN}".to_owned(), Some("${TOKEN}".len()))),
            "a value is not read again"
        );
        assert!(expanded("${MISSING}").unwrap_err().contains("MISSING"));
        assert!(expanded("${TOKEN").is_err());
        assert!(expanded("${}").is_err());
        assert!(expanded("${A-B}").is_err());
    }

    #[test]
    fn keys_and_items_know_their_line_and_column() {
        let table = parse(
            "[a]\nb = 1\nc = [\n  \"x\",\n  \"\u{fc}\", \"y\",\n]\n",
            &lookup,
        )
        .unwrap_or_else(|_| panic!("valid"));
        let Value::Table(a) = &table.entries["a"].1.value else {
            panic!("a table")
        };
        assert_eq!(a.entries["b"].0, Origin::File { line: 2, column: 1 });
        let Value::List(items) = &a.entries["c"].1.value else {
            panic!("a list")
        };
        let places: Vec<_> = items.iter().map(|item| item.origin).collect();
        assert_eq!(
            places,
            [
                Origin::File { line: 4, column: 3 },
                Origin::File { line: 5, column: 3 },
                Origin::File { line: 5, column: 8 },
            ],
            "columns count characters, not bytes"
        );
    }

    #[test]
    fn a_secret_marks_every_table_and_list_around_it() {
        let text = "[a]\nb = [\"x\", \"${TOKEN}\"]\nc = \"x\"\n";
        let table = parse(text, &lookup).unwrap_or_else(|_| panic!("valid"));
        let node = &table.entries["a"].1;
        assert!(node.secret);
        let Value::Table(a) = &node.value else {
            panic!("a table")
        };
        assert!(a.entries["b"].1.secret);
        assert!(!a.entries["c"].1.secret);
    }

    #[test]
    fn a_syntax_error_is_one_line_with_its_place() {
        for (text, line, word) in [
            ("[a]\nb = \n", 2, "a value is missing"),
            ("[a]\nb = 10m\n", 2, "strings must stand in quotes"),
            ("[a\n", 1, "]"),
            ("[a]\nb = 1\nb = 2\n", 3, "b is there twice"),
            ("a = \"x\n", 1, "string"),
            ("a = 1 b = 2", 1, "newline"),
        ] {
            let problems = parse(text, &lookup).err().expect(text);
            assert_eq!(problems.len(), 1, "{text}");
            let Origin::File { line: found, .. } = problems[0].origin else {
                panic!("in the file")
            };
            assert_eq!(found, line, "{text}");
            assert!(!problems[0].message.contains('\n'));
            assert!(problems[0].message.contains(word), "{:?}", problems[0]);
        }
    }
}
