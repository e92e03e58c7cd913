//! [`sniff`]: what a body is by its first bytes.
//!
//! For bodies without a type, or with one that is often wrong. In the manner of
//! the WHATWG MIME Sniffing standard (sections 5 to 7), with the markup
//! vocabularies that a crawl meets.

use encoding_rs::Encoding;

/// How many bytes are looked at (WHATWG MIME Sniffing, resource header).
const WINDOW: usize = 1445;

/// What a body looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Sniffed {
    /// There is no body.
    Empty,
    /// HTML, XHTML included.
    Html,
    /// XML in another vocabulary.
    Xml,
    /// Text that is no markup.
    Text,
    /// `%PDF-`
    Pdf,
    /// A ZIP archive, and with it office documents, EPUB, JAR.
    Zip,
    /// gzip
    Gzip,
    /// A Microsoft compound file: the office documents of old.
    Office,
    /// An image of a known format.
    Image,
    /// A sound or film of a known format.
    Media,
    /// A font of a known format.
    Font,
    /// Anything else that is no text: it holds NUL or other control bytes.
    Binary,
}

impl Sniffed {
    /// Whether the body is no text, so that no link can be read from it.
    #[must_use]
    pub fn is_binary(self) -> bool {
        !matches!(
            self,
            Sniffed::Empty | Sniffed::Html | Sniffed::Xml | Sniffed::Text
        )
    }

    /// The stable lower-case word that records and logs use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Sniffed::Empty => "empty",
            Sniffed::Html => "html",
            Sniffed::Xml => "xml",
            Sniffed::Text => "text",
            Sniffed::Pdf => "pdf",
            Sniffed::Zip => "zip",
            Sniffed::Gzip => "gzip",
            Sniffed::Office => "office",
            Sniffed::Image => "image",
            Sniffed::Media => "media",
            Sniffed::Font => "font",
            Sniffed::Binary => "binary",
        }
    }
}

