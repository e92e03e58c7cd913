//! `[policy]` and `[[host]]`: how they become a [`Policy`]. The ranges are the
//! policy's own: each key is tried alone on the defaults, so that what
//! [`Policy::validate`] says can be put down to the key's line.

use std::time::Duration;

use super::scope::host_pattern;
use crate::config::document::{Node, Table, Value};
use crate::config::problem::{Origin, Problem};
use crate::config::scalar::{
    boolean, choice, duration, duration_text, integer, integer_within, number, optional, plain,
    show_optional, show_word,
};
use crate::config::section::{Fault, Report, Section};
use crate::policy::{HostRule, MAX_CONCURRENCY, Policy, RetryAfterScope};

/// Requests that start each minute when nobody says how many: one a second, as
/// a person might click.
const DEFAULT_RATE: f64 = 60.0;
/// Delay before the first retry, longer than the library's, since nobody sits
/// and waits.
const DEFAULT_RETRY_DELAY: Duration = Duration::from_secs(1);
/// Nothing taken off a retry's delay, so that a log can be read against the
/// configuration.
const DEFAULT_RETRY_JITTER: f64 = 0.0;

/// The policy of a configuration that sets nothing: the library's, with a rate
/// of 60 requests a minute, and retries after 1 s, 2 s, 4 s.
#[must_use]
pub fn default_policy() -> Policy {
    let mut policy = Policy {
        max_requests_per_minute: Some(DEFAULT_RATE),
        ..Policy::default()
    };
    policy.retry.delay = DEFAULT_RETRY_DELAY;
    policy.retry.jitter = DEFAULT_RETRY_JITTER;
    policy
}

/// Reads one key of a policy. What the policy says against the value, with all
/// others at their defaults, is the key's fault.
fn set<T: Clone>(
    section: &mut Section<'_>,
    policy: &mut Policy,
    key: &'static str,
    field: impl Fn(&mut Policy) -> &mut T,
    read: impl FnOnce(&Node) -> Result<T, Fault>,
    show: impl FnOnce(&T) -> String,
) {
    let default = field(policy).clone();
    let value = section.read(
        key,
        default,
        |node| {
            let value = read(node)?;
            let mut alone = default_policy();
            *field(&mut alone) = value.clone();
            match alone.validate() {
                Ok(()) => Ok(value),
                Err(error) if node.secret => {
                    drop(error);
                    Err("what the environment holds is out of range".into())
                }
                Err(error) => {
                    let (_, why) = error.message().split_once(": ").unwrap_or_default();
                    Err(why.into())
                }
            }
        },
        show,
    );
    *field(policy) = value;
}

/// One line for each key: its field, how it is read, how it is shown.
macro_rules! keys {
    ($section:ident, $policy:ident;
     $($key:literal: $($field:ident).+ = $read:expr, $show:expr;)*) => {
        $(set($section, $policy, $key, |policy| &mut policy.$($field).+, $read, $show);)*
    };
}

/// `[policy]`, all but what `[fetch]` and `[[host]]` say.
pub(in crate::config) fn policy(root: &mut Table, report: &mut Report) -> Policy {
    let mut result = default_policy();
    let policy = &mut result;
    let mut open = report.section(root, "policy");
    let section = &mut open;
    keys! { section, policy;
        "concurrency": concurrency = |node| integer_within(node, 1, MAX_CONCURRENCY), plain;
        "max_requests_per_minute": max_requests_per_minute = |node| optional(node, number),
            |rate| show_optional(rate.as_ref(), plain);
        "burst": burst = |node| integer(node, 1), plain;
        "jitter": jitter = duration, duration_text;
        "warmup_seconds": warmup = duration, duration_text;
        "adaptive_concurrency": adaptive_concurrency = boolean, plain;
        "max_retries": retry.max_retries = |node| integer(node, 0), plain;
        "retry_delay": retry.delay = duration, duration_text;
        "backoff_factor": retry.factor = number, plain;
        "max_retry_delay": retry.max_delay = duration, duration_text;
        "retry_jitter": retry.jitter = number, plain;
        "max_retry_after": max_retry_after = duration, duration_text;
        "retry_after_scope": retry_after_scope = |node| choice(node, &SCOPES),
            |scope| show_word(scope, &SCOPES);
        "host_concurrency": host_concurrency = |node| integer(node, 1), plain;
        "host_delay": host_delay = duration, duration_text;
        "max_host_delay": max_host_delay = duration, duration_text;
        "max_consecutive_failures": max_consecutive_failures = |node| integer(node, 0), plain;
        "max_error_rate": max_error_rate = number, plain;
        "error_rate_window": error_rate_window = |node| integer(node, 1), plain;
        "max_host_failures": max_host_failures = |node| integer(node, 0), plain;
        "max_requests": max_requests = |node| optional(node, |node| integer(node, 1)),
            |count| show_optional(count.as_ref(), plain);
        "deadline": deadline = |node| optional(node, duration),
            |deadline| show_optional(deadline.as_ref(), duration_text);
        "max_pages_per_host": max_pages_per_host = |node| optional(node, |node| integer(node, 1)),
            |count| show_optional(count.as_ref(), plain);
        "shutdown_grace": shutdown_grace = duration, duration_text;
    }
    open.finish();
    result
}

const SCOPES: [(&str, RetryAfterScope); 2] = [
    ("host", RetryAfterScope::Host),
    ("crawl", RetryAfterScope::Crawl),
];

/// Where a `[[host]]` table stands, and whether it may be shown.
#[derive(Debug, Clone, Copy)]
pub(in crate::config) struct HostPlace {
    pub(in crate::config) origin: Origin,
    /// Whether its name or its delay came from the environment.
    pub(in crate::config) hidden: bool,
}

