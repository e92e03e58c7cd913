//! Parsers against damaged input: from well-formed seeds, by random but
//! repeatable mutations.
//!
//! Invariant: no parser panics, and each comes back; what one promises of every
//! input is asserted for every mutant.

use std::ops::ControlFlow;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use canter::charset::{decode, detect};
use canter::http::{MediaType, date, retry_after, retry_after_fields, sniff};
use canter::robots::{Robots, product_token};
use canter::sitemap::{parse, parse_with};
use fastrand::Rng;
use url::{Position, Url};

/// Mutants per parser: about a second of them in a debug build.
const MUTANTS: usize = 12_000;

/// The longest mutant, in bytes.
const LONGEST: usize = 4_096;

/// A mutant of a seed: some edits, each of a kind that parsers get wrong.
fn mutant(rng: &mut Rng, seeds: &[&[u8]], tokens: &[&[u8]]) -> Vec<u8> {
    let mut body = seeds[rng.usize(..seeds.len())].to_vec();
    for _ in 0..rng.usize(1..8) {
        let at = rng.usize(..=body.len());
        let length = rng.usize(..=(body.len() - at).min(64));
        match rng.u8(..8) {
            0 => body.truncate(at),
            1 => drop(body.drain(at..at + length)),
            2 => body.insert(at, rng.u8(..)),
            3 if length > 0 => body[at] ^= 1 << rng.u8(..8),
            4 => {
                let copy = body[at..at + length].repeat(rng.usize(1..9));
                body.splice(at..at, copy);
            }
            5 => {
                let seed = seeds[rng.usize(..seeds.len())];
                let from = rng.usize(..=seed.len());
                body.splice(at..at + length, seed[from..].iter().copied().take(128));
            }
            _ => {
                let token = tokens[rng.usize(..tokens.len())];
                body.splice(at..at, token.iter().copied());
            }
        }
    }
    body.truncate(LONGEST);
    body
}

fn each_mutant(seed: u64, seeds: &[&[u8]], tokens: &[&[u8]], mut check: impl FnMut(&[u8])) {
    let mut rng = Rng::with_seed(seed);
    for body in seeds {
        check(body);
    }
    for _ in 0..MUTANTS {
        check(&mutant(&mut rng, seeds, tokens));
    }
}

#[test]
fn robots_txt() {
    let seeds: [&[u8]; 3] = [
        b"User-agent: *\nDisallow: /a*b$\nAllow: /a/%2F%c3%a9\n# note\nCrawl-delay: 2.5\nSitemap: /map.xml\n",
        b"\xEF\xBB\xBFUser-agent: us\r\nUser-agent: them\r\n\r\nDisallow:\r\nDisallow: /*.gif$\r\nUser-agent: *\rDisallow: /\r",
        b"U\0s\0e\0r\0-\0a\0g\0e\0n\0t\0:\0*\0\n\0D\0i\0s\0a\0l\0l\0o\0w\0:\0/\0",
    ];
    let tokens: [&[u8]; 14] = [
        b"\n",
        b"\r",
        b"\0",
        b":",
        b"*",
        b"$",
        b"%",
        b"%2",
        b"#",
        b"\xFF",
        b"\xFE\xFF",
        b"User-agent: us\n",
        b"Disallow: /",
        b"Crawl-delay: 1e999\n",
    ];
    let urls = [
        "https://a.test/",
        "https://a.test/aab?x=%c3%A9#f",
        "https://a.test/a/%2fé*$",
        "mailto:x",
    ]
    .map(|url| Url::parse(url).expect(url));
    each_mutant(1, &seeds, &tokens, |body| {
        for robots in [Robots::parse(body), Robots::parse_truncated(body)] {
            for agent in ["us", "Other/1.0", ""] {
                let rules = robots.rules_for(agent);
                assert_eq!(rules.crawl_delay(), robots.crawl_delay(agent));
                for url in &urls {
                    let allowed = robots.allows(agent, url);
                    let decision = robots.decide(agent, url);
                    let path = &url[Position::BeforePath..Position::AfterQuery];
                    assert_eq!(decision.allowed, allowed);
                    assert_eq!(rules.allows(path), allowed, "{}", body.escape_ascii());
                    assert!(allowed || decision.line.is_some());
                }
            }
        }
        let text = String::from_utf8_lossy(body);
        assert!(text.contains(product_token(&text)));
    });
}

