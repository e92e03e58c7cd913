//! Sitemaps, indexes, feeds and text lists against the conformance data.

mod facts;

use canter::Url;
use canter::sitemap::{Kind, parse};
use facts::{Score, cases};

#[test]
fn every_file_gives_the_kind_and_the_entries_that_the_data_says() {
    let mut score = Score::default();
    for case in cases("sitemaps.json") {
        let sitemap = parse(&case.bytes("xml"));
        if case.flag("safety") {
            // That reading came back is what is asked for.
            score.count("safety", &case, Ok(()));
            continue;
        }
        let kind = match sitemap.kind {
            Kind::Unknown => "error",
            other => other.as_str(),
        };
        let form = |loc: &String| {
            if case.flag("raw_loc") {
                Url::parse(loc).expect(loc).to_string()
            } else {
                loc.clone()
            }
        };
        let locs: Vec<String> = sitemap
            .entries
            .iter()
            .map(|entry| form(&entry.loc))
            .collect();
        let expected: Vec<String> = case.texts("locs").iter().map(form).collect();
        let lastmods: Vec<Option<&str>> = sitemap
            .entries
            .iter()
            .map(|entry| entry.lastmod.as_deref())
            .collect();
        let wanted_lastmods: Option<Vec<Option<&str>>> = case
            .get("lastmods")
            .as_array()
            .map(|list| list.iter().map(|lastmod| lastmod.as_str()).collect());
        let result = if kind != case.text("kind") {
            Err(format!("kind {kind}"))
        } else if locs != expected {
            Err(format!("expected {expected:?}, found {locs:?}"))
        } else if wanted_lastmods.is_some_and(|wanted| wanted != lastmods) {
            Err(format!("lastmods {lastmods:?}"))
        } else {
            Ok(())
        };
        score.count("all", &case, result);
    }
    score.finish("sitemaps", &[]);
}
