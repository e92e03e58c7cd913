//! A configuration means what it says, or is refused with file, line, key and
//! what was probably meant; and what is secret is never shown.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use canter::config::{Existing, Order, Origin, PageField, SeedFile, Settings, Sitemaps, Source};
use canter::{Error, ErrorKind, RetryAfterScope};

/// A folder of this test's own, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("canter-config-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("the temporary folder can be written");
        Folder(path)
    }

    fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).expect("the temporary folder can be written");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const SEED: &str = "[crawl]\nseeds = [\"https://example.com/\"]\n";

fn environment(name: &str) -> Option<String> {
    match name {
        "TOKEN" => Some("hunter2".to_owned()),
        "HOST" => Some("env.test".to_owned()),
        "NUMBER" => Some("987654".to_owned()),
        _ => None,
    }
}

fn read(text: &str) -> Result<Settings, canter::config::ConfigError> {
    Source::text(text).environment(environment).read()
}

/// Reads `[crawl]` with a seed on lines 1 and 2, and `text` from line 3 on.
fn seeded(text: &str) -> Result<Settings, canter::config::ConfigError> {
    read(&format!("{SEED}{text}"))
}

fn shown(settings: &Settings, key: &str) -> (String, Origin) {
    let entry = settings
        .entries()
        .iter()
        .find(|entry| format!("{}.{}", entry.table, entry.key) == key)
        .unwrap_or_else(|| panic!("{key} is no entry"));
    (entry.value.clone(), entry.origin)
}

#[test]
fn the_defaults_are_those_of_the_documentation() {
    let settings = seeded("").unwrap();
    let policy = &settings.policy;
    assert_eq!(policy.concurrency, 4);
    assert_eq!(policy.max_requests_per_minute, Some(60.0));
    assert_eq!(policy.burst, 1);
    assert_eq!(policy.retry.max_retries, 3);
    assert_eq!(policy.retry.delay, Duration::from_secs(1));
    assert!((policy.retry.factor - 2.0).abs() < f64::EPSILON);
    assert!(policy.retry.jitter.abs() < f64::EPSILON);
    assert_eq!(policy.host_concurrency, 2);
    assert_eq!(policy.host_delay, Duration::ZERO);
    assert_eq!(policy.max_redirects, 10);
    assert_eq!(policy.deadline, None);
    assert_eq!(settings.crawl.max_depth, Some(20));
    assert!(settings.crawl.follow);
    assert_eq!(settings.crawl.sitemaps, Sitemaps::Off);
    assert_eq!(settings.crawl.order, Order::Fifo);
    assert_eq!(settings.crawl.revisit, Duration::ZERO);
    assert!(settings.scope.hosts.is_empty());
    assert!(settings.scope.drop_params.iter().any(|name| name == "sid"));
    assert!(settings.robots.obey);
    assert_eq!(settings.fetch.product_token(), "canter");
    assert_eq!(settings.fetch.timeout, Duration::from_secs(30));
    assert_eq!(settings.fetch.max_body, 10 << 20);
    assert!(!settings.fetch.allow_private);
    assert!(settings.output.path.is_stdout());
    assert_eq!(settings.output.existing, Existing::Append);
    assert!(!settings.output.fields.contains(PageField::Text));
    assert_eq!(settings.state, None);
    assert_eq!(shown(&settings, "policy.concurrency").1, Origin::Default);
}

