//! [`Section`] reads one table; [`Report`] gathers what was wrong and what is
//! in effect. Every key that is asked for is a known key, so the list of known
//! keys cannot differ from what is read.

use super::document::{Node, Table, Value};
use super::problem::{Origin, Problem};
use super::suggest::nearest;

/// What stands for a value that must not be shown.
pub(crate) const HIDDEN: &str = "***";

/// A setting in effect: its key, its value as text, and where it comes from.
/// Values that came from the environment are shown as `***`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The table: `crawl`, `policy` and so on.
    pub table: &'static str,
    /// The key in the table.
    pub key: &'static str,
    /// The value as TOML, or `none`.
    pub value: String,
    /// Where it comes from.
    pub origin: Origin,
}

/// Why a value cannot be used, and perhaps what was meant.
pub(super) struct Fault {
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl From<String> for Fault {
    fn from(message: String) -> Self {
        Fault {
            message,
            hint: None,
        }
    }
}

impl From<&str> for Fault {
    fn from(message: &str) -> Self {
        Fault::from(message.to_owned())
    }
}

impl Fault {
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// A key that no section asked for.
struct Unknown {
    origin: Origin,
    table: &'static str,
    /// The table as it is written.
    label: String,
    key: String,
}

/// Words of other crawlers, and what they are called here.
const OTHER_NAMES: [(&str, &str); 14] = [
    ("threads", "policy.concurrency"),
    ("workers", "policy.concurrency"),
    ("rate", "policy.max_requests_per_minute"),
    ("requests_per_minute", "policy.max_requests_per_minute"),
    ("delay", "policy.host_delay"),
    ("retries", "policy.max_retries"),
    ("depth", "crawl.max_depth"),
    ("urls", "crawl.seeds"),
    ("start_urls", "crawl.seeds"),
    ("allowed_domains", "scope.hosts"),
    ("domains", "scope.hosts"),
    ("robots", "robots.obey"),
    ("file", "output.path"),
    ("ignore_robots", "robots.obey"),
];

fn other_name(word: &str) -> Option<&'static str> {
    let named = OTHER_NAMES.iter().find(|(other, _)| *other == word);
    named.map(|(_, meant)| *meant)
}

/// What reading a configuration found.
#[derive(Default)]
pub(super) struct Report {
    pub(super) problems: Vec<Problem>,
    pub(super) entries: Vec<Entry>,
    known: Vec<(&'static str, &'static str)>,
    unknown: Vec<Unknown>,
}

impl Report {
    pub(super) fn problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Makes keys known of a table that may not be there to be read.
    pub(super) fn know(&mut self, table: &'static str, keys: &[&'static str]) {
        self.known.extend(keys.iter().map(|&key| (table, key)));
    }

    /// Takes a table out of the root; an empty one when it is not there.
    pub(super) fn section<'r>(&'r mut self, root: &mut Table, name: &'static str) -> Section<'r> {
        let table = match root.entries.remove(name) {
            None => Table::default(),
            Some((origin, node)) => {
                if let Value::Table(table) = node.value {
                    table
                } else {
                    let what = format!("must be a table, not {}", node.value.kind());
                    let mut problem = Problem::new(origin, name, what);
                    problem.hint = Some(format!("write [{name}] above its keys"));
                    self.problem(problem);
                    Table::default()
                }
            }
        };
        self.section_of(table, name)
    }

    /// Reads a table that was already taken out.
    pub(super) fn section_of(&mut self, table: Table, name: &'static str) -> Section<'_> {
        self.section_labelled(table, name, name)
    }

    /// Reads a table that has a name of its own, `label`, among those of its
    /// kind.
    pub(super) fn section_labelled(
        &mut self,
        table: Table,
        name: &'static str,
        label: &str,
    ) -> Section<'_> {
        Section {
            name,
            label: label.to_owned(),
            table,
            asked: Vec::new(),
            report: self,
        }
    }

