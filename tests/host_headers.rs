//! Headers of a host rule go to the origins that they are meant for, and to no
//! other that a redirect leads to (WHATWG Fetch, HTTP-redirect fetch).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use canter::extract::Html;
use canter::fetch::{Fetch, Response};
use canter::{Crawler, HostRule, Policy, Request, Result, Scope};

/// Sends each path `/N` on to the N-th of its targets, and notes which URLs
/// were asked for with the secret.
struct Site {
    targets: Vec<&'static str>,
    asked: Mutex<BTreeMap<String, Option<String>>>,
}

impl Fetch for Site {
    fn fetch(&self, request: &Request, _deadline: Instant) -> Result<Response> {
        let url = request.url().clone();
        let of_ours = |(name, _): &&(String, String)| name == "Authorization";
        let header = request.headers().iter().find(of_ours);
        let secret = header.map(|(_, value)| value.clone());
        self.asked.lock().unwrap().insert(url.to_string(), secret);
        let number = url.path()[1..].parse::<usize>();
        let target = number.ok().and_then(|n| self.targets.get(n));
        Ok(match target {
            Some(target) => Response::new(url, 302).with_header("Location", *target),
            None if url.path() == "/robots.txt" => Response::new(url, 404),
            None => Response::new(url, 200).with_header("Content-Type", "text/html"),
        })
    }
}

/// Which of the targets got the secret, asked from these seeds.
fn told(seeds: &[&str], targets: &[&'static str]) -> BTreeMap<String, bool> {
    let site = Arc::new(Site {
        targets: targets.to_vec(),
        asked: Mutex::default(),
    });
    let mut rule = HostRule::new("a.test");
    rule.headers = vec![("Authorization".to_owned(), "Bearer t".to_owned())];
    let policy = Policy::builder().host(rule).build().expect("a policy");
    let scope = Scope::builder().hosts(["*"]).build().expect("a scope");
    Crawler::builder()
        .seeds(seeds)
        .policy(policy)
        .scope(scope)
        .fetcher(Arc::clone(&site))
        .handler(|_: Html| ())
        .build()
        .and_then(|crawler| crawler.run())
        .expect("it runs");
    let asked = site.asked.lock().unwrap();
    let of = |target: &&&str| {
        let secret = asked
            .get(**target)
            .unwrap_or_else(|| panic!("{target} was not asked"));
        ((**target).to_string(), secret.is_some())
    };
    targets
        .iter()
        .filter(|t| !seeds.contains(t))
        .map(|t| of(&t))
        .collect()
}

#[test]
fn a_secret_stays_with_the_origin_of_the_seed() {
    let targets = [
        "https://a.test/x",
        "https://a.test:8443/x",
        "http://a.test/x",
        "http://a.test:8080/x",
        "http://b.test/x",
    ];
    let seeds: Vec<String> = (0..targets.len())
        .map(|n| format!("https://a.test/{n}"))
        .collect();
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    let expected = [true, false, false, false, false];
    let expected = targets
        .map(str::to_owned)
        .into_iter()
        .zip(expected)
        .collect();
    assert_eq!(told(&seeds, &targets), expected);
}

#[test]
fn a_seed_on_a_port_of_its_own_gets_the_secret_there() {
    let targets = [
        "http://a.test:8080/x",
        "http://a.test/x",
        "https://a.test/x",
    ];
    let seeds = [
        "http://a.test:8080/0",
        "http://a.test:8080/1",
        "http://a.test:8080/2",
    ];
    let told = told(&seeds, &targets);
    assert!(told["http://a.test:8080/x"]);
    assert!(!told["http://a.test/x"]);
    assert!(told["https://a.test/x"]);
}

#[test]
fn a_host_without_a_seed_gets_it_at_the_usual_ports() {
    let targets = [
        "http://a.test/x",
        "https://a.test/x",
        "http://a.test:8080/x",
    ];
    let seeds = ["http://b.test/0", "http://b.test/1", "http://b.test/2"];
    let told = told(&seeds, &targets);
    assert!(told["http://a.test/x"]);
    assert!(told["https://a.test/x"]);
    assert!(!told["http://a.test:8080/x"]);
}
