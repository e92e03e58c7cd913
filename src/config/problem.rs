//! [`Origin`], [`Problem`] and [`ConfigError`]: where a setting comes from, and
//! what is wrong with it. A problem always names its place and its key, and
//! never shows a value that came from the environment.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Where the value of a setting comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// The configuration file, counted from 1; columns count characters.
    File {
        /// The line of the key, or of the item in a list.
        line: usize,
        /// The column in that line.
        column: usize,
    },
    /// An option of the command line, by its name: `--set`, `--deadline`.
    CommandLine(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File { line, .. } => write!(f, "line {line}"),
            Origin::CommandLine(option) => f.write_str(option),
        }
    }
}

/// The name under which URLs of the command line appear.
pub(super) const SEED_ARGUMENT: &str = "URL";

/// One thing that is wrong with a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// Where the value was set; [`Origin::Default`] for what is missing.
    pub origin: Origin,
    /// The key with its table, such as `policy.concurrency`; empty for a file
    /// that cannot be read at all.
    pub key: String,
    /// What is wrong with it: lower case, no full stop.
    pub message: String,
    /// What was probably meant.
    pub hint: Option<String>,
}

impl Problem {
    pub(super) fn new(origin: Origin, key: impl Into<String>, message: impl Into<String>) -> Self {
        Problem {
            origin,
            key: key.into(),
            message: message.into(),
            hint: None,
        }
    }
}

/// Everything that is wrong with a configuration, in the order of the file.
///
/// It displays as one line for each problem:
/// `FILE:LINE:COLUMN: KEY: what is wrong; what was probably meant`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    file: Option<PathBuf>,
    problems: Vec<Problem>,
}

impl ConfigError {
    pub(super) fn new(file: Option<PathBuf>, mut problems: Vec<Problem>) -> Self {
        // What is in the file comes in its order, then the command line.
        problems.sort_by_key(|problem| match problem.origin {
            Origin::File { line, column } => (0, line, column),
            Origin::CommandLine(_) => (1, 0, 0),
            Origin::Default => (2, 0, 0),
        });
        ConfigError { file, problems }
    }

    /// The problems, at least one.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The file that was read, if it was one.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.problems.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            // Whoever writes a URL on the command line names no option and no key.
            let is_argument = problem.origin == Origin::CommandLine(SEED_ARGUMENT);
            match (problem.origin, &self.file) {
                _ if is_argument => {}
                (Origin::CommandLine(option), _) => write!(f, "{option}: ")?,
                (Origin::File { line, column }, Some(file)) => {
                    write!(f, "{}:{line}:{column}: ", file.display())?;
                }
                (Origin::File { line, column }, None) => write!(f, "{line}:{column}: ")?,
                (Origin::Default, Some(file)) => write!(f, "{}: ", file.display())?,
                (Origin::Default, None) => {}
            }
            if !problem.key.is_empty() && !is_argument {
                write!(f, "{}: ", problem.key)?;
            }
            f.write_str(&problem.message)?;
            if let Some(hint) = &problem.hint {
                write!(f, "; {hint}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        Error::invalid(error.to_string())
    }
}
