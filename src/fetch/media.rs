//! [`ReadBody`]: which bodies are read.
//!
//! Invariant: a body whose type is missing or unreadable is always read: it is
//! for the one who reads it to find out what it is. One whose type says nothing
//! is read if its first bytes are text.

use crate::http::MediaType;

/// Which bodies a fetcher reads, by the media type that the answer declares.
///
/// An answer of another type has no body and is marked
/// [`body_skipped`](super::Response::body_skipped); its connection is closed,
/// so that a radio stream or a camera does not hold a worker until the limit.
/// An answer that declares no type is read, one of a type that says nothing,
/// such as `application/octet-stream`, if its first bytes are text, and so is the answer to a request
/// with a [body limit](crate::Request::with_body_limit) of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadBody {
    /// All of them.
    #[default]
    All,
    /// Those whose type is named: `text/html`, `text/*` for all of a kind, or
    /// `*+xml` for all with a suffix (RFC 6839).
    Types(Vec<String>),
}

impl ReadBody {
    /// What a crawl that reads pages can use: text of any kind, XML, JSON,
    /// feeds, gzipped sitemaps, and bytes of an undeclared kind.
    ///
    /// ```
    /// use canter::fetch::{HttpFetch, ReadBody};
    /// let fetch = HttpFetch::builder().read_body(ReadBody::pages()).build()?;
    /// # Ok::<(), canter::Error>(())
    /// ```
    #[must_use]
    pub fn pages() -> ReadBody {
        let types = [
            "text/*",
            "*+xml",
            "*+json",
            "application/xml",
            "application/json",
            "application/gzip",
            "application/x-gzip",
            "application/octet-stream",
            "binary/octet-stream",
        ];
        ReadBody::Types(types.map(str::to_owned).to_vec())
    }
}

/// The types of a [`ReadBody`], ready to compare.
#[derive(Debug)]
pub(super) struct TypeSet(Vec<Pattern>);

#[derive(Debug)]
enum Pattern {
    Whole(String),
    Kind(String),
    Suffix(String),
}

impl TypeSet {
    /// `None` for all; the pattern that is none as an error.
    pub(super) fn new(read: &ReadBody) -> Result<Option<TypeSet>, &str> {
        let ReadBody::Types(types) = read else {
            return Ok(None);
        };
        let patterns = types
            .iter()
            .map(|text| Pattern::of(text).ok_or(text.as_str()));
        Ok(Some(TypeSet(patterns.collect::<Result<_, _>>()?)))
    }

    /// Whether a body of this type is wanted.
    pub(super) fn wants(&self, declared: &MediaType<'_>) -> bool {
        let essence = declared.essence().as_bytes();
        essence.is_empty() || self.0.iter().any(|pattern| pattern.matches(essence))
    }
}

impl Pattern {
    fn of(text: &str) -> Option<Pattern> {
        let text = text.trim().to_ascii_lowercase();
        if let Some(suffix) = text.strip_prefix('*') {
            return (suffix.len() > 1 && suffix.starts_with('+'))
                .then(|| Pattern::Suffix(suffix.to_owned()));
        }
        let (kind, name) = text.split_once('/')?;
        match name {
            _ if kind.is_empty() || name.is_empty() => None,
            "*" => Some(Pattern::Kind(format!("{kind}/"))),
            _ => Some(Pattern::Whole(text)),
        }
    }

    fn matches(&self, essence: &[u8]) -> bool {
        let (part, text) = match self {
            Pattern::Whole(text) => (Some(essence), text),
            Pattern::Kind(text) => (essence.get(..text.len()), text),
            Pattern::Suffix(text) => {
                let start = essence.len().checked_sub(text.len());
                (start.map(|start| &essence[start..]), text)
            }
        };
        part.is_some_and(|part| part.eq_ignore_ascii_case(text.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_compared_without_case_and_parameters() {
        let set = TypeSet::new(&ReadBody::pages())
            .expect("valid")
            .expect("types");
        for wanted in [
            "text/html",
            "TEXT/HTML;charset",
            "text/html; charset=utf-8",
            "text/html, text/html",
            "application/xhtml+xml",
            "Application/RSS+XML",
            "application/octet-stream",
            "",
            "garbage",
            "xml/",
            "image/png, text/html",
        ] {
            assert!(set.wants(&MediaType::parse(wanted)), "{wanted}");
        }
        for unwanted in [
            "audio/mpeg",
            "multipart/x-mixed-replace; boundary=x",
            "image/png",
            "application/pdf",
            "texts/html",
            "text/html, image/png",
        ] {
            assert!(!set.wants(&MediaType::parse(unwanted)), "{unwanted}");
        }
    }

    #[test]
    fn a_pattern_that_can_match_nothing_is_named() {
        for bad in ["html", "*", "*/*", "/", "text/", "*+"] {
            let read = ReadBody::Types(vec!["text/html".to_owned(), bad.to_owned()]);
            assert_eq!(TypeSet::new(&read).err(), Some(bad));
        }
    }
}
