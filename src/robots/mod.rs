//! [`Robots`]: what a site's robots.txt allows whom (RFC 9309).
//!
//! Reading never fails: a line that cannot be read costs at most itself, and a
//! file without readable rules allows everything.
//!
//! Where the RFC leaves a choice:
//! - Lines of other kinds, `Crawl-delay` and `Sitemap` among them, do not part
//!   two `User-agent` lines (section 2.2.4), nor do blank lines: both agents
//!   share the rules that follow, and a `Crawl-delay` before the second line is
//!   for both. Of several delays for one agent the longest counts.
//! - A `User-agent` value is cut at the first character that no product token
//!   has, so `examplebot/2.1` names `examplebot`. A value that names nobody
//!   still starts a group of its own, which applies to nobody.
//! - A rule whose value starts with neither `/` nor `*` matches nothing, and a
//!   colon may be missing where the line has two words.

mod line;
mod pattern;
mod rules;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use url::{Position, Url};

use crate::http::{Sniffed, sniff};
use line::{Field, Lines, is_line_end, leading_token};
use rules::ROBOTS_PATH;
pub use rules::Rules;

/// How much of a robots.txt is read, in bytes. RFC 9309 section 2.5 asks for at
/// least 500 KiB; the rest of a longer file is left out.
pub const MAX_BODY: usize = 512 * 1024;

/// A parsed robots.txt. The default allows everything. Cloning is cheap.
///
/// Agents are given as product tokens; a whole `User-Agent` value is reduced to
/// its token by [`product_token`] first.
///
/// ```
/// use canter::Url;
/// use canter::robots::Robots;
///
/// let robots = Robots::parse(b"User-agent: examplebot\nDisallow: /jobs/\nCrawl-delay: 2.5\n");
/// let url = Url::parse("https://example.com/jobs/1")?;
/// assert!(!robots.allows("ExampleBot/2.1", &url));
/// assert!(robots.allows("otherbot", &url));
/// assert_eq!(robots.crawl_delay("examplebot").unwrap().as_secs_f64(), 2.5);
///
/// let decision = robots.decide("examplebot", &url);
/// assert_eq!(decision.line, Some((2, "Disallow: /jobs/".to_owned())));
/// # Ok::<(), url::ParseError>(())
/// ```
#[derive(Clone, Default)]
pub struct Robots {
    file: Arc<File>,
}

/// Why a URL may or may not be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// Whether it may be fetched.
    pub allowed: bool,
    /// The line that decided: its number (the first is 1) and its text as it is
    /// written. `None` when no rule matches, and for `/robots.txt` itself.
    pub line: Option<(usize, String)>,
    /// The agent, as the file spells it, whose rules apply; `*` for everybody
    /// else's, `None` when the file has no rules for this agent.
    pub group: Option<String>,
}

#[derive(Default)]
struct File {
    /// The text that was read, as UTF-8 or as it came; lines are parts of it.
    text: Box<[u8]>,
    /// Canonical patterns, one after the other.
    patterns: Box<str>,
    agents: Box<[Box<str>]>,
    groups: Box<[Group]>,
    rules: Box<[Rule]>,
    sitemaps: Box<[String]>,
    truncated: bool,
    looks_like_html: bool,
}

struct Group {
    /// Its named agents, in [`File::agents`].
    agents: Range<u32>,
    any_agent: bool,
    rules: Range<u32>,
    crawl_delay: Option<Duration>,
}

struct Rule {
    allow: bool,
    pattern: Range<u32>,
    line: Range<u32>,
    number: u32,
}

fn span(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}

impl File {
    fn pattern(&self, rule: &Rule) -> &str {
        &self.patterns[span(&rule.pattern)]
    }

    fn agents_of(&self, group: &Group) -> impl Iterator<Item = &str> {
        self.agents[span(&group.agents)].iter().map(AsRef::as_ref)
    }

    /// The groups that apply: all that name the agent, else all for `*`
    /// (RFC 9309 section 2.2.1).
    fn groups_for<'a>(&'a self, token: &'a str) -> impl Iterator<Item = &'a Group> + Clone {
        let names = move |group: &Group| {
            self.agents_of(group)
                .any(|agent| agent.eq_ignore_ascii_case(token))
        };
        let is_named = !token.is_empty() && self.groups.iter().any(names);
        self.groups.iter().filter(move |group| {
            if is_named {
                names(group)
            } else {
                group.any_agent
            }
        })
    }

    fn rules_of(&self, group: &Group) -> &[Rule] {
        &self.rules[span(&group.rules)]
    }

    fn crawl_delay(&self, token: &str) -> Option<Duration> {
        self.groups_for(token)
            .filter_map(|group| group.crawl_delay)
            .max()
    }

