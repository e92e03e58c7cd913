//! [`Settings::crawler`]: a configuration made a crawl. Keeps: whatever the
//! configuration names is known before the first request.

use std::sync::Arc;

use super::bodies::Bodies;
use super::outputs::Outputs;
use super::page_handler::PageHandler;
use super::{Order, PageField, SeedFile, SeedLines, Settings, Sitemaps, TrapSettings};
use crate::crawler::{self, Crawler, CrawlerBuilder};
use crate::error::{Error, Result};
use crate::fetch::{HttpFetch, HttpFetchBuilder, ReadBody};
use crate::frontier::{MemoryFrontier, Scope, TrapLimits};
use crate::request::{Method, Request};

/// How many bad lines of lists of URLs are told at once.
const MAX_SEED_ERRORS: usize = 10;
/// The media range for every body (RFC 9110 section 12.5.1).
const EVERY_TYPE: &str = "*/*";

impl Settings {
    /// The crawl that the configuration describes: seeds, scope, pace, fetching
    /// and outputs, with a handler that writes a record of each page and follows
    /// its links. The lists of seeds are read here, standard input too.
    ///
    /// The summary is left to the caller, who knows how the program ends.
    ///
    /// ```
    /// use canter::config::Source;
    /// use canter::fetch::MockSite;
    ///
    /// let settings = Source::text(r#"
    ///     crawl.seeds = ["http://a.test/"]
    ///     policy.max_requests_per_minute = "none"
    /// "#).read()?;
    /// let site = MockSite::new()
    ///     .page("http://a.test/", |page| page.html("<a href=/b>"))
    ///     .page("http://a.test/b", |page| page.html(""));
    /// let stats = settings.crawler()?.fetcher(site).build()?.run()?;
    /// assert_eq!(stats.pages, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid): what is wrong with a
    /// list of seeds, a line for each of the first faults; or that there is
    /// nothing to begin with.
    pub fn crawler(&self) -> Result<CrawlerBuilder> {
        let Settings {
            crawl,
            scope,
            policy,
            fetch,
            ..
        } = self;
        let mut builder = Crawler::builder()
            .policy(policy.clone())
            .traps(trap_limits(self.traps))
            .frontier(frontier(crawl.order))
            .obey_robots(self.robots.obey)
            .user_agent(&fetch.user_agent)
            .timeout(fetch.timeout)
            .http(self.http())
            .page_text(self.output.pages && self.output.fields.contains(PageField::Text))
            .page_json_ld(self.output.pages && self.output.fields.contains(PageField::JsonLd));
        if let Some(depth) = crawl.max_depth {
            builder = builder.max_depth(depth);
        }
        let mut in_scope = Scope::builder()
            .hosts(&scope.hosts)
            .include(&scope.include)
            .exclude(&scope.exclude)
            .drop_params(&scope.drop_params)
            .build()?;
        let mut seeds = 0_u64;
        self.each_seed(|seed| {
            seeds += 1;
            builder.add_seed(seed);
        })?;
        if let Sitemaps::List(urls) = &crawl.sitemaps {
            // Without seeds, what the sitemaps' hosts list is what is wanted.
            for url in urls.iter().filter(|_| seeds == 0) {
                in_scope.add_seed(url);
            }
        } else if seeds == 0 {
            return Err(self.no_seeds());
        }
        builder = builder.scope(in_scope).sitemaps(match &crawl.sitemaps {
            Sitemaps::Off => crawler::Sitemaps::None,
            Sitemaps::Discover => crawler::Sitemaps::Discover,
            Sitemaps::List(urls) => {
                crawler::Sitemaps::Urls(urls.iter().map(ToString::to_string).collect())
            }
        });
        builder = builder.dedup(crawl.dedup);
        let outputs = self.outputs();
        let mut handler = self.page_handler(crawl.follow, &outputs);
        let mut beside: Vec<_> = outputs
            .beside
            .iter()
            .map(|output| self.spec(output))
            .collect();
        if let (Some(dir), Some(index)) = (&self.output.bodies, outputs.index) {
            let bodies = Bodies::new(dir, self.state.is_some());
            handler = handler.with_bodies(Arc::new(bodies), beside.len());
            beside.push(index);
        }
        builder = builder.handler(handler).outputs_beside(beside);
        if let Some(main) = &outputs.main {
            builder = builder.output(self.spec(main));
        }
        if let Some(log) = outputs.log {
            builder = builder.log(log);
        }
        if let Some(dir) = &self.state {
            builder = builder.state(dir).revisit(crawl.revisit);
        }
        Ok(builder)
    }

