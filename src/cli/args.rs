//! [`Command`]: what the command line asks for. Options that are settings go
//! the way of every setting: they are put in front of the configuration, and
//! checked with it.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use lexopt::{Arg, Parser};

use super::help::{COMMANDS, Opt, Spec};
use super::status::StatusArgs;
use crate::config::suggest::nearest;
use crate::config::{ConfigError, Source};

/// What the command line asks for.
#[derive(Debug, PartialEq)]
pub(super) enum Command {
    /// `run` and `crawl`.
    Run(RunArgs),
    /// `check`.
    Check(Given),
    /// `status`.
    Status(Given, StatusArgs),
    /// `robots`.
    Robots(Given),
    /// `sitemap`, with `--json` or without.
    Sitemap(Given, bool),
    /// `init`: the URL to ask, if any, and the file to write.
    Init(Given, Option<PathBuf>),
    /// `report`: of which crawl, and the file to write.
    Report(Given, Option<PathBuf>),
    /// `extract`.
    Extract(ExtractArgs),
    /// The help of one command, or of all.
    Help(Option<&'static Spec>),
    /// The program's version.
    Version,
}

/// A configuration as the command line gives it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Given {
    /// The configuration file; `None` for `crawl`, which has none.
    pub(super) file: Option<PathBuf>,
    /// The URLs of `crawl`.
    pub(super) urls: Vec<String>,
    /// Option, key and value, in their order. Of `--set` the key is empty and
    /// the value is the whole setting.
    pub(super) settings: Vec<(&'static str, &'static str, String)>,
}

impl Given {
    /// The source of the settings.
    pub(super) fn source(&self) -> Result<Source, ConfigError> {
        let mut source = match &self.file {
            Some(file) => Source::file(file)?,
            None => Source::text(""),
        };
        let (stdin, urls): (Vec<_>, Vec<_>) = self.urls.iter().partition(|url| *url == "-");
        source = source.seeds(urls.into_iter().cloned());
        if !stdin.is_empty() {
            source = source.option("URL", "crawl.seed_files", "[\"-\"]");
        }
        for (option, key, value) in &self.settings {
            source = if key.is_empty() {
                source.set(value)
            } else {
                source.option(option, key, value)
            };
        }
        Ok(source)
    }
}

/// What is told on standard error.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Talk {
    /// No progress line.
    pub(super) quiet: bool,
    /// How much is logged beyond warnings.
    pub(super) verbose: u8,
    /// Whether everything is JSON.
    pub(super) json: bool,
}

/// What `run` and `crawl` are told.
#[derive(Debug, Default, PartialEq)]
pub(super) struct RunArgs {
    pub(super) given: Given,
    /// Forget what earlier runs kept.
    pub(super) fresh: bool,
    /// Say what would be done, and do nothing.
    pub(super) dry_run: bool,
    pub(super) talk: Talk,
    /// Where a page about the run goes.
    pub(super) report: Option<PathBuf>,
}

/// What `extract` is told.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ExtractArgs {
    pub(super) given: Given,
    /// The file for all items.
    pub(super) output: Option<PathBuf>,
    /// The folder for everything that the crawl wrote.
    pub(super) into: Option<PathBuf>,
    /// No line at the end.
    pub(super) quiet: bool,
    /// How much is logged beyond warnings.
    pub(super) verbose: u8,
}

/// A command line that cannot be used.
#[derive(Debug, PartialEq)]
pub(super) struct UsageError {
    message: String,
    hint: String,
}

impl UsageError {
    fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        UsageError {
            message: message.into(),
            hint: hint.into(),
        }
    }
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.hint)
    }
}

/// Reads the arguments that follow the program's name.
pub(super) fn parse(
    args: impl IntoIterator<Item = impl Into<OsString>>,
) -> Result<Command, UsageError> {
    let mut parser = Parser::from_args(args);
    let first = match parser.next() {
        Ok(Some(first)) => first,
        Ok(None) => {
            return Err(UsageError::new(
                "no command is given",
                "see `canter --help`",
            ));
        }
        Err(error) => return Err(UsageError::new(error.to_string(), "see `canter --help`")),
    };
    let word = match first {
        Arg::Long("help") | Arg::Short('h') => return Ok(Command::Help(None)),
        Arg::Long("version") | Arg::Short('V') => return Ok(Command::Version),
        Arg::Long(name) => {
            let name = name.to_owned();
            return Err(unknown_option(&name, None));
        }
        Arg::Short(letter) => {
            return Err(UsageError::new(
                format!("unknown option -{letter}"),
                "options follow a command, see `canter --help`",
            ));
        }
        Arg::Value(word) => word,
    };
    let word = word.to_string_lossy().into_owned();
    if word == "help" {
        return help(&mut parser);
    }
    match command(&word) {
        Some(spec) => options(spec, &mut parser),
        None => Err(unknown_command(&word)),
    }
}

fn command(word: &str) -> Option<&'static Spec> {
    COMMANDS.iter().find(|spec| spec.name == word)
}

fn help(parser: &mut Parser) -> Result<Command, UsageError> {
    match parser.next() {
        Ok(Some(Arg::Value(word))) => {
            let word = word.to_string_lossy();
            match command(&word) {
                Some(spec) => Ok(Command::Help(Some(spec))),
                None if word == "help" => Ok(Command::Help(None)),
                None => Err(unknown_command(&word)),
            }
        }
        _ => Ok(Command::Help(None)),
    }
}

