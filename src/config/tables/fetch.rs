//! `[robots]`, `[fetch]` and `[traps]`: how a URL is fetched, and which are not.

use std::time::Duration;

use url::Url;

use super::{Place, bounded, list, missing};
use crate::config::document::{Node, Table};
use crate::config::scalar::{self, plain, quoted, show_optional};
use crate::config::section::{Fault, Report};
use crate::config::{FetchSettings, HIDDEN, RobotsSettings, TrapSettings, units};
use crate::policy::Policy;

/// The longest time for a whole request.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest body, in decoded bytes: pages are far below it.
const DEFAULT_MAX_BODY: u64 = 10 << 20;
/// Bodies that hold links and titles.
const DEFAULT_ACCEPT: [&str; 2] = ["text/html", "application/xhtml+xml"];

/// The `User-Agent` when nobody sets one.
#[must_use]
pub fn default_user_agent() -> String {
    concat!("canter/", env!("CARGO_PKG_VERSION")).to_owned()
}

/// `[robots]`.
pub(in crate::config) fn robots(root: &mut Table, report: &mut Report) -> RobotsSettings {
    let mut section = report.section(root, "robots");
    let defaults = RobotsSettings::default();
    let mut read = |key, default| section.read(key, default, scalar::boolean, plain);
    let robots = RobotsSettings {
        obey: read("obey", defaults.obey),
        nofollow: read("nofollow", defaults.nofollow),
        noindex: read("noindex", defaults.noindex),
    };
    section.finish();
    robots
}

/// `[fetch]`. Redirects are the policy's, since the crawler follows them.
pub(in crate::config) fn fetch(
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
pub(in crate::config) fn product_token(user_agent: &str) -> &str {
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
    if url.password().is_some() && url.set_password(Some(HIDDEN)).is_err() {
        return HIDDEN.to_owned();
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
pub(in crate::config) fn traps(root: &mut Table, report: &mut Report) -> TrapSettings {
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