#[test]
fn header_fields() {
    let seeds: [&[u8]; 7] = [
        b"120",
        b"299.4, 5",
        b"Sun, 06 Nov 1994 08:49:37 GMT",
        b"Sunday, 06-Nov-94 08:49:37 GMT",
        b"Sun Nov  6 08:49:37 1994",
        b"text/html; charset=\"utf-8\"",
        b"TEXT/HTML;charset, application/xml ; a='b'; charset = \"x\\\"y\"",
    ];
    let tokens: [&[u8]; 12] = [
        b"99999999999999999999",
        b"-",
        b",",
        b";",
        b"\"",
        b"\\",
        b"'",
        b"=",
        b"/",
        b" ",
        b"29 Feb",
        b"\xC3\xA9",
    ];
    let instants = [
        UNIX_EPOCH,
        UNIX_EPOCH + Duration::from_secs(1_796_040_000),
        UNIX_EPOCH - Duration::from_secs(1 << 40),
        UNIX_EPOCH + Duration::from_secs(1 << 40),
        SystemTime::UNIX_EPOCH + Duration::from_secs(i64::MAX as u64),
    ];
    each_mutant(2, &seeds, &tokens, |body| {
        let text = String::from_utf8_lossy(body);
        for now in instants {
            let strict = retry_after(&text, now);
            let lenient = retry_after_fields([text.as_bytes(), body], Some(body), now);
            assert!(strict.is_none() || lenient.is_some(), "{text}");
            let _ = date(&text, now);
        }
        let media = MediaType::parse(&text);
        assert!(!media.essence().bytes().any(|b| b.is_ascii_uppercase()));
        assert_ne!(media.charset(), Some(""));
    });
}

#[test]
fn charsets() {
    let seeds: [&[u8]; 5] = [
        b"<!DOCTYPE html><!-- x --><meta charset='koi8-r'><title>\xC1</title>",
        b"<a href=\"x>\"><meta http-equiv=Content-Type content='text/html; charset=\"big5\"'>\xA4\xA4",
        b"<?xml version=\"1.0\" encoding='iso-2022-jp'?><html>\x1B$B",
        "<p>naïve €</p>".as_bytes(),
        b"\xFF\xFEh\0i\0\0\xD8",
    ];
    let tokens: [&[u8]; 12] = [
        b"<meta ",
        b"charset=",
        b"utf-16",
        b"x-user-defined",
        b"gb18030",
        b"-->",
        b"<!-->",
        b"<!",
        b"</",
        b">",
        b"\0",
        b"\xE2\x82",
    ];
    each_mutant(3, &seeds, &tokens, |body| {
        for content_type in [
            None,
            Some("text/html"),
            Some("text/xml"),
            Some("text/plain; charset=utf-16"),
        ] {
            let (text, encoding) = decode(body, content_type);
            assert_eq!(
                detect(body, content_type),
                encoding,
                "{}",
                body.escape_ascii()
            );
            assert!(text.len() <= body.len() * 3 + 3);
        }
        let _ = sniff(body);
    });
}

#[test]
fn sitemaps() {
    let seeds: [&[u8]; 6] = [
        b"<?xml version='1.0' encoding='UTF-8'?><urlset xmlns='x'><url><loc>http://a.test/?a&amp;b</loc><lastmod>2020</lastmod><image:image><image:loc>http://a.test/i</image:loc></image:image></url></urlset>",
        b"<sitemapindex><sitemap><loc><![CDATA[http://a.test/1]]></loc></sitemap><!-- x --></sitemapindex>",
        b"<rss><channel><item><title>A &eacute; B</title><link>http://a.test/1</link></item></channel></rss>",
        b"<!DOCTYPE feed [<!ENTITY a 'b'>]><feed><entry><link rel=alternate href='http://a.test/&#38;'/><updated>1</updated></entry></feed>",
        b"http://a.test/1\r\nhttp://a.test/2\n",
        b"\xFF\xFE<\0u\0r\0l\0s\0e\0t\0>\0<\0u\0r\0l\0>\0<\0l\0o\0c\0>\0h\0t\0t\0p\0:\0/\0/\0a\0",
    ];
    let tokens: [&[u8]; 20] = [
        b"<",
        b">",
        b"</",
        b"/>",
        b"&",
        b";",
        b"&#x",
        b"<!--",
        b"-->",
        b"<![CDATA[",
        b"]]>",
        b"<!DOCTYPE ",
        b"<?",
        b"?>",
        b"<url>",
        b"</loc>",
        b"\0",
        b"'",
        b"\"",
        b"<loc>http://a.test/x",
    ];
    each_mutant(4, &seeds, &tokens, |body| {
        let sitemap = parse(body);
        for entry in &sitemap.entries {
            assert!(
                entry
                    .loc
                    .get(..4)
                    .is_some_and(|start| start.eq_ignore_ascii_case("http"))
            );
            assert_eq!(entry.loc.trim(), entry.loc);
            assert_ne!(entry.lastmod.as_deref(), Some(""));
        }
        let mut given = 0;
        let summary = parse_with(body, 1, |kind, _| {
            assert_eq!(kind, sitemap.kind);
            given += 1;
            ControlFlow::Continue(())
        });
        assert_eq!(
            (given, summary.entries),
            (sitemap.entries.len().min(1), given)
        );
        assert!(sitemap.error.is_some() || sitemap.kind.as_str() != "unknown");
    });
}
