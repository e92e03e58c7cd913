//! [`changed_by`]: when a page changed last, as sitemaps and feeds say it
//! (sitemaps.org: W3C Datetime; RFC 4287: RFC 3339; RSS 2.0: RFC 822).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::http::{self, days};

const DAY: i64 = 86_400;
/// The farthest offset of a time zone, in seconds.
const FARTHEST: i64 = 18 * 3600;

/// The moment by which what the text dates had happened, or `None` for a text
/// that is no date. A date without a time of day may mean any moment of that
/// day, so its end is given; of a year or a month alone the beginning, which is
/// the cautious reading. A time without a zone is UTC.
pub(super) fn changed_by(text: &str) -> Option<SystemTime> {
    let text = text.trim();
    let seconds = w3c(text).or_else(|| rfc_822(text))?;
    let distance = Duration::from_secs(seconds.unsigned_abs());
    if seconds < 0 {
        UNIX_EPOCH.checked_sub(distance)
    } else {
        UNIX_EPOCH.checked_add(distance)
    }
}

/// `2024`, `2024-02`, `2024-02-29`, and with `T10:00[:00[.0]]` and a zone.
fn w3c(text: &str) -> Option<i64> {
    let (date, time) = match text.split_once(['T', 't', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let mut parts = date.split('-');
    let year = number(parts.next()?, 4)?;
    let month = parts.next().map(|part| number(part, 2));
    let day = parts.next().map(|part| number(part, 2));
    parts.next().is_none().then_some(())?;
    let month_of = |month: i64| usize::try_from(month - 1).ok().filter(|at| *at < 12);
    match (month, day, time) {
        (None, None, None) => Some(days(year, 0, 1)? * DAY),
        (Some(month), None, None) => Some(days(year, month_of(month?)?, 1)? * DAY),
        (Some(month), Some(day), None) => {
            Some(days(year, month_of(month?)?, day?)? * DAY + DAY - 1)
        }
        (Some(month), Some(day), Some(time)) => {
            let day = days(year, month_of(month?)?, day?)? * DAY;
            Some(day + time_of_day(time)?)
        }
        _ => None,
    }
}

/// `10:00`, `10:00:00` or `10:00:00.25` with a zone, in seconds since midnight
/// UTC, which may be of the day before or after.
fn time_of_day(text: &str) -> Option<i64> {
    let at = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, ':' | '.')));
    let (clock, zone) = text.split_at(at.unwrap_or(text.len()));
    let mut parts = clock.split(':');
    let hour = number(parts.next()?, 2).filter(|hour| *hour < 24)?;
    let minute = number(parts.next()?, 2).filter(|minute| *minute < 60)?;
    let second = match parts.next() {
        // A fraction does not matter.
        Some(part) => number(part.split('.').next()?, 2).filter(|second| *second <= 60)?,
        None => 0,
    };
    parts.next().is_none().then_some(())?;
    Some(hour * 3600 + minute * 60 + second - offset(zone.trim())?)
}

/// `Z`, `+01:00` or `-0800`, in seconds to the east.
fn offset(zone: &str) -> Option<i64> {
    if zone.is_empty() || zone.eq_ignore_ascii_case("z") || zone.eq_ignore_ascii_case("utc") {
        return Some(0);
    }
    let (sign, digits) = match zone.strip_prefix('+') {
        Some(digits) => (1, digits),
        None => (-1, zone.strip_prefix('-')?),
    };
    let digits = digits.replace(':', "");
    let hours = number(digits.get(..2)?, 2)?;
    let minutes = number(digits.get(2..)?, 2).filter(|minutes| *minutes < 60)?;
    let offset = sign * (hours * 3600 + minutes * 60);
    (offset.abs() <= FARTHEST).then_some(offset)
}

/// `Tue, 01 Jan 2019 10:00:00 +0100`, also with `GMT`, `UT` or `Z`.
fn rfc_822(text: &str) -> Option<i64> {
    let (rest, zone) = text.rsplit_once(' ')?;
    let offset = match zone {
        "GMT" | "UT" => 0,
        zone => offset(zone)?,
    };
    // A year of two digits counts from then, whenever that is.
    let at = http::date(
        &format!("{rest} GMT"),
        UNIX_EPOCH + Duration::from_secs(1 << 30),
    )?;
    let seconds = match at.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_secs()).ok()?,
        Err(before) => -i64::try_from(before.duration().as_secs()).ok()?,
    };
    Some(seconds - offset)
}

fn number(text: &str, digits: usize) -> Option<i64> {
    (text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_date_is_read_and_what_is_none_is_not() {
        // 2024-02-29T00:00:00Z
        const DAY_OF: u64 = 1_709_164_800;
        let seconds = |text: &str| {
            changed_by(text).map(|at| at.duration_since(UNIX_EPOCH).expect("later").as_secs())
        };
        for (text, expected) in [
            ("2024-02-29T10:30:15Z", DAY_OF + 37_815),
            ("2024-02-29T10:30:15.75+01:30", DAY_OF + 37_815 - 5_400),
            ("2024-02-29t10:30-0800", DAY_OF + 37_800 + 28_800),
            (" 2024-02-29 10:30:15 ", DAY_OF + 37_815),
            ("2024-02-29", DAY_OF + 86_399),
            ("2024-02", DAY_OF - 28 * 86_400),
            ("2024", DAY_OF - 59 * 86_400),
            ("Thu, 29 Feb 2024 10:30:15 GMT", DAY_OF + 37_815),
            ("Thu, 29 Feb 2024 10:30:15 +0100", DAY_OF + 34_215),
            ("Thu, 29 Feb 2024 10:30:15 Z", DAY_OF + 37_815),
            ("1970-01-01T00:00:00+00:00", 0),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        for text in [
            "",
            "yesterday",
            "2023-02-29",
            "2024-13-01",
            "2024-00-10",
            "2024-02-29T",
            "2024-02-29T25:00Z",
            "2024-2-9",
            "24-02-29",
            "2024-02-29T10:30:15+99:00",
            "2024-02-29T10:30:15 CET",
            "2024-02-29-01",
            "Thu, 30 Feb 2024 10:30:15 GMT",
            "+2024",
            "99999",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
