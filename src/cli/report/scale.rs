//! Scales: where a value lies on an axis, and where its ticks are. Keeps:
//! every place is in 0 to 1.

use super::text;

/// An axis of values, drawn upwards.
#[derive(Debug, Clone)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    logarithmic: bool,
    /// The place of each tick, and what it says.
    pub(super) ticks: Vec<(f64, String)>,
}

/// The most ticks of an axis of values.
const MOST_TICKS: f64 = 4.0;

impl Scale {
    /// From 0 to at least `most`, in even steps.
    pub(super) fn linear(most: f64, show: impl Fn(f64) -> String) -> Scale {
        let most = if most.is_finite() && most > 0.0 {
            most
        } else {
            1.0
        };
        let step = nice_step(most / MOST_TICKS);
        // A little room above, so that a line at the top is seen.
        let high = (most * 1.02 / step).ceil() * step;
        let mut scale = Scale {
            low: 0.0,
            high,
            logarithmic: false,
            ticks: Vec::new(),
        };
        let steps = (high / step).round() as usize;
        scale.ticks = (0..=steps)
            .map(|n| n as f64 * step)
            .map(|value| (scale.place(value), show(value)))
            .collect();
        scale
    }

    /// The same for what is counted, in whole steps.
    pub(super) fn counts(most: f64) -> Scale {
        Scale::linear(most.max(MOST_TICKS), text::number)
    }

    /// The same for bytes, whose steps are powers of two.
    pub(super) fn bytes(most: f64) -> Scale {
        let unit = 1024_f64.powf((most.max(1.0).ln() / 1024_f64.ln()).floor());
        Scale::linear(most / unit, |value| text::size((value * unit) as u64)).stretched(unit)
    }

    fn stretched(mut self, unit: f64) -> Scale {
        self.low *= unit;
        self.high *= unit;
        self
    }

    /// Over powers of ten that hold both values, which are above 0.
    pub(super) fn logarithmic(low: f64, high: f64, show: impl Fn(f64) -> String) -> Scale {
        let low = low.max(f64::MIN_POSITIVE).log10().floor();
        let high = high.max(1e-9).log10().ceil().max(low + 1.0);
        let mut scale = Scale {
            low,
            high,
            logarithmic: true,
            ticks: Vec::new(),
        };
        scale.ticks = ((low as i32)..=(high as i32))
            .map(|power| 10_f64.powi(power))
            .map(|value| (scale.place(value), show(value)))
            .collect();
        scale
    }

    /// Where a value lies.
    pub(super) fn place(&self, value: f64) -> f64 {
        let value = if self.logarithmic {
            value.max(f64::MIN_POSITIVE).log10()
        } else {
            value
        };
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }
}

/// The least of 1, 2 and 5 times a power of ten that is not below a step.
fn nice_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|factor| factor * power >= step * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

/// An axis of time.
#[derive(Debug, Clone)]
pub(super) struct Time {
    /// Where it begins, in milliseconds since 1970.
    pub(super) from: u64,
    /// How long it is, in milliseconds.
    pub(super) span: u64,
    /// The place of each tick, and what it says.
    pub(super) ticks: Vec<(f64, String)>,
    /// Whether seconds are told.
    seconds: bool,
    /// Whether days are told.
    days: bool,
}

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
/// From one tick to the next.
const STEPS: [u64; 26] = [
    SECOND,
    2 * SECOND,
    5 * SECOND,
    10 * SECOND,
    15 * SECOND,
    30 * SECOND,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    2 * DAY,
    7 * DAY,
    14 * DAY,
    28 * DAY,
    91 * DAY,
    182 * DAY,
    365 * DAY,
    3650 * DAY,
];
/// The most ticks: their labels fit side by side on a telephone.
const MOST_TIMES: u64 = 5;

impl Time {
    /// An axis of that length.
    pub(super) fn new(from: u64, span: u64) -> Time {
        let span = span.max(SECOND);
        let step = STEPS.into_iter().find(|step| span / step <= MOST_TIMES);
        let step = step.unwrap_or(STEPS[STEPS.len() - 1]);
        let mut time = Time {
            from,
            span,
            ticks: Vec::new(),
            seconds: step < MINUTE,
            days: step >= DAY || span > DAY,
        };
        let first = from.div_ceil(step);
        let last = from.saturating_add(span) / step;
        time.ticks = (first..=last)
            .take(2 * MOST_TIMES as usize)
            .map(|n| n * step)
            .map(|wall| {
                let label = if step >= DAY || time.days && wall.is_multiple_of(DAY) {
                    text::date(wall)[5..].to_owned()
                } else {
                    text::clock(wall, time.seconds)
                };
                (time.place(wall), label)
            })
            .collect();
        time
    }

    /// Where a time lies, in milliseconds since 1970.
    pub(super) fn place(&self, wall: u64) -> f64 {
        (wall.saturating_sub(self.from) as f64 / self.span as f64).clamp(0.0, 1.0)
    }

    /// A stretch of the axis in words.
    pub(super) fn stretch(&self, from: u64, to: u64) -> String {
        let say = |wall| {
            if self.days {
                text::date_and_time(wall)
            } else {
                text::clock(wall, true)
            }
        };
        format!("{} to {}", say(from), say(to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_holds_its_values_and_has_few_ticks() {
        let mut rng = fastrand::Rng::with_seed(2);
        for _ in 0..10_000 {
            let most = 10_f64.powf(rng.f64() * 12.0 - 3.0);
            let scale = Scale::linear(most, text::number);
            assert!((2..=7).contains(&scale.ticks.len()), "{most}: {scale:?}");
            assert!(scale.place(most) < 1.0 && scale.place(most) > 0.5, "{most}");
            assert!(scale.ticks.is_sorted_by(|a, b| a.0 < b.0));
            let scale = Scale::bytes(most);
            assert!(
                scale.place(most) <= 1.0 && scale.place(most) > 0.4,
                "{most}"
            );
        }
        let counts = Scale::counts(2.0);
        let ticks: Vec<&str> = counts.ticks.iter().map(|(_, tick)| &**tick).collect();
        assert_eq!(ticks, ["0", "1", "2", "3", "4", "5"]);
        let scale = Scale::linear(0.0, text::number);
        assert!(scale.place(0.0).abs() < 1e-9);
        let scale = Scale::logarithmic(3.0, 4_000.0, text::number);
        let labels: Vec<&str> = scale.ticks.iter().map(|tick| tick.1.as_str()).collect();
        assert_eq!(labels, ["1", "10", "100", "1,000", "10,000"]);
        assert!((scale.place(100.0) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn times_have_ticks_at_whole_steps_of_the_clock() {
        let start = 1_700_000_000_000 + 12_345;
        let time = Time::new(start, 110_000);
        let labels: Vec<&str> = time.ticks.iter().map(|tick| tick.1.as_str()).collect();
        assert_eq!(labels, ["22:14:00", "22:14:30", "22:15:00"]);
        let time = Time::new(start, 40 * DAY);
        assert_eq!(time.ticks[0].1, "11-16");
        for span in [0, 1, 7_000, MINUTE, 100 * HOUR, 5_000 * DAY, 15_000 * DAY] {
            let time = Time::new(start, span);
            assert!(time.ticks.len() <= MOST_TIMES as usize + 1, "{span}");
            assert!(time.ticks.iter().all(|tick| (0.0..=1.0).contains(&tick.0)));
        }
    }
}
