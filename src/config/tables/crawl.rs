//! `[crawl]`: what is crawled, and how far.

use std::time::Duration;

use url::Url;

use super::{Place, bounded, missing, placed};
use crate::config::document::{Node, Table, Value};
use crate::config::problem::Origin;
use crate::config::scalar::{self, plain, quoted, show_optional};
use crate::config::section::{Fault, Report, Section};
use crate::config::{CrawlSettings, Order, SeedFile, Sitemaps};
use crate::request::parse_url;
use crate::uri;

/// How many links away from a seed a page may be: no page of an ordinary site
/// is further, and a trap ends there.
const DEFAULT_DEPTH: u32 = 20;

/// `[crawl]`.
pub(in crate::config) fn crawl(
    root: &mut Table,
    report: &mut Report,
    place: &Place<'_>,
) -> CrawlSettings {
    let mut section = report.section(root, "crawl");
    let faults = section.report.problems.len();
    let exposed = exposed(&section);
    let may_name = section.peek("seeds", |value| match value {
        Value::List(items) => items.iter().all(|item| !item.secret),
        _ => false,
    });
    let seeds = placed(&mut section, "seeds", seed, quoted);
    let seeds: Vec<Url> = seeds.into_iter().map(|(_, url)| url).collect();
    let files = placed(
        &mut section,
        "seed_files",
        |node| seed_file(node, place),
        show_seed_file,
    );
    let mut seed_files: Vec<SeedFile> = Vec::new();
    for (origin, file) in files {
        if seed_files.contains(&file) {
            section.fault("seed_files", origin, "is there twice".into());
        } else {
            seed_files.push(file);
        }
    }
    let follow = section.read("follow", true, scalar::boolean, plain);
    let sitemaps = sitemaps(&mut section, seeds.first().filter(|_| may_name));
    if seeds.is_empty()
        && seed_files.is_empty()
        && !matches!(sitemaps, Sitemaps::List(_))
        && section.report.problems.len() == faults
    {
        let fault = Fault::from("there is nothing to crawl");
        let fault = fault.hint("set crawl.seeds = [\"https://…\"] or crawl.seed_files");
        section.fault("seeds", Origin::Default, fault);
    }
    let max_depth = section.read(
        "max_depth",
        Some(DEFAULT_DEPTH),
        |node| scalar::optional(node, |node| scalar::integer(node, 0)),
        |depth| show_optional(depth.as_ref(), plain),
    );
    let revisit = section.read("revisit", Duration::ZERO, bounded, scalar::duration_text);
    let dedup = section.read("dedup", true, scalar::boolean, plain);
    let order = section.read(
        "order",
        Order::default(),
        |node| scalar::choice(node, &ORDERS),
        |order| scalar::show_word(order, &ORDERS),
    );
    section.finish();
    CrawlSettings {
        seeds,
        seed_files,
        follow,
        sitemaps,
        max_depth,
        revisit,
        dedup,
        order,
        exposed,
    }
}

const ORDERS: [(&str, Order); 3] = [
    ("fifo", Order::Fifo),
    ("lifo", Order::Lifo),
    ("best_first", Order::BestFirst),
];

/// A URL to begin with.
fn seed(node: &Node) -> Result<Url, Fault> {
    let text = scalar::text(node)?;
    match seed_url(&text) {
        Ok(url) if url.query().is_some() && in_query(node, &text) => {
            let fault = Fault::from(
                "the query of a URL stands in records, log and state: what the environment holds \
                 must not",
            );
            Err(fault.hint("send it as a header from a [[host]] table"))
        }
        Ok(url) => Ok(url),
        Err(_) if node.secret => {
            Err("what the environment holds is not an http or https URL".into())
        }
        Err((message, hint)) => Err(Fault { message, hint }),
    }
}

/// Whether a value from the environment reaches into a URL's query.
fn in_query(node: &Node, text: &str) -> bool {
    text.find('?').is_some_and(|at| node.secret_to > at)
}

