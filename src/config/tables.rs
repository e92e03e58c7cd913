//! The tables of a configuration but `[policy]` and `[[host]]`, one function
//! each: its keys, their defaults, and what a value must look like.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use url::{Host, Url};

use super::document::{Node, Table, Value};
use super::problem::Origin;
use super::record::PageFields;
use super::scalar::{self, plain, quoted, show_optional};
use super::section::{Fault, Report, Section};
use super::{
    CrawlSettings, Existing, FetchSettings, Order, OutputPath, OutputSettings, RobotsSettings,
    ScopeSettings, SeedFile, Sitemaps, TrapSettings, rfc3339, units,
};
use crate::policy::{MAX_DURATION, Policy};
use crate::request::parse_url;

/// How many links away from a seed a page may be: no page of an ordinary site
/// is further, and a trap ends there.
const DEFAULT_DEPTH: u32 = 20;
/// The longest time for a whole request.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest body, in decoded bytes: pages are far below it.
const DEFAULT_MAX_BODY: u64 = 10 << 20;
/// Bodies that hold links and titles.
const DEFAULT_ACCEPT: [&str; 2] = ["text/html", "application/xhtml+xml"];
/// Parameters that carry a session in common server software, never a page.
const DEFAULT_DROP_PARAMS: [&str; 9] = [
    "jsessionid",
    "phpsessid",
    "aspsessionid*",
    "sessionid",
    "session_id",
    "sid",
    "cfid",
    "cftoken",
    "oscsid",
];

/// The `User-Agent` when nobody sets one.
#[must_use]
pub fn default_user_agent() -> String {
    concat!("canter/", env!("CARGO_PKG_VERSION")).to_owned()
}

/// What relative paths are relative to.
pub(super) struct Place<'a> {
    pub(super) folder: &'a Path,
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

/// `[crawl]`.
pub(super) fn crawl(root: &mut Table, report: &mut Report, place: &Place<'_>) -> CrawlSettings {
    let mut section = report.section(root, "crawl");
    let faults = section.report.problems.len();
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
    let sitemaps = sitemaps(&mut section);
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
        order,
    }
}

const ORDERS: [(&str, Order); 3] = [
    ("fifo", Order::Fifo),
    ("lifo", Order::Lifo),
    ("best_first", Order::BestFirst),
];

/// A duration that the policy's own limit bounds too.
fn bounded(node: &Node) -> Result<Duration, Fault> {
    let duration = scalar::duration(node)?;
    if duration > MAX_DURATION {
        return Err("must be at most 366 days".into());
    }
    Ok(duration)
}

/// A URL to begin with.
fn seed(node: &Node) -> Result<Url, Fault> {
    let text = scalar::text(node)?;
    match seed_url(&text) {
        Ok(url) => Ok(url),
        Err(_) if node.secret => {
            Err("what the environment holds is not an http or https URL".into())
        }
        Err((message, hint)) => Err(Fault { message, hint }),
    }
}