/// `[[host]]`: the rules, and where each stands.
pub(in crate::config) fn hosts(
    root: &mut Table,
    report: &mut Report,
    policy: &mut Policy,
) -> Vec<HostPlace> {
    report.know("host", &["name", "delay", "concurrency", "headers"]);
    let Some((place, node)) = root.entries.remove("host") else {
        return Vec::new();
    };
    let Value::List(items) = node.value else {
        let what = format!("must be a list of tables, not {}", node.value.kind());
        let mut problem = Problem::new(place, "host", what);
        problem.hint = Some("write [[host]] above the keys of each host".to_owned());
        report.problem(problem);
        return Vec::new();
    };
    let mut places: Vec<HostPlace> = Vec::new();
    for item in items {
        let origin = item.origin;
        let Value::Table(table) = item.value else {
            let what = format!("must be a table, not {}", item.value.kind());
            report.problem(Problem::new(origin, "host", what));
            continue;
        };
        let Some((named, hidden, rule)) = host(table, origin, report) else {
            continue;
        };
        let same = |other: &HostRule| other.name == rule.name;
        if let Some(at) = policy.hosts.iter().position(same) {
            let first = places[at].origin;
            let message = if hidden {
                format!("is there twice, first at {first}")
            } else {
                format!("{:?} is there twice, first at {first}", rule.name)
            };
            report.problem(Problem::new(named, "host.name", message));
            continue;
        }
        policy.hosts.push(rule);
        places.push(HostPlace { origin, hidden });
    }
    places
}

/// One `[[host]]` table, with the place of its name, and whether it may be
/// shown.
fn host(table: Table, origin: Origin, report: &mut Report) -> Option<(Origin, bool, HostRule)> {
    let mut section = report.section_of(table, "host");
    let mut rule = HostRule::default();
    let mut named = origin;
    let mut hidden = false;
    match section.take("name") {
        None => section.fault("name", origin, "is missing".into()),
        Some((_, node)) => match host_pattern(&node) {
            Ok(name) => {
                named = node.origin;
                hidden = node.secret;
                rule.name = name;
            }
            Err(fault) => section.fault("name", node.origin, fault),
        },
    }
    if let Some((_, node)) = section.take("delay") {
        let delay = duration(&node).and_then(|delay| {
            let mut alone = HostRule::new("example.org");
            alone.delay = Some(delay);
            valid(alone).map(|()| delay)
        });
        match delay {
            Ok(delay) => {
                rule.delay = Some(delay);
                hidden |= node.secret;
            }
            Err(fault) => section.fault("delay", node.origin, fault),
        }
    }
    if let Some((_, node)) = section.take("concurrency") {
        match integer(&node, 1) {
            Ok(concurrency) => rule.concurrency = Some(concurrency),
            Err(fault) => section.fault("concurrency", node.origin, fault),
        }
    }
    if let Some((_, node)) = section.take("headers") {
        rule.headers = headers(&mut section, node);
    }
    section.finish();
    (!rule.name.is_empty()).then_some((named, hidden, rule))
}

/// What the policy says against a rule, with all else at its defaults.
fn valid(rule: HostRule) -> Result<(), Fault> {
    let mut alone = default_policy();
    alone.hosts.push(rule);
    alone.validate().map_err(|error| {
        let (_, why) = error.message().split_once(": ").unwrap_or_default();
        let why = why.split(", for ").next().unwrap_or(why);
        Fault::from(why)
    })
}

/// Headers that the client writes itself (RFC 9110 section 7.6.1, RFC 9112
/// section 6): a value of our own would break the message.
const RESERVED_HEADERS: [&str; 9] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "te",
    "trailer",
    "upgrade",
    "keep-alive",
    "expect",
];

fn headers(section: &mut Section<'_>, node: Node) -> Vec<(String, String)> {
    let Value::Table(table) = node.value else {
        let what = format!("must be a table, not {}", node.value.kind());
        let fault = Fault::from(what).hint("write headers = { NAME = \"VALUE\" }");
        section.fault("headers", node.origin, fault);
        return Vec::new();
    };
    let mut headers: Vec<(String, String)> = Vec::new();
    for (name, (place, node)) in table.entries {
        let path = format!("headers.{name}");
        let lower = name.to_ascii_lowercase();
        if let Err(why) = header_name(&lower) {
            section.fault(&path, place, why.into());
            continue;
        }
        if headers
            .iter()
            .any(|(other, _)| other.eq_ignore_ascii_case(&name))
        {
            section.fault(&path, place, "is there twice".into());
            continue;
        }
        let values = match node.value {
            Value::List(items) => items,
            _ => vec![node],
        };
        for node in values {
            match header_value(&node) {
                Ok(value) => headers.push((name.clone(), value)),
                Err(fault) => section.fault(&path, node.origin, fault),
            }
        }
    }
    headers
}

/// A token (RFC 9110 section 5.6.2) that is ours to set.
fn header_name(lower: &str) -> Result<(), &'static str> {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if lower.is_empty() || !lower.bytes().all(token) {
        return Err("is not a header name");
    }
    if RESERVED_HEADERS.contains(&lower) {
        return Err("is written by the client itself and cannot be set");
    }
    Ok(())
}

/// Visible ASCII, spaces and tabs (RFC 9110 section 5.5).
fn header_value(node: &Node) -> Result<String, Fault> {
    let value = crate::config::scalar::text(node)?;
    let value = value.trim();
    let plain = |byte: u8| byte == b'\t' || (b' '..=b'~').contains(&byte);
    if value.is_empty() || !value.bytes().all(plain) {
        return Err("must be visible ASCII characters on one line".into());
    }
    Ok(value.to_owned())
}
