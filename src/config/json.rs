//! [`string`]: text as a JSON string that is safe in a line and on a terminal.

use std::io::Write as _;

/// Bytes that a string cannot hold as they are, or that may begin a character
/// it should not hold: C0 controls, `"`, `\`, DEL; the first bytes of the C1
/// controls and of the line and paragraph separators.
const SPECIAL: [bool; 256] = {
    let mut special = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        special[byte] = true;
        byte += 1;
    }
    special[b'"' as usize] = true;
    special[b'\\' as usize] = true;
    special[0x7f] = true;
    special[0xc2] = true;
    special[0xe2] = true;
    special
};

/// Appends a JSON string (RFC 8259 section 7). Beyond what JSON asks for, DEL,
/// the C1 controls and U+2028 and U+2029 are escaped: some readers of lines
/// take them for line ends, and terminals obey the controls.
pub(crate) fn string(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    out.push(b'"');
    let mut copied = 0;
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if !SPECIAL[usize::from(byte)] {
            at += 1;
            continue;
        }
        let (length, code) = match byte {
            0xc2 if bytes[at + 1] < 0xa0 => (2, u32::from(bytes[at + 1])),
            0xe2 if bytes[at + 1] == 0x80 && matches!(bytes[at + 2], 0xa8 | 0xa9) => {
                (3, 0x2000 + u32::from(bytes[at + 2]) - 0x80)
            }
            0xc2 | 0xe2 => {
                at += 1;
                continue;
            }
            _ => (1, u32::from(byte)),
        };
        out.extend_from_slice(&bytes[copied..at]);
        let short = match byte {
            b'"' => Some(b'"'),
            b'\\' => Some(b'\\'),
            b'\n' => Some(b'n'),
            b'\r' => Some(b'r'),
            b'\t' => Some(b't'),
            _ => None,
        };
        match short {
            Some(letter) => out.extend_from_slice(&[b'\\', letter]),
            None => write!(out, "\\u{code:04x}").expect("a vector takes every byte"),
        }
        at += length;
        copied = at;
    }
    out.extend_from_slice(&bytes[copied..]);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> String {
        let mut out = Vec::new();
        string(text, &mut out);
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn every_character_reads_back_and_none_ends_the_line() {
        let low = (0..0x3000).filter_map(char::from_u32);
        for c in low.chain(['\u{fffd}', '\u{feff}', '\u{10ffff}', '\u{1f600}']) {
            let text = format!("a{c}\u{e9}b");
            let line = json(&text);
            let back: String = serde_json::from_str(&line).expect("valid JSON");
            assert_eq!(back, text, "{c:?}");
            let unsafe_char = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
            assert!(!line.contains(unsafe_char), "{c:?}");
        }
    }

    #[test]
    fn a_title_that_spells_a_lone_surrogate_stays_text() {
        assert_eq!(json("\\ud800"), "\"\\\\ud800\"");
        assert_eq!(json("\u{2028}\0"), "\"\\u2028\\u0000\"");
        assert_eq!(json("\u{85}\u{2029}"), "\"\\u0085\\u2029\"");
    }

    #[test]
    fn random_text_reads_back() {
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..2_000 {
            let length = rng.usize(0..40);
            let text: String = std::iter::repeat_with(|| rng.char(..))
                .take(length)
                .collect();
            let back: String = serde_json::from_str(&json(&text)).expect("valid JSON");
            assert_eq!(back, text);
        }
    }
}
