//! What each parser promises of any input whatever, as functions that panic
//! when it is broken. The mutation tests and the fuzz targets share them.

#![allow(
    dead_code,
    reason = "each fuzz target uses its own part of these promises"
)]

use std::ops::ControlFlow;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use canter::charset::{decode, detect};
use canter::config::{Origin, Source};
use canter::html::{Page, PageOptions, page_links, robots_directives, visible_text};
use canter::http::{MediaType, date, retry_after, retry_after_fields, sniff};
use canter::robots::{Robots, product_token};
use canter::sitemap::{parse, parse_with};
use canter::uri::{self, DropParams, Glob, HostPattern};
use canter::{Scope, TrapLimits};
use encoding_rs::{BIG5, EUC_KR, GB18030, ISO_2022_JP, UTF_8, UTF_16LE, WINDOWS_1251};
use url::{Position, Url};

/// A URL that is known to be one.
fn url(text: &str) -> Url {
    Url::parse(text).expect(text)
}

/// However a file is asked, it gives one answer.
pub(crate) fn robots(body: &[u8]) {
    let urls = [
        "https://a.test/",
        "https://a.test/aab?x=%c3%A9#f",
        "https://a.test/a/%2fé*$",
        "mailto:x",
    ]
    .map(url);
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
        for sitemap in robots.sitemaps() {
            assert_eq!(sitemap.trim(), sitemap);
            assert!(!sitemap.is_empty());
        }
    }
    let text = String::from_utf8_lossy(body);
    assert!(text.contains(product_token(&text)));
}

/// Whatever a page is, its items have every field of the rules, web addresses
/// and numbers are such, and reading it again gives the same.
#[cfg(feature = "select")]
pub(crate) fn items(body: &[u8]) {
    use canter::select::{Dom, Field, Kind, Rules, Value};

    let text = String::from_utf8_lossy(body);
    let at = url("http://u:p@a.test/dir/page?q#f");
    let field = |name: &str, kind| Field::new(name).select("*").expect("CSS").kind(kind).list();
    let kinds = [Kind::Text, Kind::Number, Kind::Date, Kind::Url, Kind::Html];
    let rules = kinds.into_iter().fold(Rules::new("r"), |rules, kind| {
        rules
            .field(field(&format!("{kind:?}"), kind))
            .expect("a field")
    });
    let rules = rules
        .field(Field::new("one").select("a, p").expect("CSS"))
        .expect("a field");
    let Ok(dom) = Dom::parse(&text, &at, UTF_8) else {
        return;
    };
    let extracted = rules.extract(&dom);
    assert_eq!(
        extracted,
        rules.extract(&Dom::parse(&text, &at, UTF_8).expect("again"))
    );
    for item in &extracted.items {
        assert_eq!(item.fields().count(), 6);
        assert_eq!(item.url().as_str(), "http://a.test/dir/page?q#f");
        let list = |name: &str| match item.get(name) {
            Some(Value::List(values)) => values.as_slice(),
            other => panic!("no list: {other:?}"),
        };
        for value in list("Url") {
            let Value::Text(text) = value else {
                panic!("no address: {value:?}")
            };
            is_sound(&url(text));
        }
        for value in list("Number") {
            let Value::Number(number) = value else {
                panic!("no number: {value:?}")
            };
            let read: f64 = serde_json::from_str(number.as_str()).expect("a number of JSON");
            assert!(read.is_finite());
        }
        for value in list("Text") {
            assert!(matches!(value, Value::Text(text) if !text.is_empty()));
        }
        serde_json::to_string(item).expect("a record");
    }
}

