//! Paths and path patterns in one canonical form, and the match of one pattern.
//!
//! Invariant: both sides of a comparison went through the same table, so two
//! spellings of one octet always compare equal. A canonical text is ASCII and
//! holds a `*` only where a pattern has a wildcard, and a `$` only where a
//! pattern is anchored at its end.
//!
//! RFC 9309 section 2.2.2 has octets outside US-ASCII compared in their
//! percent-encoded form and encoded unreserved octets in their plain form;
//! section 2.2.3 makes `%2A` and `%24` the literal characters.

use std::borrow::Cow;

/// How an octet stands in a canonical text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// As it is, and so does its encoded form: unreserved octets, and the marks
    /// `!'()`, which writers encode or not as they like.
    Plain,
    /// As it is; its encoded form is another thing (`/` is not `%2F`).
    Delimiter,
    /// Always encoded, for instance white space, `"`, `[` and all beyond ASCII.
    Encoded,
}

const fn classify(octet: u8) -> Class {
    match octet {
        b'A'..=b'Z'
        | b'a'..=b'z'
        | b'0'..=b'9'
        | b'-'
        | b'.'
        | b'_'
        | b'~'
        | b'!'
        | b'\''
        | b'('
        | b')' => Class::Plain,
        b'&' | b'+' | b',' | b';' | b'=' | b':' | b'@' | b'/' | b'?' => Class::Delimiter,
        _ => Class::Encoded,
    }
}

const CLASSES: [Class; 256] = {
    let mut table = [Class::Encoded; 256];
    let mut octet = 0;
    while octet < table.len() {
        table[octet] = classify(octet as u8);
        octet += 1;
    }
    table
};

const HEX: &[u8; 16] = b"0123456789ABCDEF";

fn push_encoded(octet: u8, out: &mut String) {
    out.push('%');
    out.push(char::from(HEX[usize::from(octet >> 4)]));
    out.push(char::from(HEX[usize::from(octet & 15)]));
}

fn hex_value(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

/// The octet that the text at a `%` encodes; `None` when it encodes nothing.
fn encoded_octet(at_percent: &[u8]) -> Option<u8> {
    let high = hex_value(*at_percent.get(1)?)?;
    let low = hex_value(*at_percent.get(2)?)?;
    Some(high << 4 | low)
}

/// Appends the canonical form of the unit that `rest` starts with and returns
/// its length.
fn push_unit(rest: &[u8], out: &mut String) -> usize {
    let octet = rest[0];
    if octet == b'%' {
        return match encoded_octet(rest) {
            Some(meant) if CLASSES[usize::from(meant)] == Class::Plain => {
                out.push(char::from(meant));
                3
            }
            Some(meant) => {
                push_encoded(meant, out);
                3
            }
            // A stray `%` stands for itself on both sides.
            None => {
                out.push('%');
                1
            }
        };
    }
    match CLASSES[usize::from(octet)] {
        Class::Plain | Class::Delimiter => out.push(char::from(octet)),
        Class::Encoded => push_encoded(octet, out),
    }
    1
}

/// How much of the start of `path` is canonical already.
fn canonical_len(path: &[u8]) -> usize {
    let mut at = 0;
    while let Some(&octet) = path.get(at) {
        if octet == b'%' {
            match encoded_octet(&path[at..]) {
                Some(meant)
                    if CLASSES[usize::from(meant)] == Class::Plain
                        || path[at + 1..at + 3].iter().any(u8::is_ascii_lowercase) =>
                {
                    return at;
                }
                Some(_) => at += 3,
                None => at += 1,
            }
        } else if CLASSES[usize::from(octet)] == Class::Encoded {
            return at;
        } else {
            at += 1;
        }
    }
    at
}

/// The canonical form of a URL's path and query. Borrowed when nothing changes.
pub(super) fn canonical_path(path: &str) -> Cow<'_, str> {
    let bytes = path.as_bytes();
    let mut at = canonical_len(bytes);
    if at == bytes.len() {
        return Cow::Borrowed(path);
    }
    let mut out = String::with_capacity(bytes.len() + bytes.len() / 4);
    // What was found canonical is ASCII, so the cut is at a character.
    out.push_str(&path[..at]);
    while at < bytes.len() {
        at += push_unit(&bytes[at..], &mut out);
    }
    Cow::Owned(out)
}

/// Appends the canonical form of a rule's value. Returns `false`, appending
/// nothing, for a value that can match no path: one that starts with neither
/// `/` nor `*`.
pub(super) fn push_pattern(value: &[u8], out: &mut String) -> bool {
    if !matches!(value.first(), Some(b'/' | b'*')) {
        return false;
    }
    let mut at = 0;
    while at < value.len() {
        match value[at] {
            b'*' => {
                out.push('*');
                at += 1;
            }
            b'$' if at + 1 == value.len() => {
                out.push('$');
                at += 1;
            }
            _ => at += push_unit(&value[at..], out),
        }
    }
    true
}

/// Whether a pattern is a plain prefix: no wildcard, no anchor.
pub(super) fn is_prefix(pattern: &str) -> bool {
    !pattern.ends_with('$') && !pattern.contains('*')
}

