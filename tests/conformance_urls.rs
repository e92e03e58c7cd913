//! Resolving and canonical URLs against the shared conformance data.

use std::path::Path;

use canter::{Url, uri};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Cases that are known to fail, with the reason.
const KNOWN_FAILURES: [(&str, &str); 0] = [];

#[derive(Deserialize)]
struct Join {
    id: String,
    base: Option<String>,
    href: String,
    expected: Option<String>,
}

#[derive(Deserialize)]
struct Canonical {
    id: String,
    url: String,
    expected: String,
}

fn cases<T: DeserializeOwned>(file: &str) -> Vec<T> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/conformance");
    let path = Path::new(folder).join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| {
        panic!(
            "the conformance data must be in {}: {error}",
            path.display()
        )
    });
    let cases: Vec<T> = serde_json::from_str(&text).expect(file);
    assert!(!cases.is_empty(), "{file} has no cases");
    cases
}

fn report(file: &str, count: usize, failures: &[(String, String)]) {
    let known = |id: &str| KNOWN_FAILURES.iter().any(|(known, _)| *known == id);
    let (expected, new): (Vec<_>, Vec<_>) = failures.iter().partition(|(id, _)| known(id));
    println!(
        "{file}: {} of {count} pass, {} known failures",
        count - failures.len(),
        expected.len()
    );
    for (id, what) in &new {
        println!("{id}: {what}");
    }
    assert!(new.is_empty(), "{} cases of {file} fail", new.len());
}

#[test]
fn references_resolve_as_the_url_standard_says() {
    let cases: Vec<Join> = cases("url_join.json");
    let mut failures = Vec::new();
    for case in &cases {
        let got = match &case.base {
            Some(base) => uri::resolve(&uri::parse(base).expect(&case.id), &case.href),
            None => uri::parse(&case.href),
        };
        let got = got.map(String::from);
        if got != case.expected {
            let what = format!(
                "{:?} on {:?} gave {got:?}, not {:?}",
                case.href, case.base, case.expected
            );
            failures.push((case.id.clone(), what));
        }
    }
    report("url_join.json", cases.len(), &failures);
}

#[test]
fn canonical_urls_are_what_dedup_should_compare() {
    let cases: Vec<Canonical> = cases("url_canonical.json");
    let mut failures = Vec::new();
    for case in &cases {
        let url = Url::parse(&case.url).expect(&case.id);
        let got = uri::canonical(&url);
        let again = uri::canonical(&got);
        let text = uri::canonical_str(&url);
        if got.as_str() != case.expected || again != got || text != case.expected {
            let what = format!(
                "{:?} gave {got}, then {again}, not {}",
                case.url, case.expected
            );
            failures.push((case.id.clone(), what));
        }
    }
    report("url_canonical.json", cases.len(), &failures);
}
