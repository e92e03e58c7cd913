//! What robots.txt costs: reading files of all sizes, and asking them about
//! URLs, in nanoseconds of CPU time.
//!
//! `cargo bench --bench robots`

mod clock;
mod rounds;

use std::fmt::Write as _;

use canter::Url;
use canter::robots::Robots;
use url::Position;

use rounds::report;

/// Different URLs that are asked about in turn.
const URLS: usize = 256;
/// The length of the path that a rule of many stars is tried on, in bytes.
const LONG_PATH: usize = 2_000;
const AGENT: &str = "examplebot";

fn main() {
    let urls: Vec<Url> = (0..URLS).map(url).collect();
    println!("ns of CPU time for each file or URL");
    for rules in [5, 50, 5_000] {
        let file = file(rules);
        println!("{rules} rules in {} bytes", file.len());
        report("Robots::parse", &[&file], |file| {
            Robots::parse(file.as_bytes()).sitemaps().len()
        });
        let robots = Robots::parse(file.as_bytes());
        report("rules_for", &[&robots], |robots| {
            usize::from(robots.rules_for(AGENT).allows("/"))
        });
        report("Robots::allows", &urls, |url| {
            usize::from(robots.allows(AGENT, url))
        });
        let rules = robots.rules_for(AGENT);
        report("Rules::allows", &urls, |url| {
            usize::from(rules.allows(&url[Position::BeforePath..Position::AfterQuery]))
        });
    }
    let stars = "User-agent: *\nDisallow: /".to_owned() + &"*a".repeat(100) + "*b\n";
    let rules = Robots::parse(stars.as_bytes()).rules_for(AGENT);
    let path = "/".to_owned() + &"a".repeat(LONG_PATH);
    println!("a rule of 100 stars, a path of {LONG_PATH} bytes that it does not match");
    report("Rules::allows", &[path], |path| {
        usize::from(rules.allows(path))
    });
}

/// A file with a group for somebody else and one for all with so many rules,
/// one in eight with a wildcard.
fn file(rules: usize) -> String {
    let mut rng = fastrand::Rng::with_seed(rules as u64);
    let mut file = "User-agent: otherbot\nDisallow: /\n\n# All others\nUser-agent: *\n".to_owned();
    for n in 0..rules {
        let word = rng.u32(..1000);
        let verb = if n % 5 == 0 { "Allow" } else { "Disallow" };
        // Writing to a `String` cannot fail.
        let _ = match n % 8 {
            0 => writeln!(file, "{verb}: /*/print{word}/*.pdf$"),
            1 => writeln!(file, "{verb}: /search?q={word}"),
            _ => writeln!(file, "{verb}: /section{word}/private/"),
        };
    }
    file + "Crawl-delay: 2\n\nSitemap: https://bench.test/sitemap.xml\n"
}

fn url(n: usize) -> Url {
    let mut rng = fastrand::Rng::with_seed(n as u64);
    let word = rng.u32(..1000);
    let text = match n % 4 {
        0 => format!("https://bench.test/section{word}/article-{n}.html"),
        1 => format!("https://bench.test/section{word}/private/notes?page={n}"),
        2 => format!("https://bench.test/search?q={word}&page=2"),
        _ => format!("https://bench.test/2024/02/29/a-title-of-some-words-{word}/"),
    };
    Url::parse(&text).expect("a URL")
}
