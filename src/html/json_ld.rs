//! [`objects`]: the JSON-LD of a page (JSON-LD 1.1 section 7), each object on
//! one line. Keeps: what is given is JSON for every reader, and what it says
//! is what stands on the page, numbers digit by digit.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;

/// The media type of a script that holds JSON-LD (RFC 6906, JSON-LD 1.1
/// section 7.1).
const MEDIA_TYPE: &[u8] = b"application/ld+json";

/// Whether a script of this `type` holds JSON-LD.
pub(super) fn is_json_ld(media_type: &[u8]) -> bool {
    let essence = media_type.split(|&byte| byte == b';').next();
    essence.is_some_and(|essence| essence.trim_ascii().eq_ignore_ascii_case(MEDIA_TYPE))
}

/// The objects of a script: one, or each of a list. White space between tokens
/// is gone, and characters that end lines or that terminals obey are escaped.
///
/// # Errors
/// What keeps the script from being an object or a list of objects.
pub(super) fn objects(script: &str) -> Result<Vec<String>, String> {
    let mut script = Cow::Borrowed(unwrapped(script));
    // Reading it whole also finds what only some readers of JSON mind: halves
    // of characters, and numbers without bounds.
    let mut read = serde_json::from_str::<Value>(&script);
    if read.is_err()
        && let Some(escaped) = with_controls_escaped(&script)
    {
        script = Cow::Owned(escaped);
        read = serde_json::from_str(&script);
    }
    let read = read.map_err(|error| error.to_string())?;
    let around = match &read {
        Value::Object(_) => 0,
        Value::Array(list) if list.iter().all(Value::is_object) => 1,
        _ => return Err("neither an object nor a list of objects".to_owned()),
    };
    Ok(apart(&script, around))
}

/// What is put around scripts to hide them from readers of long ago, from the
/// outside in: comments of HTML, and CDATA sections behind comments of scripts
/// or style sheets.
const WRAPPINGS: [(&[&str], &[&str]); 2] = [
    (&["<!--", "//<!--"], &["//-->", "-->"]),
    (
        &[
            "//<![CDATA[",
            "// <![CDATA[",
            "/*<![CDATA[*/",
            "/* <![CDATA[ */",
            "<![CDATA[",
        ],
        &["//]]>", "// ]]>", "/*]]>*/", "/* ]]> */", "]]>"],
    ),
];

/// A script without what is around its JSON: a byte order mark, a wrapping, the
/// semicolon of a statement.
fn unwrapped(script: &str) -> &str {
    let mut script = script.trim_ascii();
    script = script
        .strip_prefix('\u{feff}')
        .unwrap_or(script)
        .trim_ascii();
    for (begins, ends) in WRAPPINGS {
        let inside = begins.iter().find_map(|begin| script.strip_prefix(begin));
        if let Some(inside) = inside {
            let inside = inside.trim_ascii();
            let ended = ends.iter().find_map(|end| inside.strip_suffix(end));
            script = ended.unwrap_or(inside).trim_ascii();
        }
    }
    script.strip_suffix(';').unwrap_or(script).trim_ascii()
}

/// JSON whose strings hold ends of lines and other control characters as they
/// are, as pages often have them; `None` when there are none.
fn with_controls_escaped(json: &str) -> Option<String> {
    let mut out = String::with_capacity(json.len());
    let (mut in_string, mut escaped, mut found) = (false, false, false);
    for c in json.chars() {
        if in_string && c < ' ' {
            if escaped {
                // A mistake of another kind.
                return None;
            }
            let _ = write!(out, "\\u{:04x}", u32::from(c));
            found = true;
            continue;
        }
        out.push(c);
        if c == '"' && !escaped {
            in_string = !in_string;
        }
        escaped = in_string && c == '\\' && !escaped;
    }
    found.then_some(out)
}

