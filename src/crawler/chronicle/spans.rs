//! What a host's line on a timeline is drawn from: [`Spans`] of pauses,
//! [`Steps`] of its gap, and a [`Strip`] of its starts. Keeps: each holds a
//! bounded number of things; what does not fit is joined with its neighbour.
//!
//! All times are milliseconds since the run began.

use serde::{Deserialize, Serialize};

/// Pauses, and changes of the gap, that one host keeps.
pub(super) const MARKS: usize = 32;
/// Parts of the time that a host's starts are counted in.
pub(super) const CELLS: usize = 60;

/// A time in which something was left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// When it began.
    pub from: u64,
    /// When it was over.
    pub to: u64,
    /// Whether it was asked for (`Retry-After`), not brought on by refusals.
    pub asked: bool,
}

/// Pauses, in the order in which they began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Spans {
    spans: Vec<Span>,
}

impl Spans {
    /// Adds a pause. One that begins in the pause before lengthens that one.
    pub fn add(&mut self, span: Span) {
        match self.spans.last_mut() {
            Some(last) if span.from <= last.to => {
                last.to = last.to.max(span.to);
                last.asked |= span.asked;
            }
            _ => self.spans.push(span),
        }
        while self.spans.len() > MARKS {
            self.join_nearest();
        }
    }

    /// Joins the two neighbours with the least between them.
    fn join_nearest(&mut self) {
        let between = |pair: &[Span]| pair[1].from.saturating_sub(pair[0].to);
        let nearest = self
            .spans
            .windows(2)
            .enumerate()
            .min_by_key(|(_, pair)| between(pair));
        if let Some((at, _)) = nearest {
            let next = self.spans.remove(at + 1);
            let held = &mut self.spans[at];
            held.to = held.to.max(next.to);
            held.asked |= next.asked;
        }
    }

    /// Cuts off what was planned for after `end`.
    pub(super) fn clip(&mut self, end: u64) {
        self.spans.retain(|span| span.from < end);
        for span in &mut self.spans {
            span.to = span.to.min(end);
        }
    }

    /// The pauses.
    #[must_use]
    pub fn as_slice(&self) -> &[Span] {
        &self.spans
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// How long they are together, in milliseconds.
    #[must_use]
    pub fn sum(&self) -> u64 {
        let lengths = self
            .spans
            .iter()
            .map(|span| span.to.saturating_sub(span.from));
        lengths.fold(0, u64::saturating_add)
    }

    pub(super) fn bounded(mut self) -> Self {
        self.spans.truncate(MARKS);
        self
    }
}

/// A gap that holds from a time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// From when on.
    pub from: u64,
    /// The gap between two starts, in milliseconds.
    pub gap: u64,
}

/// How the gap of a host changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Steps {
    steps: Vec<Step>,
}

impl Steps {
    /// Notes the gap that holds from a time on; one that held already is no
    /// change.
    pub fn add(&mut self, step: Step) {
        match self.steps.last_mut() {
            Some(last) if last.gap == step.gap => return,
            // Of several changes at one time the last one counts.
            Some(last) if last.from >= step.from => last.gap = step.gap,
            _ => self.steps.push(step),
        }
        while self.steps.len() > MARKS {
            self.drop_shortest();
        }
    }

    /// Takes out the step that held for the shortest time. The wider of it and
    /// the one before holds for both.
    fn drop_shortest(&mut self) {
        let shortest = (1..self.steps.len() - 1)
            .min_by_key(|at| self.steps[at + 1].from.saturating_sub(self.steps[*at].from));
        if let Some(at) = shortest {
            let gone = self.steps.remove(at);
            let held = &mut self.steps[at - 1];
            held.gap = held.gap.max(gone.gap);
        }
    }

    /// The steps, in the order of time.
    #[must_use]
    pub fn as_slice(&self) -> &[Step] {
        &self.steps
    }

    /// The gap as it is now.
    #[must_use]
    pub fn last(&self) -> Option<u64> {
        self.steps.last().map(|step| step.gap)
    }

    /// The widest gap.
    #[must_use]
    pub fn widest(&self) -> u64 {
        self.steps.iter().map(|step| step.gap).max().unwrap_or(0)
    }