const MAGIC: &[(&[u8], Sniffed)] = &[
    (b"%PDF-", Sniffed::Pdf),
    (b"PK\x03\x04", Sniffed::Zip),
    (b"PK\x05\x06", Sniffed::Zip),
    (b"\x1F\x8B", Sniffed::Gzip),
    (b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", Sniffed::Office),
    (b"\x89PNG\r\n\x1A\n", Sniffed::Image),
    (b"\xFF\xD8\xFF", Sniffed::Image),
    (b"GIF87a", Sniffed::Image),
    (b"GIF89a", Sniffed::Image),
    (b"\0\0\x01\0", Sniffed::Image),
    (b"II*\0", Sniffed::Image),
    (b"MM\0*", Sniffed::Image),
    (b"ID3", Sniffed::Media),
    (b"OggS\0", Sniffed::Media),
    (b"fLaC\0", Sniffed::Media),
    (b"\x1A\x45\xDF\xA3", Sniffed::Media),
    (b"FLV\x01", Sniffed::Media),
    (b"wOFF", Sniffed::Font),
    (b"wOF2", Sniffed::Font),
    (b"%!PS-Adobe-", Sniffed::Binary),
    (b"Rar!\x1A\x07", Sniffed::Binary),
    (b"7z\xBC\xAF\x27\x1C", Sniffed::Binary),
    (b"BZh91AY&SY", Sniffed::Binary),
    (b"\xFD7zXZ\0", Sniffed::Binary),
    (b"\x28\xB5\x2F\xFD", Sniffed::Binary),
    (b"\x7FELF", Sniffed::Binary),
    (b"\0asm", Sniffed::Binary),
];

/// Root elements of XML vocabularies that may come without a declaration.
const XML_ROOTS: &[&[u8]] = &[b"urlset", b"sitemapindex", b"rss", b"feed", b"svg", b"opml"];

/// Tells what a body is by its first bytes.
///
/// A body in UTF-16 is text only if it has a byte order mark: without one its
/// NUL bytes count as binary, so ask only when the response names no charset.
///
/// ```
/// use canter::http::{Sniffed, sniff};
/// assert_eq!(sniff(b"\n<!DOCTYPE html><title>Hello</title>"), Sniffed::Html);
/// assert_eq!(sniff(b"<?xml version='1.0'?><urlset/>"), Sniffed::Xml);
/// assert_eq!(sniff(b"%PDF-1.7"), Sniffed::Pdf);
/// ```
#[must_use]
pub fn sniff(body: &[u8]) -> Sniffed {
    let window = &body[..body.len().min(WINDOW)];
    if let Some((encoding, mark)) = Encoding::for_bom(window) {
        let (text, _) = encoding.decode_without_bom_handling(&window[mark..]);
        return markup(text.trim_start().as_bytes()).unwrap_or(Sniffed::Text);
    }
    if let Some(&(_, found)) = MAGIC.iter().find(|(magic, _)| window.starts_with(magic)) {
        return found;
    }
    match window {
        [] => return Sniffed::Empty,
        [b'R', b'I', b'F', b'F', _, _, _, _, kind @ ..] => {
            if kind.starts_with(b"WEBP") {
                return Sniffed::Image;
            } else if kind.starts_with(b"WAVE") || kind.starts_with(b"AVI ") {
                return Sniffed::Media;
            }
        }
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => return Sniffed::Media,
        _ => {}
    }
    markup(window.trim_ascii_start()).unwrap_or_else(|| {
        if window.iter().any(|&byte| is_binary_byte(byte)) {
            Sniffed::Binary
        } else {
            Sniffed::Text
        }
    })
}

/// Control bytes that no text has (WHATWG MIME Sniffing, binary data byte).
fn is_binary_byte(byte: u8) -> bool {
    matches!(byte, 0..=8 | 0x0B | 0x0E..=0x1A | 0x1C..=0x1F)
}

fn starts_with_ignoring_case(text: &[u8], start: &[u8]) -> bool {
    text.get(..start.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(start))
}

/// The kind of markup that a text starts with, white space and comments
/// skipped.
fn markup(mut text: &[u8]) -> Option<Sniffed> {
    let mut declared = false;
    loop {
        let opened = text.strip_prefix(b"<")?;
        let skip_to: &[u8] = if opened.starts_with(b"!--") {
            b"-->"
        } else if starts_with_ignoring_case(opened, b"?xml") {
            declared = true;
            b"?>"
        } else if starts_with_ignoring_case(opened, b"!doctype") {
            let name = opened[b"!doctype".len()..].trim_ascii_start();
            return Some(if starts_with_ignoring_case(name, b"html") {
                Sniffed::Html
            } else {
                Sniffed::Xml
            });
        } else {
            return element(opened, declared);
        };
        match text.windows(skip_to.len()).position(|end| end == skip_to) {
            Some(at) => text = text[at + skip_to.len()..].trim_ascii_start(),
            // A comment that fills the window: pages start so, files do not.
            None => {
                return Some(if declared {
                    Sniffed::Xml
                } else {
                    Sniffed::Html
                });
            }
        }
        if text.is_empty() {
            return Some(if declared {
                Sniffed::Xml
            } else {
                Sniffed::Html
            });
        }
    }
}

/// The kind of markup whose first tag is this, after its `<`.
fn element(opened: &[u8], declared: bool) -> Option<Sniffed> {
    let end = opened
        .iter()
        .position(|&b| matches!(b, b'>' | b'/') || b.is_ascii_whitespace())?;
    let name = &opened[..end];
    if !name.first()?.is_ascii_alphabetic() {
        return declared.then_some(Sniffed::Xml);
    }
    let is_html = name.eq_ignore_ascii_case(b"html");
    let is_xml = declared
        || name.contains(&b':')
        || XML_ROOTS.iter().any(|root| name.eq_ignore_ascii_case(root));
    Some(if is_xml && !is_html {
        Sniffed::Xml
    } else {
        Sniffed::Html
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_told_by_its_first_tag() {
        for html in [
            "<!DOCTYPE HTML>",
            " \n<!doctype html><urlset>",
            "<HTML lang=de>",
            "<!-- built by x --><p>hello</p>",
            "<?xml version=\"1.0\"?>\n<!DOCTYPE html PUBLIC \"x\">",
            "<?xml version=\"1.0\"?><html xmlns=\"http://www.w3.org/1999/xhtml\">",
            "<br />\n<b>Warning</b>",
            "\u{feff}<title>x</title>",
        ] {
            assert_eq!(sniff(html.as_bytes()), Sniffed::Html, "{html}");
        }
        for xml in [
            "<?xml version=\"1.0\"?>",
            "<?xml version=\"1.0\"?><!-- x --><page>",
            "<urlset xmlns='x'>",
            "<sm:urlset>",
            "<rss version='2.0'>",
            "<!DOCTYPE rss SYSTEM 'x'>",
            "\u{feff}<feed/>",
        ] {
            assert_eq!(sniff(xml.as_bytes()), Sniffed::Xml, "{xml}");
        }
        for text in [
            "User-agent: *",
            "a < b",
            "<3",
            "< p>",
            "caf\u{e9}",
            "{\"a\": 1}",
            "<",
        ] {
            assert_eq!(sniff(text.as_bytes()), Sniffed::Text, "{text}");
        }
    }

    #[test]
    fn a_body_with_a_known_magic_or_control_bytes_is_binary() {
        for (body, expected) in [
            (&b"%PDF-1.4\n"[..], Sniffed::Pdf),
            (b"PK\x03\x04\x14\0", Sniffed::Zip),
            (b"\x1F\x8B\x08", Sniffed::Gzip),
            (b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", Sniffed::Office),
            (b"\x89PNG\r\n\x1A\n", Sniffed::Image),
            (b"\xFF\xD8\xFF\xE0", Sniffed::Image),
            (b"GIF89a", Sniffed::Image),
            (b"RIFF\x10\0\0\0WEBPVP8 ", Sniffed::Image),
            (b"\0\0\0\x18ftypmp42", Sniffed::Media),
            (b"plain\0text", Sniffed::Binary),
            (b"\x01", Sniffed::Binary),
        ] {
            assert_eq!(sniff(body), expected, "{body:?}");
            assert!(sniff(body).is_binary());
        }
        assert_eq!(sniff(b""), Sniffed::Empty);
        assert!(!Sniffed::Empty.is_binary());
    }

    #[test]
    fn utf_16_with_a_byte_order_mark_is_text() {
        let wide = |text: &str| -> Vec<u8> {
            let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
            units.flat_map(u16::to_le_bytes).collect()
        };
        assert_eq!(sniff(&wide("<html>")), Sniffed::Html);
        assert_eq!(sniff(&wide("<?xml?><urlset>")), Sniffed::Xml);
        assert_eq!(sniff(&wide("hello")), Sniffed::Text);
    }

    #[test]
    fn control_bytes_far_inside_a_text_do_not_count() {
        let mut body = vec![b'a'; WINDOW];
        body.push(0);
        assert_eq!(sniff(&body), Sniffed::Text);
    }
}
