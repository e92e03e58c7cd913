//! [`Scope`]: which URLs belong to the crawl. Keeps: hosts are compared as
//! hosts and paths by segments, never as raw text.

use url::Url;

use crate::admission::SkipReason;
use crate::error::Result;
use crate::uri::{DropParams, Glob, HostPattern, Hosts};

/// Which URLs belong to the crawl.
///
/// ```
/// use canter::Scope;
/// let scope = Scope::builder().hosts(["example.com", "*.example.org"]).include(["/docs/**"]).build()?;
/// # Ok::<(), canter::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Scope {
    hosts: Hosts,
    /// Whether the hosts are those of the seeds.
    of_seeds: bool,
    include: Vec<Glob>,
    exclude: Vec<Glob>,
    drop_params: DropParams,
    /// The patterns as they were given, in a form that is the same each time.
    text: String,
}

impl Default for Scope {
    /// The seeds' hosts, all paths, without session ids in URLs.
    fn default() -> Self {
        Scope {
            hosts: Hosts::default(),
            of_seeds: true,
            include: Vec::new(),
            exclude: Vec::new(),
            drop_params: DropParams::session_ids(),
            text: ScopeBuilder::default().describe(),
        }
    }
}

impl Scope {
    /// Starts from the seeds' hosts and all paths.
    pub fn builder() -> ScopeBuilder {
        ScopeBuilder::default()
    }

    /// Whether the hosts are those of the seeds, rather than named ones.
    #[must_use]
    pub fn is_of_seeds(&self) -> bool {
        self.of_seeds
    }

    /// The patterns as text: equal for equal scopes, in every run.
    #[must_use]
    pub fn describe(&self) -> &str {
        &self.text
    }

    /// Takes in the host of a seed, if the hosts are those of the seeds.
    pub fn add_seed(&mut self, seed: &Url) {
        if self.of_seeds {
            self.hosts.insert_host_of(seed);
        }
    }

    /// Whether the URL's host belongs to the crawl.
    #[must_use]
    pub fn has_host(&self, url: &Url) -> bool {
        self.hosts.matches(url)
    }

    /// Why the URL's path does not belong to the crawl, if it does not.
    #[must_use]
    pub fn refusal(&self, url: &Url) -> Option<SkipReason> {
        let included = self.include.is_empty() || self.include.iter().any(|glob| glob.matches(url));
        let excluded = self.exclude.iter().any(|glob| glob.matches(url));
        (!included || excluded).then_some(SkipReason::Scope)
    }

    /// The URL without the parameters that tell no pages apart.
    #[must_use]
    pub fn clean(&self, url: Url) -> Url {
        self.drop_params.apply(url)
    }
}

/// Builds a [`Scope`].
#[derive(Debug, Clone, Default)]
#[must_use = "a builder does nothing until it is built"]
pub struct ScopeBuilder {
    hosts: Vec<String>,
    include: Vec<String>,
    exclude: Vec<String>,
    drop_params: Option<Vec<String>>,
}

impl ScopeBuilder {
    /// Names the hosts: `example.com`, or `*.example.com` for those under it.
    /// Without any, the hosts are those of the seeds.
    pub fn hosts<I>(mut self, patterns: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        self.hosts.extend(patterns.into_iter().map(Into::into));
        self
    }

    /// Names paths that belong to the crawl. Without any, all do. Seeds belong
    /// to it in any case.
    pub fn include<I>(mut self, patterns: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        self.include.extend(patterns.into_iter().map(Into::into));
        self
    }

    /// Names paths that do not belong to the crawl, included or not.
    pub fn exclude<I>(mut self, patterns: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        self.exclude.extend(patterns.into_iter().map(Into::into));
        self
    }

    /// Names query parameters that tell no pages apart, instead of the usual
    /// session ids. `*` stands for any letters.
    pub fn drop_params<I>(mut self, names: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        self.drop_params
            .get_or_insert_default()
            .extend(names.into_iter().map(Into::into));
        self
    }

    fn describe(&self) -> String {
        let sorted = |patterns: &[String]| {
            let mut patterns = patterns.to_vec();
            patterns.sort();
            patterns
        };
        format!(
            "hosts {:?} include {:?} exclude {:?} drop {:?}",
            sorted(&self.hosts),
            sorted(&self.include),
            sorted(&self.exclude),
            self.drop_params.as_deref().map(sorted),
        )
    }

    /// Reads the patterns.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid), naming the pattern
    /// that is none.
    pub fn build(self) -> Result<Scope> {
        let text = self.describe();
        let mut hosts = Hosts::default();
        for pattern in &self.hosts {
            hosts.insert(HostPattern::new(pattern)?);
        }
        let globs =
            |patterns: Vec<String>| patterns.into_iter().map(Glob::new).collect::<Result<_>>();
        Ok(Scope {
            text,
            of_seeds: self.hosts.is_empty(),
            hosts,
            include: globs(self.include)?,
            exclude: globs(self.exclude)?,
            drop_params: self
                .drop_params
                .map_or_else(DropParams::session_ids, DropParams::new),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_compared_as_hosts_and_paths_by_segments() {
        let scope = Scope::builder()
            .hosts(["site.test"])
            .include(["/news"])
            .build()
            .expect("valid");
        let inside = |text: &str| {
            let url = Url::parse(text).expect(text);
            scope.has_host(&url) && scope.refusal(&url).is_none()
        };
        assert!(inside("http://SITE.test/news/1"));
        assert!(
            inside("http://site.test./news"),
            "the final dot is the same host"
        );
        for outside in [
            "http://evilsite.test/news",
            "http://site.test.evil.example/news",
            "http://site.test@evil.example/news",
            "http://site.test/newsletter",
            "http://site.test\\@evil.example/news",
        ] {
            assert!(!inside(outside), "{outside}");
        }
    }

    #[test]
    fn what_is_excluded_is_out_even_if_included() {
        let scope = Scope::builder()
            .include(["/a/**"])
            .exclude(["/a/b/**"])
            .build()
            .expect("valid");
        let refused = |path: &str| {
            scope
                .refusal(&Url::parse(&format!("http://x.test{path}")).expect("a URL"))
                .is_some()
        };
        assert!(!refused("/a/c"));
        assert!(refused("/a/b/c"));
        assert!(refused("/d"));
    }
}
