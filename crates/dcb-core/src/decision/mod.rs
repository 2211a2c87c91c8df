mod member;
mod own;

use std::time::Duration;

pub(crate) use member::Member;
use member::conclude;
pub use own::Nothing;
use own::Own;
use own::read_in_crowd;

use crate::attempts::Attempts;
use crate::kept_states::refresh_in_background;
use crate::lane::{Decision, Lanes, Purpose};
use crate::{Append, Appended, Command, Error, Event, EventStore, Metrics, Projected, Projection};

/// Reads the state that a decision depends on, decides, and appends on condition that the state has
/// not changed. After a conflict it starts over, until a time limit.
///
/// Decisions of one process on the same boundary don't conflict: they follow each other in order of
/// arrival, each on the state that the ones before it lead to, and share commits. See
/// [`Lanes`](crate::Lanes). With other processes, a conflict means that another decision was
/// committed, so the log as a whole makes progress.
///
/// An event that is decided but not committed yet is folded with an estimated position and the time
/// of the decision. While the lane knows the event, later decisions see it with that time too; the
/// position is corrected by the commit. [`cost`](crate::cost) lists the reads and commits.
///
/// `sqlite::BlockingSqliteStore::decide` is the same without async.
#[derive(Clone, Debug)]
#[must_use]
pub struct DecisionModel<P, O = Nothing> {
    pub(crate) projection: P,
    own: O,
    pub(crate) command: Option<Command>,
    max_attempts: Option<u32>,
    time_limit: Duration,
}

/// The result of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// The positions of the events; `None` if the decision returned no events.
    pub appended: Option<Appended>,
    /// The number of attempts; 1 without conflicts.
    pub attempts: u32,
}

impl<P> DecisionModel<P> {
    /// The default time limit.
    pub const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(5);

    /// Creates a decision that depends only on this projection.
    pub fn new(projection: P) -> Self {
        Self {
            projection,
            own: Nothing,
            command: None,
            max_attempts: None,
            time_limit: Self::DEFAULT_TIME_LIMIT,
        }
    }

    /// Adds a second projection, over events that concern few other decisions: those of the student
    /// who enrolls, for example, when the first is over the course.
    ///
    /// Decisions with an equal first projection then follow each other, although their second ones
    /// differ. With both in one tuple, their boundaries would differ, and they would conflict. Each
    /// attempt reads the second projection before its turn, and its condition protects it.
    ///
    /// ```
    /// # use dcb_core::{DecisionModel, Error, Event, MemoryStore, Projector, Query};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = MemoryStore::new();
    /// let seats = Projector::counter(Query::builder().tag("course_id:c1").build()?);
    /// let courses = Projector::counter(Query::builder().tag("student_id:s1").build()?);
    /// let decided = DecisionModel::new(seats)
    ///     .and(courses)
    ///     .decide(&store, |seats_taken, courses_taken| {
    ///         let enrolled = Event::builder("EnrollmentCompleted")
    ///             .tags(["course_id:c1", "student_id:s1"]);
    ///         match seats_taken < 30 && courses_taken < 5 {
    ///             true => Ok(vec![enrolled.build()?]),
    ///             false => Ok::<_, Error>(Vec::new()),
    ///         }
    ///     })
    ///     .await?;
    /// assert!(decided.appended.is_some());
    /// # Ok(()) }
    /// ```
    pub fn and<O: Projection>(self, own: O) -> DecisionModel<P, O> {
        DecisionModel {
            projection: self.projection,
            own,
            command: self.command,
            max_attempts: self.max_attempts,
            time_limit: self.time_limit,
        }
    }
}

impl<P, O> DecisionModel<P, O> {
    /// Stores this command in the commit of the events. Without events, it is not stored.
    ///
    /// The decision follows the others on its boundary, and reads nothing if the boundary is warm, as without a
    /// command. An append has one command, so it shares its commit with no other decision. With
    /// [`CommandExecutor`](crate::CommandExecutor), a handler reads for itself.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), dcb_core::Error> {
    /// # use dcb_core::{Command, DecisionModel, Error, Event, EventStore, MemoryStore, Projector, Query};
    /// # let store = MemoryStore::new();
    /// let seats = Projector::counter(Query::builder().tag("course_id:c1").build()?);
    /// let command = Command::builder("EnrollStudent").json("s1").build()?;
    /// let enrolled = Event::builder("EnrollmentCompleted").tag("course_id:c1").build()?;
    /// DecisionModel::new(seats)
    ///     .command(command)
    ///     .decide(&store, |taken| match taken < 30 {
    ///         true => Ok(vec![enrolled.clone()]),
    ///         false => Ok::<_, Error>(Vec::new()),
    ///     })
    ///     .await?;
    /// assert_eq!(store.commands(None, 10).await?[0].command().command_type(), "EnrollStudent");
    /// # Ok(()) }
    /// ```
    pub fn command(mut self, command: Command) -> Self {
        self.command = Some(command);
        self
    }

    pub(crate) fn purpose(&self) -> Purpose {
        match self.command {
            Some(_) => Purpose::DecideWithCommand,
            None => Purpose::Decide,
        }
    }

    /// Sets the maximum number of attempts, including the first; 0 counts as 1. The default is to
    /// try until the time limit.
    pub fn max_attempts(mut self, max_attempts: u32) -> Self {
        self.max_attempts = Some(max_attempts.max(1));
        self
    }

    /// Sets the time limit of the whole call: the wait for its turn, the reads and the appends of all
    /// attempts. If the database can't be reached until then, the error tells why.
    ///
    /// PostgreSQL gives up an append that the limit cuts short, so that the caller learns that nothing
    /// was written. An append that begins right before the limit gets three tenths of
    /// `Config::write_timeout`. One that is shared with younger decisions goes on as long as they have
    /// time, and SQLite keeps its own limit.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    pub(crate) fn attempts(&self, metrics: Metrics) -> Attempts {
        Attempts::new(self.max_attempts, self.time_limit, metrics)
    }
}