    /// The rule that decides: the longest match, `Allow` before `Disallow`, and
    /// of two alike the first.
    fn deciding(&self, token: &str, path: &str) -> Option<&Rule> {
        let path = pattern::canonical_path(path);
        let mut best: Option<(&Rule, (usize, bool))> = None;
        for rule in self
            .groups_for(token)
            .flat_map(|group| self.rules_of(group))
        {
            let text = self.pattern(rule);
            let weight = (text.len(), rule.allow);
            if best.is_none_or(|(_, heaviest)| weight > heaviest) && pattern::matches(text, &path) {
                best = Some((rule, weight));
            }
        }
        best.map(|(rule, _)| rule)
    }
}

/// Where the bytes that are read of a longer file end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// They are the whole file.
    Nowhere,
    AtLineEnd,
    Anywhere,
}

impl Robots {
    /// Reads a robots.txt: its first [`MAX_BODY`] bytes, less the line that the
    /// cut falls in.
    ///
    /// UTF-8, with or without byte order mark, and bytes in other encodings that
    /// extend ASCII are compared as they are. UTF-16 is decoded if it has a byte
    /// order mark or starts with two ASCII characters.
    #[must_use]
    pub fn parse(body: &[u8]) -> Robots {
        match body.get(MAX_BODY) {
            None => Robots::read(body, Cut::Nowhere),
            Some(&next) if is_line_end(next) => Robots::read(&body[..MAX_BODY], Cut::AtLineEnd),
            Some(_) => Robots::read(&body[..MAX_BODY], Cut::Anywhere),
        }
    }

    /// Reads the start of a longer robots.txt: a last line without line end is
    /// torn and left out.
    #[must_use]
    pub fn parse_truncated(body: &[u8]) -> Robots {
        Robots::read(&body[..body.len().min(MAX_BODY)], Cut::Anywhere)
    }

    fn read(body: &[u8], cut: Cut) -> Robots {
        let mut text = to_ascii_compatible(body);
        if cut == Cut::Anywhere {
            let end = text
                .iter()
                .rposition(|&b| is_line_end(b))
                .map_or(0, |at| at + 1);
            match &mut text {
                Cow::Borrowed(text) => *text = &text[..end],
                Cow::Owned(text) => text.truncate(end),
            }
        }
        let mut reading = Reading::default();
        for (number, range) in Lines::new(&text) {
            reading.line(&text, number, range);
        }
        let mut file = reading.finish();
        file.truncated = cut != Cut::Nowhere;
        file.looks_like_html =
            file.groups.is_empty() && matches!(sniff(&text), Sniffed::Html | Sniffed::Xml);
        if !file.groups.is_empty() {
            file.text = text.into();
        }
        Robots {
            file: Arc::new(file),
        }
    }

    /// Whether the agent may fetch the URL. Only its path and query are looked
    /// at. `/robots.txt` always may be fetched.
    #[must_use]
    pub fn allows(&self, agent: &str, url: &Url) -> bool {
        let path = path_and_query(url);
        path == ROBOTS_PATH
            || self
                .file
                .deciding(product_token(agent), path)
                .is_none_or(|rule| rule.allow)
    }

    /// Whether the agent may fetch the URL, and which line says so.
    #[must_use]
    pub fn decide(&self, agent: &str, url: &Url) -> Decision {
        let file = &*self.file;
        let token = product_token(agent);
        let path = path_and_query(url);
        let rule = (path != ROBOTS_PATH)
            .then(|| file.deciding(token, path))
            .flatten();
        let group = file.groups_for(token).next().map(|group| {
            file.agents_of(group)
                .find(|agent| agent.eq_ignore_ascii_case(token))
                .unwrap_or("*")
                .to_owned()
        });
        Decision {
            allowed: rule.is_none_or(|rule| rule.allow),
            line: rule.map(|rule| {
                let text = String::from_utf8_lossy(&file.text[span(&rule.line)]);
                (rule.number as usize, text.into_owned())
            }),
            group,
        }
    }

    /// The rules that apply to the agent, merged once for many questions.
    #[must_use]
    pub fn rules_for(&self, agent: &str) -> Rules {
        let file = &*self.file;
        let token = product_token(agent);
        Rules::new(
            file.groups_for(token)
                .flat_map(|group| file.rules_of(group))
                .map(|rule| (file.pattern(rule), rule.allow)),
            file.crawl_delay(token),
        )
    }

    /// The gap between two requests that the file asks the agent for, the
    /// longest if there are several. Not part of RFC 9309; a value that is no
    /// number of zero or more seconds is ignored, one of any size is kept.
    #[must_use]
    pub fn crawl_delay(&self, agent: &str) -> Option<Duration> {
        self.file.crawl_delay(product_token(agent))
    }

    /// Every `Sitemap` value in order, whatever group it stands in, as it is
    /// written: it may be relative (RFC 9309 section 2.2.4; sitemaps.org).
    #[must_use]
    pub fn sitemaps(&self) -> &[String] {
        &self.file.sitemaps
    }

    /// Whether the body is a page of markup without a single group: an error
    /// page, most likely, and no robots.txt.
    #[must_use]
    pub fn looks_like_html(&self) -> bool {
        self.file.looks_like_html
    }

    /// Whether the file was longer than what was read.
    #[must_use]
    pub fn truncated(&self) -> bool {
        self.file.truncated
    }
}

