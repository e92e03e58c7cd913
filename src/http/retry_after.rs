//! [`retry_after`]: how long a site asks us to stay away (RFC 9110 section
//! 10.2.3).
//!
//! Invariant: the answer is never shorter than what a valid value asks for.

use std::time::{Duration, SystemTime};

use super::date::date;

/// The delay that one `Retry-After` value asks for, by the grammar of RFC 9110
/// section 10.2.3: whole seconds, or a date that is compared with `now`. A date
/// gone by is no delay; a number too large for the type is cut down to it.
/// `None` for a value that is neither.
///
/// A crawl reads the header by [`retry_after_fields`], which forgives more.
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
/// use canter::http::retry_after;
/// let now = UNIX_EPOCH + Duration::from_secs(784_111_777);
/// assert_eq!(retry_after("120", now), Some(Duration::from_secs(120)));
/// assert_eq!(retry_after("Sun, 06 Nov 1994 08:50:37 GMT", now), Some(Duration::from_secs(60)));
/// assert_eq!(retry_after("-5", now), None);
/// ```
#[must_use]
pub fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim_ascii();
    whole_seconds(value).or_else(|| until(value, now, now))
}

/// The delay that the `Retry-After` lines of one response ask for: the longest
/// of the valid ones, or `None` when none is valid.
///
/// More forgiving than [`retry_after`], always to the longer side: a fraction
/// is rounded up, and numbers joined by commas, as a proxy may join two lines,
/// count one by one. `response_date` is the response's own `Date` value: a date
/// is compared with it rather than with `now` when it can be read, since the
/// two clocks may differ.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use canter::http::retry_after_fields;
/// let lines = [&b"3"[..], b"299.4", b"-1"];
/// let delay = retry_after_fields(lines, None, SystemTime::now());
/// assert_eq!(delay, Some(Duration::from_secs(300)));
/// ```
#[must_use]
pub fn retry_after_fields<'a>(
    values: impl IntoIterator<Item = &'a [u8]>,
    response_date: Option<&[u8]>,
    now: SystemTime,
) -> Option<Duration> {
    let mut from = None;
    values
        .into_iter()
        .filter_map(|value| {
            let value = std::str::from_utf8(value).ok()?.trim_ascii();
            each_seconds(value).or_else(|| {
                let from = *from.get_or_insert_with(|| {
                    response_date
                        .and_then(|text| std::str::from_utf8(text).ok())
                        .and_then(|text| date(text.trim_ascii(), now))
                        .unwrap_or(now)
                });
                until(value, from, now)
            })
        })
        .max()
}

fn until(value: &str, from: SystemTime, now: SystemTime) -> Option<Duration> {
    Some(date(value, now)?.duration_since(from).unwrap_or_default())
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn whole_seconds(value: &str) -> Option<Duration> {
    // Digits can fail to parse only by being too many.
    is_digits(value).then(|| Duration::from_secs(value.parse().unwrap_or(u64::MAX)))
}

fn seconds_rounded_up(value: &str) -> Option<Duration> {
    let Some((whole, fraction)) = value.split_once('.') else {
        return whole_seconds(value);
    };
    let whole = whole_seconds(whole)?;
    is_digits(fraction).then(|| {
        let more = fraction.bytes().any(|digit| digit != b'0');
        whole.saturating_add(Duration::from_secs(u64::from(more)))
    })
}

fn each_seconds(value: &str) -> Option<Duration> {
    value
        .split(',')
        .map(|part| seconds_rounded_up(part.trim_ascii()))
        .try_fold(Duration::ZERO, |longest, part| Some(longest.max(part?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    const NOW: u64 = 1_796_040_000;

    fn at(offset: i64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(NOW.saturating_add_signed(offset))
    }

    fn fields(values: &[&str], date: Option<&str>) -> Option<u64> {
        retry_after_fields(
            values.iter().map(|value| value.as_bytes()),
            date.map(str::as_bytes),
            at(0),
        )
        .map(|delay| delay.as_secs())
    }

    #[test]
    fn a_negative_or_signed_number_is_no_delay() {
        for value in [
            "-5", "-0", "+5", "5 5", "1e3", "inf", "NaN", "", ".5", "5.", "1.5.5",
        ] {
            assert_eq!(fields(&[value], None), None, "{value}");
        }
    }

    #[test]
    fn a_fraction_is_rounded_up_and_spaces_are_trimmed() {
        assert_eq!(fields(&["299.4"], None), Some(300));
        assert_eq!(fields(&[" 3 "], None), Some(3));
        assert_eq!(fields(&["1.5"], None), Some(2));
        assert_eq!(fields(&["2.000"], None), Some(2));
        let huge = "9".repeat(400);
        assert_eq!(fields(&[&format!("{huge}.5")], None), Some(u64::MAX));
    }

    #[test]
    fn the_longest_valid_line_counts() {
        assert_eq!(fields(&["3", "60"], None), Some(60));
        assert_eq!(fields(&["60", "-1", "soon"], None), Some(60));
        assert_eq!(fields(&["3, 60"], None), Some(60));
        assert_eq!(fields(&["3, soon"], None), None);
        assert_eq!(fields(&[], None), None);
    }

    #[test]
    fn a_date_is_measured_against_the_clock_that_wrote_it() {
        let later = httpdate::fmt_http_date(at(3600 + 120));
        let skewed = httpdate::fmt_http_date(at(3600));
        assert_eq!(fields(&[&later], Some(&skewed)), Some(120));
        assert_eq!(fields(&[&later], None), Some(3720));
        assert_eq!(fields(&[&later], Some("yesterday")), Some(3720));
        assert_eq!(fields(&[&skewed], Some(&later)), Some(0));
    }

    #[test]
    fn a_date_gone_by_is_no_delay_in_all_three_forms() {
        for value in [
            "Tue, 01 Jan 2019 00:00:00 GMT",
            "Tuesday, 01-Jan-19 00:00:00 GMT",
            "Tue Jan  1 00:00:00 2019",
        ] {
            assert_eq!(retry_after(value, at(0)), Some(Duration::ZERO), "{value}");
            assert_eq!(fields(&[value], None), Some(0), "{value}");
        }
    }

    #[test]
    fn bytes_that_are_not_text_are_no_delay() {
        assert_eq!(retry_after_fields([&b"5\xFF"[..]], None, at(0)), None);
        assert_eq!(
            retry_after_fields([&b"5"[..]], Some(b"\xFF"), at(0)),
            Some(Duration::from_secs(5))
        );
    }
}
