//! [`RobotsFile`]: what the answer to a request for robots.txt means (RFC 9309
//! section 2.3.1). Keeps: what cannot be read allows nothing, and what is not
//! there forbids nothing.

use std::time::SystemTime;

use url::Url;

use crate::error::{Error, ErrorKind, Result};
use crate::fetch::Response;
use crate::http;
use crate::request::{BodyLimit, Hop, Method, Request};
use crate::robots::Robots;
use crate::uri;

/// How much of a robots.txt is read (RFC 9309 section 2.5 asks for 500 KiB).
const ROBOTS_BYTES: u64 = 1024 * 1024;
/// Redirects of a robots.txt that are followed (RFC 9309 section 2.3.1.2).
const ROBOTS_HOPS: usize = 5;

/// What the answer to a request for robots.txt means.
#[derive(Debug)]
pub(crate) enum RobotsFile {
    /// There is a file.
    There {
        /// What it says.
        robots: Robots,
        /// What is odd about it, for people.
        note: Option<&'static str>,
    },
    /// There is none, so that everything is allowed.
    Absent,
    /// It is elsewhere: what to ask next.
    Elsewhere(Request),
}

impl RobotsFile {
    /// The request as it must be made: the start of an over-long file is read.
    pub(crate) fn asked_for(request: Request) -> Request {
        request.with_body_limit(BodyLimit {
            bytes: ROBOTS_BYTES,
            keep_start: true,
        })
    }

    /// Reads an answer that came at `now`.
    ///
    /// # Errors
    /// [`ErrorKind::Http`] when the file may be there and cannot be read now:
    /// everything is forbidden until it can.
    pub(crate) fn read(request: &Request, response: &Response, now: SystemTime) -> Result<Self> {
        let status = response.status();
        match status {
            200..=299 if response.is_part() => Err(Error::new(ErrorKind::Http)
                .with_status(status)
                .with_message("only a part of robots.txt came")),
            200..=299 if response.undecoded() => Err(Error::new(ErrorKind::Http)
                .with_status(status)
                .with_message("robots.txt is in a content coding that is not understood")),
            200..=299 => {
                let body = response.body();
                let robots = if response.truncated() {
                    Robots::parse_truncated(body)
                } else {
                    Robots::parse(body)
                };
                let note = if robots.looks_like_html() {
                    Some("robots.txt is HTML: it has no rules")
                } else if robots.truncated() {
                    Some("robots.txt is over-long: only its first part is obeyed")
                } else {
                    None
                };
                Ok(RobotsFile::There { robots, note })
            }
            // What is no final status counts as 5xx (RFC 9110 section 15), and
            // that it has not changed is nothing to go by.
            ..200 | 304 | 429 | 500.. => {
                let error = Error::new(ErrorKind::Http).with_status(status);
                let after = http::retry_after_fields(
                    response.header_all("retry-after"),
                    response.header_bytes("date"),
                    now,
                );
                Err(after.into_iter().fold(error, Error::with_retry_after))
            }
            _ if response.is_redirect() && request.hops().len() < ROBOTS_HOPS => {
                let target = response
                    .header_bytes("location")
                    .and_then(|raw| uri::resolve_location(request.url(), raw));
                let Some(target) = target else {
                    return Ok(RobotsFile::Absent);
                };
                if is_loop(request, response, &target) {
                    return Ok(RobotsFile::Absent);
                }
                let mut hops = request.hops().to_vec();
                hops.push(Hop {
                    url: request.url().clone(),
                    status,
                });
                Ok(RobotsFile::Elsewhere(
                    Request::new(Method::Get, target)
                        .with_priority(request.priority())
                        .with_hops(hops),
                ))
            }
            // 4xx: there is none (section 2.3.1.3). The same after too many
            // redirects (section 2.3.1.2).
            _ => Ok(RobotsFile::Absent),
        }
    }
}

/// Whether a redirect leads back to what was asked before, and so would again
/// until there are too many. With cookies the second answer may be another.
fn is_loop(request: &Request, response: &Response, target: &Url) -> bool {
    if cfg!(feature = "cookies") && response.header_bytes("set-cookie").is_some() {
        return false;
    }
    let target = uri::canonical(target);
    let asked = request.hops().iter().map(|hop| &hop.url);
    let mut asked = asked.chain([request.url()]);
    asked.any(|url| uri::canonical(url) == target)
}
