//! `canter init`: a configuration to begin with, commented, with what the site
//! itself says. Keeps: what is written is a valid configuration, whatever the
//! site answers; a file that is there stays as it is.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use super::args::Given;
use super::asker::{Asked, Asker};
use super::exit::Exit;
use super::robots::{Found, Rules, find};
use super::term::sanitize;
use super::{advise, complain, print};
use crate::Url;
use crate::config::{json, show_duration};
use crate::request::{Method, Request};
use crate::uri;

/// Requests in all: a robots.txt and a page on two hosts, and redirects.
const MAX_REQUESTS: &str = "8";
/// How long the site has for all its answers, and for one.
const DEADLINE: &str = "40s";
const TIMEOUT: &str = "15s";
/// The longest delay between two requests that is waited out; a site that asks
/// for more is not asked for the page.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Starts a minute without a Crawl-delay.
const USUAL_RATE: u64 = 60;
/// What the seed is when none is given.
const PLACEHOLDER: &str = "https://example.com/";
/// Sitemaps that are named in the comments.
const NAMED_SITEMAPS: usize = 5;
/// Characters of a remark that came from the site.
const MAX_REMARK: usize = 200;

/// What is known of the site.
#[derive(Debug, Default)]
struct Hints {
    /// Where the crawl begins; `None` for a placeholder.
    seed: Option<Url>,
    /// The sitemaps that robots.txt names.
    sitemaps: Vec<String>,
    /// The delay that robots.txt asks for.
    crawl_delay: Option<Duration>,
    /// What else people should know, a comment each.
    remarks: Vec<String>,
}

/// Writes a configuration.
pub(super) fn init(mut given: Given, output: Option<&Path>) -> Exit {
    if let Some(path) = output
        && path.exists()
    {
        return refuse(path, &io::ErrorKind::AlreadyExists.into());
    }
    let hints = if given.urls.is_empty() {
        Hints::default()
    } else {
        for (key, value) in [
            ("policy.max_requests", MAX_REQUESTS),
            ("policy.deadline", DEADLINE),
            ("fetch.timeout", TIMEOUT),
        ] {
            given.settings.push(("canter init", key, value.to_owned()));
        }
        let (asker, url) = match Asker::new(&given) {
            Ok(asker) => asker,
            Err(message) => {
                complain(&message);
                return Exit::Usage;
            }
        };
        ask(asker, url)
    };
    for remark in &hints.remarks {
        advise(remark);
    }
    let text = configuration(&hints);
    match output {
        None => print(&text),
        Some(path) => match write_new(path, &text) {
            Ok(()) => Exit::Complete,
            Err(error) => refuse(path, &error),
        },
    }
}

