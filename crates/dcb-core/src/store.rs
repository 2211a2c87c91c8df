use std::future::Future;
use std::ops::RangeBounds;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::extent::Span;
use crate::projection::Part;
use crate::{
    Append, AppendCondition, Appended, Bookmark, Error, Event, EventStream, Events, Extent, Health,
    KeptStates, Lanes, Metrics, Notifications, Position, Progress, Projected, Projection,
    ProjectionLimit, ProjectionStream, Query, ReadOptions, RecordedCommand, Stats,
    SubscribeOptions, Subscription, Tracking, wait,
};

/// An event log with Dynamic Consistency Boundaries.
///
/// Positions are dense from 1 and in commit order. Every read sees a prefix of the log and reports
/// its last position as the head. All methods take `&self`: share a store by reference, clone or
/// `Arc`.
///
/// The future of a call may be held without being polled. Then only this call waits:
///
/// ```
/// # use std::pin::pin;
/// # use std::time::Duration;
/// # use dcb_core::{Error, Event, EventStore, MemoryStore};
/// # #[tokio::main]
/// # async fn main() -> Result<(), Error> {
/// # let store = MemoryStore::new();
/// # let event = |event_type: &str| Event::builder(event_type).build();
/// let mut append = pin!(store.append(event("CourseOffered")?));
/// tokio::select! {
///     appended = &mut append => {
///         println!("at position {}", appended?.first());
///     }
///     () = tokio::time::sleep(Duration::from_millis(100)) => {
///         store.append(event("CourseDelayed")?).await?;
///         append.await?;
///     }
/// }
/// # Ok(()) }
/// ```
///
/// Dropping the future of an append withdraws the append if it still waits in a queue. An append
/// whose commit has begun is committed.
///
/// A store of your own needs eight methods. The others follow from these; override one where your store
/// has a faster way. `dcb-conformance` tests a store.
pub trait EventStore: Send + Sync {
    /// Appends atomically: all the events at consecutive positions, or none.
    ///
    /// Appending the same ids with the same content again returns the positions of the first
    /// append. Such a repeat evaluates neither condition nor tracking, and stores no command.
    ///
    /// ```
    /// # use dcb_core::{Append, AppendCondition, Error, Event, EventStore, MemoryStore, Query, Tracking};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = MemoryStore::new();
    /// // Enroll a student once: the append fails if the enrollment is already in the log.
    /// let enrolled = Event::builder("EnrollmentCompleted")
    ///     .tag("course_id:c1")
    ///     .tag("student_id:s1")
    ///     .build()?;
    /// let again = Query::builder().tags(["course_id:c1", "student_id:s1"]).build()?;
    /// let append = Append::new(enrolled)
    ///     .condition(AppendCondition::fail_if(again))
    ///     .tracking(Tracking::new("campus-events", 17)?);
    /// assert_eq!(store.submit(append).await?.first().get(), 1);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Every backend checks in this order and returns the first failure. Nothing is written:
    /// 1. [`Error::Invalid`], or [`Error::DuplicateId`] if an id occurs twice in the append;
    ///    see [`Limits::check`](crate::Limits::check).
    /// 2. [`Error::DuplicateId`] if ids are already in the log. If the log has only some of
    ///    the events, the error names the first that it has. If it has all of them, the error names
    ///    the first whose content differs.
    /// 3. [`Error::PastReplaced`] if the log has another event at the [`Bookmark`] of a condition.
    ///    The error has the smallest such position. Else [`Error::AfterBeyondHead`] if `after` of a
    ///    condition is greater than the head. The error has the `after` of the first such condition.
    /// 4. [`Error::AlreadyTracked`] if the upstream position is not greater than the last one
    ///    tracked for its source.
    /// 5. [`Error::Conflict`] if a condition does not hold. If several do not hold, the error names
    ///    the first event of the log that violates any of them, and the first condition that this
    ///    event violates.
    ///
    /// After [`Error::OutcomeUnknown`], append the same ids again. [`Error::Fault`] comes from the backend.
    ///
    /// # Dropped futures
    /// If the future is dropped, all events may be in the log, now or a moment later, or none. To
    /// learn which, append again with the same ids ([`Event::with_id`]): the store returns the
    /// positions of the first append, or appends now. Without ids of your own, the next append stores
    /// the events a second time unless a condition prevents it.
    fn submit(&self, append: Append) -> impl Future<Output = Result<Appended, Error>> + Send;

