//! [`Pending`]: a request that waits, as earlier runs left it. Keeps: one of
//! which nothing is special is handed over without being made.

use std::sync::Arc;
use std::time::Instant;

use super::change::Queued;

/// A request that waits to be made.
#[derive(Debug, Clone)]
pub struct Pending {
    /// The request, with the number of the attempt that comes next.
    pub queued: Queued,
    /// When it may start, if that is still to come.
    pub not_before: Option<Instant>,
    /// Whether it was skipped under settings or rules that have since changed:
    /// whether it is let in must be asked anew. Otherwise it was let in before.
    pub rejudge: bool,
}

/// A request that waits, as it is handed over.
#[derive(Debug)]
pub(crate) enum Offer<'a> {
    /// One of which nothing is special, not made a request of yet.
    Plain(PlainPending<'a>),
    /// Any.
    Whole(Pending),
}

/// A request that waits, and of which nothing is special.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlainPending<'a> {
    pub(crate) fingerprint: u64,
    pub(crate) url: &'a str,
    pub(crate) depth: u32,
    pub(crate) seed: bool,
    pub(crate) referrer: Option<&'a Arc<str>>,
}