fn refuse(path: &Path, error: &io::Error) -> Exit {
    let path = path.display();
    if error.kind() == io::ErrorKind::AlreadyExists {
        complain(&format!(
            "{path} is there already, and stays as it is; name another"
        ));
        // As a run ends whose outputs must not be there (`existing = "refuse"`).
        return Exit::Usage;
    }
    complain(&format!("{path} cannot be written: {error}"));
    Exit::Failure
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Asks the site: its robots.txt, and the page if that allows it. A redirect to
/// another host is asked about there.
fn ask(mut asker: Asker, url: Url) -> Hints {
    let mut hints = Hints {
        seed: Some(url.clone()),
        ..Hints::default()
    };
    let mut request = Request::new(Method::Get, url);
    let mut known: Option<(String, Found)> = None;
    loop {
        let url = request.url().clone();
        let origin = uri::origin(&url);
        let found = match known.take() {
            Some((of, found)) if of == origin => found,
            _ => match uri::resolve(&url, "/robots.txt") {
                Some(file) => find(&mut asker, file),
                None => return hints,
            },
        };
        hints.seed = Some(url.clone());
        hints.take_in(&found, asker.agent(), &url);
        if !hints.may_ask(&found, asker.agent(), &url) {
            return hints;
        }
        asker.slow_down(hints.crawl_delay.unwrap_or_default());
        known = Some((origin, found));
        let response = match asker.ask(&request) {
            Ok(Asked::Answer(response)) => response,
            Ok(Asked::Bound) => {
                hints.remark(format!(
                    "{} was not asked: enough was asked already",
                    shown(&url)
                ));
                return hints;
            }
            Err(error) => {
                hints.remark(format!("{} did not answer: {error}", shown(&url)));
                return hints;
            }
        };
        if !response.is_redirect() {
            if response.status() >= 400 {
                let status = response.status();
                hints.remark(format!("{} answers with status {status}", shown(&url)));
            }
            return hints;
        }
        match asker.next_hop(&request, &response) {
            Ok(next) => {
                let (from, to) = (shown(&url), shown(next.url()));
                hints.remark(format!("{from} leads to {to}"));
                request = next;
            }
            Err(error) => {
                hints.remark(format!("{}: {error}", shown(&url)));
                return hints;
            }
        }
    }
}

fn shown(url: &Url) -> String {
    uri::without_credentials(url).to_string()
}

impl Hints {
    /// What a robots.txt says about the crawl. That of the host that a redirect
    /// leads to counts instead of the one before.
    fn take_in(&mut self, found: &Found, agent: &str, url: &Url) {
        match &found.rules {
            Rules::File(robots, note) => {
                self.sitemaps = robots.sitemaps().to_vec();
                self.crawl_delay = robots.crawl_delay(agent);
                if let Some(note) = note {
                    self.remark(format!("robots.txt: {note}"));
                }
            }
            Rules::None => {
                self.sitemaps.clear();
                self.crawl_delay = None;
            }
            Rules::Unknown(error) => {
                let origin = uri::origin(url);
                self.remark(format!(
                    "the robots.txt of {origin} cannot be read now, so nothing was asked further: \
                     {error}"
                ));
            }
        }
    }

    /// Whether the page itself may be asked for.
    fn may_ask(&mut self, found: &Found, agent: &str, url: &Url) -> bool {
        if let Rules::File(robots, _) = &found.rules {
            let decision = robots.decide(agent, url);
            if !decision.allowed {
                let line = decision.line.map_or(String::new(), |(number, text)| {
                    format!(" (line {number}: {text})")
                });
                self.remark(format!("robots.txt forbids {}{line}", shown(url)));
                return false;
            }
        }
        if let Some(delay) = self.crawl_delay.filter(|delay| *delay > LONGEST_WAIT) {
            let delay = show_duration(delay);
            self.remark(format!(
                "robots.txt asks for {delay} between two requests, so the page was not asked for"
            ));
            return false;
        }
        !matches!(found.rules, Rules::Unknown(_))
    }

    /// Notes what people should know, on one line and without what a terminal
    /// or a comment could not hold.
    fn remark(&mut self, text: String) {
        self.remarks.push(one_line(&text));
    }
}

fn one_line(text: &str) -> String {
    let text = sanitize(text);
    let mut chars = text.chars();
    let mut line: String = chars.by_ref().take(MAX_REMARK).collect();
    if chars.next().is_some() {
        line.push_str("..");
    }
    line
}

/// A TOML string (TOML 1.0, "String"); what JSON escapes means the same there.
fn quoted(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    json::string(text, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// The configuration.
fn configuration(hints: &Hints) -> String {
    let mut out = String::from(
        "# A crawl by Canter. Paths are relative to this file.\n\
         #\n\
         #     canter check FILE    what is in effect, and how long it takes at least\n\
         #     canter run FILE      runs it; run again, it goes on where it ended\n\
         #     canter status FILE   what is done and what is left\n\
         #     canter report FILE   a page with plots of the last run\n",
    );
    if !hints.remarks.is_empty() {
        out.push_str("#\n# When this file was made:\n");
        for remark in &hints.remarks {
            let _ = writeln!(out, "# - {remark}");
        }
    }
    crawl(&mut out, hints);
    policy(&mut out, hints);
    out.push_str(REST);
    out
}

fn crawl(out: &mut String, hints: &Hints) {
    out.push_str("\n[crawl]\n# Where it begins.");
    let seed = if let Some(url) = &hints.seed {
        shown(url)
    } else {
        out.push_str(" Put your own here.");
        PLACEHOLDER.to_owned()
    };
    let _ = write!(
        out,
        "\nseeds = [{}]\n# Follow links, but no more than so many from a seed.\nfollow = true\n\
         max_depth = 20\n",
        quoted(&seed)
    );
    if hints.sitemaps.is_empty() {
        out.push_str(
            "# Also read the sitemaps that robots.txt names, and /sitemap.xml.\n\
             # sitemaps = true\n",
        );
    } else {
        out.push_str("# Also read the sitemaps that robots.txt names:\n");
        for sitemap in hints.sitemaps.iter().take(NAMED_SITEMAPS) {
            let _ = writeln!(out, "#   {}", one_line(sitemap));
        }
        if let Some(more) = hints
            .sitemaps
            .len()
            .checked_sub(NAMED_SITEMAPS)
            .filter(|n| *n > 0)
        {
            let _ = writeln!(out, "#   and {more} more");
        }
        out.push_str("sitemaps = true\n");
    }
    out.push_str(
        "# When a finished crawl is run again: how old a page must be to be asked for again.\n\
         # revisit = \"1d\"\n\
         \n\
         [scope]\n\
         # Which hosts it may visit; without this those of the seeds.\n",
    );
    let host = hints.seed.as_ref().map_or("example.com".to_owned(), |url| {
        uri::host_key(url).into_owned()
    });
    let _ = write!(
        out,
        "# hosts = [{}]\n\
         # Which paths, and which not.\n\
         # include = [\"/docs/**\"]\n\
         # exclude = [\"/search**\"]\n\
         # Query parameters that make no difference. Without this those that sites call\n\
         # their sessions, such as \"phpsessid\" and \"sid\"; a list of your own replaces them.\n\
         # drop_params = [\"utm_*\", \"phpsessid\", \"sid\"]\n",
        quoted(&host)
    );
}

fn policy(out: &mut String, hints: &Hints) {
    out.push_str(
        "\n[policy]\n\
         # The most requests that start in a minute, of whatever kind, on all hosts together.\n",
    );
    let delay = hints.crawl_delay.filter(|delay| !delay.is_zero());
    // A crawl of one host cannot be faster than that host's delay.
    let by_delay = delay.map_or(u64::MAX, |delay| (60.0 / delay.as_secs_f64()).ceil() as u64);
    let rate = USUAL_RATE.min(by_delay).max(1);
    let _ = writeln!(out, "max_requests_per_minute = {rate}");
    out.push_str("# The least gap between two requests to one host.");
    match delay {
        Some(delay) => {
            let delay = show_duration(delay);
            let _ = write!(
                out,
                " robots.txt asks for {delay},\n# and is obeyed whatever stands here.\n\
                 host_delay = {}\n",
                quoted(&delay)
            );
        }
        None => out.push_str("\nhost_delay = \"1s\"\n"),
    }
    out.push_str(
        "# Requests in flight: in all, and on one host.\n\
         concurrency = 4\n\
         host_concurrency = 2\n\
         # How long a run may take, and how many requests it may send; the rest waits for the\n\
         # next run.\n\
         # deadline = \"1h\"\n\
         # max_requests = 10000\n",
    );
}

/// What no site has a say in.
const REST: &str = r#"
[fetch]
# Say who you are, and where you can be reached.
# user_agent = "examplebot/1.0 (+https://example.com/bot)"
# How long one request may take, and how long a body may be.
timeout = "30s"
max_body = "10 MiB"

[output]
# One line of JSON for each page.
path = "pages.jsonl"
# What happens to a file that is there: "append", "replace" or "refuse".
existing = "append"
# One line for each URL that ended, and how.
log = "log.jsonl"
# The totals of a run.
summary = "summary.json"
# For Prometheus, by the textfile collector of the node exporter.
# metrics = "canter.prom"

[state]
# What is kept between runs.
dir = "state"
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Sitemaps, Source};

    #[test]
    fn it_is_valid_without_a_site() {
        let text = configuration(&Hints::default());
        let settings = Source::text(&text)
            .read()
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(settings.crawl.seeds[0].as_str(), PLACEHOLDER);
        assert_eq!(settings.policy.max_requests_per_minute, Some(60.0));
        assert_eq!(settings.policy.host_delay, Duration::from_secs(1));
        assert!(settings.state.is_some() && settings.output.log.is_some());
        // What is commented out is as valid.
        let all: String = text
            .lines()
            .map(|line| match line.strip_prefix("# ") {
                Some(rest) if rest.contains(" = ") => format!("{rest}\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        let settings = Source::text(&all)
            .read()
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(settings.fetch.product_token(), "examplebot");
        assert_eq!(settings.crawl.sitemaps, Sitemaps::Discover);
        assert!(settings.output.metrics.is_some());
    }

    #[test]
    fn it_is_valid_whatever_the_site_says() {
        let hostile = "\"\n]\n[policy]\nconcurrency = 1000\n#\u{0}\u{1b}[2J\u{202e}\\".repeat(40);
        let mut hints = Hints {
            seed: Url::parse("http://a.test/%22%0A?\"'x'\\").ok(),
            sitemaps: vec![hostile.clone(); 9],
            crawl_delay: Some(Duration::from_millis(2_500)),
            ..Hints::default()
        };
        hints.remark(hostile);
        let text = configuration(&hints);
        let settings = Source::text(&text)
            .read()
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            settings.crawl.seeds,
            hints.seed.into_iter().collect::<Vec<_>>()
        );
        assert_eq!(settings.crawl.sitemaps, Sitemaps::Discover);
        assert_eq!(settings.policy.concurrency, 4);
        assert_eq!(settings.policy.host_delay, Duration::from_millis(2_500));
        assert_eq!(settings.policy.max_requests_per_minute, Some(24.0));
        assert!(text.contains("and 4 more"));
    }

    #[test]
    fn a_delay_of_hours_and_one_of_nothing_are_valid_too() {
        for delay in [
            Duration::ZERO,
            Duration::from_millis(1),
            Duration::from_secs(86_400),
        ] {
            let hints = Hints {
                crawl_delay: Some(delay),
                ..Hints::default()
            };
            let text = configuration(&hints);
            Source::text(&text)
                .read()
                .unwrap_or_else(|error| panic!("{delay:?}: {error}"));
        }
    }
}
