//! The README is true: its configurations are accepted, its commands end as it
//! says, its tables name what there is, and its programs are run as doc tests.
//!
//! `https://example.com` stands for a server on loopback; pace alone is raised,
//! by a `canter` in front of the real one. A command ends with code 0 unless
//! the README says `# exit code N` behind it. A block whose first line is
//! `# NAME.toml` is the file of that name.

#![cfg(feature = "cli")]

mod common;
#[path = "readme/first.rs"]
#[rustfmt::skip]
mod first;
#[path = "readme/parse.rs"]
mod parse;
#[path = "readme/reader.rs"]
mod reader;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use canter::SkipReason;
use common::{Program, Resp, Server, TempDir, canter, jsonl, page};
use parse::{README, all_quoted, configurations, needs_select, of_language, quoted, table};
use reader::{Reader, SITE, TOKEN};

const MAKEFILE: &str = include_str!("../Makefile");
const MANIFEST: &str = include_str!("../Cargo.toml");
#[test]
fn every_configuration_is_accepted() {
    let folder = TempDir::new();
    folder.write("urls.txt", "https://example.com/\n");
    let mut names = BTreeSet::new();
    for (name, text) in configurations() {
        assert!(names.insert(name), "{name} is there twice");
        let file = folder.write(name, &text);
        let run = canter(["check".as_ref(), file.as_os_str()]).env(TOKEN.0, TOKEN.1);
        if needs_select(&text) && !cfg!(feature = "select") {
            let run = run.run().expect_code(2);
            assert!(
                run.stderr.contains("the feature \"select\""),
                "{}",
                run.stderr
            );
            continue;
        }
        let run = run.run().expect_code(0);
        assert!(run.out().contains("is valid\n"), "{}", run.out());
        assert!(!run.out().contains(TOKEN.1), "{}", run.out());
        assert!(!run.out().contains("has no effect"), "{}", run.out());
    }
}

#[cfg(unix)]
#[test]
fn every_command_ends_as_it_says() {
    let reader = Reader::new();
    let mut grepped = Vec::new();
    let mut last = String::new();
    let mut count = 0;
    for block in of_language("sh") {
        for (at, line) in block.text.lines().enumerate() {
            if !line.starts_with("canter ") && !line.starts_with("grep ") {
                continue;
            }
            let code = match line.split_once("# exit code ") {
                Some((_, code)) => code.split(':').next().unwrap_or_default().parse(),
                None => Ok(0),
            };
            // Not every build can do everything.
            let cannot = |(name, text): &(&str, String)| line.contains(name) && needs_select(text);
            if !cfg!(feature = "select") && configurations().iter().any(cannot) {
                continue;
            }
            let run = reader.sh(line);
            let place = format!("line {}: {line}", block.line + at + 1);
            assert_eq!(run.code(), code.ok(), "{place}\n{}", run.stderr);
            assert!(!run.stderr.contains("panicked"), "{place}\n{}", run.stderr);
            if line == "canter run links.toml" {
                run.stderr
                    .lines()
                    .last()
                    .unwrap_or_default()
                    .clone_into(&mut last);
            }
            if line.starts_with("grep") {
                grepped.push(run.out().to_owned());
            }
            count += 1;
        }
    }
    assert!(count >= 10, "only {count} commands");
    // The dead link and where it was found; the pages that have it.
    let failed = jsonl::parse(&grepped[0]);
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0]["url"], reader.here("https://example.com/gone"));
    assert_eq!(failed[0]["referrer"], reader.here("https://example.com/"));
    let mut pages: Vec<_> = grepped[1].lines().collect();
    pages.sort_unstable();
    let both = reader.here("https://example.com/ https://example.com/a");
    assert_eq!(pages, both.split(' ').collect::<Vec<_>>());

    // What the commands have left is what the README says of it.
    let dated = |what: &str| {
        let files = fs::read_dir(reader.folder.path()).expect("a folder");
        let mut names = files.map(|file| file.expect("a file").path());
        names
            .find(|path| {
                let name = path.file_name().expect("a name").to_string_lossy();
                name.starts_with(what) && name.ends_with(".jsonl") && name.contains("-20")
            })
            .unwrap_or_else(|| panic!("no file of {what}"))
    };
    let urls = jsonl::read(dated("pages-"));
    let distinct: BTreeSet<_> = urls.iter().map(|line| line["url"].as_str()).collect();
    assert_eq!(urls.len(), distinct.len(), "each record once");
    assert_eq!(urls.len(), 5, "{distinct:?}");
    let text = jsonl::read(reader.folder.join("docs-1.jsonl"));
    assert_eq!(text.len(), 3, "{text:?}");
    assert!(text.iter().all(|record| record["text"].is_string()));
    let titles = jsonl::read(reader.folder.join("titles.jsonl"));
    assert_eq!(titles.len(), 2, "{titles:?}");
    if cfg!(feature = "select") {
        let lamps = fs::read_to_string(reader.folder.join("lamps.csv")).expect("items");
        let image = reader.here("https://example.com/heron.png");
        assert_eq!(lamps.lines().count(), 2, "{lamps}");
        assert!(
            lamps.ends_with(&format!("/lamps/heron,lamp,Heron,1299,{image}\r\n")),
            "{lamps:?}"
        );
        let again = fs::read_to_string(reader.folder.join("lamps-again.csv"));
        assert_eq!(again.expect("items"), lamps);
    }
    let listed = jsonl::read(reader.folder.join("pages.jsonl"));
    assert_eq!(listed.len(), 2, "{listed:?}");

    let told = of_language("text").remove(0).text;
    assert_eq!(shape(&last), shape(&told));
    fields_are_named(&jsonl::read(dated("log-")));
    let summary = fs::read(reader.folder.join("summary.json")).expect("a summary");
    fields_are_named(&[serde_json::from_slice(&summary).expect("JSON")]);
}

