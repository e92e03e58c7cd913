//! [`mend`]: the heads of answers that browsers read and a strict parser does
//! not, put in order before it sees them.
//!
//! Invariant: a head that is in order stays byte for byte; what is mended is
//! never longer; a field that frames the body is never left out. Pure.

use std::ops::Range;

/// Fields that are handed on: ureq takes 128 lines. Of more, those that steer
/// the client are kept and then the first of the others.
const MAX_FIELDS: usize = 120;

/// Fields that are kept however many there are.
const STEERING: [&[u8]; 15] = [
    b"connection",
    b"content-encoding",
    b"content-length",
    b"content-location",
    b"content-range",
    b"content-type",
    b"date",
    b"etag",
    b"last-modified",
    b"location",
    b"retry-after",
    b"set-cookie",
    b"transfer-encoding",
    b"trailer",
    b"x-robots-tag",
];

/// Fields without which the body would be misread: a control character in one
/// of them becomes a space, and in any other the field is left out, since its
/// value would be another one, a cookie's or an address's say.
const FRAMING: [&[u8]; 5] = [
    b"connection",
    b"content-encoding",
    b"content-length",
    b"content-type",
    b"transfer-encoding",
];

/// What stands at the start of an input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// The head is not all there yet.
    Partial,
    /// So many bytes are a head.
    Head(usize),
    /// No head of HTTP/1 begins like this.
    Foreign,
}

/// Looks for the end of the head that an input begins with.
pub(super) fn start(input: &[u8]) -> Start {
    const VERSION: &[u8] = b"HTTP/";
    if !(input.starts_with(VERSION) || VERSION.starts_with(input)) {
        return Start::Foreign;
    }
    let mut line = 0;
    for (at, _) in input.iter().enumerate().filter(|&(_, &byte)| byte == b'\n') {
        if matches!(&input[line..at], b"" | b"\r") {
            return Start::Head(at + 1);
        }
        line = at + 1;
    }
    Start::Partial
}

/// Whether the head is of an interim answer, which another head follows. 101
/// has none.
pub(super) fn is_interim(head: &[u8]) -> bool {
    let status = head.get(8..12).unwrap_or_default();
    status.starts_with(b" 1") && status != b" 101"
}

/// The head in order, if it is not: a folded line on one line (RFC 9112 section
/// 5.2), no space before a colon, no control character in a value (RFC 9110
/// section 5.5), no line that is no field, and no more than can be taken.
pub(super) fn mend(head: &[u8]) -> Option<Vec<u8>> {
    let lines: Vec<&[u8]> = head.split_inclusive(|&byte| byte == b'\n').collect();
    let (status, fields) = lines.split_first()?;
    let (end, fields) = fields.split_last()?;
    if fields.len() <= MAX_FIELDS && fields.iter().all(|line| is_in_order(line)) {
        return None;
    }
    let mut mended: Vec<(Vec<u8>, Range<usize>)> = Vec::with_capacity(fields.len());
    // Whether the line before was one, so that it can go on.
    let mut open = false;
    for line in fields {
        let text = line.trim_ascii_end();
        if line.starts_with(b" ") || line.starts_with(b"\t") {
            if let Some((last, _)) = mended.last_mut().filter(|_| open) {
                last.push(b' ');
                last.extend_from_slice(text.trim_ascii_start());
            }
            continue;
        }
        let colon = text.iter().position(|&byte| byte == b':');
        let name = text[..colon.unwrap_or(0)].trim_ascii_end();
        open = is_name(name);
        if let (true, Some(colon)) = (open, colon) {
            mended.push(([name, &text[colon..]].concat(), 0..name.len()));
        }
    }
    let is_one = |names: &[&[u8]], line: &[u8], name: &Range<usize>| {
        let name = &line[name.clone()];
        names.iter().any(|one| name.eq_ignore_ascii_case(one))
    };
    mended.retain_mut(|(line, name)| {
        let is_plain = !line.iter().any(|&byte| is_control(byte));
        if !is_plain && is_one(&FRAMING, line, name) {
            line.iter_mut()
                .filter(|byte| is_control(**byte))
                .for_each(|byte| *byte = b' ');
            return true;
        }
        is_plain
    });
    let steers = |(line, name): &(Vec<u8>, Range<usize>)| is_one(&STEERING, line, name);
    let mut others = mended.iter().filter(|field| !steers(field)).count();
    let mut surplus = mended.len().saturating_sub(MAX_FIELDS);
    // The last ones go, but for those that steer.
    mended.retain(|field| {
        if steers(field) {
            return true;
        }
        others -= 1;
        let goes = surplus > others;
        surplus -= usize::from(goes);
        !goes
    });
    let mut whole = status.to_vec();
    for (line, _) in mended {
        whole.extend(line);
        // Each line lost its own end, which was one of these.
        whole.push(b'\n');
    }
    whole.extend(*end);
    Some(whole)
}

fn is_in_order(line: &[u8]) -> bool {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let Some(colon) = line.iter().position(|&byte| byte == b':') else {
        return false;
    };
    is_name(&line[..colon]) && !line[colon..].iter().any(|&byte| is_control(byte))
}

