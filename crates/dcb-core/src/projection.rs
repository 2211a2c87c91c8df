use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::text::invalid;
use crate::{AppendCondition, Error, EventStream, Problem, Query, SequencedEvent};

/// A fold over the events of a query.
///
/// [`Projector`] implements it. Tuples and vectors of projections are projections too, so several
/// can share one read of one snapshot.
pub trait Projection: Send + Sync {
    /// The folded state.
    type State: Send;

    /// The events that the state depends on.
    fn query(&self) -> Query;

    /// Checks that the projection depends on certain events. Every read of a projection checks this
    /// first.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `projections` if a list of projections is empty. It depends on
    /// no event, and no query selects none.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// The state before the first event, and the result if no event matches.
    fn initial(&self) -> Self::State;

    /// Applies `event` to `state` if it matches the query; ignores it otherwise.
    fn apply(&self, state: &mut Self::State, event: &SequencedEvent);
}

/// A query, an initial state and a function that applies an event to the state.
///
/// ```
/// # fn main() -> Result<(), dcb_core::Error> {
/// use dcb_core::{Projector, Query};
///
/// let enrollments = Query::builder()
///     .event_type("EnrollmentCompleted").tag_pair("course_id", "c1").build()?;
/// let seats_taken = Projector::new(enrollments, 0_u32, |taken, _event| *taken += 1);
/// # let _ = seats_taken;
/// # Ok(()) }
/// ```
pub struct Projector<S> {
    query: Query,
    initial: S,
    apply: Apply<S>,
}

type Apply<S> = Box<dyn Fn(&mut S, &SequencedEvent) + Send + Sync>;

impl<S: Clone + Send + Sync> Projector<S> {
    /// Creates a projector that folds the events of `query` into `initial` with `apply`.
    pub fn new(
        query: Query,
        initial: S,
        apply: impl Fn(&mut S, &SequencedEvent) + Send + Sync + 'static,
    ) -> Self {
        Self {
            query,
            initial,
            apply: Box::new(apply),
        }
    }
}

impl Projector<u64> {
    /// Counts the events of `query`.
    pub fn counter(query: Query) -> Self {
        Self::new(query, 0, |count, _| *count += 1)
    }
}

impl Projector<bool> {
    /// Tells whether any event matches `query`.
    pub fn exists(query: Query) -> Self {
        Self::new(query, false, |exists, _| *exists = true)
    }
}

impl<S: Clone + Send + Sync> Projection for Projector<S> {
    type State = S;

    fn query(&self) -> Query {
        self.query.clone()
    }

    fn initial(&self) -> S {
        self.initial.clone()
    }

    fn apply(&self, state: &mut S, event: &SequencedEvent) {
        // Projections that share a read also get the events of each other's queries.
        if self.query.matches(event) {
            (self.apply)(state, event);
        }
    }
}

impl<P: Projection> Projection for Vec<P> {
    type State = Vec<P::State>;

    /// The union of the queries. [`Query::all`] for an empty vector, which
    /// [`check`](Projection::check) refuses.
    fn query(&self) -> Query {
        self.iter()
            .map(Projection::query)
            .reduce(Query::or)
            .unwrap_or_else(Query::all)
    }

    fn check(&self) -> Result<(), Error> {
        if self.is_empty() {
            return Err(invalid("projections")(Problem::Empty));
        }
        self.iter().try_for_each(Projection::check)
    }

    fn initial(&self) -> Self::State {
        self.iter().map(Projection::initial).collect()
    }

    fn apply(&self, state: &mut Self::State, event: &SequencedEvent) {
        for (projection, state) in self.iter().zip(state) {
            projection.apply(state, event);
        }
    }
}

macro_rules! tuple_projection {
    ($($name:ident $index:tt),+) => {
        impl<$($name: Projection),+> Projection for ($($name,)+) {
            type State = ($($name::State,)+);

            fn query(&self) -> Query {
                [$(self.$index.query()),+].into_iter().reduce(Query::or).unwrap_or_else(Query::all)
            }

            fn check(&self) -> Result<(), Error> {
                $(self.$index.check()?;)+
                Ok(())
            }

            fn initial(&self) -> Self::State {
                ($(self.$index.initial(),)+)
            }

            fn apply(&self, state: &mut Self::State, event: &SequencedEvent) {
                $(self.$index.apply(&mut state.$index, event);)+
            }
        }
    };
}

