//! Extractors: what a handler can ask for by naming it as a parameter.
//!
//! A handler is an ordinary closure or function, and the types of its
//! parameters say what it needs. The request is fetched once, by the first
//! extractor that needs the answer, and never if none does.
//!
//! | extractor | gives | fetches |
//! |---|---|---|
//! | [`Context`] | the attempt itself, to extract by hand | when asked |
//! | [`Head`] | status, header fields, final URL | yes |
//! | [`Body`] | the bytes | yes |
//! | [`Text`] | the bytes decoded | yes |
//! | [`Json<T>`](Json) | a `T` read from JSON | yes |
//! | [`Html`] | title, meta, links, visible text | yes |
//! | [`Links`] | the page's links that may be followed | yes |
//! | [`SitemapFile`] | the URLs of a sitemap or feed | yes |
//! | [`Url`], [`Tag`], [`Depth`], [`Attempt`] | what is known of the request | no |
//! | [`Queue`] | queues further requests | no |
//! | [`Emit<T>`](Emit) | writes records | no |
//! | [`State<S>`](State) | a value that the crawl was given | no |
//!
//! An extractor that fails fails the request before the handler runs. Wrapped
//! in `Option` or `Result` it hands the handler `None` or the error instead, a
//! failed fetch included.
//!
//! ```
//! use canter::extract::{Depth, Html, Queue};
//! use canter::{Error, Outcome, Result};
//!
//! fn handler(page: Result<Html, Error>, Depth(depth): Depth, queue: Queue) -> Result<Outcome> {
//!     match page {
//!         Ok(page) if depth < 3 => {
//!             queue.follow_all(page.links());
//!             Ok(Outcome::Done)
//!         }
//!         Ok(_) => Ok(Outcome::Done),
//!         Err(error) if error.status() == Some(404) => Ok(Outcome::Done),
//!         Err(error) => Err(error),
//!     }
//! }
//! # let _ = canter::handler::boxed(handler);
//! ```
//!
//! Implement [`FromContext`] for extractors of your own:
//!
//! ```
//! use canter::extract::{Context, FromContext, Html};
//! use canter::{Error, Result};
//!
//! struct Heading(String);
//!
//! impl FromContext for Heading {
//!     fn from_context(cx: &Context) -> Result<Self> {
//!         let page = cx.extract::<Html>()?;
//!         let title = page.title().ok_or_else(|| Error::worker("the page has no title"))?;
//!         Ok(Heading(title.to_owned()))
//!     }
//! }
//! # let _ = canter::handler::boxed(|_: Heading| ());
//! ```

mod answer;
mod body;
mod context;
mod crawl;
mod effects;
mod emit;
#[cfg(feature = "select")]
mod items;
mod page;
mod panics;
mod queue;
mod services;
mod state;
mod target;

#[cfg(feature = "select")]
pub use crate::select::Item;
#[doc(no_inline)]
pub use crate::{Tag, Url};
pub(crate) use answer::Detour;
pub use body::{Body, Head, Json, Text};
pub use context::Context;
pub use crawl::{Attempt, Depth};
pub use effects::{Beside, Effects, Record};
pub use emit::Emit;
#[cfg(feature = "select")]
pub use items::Items;
pub(crate) use page::header_directives;
pub use page::{Html, Links, SitemapFile};
pub(crate) use panics::panicked;
pub use queue::Queue;
pub use services::{DEFAULT_MAX_REDIRECTS, DEFAULT_TIMEOUT, Preview, Services};
pub use state::{State, StateMap};
pub use target::{Base, Target};

use crate::error::{Error, Result};

/// Something that a handler can take as a parameter.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an extractor",
    label = "a parameter of type `{Self}` cannot be extracted",
    note = "a handler takes extractors by value: `Html`, `Queue`, `Url` and the others in `canter::extract`, or types that implement `FromContext`"
)]
pub trait FromContext: Sized {
    /// Extracts the value from an attempt.
    ///
    /// # Errors
    /// Whatever keeps the value from being extracted; the request fails with
    /// it.
    fn from_context(cx: &Context) -> Result<Self>;

    /// Checks, before any request, what of an extraction can be known to fail.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid): for [`State`], when
    /// the crawl was given no such value.
    fn check(_state: &StateMap) -> Result<()> {
        Ok(())
    }
}

impl<T: FromContext> FromContext for Option<T> {
    fn from_context(cx: &Context) -> Result<Self> {
        let value = T::from_context(cx).ok();
        cx.proceed()?;
        Ok(value)
    }
}

impl<T: FromContext> FromContext for Result<T, Error> {
    fn from_context(cx: &Context) -> Result<Self> {
        let value = T::from_context(cx);
        cx.proceed()?;
        Ok(value)
    }
}

impl FromContext for Context {
    fn from_context(cx: &Context) -> Result<Self> {
        Ok(cx.clone())
    }
}
