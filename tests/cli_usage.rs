//! The program says what is wrong in one line with a hint, exits with the codes
//! of its documentation, and shows what a configuration means.

#![cfg(feature = "cli")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn canter(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_canter"));
    command
        .args(args)
        .stdin(Stdio::null())
        .env_remove("RUST_LOG")
        .env("CANTER_TEST_TOKEN", "hunter2");
    command
}

fn output(args: &[&str]) -> Output {
    canter(args).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the program writes UTF-8")
}

/// Code, standard output, standard error.
fn outcome(args: &[&str]) -> (Option<i32>, String, String) {
    let output = output(args);
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// A folder of this test's own, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("canter-usage-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("the temporary folder can be written");
        Folder(path)
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).expect("the temporary folder can be written");
        shown(&path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn shown(path: &Path) -> String {
    path.to_str().expect("a UTF-8 path").to_owned()
}

const SEED: &str = "[crawl]\nseeds = [\"https://example.com/\"]\n";

#[test]
fn a_usage_error_is_one_line_with_a_hint_and_code_2() {
    for (args, message, hint) in [
        (&[][..], "no command is given", "--help"),
        (&["chekc", "x"], "unknown command \"chekc\"", "canter check"),
        (&["run"], "needs a configuration file", "canter help run"),
        (
            &["run", "c.toml", "--frseh"],
            "unknown option --frseh",
            "--fresh",
        ),
        (
            &["crawl", "--dept", "1"],
            "unknown option --dept",
            "--depth",
        ),
        (&["crawl"], "needs a URL", "canter help crawl"),
    ] {
        let (code, out, err) = outcome(args);
        assert_eq!(code, Some(2), "{args:?}");
        assert_eq!(out, "", "{args:?}");
        assert_eq!(err.lines().count(), 1, "{args:?}: {err}");
        assert!(err.starts_with("canter: "), "{err}");
        assert!(err.contains(message) && err.contains(hint), "{err}");
    }
}

#[test]
fn help_and_version_are_on_standard_output_with_code_0() {
    let (code, out, err) = outcome(&["--help"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    for word in [
        "canter run CONFIG",
        "canter crawl URL...",
        "canter check CONFIG",
        "128+n",
    ] {
        assert!(out.contains(word), "{out}");
    }
    let (code, out, _) = outcome(&["help", "run"]);
    assert_eq!(code, Some(0));
    for word in [
        "--deadline TIME",
        "--max-requests N",
        "--set KEY=VALUE",
        "--fresh",
        "-q, --quiet",
    ] {
        assert!(out.contains(word), "{out}");
    }
    assert_eq!(outcome(&["run", "--help"]).1, out);
    let version = format!("canter {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(outcome(&["--version"]).1, version);
}

#[test]
fn every_error_of_a_configuration_has_its_line_and_none_is_a_request() {
    let folder = Folder::new("errors");
    let text = format!(
        "{SEED}[policy]\nconcurency = 8\nhost_delay = \"1\"\n[[host]]\nname = \"a.test\"\ndellay = 1\n"
    );
    let file = folder.file("bad.toml", &text);
    let expected = [
        format!("{file}:4:1: policy.concurency: unknown key; did you mean concurrency?"),
        format!(
            "{file}:5:14: policy.host_delay: \"1\" has no unit, write a number of seconds without \
             quotes or \"1s\""
        ),
        format!("{file}:8:1: host.dellay: unknown key; did you mean delay?"),
    ];
    for command in ["check", "run"] {
        let (code, out, err) = outcome(&[command, &file]);
        assert_eq!((code, out.as_str()), (Some(2), ""));
        let lines = err.lines().map(|line| line.strip_prefix("canter: "));
        let lines: Vec<_> = lines
            .map(|line| line.expect("the program's name"))
            .collect();
        assert_eq!(lines, expected, "{command}");
    }
    let (code, _, err) = outcome(&["run", "/nowhere/c.toml"]);
    assert_eq!(code, Some(2));
    assert!(
        err.starts_with("canter: /nowhere/c.toml: cannot be read: "),
        "{err}"
    );
}

#[test]
fn what_is_wrong_with_an_option_is_named_by_it() {
    let folder = Folder::new("options");
    let file = folder.file("good.toml", SEED);
    for (args, expected) in [
        (
            &["check", &file, "--deadline", "soon"][..],
            "--deadline: policy.deadline: \"soon\" is not a duration, write seconds or a string \
             such as \"1h30m\"",
        ),
        (
            &["check", &file, "--max-requests=0"],
            "--max-requests: policy.max_requests: must be at least 1, not 0",
        ),
        (
            &["check", &file, "--set", "policy.conc=8"],
            "--set: policy.conc: unknown key",
        ),
        (
            &["crawl", "http://a.test/", "--rate", "-3"],
            "--rate: policy.max_requests_per_minute: must be more than 0, not -3",
        ),
        (
            &["crawl", "a.test"],
            "not a URL (relative URL without a base): \"a.test\"; did you mean https://a.test/ ?",
        ),
        (
            &["crawl", "/a.test/x"],
            "not a URL (relative URL without a base): \"/a.test/x\"; write it whole, as in \
             https://example.com/",
        ),
        (
            &["check", &file, "--set", "policy.concurrency"],
            "--set: policy.concurrency: has no value; write policy.concurrency=VALUE",
        ),
        (
            &["check", &file, "--set", "policy.dellay"],
            "--set: policy.dellay: unknown key; did you mean policy.host_delay?",
        ),
        (
            &["check", &file, "--set", "state.x"],
            "--set: state.x: unknown key; its keys are dir",
        ),
        (
            &["check", &file, "--set", "threads"],
            "--set: threads: is no setting; did you mean policy.concurrency=VALUE?",
        ),
        (
            &["check", &file, "--set", "foo"],
            "--set: foo: is no setting; write TABLE.KEY=VALUE; the tables are [crawl], [scope]",
        ),
        (
            &["check", &file, "--set", "foo=1"],
            "--set: foo: unknown key; the tables are [crawl], [scope]",
        ),
    ] {
        let (code, out, err) = outcome(args);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{args:?}");
        assert!(err.starts_with(&format!("canter: {expected}")), "{err}");
        assert_eq!(err.lines().count(), 1, "{err}");
    }
}

#[test]
fn check_shows_values_sources_hosts_and_pace_and_no_secret() {
    let folder = Folder::new("check");
    let list = folder.file("urls.txt", "# two\nhttps://a.test/1\nhttps://b.test/2\n");
    let text = format!(
        "{SEED}seed_files = [\"urls.txt\"]\n[policy]\nhost_delay = 2\n\
         [[host]]\nname = \"b.test\"\ndelay = \"1m\"\n\
         headers = {{ Authorization = \"Bearer ${{CANTER_TEST_TOKEN}}\" }}\n\
         [fetch]\nuser_agent = \"bot (${{CANTER_TEST_TOKEN}})\"\n"
    );
    let file = folder.file("c.toml", &text);
    let (code, out, err) = outcome(&["check", &file, "--set", "policy.concurrency=8"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(out.starts_with(&format!("{file} is valid\n")), "{out}");
    let line = |words: &str| {
        let wanted: Vec<&str> = words.split(' ').collect();
        let found = out
            .lines()
            .any(|line| line.split_whitespace().collect::<Vec<_>>() == wanted);
        assert!(found, "{words} in\n{out}");
    };
    line("concurrency 8 --set");
    line("host_delay \"2s\" line 5");
    line("max_retries 3 default");
    line("user_agent *** line 11");
    line(&format!("{list} holds 2 URLs"));
    line("b.test 1m 2 1 a minute");
    line("a.test 2s 2 30 a minute");
    line("example.com 2s 2 30 a minute");
    line("Pace: at most 60 a minute, all hosts together");
    line("100 pages 1m 42s");
    assert!(!out.contains("hunter2"), "{out}");
}

#[test]
fn a_bad_line_in_a_list_of_urls_is_named() {
    let folder = Folder::new("lists");
    let list = folder.file("urls.txt", "https://a.test/\n\n/relative\nftp://b.test/\n");
    let file = folder.file("c.toml", "[crawl]\nseed_files = [\"urls.txt\"]\n");
    let (code, out, err) = outcome(&["check", &file]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    let lines: Vec<&str> = err.lines().collect();
    assert_eq!(lines.len(), 2, "{err}");
    assert!(
        lines[0].starts_with(&format!("canter: {list}:3: not a URL")),
        "{err}"
    );
    assert!(
        lines[1].starts_with(&format!("canter: {list}:4: not an http or https URL")),
        "{err}"
    );
}

#[test]
fn a_file_that_holds_nothing_of_use_is_named_by_a_check_as_by_a_run() {
    let folder = Folder::new("empty");
    let empty = folder.file("empty.txt", "# none yet\n");
    for (config, key) in [
        (
            "[crawl]\nseed_files = [\"empty.txt\"]\n".to_owned(),
            "crawl.seed_files: ",
        ),
        (
            format!("{SEED}[fetch]\nca_file = \"empty.txt\"\n"),
            "ca_file: ",
        ),
    ] {
        let file = folder.file("c.toml", &config);
        for command in ["check", "run"] {
            let (code, out, err) = outcome(&[command, &file]);
            assert_eq!((code, out.as_str()), (Some(2), ""), "{command}");
            assert_eq!(err.lines().count(), 1, "{err}");
            assert!(err.contains(key) && err.contains(&empty), "{err}");
        }
    }
    // Other URLs, or those of standard input, make up for it.
    let more = folder.file("d.toml", &format!("{SEED}seed_files = [\"empty.txt\"]\n"));
    assert_eq!(outcome(&["check", &more]).0, Some(0));
    let more = folder.file("e.toml", "[crawl]\nseed_files = [\"empty.txt\", \"-\"]\n");
    assert_eq!(outcome(&["check", &more]).0, Some(0));
}

#[test]
fn a_dry_run_shows_the_same_and_writes_nothing() {
    let folder = Folder::new("dry");
    let text = format!("{SEED}[output]\npath = \"pages.jsonl\"\n[state]\ndir = \"state\"\n");
    let file = folder.file("c.toml", &text);
    let (code, out, err) = outcome(&["run", &file, "--dry-run"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert_eq!(out, outcome(&["check", &file]).1);
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
    let (code, out, _) = outcome(&["crawl", "https://a.test/", "--dry-run", "--rate", "30"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("Pace: at most 30 a minute"), "{out}");
}

#[test]
fn control_characters_of_a_name_do_not_reach_the_terminal() {
    let folder = Folder::new("control");
    let file = folder.file("c.toml", &format!("{SEED}\"\\u001b[2J\" = 1\n"));
    let (code, _, err) = outcome(&["check", &file]);
    assert_eq!(code, Some(2));
    assert!(err.contains("\\u{1b}[2J"), "{err}");
    assert!(!err.contains('\u{1b}'), "{err:?}");
}

#[test]
fn a_reader_that_goes_away_is_no_error_and_a_full_disk_is() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let end = canter(&["--help"])
        .stdout(writer)
        .stderr(Stdio::piped())
        .output()
        .expect("the program starts");
    assert_eq!(text(&end.stderr), "");
    assert_eq!(end.status.code(), Some(0));
    if let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") {
        let end = canter(&["--help"])
            .stdout(full)
            .stderr(Stdio::piped())
            .output()
            .expect("the program starts");
        assert_eq!(end.status.code(), Some(1));
        assert!(text(&end.stderr).contains("cannot write to standard output"));
    }
}
