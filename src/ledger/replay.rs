//! Replay: from a state file to the [`Model`] of its crawl. Keeps: nothing
//! behind the last whole checkpoint is believed, and nothing is written.

use std::fs::File;
use std::path::Path;

use super::blocks::{Sharing, drive};
use super::model::Model;
use super::parse;
use super::scan::{Scan, scan};
use crate::error::Result;

/// Reads a state up to its last whole checkpoint.
///
/// # Errors
/// Those of [`scan`].
pub(super) fn replay(file: &File, path: &Path) -> Result<(Scan, Model)> {
    let scan = scan(file, path)?;
    let mut model = Model::default();
    let sharing = Sharing::for_length(scan.committed);
    fold(
        &mut model,
        file,
        path,
        scan.committed,
        sharing,
        scan.pages_matter,
    )?;
    Ok((scan, model))
}

/// Folds the first `length` bytes into a model. `pages` says whether memories
/// of pages are wanted.
pub(super) fn fold(
    model: &mut Model,
    file: &File,
    path: &Path,
    length: u64,
    sharing: Sharing,
    pages: bool,
) -> Result<()> {
    drive(
        file,
        path,
        length,
        sharing,
        |_, line| parse::event(line, pages),
        |line, length, event| model.apply(line, length, event),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use super::*;
    use crate::error::ErrorKind;
    use crate::ledger::change::{Change, End, Ended, Queued};
    use crate::ledger::{Anchor, Identity, Ledger, LedgerOptions, StateSpec, Totals};
    use crate::request::{Purpose, Request};

    /// A state of a few hundred URLs that stand in every way.
    fn state(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("canter-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        let mut options = LedgerOptions::new(Anchor::now());
        options.state = Some(StateSpec::new(&dir, Identity::default()));
        let (mut ledger, _) = Ledger::open(options).expect("the ledger opens");
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..20 {
            let mut changes = Vec::new();
            for _ in 0..random.usize(1..40) {
                let fingerprint = random.u64(..300);
                let url = format!("http://a.test/{}", "x".repeat(random.usize(..90)));
                let request = Request::get(&url).expect("a URL");
                changes.push(match random.u32(..3) {
                    0 => Change::Queued(Box::new(Queued {
                        fingerprint,
                        request: request.with_referrer(Some(url.into())),
                        seed: false,
                        purpose: Purpose::Page,
                    })),
                    1 => Change::Retried {
                        fingerprint,
                        attempt: random.u32(1..9),
                        not_before: std::time::Instant::now(),
                    },
                    _ => Change::Ended(Box::new(Ended {
                        fingerprint,
                        url: request.url().to_string(),
                        purpose: Purpose::Page,
                        end: [End::Done, End::Failed(ErrorKind::Http)][random.usize(..2)],
                        status: None,
                        attempts: random.u32(..9),
                        to: None,
                        message: None,
                        referrer: None,
                        depth: 0,
                        page: random.bool().then(Box::default),
                        records: Vec::new(),
                        beside: Vec::new(),
                    })),
                });
            }
            ledger
                .commit(&changes, Anchor::now(), Totals::default())
                .expect("a commit");
        }
        dir
    }

    #[test]
    fn a_state_says_the_same_however_it_is_shared_out() {
        let dir = state("shared-out");
        let path = dir.join("journal.jsonl");
        let file = File::open(&path).expect("the state");
        let length = file.metadata().expect("a length").len();
        let read = |block, pieces| {
            let mut model = Model::default();
            let sharing = Sharing::new(block, pieces);
            fold(&mut model, &file, &path, length, sharing, true).expect("it can be read");
            let waits: BTreeMap<_, _> = model.not_before.iter().collect();
            let repeated: BTreeMap<_, _> = model.repeated.iter().collect();
            let text = format!("{:?} {waits:?} {repeated:?}", model.table.entries());
            (text, model.history, format!("{:?}", model.shelf))
        };
        let serial = read(1 << 30, 1);
        for (block, pieces) in [(1 << 30, 7), (1, 1), (50, 3), (64, 64), (4096, 5)] {
            assert_eq!(
                read(block, pieces),
                serial,
                "blocks of {block} in {pieces} pieces"
            );
        }
        let _ = std::fs::remove_dir_all(&dir);
    }
}
