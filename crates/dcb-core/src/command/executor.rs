use std::future::Future;
use std::time::Duration;

use super::Command;
use crate::attempts::Attempts;
use crate::{Append, Decided, DecisionModel, Error, EventStore};

/// Executes commands: a handler turns a command into an append, and the store commits the append
/// together with the command.
///
/// The handler reads for itself. For a decision on a projection, use
/// [`DecisionModel::command`](crate::DecisionModel::command): it reads nothing if its boundary is warm.
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> Result<(), dcb_core::Error> {
/// use dcb_core::{
///     Append, AppendCondition, Command, CommandExecutor, Error, Event, EventStore, MemoryStore,
/// };
///
/// let store = MemoryStore::new();
/// let command = Command::builder("TakeName").json("ada").build()?;
/// let executor = CommandExecutor::new(store.clone());
/// executor
///     .execute(command, |command| async move {
///         let name: String = command.json()?;
///         let event = Event::builder("NameTaken").tag_pair("name", &name).build()?;
///         let free = AppendCondition::fail_if_exists("name", &name)?;
///         Ok::<_, Error>(Append::new(event).condition(free))
///     })
///     .await?;
/// assert_eq!(store.commands(None, 10).await?[0].command().command_type(), "TakeName");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct CommandExecutor<S> {
    store: S,
    max_attempts: Option<u32>,
    time_limit: Duration,
}

impl<S: EventStore> CommandExecutor<S> {
    /// Creates an executor for this store.
    pub fn new(store: S) -> Self {
        Self {
            store,
            max_attempts: None,
            time_limit: DecisionModel::<()>::DEFAULT_TIME_LIMIT,
        }
    }

    /// Sets the maximum number of handler calls per command, including the first; 0 counts as 1. The
    /// default is to try until the time limit.
    pub fn max_attempts(mut self, max_attempts: u32) -> Self {
        self.max_attempts = Some(max_attempts.max(1));
        self
    }

    /// Sets the time after which a command is not tried again. The default is
    /// [`DecisionModel::DEFAULT_TIME_LIMIT`].
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// Calls `handle`, and commits the returned append together with the command.
    ///
    /// After a conflict it calls `handle` again, which should read and decide again. Commands of this
    /// process that have met a conflict on the same boundary then take turns. If the append
    /// has no events, nothing is appended and the command is not stored.
    ///
    /// # Errors
    /// The error of `handle`; [`Error::RetriesExhausted`] if every attempt ended in a conflict; or
    /// any other error of [`EventStore::submit`]. The command is not stored.
    pub async fn execute<F, E>(
        &self,
        command: Command,
        mut handle: impl FnMut(Command) -> F,
    ) -> Result<Decided, E>
    where
        F: Future<Output = Result<Append, E>>,
        E: From<Error>,
    {
        let mut attempts = Attempts::new(self.max_attempts, self.time_limit, self.store.metrics());
        // The first attempt shows the boundary. From the second on, the command has its turn there.
        let mut turn = None;
        loop {
            // The handler and the append get copies, so that a retry still has the command.
            let append = handle(command.clone()).await?.command(command.clone());
            let boundary = append.conditions.first();
            let boundary = boundary.map(|condition| condition.fail_if_events_match.clone());
            if let Some(decided) = attempts.submit(&self.store, append).await? {
                return Ok(decided);
            }
            if let (None, Some(boundary), Some(lanes)) = (&turn, boundary, self.store.lanes()) {
                let next = async { Ok(lanes.turn(&boundary).await) };
                turn = Some(attempts.in_time(&self.store, next).await?);
            }
        }
    }
}
