//! [`Effects`]: what a handler did, kept back until its request is done.
//!
//! Nothing in here has happened yet. The crawl takes the effects together with
//! an outcome that commits, or drops them whole.

use std::collections::HashSet;

use crate::error::{Error, ErrorKind, Result};
use crate::request::Request;

/// The links and records of one attempt, in the order they were made.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Effects {
    /// Requests to queue.
    pub links: Vec<Request>,
    /// Records to write.
    pub records: Vec<Record>,
    /// Lines for outputs beside that of the records.
    pub beside: Vec<Beside>,
}

/// A line for an output beside that of the records.
#[derive(Debug)]
#[non_exhaustive]
pub struct Beside {
    /// The number of the output.
    pub output: usize,
    /// The line.
    pub line: Record,
    /// Whether it is counted as a record.
    pub counts: bool,
}

impl Effects {
    /// Whether there is nothing to commit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.links.is_empty() && self.records.is_empty() && self.beside.is_empty()
    }
}

/// One record: a value as JSON on a single line, without the line end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    json: Box<[u8]>,
}

impl Record {
    /// Serialises a value.
    ///
    /// ```
    /// use canter::extract::Record;
    /// let record = Record::new(&("a\nb", 1))?;
    /// assert_eq!(record.as_bytes(), br#"["a\nb",1]"#);
    /// # Ok::<(), canter::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Worker`] when the value's own `Serialize` fails, or it has
    /// no form in JSON: a map whose keys are not text.
    pub fn new<T: serde::Serialize + ?Sized>(value: &T) -> Result<Self> {
        let mut json = serde_json::to_vec(value).map_err(|error| {
            Error::new(ErrorKind::Worker)
                .with_message("a record cannot be written as JSON")
                .with_source(error)
        })?;
        // Compact JSON has line ends only where a value brought its own raw
        // JSON text, and there they are white space.
        for byte in &mut json {
            if matches!(*byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        Ok(Record {
            json: json.into_boxed_slice(),
        })
    }

    /// Takes a value that is JSON already: one object or other value on one
    /// line, without the line end. It is written as it is.
    ///
    /// ```
    /// use canter::extract::Record;
    /// let record = Record::from_json_line(br#"{"a":1}"#.to_vec())?;
    /// assert_eq!(record.as_bytes(), br#"{"a":1}"#);
    /// assert!(Record::from_json_line(b"1\n2".to_vec()).is_err());
    /// # Ok::<(), canter::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Worker`] when it is empty or more than one line. Whether it
    /// is JSON is checked in builds with debug assertions alone.
    pub fn from_json_line(json: Vec<u8>) -> Result<Self> {
        if json.is_empty() || json.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
            return Err(Error::worker("a record must be one line of JSON"));
        }
        debug_assert!(
            serde_json::from_slice::<serde::de::IgnoredAny>(&json).is_ok(),
            "a record is no JSON: {}",
            String::from_utf8_lossy(&json)
        );
        Ok(Record {
            json: json.into_boxed_slice(),
        })
    }

    /// The JSON text.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.json
    }

    /// The JSON text, taken out.
    #[must_use]
    pub fn into_bytes(self) -> Box<[u8]> {
        self.json
    }
}

/// Collects the effects of one attempt. Links with the same
/// [fingerprint](crate::uri::fingerprint) are one link.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    effects: Effects,
    taken: HashSet<u64>,
}

impl Collector {
    /// Takes a request; `false` when an equal one was taken before.
    pub(crate) fn link(&mut self, mut request: Request) -> bool {
        let new = self.taken.insert(request.fingerprint());
        if new {
            self.effects.links.push(request);
        }
        new
    }

    /// Takes a `GET` by its fingerprint alone, without effect, as one that the
    /// crawl knows; `false` when an equal one was taken before.
    pub(crate) fn known_link(&mut self, fingerprint: u64) -> bool {
        self.taken.insert(fingerprint)
    }

    /// Makes room for this many more links.
    pub(crate) fn reserve(&mut self, links: usize) {
        self.taken.reserve(links);
    }

    /// Takes a record.
    pub(crate) fn record(&mut self, record: Record) {
        self.effects.records.push(record);
    }

    /// Takes a line for an output beside that of the records.
    pub(crate) fn beside(&mut self, output: usize, line: Record, counts: bool) {
        self.effects.beside.push(Beside {
            output,
            line,
            counts,
        });
    }

    /// Everything that was taken.
    pub(crate) fn into_effects(self) -> Effects {
        self.effects
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn links_that_differ_only_in_the_fragment_are_taken_once() {
        let mut collector = Collector::default();
        assert!(collector.link(Request::get("http://a.test/x?q#1").unwrap()));
        assert!(!collector.link(Request::get("http://a.test/x?q#2").unwrap()));
        assert!(collector.link(Request::get("http://a.test/x").unwrap()));
        assert!(collector.link(Request::post("http://a.test/x", "body").unwrap()));
        assert!(!collector.link(Request::post("http://a.test/x", "body").unwrap()));
        assert_eq!(collector.into_effects().links.len(), 3);
    }

    #[test]
    fn a_value_without_a_json_form_is_an_error_not_a_torn_record() {
        let map = HashMap::from([((1, 2), 3)]);
        let error = Record::new(&map).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Worker);
        assert!(error.to_string().contains("record"), "{error}");
    }
}