/// Links are web addresses, each there once; however a page is asked, it gives
/// one answer; and text is text.
pub(crate) fn html(body: &[u8]) {
    let text = String::from_utf8_lossy(body);
    let at = url("http://a.test/dir/page?q#f");
    let all = PageOptions::new()
        .metas(true)
        .text(true)
        .json_ld(true)
        .agent("us/1");
    let page = Page::parse(&text, &at, UTF_8, &all);
    let plain = Page::parse(&text, &at, UTF_8, &PageOptions::new());
    let links = page_links(&text, &at);
    assert_eq!(plain.links(), links);
    assert_eq!(plain.title(), page.title());
    for object in page.json_ld().into_iter().flatten() {
        assert!(!object.contains(char::is_control), "{object:?}");
        let read: serde_json::Value = serde_json::from_str(object).expect("JSON");
        assert!(read.is_object());
    }
    assert_eq!(plain.base(), page.base());
    let mut seen: Vec<&str> = Vec::with_capacity(links.len());
    for link in &links {
        is_sound(&link.url);
        seen.push(link.url.as_str());
    }
    seen.sort_unstable();
    assert!(
        seen.windows(2).all(|pair| pair[0] != pair[1]),
        "a link is there twice"
    );
    if page.robots().nofollow {
        assert!(page.links().iter().all(|link| link.nofollow));
    }
    let visible = visible_text(&text);
    assert_eq!(page.text(), Some(visible.as_str()));
    for words in [page.title(), page.description()].into_iter().flatten() {
        let again: Vec<&str> = words.split_ascii_whitespace().collect();
        assert_eq!(again.join(" "), words, "white space is not collapsed");
        assert!(!words.is_empty());
    }
    if let Some(canonical) = page.canonical() {
        is_sound(canonical);
    }
    // In other encodings only queries differ.
    for encoding in [WINDOWS_1251, ISO_2022_JP] {
        let other = Page::parse(&text, &at, encoding, &PageOptions::new());
        for link in other.links() {
            is_sound(&link.url);
        }
    }
    let header = robots_directives(&text, "us");
    assert_eq!(header, robots_directives(&text, "US/2.0 (x)"));
}

/// Locations are absolute and trimmed, and a cap is kept.
pub(crate) fn sitemap(body: &[u8]) {
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
}

/// What is detected is what is decoded from.
pub(crate) fn charset(body: &[u8]) {
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
}

/// What is valid to the letter is valid to the lenient reader too, and no value
/// or clock is too odd.
pub(crate) fn retry_after_header(body: &[u8]) {
    let text = String::from_utf8_lossy(body);
    for now in [
        UNIX_EPOCH,
        UNIX_EPOCH + Duration::from_secs(1_796_040_000),
        UNIX_EPOCH - Duration::from_secs(1 << 40),
        UNIX_EPOCH + Duration::from_secs(1 << 40),
        SystemTime::UNIX_EPOCH + Duration::from_secs(i64::MAX as u64),
    ] {
        let strict = retry_after(&text, now);
        let lenient = retry_after_fields([text.as_bytes(), body], Some(body), now);
        assert!(strict.is_none() || lenient.is_some(), "{text}");
        let _ = date(&text, now);
    }
    let media = MediaType::parse(&text);
    assert!(!media.essence().bytes().any(|b| b.is_ascii_uppercase()));
    assert_ne!(media.charset(), Some(""));
}

/// A base on the first line, a reference in the rest: what is resolved is a
/// sound web address, whatever is then done with it.
pub(crate) fn url_reference(body: &[u8]) {
    let (first, raw) = match body.iter().position(|&byte| byte == b'\n') {
        Some(at) => (&body[..at], &body[at + 1..]),
        None => (&b""[..], body),
    };
    let base = uri::parse(&String::from_utf8_lossy(first))
        .unwrap_or_else(|| url("http://a.test/dir/page?q#f"));
    is_sound(&base);
    let href = String::from_utf8_lossy(raw);
    if let Some(target) = uri::resolve(&base, &href) {
        is_sound(&target);
        let absolute = uri::resolve(&base, target.as_str());
        assert_eq!(absolute.as_ref(), Some(&target), "an absolute URL moved");
    }
    for encoding in [GB18030, BIG5, EUC_KR, ISO_2022_JP, WINDOWS_1251, UTF_16LE] {
        if let Some(target) = uri::resolve_with_encoding(&base, &href, encoding) {
            is_sound(&target);
        }
    }
    if let Some(target) = uri::resolve_location(&base, raw) {
        is_sound(&target);
    }
    if let Ok(glob) = Glob::new(href.clone()) {
        let _ = glob.matches(&base);
        assert_eq!(glob.as_str(), href);
    }
    if let Ok(host) = HostPattern::new(&href) {
        let _ = host.matches(&base);
    }
    let drop = DropParams::new([href.trim()]);
    let dropped = drop.apply(base.clone());
    assert_eq!(drop.apply(dropped.clone()), dropped);
    is_sound(&dropped);
}

