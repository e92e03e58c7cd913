//! The frontier: what is queued and in what order, what was seen, and what is
//! let in. Pure state; it knows nothing of hosts' pace.

mod candidate;
mod delayed;
mod depot;
mod entry;
mod host_line;
mod lane_queue;
mod order;
mod packed;
mod schedule;
mod scope;
mod seen;
mod traps;

pub use candidate::Candidate;
pub use delayed::Delayed;
pub use depot::{CHUNK_BYTES, ChunkId};
pub use entry::{Entry, Extra, Kind};
pub use host_line::Readiness;
pub use order::{MemoryFrontier, Order};
pub use schedule::{Lane, LaneId, OriginId, Schedule, TagId};
pub use scope::{Scope, ScopeBuilder};
pub use seen::Seen;
pub use traps::{TrapLimits, Variants};
