//! The tables of a configuration, one function each: its keys, their defaults,
//! and what a value must look like. A table that is not there is an empty one.

mod crawl;
#[cfg(feature = "select")]
mod extract;
#[cfg(feature = "select")]
mod extract_field;
mod fetch;
mod named;
#[cfg(not(feature = "select"))]
mod no_extract;
mod output;
mod policy;
mod scope;

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::document::Node;
use super::problem::Origin;
use super::scalar::{self, quoted};
use super::section::{Fault, Section};
use crate::policy::MAX_DURATION;

pub(in crate::config) use crawl::{crawl, seed_url};
#[cfg(feature = "select")]
pub(in crate::config) use extract::extract;
pub use fetch::default_user_agent;
pub(in crate::config) use fetch::{fetch, product_token, robots, traps};
#[cfg(not(feature = "select"))]
pub(in crate::config) use no_extract::refuse_extract;
#[cfg(feature = "select")]
pub(in crate::config) use output::same_file;
pub(in crate::config) use output::{output, state};
pub use policy::default_policy;
pub(in crate::config) use policy::{HostPlace, hosts, policy};
pub(in crate::config) use scope::scope;

/// What relative paths are relative to.
pub(in crate::config) struct Place<'a> {
    pub(in crate::config) folder: &'a Path,
}

impl Place<'_> {
    /// The file's folder for what the file says; the current folder for what
    /// the command line says.
    fn folder(&self, origin: Origin) -> &Path {
        match origin {
            Origin::File { .. } => self.folder,
            _ => Path::new(""),
        }
    }

    fn path(&self, node: &Node) -> Result<PathBuf, Fault> {
        Ok(self.folder(node.origin).join(scalar::line(node)?))
    }
}

/// A list, or its default; notes what is in effect.
fn list(
    section: &mut Section<'_>,
    key: &'static str,
    default: &[&str],
    read: impl FnMut(&Node) -> Result<String, Fault>,
) -> Vec<String> {
    if let Some(listed) = section.list(key, read, quoted) {
        section.entry(key, listed.show(), listed.origin);
        listed.values()
    } else {
        section.entry(key, format!("{default:?}"), Origin::Default);
        default.iter().map(|&text| text.to_owned()).collect()
    }
}

/// A list that is empty by default, each item with its place.
fn placed<T>(
    section: &mut Section<'_>,
    key: &'static str,
    read: impl FnMut(&Node) -> Result<T, Fault>,
    show: impl Fn(&T) -> String,
) -> Vec<(Origin, T)> {
    if let Some(listed) = section.list(key, read, show) {
        section.entry(key, listed.show(), listed.origin);
        listed.items
    } else {
        section.entry(key, "[]".to_owned(), Origin::Default);
        Vec::new()
    }
}

/// A duration that the policy's own limit bounds too.
fn bounded(node: &Node) -> Result<Duration, Fault> {
    let duration = scalar::duration(node)?;
    if duration > MAX_DURATION {
        return Err("must be at most 366 days".into());
    }
    Ok(duration)
}

/// What is wrong with a name of a file that is not there.
fn missing(node: &Node, path: &Path) -> Fault {
    if node.secret {
        return "the file that the environment names is not there".into();
    }
    format!("there is no file {}", path.display()).into()
}