tuple_projection!(A 0);
tuple_projection!(A 0, B 1);
tuple_projection!(A 0, B 1, C 2);
tuple_projection!(A 0, B 1, C 2, D 3);
tuple_projection!(A 0, B 1, C 2, D 3, E 4);
tuple_projection!(A 0, B 1, C 2, D 3, E 4, F 5);
tuple_projection!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuple_projection!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);

/// The state of a projection and the condition that protects it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projected<S> {
    /// The folded state.
    pub state: S,
    /// Makes an append fail if an event that was appended after the snapshot matches the query of
    /// the projection.
    pub condition: AppendCondition,
}

/// A running projection over the events of one snapshot.
///
/// It holds one of the store's projection permits until it is finished or dropped.
pub struct ProjectionStream<'p, P: Projection> {
    projection: &'p P,
    query: Query,
    events: EventStream,
    state: P::State,
    /// The error that ended the stream early.
    failed: Option<Error>,
    // Dropping it releases the permit.
    _permit: ProjectionPermit,
}

impl<'p, P: Projection> ProjectionStream<'p, P> {
    pub(crate) fn new(
        projection: &'p P,
        query: Query,
        events: EventStream,
        permit: ProjectionPermit,
    ) -> Self {
        Self {
            projection,
            query,
            events,
            state: projection.initial(),
            failed: None,
            _permit: permit,
        }
    }

    /// Applies the next event, and returns the new state and the event; `None` after the last.
    ///
    /// # Errors
    /// [`Error::Timeout`], [`Error::Unavailable`], [`Error::Closed`] or [`Error::Database`] if
    /// reading fails. The projection can't continue.
    pub async fn next(&mut self) -> Option<Result<(&P::State, SequencedEvent), Error>> {
        match self.events.next().await? {
            Ok(event) => {
                self.projection.apply(&mut self.state, &event);
                Some(Ok((&self.state, event)))
            }
            Err(error) => {
                // After an error the stream ends, so remember the error. Otherwise `finish` would
                // return a partial state.
                self.failed = Some(error.clone());
                Some(Err(error))
            }
        }
    }

    /// The state so far.
    pub fn state(&self) -> &P::State {
        &self.state
    }

    /// Applies the remaining events.
    ///
    /// # Errors
    /// [`Error::Timeout`], [`Error::Unavailable`], [`Error::Closed`] or [`Error::Database`] if
    /// reading fails now or failed in an earlier [`ProjectionStream::next`].
    pub async fn finish(mut self) -> Result<Projected<P::State>, Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        while let Some(event) = self.events.next().await {
            self.projection.apply(&mut self.state, &event?);
        }
        let condition = AppendCondition::fail_if(self.query).after(self.events.head());
        Ok(Projected {
            state: self.state,
            condition,
        })
    }
}

/// The maximum number of concurrent projections per store. Excess calls fail immediately.
#[derive(Debug)]
pub struct ProjectionLimit {
    max: usize,
    running: Arc<AtomicUsize>,
}

/// A permit to run one projection, released on drop.
#[derive(Debug)]
pub struct ProjectionPermit {
    running: Arc<AtomicUsize>,
}

impl ProjectionLimit {
    /// The default limit.
    pub const DEFAULT_MAX: usize = 100;

    /// Allows at most `max` concurrent projections.
    pub fn new(max: usize) -> Self {
        Self {
            max,
            running: Arc::new(AtomicUsize::new(0)),
        }
    }

    /// The number of running projections.
    pub fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// Takes a permit.
    ///
    /// # Errors
    /// [`Error::TooManyProjections`] if the limit is reached.
    pub fn acquire(&self) -> Result<ProjectionPermit, Error> {
        // Relaxed: the counter guards no other memory.
        self.running
            .try_update(Ordering::Relaxed, Ordering::Relaxed, |running| {
                (running < self.max).then_some(running + 1)
            })
            .map_err(|current| Error::TooManyProjections {
                max: self.max,
                current,
            })?;
        Ok(ProjectionPermit {
            running: Arc::clone(&self.running),
        })
    }
}

impl Default for ProjectionLimit {
    fn default() -> Self {
        Self::new(Self::DEFAULT_MAX)
    }
}

impl Drop for ProjectionPermit {
    fn drop(&mut self) {
        self.running.fetch_sub(1, Ordering::Relaxed);
    }
}
