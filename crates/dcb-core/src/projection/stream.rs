use async_stream::try_stream;
use futures_util::stream;

use super::{LastEvents, Projected, Projection, ProjectionPermit, Reads};
use crate::{AppendCondition, Bookmark, Error, EventStore, EventStream, Query, SequencedEvent};

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
    /// Runs the projection over the events of `store` after `after`.
    pub(crate) async fn open<S: EventStore + ?Sized>(
        store: &S,
        projection: &'p P,
        after: Option<Bookmark>,
    ) -> Result<Self, Error> {
        projection.check()?;
        // Take the permit before the reads, so that a refused projection costs the database nothing.
        let permit = store.projection_limit().acquire()?;
        let reads = projection.reads();
        let events = events(store, &reads, after).await?;
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
    match forward {
        Some(events) if reads.last.is_empty() => Ok(events),
        forward => {
            let head = forward.as_ref().map(EventStream::head);
            let mut last = LastEvents::new(after, head);
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
