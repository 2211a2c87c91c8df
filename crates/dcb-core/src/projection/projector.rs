use serde::Serialize;

use super::{KeptState, Projection, ProjectorBuilder, Reads};
use crate::{Error, Query, SequencedEvent};

/// The events that a state depends on, an initial state and the functions that apply an event to the
/// state.
///
/// [`Projector::builder`] takes one function for each event type and derives the query from them.
/// [`Projector::new`] takes a query and one function for all its events.
///
/// ```
/// # fn main() -> Result<(), dcb_core::Error> {
/// use dcb_core::{Projector, Query};
///
/// let seats_taken = Projector::builder(0_u32)
///     .on("EnrollmentCompleted", |taken, _event| *taken += 1)
///     .on("EnrollmentCancelled", |taken, _event| *taken -= 1)
///     .tag_pair("course_id", "c1")
///     .build()?;
///
/// let everything = Query::builder().tag_pair("course_id", "c1").build()?;
/// let last_change = Projector::new(everything, None, |at, event| *at = Some(event.recorded_at()));
/// # let _ = (seats_taken, last_change);
/// # Ok(()) }
/// ```
pub struct Projector<S> {
    query: Query,
    initial: S,
    apply: Apply<S>,
    last_only: bool,
    keep: Option<Keep<S>>,
}

/// The name and version of the state that a store keeps, and how to keep it.
struct Keep<S> {
    name: String,
    version: u32,
    keep: fn(&S) -> Option<KeptState>,
    kept: fn(&KeptState) -> Option<S>,
    reads: fn(Reads, &str, u32) -> Reads,
}

pub(super) type Apply<S> = Box<dyn Fn(&mut S, &SequencedEvent) -> Result<(), Error> + Send + Sync>;

impl<S> Projector<S> {
    /// Builds a projector that folds into `initial`, from one handler for each event type.
    pub fn builder(initial: S) -> ProjectorBuilder<S> {
        ProjectorBuilder::new(initial)
    }

    pub(super) fn fallible(query: Query, initial: S, apply: Apply<S>) -> Self {
        Self {
            query,
            initial,
            apply,
            last_only: false,
            keep: None,
        }
    }

    /// Applies only the last event of the query, to the initial state.
    ///
    /// The read finds that event from the end of the log: its cost does not depend on the number of
    /// events. The condition covers the whole query, after the head of the read's snapshot. So an
    /// append fails exactly if a newer event of the query has arrived. Of two callers that saw the
    /// same last event, one succeeds.
    ///
    /// In a tuple or a vector, each such projector costs a separate read of the same snapshot.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), dcb_core::Error> {
    /// # use dcb_core::{Event, EventStore, MemoryStore, Projector, Query};
    /// # let store = MemoryStore::new();
    /// # store.append(Event::builder("PriceChanged").tag("product:1").json(&9).build()?).await?;
    /// let changes = Query::builder().event_type("PriceChanged").tag("product:1").build()?;
    /// let changed = Projector::new(changes, None, |at, event| *at = Some(event.recorded_at()));
    /// assert!(store.project(&changed.last_only()).await?.state.is_some());
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn last_only(mut self) -> Self {
        self.last_only = true;
        self
    }
}

impl<S: Clone + Send + Sync> Projector<S> {
    /// Creates a projector that folds the events of `query` into `initial` with `apply`.
    pub fn new(
        query: Query,
        initial: S,
        apply: impl Fn(&mut S, &SequencedEvent) + Send + Sync + 'static,
    ) -> Self {
        let apply = move |state: &mut S, event: &SequencedEvent| {
            apply(state, event);
            Ok(())
        };
        Self::fallible(query, initial, Box::new(apply))
    }
}

impl<S: Clone + Serialize + Send + Sync + 'static> Projector<S> {
    /// Lets a store keep the state instead of the events, so that a decision on a boundary of 100,000
    /// events costs what is new. A store keeps it in its cache, beside the lanes that keep events; see
    /// [`cost`](crate::cost).
    ///
    /// Name, version, type of the state and query identify the fold. Give it another version when you
    /// change the function or the initial state: states of another version are not used. Projectors
    /// with equal name, version and query must fold alike.
    ///
    /// The state counts with the size of its JSON text. Every 64 events, and after a long read, a
    /// decision copies the state for the store; each decision gets a copy. In a tuple or a vector of
    /// projections, the events are kept and not the states.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), dcb_core::Error> {
    /// # use dcb_core::{DecisionModel, Error, Event, EventStore, MemoryStore, Projector, Query};
    /// # let store = MemoryStore::new();
    /// let account = Query::builder().tag("account:7").build()?;
    /// let balance = Projector::new(account, 0_i64, |balance, event| {
    ///     *balance += event.json::<i64>().unwrap_or(0);
    /// });
    /// let withdrawn = Event::builder("Withdrawn").tag("account:7").json(&-50).build()?;
    /// let decided = DecisionModel::new(balance.keep("balance", 1))
    ///     .decide(&store, |balance| match balance >= 50 {
    ///         true => Ok(vec![withdrawn.clone()]),
    ///         false => Ok::<_, Error>(Vec::new()),
    ///     })
    ///     .await?;
    /// assert_eq!(decided.appended, None);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn keep(mut self, name: impl Into<String>, version: u32) -> Self {
        self.keep = Some(Keep {
            name: name.into(),
            version,
            keep: |state| KeptState::new(state.clone()),
            kept: KeptState::state,
            reads: |reads, name, version| reads.kept_as::<S>(name, version),
        });
        self
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

    fn reads(&self) -> Reads {
        let query = self.query.clone();
        let reads = match self.last_only {
            true => Reads::last(query),
            false => Reads::every(query),
        };
        match &self.keep {
            Some(keep) => (keep.reads)(reads, &keep.name, keep.version),
            None => reads,
        }
    }

    fn keep(&self, state: &S) -> Option<KeptState> {
        self.keep.as_ref().and_then(|keep| (keep.keep)(state))
    }

    fn kept(&self, kept: &KeptState) -> Option<S> {
        self.keep.as_ref().and_then(|keep| (keep.kept)(kept))
    }

    fn initial(&self) -> S {
        self.initial.clone()
    }

    fn apply(&self, state: &mut S, event: &SequencedEvent) -> Result<(), Error> {
        // Projections that share a snapshot also get the events of each other's queries.
        if !self.query.matches(event) {
            return Ok(());
        }
        if self.last_only {
            // Among them may be earlier events of this query.
            *state = self.initial.clone();
        }
        (self.apply)(state, event)
    }
}
