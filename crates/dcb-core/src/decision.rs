use crate::{Append, Appended, Error, Event, EventStore, Projected, Projection};

/// Reads the state that a decision depends on, decides, and appends on condition that the state has
/// not changed. After a conflict it starts over.
///
/// A conflict means that another decision was committed, so the log as a whole makes progress even
/// if one decision has to retry often.
///
/// `sqlite::BlockingSqliteStore::decide` is the same without async.
#[derive(Clone, Debug)]
#[must_use]
pub struct DecisionModel<P> {
    pub(crate) projection: P,
    max_attempts: u32,
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
    /// The default maximum number of attempts.
    pub const DEFAULT_MAX_ATTEMPTS: u32 = 10;
}

impl<P: Projection> DecisionModel<P> {
    /// Creates a decision that depends only on this projection.
    pub fn new(projection: P) -> Self {
        Self {
            projection,
            max_attempts: Self::DEFAULT_MAX_ATTEMPTS,
        }
    }

    /// Sets the maximum number of attempts, including the first; 0 counts as 1.
    pub fn max_attempts(mut self, max_attempts: u32) -> Self {
        self.max_attempts = max_attempts.max(1);
        self
    }

    pub(crate) fn attempts(&self) -> Attempts {
        Attempts::at_most(self.max_attempts)
    }

    /// Projects the state, calls `decide` with it, and appends the returned events under the
    /// condition of the projection.
    ///
    /// After a conflict it repeats all three steps, so `decide` may be called several times. If
    /// `decide` returns no events, nothing is appended.
    ///
    /// # Errors
    /// The error of `decide`; [`Error::RetriesExhausted`] if every attempt ended in a conflict; or
    /// any other error of [`EventStore::project`] and [`EventStore::submit`].
    pub async fn decide<S, V, E>(
        &self,
        store: &S,
        mut decide: impl FnMut(P::State) -> Result<V, E>,
    ) -> Result<Decided, E>
    where
        S: EventStore,
        V: Into<Vec<Event>>,
        E: From<Error>,
    {
        let mut attempts = self.attempts();
        loop {
            let projected = store.project(&self.projection).await?;
            let append = projected.into_append(&mut decide)?;
            if let Some(decided) = attempts.submit(store, append).await? {
                return Ok(decided);
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

/// Counts and limits the attempts at one decision.
pub(crate) struct Attempts {
    made: u32,
    max: u32,
}

impl Attempts {
    pub(crate) fn at_most(max: u32) -> Self {
        Self { made: 0, max }
    }

    /// Makes one attempt. Returns `None` after a conflict that should be retried.
    pub(crate) async fn submit<S: EventStore>(
        &mut self,
        store: &S,
        append: Append,
    ) -> Result<Option<Decided>, Error> {
        // Stores refuse an append without events, but deciding to do nothing is not an error.
        let appended = match append.events.is_empty() {
            true => Ok(None),
            false => store.submit(append).await.map(Some),
        };
        self.record(appended)
    }

    /// Counts an attempt with this outcome. Returns `None` after a conflict that should be retried.
    pub(crate) fn record(
        &mut self,
        appended: Result<Option<Appended>, Error>,
    ) -> Result<Option<Decided>, Error> {
        self.made += 1;
        let attempts = self.made;
        match appended {
            Ok(appended) => Ok(Some(Decided { appended, attempts })),
            Err(Error::Conflict { position, .. }) if attempts >= self.max => {
                Err(Error::RetriesExhausted { attempts, position })
            }
            Err(Error::Conflict { .. }) => Ok(None),
            // Never retry `OutcomeUnknown`: a new decision may generate new ids, so the log could
            // get the events of both attempts.
            Err(error) => Err(error),
        }
    }
}
