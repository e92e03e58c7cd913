//! [`Glob`]: which paths a rule is about. Matching takes time in proportion to
//! the path's length whatever the pattern, since paths come from the network.

use url::{Position, Url};

use super::canonical_str;
use crate::error::{Error, Result};

/// A set of places in a pattern, one bit each.
type Places = u128;

/// The longest pattern behind its first wildcard, in letters and wildcards: one
/// less than the places of a set, for the place behind the last. No rule that a
/// person writes comes near.
const MAX_STEPS: usize = Places::BITS as usize - 1;

/// A pattern for the path of a URL, with its query. Letters match themselves,
/// case included.
///
/// | pattern | matches | does not match |
/// |---|---|---|
/// | `/news` | `/news`, `/news/1`, `/news?p=2` | `/newsletter` |
/// | `/docs/*` | `/docs/a`, `/docs/a?p=2` | `/docs/a/b` |
/// | `/docs/**` | `/docs`, `/docs/a`, `/docs/a/b` | `/docsets` |
/// | `/**/print` | `/print`, `/a/b/print` | `/reprint` |
/// | `/search**` | `/search?q=1`, `/searching/x` | `/a/search` |
/// | `*.pdf` | `/x.pdf`, `/a/b.pdf?dl=1` | `/pdf` |
///
/// Without a wildcard the pattern is a path and everything below it: it ends
/// at a `/`, at the query or at the end. With one it must match the whole
/// path, or the whole path and query: `*` within a segment, `**` anything. A
/// pattern that starts with a star starts anywhere.
///
/// ```
/// use canter::{Url, uri::Glob};
/// let docs = Glob::new("/docs/**")?;
/// assert!(docs.matches(&Url::parse("https://example.com/docs/a/b?c").unwrap()));
/// assert!(!docs.matches(&Url::parse("https://example.com/docsets").unwrap()));
/// # Ok::<(), canter::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Glob {
    pattern: String,
    /// What every match starts with.
    prefix: Box<str>,
    rest: Rest,
}

#[derive(Debug, Clone)]
enum Rest {
    /// No wildcard: a border must follow the prefix.
    Border,
    /// Anything may follow the prefix.
    Anything,
    /// Nothing, or a slash and anything.
    Below,
    /// Anything that ends so.
    Ending(Box<str>),
    /// What the machine accepts.
    Machine(Box<Machine>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// This byte.
    Byte(u8),
    /// `*`: any bytes but a slash.
    Segment,
    /// `**`: any bytes.
    Deep,
    /// The start of `**/` after a slash: that part may be left out, so this
    /// leads to the `Parts` that follows it and past it as well.
    MaybeParts,
    /// Any bytes up to and including a slash.
    Parts,
    /// The start of a final `/**`: the end, or a slash and what follows.
    MaybeBelow,
}

impl Glob {
    /// Reads a pattern.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid), naming the pattern,
    /// when it does not start with `/` or `*`, has a fragment, or is over-long.
    pub fn new(pattern: impl Into<String>) -> Result<Self> {
        let pattern = pattern.into();
        let fail = |why: &str| Err(Error::invalid(format!("path pattern {pattern:?} {why}")));
        if !pattern.starts_with(['/', '*']) {
            return fail("must start with `/` or `*`");
        }
        if pattern.contains('#') {
            return fail("must not have a fragment");
        }
        // A host makes it a URL, so that it is encoded as the paths are that
        // it will be compared with.
        let rooted = pattern.starts_with('/');
        let text = format!("http://host{}{pattern}", if rooted { "" } else { "/" });
        let Some(url) = super::parse(&text) else {
            return fail("is not a path");
        };
        let text = canonical_str(&url);
        let path = &text[url[..Position::BeforePath].len()..];
        let path = if rooted { path } else { &path[1..] };

        let steps = steps_of(path.as_bytes());
        let is_letter = |step: &&Step| matches!(step, Step::Byte(_));
        let letters = steps.iter().take_while(is_letter).count();
        if steps.len() - letters > MAX_STEPS {
            return fail("is too long");
        }
        let prefix = path[..letters].into();
        let last = steps[letters..].iter().rev().take_while(is_letter).count();
        let ending = &path[path.len() - last..];
        let rest = match &steps[letters..] {
            [] => Rest::Border,
            [Step::Deep] => Rest::Anything,
            [Step::MaybeBelow, Step::Deep] => Rest::Below,
            [Step::Deep, letters @ ..] if letters.len() == last => Rest::Ending(ending.into()),
            rest => Rest::Machine(Box::new(Machine::new(rest, ending))),
        };
        Ok(Glob {
            pattern,
            prefix,
            rest,
        })
    }

    /// The pattern as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.pattern
    }