/// Whether a canonical pattern matches a canonical path (RFC 9309 section
/// 2.2.3).
///
/// Each literal between two wildcards is taken at its first place; what is left
/// of it is never looked at again. So the time is linear in the lengths of the
/// two, since the search for one literal is.
pub(super) fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, anchored) = match pattern.strip_suffix('$') {
        Some(body) => (body, true),
        None => (pattern, false),
    };
    let Some((head, tail)) = pattern.rsplit_once('*') else {
        return if anchored {
            path == pattern
        } else {
            path.starts_with(pattern)
        };
    };
    let mut literals = head.split('*');
    let Some(mut rest) = path.strip_prefix(literals.next().unwrap_or_default()) else {
        return false;
    };
    for literal in literals.filter(|literal| !literal.is_empty()) {
        match rest.find(literal) {
            Some(at) => rest = &rest[at + literal.len()..],
            None => return false,
        }
    }
    if anchored {
        rest.ends_with(tail)
    } else {
        rest.contains(tail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(value: &str) -> String {
        let mut out = String::new();
        assert!(push_pattern(value.as_bytes(), &mut out), "{value}");
        out
    }

    #[test]
    fn a_path_in_canonical_form_is_not_copied() {
        for path in [
            "/",
            "/a/b.html?x=1&y=%C3%A9",
            "/100%",
            "/a%2Fb;c=d,e@f:g!(h)",
        ] {
            assert!(
                matches!(canonical_path(path), Cow::Borrowed(same) if same == path),
                "{path}"
            );
        }
    }

    #[test]
    fn two_spellings_of_one_octet_have_one_form() {
        for (one, other) in [
            ("/%62%61%7a", "/baz"),
            ("/a%3cb", "/a<b"),
            ("/k/%e3%83%84", "/k/ツ"),
            ("/q?f[x]=1", "/q?f%5bx%5D=1"),
            ("/it's", "/it%27s"),
            ("/a b|c", "/a%20b%7Cc"),
            ("/a*$b", "/a%2A%24b"),
        ] {
            assert_eq!(canonical_path(one), canonical_path(other), "{one}");
        }
        for (one, other) in [
            ("/a%2Fb", "/a/b"),
            ("/a%3Fb", "/a?b"),
            ("/?a%26b", "/?a&b"),
            ("/%25zz", "/%zz"),
            ("/A", "/a"),
        ] {
            assert_ne!(canonical_path(one), canonical_path(other), "{one}");
        }
    }

    #[test]
    fn a_canonical_path_is_its_own_canonical_form() {
        let letters: Vec<char> = "/a%2fF$*?[ éツ#~'\u{0}".chars().collect();
        let mut rng = fastrand::Rng::with_seed(9309);
        for _ in 0..2_000 {
            let path: String = (0..rng.usize(..24))
                .map(|_| letters[rng.usize(..letters.len())])
                .collect();
            let once = canonical_path(&path).into_owned();
            assert!(once.is_ascii() && !once.contains(['*', '$']), "{path:?}");
            assert!(
                matches!(canonical_path(&once), Cow::Borrowed(_)),
                "{path:?}"
            );
        }
    }

    #[test]
    fn stars_and_dollars_are_special_only_where_the_rfc_says() {
        let holds = |rule: &str, path: &str| matches(&pattern(rule), &canonical_path(path));
        assert!(holds("/q-%2A.htm", "/q-*.htm") && holds("/q-%2a.htm", "/q-%2A.htm"));
        assert!(!holds("/q-%2A.htm", "/q-x.htm"));
        assert!(holds("/p-%24", "/p-$") && !holds("/p-%24", "/p-"));
        assert!(holds("/x$/y", "/x$/y") && !holds("/x$/y", "/x"));
        assert!(holds("/x$", "/x") && !holds("/x$", "/x/"));
        assert!(holds("/*", "/") && holds("*", "/a") && holds("*$", "/a") && holds("/**b", "/ab"));
        assert!(holds("/a*a", "/aa") && !holds("/a*a", "/a"));
        assert!(holds("/*a$", "/aba") && !holds("/a*a$", "/a"));
    }

    #[test]
    fn wildcards_match_as_a_plain_recursive_matcher_says() {
        fn slow(pattern: &[u8], path: &[u8]) -> bool {
            match pattern {
                [] => true,
                [b'$'] => path.is_empty(),
                [b'*', rest @ ..] => (0..=path.len()).any(|skip| slow(rest, &path[skip..])),
                [octet, rest @ ..] => path.first() == Some(octet) && slow(rest, &path[1..]),
            }
        }
        let mut rng = fastrand::Rng::with_seed(223);
        let mut word = |letters: &str, longest: usize| -> String {
            let length = rng.usize(..longest);
            let letters = letters.as_bytes();
            let letters = (0..length).map(|_| char::from(letters[rng.usize(..letters.len())]));
            format!("/{}", letters.collect::<String>())
        };
        let mut held = 0;
        for _ in 0..20_000 {
            let (rule, path) = (word("ab**", 8), word("ab", 10));
            let rule = if rule.len() % 3 == 0 {
                rule + "$"
            } else {
                rule
            };
            let expected = slow(rule.as_bytes(), path.as_bytes());
            held += usize::from(expected);
            assert_eq!(matches(&rule, &path), expected, "{rule} {path}");
        }
        assert!((1_000..19_000).contains(&held), "{held}");
    }
}
