//! [`Source`]: a configuration file, the command line in front of it, and the
//! environment for `${NAME}`; read together into [`Settings`].

use std::env::{self, VarError};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::document::{self, Node, Table, Value};
use super::problem::{ConfigError, Origin, Problem, SEED_ARGUMENT};
use super::section::Report;
use super::{Settings, tables};

/// The longest configuration file, in bytes. A longer one is not a
/// configuration; lists of URLs have files of their own.
const MAX_FILE: u64 = 4 << 20;

/// Finds a variable's value, or says why it cannot.
type Environment = dyn Fn(&str) -> Result<String, String>;

/// Where a configuration comes from.
///
/// ```
/// use canter::config::Source;
/// let settings = Source::text("[crawl]\nseeds = [\"https://${HOST}/\"]")
///     .environment(|name| (name == "HOST").then(|| "example.com".to_owned()))
///     .option("--deadline", "policy.deadline", "10m")
///     .read()?;
/// assert_eq!(settings.crawl.seeds[0].as_str(), "https://example.com/");
/// assert_eq!(settings.policy.deadline.unwrap().as_secs(), 600);
/// # Ok::<(), canter::config::ConfigError>(())
/// ```
#[must_use = "a source is not read before `read`"]
pub struct Source {
    file: Option<PathBuf>,
    text: String,
    /// What relative paths in the file are relative to.
    folder: PathBuf,
    seeds: Vec<String>,
    /// Option, key, value, in the order of the command line.
    overrides: Vec<(&'static str, String, String)>,
    /// What `--set` was given without a value.
    no_value: Vec<String>,
    environment: Box<Environment>,
}

impl Source {
    /// A configuration in a file. Relative paths in it are relative to its
    /// folder.
    ///
    /// # Errors
    /// When it cannot be read or is not UTF-8.
    pub fn file(path: impl Into<PathBuf>) -> Result<Self, ConfigError> {
        let path = path.into();
        let fail = |message: String| {
            let problem = Problem::new(Origin::Default, "", message);
            ConfigError::new(Some(path.clone()), vec![problem])
        };
        let mut bytes = Vec::new();
        File::open(&path)
            .and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut bytes))
            .map_err(|error| fail(format!("cannot be read: {error}")))?;
        if bytes.len() as u64 > MAX_FILE {
            return Err(fail("is too long for a configuration".to_owned()));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = good.split(|&byte| byte == b'\n').count();
            fail(format!("line {line} is not UTF-8"))
        })?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Source {
            file: Some(path),
            folder,
            ..Source::text(text)
        })
    }

    /// A configuration in memory. Relative paths are relative to the current
    /// folder.
    pub fn text(text: impl Into<String>) -> Self {
        Source {
            file: None,
            text: text.into(),
            folder: PathBuf::new(),
            seeds: Vec::new(),
            overrides: Vec::new(),
            no_value: Vec::new(),
            environment: Box::new(|name| {
                env::var(name).map_err(|error| match error {
                    VarError::NotPresent => {
                        format!("the environment variable {name} is not set")
                    }
                    VarError::NotUnicode(_) => {
                        format!("the environment variable {name} is not UTF-8")
                    }
                })
            }),
        }
    }

    /// Sets a key as `--set KEY=VALUE` does: the value is TOML, or else a
    /// string without quotes. Later ones win over earlier ones.
    pub fn set(mut self, setting: &str) -> Self {
        match setting.split_once('=') {
            Some((key, value)) => {
                self.overrides
                    .push(("--set", key.trim().to_owned(), value.trim().to_owned()));
            }
            // That is reported when it is read.
            None => self.no_value.push(setting.trim().to_owned()),
        }
        self
    }

    /// Sets a key in the name of an option of the command line.
    pub fn option(mut self, option: &'static str, key: &str, value: &str) -> Self {
        self.overrides
            .push((option, key.to_owned(), value.to_owned()));
        self
    }

    /// Takes these as `crawl.seeds`.
    pub fn seeds<S: Into<String>>(mut self, urls: impl IntoIterator<Item = S>) -> Self {
        self.seeds.extend(urls.into_iter().map(Into::into));
        self
    }

    /// Looks `${NAME}` up here instead of in the process's environment.
    pub fn environment(mut self, get: impl Fn(&str) -> Option<String> + 'static) -> Self {
        self.environment = Box::new(move |name| {
            get(name).ok_or_else(|| format!("the environment variable {name} is not set"))
        });
        self
    }

    /// Reads everything and checks every value.
    ///
    /// # Errors
    /// Everything that is wrong, with file, line and key. Errors of syntax are
    /// reported alone.
    pub fn read(self) -> Result<Settings, ConfigError> {
        let lookup = &*self.environment;
        let mut report = Report::default();
        // A byte order mark is no part of the text.
        let text = self.text.strip_prefix('\u{feff}').unwrap_or(&self.text);
        let mut root = document::parse(text, lookup)
            .map_err(|problems| ConfigError::new(self.file.clone(), problems))?;
        if !self.seeds.is_empty() {
            put_seeds(&mut root, &self.seeds);
        }
        for (option, key, value) in &self.overrides {
            if let Err(problem) = document::put(&mut root, key, value, option, lookup) {
                report.problem(problem);
            }
        }

        let place = tables::Place {
            folder: &self.folder,
        };
        let crawl = tables::crawl(&mut root, &mut report, &place);
        let scope = tables::scope(&mut root, &mut report);
        let mut policy = tables::policy(&mut root, &mut report);
        let robots = tables::robots(&mut root, &mut report);
        let fetch = tables::fetch(&mut root, &mut report, &place, &mut policy);
        let traps = tables::traps(&mut root, &mut report);
        let output = tables::output(&mut root, &mut report, &place);
        let state = tables::state(&mut root, &mut report, &place);
        #[cfg(feature = "select")]
        let extract = tables::extract(&mut root, &mut report, &place, &output);
        #[cfg(not(feature = "select"))]
        tables::refuse_extract(&mut root, &mut report);
        let host_places = tables::hosts(&mut root, &mut report, &mut policy);
        for setting in &self.no_value {
            report.no_value(Origin::CommandLine("--set"), setting);
        }
        report.close(root);

        if report.problems.is_empty()
            && let Err(error) = policy.validate()
        {
            // Each key was checked alone; this is about how they fit together.
            let (key, why) = error.message().split_once(": ").unwrap_or_default();
            let entry = report.entries.iter().find(|entry| entry.key == key);
            let origin = entry.map_or(Origin::Default, |entry| entry.origin);
            report.problem(Problem::new(origin, format!("policy.{key}"), why));
        }
        if !report.problems.is_empty() {
            return Err(ConfigError::new(self.file, report.problems));
        }
        let settings = Settings {
            crawl,
            scope,
            policy,
            robots,
            fetch,
            traps,
            output,
            #[cfg(feature = "select")]
            extract,
            state,
            file: self.file,
            entries: report.entries,
            host_places,
        };
        match settings.collisions() {
            none if none.is_empty() => Ok(settings),
            some => Err(ConfigError::new(settings.file, some)),
        }
    }
}

fn put_seeds(root: &mut Table, seeds: &[String]) {
    let origin = Origin::CommandLine(SEED_ARGUMENT);
    let node = |value| Node {
        value,
        origin,
        secret: false,
        secret_to: 0,
        spelt: None,
    };
    let items = seeds.iter().map(|seed| node(Value::Text(seed.clone())));
    let list = node(Value::List(items.collect()));
    let (_, crawl) = root
        .entries
        .entry("crawl".to_owned())
        .or_insert_with(|| (origin, node(Value::Table(Table::default()))));
    if let Value::Table(crawl) = &mut crawl.value {
        crawl.entries.insert("seeds".to_owned(), (origin, list));
    }
}