#[test]
fn every_key_of_the_documentation_is_understood() {
    let folder = Folder::new("every_key");
    folder.file("urls.txt", "https://example.com/\n");
    folder.file("ca.pem", "");
    let text = r#"
[crawl]
seeds = ["https://example.com/"]
seed_files = ["urls.txt", "-"]
follow = false
sitemaps = ["https://example.com/map.xml"]
max_depth = "none"
revisit = "7d"
dedup = false
order = "best_first"

[scope]
hosts = ["Example.com", "*.example.org.", "b\u00fccher.test"]
include = ["/docs/**"]
exclude = ["/search**"]
drop_params = []

[policy]
concurrency = 16
max_requests_per_minute = 120.5
burst = 3
jitter = 0.5
warmup_seconds = 30
adaptive_concurrency = true
max_retries = 0
retry_delay = "2s"
backoff_factor = 3
max_retry_delay = "1m"
retry_jitter = 0.1
max_retry_after = "1h"
retry_after_scope = "crawl"
host_concurrency = 1
host_delay = 1.5
max_host_delay = "2m"
max_consecutive_failures = 0
max_error_rate = 1
error_rate_window = 50
max_host_failures = 5
max_requests = 1000
deadline = "1h30m"
max_pages_per_host = 200
shutdown_grace = 5

[[host]]
name = "Slow.example.org"
delay = 2.5
concurrency = 1
headers = { Authorization = "Bearer ${TOKEN}", Cookie = ["a=1", "b=2"] }

[[host]]
name = "*.example.org"

[robots]
obey = false
nofollow = false
noindex = true

[fetch]
user_agent = "examplebot/1.0 (+https://example.com/bot)"
timeout = 12.5
proxy = "http://me:secret@127.0.0.1:3128"
ca_file = "ca.pem"
max_body = "1 MiB"
allow_private = true
max_redirects = 3
accept = ["text/*"]

[traps]
max_path_depth = 9
max_url_length = 500
max_repeats = 1
max_query_variants = "none"

[output]
path = "pages-{date}-{pass}.jsonl"
existing = "refuse"
format = "csv"
pages = true
fields = ["url", "text", "headers"]
jsonld = true
bodies = "bodies"
log = "log.jsonl"
summary = "summary.json"
metrics = "canter.prom"

[state]
dir = "state"
"#;
    let path = folder.file("canter.toml", text);
    let settings = Source::file(&path)
        .unwrap()
        .environment(environment)
        .read()
        .unwrap();
    let crawl = &settings.crawl;
    assert_eq!(
        crawl.seed_files,
        [SeedFile::File(folder.0.join("urls.txt")), SeedFile::Stdin]
    );
    assert!(!crawl.follow);
    assert!(matches!(&crawl.sitemaps, Sitemaps::List(urls) if urls.len() == 1));
    assert_eq!(crawl.max_depth, None);
    assert_eq!(crawl.revisit, Duration::from_secs(7 * 86_400));
    assert!(!crawl.dedup);
    assert_eq!(crawl.order, Order::BestFirst);
    assert_eq!(
        settings.scope.hosts,
        ["example.com", "*.example.org", "xn--bcher-kva.test"]
    );
    assert!(settings.scope.drop_params.is_empty());
    let policy = &settings.policy;
    assert_eq!(policy.concurrency, 16);
    assert_eq!(policy.max_requests_per_minute, Some(120.5));
    assert_eq!(policy.jitter, Duration::from_millis(500));
    assert_eq!(policy.warmup, Duration::from_secs(30));
    assert!(policy.adaptive_concurrency);
    assert_eq!(policy.retry.max_retries, 0);
    assert_eq!(policy.retry.delay, Duration::from_secs(2));
    assert_eq!(policy.retry.max_delay, Duration::from_secs(60));
    assert_eq!(policy.max_retry_after, Duration::from_secs(3600));
    assert_eq!(policy.retry_after_scope, RetryAfterScope::Crawl);
    assert_eq!(policy.host_delay, Duration::from_millis(1500));
    assert_eq!(policy.deadline, Some(Duration::from_secs(5400)));
    assert_eq!(policy.max_requests, Some(1000));
    assert_eq!(policy.max_pages_per_host, Some(200));
    assert_eq!(policy.shutdown_grace, Duration::from_secs(5));
    assert_eq!(policy.max_redirects, 3);
    assert_eq!(policy.hosts.len(), 2);
    let slow = policy.host_rule("slow.example.org").unwrap();
    assert_eq!(slow.delay, Some(Duration::from_millis(2500)));
    assert_eq!(slow.concurrency, Some(1));
    let headers: Vec<_> = slow
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    assert_eq!(
        headers,
        [
            "Authorization: Bearer hunter2",
            "Cookie: a=1",
            "Cookie: b=2"
        ]
    );
    assert!(!settings.robots.obey);
    assert_eq!(settings.fetch.product_token(), "examplebot");
    assert_eq!(settings.fetch.timeout, Duration::from_millis(12_500));
    assert_eq!(settings.fetch.ca_file, Some(folder.0.join("ca.pem")));
    assert_eq!(settings.fetch.max_body, 1 << 20);
    assert_eq!(settings.traps.max_path_depth, Some(9));
    assert_eq!(settings.traps.max_query_variants, None);
    let day = UNIX_EPOCH + Duration::from_secs(1_234_567_890);
    assert_eq!(
        settings.output.path.file(day, 3),
        Some(folder.0.join("pages-2009-02-13-3.jsonl"))
    );
    assert_eq!(settings.output.existing, Existing::Refuse);
    assert!(settings.output.fields.contains(PageField::Headers));
    assert!(settings.output.fields.contains(PageField::JsonLd));
    assert_eq!(settings.output.bodies, Some(folder.0.join("bodies")));
    assert_eq!(settings.state, Some(folder.0.join("state")));
    // Each of them says that it comes from the file.
    for entry in settings.entries() {
        assert!(
            matches!(entry.origin, Origin::File { .. }),
            "{}.{} comes from {}",
            entry.table,
            entry.key,
            entry.origin
        );
    }
}

