use std::any::Any;
use std::error::Error as StdError;
use std::iter::successors;

use crate::{Error, Fault};

/// The error of a message handler, of any type.
pub type HandlerError = Box<dyn StdError + Send + Sync>;

/// Why a handler did not handle a message, so that a [`MessageRunner`](crate::MessageRunner) knows
/// what to do.
///
/// `?` converts any error. It becomes a [`Failure::Outage`] if it is, or was caused by, a [`Fault`] that is
/// transient or [`Fault::Closed`], or an [`Error`] of unknown outcome; any other becomes a
/// [`Failure::Message`]. The errors of `dcb-core` carry the same faults. Name the variant yourself for the errors of other libraries: a database that
/// is down for an hour should not send the messages of that hour to the poison stream.
#[derive(Debug)]
pub enum Failure {
    /// The handler needs something that is not available. The runner tries again until it is, without
    /// counting the tries.
    Outage(HandlerError),
    /// The handler can't handle this message. After [`RunOptions::max_tries`](crate::RunOptions) tries
    /// [`RunOptions::on_failure`](crate::RunOptions) says the way on.
    Message(HandlerError),
}

impl<E: Into<HandlerError>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        if is_outage(&*error) {
            Self::Outage(error)
        } else {
            Self::Message(error)
        }
    }
}

impl Failure {
    pub(super) fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Self::Message(format!("the handler panicked: {}", text.unwrap_or("no message")).into())
    }
}

/// Whether the error, or one that caused it, may pass. A handler repeats its writes with the same ids,
/// so an unknown outcome may pass too.
fn is_outage(error: &(dyn StdError + 'static)) -> bool {
    let fault = Fault::in_chain(error);
    let is_unknown = |error: &Error| matches!(error, Error::OutcomeUnknown { .. });
    fault.is_some_and(|fault| fault.is_transient() || matches!(fault, Fault::Closed))
        || causes(error)
            .filter_map(<dyn StdError>::downcast_ref::<Error>)
            .any(is_unknown)
}

/// Whether a call of the runner may succeed later. All its calls can be repeated.
pub(super) fn is_passing(error: &Error) -> bool {
    error.is_transient() || matches!(error, Error::OutcomeUnknown { .. })
}

/// An error with its causes, in one line.
pub(super) fn with_causes(error: &(dyn StdError + 'static)) -> String {
    let texts = causes(error).map(ToString::to_string);
    let mut line = String::new();
    for text in texts {
        // Many errors repeat their cause.
        if !line.ends_with(&text) {
            let separator = if line.is_empty() { "" } else { ": " };
            line.push_str(separator);
            line.push_str(&text);
        }
    }
    line
}

/// The error, its source, the source of that, and so on.
fn causes<'e>(
    error: &'e (dyn StdError + 'static),
) -> impl Iterator<Item = &'e (dyn StdError + 'static)> {
    successors(Some(error), |error| (*error).source())
}