    /// Streams the matching events of one snapshot. The stream also knows the head of that
    /// snapshot.
    ///
    /// ```
    /// # use dcb_core::{Error, Event, EventStore, MemoryStore, Query, ReadOptions};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = MemoryStore::new();
    /// # let offered = Event::builder("CourseOffered").tag("course_id:c1").build()?;
    /// # store.append(offered).await?;
    /// let course = Query::builder().tag("course_id:c1").build()?;
    /// let mut events = store.query_stream(&course, ReadOptions::new()).await?;
    /// while let Some(event) = events.next().await {
    ///     println!("{}", event?.event_type());
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::AfterBeyondHead`] if a forward read starts after a position beyond the head;
    /// [`Error::PastReplaced`] if the log has another event at the [`Bookmark`] that the read starts
    /// after; [`Error::Fault`] from the backend.
    fn query_stream(
        &self,
        query: &Query,
        options: ReadOptions,
    ) -> impl Future<Output = Result<EventStream, Error>> + Send;

    /// The last event of the log: its position and its id. `None` while the log is empty.
    ///
    /// Reads, subscriptions and conditions that begin after it see only what is appended from now on:
    ///
    /// ```
    /// # use dcb_core::{Error, Event, EventStore, MemoryStore, Query, SubscribeOptions};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = MemoryStore::new();
    /// # let event = |event_type: &str| Event::builder(event_type).tag("course_id:c1").build();
    /// assert_eq!(store.head().await?, None);
    /// store.append(event("CourseOffered")?).await?;
    ///
    /// let options = SubscribeOptions::new();
    /// let mut new = store.subscribe(Query::all(), store.head().await?, options);
    /// let appended = store.append(event("CourseDelayed")?).await?;
    /// let delivered = new.next().await.transpose()?;
    /// assert_eq!(delivered.map(|event| event.position()), Some(appended.first()));
    ///
    /// let position = store.head().await?.map(|head| head.position);
    /// assert_eq!(position, Some(appended.last()));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Fault`] from the backend.
    fn head(&self) -> impl Future<Output = Result<Option<Bookmark>, Error>> + Send {
        async move {
            let nothing = ReadOptions::new().limit(0);
            Ok(self.query_stream(&Query::all(), nothing).await?.head())
        }
    }

    /// Counts the matching events.
    ///
    /// ```
    /// # use dcb_core::{Error, Event, EventStore, MemoryStore, Query};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = MemoryStore::new();
    /// # let enrolled = Event::builder("EnrollmentCompleted").tag("course_id:c1").build()?;
    /// # store.append(enrolled).await?;
    /// let enrollments = Query::builder()
    ///     .event_type("EnrollmentCompleted")
    ///     .tag("course_id:c1")
    ///     .build()?;
    /// assert_eq!(store.count(&enrollments).await?, 1);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Fault`] from the backend.
    fn count(&self, query: &Query) -> impl Future<Output = Result<u64, Error>> + Send {
        async move { Ok(self.extent(query, ..).await?.count) }
    }

    /// Whether any event matches. Costs the same with one match or a million.
    ///
    /// ```
    /// # use dcb_core::{Error, EventStore, MemoryStore, Query};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = MemoryStore::new();
    /// let course = Query::builder().event_type("CourseOffered").tag("course_id:c1").build()?;
    /// assert!(!store.exists(&course).await?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Fault`] from the backend.
    fn exists(&self, query: &Query) -> impl Future<Output = Result<bool, Error>> + Send {
        async move {
            let first = ReadOptions::new().limit(1);
            let mut events = self.query_stream(query, first).await?;
            Ok(events.next().await.transpose()?.is_some())
        }
    }

    /// The last upstream position that an append tracked for `source`.
    ///
    /// ```
    /// # use dcb_core::{Append, Error, Event, EventStore, MemoryStore, Tracking};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = MemoryStore::new();
    /// let enrolled = Event::builder("EnrollmentCompleted").tag("course_id:c1").build()?;
    /// let tracking = Tracking::new("campus-events", 17)?;
    /// store.submit(Append::new(enrolled).tracking(tracking)).await?;
    /// // After a restart, the consumer resumes here.
    /// assert_eq!(store.tracked("campus-events").await?, Some(17));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Fault`] from the backend.
    fn tracked(&self, source: &str) -> impl Future<Output = Result<Option<u64>, Error>> + Send;

    /// The last upstream position of each source that appends have tracked, by the name of the source.
    ///
    /// # Errors
    /// [`Error::Fault`] from the backend.
    fn all_tracked(&self) -> impl Future<Output = Result<Vec<Tracking>, Error>> + Send;

