#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod admission;
pub mod charset;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
pub mod config;
pub mod crawler;
mod error;
pub mod extract;
pub mod fetch;
pub mod frontier;
pub mod handler;
pub mod html;
pub mod http;
pub mod ledger;
mod outcome;
mod policy;
pub mod politeness;
mod request;
pub mod robots;
#[cfg(feature = "select")]
pub mod select;
pub mod sitemap;
pub mod uri;

pub use admission::{Admission, SkipReason};
pub use crawler::{Crawler, CrawlerBuilder, Event, RunEnd, Sitemaps, Stats, StopHandle, Waiting};
pub use error::{BoxError, Error, ErrorKind, Result};
pub use frontier::{MemoryFrontier, Scope, TrapLimits};
pub use handler::Router;
pub use outcome::{IntoOutcome, Outcome, TagScope};
pub use policy::{
    HostRule, MAX_CONCURRENCY, MAX_DURATION, Policy, PolicyBuilder, RetryAfterScope, RetryPolicy,
};
pub use request::{BodyLimit, Hop, Method, Purpose, Request, Tag, parse_url};
pub use url::Url;
