//! The cookie jar, by what a request carries after an answer.

use std::time::{Duration, UNIX_EPOCH};

use super::*;

fn url(text: &str) -> Url {
    text.parse().expect(text)
}

/// 30 November 2026, noon.
fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_796_040_000)
}

fn take(jar: &Jar, from: &str, lines: &[&[u8]]) -> bool {
    jar.store(&url(from), lines.iter().copied(), now())
}

fn sent(jar: &Jar, to: &str) -> Vec<u8> {
    jar.header(&url(to), &[], now()).unwrap_or_default()
}

/// What goes back to the page that set one cookie.
fn echo(page: &str, line: impl AsRef<[u8]>) -> Vec<u8> {
    let jar = Jar::default();
    take(&jar, page, &[line.as_ref()]);
    sent(&jar, page)
}

#[test]
fn a_cookie_goes_back_to_its_scheme_host_and_port_only() {
    let jar = Jar::default();
    assert!(take(
        &jar,
        "https://a.b.test/x",
        &[b"id=7; Path=/; Domain=b.test"]
    ));
    for same in ["https://a.b.test/", "https://a.b.test:443/y?z"] {
        assert_eq!(sent(&jar, same), b"id=7", "{same}");
    }
    for other in [
        "http://a.b.test/",
        "https://a.b.test:8443/",
        "https://b.test/",
        "https://c.a.b.test/",
        "https://c.b.test/",
    ] {
        assert_eq!(sent(&jar, other), b"", "{other}");
    }
}

#[test]
fn a_domain_must_cover_the_host_and_does_no_more() {
    let cases = [
        ("http://a.b.co.uk/", "b.co.uk", true),
        ("http://a.b.co.uk/", ".B.co.UK", true),
        ("http://a.b.co.uk/", "co.uk", true),
        ("http://a.b.co.uk/", "", true),
        ("http://xn--bcher-kva.test/", "bücher.test", true),
        ("http://a.b.co.uk/", "c.b.co.uk", false),
        ("http://a.b.co.uk/", "x.a.b.co.uk", false),
        ("http://ab.test/", "b.test", false),
        ("http://a.test/", "a.test:80", false),
        ("http://127.0.0.1/", "127.0.0.1", true),
        ("http://127.0.0.1/", "0.0.1", false),
        ("http://[::1]/", "a.test", false),
    ];
    for (page, domain, kept) in cases {
        let jar = Jar::default();
        let line = format!("a=1; domain={domain}");
        assert_eq!(
            take(&jar, page, &[line.as_bytes()]),
            kept,
            "{page} {domain}"
        );
        assert_eq!(sent(&jar, page).is_empty(), !kept, "{page} {domain}");
        assert_eq!(sent(&jar, "http://co.uk/"), b"");
        assert_eq!(sent(&jar, "http://other.co.uk/"), b"");
    }
}

#[test]
fn names_and_values_go_back_byte_for_byte_if_no_control_character_is_in_them() {
    for line in [
        &b"ok={\"a\":1}"[..],
        b"ok=a b, c",
        b"ok=\"quoted\"",
        b"ok=back\\slash",
        b"ok=\xc3\xbc",
        b"ok=\xfc",
        b"ok=a\tb",
        b"ok==a=b",
        b"ok[a]=1",
        b"ok:a=1",
        b"ok/a=1",
        b"ok a=1",
        b"ok=",
        b"v",
        b"ok=%00%0d%0a",
    ] {
        let echoed = echo("http://a.test/", line);
        assert_eq!(echoed, line, "{}", line.escape_ascii());
    }
    assert_eq!(echo("http://a.test/", "=v"), b"v");
    assert_eq!(echo("http://a.test/", " \t ok =\t v ;x"), b"ok=v");
    for line in [
        &b"ok=a\0b"[..],
        b"ok=1; x=\x7f",
        b"o\nk=1",
        b"",
        b" = ",
        b";path=/",
    ] {
        assert_eq!(echo("http://a.test/", line), b"", "{}", line.escape_ascii());
    }
}

