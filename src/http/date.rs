//! [`date`]: HTTP dates in their three forms (RFC 9110 section 5.6.7).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const SECONDS_PER_DAY: i64 = 86_400;
/// Years after which the Gregorian calendar repeats itself, and their days.
const CYCLE: (i64, i64) = (400, 146_097);
/// A two-digit year that seems further ahead than this is in the past (RFC 9110
/// section 5.6.7).
const YEARS_AHEAD: i64 = 50;

const MONTHS: [(&str, i64); 12] = [
    ("jan", 31),
    ("feb", 28),
    ("mar", 31),
    ("apr", 30),
    ("may", 31),
    ("jun", 30),
    ("jul", 31),
    ("aug", 31),
    ("sep", 30),
    ("oct", 31),
    ("nov", 30),
    ("dec", 31),
];

/// Reads an HTTP date: IMF-fixdate, the old RFC 850 form or asctime's (RFC 9110
/// section 5.6.7). `now` settles the century of a two-digit year.
///
/// Lenient where the meaning is plain: letter case, a wrong day of the week, a
/// day of one digit, `UTC` or `+0000` for `GMT`. `None` for anything else.
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
/// let now = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
/// let date = UNIX_EPOCH + Duration::from_secs(784_111_777);
/// for form in [
///     "Sun, 06 Nov 1994 08:49:37 GMT",
///     "Sunday, 06-Nov-94 08:49:37 GMT",
///     "Sun Nov  6 08:49:37 1994",
/// ] {
///     assert_eq!(canter::http::date(form, now), Some(date));
/// }
/// ```
#[must_use]
pub fn date(value: &str, now: SystemTime) -> Option<SystemTime> {
    let seconds = if let Some((weekday, rest)) = value.split_once(',') {
        is_word(weekday.trim()).then_some(())?;
        let mut words = rest.split_ascii_whitespace();
        let first = words.next()?;
        let (day, month, year) = match first.split_once('-') {
            Some((day, rest)) => {
                let (month, year) = rest.split_once('-')?;
                (day, month, year)
            }
            None => (first, words.next()?, words.next()?),
        };
        let time = words.next()?;
        is_utc(words.next()?).then_some(())?;
        words.next().is_none().then_some(())?;
        civil(year, month, day, time, now)?
    } else {
        let mut words = value.split_ascii_whitespace();
        let mut next = || words.next();
        let (weekday, month, day, time, year) = (next()?, next()?, next()?, next()?, next()?);
        let is_whole = next().is_none();
        (is_whole && is_word(weekday) && year.len() == 4).then_some(())?;
        civil(year, month, day, time, now)?
    };
    let distance = Duration::from_secs(seconds.unsigned_abs());
    if seconds < 0 {
        UNIX_EPOCH.checked_sub(distance)
    } else {
        UNIX_EPOCH.checked_add(distance)
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphabetic())
}

fn is_utc(zone: &str) -> bool {
    ["GMT", "UTC", "+0000", "-0000"]
        .iter()
        .any(|name| zone.eq_ignore_ascii_case(name))
}

