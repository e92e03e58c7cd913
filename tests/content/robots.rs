//! robots.txt as it is found, each on a host of its own: which paths the
//! server was asked for is the proof.

use crate::common::{Resp, Script, Server, gzip};
use crate::crawl::{Crawl, Outcome};

/// Whom the files speak to.
const AGENT: &str = "user_agent = \"ExampleBot/2.1 (+http://op.test/bot)\"";

/// A host: its robots.txt, the paths that are tried, and those of them that
/// must be asked for.
struct Host {
    robots: Resp,
    tried: &'static [&'static str],
    asked: &'static [&'static str],
}

fn host(robots: Resp, tried: &'static [&'static str], asked: &'static [&'static str]) -> Host {
    Host {
        robots,
        tried,
        asked,
    }
}

/// Crawls the hosts and checks each.
fn crawl(hosts: Vec<Host>, code: i32) -> Outcome {
    let names: Vec<String> = (0..hosts.len())
        .map(|n| format!("127.0.1.{}", n + 1))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut script = Script::new().otherwise(Resp::html("<title>page</title>"));
    for (name, host) in names.iter().zip(&hosts) {
        script = script.on_host(name, "/robots.txt", [host.robots.clone()]);
    }
    let server = Server::builder().addresses(&names).scripted(script);
    let seeds = names
        .iter()
        .zip(&hosts)
        .flat_map(|(name, host)| host.tried.iter().map(|path| server.url_on(name, path)));
    let outcome = Crawl::from(seeds.collect::<Vec<_>>())
        .set("fetch", AGENT)
        .run(&server, code);
    for (name, host) in names.iter().zip(&hosts) {
        let mut expected = host.asked.to_vec();
        expected.sort_unstable();
        assert_eq!(outcome.paths_on(name), expected, "{name}, {:?}", host.tried);
    }
    outcome
}

fn text(body: impl Into<Vec<u8>>) -> Resp {
    Resp::text(body)
}

/// A rule in front of which are so many kilobytes of comments.
fn far_down(kilobytes: usize) -> Vec<u8> {
    let mut body = b"User-agent: *\n".to_vec();
    let line = format!("# {}\n", "x".repeat(1021));
    body.extend(line.as_bytes().repeat(kilobytes));
    body.extend_from_slice(b"Disallow: /secret/\n");
    body
}

