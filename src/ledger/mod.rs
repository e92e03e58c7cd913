//! What the crawl keeps: records, log and state, in the order that lets a run
//! be killed at any moment.

mod change;

pub use change::{Change, End, Ended, PageMemory, Queued, RecordLine};
