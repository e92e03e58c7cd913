//! What a piece of work costs: the best of some rounds.

use std::hint::black_box;

use super::clock::cpu_seconds;

/// CPU seconds that each figure is taken over, and how often: the best counts,
/// since other programs can only make it worse.
const SECONDS: f64 = 0.3;
const ROUNDS: usize = 5;
/// How many inputs are taken between two looks at the clock.
const BATCH: usize = 256;

/// Runs `work` over the inputs again and again and prints the best round.
pub(crate) fn report<T>(what: &str, inputs: &[T], mut work: impl FnMut(&T) -> usize) {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = cpu_seconds();
        let mut count = 0.0;
        let spent = loop {
            for input in inputs.iter().cycle().take(BATCH) {
                black_box(work(black_box(input)));
                count += 1.0;
            }
            let spent = cpu_seconds() - start;
            if spent > SECONDS {
                break spent;
            }
        };
        best = best.min(spent / count * 1e9);
    }
    println!("{best:12.0}  {what}");
}