#[test]
fn whatever_is_wrong_is_named_with_its_line_and_key_and_what_was_meant() {
    // Text from line 3 on; line and column of the problem; words of it.
    let cases: &[(&str, (usize, usize), &[&str])] = &[
        (
            "[[host]]\nname = \"a.test\"\ndellay = \"1s\"",
            (5, 1),
            &["host.dellay: unknown key", "did you mean delay?"],
        ),
        (
            "[[host]]\nname = \"a.test\"\ndelay = \"1\"",
            (5, 9),
            &["host.delay: ", "no unit", "\"1s\""],
        ),
        (
            "[[host]]\nname = \"a.test\"\ndelay = -1",
            (5, 9),
            &["host.delay: ", "must not be negative, not -1"],
        ),
        (
            "[policy]\nthreads = 0",
            (4, 1),
            &[
                "policy.threads: unknown key",
                "did you mean policy.concurrency?",
            ],
        ),
        (
            "[[host]]\nname = \"a.test\"\n[[host]]\nname = \"A.TEST.\"",
            (6, 8),
            &["host.name: \"a.test\" is there twice, first at line 3"],
        ),
        (
            "[policy]\nconcurrency = 0",
            (4, 15),
            &["policy.concurrency: must be from 1 to 10000, not 0"],
        ),
        (
            "[policy]\nconcurrency = \"8\"",
            (4, 15),
            &[
                "must be a whole number, not a string",
                "write 8 without quotes",
            ],
        ),
        (
            "[policy]\nconcurrency = 2.5",
            (4, 15),
            &["must be a whole number, not a number with a fraction"],
        ),
        (
            "[policy]\nmax_requests_per_minute = 0",
            (4, 27),
            &["policy.max_requests_per_minute: must be more than 0"],
        ),
        (
            "[policy]\nmax_requests_per_minute = inf",
            (4, 27),
            &["must be a finite number"],
        ),
        (
            "[policy]\nbackoff_factor = 0.5",
            (4, 18),
            &["policy.backoff_factor: must be at least 1, not 0.5"],
        ),
        (
            "[policy]\nhost_delay = \"400d\"",
            (4, 14),
            &["policy.host_delay: must be at most 366 days"],
        ),
        (
            "[policy]\nmax_retries = 99999999999",
            (4, 15),
            &["policy.max_retries: is too large"],
        ),
        (
            "[policy]\nmax_requests = 99999999999999999999999999999999999999999999",
            (4, 16),
            &["policy.max_requests: is too large"],
        ),
        (
            "[policy]\nretry_after_scope = \"hosts\"",
            (4, 21),
            &["must be \"host\" or \"crawl\"", "did you mean \"host\"?"],
        ),
        (
            "[policy]\ndeadline = 1979-05-27",
            (4, 12),
            &["policy.deadline: ", "not a date"],
        ),
        (
            "[polcy]\nconcurrency = 1",
            (3, 2),
            &["polcy: unknown table", "did you mean [policy]?"],
        ),
        (
            "[policies]\nconcurrency = 1",
            (3, 2),
            &["policies: unknown table", "did you mean [policy]?"],
        ),
        (
            "[weather]\nrain = 1",
            (3, 2),
            &["weather: unknown table", "the tables are [crawl], [scope]"],
        ),
        (
            "[policy]\ndellay = 1",
            (4, 1),
            &[
                "policy.dellay: unknown key",
                "did you mean policy.host_delay?",
            ],
        ),
        (
            "[fetch]\nagent = \"x\"",
            (4, 1),
            &["fetch.agent: unknown key", "did you mean user_agent?"],
        ),
        (
            "[traps]\nwidth = 1",
            (4, 1),
            &["traps.width: unknown key", "its keys are max_path_depth"],
        ),
        (
            "sitemaps = [\"/map.xml\"]",
            (3, 13),
            &["not a URL", "did you mean https://example.com/map.xml ?"],
        ),
        (
            "user_agent = \"x\"",
            (3, 1),
            &[
                "crawl.user_agent: unknown key",
                "did you mean fetch.user_agent?",
            ],
        ),
        (
            "[host]\nname = \"a.test\"",
            (3, 2),
            &["host: must be a list of tables", "write [[host]]"],
        ),
        ("[[host]]\ndelay = 1", (3, 1), &["host.name: is missing"]),
        (
            "[[host]]\nname = \"https://a.test/x\"",
            (4, 8),
            &["is not a host name", "write \"a.test\""],
        ),
        (
            "[scope]\nhosts = [\n \"a.test\",\n \"b.test:8080\"\n]",
            (6, 2),
            &["scope.hosts: ", "a port is no part of it"],
        ),
        (
            "[scope]\nhosts = [\"a.*.test\"]",
            (4, 10),
            &["may hold a star only"],
        ),
        ("[scope]\nhosts = []", (4, 1), &["must not be empty"]),
        (
            "[scope]\nhosts = \"a.test\"",
            (4, 9),
            &["must be a list, not a string", "write [\"a.test\"]"],
        ),
        (
            "[scope]\nexclude = [\"search\"]",
            (4, 12),
            &["must begin with", "did you mean \"/search\"?"],
        ),
        (
            "[scope]\ndrop_params = [\"a*b\"]",
            (4, 16),
            &["with a star at most at its end"],
        ),
        (
            "[fetch]\nproxy = \"ftp://me:pw@a.test\"",
            (4, 9),
            &["fetch.proxy: must be the URL of a proxy"],
        ),
        (
            "[fetch]\nca_file = \"/nowhere/at/all.pem\"",
            (4, 11),
            &["fetch.ca_file: there is no file /nowhere/at/all.pem"],
        ),
        ("[fetch]\ntimeout = 0", (4, 11), &["must be more than 0"]),
        (
            "[fetch]\nmax_body = \"10 M\"",
            (4, 12),
            &["fetch.max_body: ", "units are"],
        ),
        (
            "[fetch]\nuser_agent = \"(bot)\"",
            (4, 14),
            &["must begin with a name"],
        ),
        (
            "[fetch]\naccept = [\"html\"]",
            (4, 11),
            &["must be a media type"],
        ),
        (
            "[[host]]\nname = \"a.test\"\nheaders = { \"X Y\" = \"1\" }",
            (5, 13),
            &["host.headers.X Y: is not a header name"],
        ),
        (
            "[[host]]\nname = \"a.test\"\nheaders = { Host = \"b.test\" }",
            (5, 13),
            &["host.headers.Host: is written by the client itself"],
        ),
        (
            "[[host]]\nname = \"a.test\"\nheaders = { X = \"a\\r\\nY: b\" }",
            (5, 17),
            &["host.headers.X: must be visible ASCII"],
        ),
        (
            "[output]\npath = \"out-{day}.jsonl\"",
            (4, 8),
            &["may hold {date} and {pass}"],
        ),
        (
            "[output]\npath = \"a\"\nlog = \"./a\"",
            (5, 7),
            &["output.log: is the file of another output"],
        ),
        ("[output]\nlog = \"-\"", (4, 7), &["must be a file"]),
        (
            "[output]\npath = \"s/x/pages\"\n[state]\ndir = \"./s\"",
            (4, 1),
            &["output.path: is inside state.dir"],
        ),
        (
            "[output]\nmetrics = \"a/../s\"\n[state]\ndir = \"s\"",
            (4, 1),
            &["output.metrics: is inside state.dir"],
        ),
        (
            "[output]\npath = \"p-{pass}\"\nlog = \"x/../p-1\"",
            (5, 1),
            &["output.log: is the file of another output"],
        ),
        (
            "[output]\nlog = \"b/index.jsonl\"\nbodies = \"b\"",
            (4, 1),
            &["output.log: is the index of output.bodies"],
        ),
        (
            "[output]\nsummary = \"b/new/x\"\nbodies = \"b\"",
            (4, 1),
            &["output.summary: is inside a folder of output.bodies"],
        ),
        (
            "[output]\nbodies = \"s\"\n[state]\ndir = \"s\"",
            (4, 1),
            &["output.bodies: is inside state.dir"],
        ),
        (
            "[output]\nbodies = \"s/b\"\n[state]\ndir = \"s\"",
            (4, 1),
            &["output.bodies: is inside state.dir"],
        ),
        (
            "[output]\nbodies = \"b\"\n[state]\ndir = \"b/s\"",
            (4, 1),
            &["output.bodies: holds state.dir"],
        ),
        (
            "seed_files = [\"Cargo.toml\"]\n[output]\npath = \"./Cargo.toml\"",
            (5, 1),
            &["output.path: is a file of crawl.seed_files"],
        ),
        (
            "[fetch]\nca_file = \"Cargo.toml\"\n[output]\npath = \"src/../Cargo.toml\"",
            (6, 1),
            &["output.path: is the file of fetch.ca_file"],
        ),
        (
            "[policy]\nconcurrency = -1",
            (4, 15),
            &["policy.concurrency: must be from 1 to 10000, not -1"],
        ),
        (
            "[policy]\nconcurrency = 99999999999999",
            (4, 15),
            &["must be from 1 to 10000, not 99999999999999"],
        ),
        (
            "[policy]\nburst = -1",
            (4, 9),
            &["policy.burst: must be at least 1, not -1"],
        ),
        (
            "[output]\nfields = [\"url\", \"titel\"]",
            (4, 18),
            &["did you mean \"title\"?"],
        ),
        (
            "[output]\nfields = [\"url\", \"url\"]",
            (4, 18),
            &["\"url\" is there twice"],
        ),
        (
            "[output]\nexisting = \"overwrite\"",
            (4, 12),
            &["\"replace\""],
        ),
        (
            "sitemaps = 1",
            (3, 12),
            &["must be true, false or a list of URLs"],
        ),
        ("max_depth = -1", (3, 13), &["must be at least 0, not -1"]),
        ("follow = \"true\"", (3, 10), &["write true without quotes"]),
        (
            "seed_files = [\"/nowhere/urls.txt\"]",
            (3, 15),
            &["crawl.seed_files: there is no file /nowhere/urls.txt"],
        ),
        ("[state]", (3, 2), &["state.dir: is missing"]),
        (
            "order = \"fifo\"\norder = \"lifo\"",
            (4, 1),
            &["order is there twice"],
        ),
        ("follow = ", (3, 10), &["not valid TOML: "]),
        ("[crawl.x", (3, 9), &["not valid TOML: "]),
        (
            "[fetch]\nuser_agent = \"${NO_SUCH_NAME}\"",
            (4, 14),
            &["fetch.user_agent: ", "NO_SUCH_NAME is not set"],
        ),
    ];
    for &(text, (line, column), words) in cases {
        let Err(error) = seeded(text) else {
            panic!("accepted:\n{text}")
        };
        let report = error.to_string();
        assert_eq!(error.problems().len(), 1, "{text}\n{report}");
        let origin = error.problems()[0].origin;
        assert_eq!(origin, Origin::File { line, column }, "{text}\n{report}");
        assert!(
            report.starts_with(&format!("{line}:{column}: ")),
            "{report}"
        );
        assert_eq!(report.lines().count(), 1, "{report}");
        for word in words {
            assert!(report.contains(word), "{word:?} is not in: {report}");
        }
    }
}

