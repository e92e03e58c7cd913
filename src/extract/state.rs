//! [`State`]: values that handlers share, and [`StateMap`], which keeps one
//! for each type.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::{Context, FromContext};
use crate::error::{Error, Result};

/// The values that handlers reach through [`State`](super::State): one for
/// each type.
#[derive(Clone, Default)]
pub struct StateMap {
    values: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
}

impl StateMap {
    /// A map without values.
    #[must_use]
    pub fn new() -> Self {
        StateMap::default()
    }

    /// Keeps a value, in place of an earlier one of the same type.
    pub fn insert<S: Send + Sync + 'static>(&mut self, value: S) {
        self.insert_shared(Arc::new(value));
    }

    /// Keeps a value that others hold too, in place of an earlier one of the
    /// same type.
    pub fn insert_shared<S: Send + Sync + 'static>(&mut self, value: Arc<S>) {
        self.values.insert(TypeId::of::<S>(), value);
    }

    /// The value of this type.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid), naming the type,
    /// when there is none.
    pub fn get<S: Send + Sync + 'static>(&self) -> Result<Arc<S>> {
        self.values
            .get(&TypeId::of::<S>())
            .and_then(|value| Arc::clone(value).downcast::<S>().ok())
            .ok_or_else(|| {
                Error::invalid(format!(
                    "the crawl was given no state of type {}",
                    type_name::<S>()
                ))
            })
    }
}

impl fmt::Debug for StateMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateMap")
            .field("values", &self.values.len())
            .finish()
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
