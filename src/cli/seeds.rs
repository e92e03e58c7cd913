//! [`Seeds`]: what the lists of URLs hold, read to the end without keeping
//! them, so that every bad line is known before a run.

use std::collections::BTreeSet;

use url::Url;

use crate::config::{SeedError, SeedFile, SeedLines, Settings, Sitemaps};
use crate::uri::Hosts;

/// How many bad lines of a list of URLs are shown.
const MAX_SEED_ERRORS: usize = 10;
/// How many hosts are told apart; a crawl of more has no list of its hosts.
const MAX_HOSTS: usize = 10_000;

/// What the lists of URLs hold.
#[derive(Default)]
pub(super) struct Seeds {
    /// Each list that was read, and its number of URLs.
    pub(super) lists: Vec<(String, u64)>,
    /// The hosts of all seeds, or `None` when they are not known: a list comes
    /// from standard input, or there are too many.
    pub(super) hosts: Option<BTreeSet<String>>,
    /// The first seed that is on no host of `scope.hosts`, and how many are.
    pub(super) outside: Option<(Url, u64)>,
}

impl Seeds {
    /// Reads every list but standard input, which can be read only once.
    ///
    /// # Errors
    /// The first bad lines of all lists.
    pub(super) fn read(settings: &Settings) -> Result<Self, Vec<SeedError>> {
        let crawl = &settings.crawl;
        let mut hosts = BTreeSet::new();
        let mut lists = Vec::new();
        let mut errors = Vec::new();
        let mut known = true;
        let scope = match settings.scope.hosts.as_slice() {
            [] => None,
            // A list that was read makes sense.
            patterns => Hosts::new(patterns).ok(),
        };
        let mut outside: Option<(Url, u64)> = None;
        let mut place = |url: &Url| {
            if scope.as_ref().is_some_and(|hosts| !hosts.matches(url)) {
                outside.get_or_insert_with(|| (url.clone(), 0)).1 += 1;
            }
        };
        crawl.seeds.iter().for_each(&mut place);
        hosts.extend(crawl.seeds.iter().filter_map(host_of));
        if let Sitemaps::List(urls) = &crawl.sitemaps {
            hosts.extend(urls.iter().filter_map(host_of));
        }
        for list in &crawl.seed_files {
            let SeedFile::File(path) = list else {
                known = false;
                continue;
            };
            let mut count = 0;
            let lines = match SeedLines::open(list) {
                Ok(lines) => lines,
                Err(error) => {
                    errors.push(error);
                    continue;
                }
            };
            for line in lines {
                match line {
                    Ok((_, url)) => {
                        count += 1;
                        place(&url);
                        if hosts.len() < MAX_HOSTS {
                            hosts.extend(host_of(&url));
                        } else {
                            known = false;
                        }
                    }
                    Err(error) => errors.push(error),
                }
                if errors.len() >= MAX_SEED_ERRORS {
                    return Err(errors);
                }
            }
            lists.push((path.display().to_string(), count));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(Seeds {
            lists,
            hosts: known.then_some(hosts),
            outside,
        })
    }
}

fn host_of(url: &Url) -> Option<String> {
    url.host_str()
        .map(|host| host.trim_end_matches('.').to_owned())
}
