//! robots.txt against the conformance data: which URLs are allowed, delays and
//! sitemaps.

mod facts;

use canter::Url;
use canter::robots::Robots;
use facts::{Score, cases};
use url::Position;

#[test]
fn every_case_is_allowed_or_not_as_the_data_says() {
    let mut score = Score::default();
    for case in cases("robots.json") {
        let robots = Robots::parse(&case.bytes("robots"));
        let agent = case.text("agent");
        let url = Url::parse(case.text("url")).expect("the data holds URLs");
        let expected = case.flag("allowed");
        let path = &url[Position::BeforePath..Position::AfterQuery];
        let answers = [
            robots.allows(agent, &url),
            robots.decide(agent, &url).allowed,
            robots.rules_for(agent).allows(path),
        ];
        let result = if answers == [expected; 3] {
            Ok(())
        } else {
            Err(format!(
                "expected {expected}; allows, decide, rules: {answers:?}"
            ))
        };
        score.count(case.text("basis"), &case, result);
    }
    score.finish("robots", &[]);
}

#[test]
fn every_case_has_the_delay_and_the_sitemaps_that_the_data_says() {
    let mut score = Score::default();
    for case in cases("robots_meta.json") {
        let robots = Robots::parse(&case.bytes("robots"));
        let agent = case.text("agent");
        let delay = robots.crawl_delay(agent);
        assert_eq!(robots.rules_for(agent).crawl_delay(), delay);
        let found = (delay.map(|d| d.as_secs_f64()), robots.sitemaps().to_vec());
        let expected = (
            case.get("crawl_delay_seconds").as_f64(),
            case.texts("sitemaps"),
        );
        let result = if found == expected {
            Ok(())
        } else {
            Err(format!("expected {expected:?}, found {found:?}"))
        };
        score.count("all", &case, result);
    }
    score.finish("robots_meta", &[]);
}
