//! [`objects`]: the JSON-LD of a page (JSON-LD 1.1 section 7), each object on
//! one line. Keeps: what is given is JSON for every reader, and what it says
//! is what stands on the page, numbers digit by digit.

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
    let script = script.trim_ascii();
    // Reading it whole also finds what only some readers of JSON mind: halves
    // of characters, and numbers without bounds.
    let read: Value = serde_json::from_str(script).map_err(|error| error.to_string())?;
    let around = match &read {
        Value::Object(_) => 0,
        Value::Array(list) if list.iter().all(Value::is_object) => 1,
        _ => return Err("neither an object nor a list of objects".to_owned()),
    };
    Ok(apart(script, around))
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
    fn what_is_no_object_for_every_reader_is_none() {
        for script in [
            "",
            "{",
            "{\"a\":1,}",
            "// x\n{}",
            "1",
            "[1]",
            "[[{}]]",
            "{\"a\":\"\n\"}",
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
            let value = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
            assert_eq!(value(&again), value(&script));
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