/// The objects at a depth, as they stand.
fn apart(json: &str, around: usize) -> Vec<String> {
    let mut objects = Vec::new();
    let mut object = String::new();
    let (mut depth, mut in_string, mut escaped) = (0, false, false);
    for c in json.chars() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else {
            if c.is_ascii_whitespace() {
                continue;
            }
            match c {
                '"' => in_string = true,
                '{' | '[' => depth += 1,
                '}' | ']' => depth -= 1,
                _ => {}
            }
        }
        let inside = depth > around;
        if !inside && c != '}' {
            continue;
        }
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
            let _ = write!(object, "\\u{:04x}", u32::from(c));
        } else {
            object.push(c);
        }
        if !inside {
            objects.push(std::mem::take(&mut object));
        }
    }
    objects
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(script: &str, expected: &[&str]) {
        assert_eq!(objects(script).expect(script), expected);
    }

    #[test]
    fn objects_stand_on_one_line_and_say_what_they_said() {
        check(
            "\n{ \"b\" : [ 1 , {} ],\n \"price\":72.00, \"a\": \" x { , \\\" \" }\n",
            &[r#"{"b":[1,{}],"price":72.00,"a":" x { , \" "}"#],
        );
        check(
            r#"[{"a":[{}]}, {"b":"]"}]"#,
            &[r#"{"a":[{}]}"#, r#"{"b":"]"}"#],
        );
        check("[]", &[]);
        check("{}", &["{}"]);
        let odd = objects("{\"a\":\"\u{2028}\u{7f}\u{9b}é\"}").expect("JSON");
        assert_eq!(odd, ["{\"a\":\"\\u2028\\u007f\\u009bé\"}"]);
        for big in ["{\"n\":12345678901234567890123}", "{\"n\":0.10}"] {
            check(big, &[big]);
        }
    }

    #[test]
    fn what_is_put_around_a_script_is_not_part_of_it() {
        for script in [
            "<!--\n{}\n-->",
            "<!-- {} //-->",
            "<![CDATA[{}]]>",
            "//<![CDATA[\n{}\n//]]>",
            "// <![CDATA[\n{}\n// ]]>",
            "/*<![CDATA[*/ {} /*]]>*/",
            "/* <![CDATA[ */ {}; /* ]]> */",
            "<!--//<![CDATA[\n{}\n//]]>-->",
            "<!-- {}",
            "\u{feff}{}",
            "{} ;",
        ] {
            check(script, &["{}"]);
        }
        check("{\"a\":\"<!-- ]]> -->;\"}", &["{\"a\":\"<!-- ]]> -->;\"}"]);
    }

    #[test]
    fn control_characters_in_strings_are_escaped_as_they_should_have_been() {
        check(
            "{\"a\":\"one\r\n\ttwo \\\"\n\\\\\"\n}",
            &[r#"{"a":"one\u000d\u000a\u0009two \"\u000a\\"}"#],
        );
    }

    #[test]
    fn what_is_no_object_for_every_reader_is_none() {
        for script in [
            "",
            "{",
            "{\"a\":1,}",
            "// x\n{}",
            "1",
            "[1]",
            "[[{}]]",
            "{\"a\":\"\\\n\"}",
            "{\"a\":\"\\ud800\"}",
            "{\"a\":1e999}",
            "{} {}",
        ] {
            assert!(objects(script).is_err(), "{script:?}");
        }
        assert!(objects(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000))).is_err());
    }

    #[test]
    fn whatever_is_read_means_the_same() {
        let mut rng = fastrand::Rng::with_seed(11);
        let pool: Vec<char> = "{}[]\",:\\ \nn1eé\u{2029}".chars().collect();
        let mut read = 0;
        for _ in 0..200_000 {
            let length = rng.usize(0..14);
            let inside: String = (0..length).map(|_| pool[rng.usize(..pool.len())]).collect();
            let script = format!("[{{\"a\":{inside}}}]");
            let Ok(objects) = objects(&script) else {
                continue;
            };
            let again = format!("[{}]", objects.join(","));
            let value = |text: &str| serde_json::from_str::<Value>(text);
            let Ok(expected) = value(&script) else {
                // It had ends of lines in strings.
                assert!(script.contains('\n') && value(&again).is_ok(), "{script:?}");
                continue;
            };
            assert_eq!(value(&again).ok(), Some(expected));
            assert!(!again.contains(|c: char| c.is_control() || c == '\u{2029}'));
            read += 1;
        }
        assert!(read > 100, "{read}");
    }

    #[test]
    fn the_type_of_a_script_may_be_written_in_several_ways() {
        for name in [
            "application/ld+json",
            " Application/LD+JSON ; charset=utf-8",
        ] {
            assert!(is_json_ld(name.as_bytes()), "{name}");
        }
        for name in [
            "",
            "application/json",
            "application/ld+json2",
            "text/javascript",
        ] {
            assert!(!is_json_ld(name.as_bytes()), "{name}");
        }
    }
}
