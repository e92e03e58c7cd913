//! Canter: a polite web crawler for programs that do not use async.
#![forbid(unsafe_code)]

#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
pub mod config;
mod error;
pub mod fetch;
mod outcome;
mod policy;
mod request;

pub use error::{BoxError, Error, ErrorKind, Result};
pub use outcome::{IntoOutcome, Outcome, TagScope};
pub use policy::{HostRule, Policy, PolicyBuilder, RetryAfterScope, RetryPolicy};
pub use request::{BodyLimit, Hop, Method, Request, Tag, parse_url};
pub use url::Url;
