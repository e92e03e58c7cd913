//! [`Field`]: what to read of an item, and as what.

use std::sync::Arc;

use super::css::Css;
use super::item::Value;
use super::number::{Decimal, Pick};
use crate::error::Result;

/// What a field is read as.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The text that a reader sees, on one line.
    #[default]
    Text,
    /// A [`Number`](super::Number) as people write it.
    Number,
    /// A date as it is written: in the element's `datetime` if it has one.
    Date,
    /// A web address, resolved as a link of the page: of a link's `href` or
    /// an image's `src`, and of the text only where an element has no such
    /// attribute by its nature.
    Url,
    /// What is between the element's tags, as HTML.
    Html,
}

/// One field of an item.
///
/// Without [`attr`](Self::attr) a field is read of the element's text, but of
/// `content` for a `meta` and of `value` for an `input`; for a number also of
/// the `value` of a `data`, `meter` or `progress`. [`Kind`] says what else.
#[derive(Debug, Clone)]
#[must_use = "a field does nothing until it is part of rules"]
pub struct Field {
    pub(super) name: Arc<str>,
    pub(super) css: Option<Css>,
    pub(super) attr: Option<String>,
    pub(super) kind: Kind,
    pub(super) list: bool,
    pub(super) required: bool,
    pub(super) default: Option<Value>,
    pub(super) decimal: Decimal,
    pub(super) pick: Pick,
}

impl Field {
    /// A field that is the text of the item itself.
    pub fn new(name: &str) -> Self {
        Field {
            name: name.into(),
            css: None,
            attr: None,
            kind: Kind::default(),
            list: false,
            required: false,
            default: None,
            decimal: Decimal::default(),
            pick: Pick::default(),
        }
    }

    /// Reads the first element inside the item that matches a CSS selector and
    /// has what is to be read; `:scope` is the item.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when it is no selector.
    pub fn select(mut self, css: &str) -> Result<Self> {
        self.css = Some(Css::new(css)?);
        Ok(self)
    }

    /// Reads an attribute rather than the text.
    pub fn attr(mut self, name: &str) -> Self {
        self.attr = Some(name.to_owned());
        self
    }

    /// Sets what the field is read as.
    pub fn kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    /// Reads every element that matches, not the first alone.
    pub fn list(mut self) -> Self {
        self.list = true;
        self
    }

    /// Leaves out an item that does not have the field.
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Sets what an item has that does not have the field; nothing, or the
    /// empty list, by default.
    pub fn default_value(mut self, value: Value) -> Self {
        self.default = Some(value);
        self
    }

    /// Sets what separates decimals in numbers.
    pub fn decimal(mut self, decimal: Decimal) -> Self {
        self.decimal = decimal;
        self
    }

    /// Sets which of several numbers in a text is meant.
    pub fn pick(mut self, pick: Pick) -> Self {
        self.pick = pick;
        self
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What an item has that does not have the field.
    pub(super) fn absent(&self) -> Value {
        match &self.default {
            Some(value) => value.clone(),
            None if self.list => Value::List(Vec::new()),
            None => Value::Null,
        }
    }
}
