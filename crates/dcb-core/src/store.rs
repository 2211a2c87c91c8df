use std::future::Future;
use std::ops::RangeBounds;
use std::sync::Arc;
use std::time::Duration;

use crate::extent::Span;
use crate::{
    AppendCondition, Appends, Command, Error, Event, EventStream, Events, Extent, Position,
    Progress, Projected, Projection, ProjectionLimit, ProjectionStream, Query, ReadOptions,
    RecordedCommand, SubscribeOptions, Subscription, Tracking, wait,
};

/// Events to append in one commit, and what must hold for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Append {
    /// The events, at least one, in order.
    pub events: Vec<Event>,
    /// What must not have happened, `None` for an unconditional append.
    pub condition: Option<AppendCondition>,
    /// What upstream position the events are the consequence of.
    pub tracking: Option<Tracking>,
    /// What was asked for, to be kept beside the events.
    pub command: Option<Command>,
}

impl Append {
    /// An unconditional append of these events.
    pub fn new(events: impl Into<Vec<Event>>) -> Self {
        Self {
            events: events.into(),
            condition: None,
            tracking: None,
            command: None,
        }
    }

    /// Only if this condition holds.
    #[must_use]
    pub fn condition(mut self, condition: AppendCondition) -> Self {
        self.condition = Some(condition);
        self
    }

    /// Only if this upstream position is past the last one tracked; then it becomes the last.
    #[must_use]
    pub fn tracking(mut self, tracking: Tracking) -> Self {
        self.tracking = Some(tracking);
        self
    }

    /// Keeps this command by the same commit.
    #[must_use]
    pub fn command(mut self, command: Command) -> Self {
        self.command = Some(command);
        self
    }
}

/// Where the events of an append are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    first: Position,
    /// Empty where the events follow each other from `first`, as those of one commit do.
    scattered: Vec<Position>,
    count: usize,
}

impl Appended {
    /// `count` events that follow each other from `first`. For stores.
    pub fn contiguous(first: Position, count: usize) -> Self {
        Self {
            first,
            scattered: Vec::new(),
            count,
        }
    }

    /// Events that were stored earlier, by one append or several; `None` without positions. For
    /// stores.
    pub fn found(positions: Vec<Position>) -> Option<Self> {
        let (&first, count) = (positions.first()?, positions.len());
        let follow = (first.get()..)
            .zip(&positions)
            .all(|(number, own)| own.get() == number);
        Some(if follow {
            Self::contiguous(first, count)
        } else {
            Self {
                first,
                scattered: positions,
                count,
            }
        })
    }

    /// The position of each event, in the order of the append.
    pub fn positions(&self) -> impl Iterator<Item = Position> {
        let run = std::iter::successors(Some(self.first), |position| Some(position.next()));
        let contiguous = if self.scattered.is_empty() {
            self.count
        } else {
            0
        };
        run.take(contiguous).chain(self.scattered.iter().copied())
    }

    /// The position of the first event.
    pub fn first(&self) -> Position {
        self.first
    }

    /// The position of the last event.
    pub fn last(&self) -> Position {
        self.positions().last().unwrap_or(self.first)
    }
}

/// A log of events with Dynamic Consistency Boundaries.
///
/// Positions are dense from 1 and in commit order. Every read sees a prefix of the log, and says
/// how long it was. `&self` everywhere: share a store by reference, clone or `Arc`.
pub trait EventStore: Send + Sync {
    /// Appends atomically: all the events at consecutive positions, or none.
    ///
    /// Appending the same ids with the same content again returns the first positions, and
    /// evaluates neither condition nor tracking, and keeps no command.
    ///
    /// # Errors
    /// The first of these that holds, in every backend in this order; nothing was written:
    /// 1. [`Error::Invalid`] and, for an id twice in the append, [`Error::DuplicateEventId`], as
    ///    [`Limits::check`](crate::Limits::check) says;
    /// 2. [`Error::DuplicateEventId`] for an id in the log: where the log has only some of the
    ///    events, the first that it has; where it has all, the first with other content;
    /// 3. [`Error::AfterBeyondHead`];
    /// 4. [`Error::AlreadyTracked`];
    /// 5. [`Error::Conflict`].
    ///
    /// [`Error::OutcomeUnknown`]: append the same ids again. Others as the backend says.
    fn submit(&self, append: Append) -> impl Future<Output = Result<Appended, Error>> + Send;

