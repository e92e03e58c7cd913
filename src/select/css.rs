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

/// Whether a text is a selector.
///
/// # Errors
/// Those of [`Css::new`].
pub(crate) fn check(text: &str) -> Result<()> {
    Css::new(text).map(drop)
}

impl fmt::Display for Css {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn explain(error: &SelectorErrorKind) -> &'static str {
    match error {
        SelectorErrorKind::EndOfLine => "it ends too early",
        SelectorErrorKind::UnexpectedToken => "a character is out of place",
        SelectorErrorKind::TooManyNestedBlocks => "it is nested too deeply",
        SelectorErrorKind::UnexpectedSelectorParseError(inner) => {
            // Its type has no name outside its crate, its debug form has.
            match format!("{inner:?}").as_str() {
                "UnsupportedPseudoClassOrElement" => {
                    "it has a pseudo-class or pseudo-element that pages do not have"
                }
                "EmptySelector" => "a selector is missing",
                "DanglingCombinator" => "it ends in a combinator",
                _ => "it is not formed as one",
            }
        }
        _ => "it is not formed as one",
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
            ("p:first", "pseudo-class"),
            ("a[", "early"),
            ("div..x", ""),
            ("<p>", ""),
            ("p::text", "pseudo-element"),
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