#[test]
fn rules_are_read_line_by_line_whatever_else_is_in_the_file() {
    let two: &[&str] = &["/x1", "/y1"];
    let outcome = crawl(
        vec![
            // C34: marks and line ends.
            host(
                text(b"\xEF\xBB\xBFUser-agent: *\r\nDisallow: /\r\n".to_vec()),
                two,
                &[],
            ),
            host(text("User-agent: *\rDisallow: /\r"), two, &[]),
            host(text("User-agent: *\nDisallow: /"), two, &[]),
            // C43: bytes and slips.
            host(
                text(b"User-agent: *\n# caf\xE9\nDisallow: /x\ndisallow : /y # c\n".to_vec()),
                &["/x1", "/y1", "/z"],
                &["/z"],
            ),
            host(
                text(b"User-agent: *\n\0\0\nDisallow: /x\n".to_vec()),
                two,
                &["/y1"],
            ),
            host(
                text(
                    "\u{feff}User-agent: *\nDisallow: /x\n"
                        .encode_utf16()
                        .flat_map(u16::to_le_bytes)
                        .collect::<Vec<u8>>(),
                ),
                two,
                &["/y1"],
            ),
            host(
                Resp::html("<!doctype html><title>Hello</title>Disallow: /"),
                two,
                two,
            ),
            host(
                Resp::new(200).body("User-agent: *\nDisallow: /x"),
                two,
                &["/y1"],
            ),
            // C38: groups that nobody can be meant by.
            host(
                text(
                    "Disallow: /before\nUser-agent: *\nDisallow: /in\nUser-agent: 5bot\nDisallow: /\n\
                      User-agent:\nDisallow: /\n",
                ),
                &["/before", "/in", "/else"],
                &["/before", "/else"],
            ),
            host(
                text("User-agent: a\nCrawl-delay: 0\nUser-agent: examplebot\nDisallow: /x\n"),
                two,
                &["/y1"],
            ),
            // C37: our group, whatever stands around it.
            host(
                text(
                    "User-agent: *\nDisallow: /\nUser-agent: EXAMPLEBOT\nDisallow: /x\n\n\
                      User-agent: otherbot\n\nUser-agent: ExampleBot/9\nDisallow: /y\n",
                ),
                &["/x1", "/y1", "/z"],
                &["/z"],
            ),
            // C44: prefixes of paths with queries, and robots.txt itself.
            host(
                text("User-agent: examplebot\nDisallow: /jobs/sign-in\n"),
                &[
                    "/jobs/sign-in?r=/x",
                    "/jobs/sign-inn",
                    "/jobs/",
                    "/robots.txt?x",
                ],
                &["/jobs/", "/robots.txt?x"],
            ),
            // C35: escapes.
            host(
                text(
                    "User-agent: *\nDisallow: /m*%2F*\nDisallow: /q-%2A.htm\nDisallow: /p-%24\n\
                      Disallow: /k/ツ\nDisallow: /a%3cb\nDisallow: /*.gif$\n",
                ),
                &[
                    "/ma/b",
                    "/ma%2fb",
                    "/q-*.htm",
                    "/p-$",
                    "/k/%E3%83%84",
                    "/a<b",
                    "/x.gif",
                    "/x.gif?y",
                ],
                &["/ma/b", "/x.gif?y"],
            ),
            // The longest rule, and Allow among equals.
            host(
                text(
                    "User-agent: *\nDisallow: /\nAllow: /pub\nDisallow: /pub/no\nAllow: /pub/no\n",
                ),
                &["/pub", "/pub/no", "/else"],
                &["/pub", "/pub/no"],
            ),
        ],
        0,
    );
    assert!(
        outcome.stderr.contains("robots.txt is HTML"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn long_files_and_odd_answers_forbid_what_they_say() {
    let tried: &[&str] = &["/secret/1", "/open"];
    let open: &[&str] = &["/open"];
    let rules = "User-agent: *\nDisallow: /secret/\n";
    let packed = gzip(rules.as_bytes());
    let bomb = {
        let mut body = rules.as_bytes().to_vec();
        body.extend(b"# filler\n".repeat(4 << 20));
        gzip(&body)
    };
    let outcome = crawl(
        vec![
            // C41
            host(text(far_down(300)), tried, open),
            host(text(far_down(499)), tried, open),
            host(text(far_down(600)), tried, tried),
            host(
                text(rules.to_owned() + &"Disallow: /x\n".repeat(5000)),
                tried,
                open,
            ),
            host(
                text(format!(
                    "{rules}# {}\nDisallow: /open\n",
                    "y".repeat(2 << 20)
                )),
                tried,
                open,
            ),
            host(
                Resp::text(rules).endless(
                    "Disallow: /never-read\n".repeat(100),
                    std::time::Duration::ZERO,
                ),
                tried,
                open,
            ),
            host(text(bomb).header("Content-Encoding", "gzip"), tried, open),
            // C58: lying and true codings of robots.txt.
            host(text(packed).header("Content-Encoding", "gzip"), tried, open),
            host(text(rules).header("Content-Encoding", "gzip"), tried, open),
            // What nobody can read forbids everything.
            host(
                text("\x01\x02\x03").header("Content-Encoding", "br-of-my-own"),
                tried,
                &[],
            ),
            // Statuses.
            host(Resp::new(404), tried, tried),
            host(Resp::new(403), tried, tried),
            host(Resp::new(410), tried, tried),
            host(Resp::new(500), tried, &[]),
            host(Resp::close(), tried, &[]),
            host(Resp::raw("no HTTP at all\r\n\r\n"), tried, &[]),
            host(
                Resp::text(rules).header("x", "y".repeat(100 * 1024)),
                tried,
                &[],
            ),
            host(Resp::new(999), tried, &[]),
            host(Resp::new(304), tried, &[]),
            host(
                Resp::new(206)
                    .header("Content-Range", "bytes 0-12/100")
                    .body("User-agent: *"),
                tried,
                &[],
            ),
            // Elsewhere.
            host(
                Resp::redirect(301, "/elsewhere.txt"),
                &["/open"],
                &["/elsewhere.txt", "/open"],
            ),
            host(Resp::redirect(301, "/robots.txt"), &["/open"], open),
            host(Resp::redirect(302, "mailto:x"), &["/open"], open),
        ],
        4,
    );
    assert!(outcome.stderr.contains("over-long"), "{}", outcome.stderr);
    // Hosts whose robots.txt cannot be read are left for the next run.
    assert_eq!(outcome.summary["pending"], 16);
    assert_eq!(outcome.summary["parked"].as_array().map(Vec::len), Some(8));
}

#[test]
fn each_file_is_asked_for_once_and_first() {
    let rules = "User-agent: *\nDisallow: /no\n";
    let server = Server::scripted(
        Script::new()
            .on(
                "/robots.txt",
                [text(rules).delay(std::time::Duration::from_millis(200))],
            )
            .otherwise(Resp::html("<title>page</title>")),
    );
    let seeds: Vec<String> = (0..40).map(|n| server.url(&format!("/{n}"))).collect();
    let outcome = Crawl::from(seeds).run(&server, 0);
    assert_eq!(outcome.asked.count("/robots.txt"), 1);
    assert_eq!(outcome.asked[0].path, "/robots.txt");
    assert_eq!(outcome.records.len(), 40);
}

#[test]
fn a_redirect_back_to_what_was_asked_is_followed_no_further() {
    for (to, back, asked) in [("/robots.txt", "", 1), ("/r", "/robots.txt#again", 2)] {
        let server = Server::scripted(
            Script::new()
                .on("/robots.txt", [Resp::redirect(301, to)])
                .on("/r", [Resp::redirect(302, back)])
                .on("/", [Resp::html("<title>page</title>")]),
        );
        let outcome = Crawl::from([server.url("/")]).run(&server, 0);
        assert_eq!(outcome.records.len(), 1, "there is no file");
        assert_eq!(outcome.asked.paths().len(), asked + 1, "{to}");
    }
}

#[test]
fn a_long_crawl_delay_is_obeyed_and_said() {
    let server = Server::scripted(
        Script::new()
            .on("/robots.txt", [text("User-agent: *\nCrawl-delay: 1e308\n")])
            .otherwise(Resp::html("<title>page</title>")),
    );
    let outcome = Crawl::from([server.url("/")])
        .set("policy", "deadline = 0.5")
        .run(&server, 3);
    assert_eq!(outcome.asked.count("/"), 0);
    let words = "robots.txt asks for";
    assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
    assert_eq!(outcome.summary["pending"], 1);
}
