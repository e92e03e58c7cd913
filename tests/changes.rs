//! A configuration that changes between two runs over one state: what it lets
//! in by now is asked for, and what it names is never kept out.

mod common;

use std::collections::BTreeSet;

use canter::extract::{Links, Queue};
use canter::fetch::MockSite;
use canter::ledger::OutputSpec;
use canter::{Crawler, CrawlerBuilder, Policy, Scope, Sitemaps, Stats};
use common::TempDir;

const XML: &str = "application/xml";

/// Two sites that link to each other, with a sitemap on a third host that names
/// pages of the first.
fn site() -> MockSite {
    let sitemap = "<urlset><url><loc>http://a.test/listed</loc></url></urlset>";
    MockSite::new()
        .page("http://a.test/robots.txt", |page| {
            page.text("Sitemap: http://maps.test/a.xml")
        })
        .page("http://a.test/", |page| {
            page.html("<a href=/shop/1></a><a href=/news/1></a><a href=http://b.test/></a>")
        })
        .page("http://a.test/shop/1", |page| page.html("shop"))
        .page("http://a.test/news/1", |page| page.html("news"))
        .page("http://a.test/listed", |page| page.html("listed"))
        .page("http://b.test/", |page| page.html("<a href=/next></a>"))
        .page("http://b.test/next", |page| page.html("next"))
        .page("http://maps.test/a.xml", |page| page.typed(XML, sitemap))
}

fn crawl(dir: &TempDir, site: &MockSite, seeds: &[&str]) -> CrawlerBuilder {
    Crawler::builder()
        .seeds(seeds)
        .fetcher(site.clone())
        .state(dir.join("state"))
        .log(OutputSpec::new(dir.join("log.jsonl")))
        .handler(|links: Links, queue: Queue| {
            queue.follow_all(links);
        })
}

fn run(crawl: CrawlerBuilder) -> Stats {
    crawl.build().expect("a crawl").run().expect("a run")
}

/// What a run asked for, without robots.txt.
fn asked(crawl: impl Fn(&MockSite) -> CrawlerBuilder) -> BTreeSet<String> {
    let site = site();
    run(crawl(&site));
    let mut urls: BTreeSet<String> = site.urls().into_iter().collect();
    urls.retain(|url| !url.ends_with("/robots.txt"));
    urls
}

fn set<const N: usize>(urls: [&str; N]) -> BTreeSet<String> {
    urls.map(str::to_owned).into()
}

fn within(path: &str) -> Scope {
    let scope = Scope::builder().include([path]);
    scope.build().expect("a scope")
}

#[test]
fn seeds_and_sitemaps_are_asked_for_whatever_the_scope_has_become() {
    let cut_short = || Policy::builder().max_requests(1).build().expect("a policy");
    for sitemaps in [
        Sitemaps::Discover,
        Sitemaps::Urls(vec!["http://maps.test/a.xml".to_owned()]),
    ] {
        for policy in [Policy::default(), cut_short()] {
            let dir = TempDir::new();
            let begin = |site: &MockSite| {
                let crawl = crawl(&dir, site, &["http://a.test/"]);
                crawl.sitemaps(sitemaps.clone())
            };
            asked(|site| begin(site).policy(policy.clone()));
            let narrow = asked(|site| begin(site).scope(within("/shop")));
            assert_eq!(
                narrow,
                set([
                    "http://a.test/",
                    "http://a.test/shop/1",
                    "http://maps.test/a.xml"
                ]),
                "{sitemaps:?}"
            );
            let wide = asked(begin);
            assert!(wide.contains("http://a.test/listed"), "{wide:?}");
            assert!(wide.contains("http://a.test/news/1"), "{wide:?}");
        }
    }
}

#[test]
fn a_seed_that_an_earlier_run_kept_out_as_a_link_joins() {
    let dir = TempDir::new();
    let begin = |site: &MockSite, seeds: &[&str]| crawl(&dir, site, seeds).scope(within("/shop"));
    asked(|site| begin(site, &["http://a.test/"]));
    let again = asked(|site| begin(site, &["http://a.test/", "http://a.test/news/1"]));
    assert!(again.contains("http://a.test/news/1"), "{again:?}");
}

#[test]
fn the_site_of_a_new_seed_is_in_the_scope_of_the_seeds() {
    let dir = TempDir::new();
    let first = asked(|site| crawl(&dir, site, &["http://a.test/"]));
    assert!(!first.contains("http://b.test/"), "{first:?}");
    let again = asked(|site| crawl(&dir, site, &["http://a.test/", "http://b.test/next"]));
    for url in ["http://b.test/", "http://b.test/next"] {
        assert!(again.contains(url), "{url} in {again:?}");
    }
}

#[test]
fn sitemaps_are_looked_for_though_robots_txt_is_remembered() {
    let dir = TempDir::new();
    let first = asked(|site| crawl(&dir, site, &["http://a.test/"]));
    assert!(!first.contains("http://maps.test/a.xml"), "{first:?}");
    let discover =
        |site: &MockSite| crawl(&dir, site, &["http://a.test/"]).sitemaps(Sitemaps::Discover);
    let again = asked(discover);
    for url in ["http://maps.test/a.xml", "http://a.test/listed"] {
        assert!(again.contains(url), "{url} in {again:?}");
    }
}

#[test]
fn a_sitemap_that_is_named_and_missing_fails_in_each_run() {
    let dir = TempDir::new();
    let site = site();
    for pass in 1..=3 {
        let named = Sitemaps::Urls(vec!["http://a.test/none.xml".to_owned()]);
        let stats = run(crawl(&dir, &site, &["http://a.test/"]).sitemaps(named));
        assert_eq!(stats.failed, 1, "pass {pass}");
    }
}
