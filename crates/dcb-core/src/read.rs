use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use futures_core::stream::BoxStream;

#[cfg(any(feature = "postgres", feature = "sqlite"))]
use uuid::Uuid;

use crate::{Bookmark, Error, Position, SequencedEvent};

/// The part of the log that a read covers, its direction and its limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Start after this position, exclusive, in the direction of the read. A forward read refuses a
    /// position beyond the head with [`Error::AfterBeyondHead`]. Every read refuses the
    /// [`Bookmark`] of an event that the log has lost, with the same error or with
    /// [`Error::PastReplaced`].
    pub after: Option<Bookmark>,
    /// Start at this position, inclusive, in the direction of the read. A forward read from beyond
    /// the head returns no events. If `after` is set too, both apply.
    pub from: Option<Position>,
    /// The maximum number of events.
    pub limit: Option<u64>,
    /// Read from the head towards the start.
    pub backwards: bool,
}

impl ReadOptions {
    /// The whole log, forwards.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts after this position, exclusive.
    #[must_use]
    pub fn after(mut self, after: impl Into<Option<Bookmark>>) -> Self {
        self.after = after.into();
        self
    }

    /// Starts at this position, inclusive.
    #[must_use]
    pub fn from(mut self, from: impl Into<Option<Position>>) -> Self {
        self.from = from.into();
        self
    }

    /// Returns at most `limit` events.
    #[must_use]
    pub fn limit(mut self, limit: impl Into<Option<u64>>) -> Self {
        self.limit = limit.into();
        self
    }

    /// Reads from the head towards the start.
    #[must_use]
    pub fn backwards(mut self) -> Self {
        self.backwards = true;
        self
    }

    /// Refuses an `after` that is not in the log with this head. `found` is the id of the event at
    /// its position. A backward read has no lower bound, so it may start at any plain position.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn check_after(
        &self,
        head: Option<Position>,
        found: Option<Uuid>,
    ) -> Result<(), Error> {
        match self.after {
            Some(after) if !self.backwards || after.event_id.is_some() => after.check(head, found),
            _ => Ok(()),
        }
    }

    /// Refuses to go on with a read whose first page saw the head `snapshot`, if the log was emptied or
    /// replaced since: it has a lower head, or another event in place of `last`, the last one that was
    /// read. `found` is the id of the event there.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn check_next_page(
        snapshot: Option<Bookmark>,
        last: Option<Bookmark>,
        head: Option<Position>,
        found: Option<Uuid>,
    ) -> Result<(), Error> {
        let snapshot = Bookmark::position_of(snapshot).map(Bookmark::from);
        snapshot.map_or(Ok(()), |snapshot| snapshot.check(head, None))?;
        last.map_or(Ok(()), |last| last.check(head, found))
    }
}

/// The events of a read, and the head of the log in the same snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Events {
    /// The events that matched, in the order of the read.
    pub events: Vec<SequencedEvent>,
    /// The last event of the log in the snapshot, even if no event matched; `None` if the log is
    /// empty. Use it as the `after` of a condition that protects this read.
    pub head: Option<Bookmark>,
}

/// Streams the events of a read, all from one snapshot, in constant memory.
///
/// The stream holds no connection and no transaction while it waits for its consumer, so it may live
/// for any length of time. On PostgreSQL a page waits 100 ms for a slow consumer, then the connection
/// serves other reads and the stream reads on later. An error ends the stream.
pub struct EventStream {
    head: Option<Bookmark>,
    /// `None` once the stream has ended.
    events: Option<BoxStream<'static, Result<SequencedEvent, Error>>>,
}

impl EventStream {
    /// Creates a stream of the events of a snapshot whose last event is `head`. Only
    /// implementations of stores need this.
    pub fn new(
        head: Option<Bookmark>,
        events: impl Stream<Item = Result<SequencedEvent, Error>> + Send + 'static,
    ) -> Self {
        Self {
            head,
            events: Some(Box::pin(events)),
        }
    }

    /// The last event of the log in the snapshot, `None` if the log is empty.
    pub fn head(&self) -> Option<Bookmark> {
        self.head
    }

    /// The next event, `None` at the end.
    ///
    /// # Errors
    /// [`Fault::TimedOut`](crate::Fault), [`Fault::Unreachable`](crate::Fault),
    /// [`Fault::Closed`](crate::Fault) or [`Fault::Refused`](crate::Fault) if reading a page fails;
    /// [`Error::AfterBeyondHead`] or [`Error::PastReplaced`] if the log was shortened or replaced since
    /// the stream began.
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
        // A backend's stream may not be safe to poll after its end or an error, so drop it then.
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