    /// Whether the URL's path, or its path with its query, is one that the
    /// pattern is about. Scheme and host play no part.
    #[must_use]
    pub fn matches(&self, url: &Url) -> bool {
        let path = &url[Position::BeforePath..Position::AfterQuery];
        if path.contains('%') {
            let text = canonical_str(url);
            self.matches_path(&text[url[..Position::BeforePath].len()..])
        } else {
            self.matches_path(path)
        }
    }

    /// As [`matches`](Self::matches), for a canonical path with its query.
    fn matches_path(&self, path_and_query: &str) -> bool {
        let Some(rest) = path_and_query.strip_prefix(&*self.prefix) else {
            return false;
        };
        let query_in_prefix = self.prefix.contains('?');
        let path = match rest.find('?') {
            Some(at) if !query_in_prefix => &rest[..at],
            _ => rest,
        };
        match &self.rest {
            Rest::Border => {
                let border = if query_in_prefix { "&" } else { "/?" };
                rest.is_empty()
                    || self.prefix.ends_with('/')
                    || rest.starts_with(|c| border.contains(c))
            }
            Rest::Anything => true,
            Rest::Below => path.is_empty() || path.starts_with('/'),
            Rest::Ending(ending) => path.ends_with(&**ending) || rest.ends_with(&**ending),
            Rest::Machine(machine) => machine.accepts(path, rest),
        }
    }
}

fn steps_of(pattern: &[u8]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut at = 0;
    while at < pattern.len() {
        let stars = pattern[at..].iter().take_while(|&&b| b == b'*').count();
        let after = at + stars.max(1);
        let at_segment = at == 0 || pattern[at - 1] == b'/';
        match stars {
            0 => steps.push(Step::Byte(pattern[at])),
            1 if at > 0 => steps.push(Step::Segment),
            _ if at_segment && at > 0 && after == pattern.len() => {
                // The slash before is part of what may be absent.
                steps.pop();
                steps.extend([Step::MaybeBelow, Step::Deep]);
            }
            _ if at_segment && at > 0 && pattern.get(after) == Some(&b'/') => {
                steps.extend([Step::MaybeParts, Step::Parts]);
                at = after + 1;
                continue;
            }
            _ => steps.push(Step::Deep),
        }
        at = after;
    }
    steps
}

/// The steps as sets of places, so that one byte moves all of them at once.
#[derive(Debug, Clone)]
struct Machine {
    /// For each byte the places that it leads on from. URLs are ASCII.
    bytes: [Places; 128],
    /// Places that stay whatever the byte.
    stays: Places,
    /// Places that stay unless the byte is a slash.
    stays_in_segment: Places,
    /// Places that a slash leads on from, whether they stay or not.
    slash: Places,
    /// Places that lead to the next one without a byte.
    skips: Places,
    /// Places that lead to the next but one without a byte.
    skips_two: Places,
    /// Places at which the text may end.
    ends: Places,
    /// The letters that everything accepted ends with.
    ending: Box<str>,
}

impl Machine {
    fn new(steps: &[Step], ending: &str) -> Self {
        let mut machine = Machine {
            bytes: [0; 128],
            stays: 0,
            stays_in_segment: 0,
            slash: 0,
            skips: 0,
            skips_two: 0,
            ends: 1 << steps.len(),
            ending: ending.into(),
        };
        for (at, step) in steps.iter().enumerate() {
            let place: Places = 1 << at;
            match *step {
                Step::Byte(byte) => {
                    if let Some(places) = machine.bytes.get_mut(usize::from(byte)) {
                        *places |= place;
                    }
                }
                Step::Segment => {
                    machine.stays_in_segment |= place;
                    machine.skips |= place;
                }
                Step::Deep => {
                    machine.stays |= place;
                    machine.skips |= place;
                }
                Step::MaybeParts => {
                    machine.skips |= place;
                    machine.skips_two |= place;
                }
                Step::Parts => {
                    machine.stays |= place;
                    machine.slash |= place;
                }
                Step::MaybeBelow => {
                    machine.slash |= place;
                    machine.ends |= place;
                }
            }
        }
        machine
    }

    /// Whether it accepts the path, or the path with its query. One reading
    /// answers both, since the one starts with the other.
    fn accepts(&self, path: &str, path_and_query: &str) -> bool {
        if !path.ends_with(&*self.ending) && !path_and_query.ends_with(&*self.ending) {
            return false;
        }
        let mut places = self.skip(1);
        for (at, byte) in path_and_query.bytes().enumerate() {
            if at == path.len() && places & self.ends != 0 {
                return true;
            }
            let led = self.bytes.get(usize::from(byte)).copied().unwrap_or(0);
            let (stays, leads) = if byte == b'/' {
                (self.stays, led | self.slash)
            } else {
                (self.stays | self.stays_in_segment, led)
            };
            places = self.skip((places & stays) | ((places & leads) << 1));
            if places == 0 {
                return false;
            }
        }
        places & self.ends != 0
    }

