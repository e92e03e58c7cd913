//! [`RobotsDirectives`] and the refresh pragma: instructions to whoever reads
//! the page, from header fields and `meta` elements.

use std::ops::BitOr;

/// What a page asks crawlers not to do with it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RobotsDirectives {
    /// Not to record the page.
    pub noindex: bool,
    /// Not to follow its links.
    pub nofollow: bool,
}

impl BitOr for RobotsDirectives {
    type Output = RobotsDirectives;

    /// What either asks for.
    fn bitor(self, other: RobotsDirectives) -> RobotsDirectives {
        RobotsDirectives {
            noindex: self.noindex || other.noindex,
            nofollow: self.nofollow || other.nofollow,
        }
    }
}

/// Rules that have a value of their own after a colon, and so are no agent.
const RULES_WITH_VALUE: [&str; 4] = [
    "unavailable_after",
    "max-snippet",
    "max-image-preview",
    "max-video-preview",
];

/// Reads the value of an `X-Robots-Tag` field or of `meta name=robots`:
/// `noindex`, `nofollow` and `none` (both), in any case and with any other
/// rules between them.
///
/// In a header field `agent:` makes what follows hold for that crawler only;
/// `agent` is our product token, or a whole user-agent string that starts with
/// it. What is said to all and what is said to us add up. The rules are
/// Google's ("Robots meta tag, data-nosnippet, and X-Robots-Tag
/// specifications"); there is no standard.
///
/// ```
/// use canter::html::robots_directives;
/// let asked = robots_directives("otherbot: noindex, canter: NoFollow", "canter");
/// assert!(asked.nofollow && !asked.noindex);
/// assert!(robots_directives("none", "canter").noindex);
/// ```
#[must_use]
pub fn robots_directives(value: &str, agent: &str) -> RobotsDirectives {
    let agent = product_token(agent);
    let mut asked = RobotsDirectives::default();
    let mut to_us = true;
    for part in value.split([',', ';']) {
        let mut rule = part.trim();
        if let Some((name, rest)) = rule.split_once(':')
            && is_agent(name.trim())
        {
            let name = name.trim();
            to_us = name == "*" || name.eq_ignore_ascii_case(agent);
            rule = rest;
        }
        if to_us {
            asked = asked | rules(rule);
        }
    }
    asked
}

/// The rules of a list, whoever they are for.
fn rules(list: &str) -> RobotsDirectives {
    let has = |wanted: &str| {
        list.split(|c: char| c == ',' || c == ';' || c.is_ascii_whitespace())
            .any(|rule| rule.eq_ignore_ascii_case(wanted))
    };
    let none = has("none");
    RobotsDirectives {
        noindex: none || has("noindex"),
        nofollow: none || has("nofollow"),
    }
}

/// As [`robots_directives`], for the content of a `meta` element, where the
/// name says whom it is for.
pub(super) fn meta_directives(content: &[u8]) -> RobotsDirectives {
    rules(&String::from_utf8_lossy(content))
}

/// The product token (RFC 9309 section 2.2.1) that a user-agent string starts
/// with.
pub(super) fn product_token(agent: &str) -> &str {
    let agent = agent.trim_start();
    let end = agent.find(|c: char| c == '/' || c.is_ascii_whitespace());
    &agent[..end.unwrap_or(agent.len())]
}

fn is_agent(name: &str) -> bool {
    let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '*');
    !name.is_empty()
        && name.chars().all(letters)
        && !RULES_WITH_VALUE
            .iter()
            .any(|rule| rule.eq_ignore_ascii_case(name))
}

/// The target that the content of `meta http-equiv=refresh` names, if it is
/// valid and names one (WHATWG HTML section 4.2.5.3, "shared declarative
/// refresh steps").
pub(super) fn refresh_target(content: &[u8]) -> Option<&[u8]> {
    let rest = content.trim_ascii_start();
    let digits = count(rest, |byte| byte.is_ascii_digit());
    if digits == 0 && rest.first() != Some(&b'.') {
        return None;
    }
    let rest = &rest[count(rest, |byte| byte.is_ascii_digit() || byte == b'.')..];
    let rest = match rest {
        [b';' | b',', rest @ ..] => rest,
        [first, ..] if first.is_ascii_whitespace() => {
            let rest = rest.trim_ascii_start();
            rest.strip_prefix(b";")
                .or_else(|| rest.strip_prefix(b","))
                .unwrap_or(rest)
        }
        _ => return None,
    };
    let target = unquoted(after_url_equals(rest.trim_ascii_start()));
    (!target.is_empty()).then_some(target)
}

