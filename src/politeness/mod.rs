//! Politeness: state machines that take `now` and say when a request may
//! start. None of them does I/O, reads a clock or knows what is queued.

mod breaker;
mod host;
mod hosts;
mod limiter;
mod pacer;
mod pauses;

pub use breaker::{Breaker, Trip, Weight};
pub use host::{Hold, Host, Verdict};
pub use hosts::{HostId, HostTable};
pub use limiter::Limiter;
pub use pacer::Pacer;
pub use pauses::Pauses;
