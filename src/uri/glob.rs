//! [`Glob`]: which paths a rule is about. Matching takes time in proportion to
//! the path's length whatever the pattern, since paths come from the network.

use url::{Position, Url};

use super::canonical_str;
use crate::error::{Error, Result};

/// Words of a set of places in a pattern.
const WORDS: usize = 4;

/// The longest pattern, in steps (letters and wildcards): one less than the
/// places a set can hold, for the place behind the last step. No path that a
/// person writes into a rule comes near.
const MAX_STEPS: usize = WORDS * 64 - 1;

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
    /// What the steps match.
    Steps(Box<[Step]>),
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
        let Ok(url) = Url::parse(&text) else {
            return fail("is not a path");
        };
        let text = canonical_str(&url);
        let path = &text[url[..Position::BeforePath].len()..];
        let path = if rooted { path } else { &path[1..] };

        let steps = steps_of(path.as_bytes());
        let letters = steps
            .iter()
            .take_while(|step| matches!(step, Step::Byte(_)))
            .count();
        if steps.len() - letters > MAX_STEPS {
            return fail("is too long");
        }
        let prefix = path[..letters].into();
        let rest = match &steps[letters..] {
            [] => Rest::Border,
            [Step::Deep] => Rest::Anything,
            [Step::MaybeBelow, Step::Deep] => Rest::Below,
            rest => Rest::Steps(rest.into()),
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
            Rest::Steps(steps) => {
                steps_match(steps, path.as_bytes())
                    || (path.len() < rest.len() && steps_match(steps, rest.as_bytes()))
            }
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

/// The places in a pattern that the text read so far can have led to.
#[derive(Clone, Copy, Default)]
struct Places([u64; WORDS]);

impl Places {
    /// Adds a place, and those that it leads to without reading anything.
    fn add(&mut self, place: usize, steps: &[Step]) {
        self.0[place / 64] |= 1 << (place % 64);
        match steps.get(place) {
            Some(Step::Segment | Step::Deep) => self.add(place + 1, steps),
            Some(Step::MaybeParts) => {
                self.add(place + 1, steps);
                self.add(place + 2, steps);
            }
            _ => {}
        }
    }

    fn has(self, place: usize) -> bool {
        self.0[place / 64] & (1 << (place % 64)) != 0
    }

    fn is_empty(self) -> bool {
        self.0 == [0; WORDS]
    }

    fn each(self, mut visit: impl FnMut(usize)) {
        for (n, mut word) in self.0.into_iter().enumerate() {
            while word != 0 {
                visit(n * 64 + word.trailing_zeros() as usize);
                word &= word - 1;
            }
        }
    }
}

fn steps_match(steps: &[Step], text: &[u8]) -> bool {
    let mut places = Places::default();
    places.add(0, steps);
    for &byte in text {
        let mut next = Places::default();
        places.each(|place| match steps.get(place) {
            Some(&Step::Byte(expected)) if byte == expected => next.add(place + 1, steps),
            Some(Step::Segment) if byte != b'/' => next.add(place, steps),
            Some(Step::Deep) => next.add(place, steps),
            Some(Step::Parts) => {
                next.add(place, steps);
                if byte == b'/' {
                    next.add(place + 1, steps);
                }
            }
            Some(Step::MaybeBelow) if byte == b'/' => next.add(place + 1, steps),
            _ => {}
        });
        if next.is_empty() {
            return false;
        }
        places = next;
    }
    let last_two_open = steps.len() >= 2
        && steps[steps.len() - 2] == Step::MaybeBelow
        && places.has(steps.len() - 2);
    places.has(steps.len()) || last_two_open
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
        assert!(Glob::new("/a*".repeat(1000)).is_err());
        assert!(Glob::new(format!("/{}*", "a".repeat(10_000))).is_ok());
    }

    #[test]
    fn a_hostile_path_takes_no_longer_than_its_length() {
        // Backtracking would take 100,000 to the power of the stars.
        let glob = Glob::new("/**a*a**a*a**a*a**b").unwrap();
        let url = Url::parse(&format!("http://a.test/{}", "a".repeat(100_000))).unwrap();
        assert!(!glob.matches(&url));
    }
}
