//! Instants as text: RFC 3339 in UTC. Leap seconds do not exist in system
//! time, so every day has 86,400 seconds here.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// 1970-01-01T00:00:00Z.
pub(crate) const EPOCH: SystemTime = UNIX_EPOCH;

const DAY: i64 = 86_400;
/// Days of 400 years, after which the Gregorian calendar repeats.
const ERA: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAY: i64 = 719_468;
/// 9999-12-31T23:59:59Z, the last second that four digits of a year can name
/// (RFC 3339 section 1).
const LAST: i64 = 253_402_300_799;
/// 0000-01-01T00:00:00Z, the first one.
const FIRST: i64 = -62_167_219_200;

/// Appends `2026-01-31T09:05:03.250Z`. A time outside the years 0 to 9999 is
/// written as the nearest that is inside.
pub(crate) fn write(time: SystemTime, out: &mut Vec<u8>) {
    let (seconds, millis) = since_epoch(time);
    write_date(seconds.div_euclid(DAY), out);
    let second = seconds.rem_euclid(DAY);
    out.push(b'T');
    digits(second / 3600, 2, out);
    out.push(b':');
    digits(second / 60 % 60, 2, out);
    out.push(b':');
    digits(second % 60, 2, out);
    out.push(b'.');
    digits(i64::from(millis), 3, out);
    out.push(b'Z');
}

/// Reads what [`write`] wrote.
#[cfg(feature = "cli")]
pub(crate) fn parse(text: &str) -> Option<SystemTime> {
    let bytes = text.as_bytes();
    let marks = [
        (4, b'-'),
        (7, b'-'),
        (10, b'T'),
        (13, b':'),
        (16, b':'),
        (19, b'.'),
        (23, b'Z'),
    ];
    if bytes.len() != 24 || marks.iter().any(|&(at, mark)| bytes[at] != mark) {
        return None;
    }
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = text.get(from..to)?;
        let all = digits.bytes().all(|byte| byte.is_ascii_digit());
        all.then(|| digits.parse().ok())?
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let known = (1..=12).contains(&month) && (1..=31).contains(&day);
    if !known || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    // Years begin in March, as in `write_date`.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let of_era = year.rem_euclid(400);
    let of_year = (153 * month + 2) / 5 + day - 1;
    let days = year.div_euclid(400) * ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    let seconds = (days - EPOCH_DAY) * DAY + hour * 3600 + minute * 60 + second;
    let millis = Duration::from_millis(u64::try_from(number(20, 23)?).ok()?);
    let whole = Duration::from_secs(seconds.unsigned_abs());
    if seconds < 0 {
        EPOCH.checked_sub(whole)?.checked_add(millis)
    } else {
        EPOCH.checked_add(whole)?.checked_add(millis)
    }
}

/// The day alone: `2026-01-31`.
pub(crate) fn date(time: SystemTime) -> String {
    let mut out = Vec::with_capacity(10);
    write_date(since_epoch(time).0.div_euclid(DAY), &mut out);
    String::from_utf8(out).expect("digits and hyphens")
}

/// Whole seconds, rounded down, and milliseconds.
fn since_epoch(time: SystemTime) -> (i64, u32) {
    let whole = |span: Duration| i64::try_from(span.as_secs()).unwrap_or(i64::MAX);
    let (seconds, millis) = match time.duration_since(UNIX_EPOCH) {
        Ok(after) => (whole(after), after.subsec_millis()),
        Err(before) => {
            // Rounded down: half a second before the epoch is second -1.
            let before = before.duration();
            let millis = before.subsec_nanos().div_ceil(1_000_000);
            match millis {
                0 => (-whole(before), 0),
                _ => ((-whole(before)).saturating_sub(1), 1000 - millis),
            }
        }
    };
    match seconds {
        ..FIRST => (FIRST, 0),
        FIRST..=LAST => (seconds, millis),
        _ => (LAST, 999),
    }
}

/// A day, counted from 1970-01-01, in the Gregorian calendar. Years begin in
/// March here, so that the leap day is a year's last.
fn write_date(day: i64, out: &mut Vec<u8>) {
    let day = day + EPOCH_DAY;
    let era = day.div_euclid(ERA);
    let of_era = day.rem_euclid(ERA);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Months from March on have 31, 30, 31, 30, 31 days, again and again: 153.
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let (month, next_year) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    digits(era * 400 + year_of_era + next_year, 4, out);
    out.push(b'-');
    digits(month, 2, out);
    out.push(b'-');
    digits(of_month, 2, out);
}

fn digits(value: i64, width: u32, out: &mut Vec<u8>) {
    for place in (0..width).rev() {
        out.push(b'0' + (value / 10_i64.pow(place) % 10) as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(time: SystemTime) -> String {
        let mut out = Vec::new();
        write(time, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn at(seconds: i64, millis: u64) -> SystemTime {
        let whole = Duration::from_secs(seconds.unsigned_abs());
        let day = if seconds < 0 {
            UNIX_EPOCH - whole
        } else {
            UNIX_EPOCH + whole
        };
        day + Duration::from_millis(millis)
    }

    #[test]
    fn known_instants_are_written_as_they_are_known() {
        for (seconds, millis, expected) in [
            (0, 0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, 0, "2000-02-29T00:00:00.000Z"),
            (951_868_799, 999, "2000-02-29T23:59:59.999Z"),
            (951_868_800, 0, "2000-03-01T00:00:00.000Z"),
            (1_000_000_000, 1, "2001-09-09T01:46:40.001Z"),
            (1_234_567_890, 123, "2009-02-13T23:31:30.123Z"),
            (1_709_164_800, 0, "2024-02-29T00:00:00.000Z"),
            (2_147_483_648, 0, "2038-01-19T03:14:08.000Z"),
            (4_107_542_400, 0, "2100-03-01T00:00:00.000Z"),
            (-1, 500, "1969-12-31T23:59:59.500Z"),
            (-86_400, 0, "1969-12-31T00:00:00.000Z"),
            (LAST, 999, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(text(at(seconds, millis)), expected);
        }
        assert_eq!(date(at(1_234_567_890, 0)), "2009-02-13");
    }

    #[test]
    fn a_day_follows_its_day_through_four_centuries() {
        let mut month_lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for count in 0..ERA + 400 {
            let expected = format!("{year:04}-{month:02}-{day:02}");
            assert_eq!(date(at(count * DAY, 0)), expected);
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            month_lengths[1] = if leap { 29 } else { 28 };
            day += 1;
            if day > month_lengths[month - 1] {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
    }

    #[test]
    fn a_time_out_of_range_is_the_nearest_in_range() {
        let late = UNIX_EPOCH + Duration::from_secs(1 << 40);
        assert_eq!(text(late), "9999-12-31T23:59:59.999Z");
        let early = UNIX_EPOCH - Duration::from_secs(1 << 40);
        assert_eq!(text(early), "0000-01-01T00:00:00.000Z");
    }
}