    /// Returns at most `limit` stored commands whose events come after the position `after`,
    /// exclusive, in the order of their events.
    ///
    /// ```
    /// # use dcb_core::{Append, Command, Error, Event, EventStore, MemoryStore};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = MemoryStore::new();
    /// let enrolled = Event::builder("EnrollmentCompleted").tag("course_id:c1").build()?;
    /// let enroll = Command::builder("EnrollStudent").json("s1").build()?;
    /// store.submit(Append::new(enrolled).command(enroll)).await?;
    /// let commands = store.commands(None, 100).await?;
    /// assert_eq!(commands[0].command().command_type(), "EnrollStudent");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Fault`] from the backend.
    fn commands(
        &self,
        after: Option<Position>,
        limit: u64,
    ) -> impl Future<Output = Result<Vec<RecordedCommand>, Error>> + Send;

    /// The limit on concurrent projections.
    ///
    /// ```
    /// # use dcb_core::{Error, EventStore, MemoryStore};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = MemoryStore::new().with_projection_limit(1);
    /// let _running = store.projection_limit().acquire()?;
    /// let excess = store.projection_limit().acquire();
    /// assert!(matches!(excess, Err(Error::TooManyProjections { .. })));
    /// # Ok(()) }
    /// ```
    fn projection_limit(&self) -> &ProjectionLimit;

    /// The lanes in which decisions of this process follow each other. `None` if the store has
    /// none: then decisions on the same boundary conflict, and are made again.
    ///
    /// ```
    /// # use dcb_core::{EventStore, MemoryStore};
    /// let store = MemoryStore::new();
    /// // No decision is under way.
    /// assert!(store.lanes().is_some_and(|lanes| lanes.is_empty()));
    /// ```
    fn lanes(&self) -> Option<&Lanes> {
        None
    }

    /// The table in which the store keeps states of decisions
    /// ([`Projector::keep_stored`](crate::Projector::keep_stored)). `None`, the default, if it has none; then
    /// they are in the lanes only.
    ///
    /// ```
    /// # use dcb_core::{EventStore, MemoryStore};
    /// assert!(MemoryStore::new().kept_states().is_none());
    /// ```
    fn kept_states(&self) -> Option<KeptStates> {
        None
    }

    /// Why the database could not be reached, for a call that has waited for it since this time and
    /// now gives up: decisions tell it instead of a timeout. `None`, the default, if the database was
    /// reached, or if the store does not know.
    ///
    /// ```
    /// # use std::time::Instant;
    /// # use dcb_core::{EventStore, MemoryStore};
    /// let store = MemoryStore::new();
    /// assert!(store.outage(Instant::now()).is_none());
    /// ```
    fn outage(&self, since: Instant) -> Option<Error> {
        let _ = since;
        None
    }

    /// The store for a follower, such as a [`Subscription`]. On PostgreSQL followers read in turns: an
    /// append wakes all of them, and other reads shall not wait behind them. The default is the store
    /// itself; one that wraps another store wraps what that one returns.
    ///
    /// ```
    /// # use dcb_core::{EventStore, MemoryStore};
    /// #[derive(Clone)]
    /// struct Slow<S>(S);
    ///
    /// impl<S: EventStore> Slow<S> {
    ///     // The body of `for_follower` in `impl EventStore for Slow<S>`.
    ///     fn for_follower(self) -> Self {
    ///         Self(self.0.for_follower())
    ///     }
    /// }
    /// # Slow(MemoryStore::new()).for_follower();
    /// ```
    #[must_use]
    fn for_follower(self) -> Self
    where
        Self: Sized,
    {
        self
    }

    /// Notifies subscriptions of appends. Call it inside the runtime in which the subscriptions
    /// wait.
    ///
    /// Notifications are hints. A store may announce some appends or none, so subscriptions also
    /// poll.
    ///
    /// ```
    /// use dcb_core::{Notifier, Notifications};
    ///
    /// # struct CourseStore { signal: Notifier }
    /// impl CourseStore {
    ///     // The body of `notifications` in `impl EventStore for CourseStore`.
    ///     fn notifications(&self) -> Notifications {
    ///         self.signal.notifications()
    ///     }
    ///
    ///     fn committed(&self) {
    ///         self.signal.notify();
    ///     }
    /// }
    /// # let store = CourseStore { signal: Notifier::new() };
    /// # let _appends = store.notifications();
    /// # store.committed();
    /// ```
    fn notifications(&self) -> Notifications {
        Notifications::none()
    }

