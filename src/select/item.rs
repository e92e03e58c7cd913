//! [`Item`] and [`Value`]: what was read of a page.

use std::sync::Arc;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use url::Url;

use super::number::Number;

/// What a field of an item holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value {
    /// Nothing.
    #[default]
    Null,
    /// Text, never empty when it was read of a page.
    Text(String),
    /// A number.
    Number(Number),
    /// What every matching element gave.
    List(Vec<Value>),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_owned())
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Text(text) => serializer.serialize_str(text),
            Value::Number(number) => number.serialize(serializer),
            Value::List(values) => serializer.collect_seq(values),
        }
    }
}

/// One thing that a page is about, as [`Rules`](super::Rules) read it.
///
/// It serialises as a record: `url`, `extract` with the name of the rules, and
/// the fields in the order of the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub(super) url: Arc<Url>,
    pub(super) rules: Arc<str>,
    pub(super) fields: Vec<(Arc<str>, Value)>,
}

impl Item {
    /// The page, without user and password.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The name of the rules.
    #[must_use]
    pub fn rules(&self) -> &str {
        &self.rules
    }

    /// The value of a field; `None` when the rules have no such field.
    #[must_use]
    pub fn get(&self, field: &str) -> Option<&Value> {
        let mut fields = self.fields.iter();
        fields
            .find(|(name, _)| **name == *field)
            .map(|(_, value)| value)
    }

    /// The text of a field, if it is text.
    #[must_use]
    pub fn text(&self, field: &str) -> Option<&str> {
        match self.get(field)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number of a field, if it is one.
    #[must_use]
    pub fn number(&self, field: &str) -> Option<&Number> {
        match self.get(field)? {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Every field with its value, in the order of the rules.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.fields.iter().map(|(name, value)| (&**name, value))
    }
}

impl Serialize for Item {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2 + self.fields.len()))?;
        map.serialize_entry("url", self.url.as_str())?;
        map.serialize_entry("extract", &*self.rules)?;
        for (name, value) in self.fields() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}