    /// A fetcher as the crawl would have it, for one who names these URLs.
    #[cfg(feature = "cli")]
    pub(crate) fn fetcher_for<'a>(
        &self,
        urls: impl IntoIterator<Item = &'a url::Url>,
    ) -> Result<HttpFetch> {
        let mut http = self
            .http()
            .user_agent(&self.fetch.user_agent)
            .timeout(self.fetch.timeout);
        for url in urls {
            http = http.allow_host(crate::uri::host_key(url));
        }
        http.build()
    }

    /// What is done with each page, but for keeping its body.
    pub(super) fn page_handler(&self, follow: bool, outputs: &Outputs) -> PageHandler {
        let mut handler = PageHandler::new(self.output.fields.clone(), follow, self.robots);
        if !self.output.pages {
            handler = handler.without_pages();
        }
        #[cfg(feature = "select")]
        for (extract, output) in self.extract.iter().zip(&outputs.of_rules) {
            handler = handler.with_rules(extract.rules.clone(), *output);
        }
        #[cfg(not(feature = "select"))]
        let _ = outputs;
        handler
    }

    /// Calls with every seed, those of lists included.
    fn each_seed(&self, mut take: impl FnMut(Request)) -> Result<()> {
        let mut take = |url| take(Request::new(Method::Get, url));
        self.crawl.seeds.iter().cloned().for_each(&mut take);
        let mut faults: Vec<String> = Vec::new();
        for list in &self.crawl.seed_files {
            match SeedLines::open(list) {
                Err(fault) => faults.push(fault.to_string()),
                Ok(lines) => {
                    for line in lines {
                        match line {
                            Ok((_, url)) => take(url),
                            Err(fault) => faults.push(fault.to_string()),
                        }
                        if faults.len() >= MAX_SEED_ERRORS {
                            return Err(Error::invalid(faults.join("\n")));
                        }
                    }
                }
            }
        }
        if faults.is_empty() {
            Ok(())
        } else {
            Err(Error::invalid(faults.join("\n")))
        }
    }

    /// What is wrong when no list holds a URL, and nothing else gives one.
    pub(crate) fn no_seeds(&self) -> Error {
        let lists = self.crawl.seed_files.iter().map(|list| match list {
            SeedFile::Stdin => "standard input".to_owned(),
            SeedFile::File(path) => path.display().to_string(),
        });
        let lists: Vec<String> = lists.collect();
        Error::invalid(format!(
            "crawl.seed_files: there is no URL in {}",
            lists.join(" or ")
        ))
    }

    fn http(&self) -> HttpFetchBuilder {
        let fetch = &self.fetch;
        let read_body = if fetch.accept.iter().any(|range| range == EVERY_TYPE) {
            ReadBody::All
        } else {
            ReadBody::Types(fetch.accept.clone())
        };
        let mut http = HttpFetch::builder()
            .max_body(fetch.max_body)
            .read_body(read_body)
            .allow_private(fetch.allow_private);
        if let Some(proxy) = &fetch.proxy {
            http = http.proxy(proxy.as_str());
        }
        if let Some(file) = &fetch.ca_file {
            http = http.ca_file(file);
        }
        // Whoever names a host means it, wherever it is. A pattern names none.
        let named = self.scope.hosts.iter();
        let named = named.chain(self.policy.hosts.iter().map(|rule| &rule.name));
        for name in named.filter(|name| !name.starts_with('*')) {
            http = http.allow_host(name);
        }
        if let Sitemaps::List(urls) = &self.crawl.sitemaps {
            for host in urls.iter().filter_map(url::Url::host_str) {
                http = http.allow_host(host);
            }
        }
        http
    }
}

fn trap_limits(traps: TrapSettings) -> TrapLimits {
    let wide = |limit: Option<u32>| limit.and_then(|limit| usize::try_from(limit).ok());
    TrapLimits::none()
        .with_max_path_depth(wide(traps.max_path_depth))
        .with_max_url_length(wide(traps.max_url_length))
        .with_max_repeats(wide(traps.max_repeats))
        .with_max_query_variants(traps.max_query_variants)
}

fn frontier(order: Order) -> MemoryFrontier {
    match order {
        Order::Fifo => MemoryFrontier::fifo(),
        Order::Lifo => MemoryFrontier::lifo(),
        Order::BestFirst => MemoryFrontier::best_first(),
    }
}
