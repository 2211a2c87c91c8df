use std::future::ready;

use async_stream::try_stream;
use futures_util::{StreamExt as _, stream};

use super::{LastEvents, Projected, Projection, ProjectionPermit, Reads};
use crate::{
    AppendCondition, Bookmark, Error, EventStore, EventStream, Position, Query, SequencedEvent,
};

/// The part of the log that a projection folds.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    /// The events after this one; `None` for all.
    After(Option<Bookmark>),
    /// The events up to this position; `None` for none.
    Through(Option<Position>),
}

/// A running projection over the events of one snapshot.
///
/// It holds one of the store's projection permits until it is finished or dropped.
pub struct ProjectionStream<'p, P: Projection> {
    projection: &'p P,
    /// The query of the condition.
    boundary: Query,
    events: EventStream,
    state: P::State,
    /// The error that ended the stream early.
    failed: Option<Error>,
    // Dropping it releases the permit.
    _permit: ProjectionPermit,
}

impl<'p, P: Projection> ProjectionStream<'p, P> {
    /// Runs the projection over this part of the log.
    pub(crate) async fn open<S: EventStore + ?Sized>(
        store: &S,
        projection: &'p P,
        part: Part,
    ) -> Result<Self, Error> {
        projection.check()?;
        // Take the permit before the reads, so that a refused projection costs the database nothing.
        let permit = store.projection_limit().acquire()?;
        let reads = projection.reads();
        let events = match part {
            Part::After(after) => events(store, &reads, after).await?,
            Part::Through(Some(last)) => events_through(store, &reads, last).await?,
            Part::Through(None) => EventStream::new(None, stream::empty()),
        };
        Ok(Self {
            projection,
            boundary: reads.boundary(),
            events,
            state: projection.initial(),
            failed: None,
            _permit: permit,
        })
    }

    /// Applies the next event, and returns the new state and the event; `None` after the last.
    ///
    /// # Errors
    /// The error of [`Projection::apply`]; [`Fault::TimedOut`](crate::Fault),
    /// [`Fault::Unreachable`](crate::Fault), [`Fault::Closed`](crate::Fault) or
    /// [`Fault::Refused`](crate::Fault) if reading fails. The projection can't continue.
    pub async fn next(&mut self) -> Option<Result<(&P::State, SequencedEvent), Error>> {
        if self.failed.is_some() {
            return None;
        }
        let applied = match self.events.next().await? {
            Ok(event) => self
                .projection
                .apply_read(&mut self.state, &event)
                .map(|()| event),
            Err(error) => Err(error),
        };
        // Remember the error. Otherwise `finish` would return a partial state.
        self.failed = applied.as_ref().err().cloned();
        Some(applied.map(|event| (&self.state, event)))
    }

    /// The state so far.
    pub fn state(&self) -> &P::State {
        &self.state
    }

    /// Applies the remaining events.
    ///
    /// # Errors
    /// The error of [`Projection::apply`]; [`Fault::TimedOut`](crate::Fault),
    /// [`Fault::Unreachable`](crate::Fault), [`Fault::Closed`](crate::Fault) or
    /// [`Fault::Refused`](crate::Fault) if reading fails now or failed in an earlier
    /// [`ProjectionStream::next`].
    pub async fn finish(mut self) -> Result<Projected<P::State>, Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        while let Some(event) = self.events.next().await {
            self.projection.apply_read(&mut self.state, &event?)?;
        }
        let condition = AppendCondition::fail_if(self.boundary).after(self.events.head());
        Ok(Projected {
            state: self.state,
            condition,
        })
    }
}

/// The events of all reads, in the order of the log and each once.
pub(crate) async fn events<S: EventStore + ?Sized>(
    store: &S,
    reads: &Reads,
    after: Option<Bookmark>,
) -> Result<EventStream, Error> {
    let forward = match reads.forward(after) {
        Some((query, options)) => Some(store.query_stream(query, options).await?),
        None => None,
    };
    let last = LastEvents::new(after, forward.as_ref().map(EventStream::head));
    with_last(store, reads, forward, last).await
}

/// The events of all reads in the log as it was when `last` was its last position.
async fn events_through<S: EventStore + ?Sized>(
    store: &S,
    reads: &Reads,
    last: Position,
) -> Result<EventStream, Error> {
    let forward = match reads.forward(None) {
        Some((query, options)) => Some(through(store.query_stream(query, options).await?, last)),
        None => None,
    };
    let head = forward
        .as_ref()
        .map_or(Some(last.into()), EventStream::head);
    let events = with_last(store, reads, forward, LastEvents::new(None, Some(head))).await?;
    match Bookmark::position_of(events.head()) {
        head if head < Some(last) => Err(Error::AfterBeyondHead { after: last, head }),
        _ => Ok(events),
    }
}

/// The events up to `last`, with the head of a log that ends there.
fn through(events: EventStream, last: Position) -> EventStream {
    let ends = Some(Bookmark::from(last));
    let head = [events.head(), ends].into_iter();
    let head = head.min_by_key(|head| Bookmark::position_of(*head));
    let is_later = move |event: &SequencedEvent| event.position() > last;
    let events = events.take_while(move |event| ready(!event.as_ref().is_ok_and(is_later)));
    EventStream::new(head.flatten(), events)
}

/// Adds the last events of the backward reads to the events of the forward read.
async fn with_last<S: EventStore + ?Sized>(
    store: &S,
    reads: &Reads,
    forward: Option<EventStream>,
    mut last: LastEvents,
) -> Result<EventStream, Error> {
    match forward {
        Some(events) if reads.last.is_empty() => Ok(events),
        forward => {
            for query in &reads.last {
                last.add(store.query(query, last.options()).await?);
            }
            Ok(merge(forward, last))
        }
    }
}

fn merge(forward: Option<EventStream>, mut last: LastEvents) -> EventStream {
    let head = last.head();
    let mut forward = forward.unwrap_or_else(|| EventStream::new(None, stream::empty()));
    let events = try_stream! {
        while let Some(event) = forward.next().await {
            let event = event?;
            for earlier in last.before(&event) {
                yield earlier;
            }
            yield event;
        }
        for event in last.rest() {
            yield event;
        }
    };
    EventStream::new(head, events)
}