    /// Turns what is left of the root, and every key that nobody asked for,
    /// into problems. Called last, when all keys are known.
    pub(super) fn close(&mut self, root: Table) {
        for (key, (origin, node)) in root.entries {
            if matches!(node.value, Value::Table(_) | Value::List(_)) {
                let near = nearest(&key, self.tables());
                let mut problem = Problem::new(origin, &key, "unknown table");
                problem.hint = Some(match near {
                    Some(table) => format!("did you mean [{table}]?"),
                    None => self.all_tables(),
                });
                self.problems.push(problem);
            } else {
                self.unknown.push(Unknown {
                    origin,
                    table: "",
                    label: String::new(),
                    key,
                });
            }
        }
        for unknown in std::mem::take(&mut self.unknown) {
            let Unknown {
                origin,
                table,
                label,
                key,
            } = unknown;
            let path = if label.is_empty() {
                key.clone()
            } else {
                format!("{label}.{key}")
            };
            let mut problem = Problem::new(origin, path, "unknown key");
            problem.hint = Some(match self.meant(table, &key) {
                Some(meant) => format!("did you mean {meant}?"),
                None if table.is_empty() => self.all_tables(),
                None => self.all_keys(table),
            });
            self.problems.push(problem);
        }
    }

    /// Says of a setting without a value what is to be written, or that there
    /// is no such key. Called when all keys are known.
    pub(super) fn no_value(&mut self, origin: Origin, setting: &str) {
        let (table, key) = setting.split_once('.').unwrap_or(("", setting));
        if self.known.contains(&(table, key)) {
            let mut problem = Problem::new(origin, setting, "has no value");
            problem.hint = Some(format!("write {setting}=VALUE"));
            self.problems.push(problem);
        } else if let Some(table) = self.tables().find(|known| *known == table) {
            self.unknown.push(Unknown {
                origin,
                table,
                label: table.to_owned(),
                key: key.to_owned(),
            });
        } else {
            let mut problem = Problem::new(origin, setting, "is no setting");
            problem.hint = Some(match self.meant(table, key) {
                Some(meant) => format!("did you mean {meant}=VALUE?"),
                None => format!("write TABLE.KEY=VALUE; {}", self.all_tables()),
            });
            self.problems.push(problem);
        }
    }

    fn tables(&self) -> impl Iterator<Item = &'static str> + use<> {
        let mut tables: Vec<&str> = Vec::new();
        for (table, _) in &self.known {
            // `extract.NAME.fields` and the like are written within others.
            if !tables.contains(table) && !table.contains('.') {
                tables.push(table);
            }
        }
        tables.into_iter()
    }

    fn all_tables(&self) -> String {
        let tables: Vec<String> = self.tables().map(|table| format!("[{table}]")).collect();
        format!("the tables are {}", tables.join(", "))
    }

    fn all_keys(&self, table: &str) -> String {
        let mut keys: Vec<&str> = Vec::new();
        for (of, key) in &self.known {
            if *of == table && !keys.contains(key) {
                keys.push(key);
            }
        }
        format!("its keys are {}", keys.join(", "))
    }

    /// A key of the same table if one is near, or is called so elsewhere, or
    /// ends so; else one of another table.
    fn meant(&self, table: &str, key: &str) -> Option<String> {
        let keys = |inside: bool| {
            self.known
                .iter()
                .filter(move |(of, _)| (*of == table) == inside)
        };
        if let Some(near) = nearest(key, keys(true).map(|&(_, key)| key)) {
            return Some(near.to_owned());
        }
        let here = |meant: &&str| meant.split_once('.').is_some_and(|(of, _)| of == table);
        let others = OTHER_NAMES.iter().filter(|(_, meant)| here(meant));
        if let Some(near) = nearest(key, others.map(|&(other, _)| other)) {
            return other_name(near).map(str::to_owned);
        }
        let ends = keys(true).filter_map(|(_, key)| Some((key.rsplit_once('_')?.1, *key)));
        if let Some(near) = nearest(key, ends.clone().map(|(end, _)| end)) {
            return ends
                .clone()
                .find(|(end, _)| *end == near)
                .map(|(_, key)| key.to_owned());
        }
        let plain = key.to_ascii_lowercase().replace('-', "_");
        if let Some(meant) = other_name(&plain) {
            return Some(meant.to_owned());
        }
        if let Some((of, key)) = keys(false).find(|(_, known)| *known == plain) {
            return Some(format!("{of}.{key}"));
        }
        let near = nearest(key, keys(false).map(|&(_, key)| key))?;
        let (of, key) = keys(false).find(|(_, known)| *known == near)?;
        Some(format!("{of}.{key}"))
    }
}

