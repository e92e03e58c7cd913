//! Parsers against damaged input: from the seed corpus of `fixtures/corpus`,
//! by random but repeatable mutations.
//!
//! Invariant: no parser panics, each comes back, and what one promises of every
//! input holds for every mutant. The same promises are fuzzed with a coverage
//! guide in `tests/fuzz`.

#[path = "mutation/corpus.rs"]
mod corpus;
#[path = "mutation/promises.rs"]
mod promises;
#[path = "mutation/state.rs"]
mod state;

use std::time::{Duration, Instant};

use fastrand::Rng;

/// Mutants per parser: about a second of them in a debug build.
const MUTANTS: usize = 8_000;
/// The same where each is written to a file and read.
const MUTANTS_OF_FILES: usize = 1_000;
/// Sets how many seconds each parser is tried for, instead of how often.
const SECONDS: &str = "CANTER_MUTATION_SECONDS";
/// The longest mutant, in bytes.
const LONGEST: usize = 4_096;
/// The most edits of a mutant.
const MOST_EDITS: usize = 7;
/// The longest part that is moved, and the longest that is taken from another
/// seed, in bytes.
const LONGEST_PART: usize = 128;

/// A mutant of a seed: some edits, each of a kind that parsers get wrong.
fn mutant(rng: &mut Rng, seeds: &[Vec<u8>], tokens: &[Vec<u8>]) -> Vec<u8> {
    let mut body = seeds[rng.usize(..seeds.len())].clone();
    for _ in 0..rng.usize(1..=MOST_EDITS) {
        let at = rng.usize(..=body.len());
        let length = rng.usize(..=(body.len() - at).min(LONGEST_PART / 2));
        match rng.u8(..8) {
            0 if rng.bool() => body.truncate(at),
            0 | 1 => drop(body.drain(at..at + length)),
            2 => body.insert(at, rng.u8(..)),
            3 if length > 0 => body[at] ^= 1 << rng.u8(..8),
            4 => {
                let copy = body[at..at + length].repeat(rng.usize(1..9));
                body.splice(at..at, copy);
            }
            5 => {
                let seed = &seeds[rng.usize(..seeds.len())];
                let from = rng.usize(..=seed.len());
                let part = seed[from..].iter().copied().take(LONGEST_PART);
                body.splice(at..at + length, part);
            }
            _ => {
                let token = &tokens[rng.usize(..tokens.len())];
                body.splice(at..at, token.iter().copied());
            }
        }
    }
    body.truncate(LONGEST);
    body
}

/// Checks the seeds and their mutants. A mutant that breaks a promise is shown,
/// so that it can be kept.
fn each_mutant(parser: &str, mutants: usize, check: impl Fn(&[u8])) {
    let (seeds, tokens) = (corpus::seeds(parser), corpus::tokens(parser));
    let mut rng = Rng::with_seed(parser.len() as u64);
    let shown = |body: &[u8]| {
        let tried = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(body)));
        if let Err(panic) = tried {
            eprintln!("{parser}: {}", body.escape_ascii());
            std::panic::resume_unwind(panic);
        }
    };
    for body in &seeds {
        shown(body);
    }
    let span = std::env::var(SECONDS)
        .ok()
        .map(|text| Duration::from_secs(text.parse().expect("a number of seconds")));
    let start = Instant::now();
    let mut tried = 0;
    while span.map_or(tried < mutants, |span| start.elapsed() < span) {
        shown(&mutant(&mut rng, &seeds, &tokens));
        tried += 1;
    }
    println!("{parser}: {tried} mutants in {:.1?}", start.elapsed());
}

#[test]
fn robots() {
    each_mutant("robots", MUTANTS, promises::robots);
}

#[test]
fn html() {
    each_mutant("html", MUTANTS, promises::html);
}

#[cfg(feature = "select")]
#[test]
fn items() {
    each_mutant("html", MUTANTS / 2, promises::items);
}

#[test]
fn sitemaps() {
    each_mutant("sitemap", MUTANTS, promises::sitemap);
}

#[test]
fn charsets() {
    each_mutant("charset", MUTANTS, promises::charset);
}

#[test]
fn header_fields() {
    each_mutant("retry_after", MUTANTS, promises::retry_after_header);
}

#[test]
fn urls() {
    each_mutant("url", MUTANTS, promises::url_reference);
}

#[test]
fn configurations() {
    each_mutant("config", MUTANTS, promises::config);
}

#[test]
fn states() {
    let bench = state::Bench::new();
    each_mutant("state", MUTANTS_OF_FILES, |body| bench.state(body));
}
