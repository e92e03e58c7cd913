//! The fixture site is what `site.expected.jsonl` says of it, and the server
//! that shows it keeps to its folder.

mod common;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use common::site::{Site, USUAL_PORT};
use common::{Server, TempDir, jsonl};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");

struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

/// One request on a connection of its own.
fn get(server: &Server, at: usize, path: &str, field: &str) -> Answer {
    let mut stream = TcpStream::connect(server.authority(at)).expect("the server listens");
    let limit = Duration::from_secs(20);
    stream.set_read_timeout(Some(limit)).expect("not zero");
    let request = format!("GET {path} HTTP/1.1\r\nConnection: close\r\n{field}\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut all = Vec::new();
    stream.read_to_end(&mut all).expect("an answer");
    let end = all
        .windows(4)
        .position(|w| w == b"\r\n\r\n")
        .expect("a head");
    let body = all.split_off(end + 4);
    let head = String::from_utf8(all).expect("ASCII");
    Answer {
        status: head[9..12].parse().expect("a status"),
        head,
        body,
    }
}

fn serve(folder: impl AsRef<Path>) -> Server {
    let site = Site::load(folder.as_ref()).expect("the site can be read");
    Server::builder()
        .addresses(&["127.0.0.1", "127.0.0.2"])
        .start(move |req| site.answer(req))
}

/// The place of a URL's host among the server's, and its path.
fn place(url: &str) -> Option<(usize, &str)> {
    ["127.0.0.1", "127.0.0.2"]
        .iter()
        .enumerate()
        .find_map(|(at, host)| {
            let origin = format!("http://{host}:{USUAL_PORT}");
            Some((at, url.strip_prefix(&origin)?))
        })
}

#[test]
fn every_page_answers_as_the_expected_file_says() {
    let server = serve(Path::new(FIXTURES).join("site"));
    let expected = jsonl::read(Path::new(FIXTURES).join("site.expected.jsonl"));
    let urls: Vec<_> = expected
        .iter()
        .map(|line| jsonl::text(line, "url"))
        .collect();
    assert!(urls.is_sorted(), "lines are ordered by URL");
    assert_eq!(jsonl::by(&expected, "url").len(), urls.len());
    let port = server.port().to_string();
    for line in &expected {
        let url = jsonl::text(line, "url");
        let Some((at, path)) = place(url) else {
            assert_eq!(line["reason"], "scope", "{url}");
            continue;
        };
        if line["end"] == "skipped" {
            assert_eq!(line["reason"], "robots", "{url}");
            continue;
        }
        let attempts = line["attempts"].as_u64().expect("a number");
        for _ in 1..attempts {
            let status = get(&server, at, path, "").status;
            assert!(matches!(status, 429 | 503), "{url}: {status}");
        }
        let answer = get(&server, at, path, "");
        assert_eq!(line["status"], answer.status, "{url}");
        if let Some(to) = line["to"].as_str() {
            let to = to.replace(&USUAL_PORT.to_string(), &port);
            let to_path = place(jsonl::text(line, "to")).expect("on this site").1;
            let location = answer
                .head
                .lines()
                .find_map(|l| l.strip_prefix("Location: "))
                .expect("a location");
            assert!(location == to || location == to_path, "{url}: {location}");
        }
        if let Some(title) = line["title"].as_str() {
            let encoding = if path.starts_with("/ru/") {
                encoding_rs::WINDOWS_1251
            } else {
                encoding_rs::UTF_8
            };
            let text = encoding.decode_without_bom_handling(&answer.body).0;
            let title = title.replace('&', "&amp;");
            assert!(text.contains(&format!("<title>{title}</title>")), "{url}");
            assert!(answer.head.contains("Content-Type: text/html\r\n"), "{url}");
        }
    }
}

#[test]
fn every_link_of_the_site_is_in_the_expected_file() {
    // The links as written, resolved by hand where a page says otherwise.
    let expected = jsonl::read(Path::new(FIXTURES).join("site.expected.jsonl"));
    let known: BTreeSet<_> = expected
        .iter()
        .map(|line| jsonl::text(line, "url"))
        .collect();
    let site = Path::new(FIXTURES).join("site");
    let mut unknown = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for url in &known {
        let Some((at, path)) = place(url) else {
            continue;
        };
        let host = ["127.0.0.1", "127.0.0.2"][at];
        let mut file = path.trim_start_matches('/').to_owned();
        if file.is_empty() || file.ends_with('/') {
            file.push_str("index.html");
        }
        let Ok(bytes) = std::fs::read(site.join(host).join(file)) else {
            continue;
        };
        let text = String::from_utf8_lossy(&bytes);
        let page: url::Url = url.parse().expect("a URL");
        let base = text.split("<base href=\"").nth(1).map_or_else(
            || page.clone(),
            |rest| {
                let href = rest.split('"').next().expect("an end");
                page.join(href).expect("a URL")
            },
        );
        for tag in text.split("<a ").skip(1) {
            let href = tag.split("href=\"").nth(1).expect("a link");
            let href = href.split('"').next().expect("an end");
            if tag.starts_with("rel=\"nofollow") || href.contains('\u{FFFD}') {
                continue;
            }
            let mut link = base.join(href).expect("a URL");
            link.set_fragment(None);
            seen.insert(link.to_string());
            if link.scheme().starts_with("http") && !known.contains(link.as_str()) {
                unknown.insert((link.to_string(), (*url).to_owned()));
            }
        }
    }
    assert!(unknown.is_empty(), "{unknown:?}");
    let origin = format!("http://127.0.0.1:{USUAL_PORT}");
    let unlinked: Vec<_> = known.iter().filter(|url| !seen.contains(**url)).collect();
    // The first is known to the sitemap alone; the second is linked in
    // Cyrillic letters of windows-1251.
    let want = [
        format!("{origin}/blog/winter-hours.html"),
        format!("{origin}/ru/%D0%BB%D0%B0%D0%BC%D0%BF%D1%8B.html"),
    ];
    assert_eq!(unlinked.len(), want.len(), "{unlinked:?}");
    assert!(want.iter().all(|url| known.contains(url.as_str())));
}

#[test]
fn the_slow_page_is_slow_and_the_others_are_not() {
    let server = serve(Path::new(FIXTURES).join("site"));
    let start = Instant::now();
    get(&server, 0, "/slow.html", "");
    assert!(start.elapsed() >= Duration::from_millis(1500));
    assert_eq!(
        get(&server, 0, "/busy.html", "")
            .head
            .matches("Retry-After: 2\r\n")
            .count(),
        1
    );
    assert_eq!(get(&server, 0, "/busy.html", "").status, 200);
}

#[test]
fn pages_name_the_port_they_are_served_on() {
    let server = serve(Path::new(FIXTURES).join("site"));
    let robots = get(&server, 0, "/robots.txt", "");
    let text = String::from_utf8(robots.body).expect("UTF-8");
    let line = format!("Sitemap: http://127.0.0.1:{}/sitemap.xml\n", server.port());
    assert!(text.ends_with(&line), "{text}");
    assert!(
        robots.head.contains("Content-Type: text/plain"),
        "{}",
        robots.head
    );
}

#[test]
fn the_server_keeps_to_its_folder() {
    let folder = TempDir::new();
    folder.write("secret.txt", "secret");
    folder.write("site/behaviour.toml", "");
    folder.write("site/a b/index.html", "<title>x");
    let server = serve(folder.join("site"));
    for path in [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/a%20b/..%2f..%2fsecret.txt",
        "/behaviour.toml",
        "//behaviour.toml",
        "/%00",
        "/%",
        "/missing/",
        "/a%20b/index.html/",
        "*",
    ] {
        assert_eq!(get(&server, 0, path, "").status, 404, "{path}");
    }
    assert_eq!(get(&server, 0, "/a%20b/", "").status, 200);
    let moved = get(&server, 0, "/a%20b", "");
    assert!(
        moved.head.contains("Location: /a%20b/\r\n"),
        "{}",
        moved.head
    );
}

#[test]
fn a_file_that_did_not_change_is_not_sent_again() {
    let folder = TempDir::new();
    let file = folder.write("a.txt", "one");
    let server = serve(folder.path());
    let first = get(&server, 1, "/a.txt", "");
    let tag = first.head.lines().find_map(|l| l.strip_prefix("ETag: "));
    let field = format!("If-None-Match: {}\r\n", tag.expect("a tag"));
    let again = get(&server, 1, "/a.txt", &field);
    assert_eq!((again.status, again.body), (304, vec![]));
    std::fs::write(file, "two").expect("it can be written");
    let changed = get(&server, 1, "/a.txt", &field);
    assert_eq!((changed.status, changed.body), (200, b"two".to_vec()));
}

#[test]
fn behaviour_that_cannot_be_read_is_an_error_that_names_the_place() {
    for (text, part) in [
        ("[[path]]\npath = \"/x\"\nalway = 1\n", "alway"),
        (
            "[[path]]\npath = \"x\"\n",
            "\"x\": a path begins with a slash",
        ),
        ("[[path]]\npath = \"/x\"\ndelay = -1.0\n", "not a time"),
        (
            "[[path]]\npath = \"/x\"\n[[path]]\npath = \"/x\"\n",
            "twice",
        ),
    ] {
        let folder = TempDir::new();
        folder.write("behaviour.toml", text);
        let error = Site::load(folder.path()).err().expect(text);
        assert!(
            error.contains("behaviour.toml") && error.contains(part),
            "{error}"
        );
    }
    assert!(Site::load("/no/such/folder").is_err());
}