/// One table while it is read.
pub(super) struct Section<'r> {
    name: &'static str,
    /// How it is written in messages.
    label: String,
    table: Table,
    asked: Vec<&'static str>,
    pub(super) report: &'r mut Report,
}

impl Section<'_> {
    /// Takes a key's value out, and makes the key known.
    pub(super) fn take(&mut self, key: &'static str) -> Option<(Origin, Node)> {
        self.asked.push(key);
        self.table.entries.remove(key)
    }

    /// Looks at a key's value, and leaves it there.
    pub(super) fn peek(&self, key: &str, test: impl FnOnce(&Value) -> bool) -> bool {
        let entry = self.table.entries.get(key);
        entry.is_some_and(|(_, node)| test(&node.value))
    }

    /// The key with its table.
    pub(super) fn path(&self, key: &str) -> String {
        format!("{}.{key}", self.label)
    }

    /// Notes what is wrong with a key's value.
    pub(super) fn fault(&mut self, key: &str, origin: Origin, fault: Fault) {
        let mut problem = Problem::new(origin, self.path(key), fault.message);
        problem.hint = fault.hint;
        self.report.problem(problem);
    }

    /// Notes what is in effect.
    pub(super) fn entry(&mut self, key: &'static str, value: String, origin: Origin) {
        self.report.entries.push(Entry {
            table: self.name,
            key,
            value,
            origin,
        });
    }

    /// The key's value, or `default` when it is not there or cannot be used.
    pub(super) fn read<T>(
        &mut self,
        key: &'static str,
        default: T,
        read: impl FnOnce(&Node) -> Result<T, Fault>,
        show: impl FnOnce(&T) -> String,
    ) -> T {
        let mut origin = Origin::Default;
        let mut value = default;
        let mut secret = false;
        if let Some((place, node)) = self.take(key) {
            match read(&node) {
                Ok(read) => value = read,
                Err(fault) => self.fault(key, node.origin, fault),
            }
            origin = place;
            secret = node.secret;
        }
        let shown = if secret {
            HIDDEN.to_owned()
        } else {
            show(&value)
        };
        self.entry(key, shown, origin);
        value
    }

    /// A list, each item with an origin of its own. `None` when the key is not
    /// there; items that cannot be used are problems and left out.
    pub(super) fn list<T>(
        &mut self,
        key: &'static str,
        mut read: impl FnMut(&Node) -> Result<T, Fault>,
        show: impl Fn(&T) -> String,
    ) -> Option<Listed<T>> {
        let (origin, node) = self.take(key)?;
        let Value::List(items) = node.value else {
            let hint = match &node.value {
                Value::Text(text) if !node.secret => Some(format!("write [{text:?}]")),
                _ => None,
            };
            let mut fault = Fault::from(format!("must be a list, not {}", node.value.kind()));
            fault.hint = hint;
            self.fault(key, node.origin, fault);
            return None;
        };
        let mut listed = Listed {
            items: Vec::with_capacity(items.len()),
            shown: Vec::with_capacity(items.len()),
            origin,
            written: items.len(),
        };
        for item in items {
            match read(&item) {
                Ok(value) => {
                    listed.shown.push(if item.secret {
                        HIDDEN.to_owned()
                    } else {
                        show(&value)
                    });
                    listed.items.push((item.origin, value));
                }
                Err(fault) => self.fault(key, item.origin, fault),
            }
        }
        Some(listed)
    }

    /// Whatever was not asked for is unknown.
    pub(super) fn finish(self) {
        let Section {
            name,
            label,
            table,
            asked,
            report,
        } = self;
        report.know(name, &asked);
        for (key, (origin, _)) in table.entries {
            report.unknown.push(Unknown {
                origin,
                table: name,
                label: label.clone(),
                key,
            });
        }
    }
}

/// A list that was there.
pub(super) struct Listed<T> {
    pub(super) items: Vec<(Origin, T)>,
    shown: Vec<String>,
    pub(super) origin: Origin,
    /// How many items the list has, those that cannot be used included.
    pub(super) written: usize,
}

impl<T> Listed<T> {
    /// The list as TOML, secrets hidden.
    pub(super) fn show(&self) -> String {
        format!("[{}]", self.shown.join(", "))
    }

    /// The items alone.
    pub(super) fn values(self) -> Vec<T> {
        self.items.into_iter().map(|(_, value)| value).collect()
    }
}
