//! [`is_text`]: whether bytes that were announced as packed are plain text.

/// How many bytes are looked at.
const SNIFFED: usize = 512;
/// How many bytes of UTF-8 without control characters no packed body begins
/// with: two in five bytes of one would do, so it is one body in a million.
const MIN_UTF_8: usize = 16;
/// The same for an older encoding, in which nine in ten bytes are text. Of what
/// may be packed no number is enough: a packer keeps what it cannot make shorter
/// as it is, behind a few bytes that need not be control characters.
const MIN_OTHER: usize = 128;

/// What else the bytes may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doubt {
    /// The first bytes of something packed, for all that is known.
    MayBePacked,
    /// Nothing: the coding is known, and they are not in it.
    NotPacked,
}

/// Whether it reads as text: none of the bytes that the MIME Sniffing standard
/// calls binary in its first ones, or a byte-order mark before them; and so
/// much of it that chance is no explanation.
pub(super) fn is_text(bytes: &[u8], doubt: Doubt) -> bool {
    let start = &bytes[..bytes.len().min(SNIFFED)];
    let is_utf_16 = start.starts_with(&[0xfe, 0xff]) || start.starts_with(&[0xff, 0xfe]);
    if is_utf_16 {
        return start.len() >= MIN_UTF_8;
    }
    let is_binary = |byte: &u8| matches!(byte, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f);
    if start.iter().any(is_binary) {
        return false;
    }
    let length = match std::str::from_utf8(start) {
        Ok(text) => text.len(),
        // The last character may be cut by the window.
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Err(_) => return doubt == Doubt::NotPacked && start.len() >= MIN_OTHER,
    };
    match doubt {
        Doubt::MayBePacked => length >= MIN_UTF_8,
        Doubt::NotPacked => length > 0,
    }
}