/// What follows `url=`. Without it, all of it.
fn after_url_equals(rest: &[u8]) -> &[u8] {
    match rest.get(..3) {
        Some(word) if word.eq_ignore_ascii_case(b"url") => rest[3..]
            .trim_ascii_start()
            .strip_prefix(b"=")
            .map_or(rest, <[u8]>::trim_ascii_start),
        _ => rest,
    }
}

fn unquoted(target: &[u8]) -> &[u8] {
    match target {
        [quote @ (b'"' | b'\''), rest @ ..] => {
            let end = rest.iter().position(|byte| byte == quote);
            &rest[..end.unwrap_or(rest.len())]
        }
        _ => target,
    }
}

fn count(bytes: &[u8], wanted: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|&&byte| wanted(byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(value: &str) -> (bool, bool) {
        let asked = robots_directives(value, "Canter/0.1 (+https://example.com/bot)");
        (asked.noindex, asked.nofollow)
    }

    #[test]
    fn rules_for_all_count_in_any_case_and_order() {
        assert_eq!(asked("noindex"), (true, false));
        assert_eq!(asked(" NOFOLLOW , max-snippet:-1"), (false, true));
        assert_eq!(asked("None"), (true, true));
        assert_eq!(asked("noindex nofollow"), (true, true));
        assert_eq!(asked("index, follow, all, nofollowing"), (false, false));
        assert_eq!(asked(""), (false, false));
    }

    #[test]
    fn rules_for_another_agent_are_not_ours() {
        assert_eq!(asked("otherbot: noindex, nofollow"), (false, false));
        assert_eq!(asked("canter: noindex"), (true, false));
        assert_eq!(asked("CANTER : none"), (true, true));
        assert_eq!(asked("canterbury: none"), (false, false));
        assert_eq!(asked("*: nofollow"), (false, true));
        assert_eq!(asked("nofollow, otherbot: noindex"), (false, true));
        assert_eq!(asked("otherbot: noindex, canter: nofollow"), (false, true));
    }

    #[test]
    fn a_rule_with_a_value_is_no_agent() {
        let date = "unavailable_after: Wed, 25 Jun 2031 15:00:00 GMT, noindex";
        assert_eq!(asked(date), (true, false));
        assert_eq!(asked("max-image-preview: large, nofollow"), (false, true));
    }

    #[track_caller]
    fn target(content: &str, expected: Option<&str>) {
        let got = refresh_target(content.as_bytes());
        assert_eq!(got, expected.map(str::as_bytes), "{content:?}");
    }

    #[test]
    fn a_refresh_names_its_target_in_many_ways() {
        for content in [
            "0;url=/x",
            "5; URL=/x",
            " 5 ; url = /x",
            "5,url=/x",
            "5 url=/x",
            "5;/x",
            "5 /x",
            ".5;url=/x",
            "1.5.;url=/x",
            "0;url='/x'y",
            "0;url=\"/x",
            "0;'/x'",
            "0;\u{c}url=/x",
        ] {
            target(content, Some("/x"));
        }
        target("0;url=/x'y", Some("/x'y"));
        target("0;urls=/x", Some("urls=/x"));
        target("0;url /x", Some("url /x"));
        target("0;;/x", Some(";/x"));
    }

    #[test]
    fn a_refresh_without_a_valid_time_or_a_target_names_nothing() {
        for content in [
            "",
            "5",
            "5;",
            "5 ",
            "url=/x",
            "-1;url=/x",
            "5x;url=/x",
            "0;url=''",
            "0; url=",
        ] {
            target(content, None);
        }
    }
}
