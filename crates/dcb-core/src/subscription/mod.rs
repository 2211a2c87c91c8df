//! Subscriptions: first catch up with the log, then follow it live.

mod follow;
mod followers;
mod looks;
mod options;
mod progress;
mod signal;

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::vec;

use futures_core::Stream;
use futures_util::StreamExt;

pub use options::SubscribeOptions;
pub use progress::Progress;
pub use signal::{Notifications, Notifier};

use crate::{Bookmark, Error, EventStore, Query, SequencedEvent};

/// Yields the events that match a query and come after a position, each once and in order: first
/// those in the log, then new ones as they are appended.
///
/// A subscription does not end by itself. After the last event it waits for the next. It retries
/// after a lost connection and while a server is down, which [`Progress::outage`] reports. Any error
/// that it yields ends it. To continue in another process, subscribe there after the
/// [bookmark](SequencedEvent::bookmark) of the last event that was handled. Each read checks that the
/// log still has the event after which it begins, so a subscription notices a log that was restored
/// or failed over, even if it has grown past the old position.
///
/// It reads a batch when the previous one is used up, and returns the connection at once. So a slow
/// consumer misses nothing and costs one batch of memory.
///
/// Dropping a future of [`Subscription::next`] or [`Subscription::next_batch`] loses no events.
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> Result<(), dcb_core::Error> {
/// use dcb_core::{Event, EventStore, MemoryStore, Query, SubscribeOptions};
///
/// let store = MemoryStore::new();
/// store.append(Event::builder("Happened").build()?).await?;
/// let mut events = store.subscribe(Query::all(), None, SubscribeOptions::new());
/// if let Some(event) = events.next().await {
///     assert_eq!(event?.event_type(), "Happened");
/// }
/// # Ok(()) }
/// ```
pub struct Subscription {
    // Boxed to keep the type of the store out of the type of the subscription.
    batches: Pin<Box<dyn Stream<Item = Result<EventBatch, Error>> + Send>>,
    /// Events that were read but not yet handed out.
    rest: vec::IntoIter<SequencedEvent>,
    /// The event through which the log was read to fill `rest`.
    read_to: Option<Bookmark>,
    progress: Progress,
}

/// The events of one read of a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventBatch {
    /// The matching events, in order. A batch without events only reports progress.
    pub events: Vec<SequencedEvent>,
    /// With this batch, all matching events up to this one, inclusive, have been handed out. Store it
    /// as the checkpoint. It may come after the last event of the batch.
    pub through: Bookmark,
}

impl Subscription {
    pub(crate) fn new<S>(
        store: S,
        query: Query,
        after: Option<Bookmark>,
        options: SubscribeOptions,
        progress: Progress,
    ) -> Self
    where
        S: EventStore + 'static,
    {
        let batches = follow::follow(store, query, after, options, progress.clone());
        Self {
            batches: Box::pin(batches),
            rest: Vec::new().into_iter(),
            read_to: after,
            progress,
        }
    }

    /// The next event. `None` only after an error.
    ///
    /// # Errors
    /// [`Error::AfterBeyondHead`] if the log was shortened and now ends before the last event that was
    /// handed out; [`Error::PastReplaced`] if the log has grown again since;
    /// [`Fault::Closed`](crate::Fault); or [`Fault::Refused`](crate::Fault) if a retry can't help. Any
    /// error ends the subscription.
    pub async fn next(&mut self) -> Option<Result<SequencedEvent, Error>> {
        StreamExt::next(self).await
    }

    /// The events that were read but not yet handed out, or else those of the next read. `None` only
    /// after an error.
    ///
    /// # Errors
    /// [`Error::AfterBeyondHead`], [`Error::PastReplaced`], [`Fault::Closed`](crate::Fault) or
    /// [`Fault::Refused`](crate::Fault); see [`Subscription::next`].
    pub async fn next_batch(&mut self) -> Option<Result<EventBatch, Error>> {
        // A caller may switch from `next` to `next_batch` in the middle of a batch.
        if let (Some(through), true) = (self.read_to, self.rest.len() > 0) {
            let events = std::mem::take(&mut self.rest).collect();
            self.progress.set_position(Some(through.position));
            return Some(Ok(EventBatch { events, through }));
        }
        let batch = self.batches.next().await?;
        if let Ok(batch) = &batch {
            self.progress.set_position(Some(batch.through.position));
        }
        Some(batch)
    }

    /// A handle to monitor the subscription.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Takes the next event that was already read.
    fn hand_out(&mut self) -> Option<SequencedEvent> {
        let event = self.rest.next()?;
        // A batch may cover positions after its last event. They are done once that event is handed
        // out.
        let is_last = self.rest.len() == 0;
        let position = if is_last {
            Bookmark::position_of(self.read_to)
        } else {
            Some(event.position())
        };
        self.progress.set_position(position);
        Some(event)
    }
}

impl Stream for Subscription {
    type Item = Result<SequencedEvent, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // A batch may have no events, so one read may not be enough.
        loop {
            if let Some(event) = self.hand_out() {
                return Poll::Ready(Some(Ok(event)));
            }
            match ready!(self.batches.as_mut().poll_next(context)) {
                Some(Ok(batch)) => {
                    self.read_to = Some(batch.through);
                    if batch.events.is_empty() {
                        self.progress.set_position(Some(batch.through.position));
                    }
                    self.rest = batch.events.into_iter();
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Subscription")
            .field("progress", &self.progress)
            .finish_non_exhaustive()
    }
}
