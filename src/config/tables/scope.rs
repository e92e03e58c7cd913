//! `[scope]`: which of the URLs that are found belong to the crawl.

use url::{Host, Url};

use super::list;
use crate::config::ScopeSettings;
use crate::config::document::{Node, Table};
use crate::config::problem::Origin;
use crate::config::scalar::{self, quoted};
use crate::config::section::{Fault, Report};
use crate::uri::{Glob, HostPattern, SESSION_IDS};

/// `[scope]`.
pub(in crate::config) fn scope(root: &mut Table, report: &mut Report) -> ScopeSettings {
    let mut section = report.section(root, "scope");
    let hosts = if let Some(listed) = section.list("hosts", host_pattern, quoted) {
        if listed.written == 0 {
            let fault = Fault::from("must not be empty");
            let fault = fault.hint("leave it out for the seeds' hosts");
            section.fault("hosts", listed.origin, fault);
        }
        section.entry("hosts", listed.show(), listed.origin);
        listed.values()
    } else {
        section.entry("hosts", "the seeds' hosts".to_owned(), Origin::Default);
        Vec::new()
    };
    let include = list(&mut section, "include", &[], path_pattern);
    let exclude = list(&mut section, "exclude", &[], path_pattern);
    let drop_params = list(&mut section, "drop_params", &SESSION_IDS, parameter_pattern);
    section.finish();
    ScopeSettings {
        hosts,
        include,
        exclude,
        drop_params,
    }
}

/// A host name, or `*.` and a host name: lower case, as it is in URLs.
pub(in crate::config) fn host_pattern(node: &Node) -> Result<String, Fault> {
    let text = scalar::line(node)?;
    let text = text.trim();
    let fault = |what: &str| {
        if node.secret {
            Fault::from(format!("what the environment holds {what}"))
        } else {
            Fault::from(format!("{text:?} {what}"))
        }
    };
    if text.contains("://") || text.contains('/') {
        let url = if text.contains("://") {
            Url::parse(text).ok()
        } else {
            Url::parse(&format!("http://{text}")).ok()
        };
        let mut fault = fault("is not a host name");
        if let Some(host) = url.as_ref().and_then(Url::host_str)
            && !node.secret
        {
            fault = fault.hint(format!("write {host:?}"));
        }
        return Err(fault);
    }
    let (star, name) = match text.strip_prefix("*.") {
        Some(name) => ("*.", name),
        None => ("", text),
    };
    if name.contains('*') {
        return Err(fault("may hold a star only as in \"*.example.org\""));
    }
    let name = name.trim_end_matches('.');
    match Host::parse(name) {
        Ok(host) if star.is_empty() || matches!(host, Host::Domain(_)) => {
            let pattern = format!("{star}{host}");
            match HostPattern::new(&pattern) {
                Ok(_) => Ok(pattern),
                Err(_) => Err(fault("is not a host name")),
            }
        }
        _ if name.contains(':') && !name.starts_with('[') => {
            Err(fault("is not a host name; a port is no part of it"))
        }
        _ => Err(fault("is not a host name")),
    }
}

/// A pattern that is matched with whole paths, so it must begin as they do.
fn path_pattern(node: &Node) -> Result<String, Fault> {
    let text = scalar::line(node)?;
    if text.starts_with(['/', '*']) {
        return match Glob::new(text.as_str()) {
            Ok(_) => Ok(text),
            Err(_) if node.secret => Err("what the environment holds is no path pattern".into()),
            Err(error) => Err(error.message().into()),
        };
    }
    if node.secret {
        return Err("what the environment holds does not begin with \"/\" or \"*\"".into());
    }
    let path = Url::parse(&text).ok();
    let meant = path.map_or_else(|| format!("/{text}"), |url| url.path().to_owned());
    let fault = Fault::from(format!("{text:?} must begin with \"/\" or \"*\""));
    Err(fault.hint(format!("did you mean {meant:?}?")))
}

/// A parameter's name, with a star at its end or none.
fn parameter_pattern(node: &Node) -> Result<String, Fault> {
    let text = scalar::line(node)?;
    let name = text.strip_suffix('*').unwrap_or(&text);
    let odd = |c: char| c.is_whitespace() || "&=#?*".contains(c);
    if text == "*" || name.contains(odd) {
        return Err("must be a parameter's name, with a star at most at its end".into());
    }
    Ok(text)
}
