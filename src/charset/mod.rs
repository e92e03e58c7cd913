//! [`decode`]: bytes to text in the encoding that the response, its byte order
//! mark or the page itself declares.
//!
//! Invariant: decoding never fails; what cannot be decoded becomes U+FFFD. A
//! body that is valid UTF-8 and decoded as such is borrowed, never copied.

mod prescan;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

pub use encoding_rs::Encoding;
use encoding_rs::{UTF_8, WINDOWS_1252};

use crate::http::MediaType;

/// Undeclared text with broken bytes is UTF-8 if it has so many times more
/// characters of several bytes than broken sequences. Text in a one-byte
/// encoding hardly ever forms such a character by chance.
const SOUND_TO_BROKEN: usize = 8;

/// Decodes a body to text; returns the encoding that was used.
///
/// In this order (WHATWG HTML section 13.2.3, Encoding section 6): a byte order
/// mark, which is not part of the text; the charset of the `Content-Type`, if its
/// label is known; a `meta` element or else an XML declaration within the first
/// 1024 bytes, for markup and for bodies without a type. With nothing declared it
/// is UTF-8 if the whole body is, or is but for a few broken bytes, else
/// windows-1252.
///
/// ```
/// use canter::charset::decode;
/// let (text, encoding) = decode(b"<meta charset=iso-8859-2>\xB3", Some("text/html"));
/// assert!(text.ends_with('ł'));
/// assert_eq!(encoding.name(), "ISO-8859-2");
/// ```
#[must_use]
pub fn decode<'a>(body: &'a [u8], content_type: Option<&str>) -> (Cow<'a, str>, &'static Encoding) {
    if let Some((encoding, mark)) = Encoding::for_bom(body) {
        let (text, _) = encoding.decode_without_bom_handling(&body[mark..]);
        return (text, encoding);
    }
    if let Some(encoding) = declared(body, content_type) {
        let (text, _) = encoding.decode_without_bom_handling(body);
        return (text, encoding);
    }
    // Two passes over a UTF-8 body would be one too many.
    if let Ok(text) = std::str::from_utf8(body) {
        return (Cow::Borrowed(text), UTF_8);
    }
    let encoding = guess(body, content_type);
    let (text, _) = encoding.decode_without_bom_handling(body);
    (text, encoding)
}

/// The encoding that [`decode`] uses.
#[must_use]
pub fn detect(body: &[u8], content_type: Option<&str>) -> &'static Encoding {
    if let Some((encoding, _)) = Encoding::for_bom(body) {
        return encoding;
    }
    declared(body, content_type).unwrap_or_else(|| guess(body, content_type))
}

/// The encoding that the header or the start of the body names, byte order marks
/// aside.
fn declared(body: &[u8], content_type: Option<&str>) -> Option<&'static Encoding> {
    let media = MediaType::parse(content_type.unwrap_or_default());
    let label = media.charset().map(str::as_bytes);
    if let Some(encoding) = label.and_then(Encoding::for_label) {
        return Some(encoding);
    }
    let window = &body[..body.len().min(prescan::WINDOW)];
    if media.is_html() || media.is_unspecific() {
        prescan::meta(window).or_else(|| prescan::xml_declaration(window))
    } else if media.is_xml() {
        prescan::xml_declaration(window)
    } else {
        None
    }
}

/// The encoding of a body that declares none.
fn guess(body: &[u8], content_type: Option<&str>) -> &'static Encoding {
    // RFC 8259 section 8.1: JSON is UTF-8, whatever is broken in it.
    if MediaType::parse(content_type.unwrap_or_default()).is_json() {
        return UTF_8;
    }
    let (mut sound, mut broken) = (0, 0);
    let mut chunks = body.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        sound += chunk
            .valid()
            .bytes()
            .filter(|&byte| is_lead_byte(byte))
            .count();
        // The end of a body that was cut to a limit may be half a character.
        let cut = chunks.peek().is_none() && is_cut_character(chunk.invalid());
        broken += usize::from(!chunk.invalid().is_empty() && !cut);
    }
    if sound >= (broken * SOUND_TO_BROKEN).max(1) || body.is_ascii() {
        UTF_8
    } else {
        WINDOWS_1252
    }
}

fn is_lead_byte(byte: u8) -> bool {
    byte >= 0xC0
}

/// Whether the bytes are the start of one UTF-8 character and end too early.
fn is_cut_character(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}
