//! `canter robots`: whether a URL may be fetched, and which line of robots.txt
//! says so. Keeps: it judges as a crawl does, with the same reader and rules.

use std::fmt::Write as _;
use std::time::SystemTime;

use super::args::Given;
use super::asker::{Asked, Asker};
use super::exit::Exit;
use super::term::sanitize;
use super::{complain, print};
use crate::Url;
use crate::config::show_duration;
use crate::crawler::RobotsFile;
use crate::error::Error;
use crate::request::{Method, Request};
use crate::robots::Robots;
use crate::uri;

/// Judges one URL.
pub(super) fn robots(given: &Given) -> Exit {
    let (mut asker, url) = match Asker::new(given) {
        Ok(asker) => asker,
        Err(message) => {
            complain(&message);
            return Exit::Usage;
        }
    };
    let agent = asker.agent().to_owned();
    let Some(file) = uri::resolve(&url, "/robots.txt") else {
        complain(&format!("{url}: no robots.txt can be there"));
        return Exit::Usage;
    };
    let found = find(&mut asker, file);
    let report = Report { url, agent, found };
    let shown = print(&report.text());
    if shown == Exit::Complete && !report.allowed() {
        // As a crawl ends that has nothing it may fetch.
        return Exit::Nothing;
    }
    shown
}

/// A site's robots.txt, and where it was looked for.
pub(super) struct Found {
    /// The URL that answered, or did not.
    at: Url,
    /// Status of the answer, if one came.
    status: Option<u16>,
    pub(super) rules: Rules,
}

pub(super) enum Rules {
    /// Those of a file.
    File(Robots, Option<&'static str>),
    /// There is no file.
    None,
    /// Nobody can tell now.
    Unknown(Error),
}

/// Asks for the file, wherever it is.
pub(super) fn find(asker: &mut Asker, url: Url) -> Found {
    let mut request = RobotsFile::asked_for(Request::new(Method::Get, url));
    loop {
        let mut status = None;
        let read = asker.ask(&request).and_then(|asked| match asked {
            Asked::Answer(response) => {
                status = Some(response.status());
                RobotsFile::read(&request, &response, SystemTime::now())
            }
            Asked::Bound => Err(Error::invalid(
                "a bound does not let robots.txt be asked for",
            )),
        });
        let rules = match read {
            Ok(RobotsFile::Elsewhere(next)) => {
                request = RobotsFile::asked_for(next);
                continue;
            }
            Ok(RobotsFile::There { robots, note }) => Rules::File(robots, note),
            Ok(RobotsFile::Absent) => Rules::None,
            Err(error) => Rules::Unknown(error),
        };
        return Found {
            at: request.url().clone(),
            status,
            rules,
        };
    }
}

/// What is to be told.
struct Report {
    url: Url,
    agent: String,
    found: Found,
}

impl Report {
    fn allowed(&self) -> bool {
        match &self.found.rules {
            Rules::File(robots, _) => robots.allows(&self.agent, &self.url),
            Rules::None => true,
            Rules::Unknown(_) => false,
        }
    }

    fn text(&self) -> String {
        let mut out = String::new();
        let verdict = if self.allowed() { "may" } else { "may not" };
        let url = uri::without_credentials(&self.url);
        let _ = writeln!(out, "{} {verdict} fetch {url}", named(&self.agent));
        let mut line = |name: &str, value: &str| {
            let _ = writeln!(out, "  {name:12}{}", sanitize(value));
        };
        let at = uri::without_credentials(&self.found.at);
        let status = self
            .found
            .status
            .map_or(String::new(), |status| format!(" (status {status})"));
        line("robots.txt", &format!("{at}{status}"));
        match &self.found.rules {
            Rules::None => line("rules", "there is no robots.txt: everything is allowed"),
            Rules::Unknown(error) => {
                line(
                    "rules",
                    "unknown: everything is forbidden until it can be read",
                );
                line("failure", &error.to_string());
            }
            Rules::File(robots, note) => {
                let decision = robots.decide(&self.agent, &self.url);
                line(
                    "group",
                    match decision.group.as_deref() {
                        None => "none: the file has no rules for it",
                        Some("*") => "* (everybody else's)",
                        Some(name) => name,
                    },
                );
                match &decision.line {
                    Some((number, text)) => line("decided by", &format!("line {number}: {text}")),
                    None if self.url.path() == "/robots.txt" => {
                        line("decided by", "robots.txt itself may always be fetched");
                    }
                    None => line("decided by", "no line: what no rule matches is allowed"),
                }
                if let Some(delay) = robots.crawl_delay(&self.agent) {
                    line("crawl delay", &show_duration(delay));
                }
                for sitemap in robots.sitemaps() {
                    line("sitemap", sitemap);
                }
                if let Some(note) = note {
                    line("warning", note);
                }
            }
        }
        out
    }
}

/// The agent in a sentence. Without a product token nobody is spoken to but by
/// the rules for all.
fn named(agent: &str) -> &str {
    if agent.is_empty() {
        "a nameless agent"
    } else {
        agent
    }
}