    /// Adds the places that these lead to without a byte.
    fn skip(&self, mut places: Places) -> Places {
        loop {
            let more = places | ((places & self.skips) << 1) | ((places & self.skips_two) << 2);
            if more == places {
                return places;
            }
            places = more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        let url = Url::parse(&format!("http://a.test{path}")).expect(path);
        Glob::new(pattern).expect(pattern).matches(&url)
    }

    #[track_caller]
    fn check(pattern: &str, matching: &[&str], other: &[&str]) {
        for path in matching {
            assert!(matches(pattern, path), "{pattern} must match {path}");
        }
        for path in other {
            assert!(!matches(pattern, path), "{pattern} must not match {path}");
        }
    }

    #[test]
    fn a_path_without_wildcard_ends_at_a_segment_border() {
        check(
            "/news",
            &["/news", "/news/", "/news/1", "/news?p=2"],
            &["/newsletter", "/a/news", "/New", "/new", "/"],
        );
        check("/news/", &["/news/", "/news/1"], &["/news", "/news2/"]);
        check("/", &["/", "/a", "/?q"], &[]);
        check(
            "/a?b=1",
            &["/a?b=1", "/a?b=1&c"],
            &["/a", "/a?b=12", "/a?b=1/"],
        );
    }

    #[test]
    fn one_star_stays_within_a_segment() {
        check(
            "/docs/*",
            &["/docs/", "/docs/a", "/docs/a?p=/x/y"],
            &["/docs", "/docs/a/b", "/docs/a/"],
        );
        check("/*/b", &["/a/b", "//b"], &["/b", "/a/c/b", "/a/b/c"]);
        check("/a*c", &["/ac", "/abc", "/acc?x"], &["/ab/c", "/acb"]);
    }

    #[test]
    fn two_stars_cross_segments() {
        check(
            "/docs/**",
            &["/docs", "/docs?q=1", "/docs/", "/docs/a/b?c"],
            &["/docsets", "/a/docs/"],
        );
        check(
            "/search**",
            &["/search", "/search?q=1", "/searching/x"],
            &["/a/search"],
        );
        check(
            "/**/print",
            &["/print", "/a/print", "/a/b/print"],
            &["/reprint", "/a/printer"],
        );
        check(
            "/a/**/b/**/c",
            &["/a/b/c", "/a/x/b/y/z/c"],
            &["/a/c", "/a/b", "/ab/c"],
        );
        check("/a/*/**", &["/a/b", "/a/b/c/d"], &["/a", "/b/a/c"]);
        check("**", &["/", "/a?b"], &[]);
        check("/**", &["/", "/a?b"], &[]);
    }

    #[test]
    fn a_pattern_that_starts_with_a_star_starts_anywhere() {
        for pattern in ["*.pdf", "**.pdf"] {
            check(
                pattern,
                &["/a/b.pdf", "/x.pdf?dl=1", "/y?f=z.pdf"],
                &["/a.pdf/b", "/pdf"],
            );
        }
        check("*/x", &["/x", "/a/b/x"], &["/x/y"]);
    }

    #[test]
    fn a_pattern_can_ask_about_the_query() {
        check(
            "/list?**page=*",
            &["/list?page=2", "/list?a=/&page=3"],
            &["/list", "/list?p=1"],
        );
        check("**?**sid=**", &["/?sid=1", "/a/b?x=1&sid=2&y"], &["/sid=1"]);
    }

    #[test]
    fn patterns_and_paths_meet_in_their_encoded_form() {
        check(
            "/Größe/*",
            &["/Gr%c3%b6%C3%9fe/1", "/Größe/2"],
            &["/Gr%C3%B6ße"],
        );
        check("/a b", &["/a%20b"], &["/a"]);
        check("/%2f*", &["/%2F", "/%2fx"], &["//"]);
    }

    #[test]
    fn case_counts() {
        check("/News", &["/News"], &["/news"]);
    }

    #[test]
    fn a_pattern_that_cannot_be_meant_is_an_error_that_names_it() {
        for bad in ["", "docs/**", "http://a.test/docs", "?q", "/a#b"] {
            let error = Glob::new(bad).expect_err(bad).to_string();
            assert!(error.contains(&format!("{bad:?}")), "{error}");
        }
        assert!(Glob::new("/a*".repeat(44)).is_err());
        assert!(Glob::new("/a*".repeat(43)).is_ok());
        assert!(Glob::new(format!("/{}*", "a".repeat(10_000))).is_ok());
    }

    #[test]
    fn a_hostile_path_takes_no_longer_than_its_length() {
        // Backtracking would take 100,000 to the power of the stars.
        let glob = Glob::new("/**a*a**a*a**a*ca**b").unwrap();
        let url = Url::parse(&format!("http://a.test/{}b", "a".repeat(100_000))).unwrap();
        assert!(!glob.matches(&url));
    }
}
