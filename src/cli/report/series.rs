//! [`Columns`]: a timeline cut into as many columns as a plot has room for.
//! Keeps: each part of the timeline is in exactly one column.

use crate::crawler::chronicle::{Part, RunNote, Timeline};

/// The most columns of a plot: on a telephone each has three pixels.
const MOST_COLUMNS: u64 = 96;
const SECOND: u64 = 1_000;
/// Lengths of a column that people reckon with, in seconds.
const LENGTHS: [u64; 26] = [
    1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1_200, 1_800, 3_600, 7_200, 10_800, 14_400,
    21_600, 28_800, 43_200, 86_400, 172_800, 604_800, 1_209_600, 2_419_200,
];
/// How many starts a full column should be able to hold, unless its length is
/// a whole number of intervals: with fewer, one start more or less looks like
/// a bound that was passed.
const ENOUGH_STARTS: f64 = 20.0;
/// A last column that is shorter than this part of the others is joined to the
/// one before: what happened in a moment says nothing about a pace.
const LEAST_PART: u64 = 3;

/// A column.
#[derive(Debug, Clone)]
pub(super) struct Column {
    /// Where it begins and ends, in milliseconds since 1970.
    pub(super) from: u64,
    pub(super) to: u64,
    /// What happened in it.
    pub(super) part: Part,
}

impl Column {
    /// A count of it, as one a minute.
    pub(super) fn a_minute(&self, count: u64) -> f64 {
        count as f64 * 60_000.0 / (self.to - self.from).max(1) as f64
    }
}

/// The columns of a plot.
#[derive(Debug, Clone)]
pub(super) struct Columns {
    pub(super) all: Vec<Column>,
    /// How long each is but for the last, in milliseconds.
    pub(super) length: u64,
    /// From the first to the last moment, in milliseconds since 1970.
    pub(super) from: u64,
    pub(super) to: u64,
}

impl Columns {
    /// Those of a run.
    pub(super) fn of_run(timeline: &Timeline, run: &RunNote) -> Columns {
        let last = timeline.parts().next_back();
        // A killed run may have told less of its length than of its requests.
        let told = last.map_or(0, |(from, _)| from + SECOND.min(timeline.length()));
        let span = run.elapsed.max(told).max(SECOND);
        let even = |length: u64| {
            run.per_minute.is_none_or(|bound| {
                let starts = bound * length as f64 / 60_000.0;
                starts >= ENOUGH_STARTS || (starts - starts.round()).abs() < 1e-6 && starts >= 1.0
            })
        };
        let length = length(timeline.length(), span, even);
        Columns::cut(timeline, timeline.origin(), span, length)
    }

    /// Those of all runs together.
    pub(super) fn of_crawl(timeline: &Timeline) -> Columns {
        let first = timeline.parts().next().map_or(0, |(from, _)| from);
        let last = timeline.parts().next_back().map_or(0, |(from, _)| from);
        let span = (last + timeline.length()).saturating_sub(first);
        let length = length(timeline.length(), span, |_| true);
        let first = first / length * length;
        let span = (last + timeline.length()).saturating_sub(first);
        Columns::cut(timeline, timeline.origin() + first, span, length)
    }

    fn cut(timeline: &Timeline, from: u64, span: u64, length: u64) -> Columns {
        let to = from + span;
        let mut columns: Vec<Column> = Vec::new();
        let mut number = None;
        for (at, part) in timeline.parts() {
            let wall = timeline.origin() + at;
            let own = wall.saturating_sub(from) / length;
            match columns.last_mut() {
                Some(column) if number == Some(own) => column.part.merge(part),
                _ => columns.push(Column {
                    from: from + own * length,
                    to: (from + (own + 1) * length).min(to.max(from + own * length + 1)),
                    part: part.clone(),
                }),
            }
            number = Some(own);
        }
        if let [.., before, last] = columns.as_mut_slice()
            && last.to - last.from < length / LEAST_PART
            && before.to == last.from
        {
            before.part.merge(&last.part);
            before.to = last.to;
            columns.pop();
        }
        Columns {
            all: columns,
            length,
            from,
            to,
        }
    }
}

/// How long a column is: a whole number of parts, few enough columns, and of a
/// length that people know if there is one.
fn length(part: u64, span: u64, even: impl Fn(u64) -> bool) -> u64 {
    let fits = |length: u64| length.is_multiple_of(part) && span.div_ceil(length) <= MOST_COLUMNS;
    let known = LENGTHS.iter().map(|seconds| seconds * SECOND);
    let chosen = known
        .clone()
        .find(|length| fits(*length) && even(*length) && *length <= span)
        .or_else(|| known.clone().find(|length| fits(*length)));
    chosen.unwrap_or_else(|| part * span.div_ceil(part).div_ceil(MOST_COLUMNS).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(elapsed: u64, per_minute: Option<f64>) -> RunNote {
        RunNote {
            elapsed,
            per_minute,
            ..RunNote::default()
        }
    }

    #[test]
    fn a_paced_run_never_looks_faster_than_its_bound() {
        for bound in [1.0, 7.0, 60.0, 100.0, 600.0, 1_234.0] {
            for seconds in [10, 90, 1_000, 20_000] {
                let mut timeline = Timeline::new(1_700_000_000_123);
                let interval = 60_000.0 / bound;
                let mut at = 0.0;
                while at < seconds as f64 * 1e3 {
                    timeline.at(at as u64).starts += 1;
                    at += interval;
                }
                let columns = Columns::of_run(&timeline, &run(seconds * SECOND, Some(bound)));
                assert!(columns.all.len() <= MOST_COLUMNS as usize);
                for column in &columns.all {
                    let rate = column.a_minute(column.part.starts);
                    // A single start may stand in a short run alone.
                    let slack = 1.0 + 1.0 / ENOUGH_STARTS.min(bound * column_minutes(column));
                    assert!(rate <= bound * slack + 1e-6, "{bound} {seconds}: {rate}");
                }
                let sum: u64 = columns.all.iter().map(|c| c.part.starts).sum();
                let all: u64 = timeline.parts().map(|(_, part)| part.starts).sum();
                assert_eq!(sum, all);
            }
        }
    }

    fn column_minutes(column: &Column) -> f64 {
        (column.to - column.from) as f64 / 60_000.0
    }

    #[test]
    fn sixty_a_minute_is_drawn_as_sixty() {
        let mut timeline = Timeline::new(0);
        for second in 0..200 {
            timeline.at(second * SECOND).starts += 1;
        }
        let columns = Columns::of_run(&timeline, &run(200_000, Some(60.0)));
        for column in &columns.all {
            assert!((column.a_minute(column.part.starts) - 60.0).abs() < 1e-9);
        }
    }

    #[test]
    fn runs_far_apart_have_columns_of_their_own() {
        let mut timeline = Timeline::default();
        for day in 0..400_u64 {
            timeline.at((19_000 + day) * 86_400 * SECOND).starts += 5;
        }
        let columns = Columns::of_crawl(&timeline);
        assert!(columns.all.len() <= MOST_COLUMNS as usize + 1);
        let sum: u64 = columns.all.iter().map(|c| c.part.starts).sum();
        assert_eq!(sum, 2_000);
        for pair in columns.all.windows(2) {
            assert!(pair[0].to <= pair[1].from);
        }
        let empty = Columns::of_run(&Timeline::new(5), &run(0, None));
        assert!(empty.all.is_empty() && empty.to > empty.from);
    }
}