    /// The events that match, and the head, of one snapshot, as a stream.
    ///
    /// # Errors
    /// [`Error::AfterBeyondHead`], or what the backend met.
    fn query_stream(
        &self,
        query: &Query,
        options: ReadOptions,
    ) -> impl Future<Output = Result<EventStream, Error>> + Send;

    /// The last position of the log, `None` while it is empty.
    ///
    /// # Errors
    /// What the backend met.
    fn head(&self) -> impl Future<Output = Result<Option<Position>, Error>> + Send;

    /// How many events match.
    ///
    /// # Errors
    /// What the backend met.
    fn count(&self, query: &Query) -> impl Future<Output = Result<u64, Error>> + Send;

    /// Whether any event matches. Costs the same with one match or a million.
    ///
    /// # Errors
    /// What the backend met.
    fn exists(&self, query: &Query) -> impl Future<Output = Result<bool, Error>> + Send;

    /// The last upstream position that an append tracked for `source`.
    ///
    /// # Errors
    /// What the backend met.
    fn tracked(&self, source: &str) -> impl Future<Output = Result<Option<u64>, Error>> + Send;

    /// At most `limit` commands that were kept, in the order of their events, from the first whose
    /// events are after the position `after`.
    ///
    /// # Errors
    /// What the backend met.
    fn commands(
        &self,
        after: Option<Position>,
        limit: u64,
    ) -> impl Future<Output = Result<Vec<RecordedCommand>, Error>> + Send;

    /// How many projections may run at once.
    fn projection_limit(&self) -> &ProjectionLimit;

    /// Announces appends to those who wait for them. Called inside the runtime that they wait in.
    ///
    /// It is a hint: a store may announce some appends, or none, and they poll besides.
    fn appends(&self) -> Appends {
        Appends::unannounced()
    }

    /// The events of `query` past `after`, those that are there and those that come. It reads
    /// nothing before it is asked for the first event.
    fn subscribe(
        &self,
        query: Query,
        after: Option<Position>,
        options: SubscribeOptions,
    ) -> Subscription
    where
        Self: Clone + Sized + 'static,
    {
        Subscription::new(self.clone(), query, after, options, Progress::at(after))
    }

    /// Waits until reads see the event at `position`, and returns the head then. Right away where
    /// this store read or appended it before; what another process appended, or what goes to a
    /// replica, may take its time.
    ///
    /// # Errors
    /// [`Error::Timeout`] where that takes longer than `limit`; else what the store met and what
    /// trying again does not mend.
    fn wait_for(
        &self,
        position: Position,
        limit: Duration,
    ) -> impl Future<Output = Result<Position, Error>> + Send {
        wait::wait_for(self, position, limit)
    }

    /// [`EventStore::submit`] without a condition.
    ///
    /// # Errors
    /// As [`EventStore::submit`].
    fn append(
        &self,
        events: impl Into<Vec<Event>>,
    ) -> impl Future<Output = Result<Appended, Error>> + Send {
        self.submit(Append::new(events))
    }

    /// [`EventStore::submit`] under a condition.
    ///
    /// # Errors
    /// As [`EventStore::submit`].
    fn append_if(
        &self,
        events: impl Into<Vec<Event>>,
        condition: AppendCondition,
    ) -> impl Future<Output = Result<Appended, Error>> + Send {
        self.submit(Append::new(events).condition(condition))
    }

