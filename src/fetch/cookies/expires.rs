//! [`expires`]: dates as cookies have them (RFC 6265 section 5.1.1).
//!
//! Far more lenient than HTTP's other dates: the parts are found by their
//! form, in any order, with anything between them. Pure.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::http::days;

const SECONDS_PER_DAY: i64 = 86_400;
/// The earliest year that counts as one.
const FIRST_YEAR: i64 = 1601;
const MONTHS: [&[u8; 3]; 12] = [
    b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec",
];

/// When a cookie ends; `None` for what is no date.
pub(super) fn expires(value: &[u8]) -> Option<SystemTime> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for token in value.split(|&byte| is_delimiter(byte)) {
        if time.is_none() && time_of(token).is_some() {
            time = time_of(token);
        } else if day.is_none() && number(token, 1, 2).is_some() {
            day = number(token, 1, 2);
        } else if month.is_none() && month_of(token).is_some() {
            month = month_of(token);
        } else if year.is_none() {
            year = number(token, 2, 4);
        }
    }
    let year = match year? {
        short @ 70..=99 => short + 1900,
        short @ 0..=69 => short + 2000,
        year => year,
    };
    (year >= FIRST_YEAR).then_some(())?;
    let seconds = days(year, month?, day?)? * SECONDS_PER_DAY + time?;
    let distance = Duration::from_secs(seconds.unsigned_abs());
    if seconds < 0 {
        UNIX_EPOCH.checked_sub(distance)
    } else {
        UNIX_EPOCH.checked_add(distance)
    }
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'/' | b';'..=b'@' | b'['..=b'`' | b'{'..=b'~')
}

/// The number that a token begins with, if it has so many digits.
fn number(token: &[u8], least: usize, most: usize) -> Option<i64> {
    let digits = token.iter().take_while(|byte| byte.is_ascii_digit());
    let count = digits.clone().count();
    (least..=most).contains(&count).then_some(())?;
    Some(digits.fold(0, |sum, &digit| sum * 10 + i64::from(digit - b'0')))
}

/// The second of the day.
fn time_of(token: &[u8]) -> Option<i64> {
    let mut parts = token.splitn(3, |&byte| byte == b':');
    let mut whole = |below| {
        let part = parts.next()?;
        // What follows the seconds does not matter.
        let value = number(part, 1, 2).filter(|&value| value < below)?;
        Some((value, part.iter().all(u8::is_ascii_digit)))
    };
    let ((hour, true), (minute, true), (second, _)) = (whole(24)?, whole(60)?, whole(60)?) else {
        return None;
    };
    Some(hour * 3600 + minute * 60 + second)
}

fn month_of(token: &[u8]) -> Option<usize> {
    let start = token.get(..3)?;
    MONTHS
        .iter()
        .position(|month| start.eq_ignore_ascii_case(&month[..]))
}