/// Parses a seed: an absolute http or https URL without user name and
/// password. The error is a message and a hint.
pub(super) fn seed_url(text: &str) -> Result<Url, (String, Option<String>)> {
    let url = parse_url(text).map_err(|error| {
        let guess = format!("https://{}", text.trim());
        let hint = Url::parse(&guess).ok().filter(|url| {
            !text.contains("://") && url.host_str().is_some_and(|host| host.contains('.'))
        });
        let hint = hint.map(|url| format!("did you mean {url} ?"));
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

fn missing(node: &Node, path: &Path) -> Fault {
    if node.secret {
        return "the file that the environment names is not there".into();
    }
    format!("there is no file {}", path.display()).into()
}

fn show_seed_file(file: &SeedFile) -> String {
    match file {
        SeedFile::Stdin => quoted("-"),
        SeedFile::File(path) => quoted(&path.to_string_lossy()),
    }
}

/// `sitemaps`: `true`, `false`, or URLs.
fn sitemaps(section: &mut Section<'_>) -> Sitemaps {
    const KEY: &str = "sitemaps";
    let is_list = section.peek(KEY, |value| matches!(value, Value::List(_)));
    if is_list {
        let listed = section.list(KEY, seed, quoted).expect("it is a list");
        section.entry(KEY, listed.show(), listed.origin);
        return match listed.values() {
            urls if urls.is_empty() => Sitemaps::Off,
            urls => Sitemaps::List(urls),
        };
    }
    section.read(
        KEY,
        Sitemaps::Discover,
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

/// `[scope]`.
pub(super) fn scope(root: &mut Table, report: &mut Report) -> ScopeSettings {
    let mut section = report.section(root, "scope");
    let hosts = if let Some(listed) = section.list("hosts", host_pattern, quoted) {
        if listed.items.is_empty() {
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
    let drop_params = list(
        &mut section,
        "drop_params",
        &DEFAULT_DROP_PARAMS,
        parameter_pattern,
    );
    section.finish();
    ScopeSettings {
        hosts,
        include,
        exclude,
        drop_params,
    }
}

/// A host name, or `*.` and a host name: lower case, as it is in URLs.
pub(super) fn host_pattern(node: &Node) -> Result<String, Fault> {
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
            Ok(format!("{star}{host}"))
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
        return Ok(text);
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

/// `[robots]`.
pub(super) fn robots(root: &mut Table, report: &mut Report) -> RobotsSettings {
    let mut section = report.section(root, "robots");
    let obey = section.read("obey", true, scalar::boolean, plain);
    section.finish();
    RobotsSettings { obey }
}

/// `[fetch]`. Redirects are the policy's, since the crawler follows them.
pub(super) fn fetch(
    root: &mut Table,
    report: &mut Report,
    place: &Place<'_>,
    policy: &mut Policy,
) -> FetchSettings {
    let mut section = report.section(root, "fetch");
    let user_agent = section.read("user_agent", default_user_agent(), user_agent, quoted);
    let timeout = section.read(
        "timeout",
        DEFAULT_TIMEOUT,
        |node| match bounded(node)? {
            Duration::ZERO => Err("must be more than 0".into()),
            timeout => Ok(timeout),
        },
        scalar::duration_text,
    );
    let proxy = section.read(
        "proxy",
        None,
        |node| scalar::optional(node, proxy),
        |url| show_optional(url.as_ref(), show_proxy),
    );
    let ca_file = section.read(
        "ca_file",
        None,
        |node| {
            let path = place.path(node)?;
            if path.is_file() {
                Ok(Some(path))
            } else {
                Err(missing(node, &path))
            }
        },
        |path| show_optional(path.as_ref(), |path| quoted(&path.to_string_lossy())),
    );
    let max_body = section.read(
        "max_body",
        DEFAULT_MAX_BODY,
        |node| match scalar::size(node)? {
            0 => Err("must be more than 0".into()),
            bytes => Ok(bytes),
        },
        |bytes| quoted(&units::show_size(*bytes)),
    );
    let allow_private = section.read("allow_private", false, scalar::boolean, plain);
    policy.max_redirects = section.read(
        "max_redirects",
        policy.max_redirects,
        |node| scalar::integer(node, 0),
        plain,
    );
    let accept = list(&mut section, "accept", &DEFAULT_ACCEPT, media_range);
    section.finish();
    FetchSettings {
        user_agent,
        timeout,
        proxy,
        ca_file,
        max_body,
        allow_private,
        accept,
    }
}

/// Visible ASCII that begins with a product token.
fn user_agent(node: &Node) -> Result<String, Fault> {
    let text = scalar::line(node)?;
    if !text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Err("must be visible ASCII characters on one line".into());
    }
    if product_token(&text).is_empty() {
        let fault = Fault::from("must begin with a name of letters, \"-\" and \"_\"");
        return Err(fault.hint("robots.txt speaks to crawlers by that name"));
    }
    Ok(text)
}

/// The letters, `-` and `_` that the text begins with (RFC 9309 section 2.2.1).
pub(super) fn product_token(user_agent: &str) -> &str {
    let part = |c: char| c.is_ascii_alphabetic() || c == '-' || c == '_';
    let end = user_agent
        .find(|c: char| !part(c))
        .unwrap_or(user_agent.len());
    &user_agent[..end]
}

fn proxy(node: &Node) -> Result<Url, Fault> {
    let text = scalar::line(node)?;
    let schemes: &[&str] = if cfg!(feature = "socks") {
        &["http", "https", "socks4", "socks4a", "socks5"]
    } else {
        &["http", "https"]
    };
    match Url::parse(&text) {
        Ok(url) if schemes.contains(&url.scheme()) && url.has_host() => Ok(url),
        // Never repeated: it may hold a password.
        _ => Err(format!("must be the URL of a proxy ({})", schemes.join(", ")).into()),
    }
}

fn show_proxy(url: &Url) -> String {
    let mut url = url.clone();
    if url.password().is_some() && url.set_password(Some(super::HIDDEN)).is_err() {
        return super::HIDDEN.to_owned();
    }
    quoted(&url)
}

/// `type/subtype`, `type/*` or `*/*` (RFC 9110 section 12.5.1).
fn media_range(node: &Node) -> Result<String, Fault> {
    let text = scalar::line(node)?.to_ascii_lowercase();
    let token = |part: &str| {
        let byte = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
        !part.is_empty() && part.bytes().all(byte)
    };
    match text.split_once('/') {
        Some(("*", "*")) => Ok(text),
        Some((kind, sub)) if token(kind) && (sub == "*" || token(sub)) => Ok(text),
        _ => Err("must be a media type such as \"text/html\" or \"text/*\"".into()),
    }
}

/// `[traps]`.
pub(super) fn traps(root: &mut Table, report: &mut Report) -> TrapSettings {
    let mut section = report.section(root, "traps");
    let defaults = TrapSettings::default();
    let mut cap = |key, default| {
        section.read(
            key,
            default,
            |node| scalar::optional(node, |node| scalar::integer(node, 1)),
            |cap: &Option<u32>| show_optional(cap.as_ref(), plain),
        )
    };
    let traps = TrapSettings {
        max_path_depth: cap("max_path_depth", defaults.max_path_depth),
        max_url_length: cap("max_url_length", defaults.max_url_length),
        max_repeats: cap("max_repeats", defaults.max_repeats),
        max_query_variants: cap("max_query_variants", defaults.max_query_variants),
    };
    section.finish();
    traps
}

/// `[output]`.
pub(super) fn output(root: &mut Table, report: &mut Report, place: &Place<'_>) -> OutputSettings {
    let mut section = report.section(root, "output");
    let stdout = OutputPath {
        folder: PathBuf::new(),
        name: "-".to_owned(),
    };
    let path = section.read("path", stdout, |node| output_path(node, place), show_output);
    let existing = section.read(
        "existing",
        Existing::default(),
        |node| scalar::choice(node, &EXISTING),
        |existing| scalar::show_word(existing, &EXISTING),
    );
    let fields = fields(&mut section);
    let log = side_output(&mut section, "log", place, &[&path]);
    let summary = match &log {
        Some(log) => side_output(&mut section, "summary", place, &[&path, log]),
        None => side_output(&mut section, "summary", place, &[&path]),
    };
    section.finish();
    OutputSettings {
        path,
        existing,
        fields,
        log,
        summary,
    }
}

const EXISTING: [(&str, Existing); 3] = [
    ("append", Existing::Append),
    ("replace", Existing::Replace),
    ("refuse", Existing::Refuse),
];

/// A file beside the records: never standard output, never another's file.
fn side_output(
    section: &mut Section<'_>,
    key: &'static str,
    place: &Place<'_>,
    others: &[&OutputPath],
) -> Option<OutputPath> {
    section.read(
        key,
        None,
        |node| {
            let path = output_path(node, place)?;
            if path.is_stdout() {
                return Err("must be a file: only records go to standard output".into());
            }
            if others.iter().any(|other| same_file(other, &path)) {
                return Err("is the file of another output".into());
            }
            Ok(Some(path))
        },
        |path| show_optional(path.as_ref(), show_output),
    )
}

/// Whether the names lead to one file as far as they are written out.
fn same_file(a: &OutputPath, b: &OutputPath) -> bool {
    let plain = |path: &OutputPath| -> PathBuf {
        let whole = path.folder.join(&path.name);
        let parts = whole.components();
        parts.filter(|part| *part != Component::CurDir).collect()
    };
    plain(a) == plain(b)
}

fn output_path(node: &Node, place: &Place<'_>) -> Result<OutputPath, Fault> {
    let name = scalar::line(node)?;
    if name.ends_with('/') {
        return Err("must be a file, not a folder".into());
    }
    let left = name.replace("{date}", "").replace("{pass}", "");
    if left.contains(['{', '}']) {
        return Err("may hold {date} and {pass}, and no other brace".into());
    }
    let path = OutputPath {
        folder: place.folder(node.origin).to_owned(),
        name,
    };
    let file = path.file(rfc3339::EPOCH, 1);
    if file.is_some_and(|file| file.is_dir()) {
        return Err("must be a file, not a folder".into());
    }
    Ok(path)
}

fn show_output(path: &OutputPath) -> String {
    quoted(&path.folder.join(&path.name).to_string_lossy())
}

fn fields(section: &mut Section<'_>) -> PageFields {
    const KEY: &str = "fields";
    let listed = section.list(KEY, PageFields::read_field, |field| quoted(field.name()));
    let Some(listed) = listed else {
        let fields = PageFields::default();
        section.entry(KEY, fields.to_string(), Origin::Default);
        return fields;
    };
    section.entry(KEY, listed.show(), listed.origin);
    if listed.items.is_empty() {
        section.fault(KEY, listed.origin, "must not be empty".into());
    }
    let mut fields = Vec::new();
    for (origin, field) in listed.items {
        if fields.contains(&field) {
            let fault = format!("{:?} is there twice", field.name());
            section.fault(KEY, origin, fault.into());
        } else {
            fields.push(field);
        }
    }
    PageFields::new(fields)
}

/// `[state]`.
pub(super) fn state(root: &mut Table, report: &mut Report, place: &Place<'_>) -> Option<PathBuf> {
    let there = root.entries.contains_key("state");
    let mut section = report.section(root, "state");
    let faults = section.report.problems.len();
    let dir = section.read(
        "dir",
        None,
        |node| {
            let path = place.path(node)?;
            if path.is_file() {
                return Err("must be a folder, not a file".into());
            }
            Ok(Some(path))
        },
        |path| show_optional(path.as_ref(), |path| quoted(&path.to_string_lossy())),
    );
    if there && dir.is_none() && section.report.problems.len() == faults {
        section.fault("dir", Origin::Default, "is missing".into());
    }
    section.finish();
    dir
}