/// Whether it is a token (RFC 9110 section 5.6.2).
fn is_name(name: &[u8]) -> bool {
    !name.is_empty()
        && name
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte))
}

fn is_control(byte: u8) -> bool {
    byte.is_ascii_control() && byte != b'\t'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(fields: &str) -> String {
        let head = format!("HTTP/1.1 200 OK\r\n{fields}\r\n");
        let mended = mend(head.as_bytes()).expect("not in order");
        assert!(mended.len() <= head.len());
        let text = String::from_utf8(mended).expect("text");
        let rest = text.strip_prefix("HTTP/1.1 200 OK\r\n").expect("its line");
        rest.strip_suffix("\r\n").expect("its end").to_owned()
    }

    #[test]
    fn a_head_that_is_in_order_stays_as_it_is() {
        for head in [
            "HTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 200\n\n",
            "HTTP/1.1 200 OK\r\nA: b\tc\r\nempty:\r\nx:y\r\nz: \u{fc}\r\n\r\n",
        ] {
            assert_eq!(mend(head.as_bytes()), None, "{head:?}");
        }
    }

    #[test]
    fn what_is_out_of_order_is_mended_or_left_out() {
        for (fields, expected) in [
            ("a: 1\r\n b\r\n\t c\r\nd: 2\r\n", "a: 1 b c\nd: 2\n"),
            ("a: 1\n\t\n", "a: 1 \n"),
            (" folded before any\r\na: 1\r\n", "a: 1\n"),
            ("no colon\r\n of it\r\na: 1\r\n", "a: 1\n"),
            ("a  : 1\r\n", "a: 1\n"),
            (": nameless\r\n x\r\na:1\r\n", "a:1\n"),
            ("two words: 1\r\na: 1\r\n", "a: 1\n"),
            ("a: 1\r\r\nb: 2\r\n", "a: 1\nb: 2\n"),
            ("a: x\u{7f}\r\nb: 1\rz\r\nc: \0\r\nd: 1\r\n", "d: 1\n"),
            ("a: 1\r\n x\0\r\nb: 1\r\n", "b: 1\n"),
            ("Content-Length: 5\0\r\n", "Content-Length: 5 \n"),
        ] {
            assert_eq!(mended(fields), expected, "{fields:?}");
        }
    }

    #[test]
    fn of_too_many_fields_those_that_steer_are_kept_and_the_first_others() {
        let mut fields: String = (0..300).map(|n| format!("x-{n}: {n}\r\n")).collect();
        fields += "Content-Length: 2\r\nlocation: /a\r\n";
        let kept = mended(&fields);
        let lines: Vec<&str> = kept.lines().collect();
        assert_eq!(lines.len(), MAX_FIELDS);
        assert_eq!(lines[117], "x-117: 117");
        assert_eq!(lines[118..], ["Content-Length: 2", "location: /a"]);
        let hostile = "content-length: 2\r\n".repeat(300);
        assert_eq!(mended(&hostile).lines().count(), 300, "left to fail");
    }

    #[test]
    fn whatever_comes_a_mended_head_is_in_order_and_no_longer() {
        let parts: [&[u8]; 12] = [
            b"\r\n",
            b"\n",
            b"\r",
            b" ",
            b"\t",
            b":",
            b"a",
            b"Content-Length",
            b"\0",
            b"\xff",
            b"7",
            b"\r\n ",
        ];
        let mut rng = fastrand::Rng::with_seed(9112);
        for _ in 0..50_000 {
            let mut input = b"HTTP/1.1 200 OK\r\n".to_vec();
            for _ in 0..rng.usize(..20) {
                input.extend(parts[rng.usize(..parts.len())]);
            }
            input.extend(b"\r\n\r\n");
            let Start::Head(end) = start(&input) else {
                panic!("no end: {}", input.escape_ascii());
            };
            if let Some(mended) = mend(&input[..end]) {
                let shown = input.escape_ascii();
                assert!(mended.len() <= end, "{shown}");
                assert_eq!(mend(&mended), None, "{shown}");
                assert_eq!(start(&mended), Start::Head(mended.len()), "{shown}");
            }
        }
    }

    #[test]
    fn the_end_of_a_head_is_found_wherever_the_input_is_cut() {
        let whole = b"HTTP/1.1 200 OK\r\na: b\r\n\r\n";
        for cut in 0..whole.len() {
            assert_eq!(start(&whole[..cut]), Start::Partial, "{cut}");
        }
        let with_body = [&whole[..], b"\n\n"].concat();
        assert_eq!(start(&with_body), Start::Head(whole.len()));
        assert_eq!(start(b"HTTP/1.1 200\n\nx"), Start::Head(14));
        assert_eq!(start(b"<html>"), Start::Foreign);
        assert!(is_interim(b"HTTP/1.1 103 Early\r\n\r\n"));
        assert!(!is_interim(b"HTTP/1.1 101 Switching\r\n\r\n"));
        assert!(!is_interim(b"HTTP/1.1 200\r\n\r\n") && !is_interim(b"HTTP/1.1\n\n"));
    }
}
