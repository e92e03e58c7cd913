//! [`Router`]: chooses a handler by the request's tag, else by its path.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use super::{Handler, IntoHandler};
use crate::error::{Error, Result};
use crate::extract::{Context, StateMap};
use crate::outcome::Outcome;
use crate::request::Tag;
use crate::uri::{self, Glob};

/// A handler that hands each request to one of several.
///
/// A route for the request's tag wins over every path. Of the paths that match
/// the first counts, in the order in which they were added. What is left goes
/// to the fallback; without one it fails with
/// [`Invalid`](crate::ErrorKind::Invalid), naming its URL and tag.
///
/// ```
/// use canter::extract::{Html, Queue};
/// use canter::handler::Router;
/// use canter::{Result, Url};
///
/// fn product(page: Html) {
///     println!("{}", page.title().unwrap_or_default());
/// }
///
/// fn list(page: Html, queue: Queue) {
///     queue.follow_all(page.links());
/// }
///
/// let router = Router::new()
///     .route("product", product)
///     .route_path("/blog/**", |url: Url| println!("not read: {url}"))
///     .fallback(list);
/// ```
///
/// A mistake in the routes, such as a pattern that cannot be read, is reported
/// by [`check`](Handler::check), which a crawl calls before its first request.
#[derive(Default)]
#[must_use = "a router does nothing until a crawl is given it"]
pub struct Router {
    tags: BTreeMap<Tag, Box<dyn Handler>>,
    paths: Vec<(Glob, Box<dyn Handler>)>,
    fallback: Option<Box<dyn Handler>>,
    mistakes: Vec<Error>,
}

impl Router {
    /// A router without routes.
    pub fn new() -> Self {
        Router::default()
    }

    /// Hands requests with this tag to a handler;
    /// [`Tag::UNTAGGED`] stands for those without.
    pub fn route<Args, H>(mut self, tag: impl Into<Tag>, handler: H) -> Self
    where
        H: IntoHandler<Args>,
        H::Handler: Handler + 'static,
    {
        match self.tags.entry(tag.into()) {
            Entry::Vacant(free) => {
                free.insert(Box::new(handler.into_handler()));
            }
            Entry::Occupied(taken) => self.mistakes.push(Error::invalid(format!(
                "the router has two routes for requests with {}",
                described(taken.key())
            ))),
        }
        self
    }

    /// Hands requests whose path and query match a [`Glob`] to a handler.
    pub fn route_path<Args, H>(mut self, pattern: &str, handler: H) -> Self
    where
        H: IntoHandler<Args>,
        H::Handler: Handler + 'static,
    {
        match Glob::new(pattern) {
            Ok(glob) => self.paths.push((glob, Box::new(handler.into_handler()))),
            Err(error) => self.mistakes.push(error),
        }
        self
    }

    /// Hands requests that no route takes to a handler.
    pub fn fallback<Args, H>(mut self, handler: H) -> Self
    where
        H: IntoHandler<Args>,
        H::Handler: Handler + 'static,
    {
        if self.fallback.is_some() {
            self.mistakes
                .push(Error::invalid("the router has two fallbacks"));
        }
        self.fallback = Some(Box::new(handler.into_handler()));
        self
    }

    fn choose(&self, cx: &Context) -> Option<&dyn Handler> {
        let request = cx.request();
        if let Some(handler) = self.tags.get(request.tag()) {
            return Some(&**handler);
        }
        self.paths
            .iter()
            .find(|(glob, _)| glob.matches(request.url()))
            .map(|(_, handler)| handler)
            .or(self.fallback.as_ref())
            .map(|handler| &**handler)
    }
}

impl Handler for Router {
    fn handle(&self, cx: &Context) -> Outcome {
        if let Some(handler) = self.choose(cx) {
            return handler.handle(cx);
        }
        let request = cx.request();
        Outcome::Fail(Error::invalid(format!(
            "no route takes {} with {}",
            uri::without_credentials(request.url()),
            described(request.tag())
        )))
    }

    fn check(&self, state: &StateMap) -> Result<()> {
        if let Some(mistake) = self.mistakes.first() {
            return Err(mistake.clone());
        }
        self.tags
            .values()
            .chain(self.paths.iter().map(|(_, handler)| handler))
            .chain(&self.fallback)
            .try_for_each(|handler| handler.check(state))
    }
}

fn described(tag: &Tag) -> String {
    match tag.name() {
        Some(name) => format!("tag {name:?}"),
        None => "no tag".to_owned(),
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Router")
            .field("tags", &self.tags.keys().collect::<Vec<_>>())
            .field("paths", &self.paths.len())
            .field("fallback", &self.fallback.is_some())
            .finish_non_exhaustive()
    }
}
