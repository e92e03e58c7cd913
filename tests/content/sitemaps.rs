//! Sitemaps and feeds as they are found, each on a host of its own whose
//! robots.txt names it: the pages that are found, the files that are asked for
//! once, and what is said of broken ones.

use std::fmt::Write as _;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use crate::common::{Req, Resp, Server, TempDir, canter, gzip, jsonl};
use crate::crawl::{Crawl, Outcome};

/// A site under an address of its own: answers by path and origin. In texts
/// `BASE` stands for the origin and `PORT` for the port.
type Site = fn(&str, &str) -> Option<Resp>;

fn xml(body: &str) -> Resp {
    Resp::ok("application/xml", body)
}

fn urlset(paths: &[&str]) -> String {
    let mut xml =
        "<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"
            .to_owned();
    for path in paths {
        let _ = write!(xml, "<url><loc>BASE{path}</loc></url>");
    }
    xml + "</urlset>"
}

fn utf_16(text: &str) -> Vec<u8> {
    let text = format!("\u{feff}{text}");
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn index(paths: &[&str]) -> String {
    let mut xml = "<sitemapindex>".to_owned();
    for path in paths {
        let _ = write!(xml, "<sitemap><loc>BASE{path}</loc></sitemap>");
    }
    xml + "</sitemapindex>"
}

/// Crawls the sites with `sitemaps = true`, and no links followed.
fn crawl(sites: Vec<Site>) -> (Vec<String>, Outcome) {
    let names: Vec<String> = (0..sites.len())
        .map(|n| format!("127.0.2.{}", n + 1))
        .collect();
    let addresses: Vec<&str> = names.iter().map(String::as_str).collect();
    let server = Server::builder()
        .addresses(&addresses)
        .start(move |req: &Req| {
            let host = req.host.to_string();
            let at: usize = host
                .rsplit('.')
                .next()
                .and_then(|n| n.parse().ok())
                .expect("a number");
            let base = format!("http://{host}:{}", req.port);
            match sites[at - 1](&req.path, &base) {
                Some(answer) => answer
                    .replacing("BASE", &base)
                    .replacing("PORT", &req.port.to_string()),
                None if req.path == "/" => Resp::html("<title>home</title>"),
                None if req.path.starts_with("/p") => Resp::html("<title>page</title>"),
                None => Resp::new(404),
            }
        });
    let seeds: Vec<String> = names.iter().map(|name| server.url_on(name, "/")).collect();
    let outcome = Crawl::from(seeds)
        .set("crawl", "follow = false")
        .set("crawl", "sitemaps = true")
        .run(&server, 0);
    (names, outcome)
}

/// What a host was asked for besides its home page.
fn asked(outcome: &Outcome, host: &str) -> Vec<String> {
    let mut paths = outcome.paths_on(host);
    paths.retain(|path| path != "/");
    paths
}

#[test]
fn loops_and_repeats_end_and_each_file_is_asked_for_once() {
    let (names, outcome) = crawl(vec![
        // An index that lists itself, a child that leads back, the same child
        // many times.
        |path, _| {
            Some(match path {
                "/robots.txt" => Resp::text("Sitemap: /index.xml\nSitemap: /robots.txt\n"),
                "/index.xml" => {
                    let mut children = vec!["/index.xml", "/back.xml", "/gone.xml"];
                    children.extend(["/child.xml"; 50]);
                    xml(&index(&children))
                }
                "/back.xml" => Resp::redirect(301, "/index.xml"),
                "/child.xml" => xml(&urlset(&["/p1", "/p1", "/p2", "/index.xml"])),
                _ => return None,
            })
        },
        // A chain of forty indexes.
        |path, _| {
            let level: Option<u32> = path.strip_prefix("/level").and_then(|n| n.parse().ok());
            Some(match (path, level) {
                ("/robots.txt", _) => Resp::text("Sitemap: /level1"),
                (_, Some(n @ 1..=40)) => xml(&index(&[&format!("/level{}", n + 1)])),
                _ => return None,
            })
        },
    ]);
    assert_eq!(
        asked(&outcome, &names[0]),
        [
            "/back.xml",
            "/child.xml",
            "/gone.xml",
            "/index.xml",
            "/p1",
            "/p2"
        ]
    );
    let once = outcome.asked.on(&names[0]);
    for path in ["/index.xml", "/child.xml", "/back.xml", "/gone.xml"] {
        assert_eq!(once.count(path), 1, "{path}");
    }
    let levels = asked(&outcome, &names[1]);
    assert_eq!(levels.first().map(String::as_str), Some("/level1"));
    assert!(levels.len() <= 6, "{levels:?}");
    assert!(outcome.stderr.contains("nested over"), "{}", outcome.stderr);
}

#[test]
fn pages_are_found_whatever_the_namespace_the_encoding_or_the_damage() {
    let (names, outcome) = crawl(vec![
        // C47
        |path, _| match path {
            "/robots.txt" => Some(Resp::text("Sitemap: BASE/s.xml")),
            "/s.xml" => Some(xml(
                "<sm:urlset xmlns:sm='https://www.sitemaps.org/schemas/sitemap/0.9'><sm:url><sm:loc>BASE/p1</sm:loc>\
                 <image:image><image:loc>BASE/pno</image:loc></image:image><xhtml:link href='BASE/pno'/></sm:url></sm:urlset>",
            )),
            _ => None,
        },
        |path, _| match path {
            "/robots.txt" => Some(Resp::text("sitemap:BASE/s.xml")),
            "/s.xml" => Some(xml(
                "<urlset xmlns='http://www.google.com/schemas/sitemap/0.84'><URL><LOC>BASE/p1</LOC></URL></urlset>",
            )),
            _ => None,
        },
        // C49
        |path, _| match path {
            "/robots.txt" => Some(Resp::text("Sitemap: /s.xml")),
            "/s.xml" => Some(xml(&("\n\n".to_owned() + &urlset(&["/p1"])))),
            _ => None,
        },
        |path, _| match path {
            "/robots.txt" => Some(Resp::text("Sitemap: /s.xml")),
            "/s.xml" => Some(xml(&("\u{feff}".to_owned() + &urlset(&["/pé"])))),
            _ => None,
        },
        |path, base| match path {
            "/robots.txt" => Some(Resp::text("Sitemap: /s.xml")),
            "/s.xml" => Some(Resp::ok(
                "text/xml",
                utf_16(&urlset(&["/p1"]).replace("BASE", base)),
            )),
            _ => None,
        },
        |path, _| match path {
            "/robots.txt" => Some(Resp::text("Sitemap: /s.xml")),
            "/s.xml" => {
                let mut body =
                    b"<?xml version='1.0' encoding='windows-1251'?><urlset><url><loc>BASE/p"
                        .to_vec();
                body.extend_from_slice(b"\xFB</loc></url></urlset>");
                Some(Resp::ok("text/xml", body))
            }
            _ => None,
        },
        |path, _| match path {
            "/robots.txt" => Some(Resp::text("Sitemap: /s.xml")),
            "/s.xml" => Some(xml(
                &("<br />\n<b>Warning</b>: x() in <b>/a.php</b> on line <b>3</b><br />\n"
                    .to_owned()
                    + &urlset(&["/p1"])),
            )),
            _ => None,
        },
        // C50
        |path, _| match path {
            "/robots.txt" => Some(Resp::text("Sitemap: /s.xml")),
            "/s.xml" => Some(xml(
                "<rss><channel><link>BASE/pno</link><item><title>A & B &eacute;</title><link>BASE/p1</link></item>\
                 <item><link>BASE/p2</link></item></channel></rss>",
            )),
            _ => None,
        },
        |path, _| match path {
            "/robots.txt" => Some(Resp::text("Sitemap: /s.xml")),
            "/s.xml" => {
                let whole = urlset(&["/p1", "/p2", "/p3"]);
                Some(xml(&whole[..whole.len() - 25]))
            }
            _ => None,
        },
        |path, _| match path {
            "/robots.txt" => Some(Resp::text("Sitemap: /s.xml")),
            "/s.xml" => Some(xml(
                "<urlset><url></url><url><loc>BASE/p1</lco></url><url><loc>BASE/p2</loc></url>",
            )),
            _ => None,
        },
        |path, _| match path {
            "/robots.txt" => Some(Resp::text("Sitemap: /feed")),
            "/feed" => Some(Resp::ok(
                "application/atom+xml",
                "<feed><link href='BASE/pno'/><entry><link rel='alternate' href='BASE/p1'/><link rel='edit' href='BASE/pno'/></entry></feed>",
            )),
            _ => None,
        },
        // Text, and gzip whatever it is called.
        |path, _| match path {
            "/robots.txt" => Some(Resp::text("Sitemap: /s.txt\r\nSitemap: /z")),
            "/s.txt" => Some(Resp::text("BASE/p1\r\n\r\nno url\r\nBASE/p2")),
            "/z" => Some(Resp::ok(
                "text/plain",
                gzip(b"<urlset><url><loc>http://out.test/x</loc></url></urlset>"),
            )),
            _ => None,
        },
    ]);
    let expected: [&[&str]; 12] = [
        &["/p1", "/s.xml"],
        &["/p1", "/s.xml"],
        &["/p1", "/s.xml"],
        &["/p%C3%A9", "/s.xml"],
        &["/p1", "/s.xml"],
        &["/p%D1%8B", "/s.xml"],
        &["/p1", "/s.xml"],
        &["/p1", "/p2", "/s.xml"],
        &["/p1", "/p2", "/s.xml"],
        &["/p1", "/p2", "/s.xml"],
        &["/feed", "/p1"],
        &["/p1", "/p2", "/s.txt", "/z"],
    ];
    for (name, expected) in names.iter().zip(expected) {
        assert_eq!(asked(&outcome, name), expected, "{name}");
    }
    for host in ["127.0.2.9:", "127.0.2.10:"] {
        let partly = outcome.log.iter().any(|line| {
            let has = |key: &str, part| line[key].as_str().is_some_and(|text| text.contains(part));
            has("url", host) && has("message", "read in part")
        });
        assert!(partly, "{host} {:?}", outcome.log);
    }
}

#[test]
fn entries_without_an_absolute_url_are_told_once_for_each_file() {
    let (names, outcome) = crawl(vec![
        |path, _| match path {
            "/sitemap.xml" => Some(xml(&urlset(&["/p1"]).replace(
                "</urlset>",
                "<url><loc>/p2</loc></url><url><loc>http://[</loc></url><url/></urlset>",
            ))),
            _ => None,
        },
        |path, _| match path {
            "/sitemap.xml" => Some(xml(
                "<!DOCTYPE urlset [<!ENTITY b 'p2'>]><urlset><url><loc>BASE/p1</loc></url>\
                 <url><loc>BASE/sm/&b;</loc></url></urlset>",
            )),
            _ => None,
        },
        |path, _| match path {
            "/sitemap.xml" => Some(Resp::text("BASE/p1\n/p2\n\nno url\n")),
            _ => None,
        },
        |path, _| match path {
            "/sitemap.xml" => Some(xml("<urlset><url><loc>BASE/p1</loc></url><url><loc>/p2")),
            _ => None,
        },
    ]);
    let told = [
        Some("3 entries of the sitemap left out: no absolute URL"),
        Some("1 entry of the sitemap left out: no absolute URL"),
        Some("2 entries of the sitemap left out: no absolute URL"),
        None,
    ];
    for (name, told) in names.iter().zip(told) {
        assert_eq!(asked(&outcome, name), ["/p1", "/sitemap.xml"], "{name}");
        let address = format!("{name}:");
        let messages: Vec<&str> = outcome
            .log
            .iter()
            .filter(|line| jsonl::text(line, "url").contains(&address))
            .filter_map(|line| line["message"].as_str())
            .filter(|message| message.contains("left out"))
            .collect();
        assert_eq!(messages, Vec::from_iter(told), "{name}");
    }
}

#[test]
fn sitemaps_are_found_through_robots_txt_or_in_the_usual_place() {
    let (names, outcome) = crawl(vec![
        // In a group of somebody else's, and not ending it.
        |path, _| match path {
            "/robots.txt" => Some(Resp::text(
                "User-agent: other\nSitemap: /map.xml\nDisallow: /\nUser-agent: *\nDisallow: /pno\n",
            )),
            "/map.xml" => Some(xml(&urlset(&["/p1", "/pno"]))),
            _ => None,
        },
        // None is named: the usual place.
        |path, _| match path {
            "/robots.txt" => Some(Resp::text("User-agent: *\nDisallow:\n")),
            "/sitemap.xml" => Some(xml(&urlset(&["/p1"]))),
            _ => None,
        },
        // No robots.txt at all, and a page for every path.
        |path, _| match path {
            "/sitemap.xml" => Some(Resp::html("<!doctype html><title>Oops</title>")),
            _ => None,
        },
        // Nothing there.
        |_, _| None,
        // One that is named and is a page, and one that is forbidden.
        |path, _| match path {
            "/robots.txt" => Some(Resp::text(
                "User-agent: *\nDisallow: /closed.xml\nSitemap: /page.xml\nSitemap: /closed.xml\n",
            )),
            "/page.xml" => Some(Resp::html("<!doctype html><title>Oops</title>")),
            _ => None,
        },
        // On another host, whose file lists pages here.
        |path, _| match path {
            "/robots.txt" => Some(Resp::text("Sitemap: http://127.0.2.7:PORT/cdn.xml\n")),
            _ => None,
        },
        |path, _| match path {
            "/robots.txt" => Some(Resp::text("Sitemap: /own.xml")),
            "/cdn.xml" => Some(xml(
                "<urlset><url><loc>http://127.0.2.6:PORT/p-of-six</loc></url></urlset>",
            )),
            "/own.xml" => Some(Resp::new(503)),
            _ => None,
        },
    ]);
    let expected: [&[&str]; 7] = [
        &["/map.xml", "/p1"],
        &["/p1", "/sitemap.xml"],
        &["/sitemap.xml"],
        &["/sitemap.xml"],
        &["/page.xml"],
        &["/p-of-six"],
        &["/cdn.xml", "/own.xml"],
    ];
    for (name, expected) in names.iter().zip(expected) {
        assert_eq!(asked(&outcome, name), expected, "{name}");
    }
    // The guess that found a page is no failure, the promise that was not kept
    // is one.
    let of = |host: &str, path: &str| {
        let url = outcome.log.iter().find(|line| {
            let url = line["url"].as_str().unwrap_or_default();
            url.contains(host) && url.ends_with(path)
        });
        url.unwrap_or_else(|| panic!("no line for {host}{path}"))
            .clone()
    };
    let guess = of("127.0.2.3:", "/sitemap.xml");
    assert_eq!(guess["end"], "done");
    assert!(
        guess["message"]
            .as_str()
            .is_some_and(|text| text.contains("HTML page")),
        "{guess}"
    );
    assert_eq!(of("127.0.2.4:", "/sitemap.xml")["end"], "done");
    let promised = of("127.0.2.5:", "/page.xml");
    assert_eq!(
        (&promised["end"], &promised["kind"]),
        (&"failed".into(), &"extract".into())
    );
    assert_eq!(of("127.0.2.5:", "/closed.xml")["reason"], "robots");
    assert_eq!(of("127.0.2.7:", "/own.xml")["kind"], "http");
    assert_eq!(outcome.summary["failed"]["extract"], 1);
}

#[test]
fn a_page_that_its_sitemap_calls_newer_is_due_before_its_time() {
    let read = AtomicUsize::new(0);
    let server = Server::start(move |req: &Req| {
        let at = |path: &str| format!("http://{}:{}{path}", req.host, req.port);
        let entry = |path: &str, changed: &str| {
            format!(
                "<url><loc>{}</loc><lastmod>{changed}</lastmod></url>",
                at(path)
            )
        };
        match req.path.as_str() {
            "/robots.txt" => Resp::text("Sitemap: /s.xml"),
            // In the second pass one page is new, and one is newer.
            "/s.xml" => {
                let soon = SystemTime::now() + Duration::from_secs(3);
                let mut list = entry("/same", "2020-01-01");
                list += &match read.fetch_add(1, Ordering::SeqCst) {
                    0 | 2 => entry("/newer", "2020-01-01T00:00:00Z"),
                    _ => entry("/newer", &httpdate::fmt_http_date(soon)) + &entry("/new", "2020"),
                };
                list += &entry("/far-off", "2999-01-01");
                xml(&format!("<urlset>{list}</urlset>"))
            }
            "/newer" if req.header("if-none-match") == Some("\"1\"") => Resp::new(304),
            _ => Resp::html("<title>page</title>").header("ETag", "\"1\""),
        }
    });
    let folder = TempDir::new();
    let config = format!(
        "[crawl]\nseeds = [{:?}]\nfollow = false\nsitemaps = true\nrevisit = \"30d\"\n\
         [policy]\nmax_requests_per_minute = \"none\"\n[fetch]\nallow_private = true\n\
         [output]\npath = \"pages.jsonl\"\n[state]\ndir = \"state\"\n",
        server.url("/")
    );
    fs::write(folder.path().join("c.toml"), config).expect("a configuration");
    let pass = || {
        server.clear_log();
        canter(["run", "c.toml", "-q"])
            .dir(folder.path())
            .run()
            .expect_code(0);
        let log = server.log();
        let mut paths: Vec<String> = log.paths().into_iter().map(str::to_owned).collect();
        paths.sort_unstable();
        paths
    };
    assert_eq!(
        pass(),
        ["/", "/far-off", "/newer", "/robots.txt", "/s.xml", "/same"]
    );
    assert_eq!(pass(), ["/new", "/newer", "/s.xml"]);
    assert_eq!(pass(), ["/s.xml"]);
    let records = jsonl::read(folder.path().join("pages.jsonl"));
    assert_eq!(
        records.len(),
        5,
        "what has not changed is no new record: {records:?}"
    );
}
