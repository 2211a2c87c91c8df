use std::thread;

use super::blocking::BlockingSqliteStore;
use crate::attempts::Attempts;
use crate::{Decided, DecisionModel, Error, Event, Projection};

impl BlockingSqliteStore {
    /// Projects the state, decides, and appends under the projection's condition. After a conflict it
    /// starts over. See [`DecisionModel::decide`].
    ///
    /// Decisions on the same boundary take turns with those of the async store, one commit each.
    ///
    /// ```
    /// # fn main() -> Result<(), dcb_core::Error> {
    /// use dcb_core::sqlite::{BlockingSqliteStore, Config};
    /// use dcb_core::{DecisionModel, Event, Projector, Query};
    ///
    /// let store = BlockingSqliteStore::open(Config::memory())?;
    /// let seats = Query::builder().tag_pair("course", "c1").build()?;
    /// let model = DecisionModel::new(Projector::counter(seats));
    /// let decided = store.decide(&model, |taken| {
    ///     let seat = Event::builder("SeatTaken").tag_pair("course", "c1").json(&(taken + 1));
    ///     seat.build()
    /// })?;
    /// assert_eq!(decided.attempts, 1);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The error of `decide`; [`Error::RetriesExhausted`] if every attempt ended in a conflict; or
    /// any other error of [`BlockingSqliteStore::project`] and [`BlockingSqliteStore::submit`].
    pub fn decide<P, V, E>(
        &self,
        model: &DecisionModel<P>,
        mut decide: impl FnMut(P::State) -> Result<V, E>,
    ) -> Result<Decided, E>
    where
        P: Projection,
        V: Into<Vec<Event>>,
        E: From<Error>,
    {
        let mut attempts = model.attempts(self.log.counters.metrics.clone());
        let reads = model.projection.reads();
        // Held over all attempts, so that the decision keeps its place in the line.
        let turn = self.log.lanes.turn_blocking(&reads, attempts.deadline());
        let _turn = turn.ok_or_else(|| attempts.exhausted())?;
        loop {
            let projected = match self.project(&model.projection) {
                // A crowd must not be refused.
                Err(Error::TooManyProjections { .. }) if attempts.are_in_time() => {
                    thread::sleep(Attempts::PERMIT_PAUSE);
                    continue;
                }
                projected => projected?,
            };
            let append = projected.into_append(&mut decide)?;
            // `submit` refuses an append without events, but deciding to do nothing is not an error.
            let appended = match append.events.is_empty() {
                true => Ok(None),
                false => self.submit(append).map(Some),
            };
            if let Some(decided) = attempts.record(appended)? {
                return Ok(decided);
            }
            thread::sleep(attempts.pause());
        }
    }
}
