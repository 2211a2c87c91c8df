use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use futures_core::stream::BoxStream;

use crate::{Error, Position, SequencedEvent};

/// Which part of the log a read covers, and in which order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Only events past this one, in the direction of the read (exclusive). Reading forwards, a
    /// position beyond the head is refused as [`Error::AfterBeyondHead`].
    pub after: Option<Position>,
    /// Only this event and those past it, in the direction of the read (inclusive). Reading
    /// forwards, there are none beyond the head; with `after` too, both hold.
    pub from: Option<Position>,
    /// At most so many events.
    pub limit: Option<u64>,
    /// From the head to the start.
    pub backwards: bool,
}

impl ReadOptions {
    /// The whole log, forwards.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only events past `after`.
    #[must_use]
    pub fn after(mut self, after: impl Into<Option<Position>>) -> Self {
        self.after = after.into();
        self
    }

    /// Only `from` and the events past it.
    #[must_use]
    pub fn from(mut self, from: impl Into<Option<Position>>) -> Self {
        self.from = from.into();
        self
    }

    /// At most `limit` events.
    #[must_use]
    pub fn limit(mut self, limit: impl Into<Option<u64>>) -> Self {
        self.limit = limit.into();
        self
    }

    /// From the head to the start.
    #[must_use]
    pub fn backwards(mut self) -> Self {
        self.backwards = true;
        self
    }
}

/// The events of a read, and the head of the log in the same snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Events {
    /// The events that matched, in the order of the read.
    pub events: Vec<SequencedEvent>,
    /// The last position of the log when it was read, whether or not anything matched; `None` of
    /// an empty log. It is the `after` of a condition that protects this read.
    pub head: Option<Position>,
}

/// The events of a read, one at a time, from one snapshot, in constant memory.
///
/// Between the pages that it reads it holds no connection and no transaction, so it may be kept for as
/// long as one likes. An error ends it.
pub struct EventStream {
    head: Option<Position>,
    /// `None` once it has ended.
    events: Option<BoxStream<'static, Result<SequencedEvent, Error>>>,
}

impl EventStream {
    /// A stream of the events of a snapshot whose last position is `head`. For stores.
    pub fn new(
        head: Option<Position>,
        events: impl Stream<Item = Result<SequencedEvent, Error>> + Send + 'static,
    ) -> Self {
        Self {
            head,
            events: Some(Box::pin(events)),
        }
    }

    /// The last position of the log in the snapshot, `None` of an empty log.
    pub fn head(&self) -> Option<Position> {
        self.head
    }

    /// The next event, `None` at the end.
    ///
    /// # Errors
    /// What the store met while reading.
    pub async fn next(&mut self) -> Option<Result<SequencedEvent, Error>> {
        futures_util::StreamExt::next(self).await
    }
}

impl Stream for EventStream {
    type Item = Result<SequencedEvent, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(events) = &mut self.events else {
            return Poll::Ready(None);
        };
        let next = ready!(events.as_mut().poll_next(context));
        if !matches!(next, Some(Ok(_))) {
            self.events = None;
        }
        Poll::Ready(next)
    }
}

impl std::fmt::Debug for EventStream {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("EventStream")
            .field("head", &self.head)
            .finish_non_exhaustive()
    }
}
