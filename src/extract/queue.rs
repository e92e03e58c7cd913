//! [`Queue`]: further requests, kept back until this one is done.
//!
//! Every request that is pushed reaches the crawl with the outcome, also one
//! that the answer calls skipped: the crawl counts it under its reason.

use std::fmt;

use url::Url;

use super::target::Target;
use super::{Context, FromContext};
use crate::admission::Admission;
use crate::error::Result;
use crate::request::{Method, Request, Tag};
use crate::uri;

/// Queues further requests.
///
/// They take effect with an outcome that ends the request as done, and are
/// dropped with every other. They are one link farther from the seeds than
/// this request, name its page as their referrer, and carry no tag unless they
/// are given one.
///
/// ```
/// use canter::extract::{Html, Queue};
/// use canter::{Request, Result};
///
/// fn list(page: Html, queue: Queue) -> Result<()> {
///     let products = page.links().iter().filter(|link| link.url.path().starts_with("/p/"));
///     queue.with_tag("product").follow_all(products);
///     queue.follow("?page=2");
///     queue.push(Request::get("https://example.com/api")?.with_header("accept", "application/json"));
///     Ok(())
/// }
/// # let _ = canter::handler::boxed(list);
/// ```
#[derive(Clone)]
pub struct Queue {
    cx: Context,
    tag: Tag,
    priority: i32,
}

impl Queue {
    /// A handle that gives this tag to the links it follows.
    #[must_use = "the tag is set on the returned handle"]
    pub fn with_tag(&self, tag: impl Into<Tag>) -> Self {
        Queue {
            tag: tag.into(),
            ..self.clone()
        }
    }

    /// A handle that gives this priority to the links it follows; higher goes
    /// first, and 0 is the ordinary one.
    #[must_use = "the priority is set on the returned handle"]
    pub fn with_priority(&self, priority: i32) -> Self {
        Queue {
            priority,
            ..self.clone()
        }
    }

    /// Queues a `GET` of a link, and says what will become of it as far as can
    /// be known now.
    ///
    /// A [`Link`](crate::html::Link) that the page marks as not to be followed is answered with
    /// [`NoFollow`](crate::SkipReason::NoFollow); give its URL to follow it all the same. Text
    /// is resolved as a link of the page: against its base element if the page
    /// was extracted as [`Html`](super::Html), else against its URL. What
    /// gives no http or https URL is answered with [`Invalid`](crate::SkipReason::Invalid).
    pub fn follow(&self, target: impl Target) -> Admission {
        match target.target(self.cx.base()) {
            Ok(url) => self.push(self.request(url)),
            Err(reason) => Admission::Skipped(reason),
        }
    }

    /// Queues a `GET` of each link, and returns how many were taken: all but
    /// those that [`follow`](Self::follow) would answer with
    /// [`NoFollow`](crate::SkipReason::NoFollow) or [`Invalid`](crate::SkipReason::Invalid), and those that the
    /// handler has pushed before. What becomes of them the crawl decides when
    /// the request is done; this is the cheap way for many links.
    pub fn follow_all<I>(&self, targets: I) -> usize
    where
        I: IntoIterator,
        I::Item: Target,
    {
        let targets = targets.into_iter();
        self.cx
            .effects()
            .borrow_mut()
            .reserve(targets.size_hint().0);
        let mut taken = 0;
        for target in targets {
            // Borrowed for each link anew: the iterator is user code, which
            // may push to the same queue.
            if let Some(fingerprint) = target.peek().and_then(|url| self.known(url)) {
                let mut effects = self.cx.effects().borrow_mut();
                taken += usize::from(effects.known_link(fingerprint));
            } else if let Ok(url) = target.target(self.cx.base()) {
                let request = self.at_home(self.request(url));
                taken += usize::from(self.cx.effects().borrow_mut().link(request));
            }
        }
        taken
    }

    /// Queues a request as it is, and says what will become of it as far as
    /// can be known now.
    ///
    /// A request that has no depth (0) or referrer of its own is given those
    /// of a link of this page. Tag and priority are the request's own; attempt
    /// and redirects begin anew.
    #[expect(
        clippy::must_use_candidate,
        reason = "handlers may push and not ask what becomes of it"
    )]
    pub fn push(&self, request: Request) -> Admission {
        let request = self.at_home(request);
        let answer = match &self.cx.services().preview {
            Some(crawl) => crawl.preview(&request),
            None => Admission::Queued,
        };
        if self.cx.effects().borrow_mut().link(request) {
            answer
        } else {
            Admission::Duplicate
        }
    }

    /// The fingerprint of a `GET`, if the crawl knows that one.
    fn known(&self, url: &Url) -> Option<u64> {
        let crawl = self.cx.services().preview.as_ref()?;
        let fingerprint = uri::fingerprint(Method::Get.as_str(), url, b"");
        crawl.is_known(fingerprint).then_some(fingerprint)
    }

    fn request(&self, url: Url) -> Request {
        Request::new(Method::Get, url)
            .with_tag(self.tag.clone())
            .with_priority(self.priority)
    }

    fn at_home(&self, request: Request) -> Request {
        let depth = match request.depth() {
            0 => self.cx.request().depth().saturating_add(1),
            own => own,
        };
        let referrer = match request.referrer() {
            Some(own) => own.clone(),
            None => self.cx.referrer().clone(),
        };
        request
            .with_depth(depth)
            .with_referrer(Some(referrer))
            .with_attempt(1)
            .with_hops(Vec::new())
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("tag", &self.tag)
            .field("priority", &self.priority)
            .finish_non_exhaustive()
    }
}

impl FromContext for Queue {
    fn from_context(cx: &Context) -> Result<Self> {
        Ok(Queue {
            cx: cx.clone(),
            tag: Tag::UNTAGGED,
            priority: 0,
        })
    }
}
