//! Decisions on two states that were read at different times.

use crate::check::check;
use crate::{Appended, Decided, DecisionModel, Error, Event, EventStore, Projected, Projection};

impl<A: Projection, B: Projection> DecisionModel<(A, B)> {
    /// Decides on states that the caller has read before, each at its own time. Use it if one of the
    /// states is expensive to read and rarely changes, such as a price list.
    ///
    /// Calls `decide` with both states, and appends the returned events under both conditions.
    /// After a conflict it reads again only the state whose condition failed, and decides again. So
    /// `decide` may be called several times. Afterwards `read` holds the states that the last call
    /// got.
    ///
    /// If `decide` returns no events or fails, nothing is appended. Old states may be the reason,
    /// so the call first checks, with one short read for each, whether they have changed. If one
    /// has, the call decides again.
    ///
    /// ```
    /// # use dcb_core::{DecisionModel, Error, Event, EventStore, MemoryStore, Projector, Query};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = MemoryStore::new();
    /// let courses = Projector::counter(Query::builder().event_type("CourseOffered").build()?);
    /// let enrolled = Projector::counter(Query::builder().tag("student_id:s1").build()?);
    /// let mut read = (store.project(&courses).await?, store.project(&enrolled).await?);
    ///
    /// // Another process offers a course. Only `courses` is read again.
    /// store.append(Event::builder("CourseOffered").build()?).await?;
    ///
    /// let model = DecisionModel::new((courses, enrolled));
    /// let decided = model
    ///     .decide_from(&store, &mut read, |courses, enrolled| match enrolled < courses {
    ///         true => Ok(vec![Event::builder("Enrolled").tag("student_id:s1").build()?]),
    ///         false => Ok::<_, Error>(Vec::new()),
    ///     })
    ///     .await?;
    /// assert_eq!(decided.appended.map(|appended| appended.first().get()), Some(2));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The errors of [`DecisionModel::decide`], and [`Error::AfterBeyondHead`] if a failover has
    /// shortened the log since a state was read: read both states again.
    pub async fn decide_from<S, V, E>(
        &self,
        store: &S,
        read: &mut (Projected<A::State>, Projected<B::State>),
        mut decide: impl FnMut(&A::State, &B::State) -> Result<V, E>,
    ) -> Result<Decided, E>
    where
        S: EventStore,
        V: Into<Vec<Event>>,
        E: From<Error>,
    {
        let mut attempts = self.attempts(store.metrics());
        loop {
            let conditions = [&read.0.condition, &read.1.condition];
            let appended = match decide(&read.0.state, &read.1.state).map(Into::<Vec<Event>>::into)
            {
                Ok(events) if events.is_empty() => check(store, conditions).await.map(|()| None),
                Ok(events) => submit(store, events, read).await.map(Some),
                Err(refused) => match check(store, conditions).await {
                    Ok(()) => return Err(refused),
                    changed => changed.map(|()| None),
                },
            };
            let changed = changed_state(&appended);
            if let Some(decided) = attempts.record(appended)? {
                return Ok(decided);
            }
            match changed {
                Some(0) => read.0 = store.project(&self.projection.0).await?,
                _ => read.1 = store.project(&self.projection.1).await?,
            }
        }
    }
}

/// Appends the events under the conditions of both states.
async fn submit<S: EventStore, A, B>(
    store: &S,
    events: Vec<Event>,
    read: &(Projected<A>, Projected<B>),
) -> Result<Appended, Error> {
    let conditions = [read.0.condition.clone(), read.1.condition.clone()];
    store.append_if(events, conditions).await
}

/// The index of the state whose condition failed.
fn changed_state(appended: &Result<Option<Appended>, Error>) -> Option<usize> {
    match appended {
        Err(Error::Conflict { condition, .. }) => Some(*condition),
        _ => None,
    }
}
