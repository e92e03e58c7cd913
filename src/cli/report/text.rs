//! Text and numbers as the page shows them. Keeps: nothing that came from
//! elsewhere is ever markup, a control character or a mark that turns the
//! direction of writing.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use super::super::progress::{grouped, rounded_size};
use super::super::term::sanitize;
use crate::config::rfc3339;
use crate::crawler::chronicle::Latencies;

/// Text as HTML, fit for an element and for a quoted attribute.
pub(super) fn escape(text: &str) -> String {
    let text = sanitize(text);
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A count.
pub(super) fn count(number: u64) -> String {
    grouped(number)
}

/// Bytes.
pub(super) fn size(bytes: u64) -> String {
    rounded_size(bytes)
}

/// A number with as many digits as say something.
pub(super) fn number(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.digits$}");
    if digits == 0 {
        return grouped(value.round() as u64);
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A part of a whole, in percent.
pub(super) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "0 %".to_owned();
    }
    let percent = 100.0 * part as f64 / whole as f64;
    match percent {
        p if p > 0.0 && p < 1.0 => "under 1 %".to_owned(),
        p if p > 99.0 && p < 100.0 => "over 99 %".to_owned(),
        p => format!("{p:.0} %"),
    }
}

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A time in milliseconds, rounded to what a person reads.
pub(super) fn millis(millis: u64) -> String {
    let seconds = |decimals: usize| {
        let text = format!("{:.decimals$}", millis as f64 / 1e3);
        let text = if decimals > 0 {
            text.trim_end_matches('0').trim_end_matches('.')
        } else {
            &text
        };
        format!("{text} s")
    };
    let two = |whole: u64, unit: &str, rest: u64, small: &str| {
        if rest == 0 {
            format!("{whole} {unit}")
        } else {
            format!("{whole} {unit} {rest} {small}")
        }
    };
    match millis {
        0..SECOND => format!("{millis} ms"),
        SECOND..10_000 => seconds(2),
        10_000..MINUTE => seconds(1),
        MINUTE..HOUR => two(millis / MINUTE, "min", millis % MINUTE / SECOND, "s"),
        HOUR..DAY => two(millis / HOUR, "h", millis % HOUR / MINUTE, "min"),
        _ => two(millis / DAY, "d", millis % DAY / HOUR, "h"),
    }
}

/// The same, of a measured time or none.
pub(super) fn took(duration: Option<Duration>) -> String {
    duration.map_or("\u{2013}".to_owned(), |duration| {
        millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    })
}

/// The same, or a dash for no time at all.
pub(super) fn some_millis(value: u64) -> String {
    if value == 0 {
        took(None)
    } else {
        millis(value)
    }
}

/// The time that a part of the requests did not exceed. The histogram is not
/// exact, the longest time is.
pub(super) fn percentile(latencies: &Latencies, part: f64, slowest: u64) -> Option<Duration> {
    let told = latencies.percentile(part)?;
    Some(told.min(Duration::from_millis(slowest.max(1))))
}

/// Starts a minute in a time of milliseconds. The first stands at its
/// beginning: a short run is no faster than its bound for that.
pub(super) fn average(starts: u64, elapsed: u64) -> Option<f64> {
    let between = starts.checked_sub(1).filter(|between| *between > 0)?;
    (elapsed > 0).then(|| between as f64 * 60_000.0 / elapsed as f64)
}

/// A count with the name of what is counted, which takes an "s" for many.
pub(super) fn plural(number: u64, name: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {name}{s}", count(number))
}

fn utc(wall: u64) -> String {
    let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(wall));
    let mut out = Vec::with_capacity(24);
    rfc3339::write(time.unwrap_or(rfc3339::EPOCH), &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// `2026-01-31 09:05:03`, of milliseconds since 1970, in UTC.
pub(super) fn date_and_time(wall: u64) -> String {
    let text = utc(wall);
    format!("{} {}", &text[..10], &text[11..19])
}

/// `2026-01-31`
pub(super) fn date(wall: u64) -> String {
    utc(wall)[..10].to_owned()
}

/// `09:05:03`, or `09:05` where seconds say nothing.
pub(super) fn clock(wall: u64, seconds: bool) -> String {
    let text = utc(wall);
    text[11..if seconds { 19 } else { 16 }].to_owned()
}

/// A coordinate, with as few digits as it needs.
pub(super) fn coordinate(value: f64) -> String {
    let mut text = String::new();
    let _ = write!(text, "{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0" } else { text }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_run_is_no_faster_than_its_bound() {
        assert_eq!(average(0, 1_000), None);
        assert_eq!(average(1, 39), None);
        assert_eq!(average(2, 0), None);
        assert_eq!(average(61, 60_000), Some(60.0));
    }

    #[test]
    fn no_text_is_markup() {
        let hostile = "</script><img src=x onerror='alert(1)'>&\"\u{202e}\0\u{1b}[2J";
        let shown = escape(hostile);
        assert_eq!(
            shown,
            "&lt;/script&gt;&lt;img src=x onerror=&#39;alert(1)&#39;&gt;&amp;&quot;\\u{202e}\\u{0}\
             \\u{1b}[2J"
        );
        for c in (0..0x3000).filter_map(char::from_u32) {
            let shown = escape(&c.to_string());
            assert!(!shown.contains(['<', '>', '"', '\'']), "{c:?}");
            assert!(!shown.contains(char::is_control), "{c:?}");
        }
    }

    #[test]
    fn numbers_are_as_long_as_they_say_something() {
        for (value, expected) in [
            (0.0, "0"),
            (0.256, "0.26"),
            (9.999, "10"),
            (12.34, "12.3"),
            (60.0, "60"),
            (1234.5, "1,235"),
        ] {
            assert_eq!(number(value), expected);
        }
        for (value, expected) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_500, "1.5 s"),
            (12_340, "12.3 s"),
            (60_000, "1 min"),
            (61_500, "1 min 1 s"),
            (3_660_000, "1 h 1 min"),
            (90_000_000, "1 d 1 h"),
        ] {
            assert_eq!(millis(value), expected);
        }
        assert_eq!(percent(1, 1_000), "under 1 %");
        assert_eq!(percent(999, 1_000), "over 99 %");
        assert_eq!(percent(1, 4), "25 %");
        assert_eq!(coordinate(-0.001), "0");
        assert_eq!(coordinate(12.50), "12.5");
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        let wall = 1_709_164_800_000 + 3_723_000;
        assert_eq!(date_and_time(wall), "2024-02-29 01:02:03");
        assert_eq!(date(wall), "2024-02-29");
        assert_eq!(clock(wall, false), "01:02");
        assert_eq!(date_and_time(u64::MAX).len(), 19);
    }
}