impl<P: Projection> DecisionModel<P> {
    /// Projects the state, calls `decide` with it, and appends the returned events under the
    /// condition of the projection.
    ///
    /// After a conflict it repeats all three steps, so `decide` may be called several times. If
    /// `decide` returns no events, nothing is appended. Its result, with or without events or an
    /// error, is returned only once the state that it saw is committed.
    ///
    /// # Errors
    /// The error of `decide`; [`Error::RetriesExhausted`] if every attempt until the time limit ended
    /// in a conflict; [`Fault::Unreachable`](crate::Fault) with the last cause if the database could
    /// not be reached until the limit; [`Fault::TimedOut`](crate::Fault) if the limit passed otherwise;
    /// or any other error of [`EventStore::project`] and [`EventStore::submit`].
    ///
    /// # Dropped futures
    /// The call leaves the line. If `decide` has returned events by then, they may be in the log, now or
    /// a moment later. Decide again: the new decision reads the log, so it sees the events of the first
    /// and refuses or accepts accordingly. If they must not be stored twice and your decision does not
    /// prevent it, give them ids ([`Event::with_id`]) that you use again.
    pub async fn decide<S, V, E>(
        &self,
        store: &S,
        mut decide: impl FnMut(P::State) -> Result<V, E>,
    ) -> Result<Decided, E>
    where
        S: EventStore + Clone + 'static,
        V: Into<Vec<Event>>,
        E: From<Error>,
    {
        self.decide_any(store, |state, ()| decide(state)).await
    }
}

impl<P: Projection, O: Projection> DecisionModel<P, O> {
    /// Like [`DecisionModel::decide`] with one projection. `decide` gets the states of both.
    ///
    /// # Errors
    /// As with one projection.
    pub async fn decide<S, V, E>(
        &self,
        store: &S,
        decide: impl FnMut(P::State, O::State) -> Result<V, E>,
    ) -> Result<Decided, E>
    where
        S: EventStore + Clone + 'static,
        V: Into<Vec<Event>>,
        E: From<Error>,
    {
        self.decide_any(store, decide).await
    }
}

impl<P: Projection, O: Own> DecisionModel<P, O> {
    async fn decide_any<S, V, E>(
        &self,
        store: &S,
        decide: impl FnMut(P::State, O::State) -> Result<V, E>,
    ) -> Result<Decided, E>
    where
        S: EventStore + Clone + 'static,
        V: Into<Vec<Event>>,
        E: From<Error>,
    {
        match store.lanes() {
            Some(lanes) => self.decide_in_lane(store, lanes, decide).await,
            None => self.decide_alone(store, decide).await,
        }
    }

    async fn decide_alone<S, V, E>(
        &self,
        store: &S,
        mut decide: impl FnMut(P::State, O::State) -> Result<V, E>,
    ) -> Result<Decided, E>
    where
        S: EventStore,
        V: Into<Vec<Event>>,
        E: From<Error>,
    {
        let mut attempts = self.attempts(store.metrics());
        loop {
            let read = async {
                let (own, conditions) = self.own.read(store).await?;
                let projected = read_in_crowd(store, &self.projection).await?;
                Ok((projected, own, conditions))
            };
            let (projected, own, conditions) = attempts.in_time(store, read).await?;
            let append = projected.into_append(|state| decide(state, own))?;
            let mut append = append.conditions(conditions);
            append.command = self.command.clone();
            if let Some(decided) = attempts.submit(store, append).await? {
                return Ok(decided);
            }
        }
    }

    async fn decide_in_lane<S, V, E>(
        &self,
        store: &S,
        lanes: &Lanes,
        mut decide: impl FnMut(P::State, O::State) -> Result<V, E>,
    ) -> Result<Decided, E>
    where
        S: EventStore + Clone + 'static,
        V: Into<Vec<Event>>,
        E: From<Error>,
    {
        self.projection.check()?;
        let reads = self.projection.reads();
        let mut attempts = self.attempts(store.metrics());
        let seat = lanes.enter(&reads);
        loop {
            let reach = async {
                let (own, conditions) = self.own.read(store).await?;
                let member = Member::new(&self.projection, &reads, store);
                Ok((
                    member.reach_turn(&seat, self.purpose()).await?,
                    own,
                    conditions,
                ))
            };
            let (reached, own, conditions) = attempts.in_time(store, reach).await?;
            let Some((turn, state)) = reached else {
                attempts.again(None)?;
                seat.go_to_the_end();
                continue;
            };
            if let Some(storing) = turn.begin_storing() {
                refresh_in_background(store, storing, self.projection.stored());
            }
            let (events, refused) = match decide(state, own) {
                Ok(events) => (events.into(), None),
                Err(refused) => (Vec::new(), Some(refused)),
            };
            let decision = Decision {
                events,
                conditions,
                command: self.command.clone(),
                deadline: attempts.deadline(),
            };
            if let Some(decided) = conclude(store, turn, decision, &mut attempts).await? {
                return refused.map_or(Ok(decided), Err);
            }
        }
    }
}

impl<S> Projected<S> {
    /// Decides on the state and returns the append, under the projection's condition.
    pub(crate) fn into_append<V: Into<Vec<Event>>, E>(
        self,
        decide: impl FnOnce(S) -> Result<V, E>,
    ) -> Result<Append, E> {
        let events = decide(self.state)?;
        Ok(Append::new(events).condition(self.condition))
    }
}