#[test]
fn all_errors_of_a_file_are_reported_at_once_in_its_order() {
    let folder = Folder::new("all_errors");
    let path = folder.file(
        "bad.toml",
        "[fetch]\ntimeout = \"x\"\n\n[crawl]\nseeds = [\"/a\", \"https://ok.test/\", \"b.test\"]\n\
         [policy]\nconcurrency = 0\nburst = 0\n[zzz]\n",
    );
    let error = Source::file(&path).unwrap().read().unwrap_err();
    let expected: Vec<String> = [(2, 11), (5, 10), (5, 36), (7, 15), (8, 9), (9, 2)]
        .iter()
        .map(|(line, column)| format!("{}:{line}:{column}: ", path.display()))
        .collect();
    let report = error.to_string();
    assert_eq!(report.lines().count(), expected.len(), "{report}");
    for (line, start) in report.lines().zip(&expected) {
        assert!(line.starts_with(start.as_str()), "{line}\n{start}");
    }
    assert!(
        report.contains("did you mean https://b.test/ ?"),
        "{report}"
    );
    assert_eq!(error.file(), Some(path.as_path()));
    assert_eq!(Error::from(error).kind(), ErrorKind::Invalid);
}

#[test]
fn no_output_is_the_configuration_file() {
    let folder = Folder::new("own_file");
    let text = "[crawl]\nseeds = [\"https://a.test/\"]\n[output]\nsummary = \"./x/../own.toml\"\n";
    let path = folder.file("own.toml", text);
    let error = Source::file(&path).unwrap().read().unwrap_err();
    let place = format!("{}:4:1: ", path.display());
    assert_eq!(
        error.to_string(),
        format!("{place}output.summary: is the configuration file")
    );
    let source = Source::file(&path).unwrap().set("output.summary=none.json");
    let named = path.to_string_lossy();
    let error = source.option("--output", "output.path", &named).read();
    assert_eq!(
        error.unwrap_err().to_string(),
        "--output: output.path: is the configuration file"
    );
}

