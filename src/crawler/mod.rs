//! [`Crawler`]: the engine, its threads and the fetcher, put together.

mod admit;
mod engine;
mod finish;
mod job;
mod origins;
mod poll;
mod pool;
mod stats;
mod tags;

pub use engine::{Engine, EngineOptions};
pub use finish::Ending;
pub use job::{Done, Finished, Job, JobId, Poll, Report, RobotsAnswer, Then, Why};
pub use origins::{OriginRules, ROBOTS_LIFETIME};
pub use poll::Outlook;
pub use stats::{Bound, ParkReason, Parked, RunEnd, Stats, Waiting};
