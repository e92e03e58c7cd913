//! What the crawl knows of a request without asking the site: URL, tag, depth
//! and attempt. Nothing here fetches.

use std::fmt;

use url::Url;

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
