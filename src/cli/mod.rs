//! The `canter` program. Records go to standard output or to files, everything
//! else to standard error.
//!
//! | file | what it holds |
//! |---|---|
//! | `args`, `help` | the command line, and the one table of its options |
//! | `status` | what the state of a crawl holds |
//! | `check`, `notes`, `pace`, `seeds` | `canter check`; what is perhaps not meant; how fast a crawl can be at most; lists of URLs |
//! | `robots`, `sitemap`, `asker` | `canter robots`; `canter sitemap`; how both ask |
//! | `extract` | `canter extract`: kept bodies read again |
//! | `target` | whether a file may be written: not those of the crawl itself |
//! | `init` | `canter init`: a configuration to begin with |
//! | `report` | `canter report`: a page about a crawl |
//! | `run`, `summary` | `canter run` and `canter crawl`; how a run ended |
//! | `progress`, `progress_line`, `term`, `logger` | the progress line, the terminal, the log |
//! | `metrics` | a run in numbers for Prometheus |
//! | `signal`, `exit` | how a run is stopped, and how the program ends |

mod args;
mod asker;
mod check;
mod exit;
mod extract;
mod help;
mod init;
mod logger;
mod metrics;
mod notes;
mod pace;
mod progress;
mod progress_line;
mod report;
mod robots;
mod run;
mod seeds;
mod signal;
mod sitemap;
mod status;
mod summary;
mod target;
mod term;

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use args::Command;
use exit::Exit;
use term::{STDERR, sanitize};

/// The whole program.
#[must_use]
pub fn main() -> ExitCode {
    let exit = match args::parse(std::env::args_os().skip(1)) {
        Ok(command) => dispatch(command),
        Err(error) => {
            complain(&error.to_string());
            Exit::Usage
        }
    };
    exit.into()
}

fn dispatch(command: Command) -> Exit {
    match command {
        Command::Help(None) => print(&help::overview()),
        Command::Help(Some(spec)) => print(&help::of(spec)),
        Command::Version => print(&help::version()),
        Command::Check(given) => check::check(given.source().and_then(crate::config::Source::read)),
        Command::Status(given, look) => {
            status::status(given.source().and_then(crate::config::Source::read), &look)
        }
        Command::Extract(args) => extract::extract(&args),
        Command::Init(given, output) => init::init(given, output.as_deref()),
        Command::Report(given, output) => report::report(
            given.source().and_then(crate::config::Source::read),
            output.as_deref(),
        ),
        Command::Robots(given) => robots::robots(&given),
        Command::Sitemap(given, json) => sitemap::sitemap(&given, json),
        Command::Run(args) => run::run(&args),
    }
}

/// Whether messages are JSON.
static JSON: AtomicBool = AtomicBool::new(false);

/// From now on every message is a JSON object.
fn speak_json() {
    JSON.store(true, Ordering::Relaxed);
}

fn speaks_json() -> bool {
    JSON.load(Ordering::Relaxed)
}

/// Writes lines to standard error, without whatever a terminal would obey. Each
/// begins with the program's name.
fn complain(text: &str) {
    say("error", text);
}

/// The same, of something that may or may not be meant; only machines are told
/// the difference.
fn advise(text: &str) {
    say("warning", text);
}

fn say(level: &str, text: &str) {
    if speaks_json() {
        for line in text.lines() {
            // The program's name is the object's target.
            let object = logger::object(SystemTime::now(), level, "canter", line, b"");
            STDERR.print(&object);
        }
        return;
    }
    let mut out = String::with_capacity(text.len() + 1);
    for line in text.lines() {
        out.push_str("canter: ");
        out.push_str(&sanitize(line));
        out.push('\n');
    }
    STDERR.print(out.as_bytes());
}

/// Writes to standard output. A reader that has gone away has seen what it
/// wanted, so that is no error.
fn print(text: &str) -> Exit {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Exit::Complete,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Complete,
        Err(error) => {
            complain(&format!("cannot write to standard output: {error}"));
            Exit::Failure
        }
    }
}
