//! Handlers: what a crawl does with each request.
//!
//! A handler is an ordinary closure or function of up to eight
//! [extractors](crate::extract) that returns something an
//! [`Outcome`] can be made of. It is called from several threads at once, so
//! it is a `Fn`, `Send` and `Sync`; what it shares goes into
//! [`State`](crate::extract::State) or an `Arc`.
//!
//! What a handler does through its extractors takes effect with its outcome or
//! not at all, and a panic is an error of its request and of nothing else.

mod attempt;
mod router;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

pub use attempt::{Ended, Report, run};
pub use router::Router;

use crate::error::Result;
use crate::extract::{Context, FromContext, StateMap};
use crate::outcome::{IntoOutcome, Outcome};

/// Does with a request what the crawl is for.
///
/// Closures and functions of extractors are handlers by way of
/// [`IntoHandler`]. Implement it by hand for a type that chooses between
/// handlers or wraps one, as [`Router`] does.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a handler",
    note = "a handler is a `Fn` closure or function of up to eight extractors, `Send`, `Sync` and `'static`"
)]
pub trait Handler: Send + Sync {
    /// Handles one attempt at a request.
    fn handle(&self, cx: &Context) -> Outcome;

    /// Checks, before any request, what of the handler can be known to fail.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid): a pattern that
    /// cannot be read, a route that is there twice, a state that the crawl was
    /// not given.
    fn check(&self, _state: &StateMap) -> Result<()> {
        Ok(())
    }
}

impl<H: Handler + ?Sized> Handler for Arc<H> {
    fn handle(&self, cx: &Context) -> Outcome {
        (**self).handle(cx)
    }

    fn check(&self, state: &StateMap) -> Result<()> {
        (**self).check(state)
    }
}

impl<H: Handler + ?Sized> Handler for Box<H> {
    fn handle(&self, cx: &Context) -> Outcome {
        (**self).handle(cx)
    }

    fn check(&self, state: &StateMap) -> Result<()> {
        (**self).check(state)
    }
}

/// What can be made into a [`Handler`]: a closure or function of up to eight
/// extractors, or a handler as it is.
///
/// `Args` only tells the shapes of functions apart; it is always inferred. The
/// shape alone chooses the implementation, and what is wrong with a parameter
/// or a return type is said by the bound on [`Handler`](Self::Handler) that
/// every taker of handlers adds.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a handler",
    label = "not a handler",
    note = "a handler is a closure or function of up to eight extractors"
)]
pub trait IntoHandler<Args> {
    /// The handler it becomes.
    type Handler;

    /// Makes it a handler.
    fn into_handler(self) -> Self::Handler;
}

/// Makes a handler of a closure or function, behind a pointer.
///
/// ```
/// use canter::extract::Html;
/// use canter::handler;
/// let handler = handler::boxed(|page: Html| println!("{}", page.url()));
/// ```
///
/// A parameter that is no extractor does not compile:
///
/// ```compile_fail
/// canter::handler::boxed(|page: String| println!("{page}"));
/// ```
///
/// Nor does a closure that changes what it has captured, since it is called
/// from several threads at once:
///
/// ```compile_fail
/// let mut pages = 0;
/// canter::handler::boxed(move |url: canter::Url| pages += 1);
/// ```
pub fn boxed<Args, H>(handler: H) -> Box<dyn Handler>
where
    H: IntoHandler<Args>,
    H::Handler: Handler + 'static,
{
    Box::new(handler.into_handler())
}

/// Marks [`IntoHandler`] for what is a handler already.
#[derive(Debug)]
pub struct AsItIs(());

impl<H: Handler> IntoHandler<AsItIs> for H {
    type Handler = H;

    fn into_handler(self) -> H {
        self
    }
}

/// A closure or function as a [`Handler`].
pub struct FnHandler<F, Args> {
    function: F,
    // A handler owns no arguments, so theirs is no say in whether it is `Send`.
    args: PhantomData<fn(Args)>,
}

impl<F, Args> fmt::Debug for FnHandler<F, Args> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FnHandler")
    }
}

macro_rules! handlers {
    ($($extractor:ident)*) => {
        impl<F, R, $($extractor),*> IntoHandler<fn($($extractor),*) -> R> for F
        where
            F: Fn($($extractor),*) -> R,
        {
            type Handler = FnHandler<F, fn($($extractor),*) -> R>;

            fn into_handler(self) -> Self::Handler {
                FnHandler { function: self, args: PhantomData }
            }
        }

        impl<F, R, $($extractor),*> Handler for FnHandler<F, fn($($extractor),*) -> R>
        where
            F: Fn($($extractor),*) -> R + Send + Sync,
            R: IntoOutcome,
            $($extractor: FromContext,)*
        {
            #[allow(non_snake_case, reason = "a parameter's name is its type's")]
            fn handle(&self, cx: &Context) -> Outcome {
                $(let $extractor = match $extractor::from_context(cx) {
                    Ok(value) => value,
                    Err(error) => return Outcome::Fail(error),
                };)*
                // An extractor of the user's own may have hidden the redirect.
                if let Err(error) = cx.proceed() {
                    return Outcome::Fail(error);
                }
                (self.function)($($extractor),*).into_outcome()
            }

            fn check(&self, _state: &StateMap) -> Result<()> {
                $($extractor::check(_state)?;)*
                Ok(())
            }
        }
    };
}

handlers!();
handlers!(A);
handlers!(A B);
handlers!(A B C);
handlers!(A B C D);
handlers!(A B C D E);
handlers!(A B C D E G);
handlers!(A B C D E G H);
handlers!(A B C D E G H I);
