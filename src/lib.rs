//! Canter: a polite web crawler for programs that do not use async.
#![forbid(unsafe_code)]

mod admission;
mod error;
pub mod fetch;
pub mod ledger;
mod outcome;
mod policy;
mod request;

pub use admission::{Admission, SkipReason};
pub use error::{BoxError, Error, ErrorKind, Result};
pub use outcome::{IntoOutcome, Outcome, TagScope};
pub use policy::{HostRule, Policy, PolicyBuilder, RetryAfterScope, RetryPolicy};
pub use request::{BodyLimit, Hop, Method, Purpose, Request, Tag, parse_url};
pub use url::Url;
