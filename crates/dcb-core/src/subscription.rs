//! Events as they are appended: catch-up, then live.

mod backoff;
mod follow;
mod options;
mod progress;
mod signal;

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::vec;

use futures_core::Stream;
use futures_util::StreamExt;

pub(crate) use backoff::Backoff;
pub use options::SubscribeOptions;
pub use progress::Progress;
pub use signal::{AppendSignal, Appends};

use crate::{Error, EventStore, Position, Query, SequencedEvent};

/// The events of a query from a position on: those that are there, then those that come, each once
/// and in order.
///
/// It never ends by itself: after the last event it waits for the next. A connection that is lost
/// and a server that is down only delay it ([`Progress::outage`] tells); an error that it yields
/// ends it. To go on in another process, begin another one after the position of the last event
/// that was handled.
///
/// It reads a batch when the last one is used up, on a connection that it gives back at once. So a
/// slow consumer misses nothing and costs no more than one batch of memory; it reads later.
///
/// Dropping a future of [`Subscription::next`] or [`Subscription::next_batch`] loses nothing.
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
    batches: Pin<Box<dyn Stream<Item = Result<EventBatch, Error>> + Send>>,
    /// What was read and not taken yet.
    rest: vec::IntoIter<SequencedEvent>,
    /// How far the log was read for `rest`.
    read_to: Option<Position>,
    progress: Progress,
}

/// What a subscription read at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventBatch {
    /// The events that match, in order. There may be none: then the batch only tells how far the
    /// log was read.
    pub events: Vec<SequencedEvent>,
    /// The position up to which everything that matches has been handed out with this batch. It is
    /// at or past the last event, and what a checkpoint should be set to.
    pub through: Position,
}

impl Subscription {
    pub(crate) fn new<S>(
        store: S,
        query: Query,
        after: Option<Position>,
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
    /// [`Error::AfterBeyondHead`] where the log was shortened, so that it ends before the last
    /// event that was handed out; [`Error::Closed`]; else what the store met and what trying again
    /// does not mend. It ends the subscription.
    pub async fn next(&mut self) -> Option<Result<SequencedEvent, Error>> {
        StreamExt::next(self).await
    }

    /// The events that have been read and not handed out yet; without any, what the next read
    /// finds. `None` only after an error.
    ///
    /// # Errors
    /// As [`Subscription::next`].
    pub async fn next_batch(&mut self) -> Option<Result<EventBatch, Error>> {
        if let (Some(through), true) = (self.read_to, self.rest.len() > 0) {
            let events = std::mem::take(&mut self.rest).collect();
            self.progress.moved_to(Some(through));
            return Some(Ok(EventBatch { events, through }));
        }
        let batch = self.batches.next().await?;
        if let Ok(batch) = &batch {
            self.progress.moved_to(Some(batch.through));
        }
        Some(batch)
    }

    /// How far it has got, to be watched from elsewhere.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Hands out one of the events that were read.
    fn hand_out(&mut self) -> Option<SequencedEvent> {
        let event = self.rest.next()?;
        let last = self.rest.len() == 0;
        let position = if last {
            self.read_to
        } else {
            Some(event.position())
        };
        self.progress.moved_to(position);
        Some(event)
    }
}

impl Stream for Subscription {
    type Item = Result<SequencedEvent, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(event) = self.hand_out() {
                return Poll::Ready(Some(Ok(event)));
            }
            match ready!(self.batches.as_mut().poll_next(context)) {
                Some(Ok(batch)) => {
                    self.read_to = Some(batch.through);
                    if batch.events.is_empty() {
                        self.progress.moved_to(self.read_to);
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