    pub(super) fn bounded(mut self) -> Self {
        self.steps.truncate(MARKS);
        self
    }
}

/// Starts over time, in parts whose length doubles as the run grows longer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strip {
    /// How often the length of a second was doubled.
    doublings: u32,
    cells: Vec<u32>,
}

impl Strip {
    /// Counts a start.
    pub fn add(&mut self, at: u64) {
        let mut cell = at / self.width();
        while cell >= CELLS as u64 {
            self.double();
            cell = at / self.width();
        }
        let cell = cell as usize;
        if self.cells.len() <= cell {
            self.cells.resize(cell + 1, 0);
        }
        self.cells[cell] = self.cells[cell].saturating_add(1);
    }

    fn double(&mut self) {
        self.doublings += 1;
        self.cells = self
            .cells
            .chunks(2)
            .map(|pair| {
                pair.iter()
                    .fold(0, |sum: u32, cell| sum.saturating_add(*cell))
            })
            .collect();
    }

    /// How long a part is, in milliseconds.
    #[must_use]
    pub fn width(&self) -> u64 {
        1000_u64.saturating_mul(1_u64.checked_shl(self.doublings).unwrap_or(u64::MAX))
    }

    /// The starts in each part; parts after the last start are left out.
    #[must_use]
    pub fn cells(&self) -> &[u32] {
        &self.cells
    }

    pub(super) fn bounded(mut self) -> Self {
        self.cells.truncate(CELLS);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from: u64, to: u64) -> Span {
        Span {
            from,
            to,
            asked: false,
        }
    }

    #[test]
    fn a_pause_in_a_pause_lengthens_it() {
        let mut spans = Spans::default();
        spans.add(span(0, 10));
        spans.add(Span {
            asked: true,
            ..span(5, 20)
        });
        spans.add(span(30, 40));
        assert_eq!(spans.as_slice().len(), 2);
        assert_eq!(spans.sum(), 30);
        assert!(spans.as_slice().first().is_some_and(|span| span.asked));
        spans.clip(35);
        assert_eq!(spans.sum(), 25);
        spans.clip(30);
        assert_eq!(spans.sum(), 20);
    }

    #[test]
    fn the_nearest_pauses_are_joined_when_there_are_too_many() {
        let mut spans = Spans::default();
        for n in 0..10 * MARKS as u64 {
            // Pairs that are near each other.
            spans.add(span(100 * n, 100 * n + 10));
            spans.add(span(100 * n + 12, 100 * n + 20));
        }
        assert_eq!(spans.as_slice().len(), MARKS);
        let ends = spans.as_slice().iter().map(|span| span.to).max();
        assert_eq!(ends, Some(100 * (10 * MARKS as u64 - 1) + 20));
        assert!(spans.as_slice().is_sorted_by_key(|span| span.from));
    }

    #[test]
    fn the_gap_keeps_its_first_its_last_and_its_widest() {
        let mut steps = Steps::default();
        let mut rng = fastrand::Rng::with_seed(1);
        let mut widest = 0;
        for n in 0..1_000 {
            let gap = rng.u64(0..60_000);
            widest = widest.max(gap);
            steps.add(Step { from: n * 7, gap });
        }
        assert_eq!(steps.as_slice().len(), MARKS);
        assert_eq!(steps.widest(), widest);
        assert_eq!(steps.as_slice().first().map(|step| step.from), Some(0));
        steps.add(Step {
            from: 9_000,
            gap: 5,
        });
        steps.add(Step {
            from: 9_001,
            gap: 5,
        });
        assert_eq!(steps.last(), Some(5));
        assert_eq!(steps.as_slice().last().map(|step| step.from), Some(9_000));
    }

    #[test]
    fn a_strip_counts_every_start_however_long_the_run() {
        let mut strip = Strip::default();
        for n in 0..10_000_u64 {
            strip.add(n * 997);
        }
        assert!(strip.cells().len() <= CELLS);
        let sum: u64 = strip.cells().iter().map(|cell| u64::from(*cell)).sum();
        assert_eq!(sum, 10_000);
        assert_eq!(strip.width(), 256_000);
        strip.add(u64::MAX);
    }
}
