use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{AppendCondition, Error, EventStream, Query, SequencedEvent};

/// A fold over the events of a query.
///
/// [`Projector`] is one; tuples and vectors of projections are projections, so any number of them
/// share one pass over one read of one snapshot.
pub trait Projection: Send + Sync {
    /// What the events fold into.
    type State: Send;

    /// The events that the state depends on.
    fn query(&self) -> Query;

    /// The state before any event; the result where nothing matches.
    fn initial(&self) -> Self::State;

    /// Takes `event` into `state` where it matches the query; ignores it otherwise.
    fn apply(&self, state: &mut Self::State, event: &SequencedEvent);
}

/// One query, one state and how an event changes it.
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
    /// Folds the events of `query` into `initial` by `apply`.
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
    /// Whether there is an event of `query`.
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
        if self.query.matches(event) {
            (self.apply)(state, event);
        }
    }
}

impl<P: Projection> Projection for Vec<P> {
    type State = Vec<P::State>;

    /// The union of the queries; of none, [`Query::all`].
    fn query(&self) -> Query {
        self.iter()
            .map(Projection::query)
            .reduce(Query::or)
            .unwrap_or_else(Query::all)
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

/// The state of a projection and the boundary that protects it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projected<S> {
    /// The folded state.
    pub state: S,
    /// Fails an append if anything that the state depends on came after the snapshot it was
    /// folded from.
    pub condition: AppendCondition,
}

/// A projection on its way through the events of one snapshot.
///
/// It holds one of the store's projection permits until it is finished or dropped.
pub struct ProjectionStream<'p, P: Projection> {
    projection: &'p P,
    query: Query,
    events: EventStream,
    state: P::State,
    /// What ended the events early.
    failed: Option<Error>,
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

    /// The state after one more event, with that event; `None` when all have been taken in.
    ///
    /// # Errors
    /// What the store met while reading; the projection can't go on.
    pub async fn next(&mut self) -> Option<Result<(&P::State, SequencedEvent), Error>> {
        match self.events.next().await? {
            Ok(event) => {
                self.projection.apply(&mut self.state, &event);
                Some(Ok((&self.state, event)))
            }
            Err(error) => {
                self.failed = Some(error.clone());
                Some(Err(error))
            }
        }
    }

    /// The state so far.
    pub fn state(&self) -> &P::State {
        &self.state
    }

    /// Takes in the remaining events.
    ///
    /// # Errors
    /// What the store met while reading, now or before.
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

/// How many projections may run at once in one store; who comes too many is refused at once.
#[derive(Debug)]
pub struct ProjectionLimit {
    max: usize,
    running: Arc<AtomicUsize>,
}

/// The right to run one projection; given back on drop.
#[derive(Debug)]
pub struct ProjectionPermit {
    running: Arc<AtomicUsize>,
}

impl ProjectionLimit {
    /// The limit of a store that was not told another.
    pub const DEFAULT_MAX: usize = 100;

    /// At most `max` at once.
    pub fn new(max: usize) -> Self {
        Self {
            max,
            running: Arc::new(AtomicUsize::new(0)),
        }
    }

    /// How many run now.
    pub fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// The right to run one more.
    ///
    /// # Errors
    /// [`Error::TooManyProjections`] where `max` are running.
    pub fn acquire(&self) -> Result<ProjectionPermit, Error> {
        // The counter guards nothing but itself, so no ordering is needed.
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