/// What a line says, without its numbers and their units.
fn shape(line: &str) -> Vec<&str> {
    let words = line.split_whitespace();
    words
        .filter(|word| !word.starts_with(|c: char| c.is_ascii_digit()))
        .filter(|word| !["B", "KiB", "MiB"].contains(word))
        .collect()
}

/// Every field of these values is in the README.
fn fields_are_named(values: &[serde_json::Value]) {
    let known = all_quoted();
    for value in values {
        for name in value.as_object().expect("an object").keys() {
            assert!(known.contains(name.as_str()), "{name} is not in the README");
        }
    }
}

#[cfg(unix)]
#[test]
fn the_crontab_tells_of_failures_only_and_the_service_ends_well() {
    let reader = Reader::new();
    let here = |line: &str| {
        line.replace("/srv/crawl", &reader.folder.path().to_string_lossy())
            .replace("/usr/local/bin/canter", "canter")
    };
    let crontab = of_language("cron").remove(0).text;
    let lines = crontab.lines().filter(|line| !line.contains("PATH="));
    let commands: Vec<_> = lines
        .map(|line| {
            // Five fields of time, then the command.
            let fields: Vec<_> = line.split_whitespace().take(5).collect();
            let time = |field: &&str| field.chars().all(|c| c.is_ascii_digit() || c == '*');
            assert!(fields.len() == 5 && fields.iter().all(time), "{line}");
            assert!(!line.contains('%'), "a % ends a command of cron's: {line}");
            here(line.splitn(7, ' ').nth(6).expect("a command"))
        })
        .collect();
    for command in &commands {
        let run = reader.sh(command).expect_code(0);
        assert_eq!((run.out(), &*run.stderr), ("", ""), "{command}");
    }
    // A bound is no news, an error is.
    let crawl = &commands[0];
    assert!(crawl.contains("--deadline 3h"), "{crawl}");
    let bound = crawl.replace("--deadline 3h", "--fresh --max-requests 1");
    let run = reader.sh(&bound).expect_code(0);
    assert_eq!((run.out(), &*run.stderr), ("", ""), "{bound}");
    let wrong = crawl.replace("--deadline 3h", "--deadline soon");
    let run = reader.sh(&wrong);
    assert!(run.out().contains("not a duration"), "{}", run.out());

    let units = of_language("ini");
    let value = |key: &str| {
        let lines = units.iter().flat_map(|unit| unit.text.lines());
        let mut values = lines.filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        values.next().unwrap_or_else(|| panic!("no {key}"))
    };
    let success: Vec<_> = value("SuccessExitStatus").split(' ').collect();
    assert_eq!(success, ["3", "143"], "a bound; SIGTERM");
    assert_eq!(value("Type"), "oneshot");
    reader.sh(&here(value("ExecStart"))).expect_code(0);
}

/// What [`first`] crawls.
fn seed() -> String {
    SEED.get().expect("a server").clone()
}

static SEED: OnceLock<String> = OnceLock::new();

