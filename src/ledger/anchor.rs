//! [`Anchor`]: one moment on both clocks. The engine reckons in instants, which
//! mean nothing to a later process; what lasts is written in wall-clock time.
//! Keeps: both readings of an anchor are of the same moment.

use std::time::{Duration, Instant, SystemTime};

/// One moment, as the steady clock and the wall clock tell it.
///
/// ```
/// use canter::ledger::Anchor;
/// use std::time::Duration;
/// let anchor = Anchor::now();
/// let later = anchor.instant + Duration::from_secs(3);
/// assert_eq!(anchor.wall_of(later), anchor.wall + Duration::from_secs(3));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Anchor {
    /// The moment on the steady clock.
    pub instant: Instant,
    /// The same moment on the wall clock.
    pub wall: SystemTime,
}

impl Anchor {
    /// This moment.
    #[must_use]
    pub fn now() -> Self {
        Anchor {
            instant: Instant::now(),
            wall: SystemTime::now(),
        }
    }

    /// The wall-clock time of an instant.
    #[must_use]
    pub fn wall_of(&self, instant: Instant) -> SystemTime {
        match instant.checked_duration_since(self.instant) {
            Some(ahead) => self.wall.checked_add(ahead),
            None => self.wall.checked_sub(self.instant.duration_since(instant)),
        }
        .unwrap_or(self.wall)
    }

    /// The wall clock in milliseconds since 1970.
    pub(super) fn millis(&self) -> u64 {
        millis(self.wall)
    }

    /// The wall clock in whole seconds since 1970.
    pub(super) fn seconds(&self) -> u64 {
        self.millis() / 1000
    }
}

impl From<(Instant, SystemTime)> for Anchor {
    fn from((instant, wall): (Instant, SystemTime)) -> Self {
        Anchor { instant, wall }
    }
}

/// Milliseconds since 1970; 0 for what is before.
pub(super) fn millis(wall: SystemTime) -> u64 {
    wall.duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
}

/// The day of a wall-clock time, in UTC, as `2024-02-29`.
pub(super) fn date(wall: SystemTime) -> String {
    const SECONDS_OF_A_DAY: u64 = 86_400;
    // Years are counted from March, so that the day of the leap comes last;
    // 400 of them always have the same number of days.
    const DAYS_OF_400_YEARS: u64 = 146_097;
    const DAYS_FROM_MARCH_OF_YEAR_0_TO_1970: u64 = 719_468;
    let days = millis(wall) / 1000 / SECONDS_OF_A_DAY + DAYS_FROM_MARCH_OF_YEAR_0_TO_1970;
    let (era, day) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // From March on, five months have 153 days, wherever they begin.
    let month = (5 * day + 2) / 153;
    let day_of_month = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 {
        (year, month + 3)
    } else {
        (year + 1, month - 9)
    };
    format!("{:04}-{month:02}-{day_of_month:02}", era * 400 + year)
}

/// The wall-clock time of milliseconds since 1970.
pub(super) fn wall_of_millis(millis: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH
        .checked_add(Duration::from_millis(millis))
        .unwrap_or(SystemTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_the_dates_of_the_calendar() {
        let of = |seconds| date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(of(0), "1970-01-01");
        assert_eq!(of(951_782_399), "2000-02-28");
        assert_eq!(of(951_782_400), "2000-02-29");
        assert_eq!(of(951_868_800), "2000-03-01");
        assert_eq!(of(1_709_164_800), "2024-02-29");
        assert_eq!(of(1_735_689_599), "2024-12-31");
        assert_eq!(of(4_107_542_400), "2100-03-01");
    }

    #[test]
    fn instants_before_and_after_the_anchor_have_their_time_on_the_wall() {
        let anchor = Anchor::now();
        let hour = Duration::from_secs(3600);
        assert_eq!(anchor.wall_of(anchor.instant + hour), anchor.wall + hour);
        let later = Anchor {
            instant: anchor.instant + hour,
            wall: anchor.wall + hour,
        };
        assert_eq!(later.wall_of(anchor.instant), anchor.wall);
    }
}
