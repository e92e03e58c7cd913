//! [`Backlog`]: changes that are not written yet, and how much memory they
//! take: records may be long, and a crawl must stay small.

use crate::ledger::Change;

/// Bytes that a change takes besides its texts, roughly.
const CHANGE: usize = 256;

/// Changes that wait for the ledger, oldest first.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    changes: Vec<Change>,
    bytes: usize,
}

impl Backlog {
    pub(super) fn push(&mut self, change: Change) {
        self.bytes += CHANGE + texts(&change);
        self.changes.push(change);
    }

    /// How much memory they take, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes them out.
    pub(super) fn take(&mut self) -> Vec<Change> {
        self.bytes = 0;
        std::mem::take(&mut self.changes)
    }
}

/// Bytes of the texts of a change that may be long.
fn texts(change: &Change) -> usize {
    match change {
        Change::Queued(queued) | Change::Refused(queued, _) => {
            queued.request.url().as_str().len() + queued.request.body().len()
        }
        Change::Ended(ended) => {
            ended.url.len()
                + ended
                    .records
                    .iter()
                    .map(|record| record.len())
                    .sum::<usize>()
        }
        Change::Robots { body, .. } => body.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Instant;

    use super::*;

    #[test]
    fn the_texts_of_changes_are_counted_until_they_are_taken() {
        let mut backlog = Backlog::default();
        backlog.push(Change::Robots {
            origin: "http://a.test".into(),
            body: Arc::from([b'x'; 1_000]),
            at: Instant::now(),
        });
        assert!((1_000..2_000).contains(&backlog.bytes()));
        assert_eq!(backlog.take().len(), 1);
        assert_eq!(backlog.bytes(), 0);
        assert!(backlog.take().is_empty());
    }
}
