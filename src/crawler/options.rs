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
            seed: 0,
        }
    }
}