/// Where a value from the environment reaches into a URL's path.
fn exposed(section: &Section<'_>) -> Vec<(String, Origin)> {
    let mut found = Vec::new();
    for key in ["seeds", "sitemaps"] {
        section.peek(key, |value| {
            let items = match value {
                Value::List(items) => items.as_slice(),
                _ => &[],
            };
            let exposed = items.iter().filter(|node| in_path(node));
            found.extend(exposed.map(|node| (section.path(key), node.origin)));
            true
        });
    }
    found
}

fn in_path(node: &Node) -> bool {
    let Value::Text(text) = &node.value else {
        return false;
    };
    // What ends with the slash behind the host tells no path.
    let host = text.find("://").map_or(0, |at| at + "://".len());
    let path = text[host..].find('/').map(|at| host + at + 1);
    path.is_some_and(|path| node.secret_to > path)
}

/// Parses a seed: an absolute http or https URL without user name and
/// password. The error is a message and a hint.
pub(in crate::config) fn seed_url(text: &str) -> Result<Url, (String, Option<String>)> {
    let url = parse_url(text).map_err(|error| {
        let text = text.trim();
        let guess = Url::parse(&format!("https://{text}")).ok().filter(|url| {
            !text.starts_with(['/', '.']) && url.host_str().is_some_and(|host| host.contains('.'))
        });
        let hint = match guess {
            _ if text.contains("://") => None,
            Some(url) => Some(format!("did you mean {url} ?")),
            None => Some("write it whole, as in https://example.com/".to_owned()),
        };
        (error.message().to_owned(), hint)
    })?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err((
            "a URL must not hold a user name or a password".to_owned(),
            Some("set an Authorization header in a [[host]] table".to_owned()),
        ));
    }
    Ok(url)
}

fn seed_file(node: &Node, place: &Place<'_>) -> Result<SeedFile, Fault> {
    if matches!(&node.value, Value::Text(text) if text == "-") {
        return Ok(SeedFile::Stdin);
    }
    let path = place.path(node)?;
    if path.is_dir() {
        return Err("is a folder".into());
    }
    if path.exists() {
        Ok(SeedFile::File(path))
    } else {
        Err(missing(node, &path))
    }
}

fn show_seed_file(file: &SeedFile) -> String {
    match file {
        SeedFile::Stdin => quoted("-"),
        SeedFile::File(path) => quoted(&path.to_string_lossy()),
    }
}

/// The URL of a sitemap. Where one begins with `/`, the seed's host is meant.
fn sitemap(node: &Node, first: Option<&Url>) -> Result<Url, Fault> {
    seed(node).map_err(|fault| {
        let path = match &node.value {
            Value::Text(text) if text.starts_with('/') && !node.secret => text,
            _ => return fault,
        };
        let meant = first.and_then(|seed| uri::resolve(seed, path));
        match meant {
            Some(url) => fault.hint(format!("did you mean {url} ?")),
            None => fault.hint(format!("write it whole, as in https://example.com{path}")),
        }
    })
}

/// `sitemaps`: `true`, `false`, or URLs. Off by default: a crawl asks for
/// nothing that neither it was told nor a page has led it to.
fn sitemaps(section: &mut Section<'_>, first: Option<&Url>) -> Sitemaps {
    const KEY: &str = "sitemaps";
    let is_list = section.peek(KEY, |value| matches!(value, Value::List(_)));
    if is_list {
        let read = |node: &Node| sitemap(node, first);
        let listed = section.list(KEY, read, quoted).expect("it is a list");
        section.entry(KEY, listed.show(), listed.origin);
        return match listed.values() {
            urls if urls.is_empty() => Sitemaps::Off,
            urls => Sitemaps::List(urls),
        };
    }
    section.read(
        KEY,
        Sitemaps::Off,
        |node| match node.value {
            Value::Bool(true) => Ok(Sitemaps::Discover),
            Value::Bool(false) => Ok(Sitemaps::Off),
            _ => {
                let kind = node.value.kind();
                Err(format!("must be true, false or a list of URLs, not {kind}").into())
            }
        },
        |sitemaps| (*sitemaps != Sitemaps::Off).to_string(),
    )
}
