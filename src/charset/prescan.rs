//! The prescan of a page's first bytes for the encoding that it declares
//! (WHATWG HTML section 13.2.3.2).
//!
//! Invariant: only what the standard's steps reach is looked at: text in
//! comments, in other tags and in attribute values declares nothing.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

/// How many bytes are looked at. The standard has the prescan read no more, and
/// so do the conformance data (`charset-meta-after-1024`). Browsers may still
/// change the encoding for a later `meta` while they parse (section 13.2.3.5);
/// here such a page gets the guess for pages that declare nothing.
pub(super) const WINDOW: usize = 1024;

/// The window ended inside of something.
struct Ended;

/// The encoding that a `meta` element of the window declares.
pub(super) fn meta(window: &[u8]) -> Option<&'static Encoding> {
    let mut scan = Scan { rest: window };
    while !scan.rest.is_empty() {
        if scan.rest.starts_with(b"<!--") {
            // The two hyphens that open it may also end it: `<!-->`.
            let from = 2;
            scan.rest = after(scan.rest, from, b"-->")?;
        } else if let Some(tag) = scan.tag() {
            let is_meta = tag == Tag::Meta;
            if let Some(encoding) = scan.attributes_of(is_meta).ok()? {
                return Some(encoding);
            }
        } else if matches!(scan.rest, [b'<', b'!' | b'/' | b'?', ..]) {
            scan.rest = after(scan.rest, 1, b">")?;
        } else {
            scan.rest = &scan.rest[1..];
        }
    }
    None
}

/// The encoding that an XML declaration at the start of the window names, or
/// that its NUL bytes show.
pub(super) fn xml_declaration(window: &[u8]) -> Option<&'static Encoding> {
    match window {
        [b'<', 0, b'?', 0, b'x', 0, ..] => return Some(UTF_16LE),
        [0, b'<', 0, b'?', 0, b'x', ..] => return Some(UTF_16BE),
        _ => {}
    }
    if !window.starts_with(b"<?xml") {
        return None;
    }
    let end = window.iter().position(|&b| b == b'>')?;
    let mut rest = after(&window[..end], 0, b"encoding")?;
    rest = skip_controls(rest).strip_prefix(b"=")?;
    rest = skip_controls(rest);
    let (&quote, rest) = rest
        .split_first()
        .filter(|(q, _)| matches!(q, b'"' | b'\''))?;
    let length = rest.iter().position(|&b| b == quote)?;
    let label = &rest[..length];
    if label.iter().any(|&b| b <= b' ') {
        return None;
    }
    Encoding::for_label(label).map(not_utf_16)
}

fn skip_controls(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|&b| b > b' ').unwrap_or(text.len());
    &text[start..]
}

/// What follows the first `mark` that starts at or after `from`.
fn after<'a>(text: &'a [u8], from: usize, mark: &[u8]) -> Option<&'a [u8]> {
    let at = text
        .get(from..)?
        .windows(mark.len())
        .position(|window| window == mark)?;
    Some(&text[from + at + mark.len()..])
}

/// UTF-16 cannot be what bytes read as ASCII say they are.
fn not_utf_16(encoding: &'static Encoding) -> &'static Encoding {
    if encoding == UTF_16LE || encoding == UTF_16BE {
        UTF_8
    } else {
        encoding
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0C | b'\r' | b' ')
}

#[derive(PartialEq, Eq)]
enum Tag {
    Meta,
    Other,
}

struct Scan<'a> {
    rest: &'a [u8],
}

/// One attribute, its name and value in lower case.
#[derive(Default)]
struct Attribute {
    name: Vec<u8>,
    value: Vec<u8>,
}

