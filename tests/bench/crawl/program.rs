//! The program under test, and how it is told what to do.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The crawl that a run of the program is given.
pub(crate) struct Crawl {
    pub(crate) seed: String,
    pub(crate) connections: usize,
    pub(crate) state: bool,
    /// Further lines of the configuration, under their tables.
    pub(crate) more: &'static str,
    /// A bound on requests.
    pub(crate) requests: Option<u64>,
}

impl Crawl {
    /// A crawl from a URL that nothing holds back.
    pub(crate) fn of(seed: String, connections: usize) -> Crawl {
        Crawl {
            seed,
            connections,
            state: false,
            more: "",
            requests: None,
        }
    }

    /// Writes the configuration into a folder that is empty but for the state
    /// of earlier runs.
    pub(crate) fn write(&self, folder: &Path) -> PathBuf {
        fs::create_dir_all(folder).expect("a folder for the crawl");
        let mut text = String::new();
        let (seed, connections) = (&self.seed, self.connections);
        write!(
            text,
            "[crawl]\nseeds = [\"{seed}\"]\nmax_depth = \"none\"\n\
             [policy]\nconcurrency = {connections}\nhost_concurrency = {connections}\n\
             max_requests_per_minute = \"none\"\n"
        )
        .expect("memory");
        if let Some(requests) = self.requests {
            writeln!(text, "max_requests = {requests}").expect("memory");
        }
        text.push_str("[output]\npath = \"pages.jsonl\"\nexisting = \"append\"\n");
        if self.state {
            text.push_str("[state]\ndir = \"state\"\n");
        }
        text.push_str(self.more);
        let config = folder.join("crawl.toml");
        fs::write(&config, text).expect("a configuration");
        config
    }

    /// The program, about to run the crawl.
    pub(crate) fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_canter"));
        command
            .arg("run")
            .arg(self.write(folder))
            .arg("--quiet")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }
}

/// Lines of the output.
pub(crate) fn records(folder: &Path) -> usize {
    let text = fs::read_to_string(folder.join("pages.jsonl")).unwrap_or_default();
    text.lines().count()
}

/// A folder with nothing in it.
pub(crate) fn fresh(folder: &Path) -> PathBuf {
    if folder.exists() {
        fs::remove_dir_all(folder).expect("a folder of ours");
    }
    fs::create_dir_all(folder).expect("a folder for the run");
    folder.to_owned()
}