#[test]
fn a_crawl_without_seeds_is_refused() {
    let error = read("[policy]\nburst = 1\n").unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("crawl.seeds: there is nothing to crawl")
    );
    assert!(read("[crawl]\nsitemaps = [\"https://a.test/map.xml\"]").is_ok());
    assert!(read("[crawl]\nseed_files = [\"-\"]").is_ok());
    // A seed that cannot be used is the only thing that is wrong.
    assert_eq!(
        read("[crawl]\nseeds = [\"x\"]")
            .unwrap_err()
            .problems()
            .len(),
        1
    );
}

#[test]
fn the_command_line_stands_in_front_of_the_file_and_the_last_word_counts() {
    let settings = Source::text(format!("{SEED}[policy]\nconcurrency = 2\nburst = 2\n"))
        .set("policy.concurrency=8")
        .option("--deadline", "policy.deadline", "10m")
        .set("policy.host_delay=2s")
        .set("policy.max_requests = 5")
        .option("--max-requests", "policy.max_requests", "7")
        .set("scope.hosts=[\"a.test\"]")
        .set("fetch.user_agent=examplebot/1")
        .set("output.path=7")
        .set("state.dir=true")
        .read()
        .unwrap();
    assert_eq!(settings.policy.concurrency, 8);
    assert_eq!(settings.policy.burst, 2);
    assert_eq!(settings.policy.deadline, Some(Duration::from_secs(600)));
    assert_eq!(settings.policy.host_delay, Duration::from_secs(2));
    assert_eq!(settings.policy.max_requests, Some(7));
    assert_eq!(settings.scope.hosts, ["a.test"]);
    assert_eq!(settings.fetch.user_agent, "examplebot/1");
    assert_eq!(
        settings.output.path.file(UNIX_EPOCH, 1),
        Some(PathBuf::from("7"))
    );
    assert_eq!(settings.state, Some(PathBuf::from("true")));
    for (key, origin) in [
        ("policy.concurrency", Origin::CommandLine("--set")),
        ("policy.deadline", Origin::CommandLine("--deadline")),
        ("policy.max_requests", Origin::CommandLine("--max-requests")),
        ("policy.burst", Origin::File { line: 5, column: 1 }),
        ("policy.jitter", Origin::Default),
    ] {
        assert_eq!(shown(&settings, key).1, origin, "{key}");
    }
}