    /// The handles that record the decisions and followers of this store. By default they record nothing.
    ///
    /// ```
    /// # use dcb_core::{EventStore, MemoryStore, Metrics};
    /// # struct CourseStore { log: MemoryStore }
    /// impl CourseStore {
    ///     // The body of `metrics` in `impl EventStore for CourseStore`, which wraps another store.
    ///     fn metrics(&self) -> Metrics {
    ///         self.log.metrics()
    ///     }
    /// }
    /// # CourseStore { log: MemoryStore::new() }.metrics();
    /// ```
    fn metrics(&self) -> Metrics {
        Metrics::default()
    }

    /// Checks that the database answers, for reads and for appends.
    ///
    /// ```
    /// # use dcb_core::{Error, EventStore, MemoryStore};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = MemoryStore::new();
    /// let health = store.health().await?;
    /// assert_eq!(health.backend, "memory");
    /// assert!(!health.is_durable);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Fault`] from the backend.
    fn health(&self) -> impl Future<Output = Result<Health, Error>> + Send;

    /// Counts of the store's work since it was opened.
    ///
    /// ```
    /// # use dcb_core::{Error, Event, EventStore, MemoryStore};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = MemoryStore::new();
    /// store.append(Event::builder("CourseOffered").build()?).await?;
    /// assert_eq!(store.stats().events, 1);
    /// # Ok(()) }
    /// ```
    fn stats(&self) -> Stats {
        Stats::default()
    }

    /// Closes the store: queued appends finish, new calls fail with [`Fault::Closed`](crate::Fault),
    /// and the connections are closed. May be called repeatedly and through any clone.
    ///
    /// ```
    /// # use dcb_core::{Error, Fault, EventStore, MemoryStore};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = MemoryStore::new();
    /// store.close().await;
    /// assert!(matches!(store.head().await, Err(Error::Fault(Fault::Closed))));
    /// # Ok(()) }
    /// ```
    fn close(&self) -> impl Future<Output = ()> + Send;

    /// Subscribes to the events of `query` after `after`, exclusive: first those in the log, then new
    /// ones as they are appended. The subscription starts reading when the first event is requested.
    ///
    /// `after` is `None` for the whole log, the [`Bookmark`] of an event or batch that was handled,
    /// or a plain [`Position`], which accepts any log that is long enough.
    ///
    /// ```
    /// # use dcb_core::{Error, Event, EventStore, MemoryStore, Query, SubscribeOptions};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = MemoryStore::new();
    /// # let offered = Event::builder("CourseOffered").tag("course_id:c1").build()?;
    /// # store.append(offered).await?;
    /// let course = Query::builder().tag("course_id:c1").build()?;
    /// let mut events = store.subscribe(course, None, SubscribeOptions::new());
    /// if let Some(event) = events.next().await {
    ///     assert_eq!(event?.event_type(), "CourseOffered");
    /// }
    /// # Ok(()) }
    /// ```
    fn subscribe(
        &self,
        query: Query,
        after: impl Into<Option<Bookmark>>,
        options: SubscribeOptions,
    ) -> Subscription
    where
        Self: Clone + Sized + 'static,
    {
        let after = after.into();
        let progress = Progress::at(Bookmark::position_of(after), &self.metrics());
        Subscription::new(self.clone(), query, after, options, progress)
    }

    /// Waits until reads see the event at `position`, and returns the head at that time.
    ///
    /// Returns after one read if the event is already visible to reads. It may take longer if
    /// another process appends the event, or if reads go to a replica.
    ///
    /// ```
    /// # use dcb_core::{Error, Event, EventStore, MemoryStore};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # use std::time::Duration;
    /// # let store = MemoryStore::new();
    /// let offered = Event::builder("CourseOffered").tag("course_id:c1").build()?;
    /// let position = store.append(offered).await?.last();
    /// // Another process that got the position from this one waits before it reads.
    /// let head = store.wait_for(position, Duration::from_secs(1)).await?;
    /// assert!(head >= position);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Fault::TimedOut`](crate::Fault) if the event does not appear within `limit`;
    /// [`Fault::Closed`](crate::Fault) or another error of the backend that a retry can't fix.
    fn wait_for(
        &self,
        position: Position,
        limit: Duration,
    ) -> impl Future<Output = Result<Position, Error>> + Send {
        wait::wait_for(self, position, limit)
    }

