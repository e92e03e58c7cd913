//! Handlers, extractors and the router, on one attempt at a time: what is
//! fetched, what the handler is given, what is reported and what commits.

mod attempts;
mod extractors;
mod handlers;
mod queue;
mod redirects;
mod router;
mod statuses;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use canter::extract::{Context, Services};
use canter::fetch::{Fetch, Response};
use canter::handler::{self, Ended, Handler, IntoHandler, Report};
use canter::{Error, Outcome, Request, Result};

/// The URL that is asked for unless a test says otherwise.
const PAGE: &str = "http://site.test/dir/page?q=1";

type Answer = dyn Fn(&Request) -> Result<Response> + Send + Sync;

/// A fetcher of one answer that counts how often it is asked.
struct Site {
    answer: Box<Answer>,
    asked: AtomicUsize,
    deadline: Mutex<Option<Instant>>,
}

impl Fetch for Site {
    fn fetch(&self, request: &Request, deadline: Instant) -> Result<Response> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        *self.deadline.lock().unwrap() = Some(deadline);
        (self.answer)(request)
    }
}

impl Site {
    fn new(answer: impl Fn(&Request) -> Result<Response> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Site {
            answer: Box::new(answer),
            asked: AtomicUsize::new(0),
            deadline: Mutex::new(None),
        })
    }

    /// Answers with this status, these header fields and this body.
    fn with(status: u16, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Arc<Self> {
        let headers: Vec<(String, String)> = headers
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let body = body.into();
        Site::new(move |request| {
            let response = Response::new(request.url().clone(), status).with_body(body.clone());
            Ok(headers.iter().fold(response, |response, (name, value)| {
                response.with_header(name.clone(), value.clone())
            }))
        })
    }

    /// An HTML page.
    fn html(page: &str) -> Arc<Self> {
        Site::with(200, &[("Content-Type", "text/html; charset=utf-8")], page)
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

fn services(site: &Arc<Site>) -> Services {
    Services::new(Arc::clone(site) as Arc<dyn Fetch>)
}

fn get(url: &str) -> Request {
    Request::get(url).unwrap()
}

/// Runs a handler on one attempt at [`PAGE`].
fn run<Args, H>(site: &Arc<Site>, handler: H) -> Report
where
    H: IntoHandler<Args>,
    H::Handler: Handler + 'static,
{
    run_with(services(site), get(PAGE), handler)
}

fn run_with<Args, H>(services: Services, request: Request, handler: H) -> Report
where
    H: IntoHandler<Args>,
    H::Handler: Handler + 'static,
{
    let handler = handler::boxed(handler);
    handler::run(&handler, Context::new(request, Arc::new(services)))
}

#[track_caller]
fn failure(report: &Report) -> &Error {
    match &report.ended {
        Ended::Outcome(Outcome::Fail(error)) => error,
        other => panic!("not a failure: {other:?}"),
    }
}

#[track_caller]
fn assert_done(report: &Report) {
    assert!(
        matches!(report.ended, Ended::Outcome(Outcome::Done)),
        "not done: {:?}",
        report.ended
    );
}

fn links(report: &Report) -> Vec<&str> {
    let links = report.effects.links.iter();
    links.map(|request| request.url().as_str()).collect()
}

fn records(report: &Report) -> Vec<&str> {
    let records = report.effects.records.iter();
    records
        .map(|record| std::str::from_utf8(record.as_bytes()).unwrap())
        .collect()
}
