//! Pages and URLs bent out of shape: whatever comes from the network, nothing
//! panics and the invariants of `html` and `uri` hold. Deterministic.

use std::time::{Duration, Instant};

use canter::Url;
use canter::html::{Page, PageOptions, page_links, robots_directives, visible_text};
use canter::uri::{self, DropParams, Glob, HostPattern, Hosts};
use encoding_rs::{Encoding, GB18030, ISO_2022_JP, SHIFT_JIS, UTF_8, WINDOWS_1252};
use fastrand::Rng;

/// How long each test goes on on a fast machine; a slow one stops early.
const TIME: Duration = Duration::from_millis(900);
/// Mutants per test, so that two runs on a fast machine do the same.
const MUTANTS: u64 = 4_000;

const PAGES: [&str; 8] = [
    "<!doctype html><html lang=en><head><title>T &amp; u</title><base href='/b/?x'>\
     <meta name=robots content='noindex, nofollow'><meta http-equiv=refresh content=\"3; url='/r'\">\
     <link rel=canonical href=/c></head><body><p>a<br>b &eacute;<a href=\"one.html\" rel=nofollow>1</a>",
    "<svg><title>x</title><foreignObject><div><p><a href=/f>f</a></div></foreignObject>\
     <style><a href=/s></style><![CDATA[<a href=/n>]]></svg><math><mi><a href=/m></mi></math>",
    "<frameset><frame src=/f1><noframes><a href=/n></noframes></frameset>",
    "<template><a href=/t><template></template></template><select><option>o<a href=/o></select>",
    "<script><!--<script>'</script>'--></script><textarea></textare></textarea><xmp></xmp>",
    "<table><tr><td hidden>1<td style='display:none'>2</table><pre>\n x\n</pre><noscript><a href=/ns>",
    "<a href='http://[::1]:80/%zz?q=%e4#f'>\u{e9}</a><a href='///x.test/../y'><a href='1.\thttps://b.test/'>",
    "<math><annotation-xml encoding=text/html><iframe src=/i></iframe></annotation-xml><font color=x>",
];

const REFERENCES: [&str; 10] = [
    "http://user:pw@Example.COM:80/a/./b/../c;jsessionid=1?x=1&utm_source=y&sid=z#frag",
    "https://b\u{fc}cher.example./\u{65e5}\u{672c}?q=\u{2603}&%e4",
    "///host.test/x",
    "\\\\host\\share?x",
    "?q=a b&c#d",
    "../../..//%2e%2E/x",
    "mailto:x@y.test",
    "http://[::1]:8080/",
    "//0x7f.1/",
    "javascript:alert(1)",
];

/// Pieces that matter to one parser or another.
const PIECES: [&str; 30] = [
    "<",
    ">",
    "</",
    "/>",
    "<!--",
    "-->",
    "\"",
    "'",
    "=",
    "&",
    "&amp",
    ";",
    "\0",
    "\r\n",
    " ",
    "#",
    "?",
    "%",
    "%2F",
    "%e",
    "\u{e9}",
    "\u{1F600}",
    "<svg>",
    "</svg>",
    "<template>",
    "</template>",
    "<a href=/z>",
    "<title>",
    "]]>",
    "://",
];

fn mutate(seed: &str, rng: &mut Rng) -> String {
    let mut text: Vec<char> = seed.chars().collect();
    for _ in 0..rng.usize(1..6) {
        let at = rng.usize(..=text.len());
        let to = (at + rng.usize(..12)).min(text.len());
        match rng.u8(..5) {
            0 => drop(text.drain(at..to)),
            1 => drop(text.splice(at..at, rng.choice(PIECES).unwrap_or_default().chars())),
            2 => {
                let copy: Vec<char> = text[at..to].to_vec();
                let put = rng.usize(..=text.len());
                text.splice(put..put, copy);
            }
            3 => text.truncate(at),
            _ => {
                if let Some(c) = text.get_mut(at) {
                    *c = char::from(rng.u8(..));
                }
            }
        }
    }
    text.into_iter().collect()
}

/// Runs `check` on mutants of the seeds.
fn over_mutants(seeds: &[&str], mut check: impl FnMut(&str, &mut Rng)) {
    let start = Instant::now();
    for number in 0..MUTANTS {
        let mut rng = Rng::with_seed(number);
        let mut text = mutate(seeds[number as usize % seeds.len()], &mut rng);
        if rng.u8(..4) == 0 {
            text.push_str(&mutate(rng.choice(seeds).unwrap_or(&""), &mut rng));
        }
        check(&text, &mut rng);
        if start.elapsed() > TIME {
            break;
        }
    }
}

fn encoding(rng: &mut Rng) -> &'static Encoding {
    let all = [UTF_8, WINDOWS_1252, SHIFT_JIS, GB18030, ISO_2022_JP];
    all[rng.usize(..all.len())]
}

