//! [`run`]: one attempt at a request, from its handler's call to a [`Report`].
//!
//! An attempt is a transaction: its effects are in the report only if its
//! outcome commits them.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use url::Url;

use super::Handler;
use crate::error::Error;
use crate::extract::{Context, Detour, Effects, panicked};
use crate::fetch::Response;
use crate::outcome::Outcome;
use crate::request::Request;

/// How an attempt ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum Ended {
    /// With what the handler returned, or with [`Outcome::Fail`] for what kept
    /// it from running or returning.
    Outcome(Outcome),
    /// The page is elsewhere; the handler has had no say.
    Redirected {
        /// 301, 302, 303, 307 or 308.
        status: u16,
        /// Where the page is.
        target: Url,
    },
    /// The page is as the condition in the request says (status 304); the
    /// handler has had no say.
    Unchanged,
    /// The connection had been kept from an earlier request and broke before
    /// any answer came; the handler has had no say. It is no attempt: the
    /// request is to be sent again when it is its turn.
    Unanswered(Error),
}

/// What one attempt gave.
#[derive(Debug)]
#[non_exhaustive]
pub struct Report {
    /// The request, given back.
    pub request: Request,
    /// How the attempt ended.
    pub ended: Ended,
    /// What the handler did; empty unless the outcome commits.
    pub effects: Effects,
    /// What came back, whether or not the handler was given it. `None` when
    /// nothing was fetched, or the fetch failed.
    pub response: Option<Arc<Response>>,
}

/// Runs a handler on one attempt and reports what it gave.
///
/// This is what the workers of a crawl do. Called by itself it tests a handler
/// without a crawl:
///
/// ```
/// use std::sync::Arc;
/// use canter::extract::{Context, Html, Services};
/// use canter::fetch::MockSite;
/// use canter::handler::{self, Ended};
/// use canter::{Outcome, Request};
///
/// let site = MockSite::new().page("http://a.test/", |page| page.html("<title>Hello</title>"));
/// let handler = handler::boxed(|page: Html| assert_eq!(page.title(), Some("Hello")));
/// let services = Arc::new(Services::new(Arc::new(site)));
/// let cx = Context::new(Request::get("http://a.test/")?, services);
/// let report = handler::run(&handler, cx);
/// assert!(matches!(report.ended, Ended::Outcome(Outcome::Done)));
/// # Ok::<(), canter::Error>(())
/// ```
///
/// A panic of the handler or an extractor is an error of kind
/// [`Worker`](crate::ErrorKind::Worker) that repeats the panic's message; one
/// of the fetcher is so too, and the failure of that fetch. An error that names
/// no URL is given the request's.
pub fn run(handler: &dyn Handler, cx: Context) -> Report {
    // Unwind safe: what the panic may have left halfway is the attempt's own,
    // and its effects are dropped. State shared by handlers is theirs to keep.
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| handler.handle(&cx)))
        .unwrap_or_else(|payload| Outcome::Fail(panicked("the handler", payload)));
    let outcome = match outcome {
        Outcome::Fail(error) => Outcome::Fail(cx.locate(error)),
        Outcome::Fatal(error) => Outcome::Fatal(cx.locate(error)),
        other => other,
    };
    let remains = cx.into_remains();
    let ended = match remains.detour {
        Some(Detour::Redirected { status, target }) => Ended::Redirected { status, target },
        Some(Detour::Unchanged) => Ended::Unchanged,
        Some(Detour::Unanswered(error)) => Ended::Unanswered(error),
        None => Ended::Outcome(outcome),
    };
    let commits = matches!(&ended, Ended::Outcome(outcome) if outcome.commits());
    Report {
        request: remains.request,
        ended,
        effects: if commits {
            remains.effects
        } else {
            Effects::default()
        },
        response: remains.response,
    }
}
