//! What an answer means for its request: a page for the handler, a redirect,
//! an unchanged page, or a failure.

use std::time::Duration;

use url::Url;

use super::body::quoted;
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

/// What ends the attempt without the handler.
#[derive(Debug, Clone)]
pub(crate) enum Detour {
    /// The page is elsewhere.
    Redirected { status: u16, target: Url },
    /// The page is as it was.
    Unchanged,
    /// No answer came, through no fault of the URL.
    Unanswered(Error),
}

impl Detour {
    /// What somebody who asks for the response is told.
    pub(crate) fn as_error(&self) -> Error {
        match self {
            Detour::Redirected { status, target } => Error::new(ErrorKind::Rejected)
                .with_status(*status)
                .with_message(format!(
                    "redirected to {}",
                    uri::without_credentials(target)
                )),
            Detour::Unchanged => Error::new(ErrorKind::Rejected)
                .with_status(NOT_MODIFIED)
                .with_message("the page has not changed"),
            Detour::Unanswered(error) => error.clone(),
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

/// Reads an answer.
///
/// # Errors
/// [`Rejected`](ErrorKind::Rejected) for a redirect that cannot be followed,
/// and what the status policy says of any other status. Where the policy
/// accepts every answer, such a redirect is a page like any other.
pub(crate) fn read(request: &Request, response: &Response, services: &Services) -> Result<Reading> {
    let status = response.status();
    if response.is_redirect() {
        match target(request, response, services.max_redirects) {
            Ok(target) => return Ok(Reading::Detour(Detour::Redirected { status, target })),
            Err(error) if services.status_policy == StatusPolicy::Classify => return Err(error),
            Err(_) => return Ok(Reading::Page),
        }
    }
    if status == NOT_MODIFIED && is_conditional(request) {
        return Ok(Reading::Detour(Detour::Unchanged));
    }
    let is_part = response.is_part() && !asks_for(request, "range");
    if is_part && services.status_policy == StatusPolicy::Classify {
        return Err(Error::new(ErrorKind::Rejected)
            .with_status(status)
            .with_message("only a part of the page came, and nobody asked for one"));
    }
    let wait = if THROTTLED.contains(&status) {
        retry_after(response, services)
    } else {
        None
    };
    services.status_policy.check(response, wait)?;
    Ok(Reading::Page)
}

/// Where a redirect leads.
fn target(request: &Request, response: &Response, max_redirects: usize) -> Result<Url> {
    let rejected = |message: String| {
        Error::new(ErrorKind::Rejected)
            .with_status(response.status())
            .with_message(message)
    };
    let Some(location) = response.header_bytes("location") else {
        return Err(rejected("redirect without a location".to_owned()));
    };
    let target = uri::resolve_location(response.url(), location).ok_or_else(|| {
        rejected(format!(
            "redirect to {}, which is no web address",
            quoted(location)
        ))
    })?;
    if request.hops().len() >= max_redirects {
        return Err(rejected(format!(
            "too many redirects: {} led here, and the next is to {}",
            request.hops().len(),
            uri::without_credentials(&target)
        )));
    }
    Ok(target)
}

/// Whether the request asks for the page only if it has changed (RFC 9110
/// sections 13.1.2 and 13.1.3).
fn is_conditional(request: &Request) -> bool {
    asks_for(request, "if-none-match") || asks_for(request, "if-modified-since")
}

/// Whether the request has a field of that name.
fn asks_for(request: &Request, field: &str) -> bool {
    let mut headers = request.headers().iter();
    headers.any(|(name, _)| name.eq_ignore_ascii_case(field))
}

fn retry_after(response: &Response, services: &Services) -> Option<Duration> {
    http::retry_after_fields(
        response.header_all("retry-after"),
        response.header_bytes("date"),
        (services.wall_clock)(),
    )
}