    /// The events that match, and the head, of one snapshot, all in memory.
    ///
    /// # Errors
    /// As [`EventStore::query_stream`].
    fn query(
        &self,
        query: &Query,
        options: ReadOptions,
    ) -> impl Future<Output = Result<Events, Error>> + Send {
        async move {
            let mut stream = self.query_stream(query, options).await?;
            let mut events = Vec::new();
            while let Some(event) = stream.next().await {
                events.push(event?);
            }
            Ok(Events {
                events,
                head: stream.head(),
            })
        }
    }

    /// How many events in a part of the log match, the last of them, and the head, of one snapshot.
    /// What is not asked for is not read: a backend counts where the events are.
    ///
    /// # Errors
    /// What the backend met. A part beyond the head has no events.
    fn extent(
        &self,
        query: &Query,
        range: impl RangeBounds<Position> + Send,
    ) -> impl Future<Output = Result<Extent, Error>> + Send {
        let span = Span::of(&range);
        async move {
            let from = ReadOptions::new().from(Position::new(span.first));
            let mut events = self.query_stream(query, from).await?;
            let (mut count, mut last, head) = (0, None, events.head());
            while let Some(event) = events.next().await {
                let position = event?.position();
                if !span.contains(position) {
                    break;
                }
                count += 1;
                last = Some(position);
            }
            Ok(Extent { count, last, head })
        }
    }

    /// Folds the events of one snapshot into the state of `projection`, in constant memory; with
    /// it comes the condition that protects exactly what was read.
    ///
    /// # Errors
    /// [`Error::TooManyProjections`] at once where the limit is reached; else as
    /// [`EventStore::query_stream`].
    fn project<P: Projection>(
        &self,
        projection: &P,
    ) -> impl Future<Output = Result<Projected<P::State>, Error>> + Send {
        async move { self.project_stream(projection, None).await?.finish().await }
    }

    /// As [`EventStore::project`], one event at a time, over the events past `after`: the state
    /// can be looked at on the way.
    ///
    /// # Errors
    /// As [`EventStore::project`], and [`Error::AfterBeyondHead`].
    fn project_stream<'p, P: Projection>(
        &self,
        projection: &'p P,
        after: Option<Position>,
    ) -> impl Future<Output = Result<ProjectionStream<'p, P>, Error>> + Send {
        async move {
            let permit = self.projection_limit().acquire()?;
            let query = projection.query();
            let events = self
                .query_stream(&query, ReadOptions::new().after(after))
                .await?;
            Ok(ProjectionStream::new(projection, query, events, permit))
        }
    }
}

impl<S: EventStore> EventStore for Arc<S> {
    async fn submit(&self, append: Append) -> Result<Appended, Error> {
        S::submit(self, append).await
    }

    async fn query_stream(
        &self,
        query: &Query,
        options: ReadOptions,
    ) -> Result<EventStream, Error> {
        S::query_stream(self, query, options).await
    }

    async fn head(&self) -> Result<Option<Position>, Error> {
        S::head(self).await
    }

    async fn count(&self, query: &Query) -> Result<u64, Error> {
        S::count(self, query).await
    }

    async fn exists(&self, query: &Query) -> Result<bool, Error> {
        S::exists(self, query).await
    }

    async fn tracked(&self, source: &str) -> Result<Option<u64>, Error> {
        S::tracked(self, source).await
    }

    async fn commands(
        &self,
        after: Option<Position>,
        limit: u64,
    ) -> Result<Vec<RecordedCommand>, Error> {
        S::commands(self, after, limit).await
    }

    fn projection_limit(&self) -> &ProjectionLimit {
        S::projection_limit(self)
    }

    fn appends(&self) -> Appends {
        S::appends(self)
    }

    async fn query(&self, query: &Query, options: ReadOptions) -> Result<Events, Error> {
        S::query(self, query, options).await
    }

    async fn extent(
        &self,
        query: &Query,
        range: impl RangeBounds<Position> + Send,
    ) -> Result<Extent, Error> {
        S::extent(self, query, range).await
    }
}
