use crate::error::BoxError;
use crate::op::Outcome;
use std::future::Future;
use std::time::Duration;

/// The work of a database for a service since it started.
#[derive(Debug, Clone, Copy)]
pub struct DatabaseWork {
    /// Reads: statements on PostgreSQL, transactions on SQLite.
    pub reads: u64,
    /// Commits of appends.
    pub commits: u64,
}

/// A service under load. It makes the callers.
pub trait Service: Send + Sync + 'static {
    /// The type of its callers.
    type Caller: Caller;

    /// The work of its database; `None` if the service does not count it. If it does, the load also
    /// reports the cost of a call.
    fn database_work(&self) -> Option<DatabaseWork> {
        None
    }

    /// Whether calls block their thread. If so, each caller gets a thread; otherwise it is a task.
    fn blocks(&self) -> bool {
        false
    }

    /// Connects the caller with this number.
    fn caller(&self, number: usize) -> impl Future<Output = Result<Self::Caller, BoxError>> + Send;
}

/// Makes calls, one after the other. Only [`call`](Self::call) is timed.
pub trait Caller: Send + 'static {
    /// The request of a call.
    type Asked: Send;
    /// The answer to a call.
    type Answer: Send;

    /// Prepares the next request.
    fn next(&mut self) -> Self::Asked;

    /// The pause of a user after the answer.
    fn pause(&self, asked: &Self::Asked) -> Duration;

    /// Makes the call. An error counts as a failed call and does not end the run.
    fn call(
        &mut self,
        asked: &mut Self::Asked,
    ) -> impl Future<Output = Result<Self::Answer, BoxError>> + Send;

    /// Judges the answer: [`Outcome::Refused`] for an expected refusal. An error counts as a failed
    /// call.
    fn judge(&self, asked: &Self::Asked, answer: Self::Answer) -> Result<Outcome, BoxError>;
}
