//! [`EngineOptions`]: what the engine is told besides the policy.

/// Which changes an engine keeps for a ledger.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Keeping {
    /// None.
    #[default]
    Nothing,
    /// How URLs ended, with their records.
    Ends,
    /// All: a later run can go on from them.
    Everything,
}

/// What the engine is told besides the policy.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// In which order queued requests are taken.
    pub order: crate::frontier::Order,
    /// Whether robots.txt is asked for and obeyed.
    pub obey_robots: bool,
    /// Whether the scope takes in the host that a seed lands on.
    pub seeds_widen_scope: bool,
    /// The most queries that one path may be asked with.
    pub max_query_variants: u32,
    /// Which changes are kept for a ledger.
    pub journal: Keeping,
    /// Over how many bytes of queued requests in memory the rest is given out to
    /// be put away; `None` when there is no place for it.
    pub put_away_over: Option<usize>,
    /// Bytes of queued requests that are packed together, and put away so; at
    /// most [`CHUNK_BYTES`](crate::frontier::CHUNK_BYTES).
    pub chunk_bytes: usize,
    /// Where chance begins.
    pub seed: u64,
}

impl Default for EngineOptions {
    fn default() -> Self {
        EngineOptions {
            order: crate::frontier::Order::Fifo,
            obey_robots: true,
            seeds_widen_scope: true,
            max_query_variants: u32::MAX,
            journal: Keeping::Nothing,
            put_away_over: None,
            chunk_bytes: crate::frontier::CHUNK_BYTES,
            seed: 0,
        }
    }
}
