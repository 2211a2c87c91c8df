use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{KeptState, Projection, ProjectorBuilder, Reads, StateOptions, StoredFold};
use crate::text::{check, invalid};
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
    stored: Option<Stored<S>>,
}

/// How the database keeps the state too.
struct Stored<S> {
    options: StateOptions,
    fold: fn(Projector<S>) -> StoredFold,
}

// Shared with the task that stores the state.
pub(super) type Apply<S> = Arc<dyn Fn(&mut S, &SequencedEvent) -> Result<(), Error> + Send + Sync>;

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
        Self::fallible(query, initial, Arc::new(apply))
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
            stored: None,
        });
        self
    }
}

impl<S: Clone + Serialize + DeserializeOwned + Send + Sync + 'static> Projector<S> {
    /// Lets a store keep the state in its database too, so that the first decision of a process that starts
    /// reads only what is new. Otherwise as [`Projector::keep`]. PostgreSQL and SQLite files keep such
    /// states; other stores keep them in memory only. See [`cost`](crate::cost).
    ///
    /// After every [`StateOptions::every`] events, a task folds what is new from the log, and stores the
    /// state in a separate transaction. No decision waits for it. The state is stored as JSON, which must
    /// tell all of it: a field that serde skips is lost.
    ///
    /// A stored state is used only if the name, the version, the type of the state, the query and the
    /// versions of the [`Upcasts`](crate::Upcasts) are the same, and if the log still has the event up to
    /// which it was folded. It is deleted by `clear` and `rebuild_keys`. A state of a lower version
    /// is deleted once one of this version is stored.
    ///
    /// The name has 1 to 255 characters; decisions check it.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), dcb_core::Error> {
    /// # use dcb_core::{DecisionModel, Error, Event, MemoryStore, Projector, Query, StateOptions};
    /// # let store = MemoryStore::new();
    /// let account = Query::builder().tag("account:7").build()?;
    /// let balance = Projector::new(account, 0_i64, |balance, event| {
    ///     *balance += event.json::<i64>().unwrap_or(0);
    /// });
    /// let balance = balance.keep_stored("balance", 1, StateOptions::new().every(500));
    /// let deposited = Event::builder("Deposited").tag("account:7").json(&50).build()?;
    /// DecisionModel::new(balance)
    ///     .decide(&store, |_| Ok::<_, Error>(deposited.clone()))
    ///     .await?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn keep_stored(self, name: impl Into<String>, version: u32, options: StateOptions) -> Self {
        let mut stored = self.keep(name, version);
        if let Some(keep) = &mut stored.keep {
            keep.stored = Some(Stored {
                options,
                fold: StoredFold::new,
            });
        }
        stored
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
        let Some(keep) = &self.keep else {
            return reads;
        };
        let reads = (keep.reads)(reads, &keep.name, keep.version);
        match &keep.stored {
            Some(stored) => reads.stored(stored.options),
            None => reads,
        }
    }

    fn check(&self) -> Result<(), Error> {
        const MAX_CHARS: usize = 255;
        match &self.keep {
            Some(keep) if keep.stored.is_some() => {
                check(&keep.name, MAX_CHARS).map_err(invalid("name"))
            }
            _ => Ok(()),
        }
    }

    fn stored(&self) -> Option<StoredFold> {
        let stored = self.keep.as_ref()?.stored.as_ref()?;
        Some((stored.fold)(Self {
            query: self.query.clone(),
            initial: self.initial.clone(),
            apply: Arc::clone(&self.apply),
            last_only: self.last_only,
            keep: None,
        }))
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
        match self.query.matches(event) {
            true => self.apply_read(state, event),
            false => Ok(()),
        }
    }

    fn apply_read(&self, state: &mut S, event: &SequencedEvent) -> Result<(), Error> {
        if self.last_only {
            // There may be earlier events of this query.
            *state = self.initial.clone();
        }
        (self.apply)(state, event)
    }
}