#[test]
fn secure_and_the_prefixes_hold_to_their_conditions() {
    for (line, over_https) in [
        ("a=1; Secure", true),
        ("__Secure-a=1; Secure", true),
        ("__secure-a=1", false),
        ("__Host-a=1; Secure; Path=/", true),
        ("__Host-a=1; Secure; Path=/; Domain=", true),
        ("__Host-a=1; Secure", false),
        ("__Host-a=1; Secure; Path=/x", false),
        ("__HOST-a=1; Path=/", false),
        ("__Host-a=1; Secure; Path=/; Domain=a.test", false),
        ("=__Host-a=1; Secure; Path=/", false),
        ("__Secure-a; Secure", false),
    ] {
        let kept = !echo("https://a.test/x", line).is_empty();
        assert_eq!(kept, over_https, "{line}");
        assert_eq!(echo("http://a.test/x", line), b"", "{line}");
    }
}

#[test]
fn a_path_covers_what_lies_under_it_and_defaults_to_the_folder() {
    for (page, attribute, asked, carried) in [
        ("/a/b/c", "", "/a/b/d", true),
        ("/a/b/c", "", "/a/b", true),
        ("/a/b/c", "", "/a/bc", false),
        ("/a", "", "/other", true),
        ("/a/b", "path=x", "/a/y", true),
        ("/a/b", "path", "/a/y", true),
        ("/", "path=/s", "/s/t", true),
        ("/", "path=/s", "/s?q", true),
        ("/", "path=/s", "/st", false),
        ("/", "path=/s/", "/s/t", true),
        ("/", "path=/s/", "/s", false),
        ("/", "path=/s; path=/t", "/t", true),
        ("/", "path=/S", "/s", false),
    ] {
        let jar = Jar::default();
        let line = format!("n=1; {attribute}");
        take(&jar, &format!("http://a.test{page}"), &[line.as_bytes()]);
        let carries = !sent(&jar, &format!("http://a.test{asked}")).is_empty();
        assert_eq!(carries, carried, "{page} {attribute} {asked}");
    }
}

#[test]
fn longer_paths_come_first_and_then_older_cookies() {
    let jar = Jar::default();
    let page = "http://a.test/s/t";
    let first: [&[u8]; 4] = [b"a=1; path=/", b"b=1; path=/s/t", b"c=1; path=/", b"d=1"];
    take(&jar, page, &first);
    assert_eq!(sent(&jar, page), b"b=1; d=1; a=1; c=1");
    // A new value keeps the place of the old one; another path is another cookie.
    take(&jar, page, &[b"a=2; path=/", b"c=9; path=/s"]);
    assert_eq!(sent(&jar, page), b"b=1; d=1; c=9; a=2; c=1");
}

#[test]
fn a_cookie_ends_when_it_says_and_is_deleted_by_one_that_is_over() {
    let page = "http://a.test/";
    for (attribute, lives) in [
        ("max-age=1", true),
        ("max-age=0", false),
        ("max-age=-1", false),
        ("max-age=99999999999999999999999", true),
        ("max-age=0; expires=Fri, 01 Jan 2100 00:00:00 GMT", false),
        ("expires=Thu, 01 Jan 1970 00:00:00 GMT; max-age=5", true),
        ("max-age=x", true),
        ("max-age=+0", true),
        ("max-age=", true),
        ("expires=0", true),
        ("expires=Thu, 01-Jan-1970 00:00:01 GMT", false),
        ("expires=Mon, 30 Nov 2026 12:00:00 GMT", false),
        ("expires=Mon, 30 Nov 2026 12:00:01 GMT", true),
        ("expires=12:00:01 30.nov.26", true),
        ("expires=11:59:59 30/november/26 whatever", false),
        ("expires=1:1:1 1 jan 70", false),
        ("expires=Wed, 31 Feb 2020 00:00:00 GMT", true),
        ("expires=Wed, 01 Jan 1600 00:00:00 GMT", true),
        ("expires=Sat, 01 Jan 1601 00:00:00 GMT", false),
        ("expires=Sun Nov  6 08:49:37 1994", false),
    ] {
        let jar = Jar::default();
        assert!(take(&jar, page, &[b"a=0"]));
        let line = format!("a=1; {attribute}");
        assert!(
            take(&jar, page, &[line.as_bytes()]),
            "either way it differs"
        );
        let expected = if lives { &b"a=1"[..] } else { b"" };
        assert_eq!(sent(&jar, page), expected, "{attribute}");
        assert!(
            !take(&jar, page, &[b"none=1; max-age=0"]),
            "nothing to delete"
        );
    }
    let jar = Jar::default();
    take(&jar, page, &[b"a=1; max-age=5"]);
    let at = |seconds| jar.header(&url(page), &[], now() + Duration::from_secs(seconds));
    assert_eq!(at(4).as_deref(), Some(&b"a=1"[..]));
    assert_eq!(at(5), None);
}

