//! Behaviour of this module, test by test.

use super::*;

fn name(body: &[u8], content_type: Option<&str>) -> &'static str {
    let (_, encoding) = decode(body, content_type);
    assert_eq!(detect(body, content_type), encoding, "{body:?}");
    encoding.name()
}

#[test]
fn valid_utf_8_is_borrowed_whether_declared_or_not() {
    let page = "<p>naïve</p>".as_bytes();
    let declared = "<meta charset=utf-8><p>naïve</p>".as_bytes();
    for (body, content_type) in [
        (page, None),
        (page, Some("text/html; charset=utf-8")),
        (declared, Some("text/html")),
    ] {
        let (text, encoding) = decode(body, content_type);
        assert!(matches!(text, Cow::Borrowed(_)));
        assert_eq!(encoding, UTF_8);
    }
    let (text, encoding) = decode(b"\xEF\xBB\xBFabc", Some("text/html; charset=latin1"));
    assert!(matches!(text, Cow::Borrowed("abc")));
    assert_eq!(encoding, UTF_8);
}

#[test]
fn the_order_is_mark_then_header_then_meta_then_guess() {
    let meta = b"<meta charset=windows-1251>\xFF";
    assert_eq!(
        name(b"\xFE\xFF\0a", Some("text/html; charset=utf-8")),
        "UTF-16BE"
    );
    assert_eq!(name(meta, Some("text/html; charset=koi8-r")), "KOI8-R");
    assert_eq!(
        name(meta, Some("text/html; charset=nonsense")),
        "windows-1251"
    );
    assert_eq!(name(meta, None), "windows-1251");
    assert_eq!(name(b"caf\xE9 \x93", None), "windows-1252");
    assert_eq!(
        decode(b"\x93", Some("text/html; charset=iso-8859-1")).0,
        "\u{201C}"
    );
    assert_eq!(name(b"<p>charset=koi8-r</p>\xC3\xA9", None), "UTF-8");
}

#[test]
fn only_markup_is_searched_for_a_meta() {
    let body = b"<meta charset=windows-1251>\xFF";
    for content_type in ["text/plain", "application/json", "text/css"] {
        assert_ne!(
            name(body, Some(content_type)),
            "windows-1251",
            "{content_type}"
        );
    }
    assert_eq!(name(body, Some("application/octet-stream")), "windows-1251");
    let xml = b"<?xml version='1.0' encoding='koi8-r'?><meta charset=windows-1251>\xFF";
    assert_eq!(name(xml, Some("application/rss+xml")), "KOI8-R");
    assert_eq!(name(xml, Some("text/html")), "windows-1251");
}

#[test]
fn a_few_broken_bytes_do_not_turn_utf_8_into_mojibake() {
    let mut page = "größer als üblich, ähnlich schön; öfter müßig"
        .repeat(3)
        .into_bytes();
    page.insert(7, 0xFF);
    assert_eq!(name(&page, None), "UTF-8");
    let latin1: Vec<u8> = "größer als üblich".chars().map(|c| c as u8).collect();
    assert_eq!(name(&latin1, None), "windows-1252");
    assert_eq!(
        name(b"{\"a\": \"\xFF\"}", Some("application/json")),
        "UTF-8"
    );
}

#[test]
fn a_character_cut_by_a_body_limit_does_not_count_as_broken() {
    let page = "é a€".as_bytes();
    assert_eq!(name(&page[..page.len() - 1], None), "UTF-8");
    assert_eq!(name(b"caf\xE9", None), "windows-1252");
}

#[test]
fn a_declaration_must_end_within_the_first_1024_bytes() {
    let declaration = "<meta charset=windows-1251>";
    let body = |padding: usize| {
        let mut body = vec![b' '; padding];
        body.extend_from_slice(declaration.as_bytes());
        body.push(0xFF);
        body
    };
    let last = prescan::WINDOW - declaration.len();
    assert_eq!(name(&body(last), None), "windows-1251");
    assert_eq!(name(&body(last + 1), None), "windows-1252");
}

#[test]
fn the_prescan_follows_the_standard_into_its_corners() {
    for (page, expected) in [
        ("<!--><meta charset=koi8-r>", "KOI8-R"),
        ("<!--<meta charset=koi8-r>--><meta charset=big5>", "Big5"),
        ("<!doctype x '<meta charset=koi8-r>'", "windows-1252"),
        (
            "<a title='<meta charset=koi8-r>'><meta charset=big5>",
            "Big5",
        ),
        (
            "</a title='<meta charset=koi8-r>'><meta charset=big5>",
            "Big5",
        ),
        ("<meta/charset=koi8-r>", "KOI8-R"),
        ("<META CHARSET = 'KOI8-R' >", "KOI8-R"),
        ("<meta charset=big5 charset=koi8-r>", "Big5"),
        (
            "<meta charset=nope content='text/html; charset=koi8-r' http-equiv=content-type>",
            "windows-1252",
        ),
        (
            "<meta content='charset; charset=koi8-r' http-equiv=Content-Type>",
            "KOI8-R",
        ),
        ("<meta content='charset=koi8-r'>", "windows-1252"),
        (
            "<meta http-equiv=refresh content='charset=koi8-r'>",
            "windows-1252",
        ),
        ("<meta charset=utf-16le>\u{e9}", "UTF-8"),
        ("<?xml version='1.0' encoding = \"koi8-r\" ?>", "KOI8-R"),
        ("<?xml version='1.0' encoding='koi8-r'", "windows-1252"),
        ("<?xml encoding='koi 8'?>", "windows-1252"),
        (" <?xml encoding='koi8-r'?>", "windows-1252"),
    ] {
        let mut body = page.as_bytes().to_vec();
        if expected == "windows-1252" {
            body.extend_from_slice(b" \xE9.");
        }
        assert_eq!(name(&body, Some("text/html")), expected, "{page}");
    }
}

#[test]
fn xml_in_utf_16_without_a_mark_is_known_by_its_first_bytes() {
    let le: Vec<u8> = "<?xml".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let be: Vec<u8> = "<?xml".encode_utf16().flat_map(u16::to_be_bytes).collect();
    assert_eq!(name(&le, None), "UTF-16LE");
    assert_eq!(name(&be, Some("text/xml")), "UTF-16BE");
}