    /// Appends without a condition. Shorthand for [`EventStore::submit`].
    ///
    /// ```
    /// # use dcb_core::{Error, Event, EventStore, MemoryStore};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = MemoryStore::new();
    /// let offered = Event::builder("CourseOffered").tag("course_id:c1").build()?;
    /// let appended = store.append(offered).await?;
    /// assert_eq!(appended.first().get(), 1);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] or [`Error::DuplicateId`], with nothing written;
    /// [`Error::OutcomeUnknown`]; or an error of the backend. See [`EventStore::submit`].
    ///
    /// # Dropped futures
    /// All events may be in the log, or none. Give them ids and append again, as for
    /// [`EventStore::submit`].
    fn append(
        &self,
        events: impl Into<Vec<Event>>,
    ) -> impl Future<Output = Result<Appended, Error>> + Send {
        let events = events.into();
        // Not before the first poll, so that the append has the trace of the span that instruments it.
        async move { self.submit(Append::new(events)).await }
    }

    /// Appends under one condition or several, all of which must hold. Shorthand for
    /// [`EventStore::submit`].
    ///
    /// ```
    /// # use dcb_core::{AppendCondition, Error, Event, EventStore, MemoryStore};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = MemoryStore::new();
    /// let offered = Event::builder("CourseOffered").tag("course_id:c1").build()?;
    /// let new_course = AppendCondition::fail_if_exists("course_id", "c1")?;
    /// store.append_if(offered.clone(), new_course.clone()).await?;
    ///
    /// let second = store.append_if(offered, new_course).await;
    /// assert!(matches!(second, Err(Error::Conflict { .. })));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`], [`Error::DuplicateId`], [`Error::AfterBeyondHead`] or
    /// [`Error::Conflict`], with nothing written; [`Error::OutcomeUnknown`]; or an error of the
    /// backend. See [`EventStore::submit`].
    ///
    /// # Dropped futures
    /// All events may be in the log, or none. Append the same ids under the same conditions again: if
    /// the first append is in the log, the store returns its positions and checks no condition. With
    /// new ids, the condition can fail because of the first append.
    fn append_if(
        &self,
        events: impl Into<Vec<Event>>,
        conditions: impl Into<Vec<AppendCondition>>,
    ) -> impl Future<Output = Result<Appended, Error>> + Send {
        let (events, conditions) = (events.into(), conditions.into());
        async move {
            let append = Append::new(events).conditions(conditions);
            self.submit(append).await
        }
    }

    /// Reads the matching events of one snapshot into memory, together with its head.
    ///
    /// ```
    /// # use dcb_core::{AppendCondition, Error, Event, EventStore, MemoryStore, Query, ReadOptions};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = MemoryStore::new();
    /// # let offered = Event::builder("CourseOffered").tag("course_id:c1").build()?;
    /// # store.append(offered).await?;
    /// let course = Query::builder().tag("course_id:c1").build()?;
    /// let read = store.query(&course, ReadOptions::new().limit(100)).await?;
    /// assert_eq!(read.events.len(), 1);
    /// // The head is the `after` of a condition that protects this read.
    /// let unchanged = AppendCondition::fail_if(course).after(read.head);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::AfterBeyondHead`] if a forward read starts after a position beyond the head;
    /// [`Error::PastReplaced`] if the log has another event at the [`Bookmark`] that the read starts
    /// after; [`Error::Fault`] from the backend.
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

    /// Counts the matching events in a range of positions and finds the last of them, in one
    /// snapshot. Backends count in the database and transfer no events.
    ///
    /// ```
    /// # use dcb_core::{Error, Event, EventStore, MemoryStore, Position, Query};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = MemoryStore::new();
    /// # let enrolled = Event::builder("EnrollmentCompleted").tag("course_id:c1").build()?;
    /// # store.append(enrolled).await?;
    /// let enrollments = Query::builder().event_type("EnrollmentCompleted").build()?;
    /// let extent = store.extent(&enrollments, Position::FIRST..).await?;
    /// assert_eq!((extent.count, extent.last), (1, extent.head));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Fault`] from the backend. A range
    /// beyond the head is not an error; it has no events.
    fn extent(
        &self,
        query: &Query,
        range: impl RangeBounds<Position> + Send,
    ) -> impl Future<Output = Result<Extent, Error>> + Send {
        let span = Span::of(&range);
        async move {
            // `from` instead of `after`, because a range beyond the head is empty and not an error.
            let from = ReadOptions::new().from(Position::new(span.first));
            let mut events = self.query_stream(query, from).await?;
            let (mut count, mut last) = (0, None);
            let head = events.head();
            while let Some(event) = events.next().await {
                let event = event?.bookmark();
                // Positions only increase, so the rest of the stream is outside the span too.
                if !span.contains(event.position) {
                    break;
                }
                count += 1;
                last = Some(event);
            }
            Ok(Extent { count, last, head })
        }
    }

