use std::future::Future;

use super::Command;
use crate::decision::Attempts;
use crate::{Append, Decided, DecisionModel, Error, EventStore};

/// Executes commands: a handler turns a command into an append, and the store commits the append
/// together with the command.
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
    max_attempts: u32,
}

impl<S: EventStore> CommandExecutor<S> {
    /// Creates an executor for this store.
    pub fn new(store: S) -> Self {
        Self {
            store,
            max_attempts: DecisionModel::<()>::DEFAULT_MAX_ATTEMPTS,
        }
    }

    /// Sets the maximum number of handler calls per command, including the first; 0 counts as 1.
    pub fn max_attempts(mut self, max_attempts: u32) -> Self {
        self.max_attempts = max_attempts.max(1);
        self
    }

    /// Calls `handle`, and commits the returned append together with the command.
    ///
    /// After a conflict it calls `handle` again, which should read and decide again. If the append
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
        let mut attempts = Attempts::at_most(self.max_attempts);
        loop {
            // The handler and the append get copies, so that a retry still has the command.
            let append = handle(command.clone()).await?.command(command.clone());
            if let Some(decided) = attempts.submit(&self.store, append).await? {
                return Ok(decided);
            }
        }
    }
}
