//! Spider traps: paths and queries without end. Keeps: what is caught is
//! counted and named by its reason; ordinary pages are not caught.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use url::{Position, Url};

use crate::admission::SkipReason;

/// The limits beyond which a URL is taken for a trap.
///
/// ```
/// use canter::{TrapLimits, Url};
/// let url = Url::parse("http://a.test/doc/src/doc/src/doc/src/").unwrap();
/// assert!(TrapLimits::default().check(&url).is_some());
/// assert!(TrapLimits::none().check(&url).is_none());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TrapLimits {
    /// Bytes of a URL.
    pub max_url_length: usize,
    /// Segments of a path.
    pub max_path_depth: usize,
    /// How often a name may stand in a path. Numbers and names of one or two
    /// letters may stand in it as often as they like, but no run of segments
    /// may follow itself more than once more than this.
    pub max_repeats: usize,
    /// Queries that one path may be asked with.
    pub max_query_variants: u32,
}

impl Default for TrapLimits {
    /// URLs of 2,048 bytes, paths of 32 segments, names twice in a path, and
    /// 10,000 queries to a path.
    fn default() -> Self {
        TrapLimits {
            // Search engines and proxies take about as much, so real sites stay
            // under it.
            max_url_length: 2048,
            // Real sites seldom pass 10 segments.
            max_path_depth: 32,
            max_repeats: 2,
            // A catalogue's pages and filters stay under it, a calendar's
            // months do not.
            max_query_variants: 10_000,
        }
    }
}

/// The longest name that may be repeated freely: `a`, `en`, `01`.
const SHORT_NAME: usize = 2;

impl TrapLimits {
    /// No limits.
    #[must_use]
    pub fn none() -> Self {
        TrapLimits {
            max_url_length: usize::MAX,
            max_path_depth: usize::MAX,
            max_repeats: usize::MAX,
            max_query_variants: u32::MAX,
        }
    }

    /// Sets the most bytes of a URL; `None` for any number.
    #[must_use]
    pub fn with_max_url_length(mut self, bytes: Option<usize>) -> Self {
        self.max_url_length = bytes.unwrap_or(usize::MAX);
        self
    }

    /// Sets the most segments of a path; `None` for any number.
    #[must_use]
    pub fn with_max_path_depth(mut self, segments: Option<usize>) -> Self {
        self.max_path_depth = segments.unwrap_or(usize::MAX);
        self
    }

    /// Sets how often a name may stand in a path; `None` for any number.
    #[must_use]
    pub fn with_max_repeats(mut self, times: Option<usize>) -> Self {
        self.max_repeats = times.unwrap_or(usize::MAX);
        self
    }

    /// Sets the most queries that one path may be asked with; `None` for any
    /// number.
    #[must_use]
    pub fn with_max_query_variants(mut self, queries: Option<u32>) -> Self {
        self.max_query_variants = queries.unwrap_or(u32::MAX);
        self
    }

    /// Why a URL is taken for a trap by its looks, if it is.
    #[must_use]
    pub fn check(&self, url: &Url) -> Option<SkipReason> {
        if url.as_str().len() > self.max_url_length {
            return Some(SkipReason::TrapLength);
        }
        let path = url.path().trim_matches('/');
        // A name that stands `n` times needs `n - 1` slashes between: most
        // paths are too short to repeat anything, and are done here.
        let slashes = path.bytes().filter(|byte| *byte == b'/').count();
        if slashes >= self.max_path_depth {
            return Some(SkipReason::TrapDepth);
        }
        if slashes < self.max_repeats {
            return None;
        }
        let segments: Vec<&str> = path.split('/').collect();
        (self.name_repeats(&segments) || self.run_repeats(&segments))
            .then_some(SkipReason::TrapRepeat)
    }

    fn name_repeats(&self, segments: &[&str]) -> bool {
        let counts =
            |name: &str| name.len() > SHORT_NAME && !name.bytes().all(|byte| byte.is_ascii_digit());
        let mut names: Vec<&str> = segments
            .iter()
            .copied()
            .filter(|name| counts(name))
            .collect();
        names.sort_unstable();
        names
            .chunk_by(|a, b| a == b)
            .any(|same| same.len() > self.max_repeats)
    }

