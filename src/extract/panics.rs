//! What a panic becomes: an error of the request it happened at.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};

use crate::error::Error;

/// The error for a caught panic: kind [`Worker`](crate::ErrorKind::Worker),
/// with the panic's message.
pub(crate) fn panicked(who: &str, payload: Box<dyn Any + Send>) -> Error {
    let message = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let error = Error::worker(match message {
        Some(message) => format!("{who} panicked: {message}"),
        None => format!("{who} panicked without a message"),
    });
    // A payload may be of any type, and its `Drop` may panic in turn.
    if let Err(second) = panic::catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
    error
}
