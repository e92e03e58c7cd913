//! [`push_reference`], [`unescaped`]: references to characters and entities.
//!
//! Invariant: no entity of a document type is expanded, and one that is not
//! known is told from a bare `&`, which queries have.

use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::BytesRef;

use crate::html::visible_text;

/// The longest name of a character reference that HTML knows, with room.
const MAX_REFERENCE: usize = 40;

/// Appends what a reference (without `&` and `;`) stands for: a character of XML
/// or HTML, or else itself as it is written. Says whether what was written as a
/// reference is a known one.
pub(super) fn push_reference(reference: &BytesRef<'_>, out: &mut String) -> bool {
    let name: &str = reference;
    if let Ok(Some(character)) = reference.resolve_char_ref() {
        out.push(character);
        return true;
    }
    if let Some(text) = resolve_xml_entity(name) {
        out.push_str(text);
        return true;
    }
    let written = format!("&{name};");
    if name.len() <= MAX_REFERENCE && name.bytes().all(|b| b.is_ascii_alphanumeric()) {
        let text = visible_text(&written);
        out.push_str(&text);
        return text != written || name.is_empty();
    }
    out.push_str(&written);
    !is_reference(name)
}

/// Whether what stands between `&` and `;` has the form of a name or a number
/// (XML 1.0 section 4.1); in a query after a bare `&` it has mostly not.
fn is_reference(name: &str) -> bool {
    let is_name_part = |c: char| is_name_start(c) || c.is_numeric() || matches!(c, '-' | '.');
    match name.strip_prefix('#') {
        Some(number) => {
            let hexadecimal = number.strip_prefix('x');
            let is_digit =
                |c: char| c.is_ascii_digit() || hexadecimal.is_some() && c.is_ascii_hexdigit();
            let digits = hexadecimal.unwrap_or(number);
            !digits.is_empty() && digits.chars().all(is_digit)
        }
        None => name.starts_with(is_name_start) && name.chars().all(is_name_part),
    }
}

/// Whether a name may start with the character, roughly (XML 1.0 section 2.3).
pub(super) fn is_name_start(character: char) -> bool {
    character.is_alphabetic() || matches!(character, '_' | ':')
}

/// An attribute value with its references replaced; `None` if one of them is
/// not known.
pub(super) fn unescaped(value: &str) -> Option<String> {
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        // Bounded, so that many ampersands do not each search the whole value.
        let end = after
            .bytes()
            .take(MAX_REFERENCE)
            .position(|b| b == b';' || b == b'&');
        let name = end
            .filter(|&end| end > 0 && after.as_bytes()[end] == b';')
            .map(|end| (&after[..end], &after[end + 1..]));
        if let Some((name, after)) = name {
            if !push_reference(&BytesRef::new(name), &mut out) {
                return None;
            }
            rest = after;
        } else {
            out.push('&');
            rest = after;
        }
    }
    out.push_str(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use crate::sitemap::{Sitemap, parse};

    /// Files of each kind with the location as an entry of its own.
    fn files(loc: &str) -> [Sitemap; 4] {
        [
            format!("<urlset><url><loc>{loc}</loc></url></urlset>"),
            format!("<sitemapindex><sitemap><loc>{loc}</loc></sitemap></sitemapindex>"),
            format!("<rss><channel><item><guid>{loc}</guid></item></channel></rss>"),
            format!("<feed><entry><link href='{loc}'/></entry></feed>"),
        ]
        .map(|file| {
            let declared = "<!DOCTYPE x [<!ENTITY a \"http://a.test/\"><!ENTITY b \"&a;&a;\">]>";
            parse(format!("{declared}{file}").as_bytes())
        })
    }

    #[test]
    fn an_entry_with_an_entity_that_is_not_known_is_left_out_and_counted() {
        for loc in [
            "&b;",
            "&b;1",
            "http://a.test/&b;",
            "http://a.test/sm/&b;?x",
            "http://a.test/&amp;&nope;",
            "http://a.test/&a-b.c_d:e;",
            "http://a.test/&\u{e9}t\u{e9};",
            "http://a.test/&#0;",
            "http://a.test/&#xD800;",
            "http://a.test/&#99999999999;",
        ] {
            for file in files(loc) {
                assert_eq!((file.entries.len(), file.left_out), (0, 1), "{loc}");
                assert!(file.error.is_none(), "{loc}");
            }
        }
    }

    #[test]
    fn known_references_and_bare_ampersands_leave_an_entry_as_it_is() {
        for (loc, expected) in [
            (
                "http://a.test/?a&amp;b&#38;c&#x26;d",
                "http://a.test/?a&b&c&d",
            ),
            ("http://a.test/caf&eacute;", "http://a.test/caf\u{e9}"),
            ("http://a.test/?a=1&b=2", "http://a.test/?a=1&b=2"),
            ("http://a.test/?a=1&b=2;c", "http://a.test/?a=1&b=2;c"),
            ("http://a.test/?a&;&", "http://a.test/?a&;&"),
            ("http://a.test/?a&#top;", "http://a.test/?a&#top;"),
            ("http://a.test/?a&copy=1", "http://a.test/?a&copy=1"),
        ] {
            for file in files(loc) {
                assert_eq!((file.entries.len(), file.left_out), (1, 0), "{loc}");
                assert_eq!(file.entries[0].loc, expected);
            }
        }
        let dated = "<urlset><url><loc>http://a.test/</loc><lastmod>&b;</lastmod></url></urlset>";
        assert_eq!(parse(dated.as_bytes()).entries.len(), 1);
    }
}