impl fmt::Debug for Robots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Robots")
            .field("groups", &self.file.groups.len())
            .field("rules", &self.file.rules.len())
            .field("sitemaps", &self.file.sitemaps)
            .field("truncated", &self.file.truncated)
            .field("looks_like_html", &self.file.looks_like_html)
            .finish()
    }
}

/// The product token of a `User-Agent` value (RFC 9309 section 2.2.1, RFC 9110
/// section 10.1.5): its first product without version, or the product named
/// after `compatible;` when it poses as a browser. Empty when there is none.
///
/// ```
/// use canter::robots::product_token;
/// assert_eq!(product_token("ExampleBot/2.1 (+https://example.com/bot)"), "ExampleBot");
/// assert_eq!(product_token("Mozilla/5.0 (compatible; ExampleBot/0.1; +https://example.com)"), "ExampleBot");
/// ```
#[must_use]
pub fn product_token(user_agent: &str) -> &str {
    const POSE: &str = "Mozilla";
    const MARK: &str = "compatible;";
    let first = leading_token(user_agent.trim_start().as_bytes());
    if first.eq_ignore_ascii_case(POSE)
        && let Some((_, rest)) = user_agent.split_once(MARK)
    {
        let named = leading_token(rest.trim_start().as_bytes());
        if !named.is_empty() {
            return named;
        }
    }
    first
}

fn path_and_query(url: &Url) -> &str {
    &url[Position::BeforePath..Position::AfterQuery]
}

/// The text in an encoding that extends ASCII, without byte order mark.
fn to_ascii_compatible(body: &[u8]) -> Cow<'_, [u8]> {
    let (encoding, mark) = match Encoding::for_bom(body) {
        Some(found) => found,
        None => match body {
            [1..=0x7F, 0, 1..=0x7F, 0, ..] => (UTF_16LE, 0),
            [0, 1..=0x7F, 0, 1..=0x7F, ..] => (UTF_16BE, 0),
            _ => (UTF_8, 0),
        },
    };
    let body = &body[mark..];
    if encoding == UTF_8 {
        return Cow::Borrowed(body);
    }
    let (text, _) = encoding.decode_without_bom_handling(body);
    Cow::Owned(text.into_owned().into_bytes())
}

/// A file while its lines are read.
#[derive(Default)]
struct Reading {
    patterns: String,
    agents: Vec<Box<str>>,
    groups: Vec<Group>,
    rules: Vec<Rule>,
    sitemaps: Vec<String>,
    /// Whether the next agent line starts a group.
    group_ended: bool,
}

impl Reading {
    fn line(&mut self, text: &[u8], number: u32, range: Range<usize>) {
        match Field::read(&text[range.clone()]) {
            None | Some(Field::Sitemap(b"")) => {}
            Some(Field::AnyAgent) => self.group().any_agent = true,
            Some(Field::Agent(token)) => {
                self.group();
                if !token.is_empty() {
                    self.agents.push(token.into());
                    self.group().agents.end += 1;
                }
            }
            Some(Field::Allow(value)) => self.rule(true, value, number, range),
            Some(Field::Disallow(value)) => self.rule(false, value, number, range),
            Some(Field::CrawlDelay(value)) => {
                if let Some(group) = self.groups.last_mut() {
                    group.crawl_delay = group.crawl_delay.max(seconds(value));
                }
            }
            Some(Field::Sitemap(value)) => {
                let value = String::from_utf8_lossy(value).into_owned();
                self.sitemaps.push(value);
            }
        }
    }

    /// The group that an agent line belongs to.
    fn group(&mut self) -> &mut Group {
        if self.groups.is_empty() || self.group_ended {
            self.group_ended = false;
            let (agents, rules) = (self.agents.len() as u32, self.rules.len() as u32);
            self.groups.push(Group {
                agents: agents..agents,
                any_agent: false,
                rules: rules..rules,
                crawl_delay: None,
            });
        }
        let last = self.groups.len() - 1;
        &mut self.groups[last]
    }

    fn rule(&mut self, allow: bool, value: &[u8], number: u32, line: Range<usize>) {
        let Some(group) = self.groups.last_mut() else {
            return;
        };
        self.group_ended = true;
        let start = self.patterns.len() as u32;
        if pattern::push_pattern(value, &mut self.patterns) {
            self.rules.push(Rule {
                allow,
                pattern: start..self.patterns.len() as u32,
                line: line.start as u32..line.end as u32,
                number,
            });
            group.rules.end += 1;
        }
    }

    fn finish(self) -> File {
        File {
            patterns: self.patterns.into(),
            agents: self.agents.into(),
            groups: self.groups.into(),
            rules: self.rules.into(),
            sitemaps: self.sitemaps.into(),
            ..File::default()
        }
    }
}

/// A number of seconds, zero or more; one too large for the type is cut down.
fn seconds(value: &[u8]) -> Option<Duration> {
    let seconds: f64 = std::str::from_utf8(value).ok()?.parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0)
        .then(|| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}
