//! Writing JSON by hand, onto the end of a buffer, without allocating. Keeps:
//! what is written is one line, for whatever takes lines apart.

use std::io::Write as _;

/// Appends a JSON string. Besides what JSON asks for (RFC 8259 section 7), the
/// line separators of Unicode and the second block of control characters are
/// escaped: some tools end a line at them, and terminals obey them.
pub(super) fn push_str(buffer: &mut Vec<u8>, text: &str) {
    buffer.push(b'"');
    let bytes = text.as_bytes();
    let mut copied = 0;
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        let (length, code) = match byte {
            0..=0x1f | b'"' | b'\\' | 0x7f => (1, u32::from(byte)),
            0xc2 if bytes[at + 1] < 0xa0 => (2, u32::from(bytes[at + 1])),
            0xe2 if separator(&bytes[at..]).is_some() => {
                (3, 0x2028 + u32::from(bytes[at + 2] - 0xa8))
            }
            _ => {
                at += 1;
                continue;
            }
        };
        buffer.extend_from_slice(&bytes[copied..at]);
        match byte {
            b'"' => buffer.extend_from_slice(b"\\\""),
            b'\\' => buffer.extend_from_slice(b"\\\\"),
            b'\n' => buffer.extend_from_slice(b"\\n"),
            b'\r' => buffer.extend_from_slice(b"\\r"),
            b'\t' => buffer.extend_from_slice(b"\\t"),
            _ => push_escape(buffer, code),
        }
        at += length;
        copied = at;
    }
    buffer.extend_from_slice(&bytes[copied..]);
    buffer.push(b'"');
}

fn push_escape(buffer: &mut Vec<u8>, code: u32) {
    // Writing to a vector cannot fail.
    let _ = write!(buffer, "\\u{code:04x}");
}

/// The escape of U+2028 or U+2029, when the bytes begin with one.
fn separator(bytes: &[u8]) -> Option<&'static [u8]> {
    match bytes {
        [0xe2, 0x80, 0xa8, ..] => Some(b"\\u2028"),
        [0xe2, 0x80, 0xa9, ..] => Some(b"\\u2029"),
        _ => None,
    }
}

/// Bytes that are looked at together: a whole block without anything to
/// replace is passed by in one comparison per vector register.
const BLOCK: usize = 64;

/// Appends a JSON text as one line: a line end between its tokens becomes a
/// space, and Unicode's line separators, which can only stand in strings,
/// are escaped.
pub(super) fn push_line(buffer: &mut Vec<u8>, json: &[u8]) {
    let suspect = |byte: u8| matches!(byte, b'\n' | b'\r' | 0xe2 | 0xc2);
    for (at, block) in json.chunks(BLOCK).enumerate() {
        if !block
            .iter()
            .fold(false, |found, &byte| found | suspect(byte))
        {
            buffer.extend_from_slice(block);
            continue;
        }
        // A character may begin in the block before and end in this one, so
        // the rest is read as a whole.
        let at = at * BLOCK;
        push_line_slowly(buffer, &json[at..]);
        break;
    }
    buffer.push(b'\n');
}

fn push_line_slowly(buffer: &mut Vec<u8>, json: &[u8]) {
    let mut copied = 0;
    let mut at = 0;
    while at < json.len() {
        let (length, replacement): (usize, &[u8]) = match json[at] {
            b'\n' | b'\r' => (1, b" "),
            0xc2 if json.get(at + 1) == Some(&0x85) => (2, b"\\u0085"),
            0xe2 => match separator(&json[at..]) {
                Some(escape) => (3, escape),
                None => (1, &json[at..=at]),
            },
            _ => {
                at += 1;
                continue;
            }
        };
        buffer.extend_from_slice(&json[copied..at]);
        buffer.extend_from_slice(replacement);
        at += length;
        copied = at;
    }
    buffer.extend_from_slice(&json[copied..]);
}

/// Appends a whole number.
pub(super) fn push_number(buffer: &mut Vec<u8>, number: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    buffer.extend_from_slice(&digits[at..]);
}

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Appends 16 hexadecimal digits.
pub(super) fn push_hash(buffer: &mut Vec<u8>, hash: u64) {
    let mut digits = [0u8; 16];
    for (at, digit) in digits.iter_mut().enumerate() {
        *digit = HEX[(hash >> (60 - 4 * at)) as usize & 15];
    }
    buffer.extend_from_slice(&digits);
}

/// Appends bytes as hexadecimal digits.
pub(super) fn push_hex(buffer: &mut Vec<u8>, bytes: &[u8]) {
    for byte in bytes {
        buffer.push(HEX[usize::from(byte >> 4)]);
        buffer.push(HEX[usize::from(byte & 15)]);
    }
}

/// Reads what [`push_hash`] wrote.
pub(super) fn read_hash(digits: &[u8]) -> Option<u64> {
    if digits.len() != 16 {
        return None;
    }
    digits.iter().try_fold(0u64, |hash, &digit| {
        Some(hash << 4 | u64::from(nibble(digit)?))
    })
}

/// Reads what [`push_hex`] wrote.
pub(super) fn read_hex(digits: &[u8]) -> Option<Vec<u8>> {
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    digits
        .chunks_exact(2)
        .map(|pair| Some(nibble(pair[0])? << 4 | nibble(pair[1])?))
        .collect()
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_one_line_of_valid_json_whatever_it_holds() {
        let nasty = "a\u{2028}b\u{2029}\u{85}\u{9b}31m\0\x07\x7f\"\\\n\r\té€â\u{20ac}🦀 \u{a0}";
        let mut line = Vec::new();
        push_str(&mut line, nasty);
        assert_eq!(
            serde_json::from_slice::<String>(&line).expect("JSON"),
            nasty
        );
        let text = std::str::from_utf8(&line).expect("UTF-8");
        assert!(!text.contains(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')));
    }

    #[test]
    fn a_record_that_stands_on_several_lines_is_brought_onto_one() {
        let pretty = "{\n  \"title\": \"a\u{2028}b\u{85}c â é …\",\r\n  \"n\": 1\n}";
        for padding in 0..2 * BLOCK {
            let json = format!("{}{pretty}", " ".repeat(padding));
            let mut line = Vec::new();
            push_line(&mut line, json.as_bytes());
            assert_eq!(line.pop(), Some(b'\n'));
            let text = std::str::from_utf8(&line).expect("UTF-8");
            assert!(!text.contains(['\n', '\r', '\u{2028}', '\u{85}']));
            let read: serde_json::Value = serde_json::from_str(text).expect("JSON");
            assert_eq!(
                read,
                serde_json::from_str::<serde_json::Value>(pretty).expect("JSON")
            );
        }
    }

    #[test]
    fn numbers_and_hashes_read_back() {
        for number in [0, 9, 10, 1_000_007, u64::MAX] {
            let mut text = Vec::new();
            push_number(&mut text, number);
            assert_eq!(text, number.to_string().as_bytes());
            text.clear();
            push_hash(&mut text, number);
            assert_eq!(read_hash(&text), Some(number));
        }
        assert_eq!(read_hash(b"0123456789abcdeF"), None);
        assert_eq!(read_hash(b"123"), None);
        let mut text = Vec::new();
        push_hex(&mut text, &[0, 255, 16]);
        assert_eq!(read_hex(&text), Some(vec![0, 255, 16]));
        assert_eq!(read_hex(b"0"), None);
    }
}
