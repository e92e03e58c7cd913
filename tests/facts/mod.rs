//! Reads the conformance data that lies beside the repository, and keeps the
//! score of a set of cases.
//!
//! Invariant: missing data fails the test loudly; a case that is known to fail
//! fails the test as soon as it passes.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

/// One case.
pub(crate) struct Case(Value);

impl Case {
    pub(crate) fn id(&self) -> &str {
        self.text("id")
    }

    pub(crate) fn get(&self, field: &str) -> &Value {
        &self.0[field]
    }

    pub(crate) fn text(&self, field: &str) -> &str {
        self.0[field]
            .as_str()
            .unwrap_or_else(|| panic!("field {field} of {} is no text", self.0["id"]))
    }

    /// The bytes of a field that may be given as text or in base64.
    pub(crate) fn bytes(&self, field: &str) -> Vec<u8> {
        match self.0[format!("{field}_b64")].as_str() {
            Some(encoded) => from_base64(encoded),
            None => self.text(field).as_bytes().to_vec(),
        }
    }

    pub(crate) fn texts(&self, field: &str) -> Vec<String> {
        serde_json::from_value(self.0[field].clone())
            .unwrap_or_else(|e| panic!("field {field} of {}: {e}", self.id()))
    }

    pub(crate) fn flag(&self, field: &str) -> bool {
        self.0[field] == Value::Bool(true)
    }
}

/// All cases of a file of the conformance data.
///
/// # Panics
/// When the file is missing or is not what it should be.
pub(crate) fn cases(file: &str) -> Vec<Case> {
    let path = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../shared/conformance"
    ))
    .join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| {
        panic!(
            "the conformance data is missing: {}: {e}; this test cannot run without it",
            path.display()
        )
    });
    let cases: Vec<Value> =
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert!(!cases.is_empty(), "{} holds no case", path.display());
    cases.into_iter().map(Case).collect()
}

/// Counts passes by class, and compares the failures with those known.
#[derive(Default)]
pub(crate) struct Score {
    classes: BTreeMap<String, (usize, usize)>,
    failures: Vec<(String, String)>,
}

impl Score {
    /// Counts one case: `Err` says how it differs.
    pub(crate) fn count(&mut self, class: &str, case: &Case, result: Result<(), String>) {
        let (passed, all) = self.classes.entry(class.to_owned()).or_default();
        *all += 1;
        match result {
            Ok(()) => *passed += 1,
            Err(difference) => self.failures.push((case.id().to_owned(), difference)),
        }
    }

    /// Prints the counts.
    ///
    /// # Panics
    /// When a case fails that is not in `known`, or passes that is. `known` holds
    /// ids with the reason why they fail.
    pub(crate) fn finish(self, name: &str, known: &[(&str, &str)]) {
        for (class, (passed, all)) in &self.classes {
            println!("{name}, {class}: {passed} of {all}");
        }
        let is_known = |id: &str| known.iter().any(|(known, _)| *known == id);
        let new: Vec<_> = self
            .failures
            .iter()
            .filter(|(id, _)| !is_known(id))
            .collect();
        assert!(new.is_empty(), "{name}: these cases fail: {new:#?}");
        for (id, reason) in known {
            assert!(
                self.failures.iter().any(|(failed, _)| failed == id),
                "{name}: {id} passes now, take it off the list of known failures ({reason})"
            );
        }
    }
}

fn from_base64(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let (mut bits, mut held) = (0u32, 0);
    for byte in text.bytes().filter(|&b| b != b'=') {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => panic!("no base64: {text}"),
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    out
}