#[test]
fn the_first_program_crawls_a_site() {
    let text = include_str!("readme/first.rs")
        .replace("super::seed()", &format!("\"{SITE}/\""))
        .replace("pub(super) fn main", "fn main");
    let program = text.split_once("\n\n").expect("a heading").1;
    assert_eq!(of_language("rust,no_run").remove(0).text, program);

    let server = Server::start(|req| match req.path_only() {
        "/" => Resp::html(page("Home", &["/a", "http://127.0.0.9/"])),
        "/a" => Resp::html(page("A", &["/"])),
        _ => Resp::new(404),
    });
    let began = Instant::now();
    SEED.set(server.url("/")).expect("set once");
    first::main().expect("a crawl");
    assert_eq!(server.log().paths(), ["/robots.txt", "/", "/a"]);
    // Sixty a minute, as it says: the third starts after two seconds.
    assert!(began.elapsed() >= Duration::from_secs(2));
}

#[test]
fn the_table_of_settings_has_every_key_and_its_default() {
    let shown = |text: &str| -> BTreeMap<String, String> {
        let settings = canter::config::Source::text(text).read();
        let settings = settings.unwrap_or_else(|error| panic!("{error}"));
        let entries = settings.entries().iter();
        entries
            .filter(|entry| entry.origin == canter::config::Origin::Default)
            .map(|entry| {
                (
                    format!("{}.{}", entry.table, entry.key),
                    entry.value.clone(),
                )
            })
            .collect()
    };
    // What one must set the other leaves alone.
    let mut keys = shown("crawl.seeds = [\"https://example.com/\"]");
    keys.extend(shown("crawl.seed_files = [\"-\"]"));
    let rows = table("| key | default | meaning |");
    let mut told = BTreeMap::new();
    for row in rows {
        let name = quoted(row[0])[0];
        let default = quoted(row[1]).first().copied().unwrap_or_default();
        assert!(
            told.insert(name, default).is_none(),
            "{name} is there twice"
        );
        let Some(key) = name.strip_prefix("host.") else {
            continue;
        };
        let value = match key {
            "name" => "\"b.test\"",
            "headers" => "{ X = \"y\" }",
            _ => "1",
        };
        let name = if key == "name" {
            ""
        } else {
            "name = \"a.test\""
        };
        let text = format!("crawl.seeds = [\"http://a.test/\"]\n[[host]]\n{name}\n{key} = {value}");
        let read = canter::config::Source::text(text).read();
        assert!(read.is_ok(), "{:?}", read.err());
    }
    told.retain(|name, _| !name.starts_with("host.") && !name.starts_with("extract."));
    let keys: BTreeMap<_, _> = keys.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    for (key, default) in &keys {
        assert_eq!(told.get(key), Some(default), "{key}");
    }
    let unknown: Vec<_> = told
        .keys()
        .filter(|key| !keys.contains_key(**key))
        .collect();
    assert!(unknown.is_empty(), "there are no such keys: {unknown:?}");
}

#[test]
fn the_table_of_fields_has_every_field_and_says_which_are_there_by_default() {
    let defaults = canter::config::PageFields::default();
    let mut told = BTreeMap::new();
    for row in table("| field | default | meaning |") {
        for name in quoted(row[0]) {
            told.insert(name, row[1] != "no");
        }
    }
    let fields = canter::config::PageField::ALL;
    let there: BTreeMap<_, _> = fields
        .iter()
        .map(|field| (field.name(), defaults.contains(*field)))
        .collect();
    assert_eq!(told, there);
}

#[test]
fn the_words_of_the_log_are_all_there() {
    let told = all_quoted();
    for kind in canter::ErrorKind::ALL {
        // These end the run, or leave a URL where it is.
        if !kind.is_fatal() && kind != canter::ErrorKind::Cancelled {
            assert!(told.contains(kind.as_str()), "{kind}");
        }
    }
    for reason in SkipReason::ALL {
        // Answers of the queue to a handler: nothing that was queued ends so.
        if !matches!(reason, SkipReason::NoFollow | SkipReason::Invalid) {
            assert!(told.contains(reason.as_str()), "{reason}");
        }
    }
    let kinds: Vec<_> = table("| kind | from | tried again |")
        .iter()
        .flat_map(|row| quoted(row[0]).into_iter().map(|name| (name, row[2])))
        .collect();
    assert_eq!(kinds.len(), canter::ErrorKind::ALL.len());
    for kind in canter::ErrorKind::ALL {
        let again = if kind.is_retryable() { "yes" } else { "no" };
        let name = format!("{kind:?}");
        assert!(kinds.contains(&(&name, again)), "{name} {again}");
    }
}