/// A number of so many digits.
fn number(text: &str, digits: std::ops::RangeInclusive<usize>) -> Option<i64> {
    (digits.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

/// Seconds since the epoch.
fn civil(year: &str, month: &str, day: &str, time: &str, now: SystemTime) -> Option<i64> {
    let month = MONTHS
        .iter()
        .position(|(name, _)| month.eq_ignore_ascii_case(name))?;
    let day = number(day, 1..=2)?;
    let mut parts = time.split(':');
    let hour = number(parts.next()?, 2..=2).filter(|&hour| hour < 24)?;
    let minute = number(parts.next()?, 2..=2).filter(|&minute| minute < 60)?;
    // 60 is a leap second.
    let second = number(parts.next()?, 2..=2).filter(|&second| second <= 60)?;
    parts.next().is_none().then_some(())?;
    let of_day = hour * 3600 + minute * 60 + second;

    let year = match number(year, 4..=4) {
        Some(year) => year,
        None => full_year(number(year, 2..=2)?, (month, day, of_day), now)?,
    };
    days(year, month, day)?
        .checked_mul(SECONDS_PER_DAY)?
        .checked_add(of_day)
}

/// The last year with these two digits in which the instant, given as month, day
/// and second of the day, is not too far ahead.
fn full_year(digits: i64, instant: (usize, i64, i64), now: SystemTime) -> Option<i64> {
    let now = match now.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_secs()).ok()?,
        Err(before) => -i64::try_from(before.duration().as_secs()).ok()?,
    };
    let today = now.div_euclid(SECONDS_PER_DAY);
    let (cycle_years, cycle_days) = CYCLE;
    let mut year = 1970 + today.checked_mul(cycle_years)? / cycle_days + 1;
    while days(year, 0, 1)? > today {
        year -= 1;
    }
    let (month, month_start) = (0..MONTHS.len())
        .filter_map(|month| Some((month, days(year, month, 1)?)))
        .take_while(|&(_, start)| start <= today)
        .last()?;
    let latest = (
        year + YEARS_AHEAD,
        month,
        today - month_start + 1,
        now.rem_euclid(SECONDS_PER_DAY),
    );
    let in_century = latest.0 - (latest.0 - digits).rem_euclid(100);
    let (month, day, of_day) = instant;
    Some(if (in_century, month, day, of_day) > latest {
        in_century - 100
    } else {
        in_century
    })
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days from the epoch to a date, January being month 0; `None` for a day that
/// its month has not.
pub(crate) fn days(year: i64, month: usize, day: i64) -> Option<i64> {
    let leap_day = i64::from(is_leap(year));
    let length = MONTHS[month].1 + if month == 1 { leap_day } else { 0 };
    (1..=length).contains(&day).then_some(())?;
    let before_year = |year: i64| {
        let whole = year - 1;
        whole * 365 + whole.div_euclid(4) - whole.div_euclid(100) + whole.div_euclid(400)
    };
    let before_month: i64 = MONTHS[..month].iter().map(|(_, days)| days).sum();
    let leap_day = if month > 1 { leap_day } else { 0 };
    Some(before_year(year) - before_year(1970) + before_month + leap_day + day - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> SystemTime {
        // 30 November 2026, noon.
        UNIX_EPOCH + Duration::from_secs(1_796_040_000)
    }

    #[test]
    fn dates_agree_with_an_independent_formatter_over_nine_thousand_years() {
        let mut rng = fastrand::Rng::with_seed(567);
        for _ in 0..5_000 {
            let at = UNIX_EPOCH + Duration::from_secs(rng.u64(..253_402_300_800));
            let text = httpdate::fmt_http_date(at);
            assert_eq!(date(&text, now()), Some(at), "{text}");
        }
    }

    #[test]
    fn dates_before_the_epoch_are_read() {
        let at = UNIX_EPOCH - Duration::from_secs(86_400);
        assert_eq!(date("Wed, 31 Dec 1969 00:00:00 GMT", now()), Some(at));
    }

    #[test]
    fn a_two_digit_year_is_at_most_fifty_years_ahead() {
        let four = |text| date(text, now()).expect(text);
        for (two_digits, full) in [
            (
                "Sunday, 30-Nov-76 11:59:59 GMT",
                "Mon, 30 Nov 2076 11:59:59 GMT",
            ),
            (
                "Tuesday, 30-Nov-77 12:00:00 GMT",
                "Tue, 30 Nov 1977 12:00:00 GMT",
            ),
            (
                "Saturday, 01-Jan-00 00:00:00 GMT",
                "Sat, 01 Jan 2000 00:00:00 GMT",
            ),
            (
                "Friday, 31-Dec-99 23:59:59 GMT",
                "Fri, 31 Dec 1999 23:59:59 GMT",
            ),
        ] {
            assert_eq!(four(two_digits), four(full), "{two_digits}");
        }
        let late = UNIX_EPOCH + Duration::from_secs(3_976_300_800); // 2096
        assert_eq!(
            date("Wednesday, 01-Jan-20 00:00:00 GMT", late),
            date("Wed, 01 Jan 2120 00:00:00 GMT", late)
        );
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            ",",
            "Mon, 31 Feb 2027 12:00:00 GMT",
            "Mon, 29 Feb 2027 12:00:00 GMT",
            "Mon, 00 Jan 2027 12:00:00 GMT",
            "Mon, 30 Nov 2026 24:00:00 GMT",
            "Mon, 30 Nov 2026 12:00 GMT",
            "Mon, 30 Nov 2026 12:00:00 PST",
            "Mon, 30 Nov 2026 12:00:00",
            "Mon, 30 Nov 2026 12:00:00 GMT x",
            "Mon, 30-Nov 12:00:00 GMT",
            "Mon, 30 Nov +026 12:00:00 GMT",
            "Sun Nov 6 08:49:37 94",
            "1994-11-06T08:49:37Z",
            "Mon, 30 Nov 99999999999999999999 12:00:00 GMT",
        ] {
            assert_eq!(date(text, now()), None, "{text}");
        }
        assert!(date("Friday, 30 nov 2026 12:00:00 utc", now()).is_some());
    }
}
