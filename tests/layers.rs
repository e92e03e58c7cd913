//! Imports point one way: each layer knows those below it and none above.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The layers, lowest first. Modules of one layer do not know one another,
/// but for the layers that [`MAY_KNOW_EACH_OTHER`] names.
const LAYERS: [&[&str]; 9] = [
    &["admission", "error", "outcome", "request", "policy", "uri"],
    &["robots", "charset", "html", "select", "sitemap", "http"],
    &["frontier", "politeness", "fetch"],
    &["extract"],
    &["handler"],
    &["ledger"],
    &["crawler"],
    &["config"],
    &["cli"],
];

/// Vocabulary, and the readers of formats: a sitemap has a charset.
const MAY_KNOW_EACH_OTHER: [usize; 2] = [0, 1];

fn layer(module: &str) -> usize {
    LAYERS
        .iter()
        .position(|modules| modules.contains(&module))
        .unwrap_or_else(|| panic!("module {module} stands in no layer: add it to this test"))
}

fn sources(dir: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            into.push(path);
        }
    }
}

/// Code without comments and unit tests.
fn code(text: &str) -> String {
    let text = text
        .split("#[cfg(test)]\nmod tests")
        .next()
        .unwrap_or_default();
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The names behind every `crate::` in code, braces opened.
fn mentioned(code: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let list = match rest.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap_or_default(),
            None => rest,
        };
        let items = if rest.starts_with('{') {
            list.split(',').collect()
        } else {
            vec![list]
        };
        for item in items {
            let name: String = item
                .trim()
                .chars()
                .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
                .collect();
            if !name.is_empty() {
                names.push(name);
            }
        }
    }
    names
}

/// Which module the crate's root takes a name from.
fn exported() -> BTreeMap<String, String> {
    let text = fs::read_to_string("src/lib.rs").expect("the crate's root");
    let mut from = BTreeMap::new();
    for statement in code(&text).split(';') {
        let Some((module, names)) = statement
            .trim()
            .strip_prefix("pub use ")
            .and_then(|rest| rest.split_once("::"))
        else {
            continue;
        };
        for name in names.trim_matches(['{', '}']).split(',') {
            from.insert(name.trim().to_owned(), module.to_owned());
        }
    }
    from
}

#[test]
fn each_layer_knows_only_those_below_it() {
    let exported = exported();
    let mut files = Vec::new();
    sources(Path::new("src"), &mut files);
    assert!(
        files.len() > 50,
        "the sources are not where this test looks: {}",
        files.len()
    );
    let mut wrong = Vec::new();
    for file in files {
        let inside = file.strip_prefix("src").expect("a source");
        let module = inside
            .iter()
            .next()
            .expect("a name")
            .to_string_lossy()
            .replace(".rs", "");
        if module == "lib" || module == "main" {
            continue;
        }
        let own = layer(&module);
        for name in mentioned(&code(&fs::read_to_string(&file).expect("a source"))) {
            let other = match exported.get(&name) {
                Some(module) if module == "url" => continue,
                Some(module) => module.clone(),
                None => name.clone(),
            };
            let other_layer = layer(&other);
            let allowed = other == module
                || other_layer < own
                || other_layer == own && MAY_KNOW_EACH_OTHER.contains(&own);
            if !allowed {
                wrong.push(format!("{} knows {other} (by {name})", file.display()));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "imports that point upwards:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn the_pure_core_has_no_clock_no_sleep_and_no_input_or_output() {
    let mut files = vec![];
    for part in ["src/frontier", "src/politeness", "src/robots"] {
        sources(Path::new(part), &mut files);
    }
    files.extend(
        [
            "engine",
            "engine_stats",
            "finish",
            "finish_robots",
            "job",
            "origins",
            "poll",
            "restore",
            "tags",
        ]
        .map(|name| PathBuf::from(format!("src/crawler/{name}.rs"))),
    );
    for file in files {
        let code = code(&fs::read_to_string(&file).expect("a source"));
        for forbidden in [
            "Instant::now",
            "SystemTime::now",
            "thread::",
            "std::net",
            "std::fs",
            "std::io",
        ] {
            assert!(
                !code.contains(forbidden),
                "{} has {forbidden}",
                file.display()
            );
        }
    }
}
