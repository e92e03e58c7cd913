//! [`Rules`]: which pages are read, which elements are items, and what is read
//! of each. Keeps: an item's fields have different names, none of them that of
//! the record's own.

use std::sync::Arc;

use url::Url;

use super::css::Css;
use super::field::Field;
use crate::error::{Error, Result};
use crate::uri::Glob;

/// Names in an item's record that are not its fields'.
const OWN_NAMES: [&str; 2] = ["url", "extract"];

/// Says how items are made of pages. See the [module](super) for an example.
#[derive(Debug, Clone)]
#[must_use = "rules do nothing until they are applied"]
pub struct Rules {
    pub(super) name: Arc<str>,
    paths: Vec<Glob>,
    pub(super) item: Option<Css>,
    pub(super) fields: Vec<Field>,
}

impl Rules {
    /// Rules of that name without fields, for every page; the item is the page.
    pub fn new(name: &str) -> Self {
        Rules {
            name: name.into(),
            paths: Vec::new(),
            item: None,
            fields: Vec::new(),
        }
    }

    /// Reads pages with one of these paths alone ([`Glob`]).
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid), naming the pattern.
    pub fn paths<S: Into<String>>(mut self, globs: impl IntoIterator<Item = S>) -> Result<Self> {
        let globs = globs.into_iter().map(Glob::new);
        self.paths = globs.collect::<Result<_>>()?;
        Ok(self)
    }

    /// Makes an item of each element that matches a CSS selector.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when it is no selector.
    pub fn select(mut self, css: &str) -> Result<Self> {
        self.item = Some(Css::new(css)?);
        Ok(self)
    }

    /// Adds a field.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when the name is
    /// empty, taken, or one of the record's own, `url` and `extract`; or when
    /// the field is required and has a default.
    pub fn field(mut self, field: Field) -> Result<Self> {
        let name = field.name();
        if name.is_empty() {
            return Err(Error::invalid("a field must have a name"));
        }
        if OWN_NAMES.contains(&name) {
            return Err(Error::invalid(format!(
                "{name:?} is in every record already, and no name for a field"
            )));
        }
        if self.fields.iter().any(|other| other.name() == name) {
            return Err(Error::invalid(format!("the field {name:?} is there twice")));
        }
        if field.required && field.default.is_some() {
            return Err(Error::invalid(format!(
                "the field {name:?} cannot be required and have a default"
            )));
        }
        self.fields.push(field);
        Ok(self)
    }

    /// Their name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The fields in their order.
    pub fn fields(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter()
    }

    /// Whether the page at a URL is one of theirs.
    #[must_use]
    pub fn apply_to(&self, url: &Url) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|glob| glob.matches(url))
    }

    /// Whether nothing says that a page has an item at all.
    pub(super) fn take_any_page(&self) -> bool {
        self.paths.is_empty() && self.item.is_none()
    }
}

/// Rules that a crawl's handlers share: give it to
/// [`share`](crate::CrawlerBuilder::share), and take [`Item`](crate::extract::Item)
/// or [`Items`](crate::extract::Items).
#[derive(Debug, Clone, Default)]
pub struct RuleSet(Vec<Rules>);

impl RuleSet {
    /// These rules, in this order.
    #[must_use]
    pub fn new(rules: impl IntoIterator<Item = Rules>) -> Self {
        RuleSet(rules.into_iter().collect())
    }

    /// Those for the page at a URL.
    pub fn of<'a>(&'a self, url: &'a Url) -> impl Iterator<Item = &'a Rules> {
        self.0.iter().filter(move |rules| rules.apply_to(url))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::Value;

    #[test]
    fn rules_that_cannot_be_meant_are_errors() {
        let rules = || Rules::new("x").field(Field::new("a")).expect("a field");
        for (field, why) in [
            (Field::new("a"), "\"a\" is there twice"),
            (Field::new("url"), "\"url\" is in every record"),
            (Field::new(""), "must have a name"),
            (
                Field::new("b").required().default_value(Value::from("x")),
                "\"b\" cannot be required and have a default",
            ),
        ] {
            let error = rules().field(field).expect_err(why).to_string();
            assert!(error.contains(why), "{error}");
        }
        assert!(Rules::new("x").paths(["lamps/*"]).is_err());
        assert!(Rules::new("x").select("p >").is_err());
    }

    #[test]
    fn rules_are_for_the_paths_they_name_or_for_all() {
        let url = |path: &str| Url::parse(&format!("http://a.test{path}")).expect("a URL");
        let lamps = Rules::new("lamps")
            .paths(["/lamps/*", "/lights/**"])
            .expect("globs");
        assert!(lamps.apply_to(&url("/lamps/1")) && lamps.apply_to(&url("/lights/a/b")));
        assert!(!lamps.apply_to(&url("/lamps")));
        let set = RuleSet::new([lamps, Rules::new("all")]);
        let names = |path: &str| -> Vec<String> {
            set.of(&url(path))
                .map(|rules| rules.name().to_owned())
                .collect()
        };
        assert_eq!(names("/lamps/1"), ["lamps", "all"]);
        assert_eq!(names("/"), ["all"]);
    }
}