/// Whether a URL can be kept, written, read again and compared.
fn is_sound(url: &Url) {
    assert!(uri::is_web(url), "{url}");
    assert!(url.has_host(), "{url}");
    assert_eq!(Url::parse(url.as_str()).as_ref(), Ok(url), "read again");
    let canonical = uri::canonical(url);
    assert_eq!(uri::canonical(&canonical), canonical, "canonical twice");
    assert_eq!(uri::canonical_str(url), canonical.as_str());
    assert!(canonical.fragment().is_none());
    let fingerprint = |url| uri::fingerprint("GET", url, b"");
    assert_eq!(fingerprint(url), fingerprint(&canonical));
    let host = uri::host_key(url);
    assert!(!host.is_empty() && !host.bytes().any(|byte| byte.is_ascii_uppercase()));
    let origin = Url::parse(&uri::origin(url)).expect("an origin is a URL");
    assert_eq!(origin.origin(), url.origin());
    let bare = uri::without_credentials(url);
    assert!(bare.username().is_empty() && bare.password().is_none());
    assert_eq!(Url::parse(bare.as_str()).as_ref(), Ok(&*bare));
    let scope = Scope::default();
    let clean = scope.clean(url.clone());
    assert_eq!(scope.clean(clean.clone()), clean, "cleaned twice");
    assert_eq!(clean.host(), url.host());
    assert_eq!(Url::parse(clean.as_str()).as_ref(), Ok(&clean));
    let _ = TrapLimits::default().check(url);
}

/// What no message and no listing may show.
const SECRET: &str = "s3cr3t-of-the-environment";

/// Whatever is wrong is named; what is right is valid; and nothing tells what
/// came from the environment.
pub(crate) fn config(body: &[u8]) {
    let text = String::from_utf8_lossy(body);
    let source = || {
        Source::text(text.clone())
            .environment(|name| (name != "MISSING").then(|| format!("http://{SECRET}.test/")))
    };
    match source().read() {
        Err(error) => {
            assert!(!error.problems().is_empty());
            for problem in error.problems() {
                assert!(!problem.message.is_empty());
                if let Origin::File { line, column } = problem.origin {
                    assert!(line >= 1 && column >= 1);
                    // One more than there are line ends, and one for what is
                    // missing at the end.
                    assert!(line <= text.matches(['\n', '\r']).count() + 2, "{error}");
                }
            }
            assert!(!error.to_string().contains(SECRET), "{error}");
        }
        Ok(settings) => {
            assert!(settings.policy.validate().is_ok());
            let shown = format!("{settings:?}");
            assert!(!shown.contains(SECRET), "{shown}");
            assert!(settings.entries().iter().all(|entry| {
                !entry.value.is_empty() && !entry.value.contains(['\n', '\r', '\u{1b}'])
            }));
            let again = source().read().expect("it could be read before");
            assert_eq!(format!("{again:?}"), shown);
            // Lists of seeds would have to be read.
            if settings.crawl.seed_files.is_empty() {
                let crawl = settings.crawler().map(drop);
                assert!(crawl.is_ok(), "found too late: {crawl:?}");
            }
        }
    }
}