fn unknown_command(word: &str) -> UsageError {
    let names = COMMANDS.iter().map(|spec| spec.name).chain(["help"]);
    let path = std::path::Path::new(word);
    let hint = if word.contains("://") {
        format!("did you mean `canter crawl {word}`?")
    } else if path.extension().is_some_and(|end| end == "toml") {
        format!("did you mean `canter run {word}`?")
    } else if let Some(name) = nearest(word, names) {
        format!("did you mean `canter {name}`?")
    } else {
        "see `canter --help`".to_owned()
    };
    UsageError::new(format!("unknown command {word:?}"), hint)
}

fn unknown_option(name: &str, spec: Option<&Spec>) -> UsageError {
    let Some(spec) = spec else {
        let hint = match nearest(name, ["help", "version"]) {
            Some(near) => format!("did you mean --{near}?"),
            None => "options follow a command, see `canter --help`".to_owned(),
        };
        return UsageError::new(format!("unknown option --{name}"), hint);
    };
    let hint = match nearest(name, spec.options().map(|option| option.long)) {
        Some(near) => format!("did you mean --{near}?"),
        None => format!("see `canter help {}`", spec.name),
    };
    UsageError::new(
        format!("unknown option --{name} of `canter {}`", spec.name),
        hint,
    )
}

/// Reads what follows a command.
fn options(spec: &'static Spec, parser: &mut Parser) -> Result<Command, UsageError> {
    let see = format!("see `canter help {}`", spec.name);
    let fail = |error: lexopt::Error| UsageError::new(error.to_string(), see.clone());
    let mut args = RunArgs::default();
    let mut look = StatusArgs::default();
    let (mut output, mut into) = (None, None);
    let mut words: Vec<OsString> = Vec::new();
    while let Some(arg) = parser.next().map_err(fail)? {
        let option: &'static Opt = match arg {
            Arg::Value(word) => {
                words.push(word);
                continue;
            }
            Arg::Long(name) => match spec.options().find(|option| option.long == name) {
                Some(option) => option,
                None => return Err(unknown_option(name, Some(spec))),
            },
            Arg::Short(letter) => {
                match spec.options().find(|option| option.short == Some(letter)) {
                    Some(option) => option,
                    None => {
                        return Err(UsageError::new(
                            format!("unknown option -{letter} of `canter {}`", spec.name),
                            see,
                        ));
                    }
                }
            }
        };
        if option.value.is_some() {
            let value = parser.value().map_err(fail)?;
            let file = match (option.key, option.long) {
                ("", "report") => Some(&mut args.report),
                ("", "output") => Some(&mut output),
                ("", "into") => Some(&mut into),
                _ => None,
            };
            if let Some(file) = file {
                *file = Some(PathBuf::from(value));
                continue;
            }
            let Ok(value) = value.into_string() else {
                return Err(UsageError::new(
                    format!("the value of {} is not UTF-8", option.dashed),
                    see,
                ));
            };
            args.given.settings.push((option.dashed, option.key, value));
            continue;
        }
        match option.long {
            "help" => return Ok(Command::Help(Some(spec))),
            "failed" => look.failed = true,
            "json" => look.json = true,
            "fresh" => args.fresh = true,
            "json-logs" => args.talk.json = true,
            "dry-run" => args.dry_run = true,
            "quiet" => args.talk.quiet = true,
            "verbose" => args.talk.verbose = args.talk.verbose.saturating_add(1),
            other => unreachable!("--{other} is in the table of options and not read"),
        }
    }
    if spec.takes_urls {
        for word in words {
            let Ok(url) = word.into_string() else {
                return Err(UsageError::new("a URL is not UTF-8", see));
            };
            args.given.urls.push(url);
        }
        let what = spec.wants();
        if args.given.urls.is_empty() && !spec.takes_none() {
            return Err(UsageError::new(
                format!("`canter {}` needs {what}", spec.name),
                see,
            ));
        }
        if let (false, Some(more)) = (spec.takes_many(), args.given.urls.get(1)) {
            return Err(UsageError::new(
                format!("unexpected argument {more:?}"),
                format!("`canter {}` takes {what}", spec.name),
            ));
        }
    } else {
        let mut words = words.into_iter();
        let Some(file) = words.next() else {
            return Err(UsageError::new(
                format!("`canter {}` needs a configuration file", spec.name),
                see,
            ));
        };
        if let Some(more) = words.next() {
            return Err(UsageError::new(
                format!("unexpected argument {:?}", more.to_string_lossy()),
                format!("`canter {}` takes one configuration file", spec.name),
            ));
        }
        if file.to_string_lossy().contains("://") {
            return Err(UsageError::new(
                format!("{:?} is not a configuration file", file.to_string_lossy()),
                "URLs are for `canter crawl`",
            ));
        }
        args.given.file = Some(PathBuf::from(file));
    }
    // Standard output is where it goes without the option, too.
    let output = output.filter(|path: &PathBuf| path.as_os_str() != "-");
    Ok(match spec.name {
        "check" => Command::Check(args.given),
        "status" => Command::Status(args.given, look),
        "init" => Command::Init(args.given, output),
        "report" => Command::Report(args.given, output),
        "extract" => Command::Extract(ExtractArgs {
            given: args.given,
            output,
            into,
            quiet: args.talk.quiet,
            verbose: args.talk.verbose,
        }),
        "robots" => Command::Robots(args.given),
        "sitemap" => Command::Sitemap(args.given, look.json),
        _ => Command::Run(args),
    })
}

#[cfg(test)]
mod tests;