    /// Folds the events of one snapshot into the state of `projection`, in constant memory. The
    /// result includes the append condition that protects exactly the events that were read.
    ///
    /// ```
    /// # use dcb_core::{Error, Event, EventStore, MemoryStore, Projector, Query};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = MemoryStore::new();
    /// let enrollments = Query::builder().tag("course_id:c1").build()?;
    /// let projected = store.project(&Projector::counter(enrollments)).await?;
    /// if projected.state < 30 {
    ///     let enrolled = Event::builder("EnrollmentCompleted").tag("course_id:c1").build()?;
    ///     store.append_if(enrolled, projected.condition).await?;
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if `projection` is an empty list; [`Error::TooManyProjections`] immediately
    /// if the limit is reached; the error of [`Projection::apply`]; [`Error::Fault`] from the backend.
    ///
    /// # Dropped futures
    /// Nothing has happened: the call only reads, and its connection goes back to the pool. Call again.
    fn project<P: Projection>(
        &self,
        projection: &P,
    ) -> impl Future<Output = Result<Projected<P::State>, Error>> + Send {
        async move { self.project_stream(projection, None).await?.finish().await }
    }

    /// Runs a projection over the events after `after`, exclusive, one event at a time, so that the
    /// caller can look at intermediate states.
    ///
    /// ```
    /// # use dcb_core::{Error, Event, EventStore, MemoryStore, Projector, Query};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = MemoryStore::new();
    /// # let enrolled = Event::builder("EnrollmentCompleted").tag("course_id:c1").build()?;
    /// # store.append(enrolled).await?;
    /// let enrollments = Query::builder().tag("course_id:c1").build()?;
    /// let taken = Projector::counter(enrollments);
    /// let mut projecting = store.project_stream(&taken, None).await?;
    /// while let Some(step) = projecting.next().await {
    ///     let (seats, event) = step?;
    ///     println!("{seats} seats taken at position {}", event.position());
    /// }
    /// assert_eq!(projecting.finish().await?.state, 1);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if `projection` is an empty list; [`Error::TooManyProjections`] immediately
    /// if the limit is reached; [`Error::AfterBeyondHead`] if `after` is greater than the head;
    /// [`Error::PastReplaced`] if the log has another event at this [`Bookmark`];
    /// [`Error::Fault`] from the backend.
    fn project_stream<'p, P: Projection>(
        &self,
        projection: &'p P,
        after: impl Into<Option<Bookmark>>,
    ) -> impl Future<Output = Result<ProjectionStream<'p, P>, Error>> + Send {
        ProjectionStream::open(self, projection, Part::After(after.into()))
    }

    /// Runs a projection over the log as it was when `last` was its last position; `None` is before the first
    /// event. The condition protects that state: an append with it fails if any later event matches.
    ///
    /// Reads page by page and stops after `last`. To bound the work, count the events and drop the stream.
    ///
    /// ```
    /// # use dcb_core::{Error, Event, EventStore, MemoryStore, Position, Projector, Query};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = MemoryStore::new();
    /// # let enrolled = Event::builder("EnrollmentCompleted").tag("course_id:c1").build()?;
    /// # store.append([enrolled.clone(), enrolled]).await?;
    /// let taken = Projector::counter(Query::builder().tag("course_id:c1").build()?);
    /// let then = store.project_at(&taken, Position::new(1)).await?.finish().await?;
    /// let now = store.project(&taken).await?;
    /// assert_eq!((then.state, now.state), (1, 2));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`EventStore::project_stream`]; [`Error::AfterBeyondHead`] if `last` is greater than the head.
    fn project_at<'p, P: Projection>(
        &self,
        projection: &'p P,
        last: impl Into<Option<Position>>,
    ) -> impl Future<Output = Result<ProjectionStream<'p, P>, Error>> + Send {
        ProjectionStream::open(self, projection, Part::Through(last.into()))
    }
}

impl<S: EventStore> EventStore for Arc<S> {
    // `**`, because a call on the `Arc` would call itself.
    crate::forward_event_store! { self { store => (**store) } }
}
