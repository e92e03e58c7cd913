//! Durations and sizes as people write them. What [`show_duration`] and
//! [`show_size`] print reads back as the same value.

use std::fmt::Write as _;
use std::time::Duration;

/// Units of time in seconds, largest first.
const TIMES: [(&str, f64); 6] = [
    ("w", 604_800.0),
    ("d", 86_400.0),
    ("h", 3_600.0),
    ("m", 60.0),
    ("s", 1.0),
    ("ms", 0.001),
];

/// Units of size in bytes: decimal ones as SI has them, binary ones with an i.
const SIZES: [(&str, u64); 7] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];

/// Reads a duration such as `500ms`, `10m`, `1h30m` or `1.5 h`.
///
/// # Errors
/// What is wrong with the text: lower case, no full stop.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err("is empty, write a duration such as \"10m\"".to_owned());
    }
    if rest.starts_with('-') {
        return Err(format!("must not be negative, not {text:?}"));
    }
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let (number, after) = split_number(rest);
        let after = after.trim_start();
        let end = after
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let (unit, next) = after.split_at(end);
        let Ok(count) = number.parse::<f64>() else {
            return Err(format!(
                "{text:?} is not a duration, write seconds or a string such as \"1h30m\""
            ));
        };
        if unit.is_empty() && next.is_empty() {
            return Err(format!(
                "{text:?} has no unit, write a number of seconds without quotes or \"{number}s\""
            ));
        }
        let Some((_, length)) = TIMES.iter().find(|(name, _)| *name == unit) else {
            return Err(format!(
                "{text:?} is not a duration, its units are ms, s, m, h, d and w"
            ));
        };
        seconds += count * length;
        rest = next.trim_start();
    }
    seconds_to_duration(seconds)
}

/// Seconds as a duration.
///
/// # Errors
/// When they are negative, not finite, or more than a duration holds.
pub(super) fn seconds_to_duration(seconds: f64) -> Result<Duration, String> {
    if seconds.is_nan() {
        return Err("must be a number of seconds, not nan".to_owned());
    }
    if seconds < 0.0 {
        return Err(format!("must not be negative, not {seconds}"));
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| "must be at most 366 days".to_owned())
}

/// Reads a size such as `512 KiB`, `10MB` or `1.5 GiB`.
///
/// # Errors
/// What is wrong with the text: lower case, no full stop.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let (number, unit) = split_number(text.trim());
    let unit = unit.trim();
    let Ok(count) = number.parse::<f64>() else {
        return Err(format!(
            "{text:?} is not a size, write bytes or a string such as \"10 MiB\""
        ));
    };
    let known = SIZES
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(unit));
    let Some((_, bytes)) = known else {
        return Err(if unit.is_empty() {
            format!(
                "{text:?} has no unit, write a number of bytes without quotes or \"{number} MiB\""
            )
        } else {
            format!("{text:?} is not a size, its units are B, kB, MB, GB, KiB, MiB and GiB")
        });
    };
    let total = count * *bytes as f64;
    if total < u64::MAX as f64 {
        Ok(total.round() as u64)
    } else {
        Err(format!("{text:?} is too large"))
    }
}

/// Digits with at most one point in them, and what follows.
fn split_number(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    text.split_at(end)
}

/// A duration in the largest units that fit: `1h 30m`, `2.5s`, `500ms`.
#[must_use]
pub fn show_duration(duration: Duration) -> String {
    if duration.is_zero() {
        return "0s".to_owned();
    }
    if duration < Duration::from_secs(1) {
        return format!("{}ms", fraction(duration.as_nanos(), 1_000_000));
    }
    let mut seconds = duration.as_secs();
    let mut out = String::new();
    for (unit, length) in [("d", 86_400), ("h", 3_600), ("m", 60)] {
        if seconds >= length {
            let _ = write!(out, "{}{unit} ", seconds / length);
            seconds %= length;
        }
    }
    let nanos = u128::from(seconds) * 1_000_000_000 + u128::from(duration.subsec_nanos());
    if nanos > 0 {
        let _ = write!(out, "{}s", fraction(nanos, 1_000_000_000));
    }
    out.trim_end().to_owned()
}

/// `parts / whole` in decimal digits, without zeros at the end.
fn fraction(parts: u128, whole: u128) -> String {
    let digits = whole.ilog10() as usize;
    let text = format!("{}.{:0digits$}", parts / whole, parts % whole);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A size in the largest binary unit that it is a whole number of.
#[must_use]
pub fn show_size(bytes: u64) -> String {
    let (unit, size) = SIZES
        .iter()
        .find(|(unit, size)| unit.contains('i') && bytes >= *size && bytes.is_multiple_of(*size))
        .unwrap_or(&("B", 1));
    format!("{} {unit}", bytes / size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_people_write_them() {
        for (text, millis) in [
            ("500ms", 500),
            ("1s", 1_000),
            ("2.5s", 2_500),
            ("10m", 600_000),
            ("1h30m", 5_400_000),
            (" 1h 30m ", 5_400_000),
            ("1.5 h", 5_400_000),
            ("2d", 172_800_000),
            ("1w", 604_800_000),
            ("0s", 0),
            ("100ms", 100),
        ] {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_millis(millis)),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_duration_says_why() {
        for (text, word) in [
            ("1", "no unit"),
            ("1h30", "no unit"),
            ("", "empty"),
            ("-1s", "negative"),
            ("1x", "units are"),
            ("s", "not a duration"),
            ("1.2.3s", "not a duration"),
            ("1s!", "not a duration"),
            ("99999999999999999999w", "366 days"),
        ] {
            let why = parse_duration(text).expect_err(text);
            assert!(why.contains(word), "{text}: {why}");
        }
        assert!(seconds_to_duration(f64::INFINITY).is_err());
        assert!(seconds_to_duration(f64::NAN).is_err());
    }

    #[test]
    fn a_shown_duration_reads_back_as_itself() {
        for (duration, text) in [
            (Duration::ZERO, "0s"),
            (Duration::from_millis(1500), "1.5s"),
            (Duration::from_millis(20), "20ms"),
            (Duration::from_micros(1), "0.001ms"),
            (Duration::from_secs(90), "1m 30s"),
            (Duration::from_secs(86_400), "1d"),
            (Duration::from_millis(90_061_001), "1d 1h 1m 1.001s"),
        ] {
            assert_eq!(show_duration(duration), text);
            assert_eq!(parse_duration(text), Ok(duration), "{text}");
        }
    }

    #[test]
    fn sizes_read_and_show() {
        for (text, bytes) in [
            ("10 MiB", 10_485_760),
            ("10mib", 10_485_760),
            ("10MB", 10_000_000),
            ("1.5 KiB", 1_536),
            ("7 B", 7),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["10", "10 M", "MiB", "", "-1 B", "99999999999999 GiB"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
        for bytes in [0, 1, 1000, 1024, 10_485_760, 1 << 31] {
            assert_eq!(parse_size(&show_size(bytes)), Ok(bytes));
        }
        assert_eq!(show_size(10_485_760), "10 MiB");
    }
}