#[test]
fn what_the_request_says_itself_comes_first_and_no_name_twice() {
    let jar = Jar::default();
    let page = url("http://a.test/");
    take(&jar, page.as_str(), &[b"id=jar", b"x=1"]);
    let own: [&[u8]; 2] = [b"a=1; id=own", b"b=2"];
    let value = jar.header(&page, &own, now());
    assert_eq!(value.as_deref(), Some(&b"a=1; id=own; b=2; x=1"[..]));
    let all: [&[u8]; 1] = [b"id=; x="];
    assert_eq!(jar.header(&page, &all, now()), None, "nothing to add");
}

#[test]
fn a_cookie_may_have_4096_bytes_and_an_origin_64_of_them() {
    let page = "http://a.test/";
    let long = |length: usize| format!("n={}", "x".repeat(length - 1));
    assert_eq!(echo(page, long(4096)).len(), 4097);
    assert_eq!(echo(page, long(4097)), b"");
    let far = format!("n=1; path=/{}", "x".repeat(1024));
    assert_eq!(echo(page, far), b"n=1", "a long attribute does not count");

    let jar = Jar::default();
    for n in 0..1000 {
        take(&jar, page, &[format!("n{n}=1").as_bytes()]);
    }
    let header = String::from_utf8(sent(&jar, page)).expect("text");
    let names: Vec<&str> = header.split("; ").collect();
    assert_eq!(names.len(), MAX_PER_ORIGIN);
    assert_eq!(names.last(), Some(&"n999=1"));
}

#[test]
fn the_jar_as_a_whole_is_bounded_and_forgets_who_is_not_asked() {
    let jar = Jar::default();
    let busy = "http://busy.test/";
    take(&jar, busy, &[b"id=1"]);
    let value = "x".repeat(4000);
    for n in 0..10_000 {
        let page = format!("http://h{n}.test/");
        take(&jar, &page, &[format!("n={value}").as_bytes()]);
        assert_eq!(sent(&jar, busy), b"id=1", "{n}");
    }
    assert_eq!(sent(&jar, "http://h0.test/"), b"");
    assert!(!sent(&jar, "http://h9999.test/").is_empty());
    let sites = jar.lock();
    assert!(sites.bytes <= MAX_BYTES && sites.bytes > MAX_BYTES / 2);
    assert_eq!(sites.order.len(), sites.by_origin.len());
    let counted: usize = sites
        .by_origin
        .iter()
        .map(|(key, site)| key.len() + OVERHEAD + site.bytes())
        .sum();
    assert_eq!(sites.bytes, counted);
}

#[test]
fn nothing_that_a_server_sends_stops_the_jar_or_ends_up_unsendable() {
    let mut rng = fastrand::Rng::with_seed(6265);
    let parts: [&[u8]; 16] = [
        b"=", b";", b" ", b"a", b"path", b"/", b"max-age", b"1", b"-", b"expires", b":", b"jan",
        b"domain", b"a.test", b"\xff", b"__Host-",
    ];
    let jar = Jar::default();
    for _ in 0..20_000 {
        let mut line = Vec::new();
        for _ in 0..rng.usize(..14) {
            line.extend(parts[rng.usize(..parts.len())]);
        }
        if rng.u8(..9) == 0 {
            line.push(rng.u8(..));
        }
        take(&jar, "http://a.test/a", &[&line]);
        let header = sent(&jar, "http://a.test/a");
        assert!(
            ureq::http::HeaderValue::from_bytes(&header).is_ok(),
            "{}",
            line.escape_ascii()
        );
    }
}
