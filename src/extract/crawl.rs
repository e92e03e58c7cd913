//! What the crawl knows without asking the site: the request's URL, tag, depth
//! and attempt, and the state that handlers share. Nothing here fetches.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use url::Url;

use super::services::StateMap;
use super::{Context, FromContext};
use crate::error::Result;
use crate::request::Tag;

/// The request's URL. Use [`Html::url`](super::Html::url) or
/// [`Head::url`](super::Head::url) for the URL that answered.
impl FromContext for Url {
    fn from_context(cx: &Context) -> Result<Self> {
        Ok(cx.request().url().clone())
    }
}

/// The request's tag.
impl FromContext for Tag {
    fn from_context(cx: &Context) -> Result<Self> {
        Ok(cx.request().tag().clone())
    }
}

/// How many links away from a seed the request is; seeds are at 0, and a
/// redirect does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Depth(pub u32);

impl FromContext for Depth {
    fn from_context(cx: &Context) -> Result<Self> {
        Ok(Depth(cx.request().depth()))
    }
}

impl fmt::Display for Depth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Which attempt at the request this is; the first is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attempt(pub u32);

impl FromContext for Attempt {
    fn from_context(cx: &Context) -> Result<Self> {
        Ok(Attempt(cx.request().attempt()))
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A value that the crawl was given, shared by all its handlers.
///
/// Unlike links and records it is not part of the attempt's transaction: what
/// a handler changes in it stays changed when the attempt fails.
///
/// ```
/// use canter::extract::State;
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// #[derive(Default)]
/// struct Counter(AtomicUsize);
///
/// fn handler(State(counter): State<Counter>) {
///     counter.0.fetch_add(1, Ordering::Relaxed);
/// }
/// # let _ = canter::handler::boxed(handler);
/// ```
///
/// # Errors
/// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid), naming the type, when
/// the crawl was given no value of it. This is found before any request.
#[derive(Debug)]
pub struct State<S>(pub Arc<S>);

impl<S> Clone for State<S> {
    fn clone(&self) -> Self {
        State(Arc::clone(&self.0))
    }
}

impl<S> Deref for State<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.0
    }
}

impl<S: Send + Sync + 'static> FromContext for State<S> {
    fn from_context(cx: &Context) -> Result<Self> {
        cx.services().state.get().map(State)
    }

    fn check(state: &StateMap) -> Result<()> {
        state.get::<S>().map(drop)
    }
}
