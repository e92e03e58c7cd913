//! [`Emit`]: records, serialised at once and written when the request is done.

use std::fmt;
use std::marker::PhantomData;

use serde::Serialize;

use super::effects::Record;
use super::{Context, FromContext};
use crate::error::Result;

/// Writes records of type `T`: one line of JSON Lines for each value pushed.
///
/// A record is serialised in the worker when it is pushed, and written
/// together with the request's end, or never: a retried, failed or panicking
/// attempt leaves no record behind.
///
/// ```
/// use canter::extract::{Emit, Html};
/// use canter::Result;
/// use serde::Serialize;
///
/// #[derive(Serialize)]
/// struct Page<'a> {
///     url: &'a str,
///     title: Option<&'a str>,
/// }
///
/// // A record may borrow from the page.
/// fn handler(page: Html, emit: Emit<Page>) -> Result<()> {
///     emit.push(&Page { url: page.url().as_str(), title: page.title() })
/// }
/// # let _ = canter::handler::boxed(handler);
/// ```
pub struct Emit<T: ?Sized> {
    cx: Context,
    // Covariant, so that an `Emit` of a record that borrows takes records of
    // any lifetime.
    value: PhantomData<T>,
}

impl<T: Serialize + ?Sized> Emit<T> {
    /// Serialises a record and keeps it until the request is done.
    ///
    /// # Errors
    /// [`ErrorKind::Worker`](crate::ErrorKind::Worker) when the value has no
    /// form in JSON; nothing of it is kept.
    pub fn push(&self, value: &T) -> Result<()> {
        // Serialised before the effects are borrowed: `Serialize` is user code.
        let record = Record::new(value).map_err(|error| self.cx.locate(error))?;
        self.cx.emit(record);
        Ok(())
    }
}

impl<T: ?Sized> Clone for Emit<T> {
    fn clone(&self) -> Self {
        Emit {
            cx: self.cx.clone(),
            value: PhantomData,
        }
    }
}

impl<T: ?Sized> fmt::Debug for Emit<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Emit")
    }
}

impl<T: Serialize + ?Sized> FromContext for Emit<T> {
    fn from_context(cx: &Context) -> Result<Self> {
        Ok(Emit {
            cx: cx.clone(),
            value: PhantomData,
        })
    }
}
