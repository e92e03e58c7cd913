//! [`Css`]: a CSS selector (Selectors Level 4), and what is wrong with one
//! that cannot be used.

use std::fmt;

use scraper::Selector;
use scraper::error::SelectorErrorKind;

use crate::error::{Error, Result};

/// A selector that can be used, and how it was written.
#[derive(Debug, Clone)]
pub(super) struct Css {
    text: String,
    pub(super) selector: Selector,
}

impl Css {
    /// Reads a selector, or a list of them with commas between.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid), on one line.
    pub(super) fn new(text: &str) -> Result<Css> {
        match Selector::parse(text) {
            Ok(selector) => Ok(Css {
                text: text.to_owned(),
                selector,
            }),
            Err(error) => Err(Error::invalid(format!(
                "{text:?} is no CSS selector: {}",
                explain(&error)
            ))),
        }
    }
}

impl fmt::Display for Css {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn explain(error: &SelectorErrorKind) -> String {
    match error {
        SelectorErrorKind::EndOfLine => "it ends too early".to_owned(),
        SelectorErrorKind::UnexpectedToken => "a character is out of place".to_owned(),
        SelectorErrorKind::TooManyNestedBlocks => "it is nested too deeply".to_owned(),
        SelectorErrorKind::UnexpectedSelectorParseError(inner) => {
            // Only its debug form says which pseudo-class it was.
            let inner = format!("{inner:?}");
            let name = inner
                .strip_prefix("UnsupportedPseudoClassOrElement(")
                .and_then(|rest| rest.split('"').nth(1));
            match name {
                Some(name) => format!("pages have no pseudo-class or element {name:?}"),
                None if inner == "EmptySelector" => "a selector is missing".to_owned(),
                None if inner == "DanglingCombinator" => "it ends in a combinator".to_owned(),
                None => "it is not formed as one".to_owned(),
            }
        }
        _ => "it is not formed as one".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_that_cannot_be_used_is_told_on_one_line() {
        for (text, why) in [
            ("", "missing"),
            ("p >", "combinator"),
            ("p:first", "\"first\""),
            ("a[href", "early"),
            ("div..x", ""),
            ("<p>", ""),
            ("p::text", "\"text\""),
            ("a, ", "missing"),
        ] {
            let error = Css::new(text).expect_err(text).to_string();
            assert!(
                error.contains(why) && !error.contains('\n'),
                "{text}: {error}"
            );
            assert!(error.contains(&format!("{text:?}")), "{error}");
        }
        for text in [
            "p",
            ".a > .b ~ c, #d",
            "[href^='x' i]",
            "tr:nth-child(2n+1) td:last-of-type",
            ":is(h1, h2):not(.x):has(> a)",
            ":scope > li",
        ] {
            assert_eq!(Css::new(text).expect(text).to_string(), text);
        }
    }
}
