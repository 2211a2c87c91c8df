use std::fmt;
use std::sync::Arc;

use dcb_core::{Bookmark, Error, EventBatch, HandlerError, ReadModel, SequencedEvent};
use message_store::{Message, MessageStore, StreamName};
use store_fault::{Fault, Reason, SharedError, shared};

use crate::checkpoint::Checkpoint;
use crate::commit::commits;

/// Writes the messages of events. It is the read model of a
/// [`ProjectionRunner`](dcb_core::ProjectionRunner), which reads the events, waits for stores that are away, and tells
/// the progress. See the [crate's documentation](crate).
///
/// The messages of a batch and the checkpoint are one commit, so each event is relayed once. The write demands the
/// checkpoint that the relay has read. So of two relays with one name, one writes, and the other goes on after it.
pub struct Relay<M> {
    messages: M,
    name: String,
    checkpoint: Checkpoint,
    handler: Box<Handler>,
}

/// Boxed, because a runner with the type of a function in its type can't be spawned.
pub(crate) type Handler =
    dyn Fn(&SequencedEvent) -> Result<Vec<(StreamName, Message)>, HandlerError> + Send + Sync;

impl<M: MessageStore> Relay<M> {
    /// Creates the relay with this name, which is part of the ids of its messages. The handler returns the messages
    /// of an event, each with its stream. A relay with a new name begins at the first event.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `name` if `relay:<name>` is not the name of a category: it must not be empty,
    /// or have a hyphen.
    pub fn new<I>(
        messages: M,
        name: impl Into<String>,
        handler: impl Fn(&SequencedEvent) -> Result<I, HandlerError> + Send + Sync + 'static,
    ) -> Result<Self, Error>
    where
        I: IntoIterator<Item = (StreamName, Message)>,
    {
        let name = name.into();
        Ok(Self {
            checkpoint: Checkpoint::new(&name)?,
            messages,
            name,
            handler: Box::new(move |event| Ok(handler(event)?.into_iter().collect())),
        })
    }

    async fn stored(&mut self) -> Result<Option<Bookmark>, Error> {
        let stored = self.checkpoint.read(&self.messages).await;
        stored.map_err(|error| self.failed(from_messages(error)))
    }

    fn failed(&self, source: SharedError) -> Error {
        Error::Handler {
            name: self.name.clone(),
            source,
        }
    }
}

impl<M: MessageStore> ReadModel for Relay<M> {
    async fn checkpoint(&mut self) -> Result<Option<Bookmark>, Error> {
        self.stored().await
    }

    async fn apply(
        &mut self,
        batch: Arc<EventBatch>,
        expected: Option<Bookmark>,
    ) -> Result<(), Error> {
        let name = self.name.clone();
        let moved = |actual| Error::CheckpointMoved {
            name,
            expected,
            actual,
        };
        let before = self.stored().await?;
        if before != expected {
            return Err(moved(before));
        }
        let commits = commits(&batch, &self.name, &*self.handler);
        let commits = commits.map_err(|failed| self.failed(shared(failed)))?;
        let writes = self.checkpoint.with(commits);
        let writes = writes.map_err(|failed| self.failed(from_messages(failed)))?;
        for write in writes {
            let Err(refused) = self.messages.write_streams(write).await else {
                continue;
            };
            // Another relay of this name was faster, or some of the commits have succeeded.
            return Err(match self.stored().await? {
                actual if actual == expected => self.failed(from_messages(refused)),
                actual => moved(actual),
            });
        }
        Ok(())
    }

    async fn reset(&mut self) -> Result<(), Error> {
        let refused = "messages can't be taken back: relay all events again under another name";
        Err(self.failed(shared(refused)))
    }
}

impl<M> fmt::Debug for Relay<M> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Relay")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A write whose outcome is unknown counts as an outage, so the runner repeats it: the next try reads the checkpoint.
fn from_messages(error: message_store::Error) -> SharedError {
    match error {
        message_store::Error::OutcomeUnknown { .. } => {
            Arc::new(Fault::Unreachable(Reason::new(error.to_string())))
        }
        error => Arc::new(error),
    }
}
