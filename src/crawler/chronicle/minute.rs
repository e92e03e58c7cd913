//! [`Minute`]: the starts of the last minute, second by second. Keeps: no
//! window of 60 whole seconds is missed, also when starts are told a little
//! out of order.

const SECONDS: u64 = 60;

/// The starts of the last minute.
#[derive(Debug)]
pub(super) struct Minute {
    starts: [u64; SECONDS as usize],
    second: u64,
    sum: u64,
}

impl Default for Minute {
    fn default() -> Self {
        Minute {
            starts: [0; SECONDS as usize],
            second: 0,
            sum: 0,
        }
    }
}

impl Minute {
    /// Counts a start in a second, and gives the starts of the minute that
    /// ends with the latest one.
    pub(super) fn add(&mut self, second: u64) -> u64 {
        let passed = second.saturating_sub(self.second).min(SECONDS);
        for step in 1..=passed {
            let slot = &mut self.starts[((self.second + step) % SECONDS) as usize];
            self.sum -= std::mem::take(slot);
        }
        if second > self.second {
            // Slots are by second, so a jump clears them all and begins here.
            self.second = second;
        }
        if self.second - second < SECONDS {
            self.starts[(second % SECONDS) as usize] += 1;
            self.sum += 1;
        }
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_sixty_seconds_wherever_it_begins() {
        let mut minute = Minute::default();
        let mut most = 0;
        // One a second, but for five at once in the middle.
        for second in 0..300 {
            for _ in 0..if second == 150 { 5 } else { 1 } {
                most = most.max(minute.add(second));
            }
        }
        assert_eq!(most, 64);
        assert_eq!(minute.add(10_000), 1, "all others are long gone");
        assert_eq!(minute.add(9_999), 2, "told late");
        assert_eq!(minute.add(9_000), 2, "told far too late");
        assert_eq!(minute.add(10_058), 3);
        assert_eq!(minute.add(10_059), 3);
    }
}