#[test]
fn exit_codes_commands_and_options_are_those_of_the_help() {
    let help = |args: &[&str]| canter(args).run().expect_code(0).out().to_owned();
    let overview = help(&["--help"]);
    let codes = |lines: &str| -> Vec<String> {
        let first = lines
            .lines()
            .filter_map(|line| line.split_whitespace().next());
        first
            .filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))
            .map(str::to_owned)
            .collect()
    };
    let told = table("| code | meaning |");
    let told: Vec<_> = told.iter().map(|row| row[0].to_owned()).collect();
    let listed = overview.split("Exit codes:\n").nth(1).expect("a list");
    assert_eq!(told, codes(listed));

    let usage = overview.split("Usage:\n").nth(1).expect("usage");
    let usage = usage.split("\n\n").next().unwrap_or_default();
    let mut all = overview.clone();
    for line in usage.lines() {
        let command = line.split_whitespace().nth(1).expect("a command");
        let named = [" ", "`"].map(|end| format!("canter {command}{end}"));
        assert!(named.iter().any(|name| README.contains(name)), "{command}");
        if command != "help" {
            all.push_str(&help(&["help", command]));
        }
    }
    // Cargo and systemd have options of their own.
    let ours = |line: &&str| !line.contains("cargo") && !line.contains("systemctl");
    for line in README.lines().filter(ours) {
        for (at, _) in line.match_indices("--") {
            let name = &line[at + 2..];
            let end = name.find(|c: char| !(c.is_ascii_lowercase() || c == '-'));
            let name = &name[..end.unwrap_or(name.len())];
            let named = name.starts_with(|c: char| c.is_ascii_lowercase());
            let of_a_build = ["no-default-features", "all-features"].contains(&name);
            assert!(
                !named || of_a_build || all.contains(&format!("--{name} ")),
                "no command has --{name}: {line}"
            );
        }
    }
}

#[test]
fn every_target_of_make_is_in_the_makefile() {
    let mut count = 0;
    for (at, _) in README.match_indices("make ") {
        let before = README[..at].chars().next_back();
        if !matches!(before, Some('`' | '\n')) {
            continue;
        }
        let target = &README[at + "make ".len()..];
        let end = target.find(|c: char| !c.is_ascii_lowercase());
        let target = &target[..end.unwrap_or(target.len())];
        let rule = format!("\n{target}: ");
        assert!(MAKEFILE.contains(&rule), "make {target}");
        count += 1;
    }
    assert!(count >= 4, "only {count}");
}

/// The names under a heading of Cargo.toml, each with what it is set to.
fn manifest(heading: &str) -> BTreeMap<&'static str, &'static str> {
    let heading = format!("[{heading}]\n");
    let section = MANIFEST.split(&heading).nth(1).expect("a section");
    let lines = section.split("\n[").next().unwrap_or_default().lines();
    lines
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(" = "))
        .collect()
}

#[test]
fn dependencies_features_and_versions_are_those_of_the_manifest() {
    let names = |heading| -> BTreeSet<&str> {
        let rows = table(heading);
        rows.iter().flat_map(|row| quoted(row[0])).collect()
    };
    let dependencies: BTreeSet<_> = manifest("dependencies").into_keys().collect();
    assert_eq!(names("| crate | what for |"), dependencies);
    let mut features = manifest("features");
    features.remove("default");
    let told = names("| feature | default | adds |");
    assert_eq!(told, features.into_keys().collect());

    let package = manifest("package");
    let rust = package["rust-version"].trim_matches('"');
    assert_eq!(README.matches("Rust 1.").count(), 2);
    assert_eq!(README.matches(&format!("Rust {rust} ")).count(), 2);
    let version = package["version"].trim_matches('"');
    let minor = version.rsplit_once('.').expect("three numbers").0;
    let wanted = format!(
        "canter = {{ version = \"{minor}\", path = \"../canter\", default-features = false }}"
    );
    assert!(README.contains(&wanted), "{wanted}");
}

/// Counted on this target, as the README says; other systems need others.
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
#[test]
fn the_numbers_of_crates_are_those_that_cargo_counts() {
    let rows = table("| build | crates besides canter |");
    let count = |flag: &str| {
        let mut args = vec!["tree", "-e", "normal", "--no-dedupe", "--prefix", "none"];
        // Nothing is fetched: what these builds need is here, as they run.
        args.extend(["--locked", "--offline"]);
        args.extend(Some(flag).filter(|flag| !flag.is_empty()));
        let run = Program::new(env!("CARGO"), args)
            .dir(Path::new(env!("CARGO_MANIFEST_DIR")))
            .run()
            .expect_code(0);
        let lines: BTreeSet<_> = run.out().lines().map(str::to_owned).collect();
        (lines.len() - 1).to_string()
    };
    assert_eq!(rows[0][1], count("--no-default-features"), "the library");
    assert_eq!(rows[1][1], count(""), "default");
    if cfg!(all(
        feature = "select",
        feature = "cookies",
        feature = "brotli",
        feature = "socks"
    )) {
        assert_eq!(rows[2][1], count("--all-features"), "all features");
    }
}
