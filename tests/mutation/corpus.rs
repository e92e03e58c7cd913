//! The seed corpus of `fixtures/corpus`: a folder of inputs for each parser,
//! and a list of tokens in the form that libFuzzer calls a dictionary.

use std::fs;
use std::path::PathBuf;

fn place(name: &str) -> PathBuf {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/corpus");
    PathBuf::from(root).join(name)
}

/// The inputs, in the order of their names.
///
/// # Panics
/// When there are none.
pub(crate) fn seeds(parser: &str) -> Vec<Vec<u8>> {
    let folder = place(parser);
    let entries = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry of the folder").path())
        .collect();
    paths.sort_unstable();
    assert!(!paths.is_empty(), "{} is empty", folder.display());
    paths
        .iter()
        .map(|path| fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
        .collect()
}

/// The tokens.
///
/// # Panics
/// When the file is missing or a line of it is no token.
pub(crate) fn tokens(parser: &str) -> Vec<Vec<u8>> {
    let path = place(&format!("{parser}.dict"));
    let text = fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    text.lines()
        .map(|line| token(line).unwrap_or_else(|| panic!("{}: no token: {line}", path.display())))
        .collect()
}

/// A token as it stands in a dictionary: in quotation marks, other bytes than
/// printable ASCII as `\xNN`.
fn token(line: &str) -> Option<Vec<u8>> {
    let mut rest = line.strip_prefix('"')?.strip_suffix('"')?;
    let mut token = Vec::new();
    while let Some(at) = rest.find('\\') {
        token.extend_from_slice(&rest.as_bytes()[..at]);
        let digits = rest[at..].strip_prefix("\\x")?.get(..2)?;
        token.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[at + 4..];
    }
    token.extend_from_slice(rest.as_bytes());
    Some(token)
}
