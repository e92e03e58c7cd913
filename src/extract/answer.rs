//! What an answer means for its request: a page for the handler, a redirect,
//! an unchanged page, or a failure.

use url::Url;

use super::services::Services;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{Response, StatusPolicy};
use crate::http;
use crate::request::Request;
use crate::uri;

/// `304 Not Modified` (RFC 9110 section 15.4.5).
const NOT_MODIFIED: u16 = 304;
/// The statuses whose `Retry-After` counts (RFC 6585 section 4, RFC 9110
/// section 15.6.4).
const THROTTLED: [u16; 2] = [429, 503];
/// How much of a `Location` that cannot be used an error repeats, in bytes.
const QUOTED_BYTES: usize = 200;

/// An answer that ends the attempt without the handler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Detour {
    /// The page is elsewhere.
    Redirected { status: u16, target: Url },
    /// The page is as it was.
    Unchanged,
}

impl Detour {
    /// What somebody who asks for the response is told.
    pub(crate) fn as_error(&self) -> Error {
        match self {
            Detour::Redirected { status, target } => Error::new(ErrorKind::Rejected)
                .with_status(*status)
                .with_message(format!("redirected to {target}")),
            Detour::Unchanged => Error::new(ErrorKind::Rejected)
                .with_status(NOT_MODIFIED)
                .with_message("the page has not changed"),
        }
    }
}

/// What an answer means.
#[derive(Debug)]
pub(crate) enum Reading {
    /// It is one for the handler.
    Page,
    /// It ends the attempt.
    Detour(Detour),
}