#[test]
fn the_links_of_any_page_are_web_urls_each_once() {
    let base = Url::parse("http://a.test/x/y?z").expect("a URL");
    let options = PageOptions::new()
        .metas(true)
        .text(true)
        .json_ld(true)
        .agent("canter");
    over_mutants(&PAGES, |html, rng| {
        let page = Page::parse(html, &base, encoding(rng), &options);
        let mut urls: Vec<&str> = page.links().iter().map(|link| link.url.as_str()).collect();
        let count = urls.len();
        for url in &urls {
            assert!(
                url.starts_with("http://") || url.starts_with("https://"),
                "{url} in {html:?}"
            );
        }
        urls.sort_unstable();
        urls.dedup();
        assert_eq!(urls.len(), count, "a URL is there twice in {html:?}");
        assert!(
            page.title()
                .is_none_or(|title| title == title.trim_ascii() && !title.is_empty())
        );

        let in_utf_8 = Page::parse(html, &base, UTF_8, &PageOptions::new());
        assert_eq!(in_utf_8.links(), page_links(html, &base), "{html:?}");
        assert_eq!(page.text(), Some(visible_text(html).as_str()), "{html:?}");
        let _ = robots_directives(html, "canter");
    });
}

#[test]
fn any_reference_resolves_to_itself_and_has_one_canonical_form() {
    let base = Url::parse("http://a.test/x/y?z").expect("a URL");
    let drop = DropParams::session_ids().and(["utm_*"]);
    over_mutants(&REFERENCES, |href, rng| {
        let _ = uri::resolve_location(&base, &href.chars().map(|c| c as u8).collect::<Vec<_>>());
        let Some(url) = uri::resolve_with_encoding(&base, href, encoding(rng)) else {
            return;
        };
        assert!(uri::is_web(&url) && url.has_host(), "{href:?}");
        assert_eq!(
            uri::resolve(&base, url.as_str()).as_ref(),
            Some(&url),
            "{href:?}"
        );
        assert_eq!(uri::parse(url.as_str()).as_ref(), Some(&url), "{href:?}");

        let canonical = uri::canonical(&url);
        assert_eq!(canonical.as_str(), uri::canonical_str(&url), "{href:?}");
        assert_eq!(uri::canonical(&canonical), canonical, "{href:?}");
        assert_eq!(
            uri::parse(canonical.as_str()).as_ref(),
            Some(&canonical),
            "{href:?}"
        );
        let key = |url: &Url| uri::fingerprint("GET", url, b"");
        assert_eq!(key(&url), key(&canonical), "{href:?}");

        let dropped = uri::drop_params(&url, &drop);
        assert_eq!(uri::drop_params(&dropped, &drop), dropped, "{href:?}");
        assert_eq!(dropped.host_str(), url.host_str(), "{href:?}");

        let public = uri::without_credentials(&url);
        assert_eq!(uri::origin(&public), uri::origin(&url), "{href:?}");
        assert!(public.username().is_empty() && public.password().is_none());
        assert_eq!(
            uri::origin(&url),
            url.origin().ascii_serialization(),
            "{href:?}"
        );
    });
}

#[test]
fn any_pattern_is_an_error_or_matches_what_it_was_made_from() {
    over_mutants(&REFERENCES, |text, rng| {
        let Some(url) = uri::parse(text) else {
            let _ = (HostPattern::new(text), Glob::new(text));
            return;
        };
        let host = uri::host_key(&url);
        // The URL standard allows a star in a host; a pattern means another.
        // And `80..` is a name, but `80` without its dots an address.
        if url.as_str().contains('*') || host.ends_with(|c: char| c.is_ascii_digit()) {
            return;
        }
        let hosts = Hosts::new([&*host]).expect("the host of a URL is a pattern");
        assert!(hosts.matches(&url), "{url}");

        let path = uri::canonical_str(&url);
        let path = &path[uri::origin(&url).len().min(path.len())..];
        let path = if url.username().is_empty() && url.password().is_none() {
            path
        } else {
            "/"
        };
        assert!(
            Glob::new(path).expect(path).matches(&url),
            "{path} and {url}"
        );
        // Stars in the place of any part of it still match.
        let letters: Vec<char> = path.split('?').next().unwrap_or(path).chars().collect();
        let from = rng.usize(1..=letters.len());
        let to = rng.usize(from..=letters.len());
        let (before, after) = (letters[..from].iter(), letters[to..].iter());
        let pattern: String = before.chain(['*', '*'].iter()).chain(after).collect();
        if let Ok(glob) = Glob::new(pattern.clone()) {
            assert!(glob.matches(&url), "{pattern} and {url}");
        }
    });
}
