use crate::{Append, Appended, Error, Event, EventStore, Projected, Projection};

/// Reads the state that a decision depends on, decides, appends on condition that the state still
/// holds, and begins again when it does not.
///
/// A conflict means that somebody else's decision was committed, so the log as a whole makes
/// progress however often one decision is made again.
///
/// For threads there is `sqlite::blocking::SqliteStore::decide`.
#[derive(Clone, Debug)]
#[must_use]
pub struct DecisionModel<P> {
    pub(crate) projection: P,
    max_attempts: u32,
}

/// What a decision came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// Where the events are; `None` where the decision was to append nothing.
    pub appended: Option<Appended>,
    /// How often it was decided; 1 where nothing came between.
    pub attempts: u32,
}

impl<P> DecisionModel<P> {
    /// How often a decision is made at most, where nothing else was said.
    pub const DEFAULT_MAX_ATTEMPTS: u32 = 10;
}

impl<P: Projection> DecisionModel<P> {
    /// A decision that depends on this projection and on nothing else.
    pub fn new(projection: P) -> Self {
        Self {
            projection,
            max_attempts: Self::DEFAULT_MAX_ATTEMPTS,
        }
    }

    /// Decides at most `max_attempts` times, the first included; 0 counts as 1.
    pub fn max_attempts(mut self, max_attempts: u32) -> Self {
        self.max_attempts = max_attempts.max(1);
        self
    }

    pub(crate) fn attempts(&self) -> Attempts {
        Attempts::at_most(self.max_attempts)
    }

    /// Projects, calls `decide` with the state, and appends the events that it returns under the
    /// condition of the projection. After a conflict all of it is done again, so `decide` may be
    /// called several times; no events means nothing is appended.
    ///
    /// # Errors
    /// Whatever `decide` refuses with; [`Error::RetriesExhausted`] where every attempt met a
    /// conflict; else what the store met.
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
            let append = projected.decided(&mut decide)?;
            if let Some(decided) = attempts.submit(store, append).await? {
                return Ok(decided);
            }
        }
    }
}

impl<S> Projected<S> {
    /// The append of what is decided about the state, under its condition.
    pub(crate) fn decided<V: Into<Vec<Event>>, E>(
        self,
        decide: impl FnOnce(S) -> Result<V, E>,
    ) -> Result<Append, E> {
        let events = decide(self.state)?;
        Ok(Append::new(events).condition(self.condition))
    }
}

/// The attempts at one decision.
pub(crate) struct Attempts {
    made: u32,
    max: u32,
}

impl Attempts {
    pub(crate) fn at_most(max: u32) -> Self {
        Self { made: 0, max }
    }

    /// Makes an attempt: what the decision came to; `None` where it met a conflict and is to be made
    /// again.
    pub(crate) async fn submit<S: EventStore>(
        &mut self,
        store: &S,
        append: Append,
    ) -> Result<Option<Decided>, Error> {
        let appended = match append.events.is_empty() {
            true => Ok(None),
            false => store.submit(append).await.map(Some),
        };
        self.judge(appended)
    }

    /// What an attempt came to that appended this, or nothing.
    pub(crate) fn judge(
        &mut self,
        appended: Result<Option<Appended>, Error>,
    ) -> Result<Option<Decided>, Error> {
        self.made += 1;
        let attempts = self.made;
        match appended {
            Ok(appended) => Ok(Some(Decided { appended, attempts })),
            Err(Error::Conflict { position }) if attempts >= self.max => {
                Err(Error::RetriesExhausted { attempts, position })
            }
            Err(Error::Conflict { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
