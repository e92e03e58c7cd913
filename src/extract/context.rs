//! [`Context`]: one attempt at one request, as extractors and handlers see it.
//!
//! It keeps two promises. The request is fetched at most once, by the first
//! who needs the answer, and never if nobody does. And nothing done through it
//! takes effect here: links and records wait until the attempt has ended.

use std::cell::{OnceCell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use url::{Position, Url};

use super::FromContext;
use super::answer::{self, Detour, Reading};
use super::body::Text;
use super::effects::{Collector, Effects, Record};
use super::page::Html;
use super::services::Services;
use super::target::Base;
use crate::error::{Error, Result};
use crate::fetch::Response;
use crate::request::Request;
use crate::uri;

/// One attempt at one request. Cloning it gives another handle to the same
/// attempt; it stays on the worker's thread.
///
/// A handler takes it to decide for itself what is needed:
///
/// ```
/// use canter::extract::{Context, Html};
/// use canter::{Outcome, Result};
///
/// fn handler(cx: Context) -> Result<Outcome> {
///     if cx.request().url().path().ends_with(".pdf") {
///         return Ok(Outcome::Done); // nothing is fetched
///     }
///     let page = cx.extract::<Html>()?;
///     println!("{}", page.title().unwrap_or_default());
///     Ok(Outcome::Done)
/// }
/// # let _ = canter::handler::boxed(handler);
/// ```
#[derive(Clone)]
pub struct Context {
    job: Rc<Job>,
}

struct Job {
    request: Request,
    services: Arc<Services>,
    /// Hash of the body that an earlier pass saw.
    previous: Option<u64>,
    /// Whatever came back, also when it is no page for the handler.
    response: OnceCell<Arc<Response>>,
    /// The response if it is one for the handler, else why it is not.
    answer: OnceCell<Result<Arc<Response>>>,
    /// Set when the fetch ends the attempt without the handler.
    detour: OnceCell<Detour>,
    text: OnceCell<Result<Text>>,
    page: OnceCell<Result<Html>>,
    referrer: OnceCell<Arc<str>>,
    effects: RefCell<Collector>,
}

/// What is left of an attempt when its handler has returned.
pub(crate) struct Remains {
    pub(crate) request: Request,
    pub(crate) response: Option<Arc<Response>>,
    pub(crate) detour: Option<Detour>,
    pub(crate) effects: Effects,
}

impl Context {
    /// An attempt at a request. Nothing is fetched yet.
    #[must_use]
    pub fn new(request: Request, services: Arc<Services>) -> Self {
        Context {
            job: Rc::new(Job {
                request,
                services,
                previous: None,
                response: OnceCell::new(),
                answer: OnceCell::new(),
                detour: OnceCell::new(),
                text: OnceCell::new(),
                page: OnceCell::new(),
                referrer: OnceCell::new(),
                effects: RefCell::default(),
            }),
        }
    }

    /// Names the hash of the body that an earlier pass saw.
    pub(crate) fn with_previous(self, hash: Option<u64>) -> Self {
        match Rc::try_unwrap(self.job) {
            Ok(job) => Context {
                job: Rc::new(Job {
                    previous: hash,
                    ..job
                }),
            },
            Err(job) => Context { job },
        }
    }

    /// Whether the body is another than an earlier pass over the site saw;
    /// `None` when none has seen the page. Fetches as
    /// [`response`](Self::response) does.
    ///
    /// # Errors
    /// As [`response`](Self::response).
    pub fn changed(&self) -> Result<Option<bool>> {
        let response = self.response()?;
        Ok(self
            .job
            .previous
            .map(|hash| hash != crate::uri::hash(response.body())))
    }

    /// The request.
    #[must_use]
    pub fn request(&self) -> &Request {
        &self.job.request
    }

    /// The response, which the first call fetches. The deadline of the fetch
    /// is counted from here.
    ///
    /// # Errors
    /// The fetcher's error; the error that the
    /// [`StatusPolicy`] makes of the status;
    /// [`Rejected`](crate::ErrorKind::Rejected) for a redirect that cannot be
    /// followed. A redirect that can be, and status 304 to a conditional
    /// request, are errors here too: they end the attempt, whatever the
    /// handler makes of it.
    ///
    /// [`StatusPolicy`]: crate::fetch::StatusPolicy
    pub fn response(&self) -> Result<Arc<Response>> {
        self.job.answer.get_or_init(|| self.fetch()).clone()
    }

    /// Extracts by hand what a handler's parameter would extract.
    ///
    /// # Errors
    /// The extractor's.
    pub fn extract<T: FromContext>(&self) -> Result<T> {
        T::from_context(self)
    }

    fn fetch(&self) -> Result<Arc<Response>> {
        let Job {
            request, services, ..
        } = &*self.job;
        let fetched = services.fetch_now(request).map_err(|error| {
            let error = self.locate(error);
            if error.is_of_stale_connection() {
                let _ = self.job.detour.set(Detour::Unanswered(error.clone()));
            }
            error
        });
        let response = Arc::new(fetched?);
        let response = self.job.response.get_or_init(|| response);
        match answer::read(request, response, services).map_err(|error| self.locate(error))? {
            Reading::Page => Ok(Arc::clone(response)),
            Reading::Detour(detour) => {
                let error = detour.as_error();
                let _ = self.job.detour.set(detour);
                Err(self.locate(error))
            }
        }
    }

    /// Names the request's URL in an error that names none.
    pub(crate) fn locate(&self, error: Error) -> Error {
        if error.url().is_some() {
            return error;
        }
        error.with_url(uri::without_credentials(self.job.request.url()).into_owned())
    }

    /// Fails when the fetch has ended the attempt without the handler, so
    /// that no wrapper around an extractor can hide it.
    pub(crate) fn proceed(&self) -> Result<()> {
        match self.job.detour.get() {
            None => Ok(()),
            Some(detour) => Err(self.locate(detour.as_error())),
        }
    }

    pub(crate) fn services(&self) -> &Services {
        &self.job.services
    }

    /// The decoded body, which the first call decodes.
    pub(crate) fn text(&self) -> Result<Text> {
        self.job
            .text
            .get_or_init(|| Text::read(&*self.response()?).map_err(|error| self.locate(error)))
            .clone()
    }

    /// The decoded body, if somebody has asked for it.
    pub(crate) fn known_text(&self) -> Option<&Text> {
        self.job.text.get()?.as_ref().ok()
    }

    /// Shares a text that came about on the way to something else.
    pub(crate) fn share_text(&self, text: &Text) {
        let _ = self.job.text.set(Ok(text.clone()));
    }

    /// The parsed page, which the first call parses.
    pub(crate) fn page(&self) -> Result<Html> {
        self.job
            .page
            .get_or_init(|| Html::read(self).map_err(|error| self.locate(error)))
            .clone()
    }

    /// The parsed page, if somebody has asked for it.
    pub(crate) fn known_page(&self) -> Option<&Html> {
        self.job.page.get()?.as_ref().ok()
    }

    /// Where the attempt stands: the response's URL once there is one, the
    /// request's before.
    pub(crate) fn location(&self) -> &Url {
        self.job
            .response
            .get()
            .map_or(self.job.request.url(), |response| response.url())
    }

    /// What references are resolved against: as a link of the page would be,
    /// once it is known to be one.
    pub(crate) fn base(&self) -> Base<'_> {
        match self.known_page() {
            Some(page) => page.base(),
            None => Base::of_url(self.location()),
        }
    }

    /// The page's URL as the requests found on it name it: without fragment
    /// and user information (RFC 9110 section 10.1.3).
    pub(crate) fn referrer(&self) -> &Arc<str> {
        self.job.referrer.get_or_init(|| {
            uri::without_credentials(self.location())[..Position::AfterQuery].into()
        })
    }

    /// Keeps a record until the attempt has ended; as with
    /// [`Emit`](super::Emit), it is written if the request is done.
    pub fn emit(&self, record: Record) {
        self.job.effects.borrow_mut().record(record);
    }

    /// As [`emit`](Self::emit), for an output beside that of the records.
    pub(crate) fn emit_beside(&self, output: usize, line: Record, counts: bool) {
        self.job.effects.borrow_mut().beside(output, line, counts);
    }

    pub(crate) fn effects(&self) -> &RefCell<Collector> {
        &self.job.effects
    }

    /// Ends the attempt. What handles that outlive it do is lost.
    pub(crate) fn into_remains(self) -> Remains {
        match Rc::try_unwrap(self.job) {
            Ok(job) => Remains {
                request: job.request,
                response: job.response.into_inner(),
                detour: job.detour.into_inner(),
                effects: job.effects.into_inner().into_effects(),
            },
            // A handler has put a handle away somewhere.
            Err(job) => Remains {
                request: job.request.clone(),
                response: job.response.get().cloned(),
                detour: job.detour.get().cloned(),
                effects: job.effects.take().into_effects(),
            },
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("request", &self.job.request)
            .field("response", &self.job.response.get().map(|r| r.status()))
            .finish_non_exhaustive()
    }
}