    fn run_repeats(&self, segments: &[&str]) -> bool {
        let copies = self.max_repeats.saturating_add(2);
        (1..=segments.len() / copies).any(|period| {
            // The run repeats while each segment equals the one a period before.
            // A number may follow itself: places on a map do, as `/0/0/0/0`.
            let number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
            let mut same = 0;
            segments.iter().zip(&segments[period..]).any(|(a, b)| {
                same = if a == b && !(period == 1 && number(a)) {
                    same + 1
                } else {
                    0
                };
                same >= period * (copies - 1)
            })
        })
    }
}

/// From how many queries on a path is worth naming: a list with its pages and
/// filters seldom has so many, what has no end soon does.
const WORTH_NAMING: u32 = 50;

/// Takes a key for its own hash: it is one already.
#[derive(Debug, Default, Clone)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// How many queries each path was admitted with.
#[derive(Debug, Default)]
pub struct Variants {
    of_path: HashMap<u64, u32, BuildHasherDefault<Identity>>,
    /// The paths with many, by their names.
    names: HashMap<u64, Box<str>, BuildHasherDefault<Identity>>,
}

impl Variants {
    /// Counts one more query of a path; `false` when it would be over the limit.
    pub fn count(&mut self, path: u64, limit: u32) -> bool {
        let count = self.of_path.entry(path).or_default();
        let within = *count < limit;
        *count += u32::from(within);
        within
    }

    /// As [`count`](Self::count), and remembers the path's name once it has
    /// many queries.
    pub fn count_named(&mut self, path: u64, limit: u32, url: &Url) -> bool {
        let within = self.count(path, limit);
        if self.of_path.get(&path) == Some(&WORTH_NAMING.min(limit)) {
            let name = || url[..Position::AfterPath].into();
            self.names.entry(path).or_insert_with(name);
        }
        within
    }

    /// The paths with many queries, those with the most first.
    #[must_use]
    pub fn many(&self) -> Vec<(&str, u32)> {
        let mut many: Vec<(&str, u32)> = self
            .names
            .iter()
            .map(|(path, name)| (&**name, self.of_path[path]))
            .collect();
        many.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        many
    }

    /// Whether one more query of a path would be within the limit.
    #[must_use]
    pub fn allows(&self, path: u64, limit: u32) -> bool {
        self.of_path.get(&path).is_none_or(|count| *count < limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str) -> Option<SkipReason> {
        TrapLimits::default().check(&Url::parse(&format!("http://a.test{path}")).expect("a URL"))
    }

    #[test]
    fn a_path_that_repeats_itself_is_a_trap() {
        for path in [
            "/doc/src/doc/src/doc/src/",
            "/p/www.b.test/www.b.test/www.b.test",
            "/x/y/x/y/x/y/x/y/",
            "/a/a/a/a",
            "/1/2/1/2/1/2/1/2",
            "/a/name/b/name/c/name",
        ] {
            assert_eq!(check(path), Some(SkipReason::TrapRepeat), "{path}");
        }
    }

    #[test]
    fn ordinary_paths_are_not() {
        for path in [
            "/",
            "/a/b/c/d/e/f/g/h",
            "/2020/01/01/01",
            "/0/0/0/0/tile.png",
            "/en/docs/en/guide",
            "/serde/1.0/serde/de/struct.Error.html",
            "/x/y/x/y/x/y",
            "/a//b//c//d",
            "/1/2/1/2/1/3",
        ] {
            assert_eq!(check(path), None, "{path}");
        }
    }

    #[test]
    fn long_urls_and_deep_paths_are_traps() {
        assert_eq!(
            check(&format!("/{}", "x".repeat(2048))),
            Some(SkipReason::TrapLength)
        );
        let deep: String = (0..33).map(|i| format!("/seg{i}")).collect();
        assert_eq!(check(&deep), Some(SkipReason::TrapDepth));
        let fine: String = (0..32).map(|i| format!("/seg{i}")).collect();
        assert_eq!(check(&fine), None);
    }

    #[test]
    fn the_queries_of_a_path_are_counted() {
        let mut variants = Variants::default();
        assert!(variants.count(7, 2));
        assert!(variants.count(7, 2));
        assert!(!variants.allows(7, 2));
        assert!(!variants.count(7, 2));
        assert!(variants.count(8, 2));
        let mut named = Variants::default();
        for n in 0..60 {
            let url = Url::parse(&format!("http://a.test/cal?m={n}")).expect("a URL");
            assert!(named.count_named(7, 100, &url));
            assert!(n < 49 || named.many() == [("http://a.test/cal", n + 1)]);
        }
    }
}