#[test]
fn what_is_wrong_on_the_command_line_is_named_by_its_option() {
    let cases = [
        (
            "policy.concurency=8",
            "--set: policy.concurency: unknown key; did you mean concurrency?",
        ),
        (
            "policy.concurrency=lots",
            "--set: policy.concurrency: must be a whole number, not a string",
        ),
        (
            "policy.host_delay=-1",
            "--set: policy.host_delay: must not be negative, not -1",
        ),
        (
            "policy=3",
            "--set: policy: must be a table, not a whole number; write [policy] above its keys",
        ),
        (
            "polcy.burst=3",
            "--set: polcy: unknown table; did you mean [policy]?",
        ),
        (
            "burst=3",
            "--set: burst: unknown key; did you mean policy.burst?",
        ),
        (
            "policy.burst",
            "--set: policy.burst: has no value; write policy.burst=VALUE",
        ),
        (
            "=3",
            "--set: needs a key and a value, write TABLE.KEY=VALUE",
        ),
        (
            "fetch.user_agent=${NOPE}",
            "--set: fetch.user_agent: the environment variable NOPE is not set",
        ),
    ];
    for (setting, expected) in cases {
        let error = Source::text(SEED)
            .environment(environment)
            .set(setting)
            .read()
            .unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let error = Source::text(SEED)
        .option("--deadline", "policy.deadline", "soon")
        .read()
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("--deadline: policy.deadline: \"soon\"")
    );
}

