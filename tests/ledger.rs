//! What the ledger promises: nothing lost, nothing twice, whatever happens to
//! the process, the disk and the files.

#[path = "ledger/beside.rs"]
mod beside;
#[path = "ledger/common.rs"]
mod common;
#[path = "ledger/compaction.rs"]
mod compaction;
#[path = "ledger/crashes.rs"]
mod crashes;
#[path = "ledger/damage.rs"]
mod damage;
#[path = "ledger/identity.rs"]
mod identity;
#[path = "ledger/invent.rs"]
mod invent;
#[path = "ledger/kills.rs"]
mod kills;
#[path = "ledger/locks.rs"]
mod locks;
#[path = "ledger/outputs.rs"]
mod outputs;
#[path = "ledger/passes.rs"]
mod passes;
#[path = "ledger/replacing.rs"]
mod replacing;
