//! Reads the README: its blocks, its tables, what stands between backticks.

use std::collections::BTreeSet;
use std::path::Path;

/// The file.
pub(crate) const README: &str = include_str!("../../README.md");

/// A fenced block.
pub(crate) struct Block {
    language: &'static str,
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// Every fenced block.
pub(crate) fn blocks() -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    for (at, line) in README.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(_) if open => open = false,
            Some(language) => {
                assert!(!language.is_empty(), "line {}: a block of what?", at + 1);
                open = true;
                blocks.push(Block {
                    language,
                    line: at + 1,
                    text: String::new(),
                });
            }
            None if open => {
                let text = &mut blocks.last_mut().expect("an open block").text;
                text.push_str(line);
                text.push('\n');
            }
            None => {}
        }
    }
    assert!(!open, "the last block has an end");
    blocks
}

pub(crate) fn of_language(language: &str) -> Vec<Block> {
    let mut blocks = blocks();
    blocks.retain(|block| block.language == language);
    assert!(!blocks.is_empty(), "the README has blocks of {language}");
    blocks
}

/// The configurations, each with the name of its file.
pub(crate) fn configurations() -> Vec<(&'static str, String)> {
    let is_manifest = |block: &Block| block.text.starts_with("[dependencies]");
    of_language("toml")
        .into_iter()
        .filter(|block| !is_manifest(block))
        .map(|block| {
            let first = block.text.lines().next().unwrap_or_default();
            let name = first
                .strip_prefix("# ")
                .filter(|name| Path::new(name).extension().is_some_and(|end| end == "toml"))
                .unwrap_or_else(|| panic!("line {}: which file is it?", block.line))
                .to_owned();
            (&*name.leak(), block.text)
        })
        .collect()
}

/// Whether a configuration is for programs with the feature `select` alone.
pub(crate) fn needs_select(text: &str) -> bool {
    text.contains("\n[extract.")
}

/// The first columns of the table under a heading row, without its marks.
pub(crate) fn table(heading: &str) -> Vec<Vec<&'static str>> {
    let mut rows = README.lines().skip_while(|line| *line != heading);
    assert!(rows.next().is_some(), "the README has a table {heading}");
    rows.skip(1)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect()
}

/// What stands between backticks.
pub(crate) fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// What stands between backticks anywhere but in blocks.
pub(crate) fn all_quoted() -> BTreeSet<&'static str> {
    let mut inside = false;
    let mut prose = String::new();
    for line in README.lines() {
        if line.starts_with("```") {
            inside = !inside;
        } else if !inside {
            prose.push_str(line);
            prose.push(' ');
        }
    }
    quoted(prose.leak()).into_iter().collect()
}
