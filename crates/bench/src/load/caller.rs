use crate::error::BoxError;
use crate::op::Outcome;
use std::future::Future;
use std::time::Duration;

/// What is put under load: it makes the callers.
pub trait Service: Send + Sync + 'static {
    /// One of them.
    type Caller: Caller;

    /// The caller with this number, connected.
    fn caller(&self, number: usize) -> impl Future<Output = Result<Self::Caller, BoxError>> + Send;
}

/// Makes calls, one after the other. Only [`call`](Self::call) is timed.
pub trait Caller: Send + 'static {
    /// What a call asks.
    type Asked: Send;
    /// What comes back.
    type Answer: Send;

    /// The next thing to ask, made ready.
    fn next(&mut self) -> Self::Asked;

    /// How long a user pauses after the answer.
    fn pause(&self, asked: &Self::Asked) -> Duration;

    /// Asks it. An error is a call that failed, and does not end the run.
    fn call(
        &mut self,
        asked: &mut Self::Asked,
    ) -> impl Future<Output = Result<Self::Answer, BoxError>> + Send;

    /// What the answer came to: [`Outcome::Refused`] for a refusal that was to come. An error is a
    /// call that failed.
    fn judge(&self, asked: &Self::Asked, answer: Self::Answer) -> Result<Outcome, BoxError>;
}