impl Scan<'_> {
    /// Steps over the name of a tag, if one starts here.
    fn tag(&mut self) -> Option<Tag> {
        let after_open = self.rest.strip_prefix(b"<")?;
        let named = after_open.strip_prefix(b"/").unwrap_or(after_open);
        if !named.first()?.is_ascii_alphabetic() {
            return None;
        }
        if let Some((name, rest)) = after_open.split_at_checked(4)
            && name.eq_ignore_ascii_case(b"meta")
            && rest.first().is_some_and(|&b| is_space(b) || b == b'/')
        {
            self.rest = rest;
            return Some(Tag::Meta);
        }
        let end = named.iter().position(|&b| is_space(b) || b == b'>');
        self.rest = &named[end.unwrap_or(named.len())..];
        Some(Tag::Other)
    }

    /// Steps over the attributes of a tag, and reads the encoding that those of
    /// a `meta` declare.
    fn attributes_of(&mut self, is_meta: bool) -> Result<Option<&'static Encoding>, Ended> {
        let mut seen: Vec<Vec<u8>> = Vec::new();
        let mut is_pragma = false;
        // The encoding, and whether it counts only beside the pragma.
        let mut found: Option<(Option<&'static Encoding>, bool)> = None;
        while let Some(attribute) = self.attribute()? {
            if !is_meta || seen.contains(&attribute.name) {
                continue;
            }
            match attribute.name.as_slice() {
                b"http-equiv" => is_pragma |= attribute.value == b"content-type",
                b"content" => {
                    if let Some(label) = charset_of(&attribute.value)
                        && found.is_none()
                        && let Some(encoding) = Encoding::for_label(label)
                    {
                        found = Some((Some(encoding), true));
                    }
                }
                b"charset" => found = Some((Encoding::for_label(&attribute.value), false)),
                _ => {}
            }
            seen.push(attribute.name);
        }
        let (encoding, needs_pragma) = found.unwrap_or_default();
        Ok(encoding
            .filter(|_| is_pragma || !needs_pragma)
            .map(not_utf_16)
            .map(|encoding| {
                if encoding == X_USER_DEFINED {
                    WINDOWS_1252
                } else {
                    encoding
                }
            }))
    }

    /// Steps over one attribute; `None` at the end of the tag.
    fn attribute(&mut self) -> Result<Option<Attribute>, Ended> {
        let mut attribute = Attribute::default();
        self.skip(|b| is_space(b) || b == b'/');
        if self.peek()? == b'>' {
            self.rest = &self.rest[1..];
            return Ok(None);
        }
        loop {
            match self.peek()? {
                b'=' if !attribute.name.is_empty() => break,
                byte if is_space(byte) => {
                    self.skip(is_space);
                    if self.peek()? != b'=' {
                        return Ok(Some(attribute));
                    }
                    break;
                }
                b'/' | b'>' => return Ok(Some(attribute)),
                byte => {
                    attribute.name.push(byte.to_ascii_lowercase());
                    self.rest = &self.rest[1..];
                }
            }
        }
        self.rest = &self.rest[1..];
        self.skip(is_space);
        if let quote @ (b'"' | b'\'') = self.peek()? {
            let quoted = &self.rest[1..];
            let length = quoted.iter().position(|&b| b == quote).ok_or(Ended)?;
            attribute.value = quoted[..length].to_ascii_lowercase();
            self.rest = &quoted[length + 1..];
        } else {
            let end = self.rest.iter().position(|&b| is_space(b) || b == b'>');
            let (value, rest) = self.rest.split_at(end.ok_or(Ended)?);
            attribute.value = value.to_ascii_lowercase();
            self.rest = rest;
        }
        Ok(Some(attribute))
    }

    fn peek(&self) -> Result<u8, Ended> {
        self.rest.first().copied().ok_or(Ended)
    }

    fn skip(&mut self, skipped: impl Fn(u8) -> bool) {
        let start = self.rest.iter().position(|&b| !skipped(b));
        self.rest = &self.rest[start.unwrap_or(self.rest.len())..];
    }
}

/// The label in the content of a `meta` pragma, given in lower case (WHATWG HTML
/// section 2.6.5, extracting a character encoding from a meta element).
fn charset_of(content: &[u8]) -> Option<&[u8]> {
    let mut rest = content;
    loop {
        rest = after(rest, 0, b"charset")?.trim_ascii_start();
        if let Some(value) = rest.strip_prefix(b"=") {
            rest = value.trim_ascii_start();
            break;
        }
    }
    if let Some((&quote @ (b'"' | b'\''), quoted)) = rest.split_first() {
        let length = quoted.iter().position(|&b| b == quote)?;
        return Some(&quoted[..length]);
    }
    let length = rest.iter().position(|&b| is_space(b) || b == b';');
    Some(&rest[..length.unwrap_or(rest.len())])
}