#[test]
fn what_the_environment_holds_is_refused_in_a_query_and_taken_in_a_host_and_a_path() {
    for (list, place) in [
        ("seeds", "https://a.test/?key=${TOKEN}"),
        ("seeds", "https://a.test/x?${TOKEN}&p=1"),
        ("sitemaps", "https://a.test/map.xml?a=1&key=${TOKEN}"),
    ] {
        let error = Source::text(format!("[crawl]\n{list} = [\"{place}\"]\n"))
            .environment(|name| (name == "TOKEN").then(|| "hunter2".to_owned()))
            .read()
            .unwrap_err()
            .to_string();
        let start = format!("2:{}: crawl.{list}: the query of a URL", list.len() + 5);
        assert!(error.starts_with(&start), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
    for (place, read) in [
        ("https://${TOKEN}.test/?p=1", "https://hunter2.test/?p=1"),
        ("https://a.test/${TOKEN}?p=1", "https://a.test/hunter2?p=1"),
        ("https://a.test/?p=$${TOKEN}", "https://a.test/?p=${TOKEN}"),
    ] {
        let settings = Source::text(format!("[crawl]\nseeds = [\"{place}\"]\n"))
            .environment(|name| (name == "TOKEN").then(|| "hunter2".to_owned()))
            .read()
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(settings.crawl.seeds[0].as_str(), read);
    }
}

#[test]
fn what_comes_from_the_environment_and_headers_is_never_shown() {
    let text = format!(
        "{SEED}[fetch]\nuser_agent = \"bot ${{TOKEN}}\"\nproxy = \"http://me:pa55word@127.0.0.1:1\"\n\
         [scope]\nhosts = [\"${{HOST}}\", \"plain.test\"]\n\
         [[host]]\nname = \"a.test\"\nheaders = {{ Authorization = \"plain-but-private\" }}\n"
    );
    let settings = read(&text).unwrap();
    assert_eq!(settings.fetch.user_agent, "bot hunter2");
    assert_eq!(settings.scope.hosts, ["env.test", "plain.test"]);
    assert_eq!(shown(&settings, "fetch.user_agent").0, "***");
    assert_eq!(shown(&settings, "scope.hosts").0, "[***, \"plain.test\"]");
    assert_eq!(
        shown(&settings, "fetch.proxy").0,
        "\"http://me:***@127.0.0.1:1/\""
    );
    let everything = format!(
        "{settings:?} {:?} {:?}",
        settings.policy,
        settings.entries()
    );
    for secret in ["hunter2", "env.test", "pa55word", "plain-but-private"] {
        assert!(!everything.contains(secret), "{secret} in {everything}");
    }
    assert!(everything.contains("Authorization"), "{everything}");
}

#[test]
fn an_error_about_a_secret_does_not_repeat_it() {
    for text in [
        "[policy]\nhost_delay = \"${TOKEN}\"",
        "[policy]\nretry_after_scope = \"${TOKEN}\"",
        "[policy]\nconcurrency = \"${NUMBER}\"",
        "[fetch]\nmax_body = \"${TOKEN}\"",
        "[fetch]\nproxy = \"${TOKEN}\"",
        "[fetch]\nca_file = \"${TOKEN}\"",
        "[scope]\nexclude = [\"${TOKEN}\"]",
        "[scope]\nhosts = [\"${TOKEN}/x\"]",
        "[scope]\nhosts = \"${TOKEN}\"",
        "[output]\nfields = [\"${TOKEN}\"]",
        "sitemaps = [\"${TOKEN}\"]",
        "seed_files = [\"${TOKEN}\"]",
    ] {
        let error = seeded(text).expect_err(text).to_string();
        assert!(
            !error.contains("hunter2") && !error.contains("987654"),
            "{error}"
        );
    }
}

#[test]
fn two_dollars_are_a_dollar_and_not_a_name() {
    let settings = seeded("[fetch]\nuser_agent = \"bot $${TOKEN} $1\"").unwrap();
    assert_eq!(settings.fetch.user_agent, "bot ${TOKEN} $1");
    assert_eq!(
        shown(&settings, "fetch.user_agent").0,
        "\"bot ${TOKEN} $1\""
    );
}

#[test]
fn a_seed_with_a_password_is_refused_without_repeating_it() {
    let error = read("[crawl]\nseeds = [\"https://me:pa55word@a.test/\"]").unwrap_err();
    assert!(
        error
            .to_string()
            .contains("must not hold a user name or a password")
    );
    assert!(!error.to_string().contains("pa55word"));
}

#[test]
fn relative_paths_are_the_files_in_the_file_and_the_users_on_the_command_line() {
    let folder = Folder::new("relative");
    let path = folder.file(
        "c.toml",
        format!("{SEED}[output]\npath = \"a.jsonl\"\nlog = \"/tmp/log\"\n[state]\ndir = \"s\"\n"),
    );
    let settings = Source::file(&path)
        .unwrap()
        .set("output.summary=sum.json")
        .read()
        .unwrap();
    let file = |path: &canter::config::OutputPath| path.file(UNIX_EPOCH, 1).unwrap();
    assert_eq!(file(&settings.output.path), folder.0.join("a.jsonl"));
    assert_eq!(
        file(settings.output.log.as_ref().unwrap()),
        PathBuf::from("/tmp/log")
    );
    assert_eq!(
        file(settings.output.summary.as_ref().unwrap()),
        PathBuf::from("sum.json")
    );
    assert_eq!(settings.state, Some(folder.0.join("s")));
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let folder = Folder::new("unreadable");
    let missing = folder.0.join("none.toml");
    let error = Source::file(&missing).err().expect("no such file");
    assert!(
        error
            .to_string()
            .starts_with(&format!("{}: cannot be read: ", missing.display())),
        "{error}"
    );
    let latin = folder.file("latin.toml", b"[crawl]\n# caf\xe9\n");
    let error = Source::file(&latin).err().expect("not UTF-8");
    assert_eq!(
        error.to_string(),
        format!("{}: line 2 is not UTF-8", latin.display())
    );
    let error = Source::file("/dev/zero").err();
    assert!(error.is_none_or(|error| error.to_string().contains("too long")));
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_change_nothing() {
    let text = format!("\u{feff}{}", SEED.replace('\n', "\r\n"));
    assert!(read(&text).is_ok());
    let error = read(&format!("{text}[policy]\r\nburst = 0\r\n")).unwrap_err();
    assert_eq!(
        error.problems()[0].origin,
        Origin::File { line: 4, column: 9 }
    );
}

#[test]
fn whatever_a_file_holds_it_is_read_or_refused_and_nothing_breaks() {
    // Cut, doubled and changed in places, so that every reader meets values of
    // every type.
    let base = "[crawl]\nseeds = [\"https://a.test/\"]\nmax_depth = 3\n[policy]\n\
                concurrency = 2\nhost_delay = \"1s\"\ndeadline = \"none\"\n[[host]]\nname = \"a\"\n\
                headers = { X = \"${TOKEN}\" }\n[output]\npath = \"x\"\nfields = [\"url\"]\n";
    let values = [
        "1",
        "-1",
        "\"x\"",
        "[]",
        "{}",
        "true",
        "nan",
        "1979-05-27",
        "[[]]",
        "\"${\"",
        "0x7f",
    ];
    let mut rng = fastrand::Rng::with_seed(11);
    for _ in 0..3_000 {
        let mut lines: Vec<String> = base.lines().map(str::to_owned).collect();
        for _ in 0..rng.usize(1..4) {
            let at = rng.usize(0..lines.len());
            match rng.u8(0..4) {
                0 => drop(lines.remove(at)),
                1 => lines.insert(at, lines[rng.usize(0..lines.len())].clone()),
                2 => {
                    let cut = rng.usize(0..=lines[at].len());
                    lines[at].truncate(cut);
                }
                _ => {
                    let key = lines[at].split('=').next().unwrap_or("").to_owned();
                    lines[at] = format!("{key}= {}", values[rng.usize(0..values.len())]);
                }
            }
        }
        if let Err(error) = read(&lines.join("\n")) {
            assert!(!error.problems().is_empty());
            assert!(!error.to_string().contains("hunter2"));
        }
    }
}
