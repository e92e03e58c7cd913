//! Canter: a polite web crawler for programs that do not use async.
#![forbid(unsafe_code)]

pub mod charset;
mod error;
pub mod fetch;
pub mod http;
mod outcome;
mod policy;
mod request;
pub mod robots;
pub mod sitemap;

pub use error::{BoxError, Error, ErrorKind, Result};
pub use outcome::{IntoOutcome, Outcome, TagScope};
pub use policy::{HostRule, Policy, PolicyBuilder, RetryAfterScope, RetryPolicy};
pub use request::{BodyLimit, Hop, Method, Request, Tag, parse_url};
pub use url::Url;
