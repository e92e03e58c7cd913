//! Link extraction against the shared conformance data.

use std::borrow::Cow;

use canter::Url;
use canter::html::{Page, PageOptions, page_links};
use encoding_rs::{Encoding, UTF_8};
use serde::Deserialize;

/// Cases that are known to fail, with the reason.
const KNOWN_FAILURES: [(&str, &str); 0] = [];

#[derive(Deserialize)]
struct Case {
    id: String,
    html: Option<String>,
    html_b64: Option<String>,
    base: String,
    expected: Vec<String>,
    nofollow: Vec<String>,
    #[serde(default)]
    hard: bool,
}

impl Case {
    fn bytes(&self) -> Vec<u8> {
        match (&self.html, &self.html_b64) {
            (Some(html), _) => html.clone().into_bytes(),
            (None, Some(text)) => base64(text),
            (None, None) => panic!("{} has no page", self.id),
        }
    }
}

fn cases() -> Vec<Case> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../shared/conformance/links.json"
    );
    let text = std::fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("the conformance data must be at {path}: {error}"));
    let cases: Vec<Case> = serde_json::from_str(&text).expect("links.json");
    assert!(!cases.is_empty(), "links.json has no cases");
    cases
}

/// Decodes base64 of the standard alphabet (RFC 4648 section 4).
fn base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| -> u32 {
        match byte {
            b'A'..=b'Z' => u32::from(byte - b'A'),
            b'a'..=b'z' => u32::from(byte - b'a') + 26,
            b'0'..=b'9' => u32::from(byte - b'0') + 52,
            b'+' => 62,
            b'/' => 63,
            _ => panic!("not a base64 digit: {byte}"),
        }
    };
    let digits: Vec<u32> = text.trim_end_matches('=').bytes().map(digit).collect();
    let mut bytes = Vec::new();
    for group in digits.chunks(4) {
        let word =
            group.iter().fold(0, |word, digit| (word << 6) | digit) << (6 * (4 - group.len()));
        bytes.extend(&word.to_be_bytes()[1..group.len()]);
    }
    bytes
}

/// The encoding that a page of these cases names, by byte-order mark or in a
/// plain `charset=`.
fn encoding_of(bytes: &[u8]) -> &'static Encoding {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return encoding;
    }
    let text = String::from_utf8_lossy(bytes);
    text.split_once("charset=")
        .map(|(_, rest)| rest.trim_start_matches(['"', '\'']))
        .and_then(|rest| rest.split(['"', '\'', '>', ' ', '/']).next())
        .and_then(|label| Encoding::for_label(label.as_bytes()))
        .unwrap_or(UTF_8)
}

fn check(case: &Case) -> Result<(), String> {
    let bytes = case.bytes();
    let encoding = match case.html_b64 {
        Some(_) => encoding_of(&bytes),
        None => UTF_8,
    };
    let (html, _): (Cow<'_, str>, _) = encoding.decode_with_bom_removal(&bytes);
    let base = Url::parse(&case.base).expect(&case.id);
    let page = Page::parse(&html, &base, encoding, &PageOptions::new());
    let links = page.links();
    if encoding == UTF_8 && page_links(&html, &base) != links {
        return Err("page_links and Page::links differ".to_owned());
    }
    let urls: Vec<&str> = links.iter().map(|link| link.url.as_str()).collect();
    let nofollow: Vec<&str> = links
        .iter()
        .filter(|link| link.nofollow)
        .map(|link| link.url.as_str())
        .collect();
    if urls != case.expected {
        return Err(format!("links {urls:#?}, not {:#?}", case.expected));
    }
    if nofollow != case.nofollow {
        return Err(format!("nofollow {nofollow:#?}, not {:#?}", case.nofollow));
    }
    Ok(())
}

#[test]
fn links_are_those_of_the_tree_that_a_browser_builds() {
    let cases = cases();
    let mut new_failures = 0;
    for hard in [false, true] {
        let group: Vec<&Case> = cases.iter().filter(|case| case.hard == hard).collect();
        let mut passed = 0;
        for case in &group {
            match check(case) {
                Ok(()) => passed += 1,
                Err(why) if KNOWN_FAILURES.iter().any(|(id, _)| *id == case.id) => {
                    println!("{} (known failure): {why}", case.id);
                }
                Err(why) => {
                    println!("{}: {why}", case.id);
                    new_failures += 1;
                }
            }
        }
        let kind = if hard { "hard cases" } else { "cases" };
        println!("links.json: {passed} of {} {kind} pass", group.len());
    }
    assert_eq!(new_failures, 0, "cases of links.json fail");
}
