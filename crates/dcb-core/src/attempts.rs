//! The attempts at one decision: counted, and limited in number and time.

use std::future::Future;
use std::time::{Duration, Instant};

use group_commit::deadline_after;
use tokio::sync::oneshot::error::RecvError;
use tokio::time::sleep;

use crate::lane::{Answer, Outcome, pause};
use crate::until::until;
use crate::{Append, Appended, Decided, Error, EventStore, Fault, Metrics, Position};

pub(crate) struct Attempts {
    made: u32,
    max: Option<u32>,
    limit: Duration,
    begun: Instant,
    deadline: Instant,
    /// The position of the last conflict.
    conflict: Option<Position>,
    metrics: Metrics,
}

impl Attempts {
    /// The pause before another try to get a permit to project.
    pub(crate) const PERMIT_PAUSE: Duration = Duration::from_millis(1);

    /// Without `max`, attempts are made until the time limit.
    pub(crate) fn new(max: Option<u32>, limit: Duration, metrics: Metrics) -> Self {
        let begun = Instant::now();
        Self {
            made: 0,
            max,
            limit,
            begun,
            deadline: deadline_after(begun, limit),
            conflict: None,
            metrics,
        }
    }

    /// The output of `future`, unless the time limit passes first. Then the error tells why the store
    /// could not be reached, if that is the reason.
    pub(crate) async fn in_time<T>(
        &self,
        store: &impl EventStore,
        future: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let in_time = until(self.deadline, future).await;
        let late = || store.outage(self.begun).unwrap_or_else(|| self.exhausted());
        in_time.unwrap_or_else(|| Err(late()))
    }

    /// Makes one attempt. Returns `None` after a conflict and a pause.
    pub(crate) async fn submit<S: EventStore>(
        &mut self,
        store: &S,
        mut append: Append,
    ) -> Result<Option<Decided>, Error> {
        append.deadline = Some(self.deadline);
        // Stores refuse an append without events, but deciding to do nothing is not an error.
        let appended = match append.events.is_empty() {
            true => Ok(None),
            false => store.submit(append).await.map(Some),
        };
        let decided = self.record(appended)?;
        let pause = self.pause();
        if decided.is_none() && !pause.is_zero() {
            sleep(pause).await;
        }
        Ok(decided)
    }

    /// The pause after a conflict, longer after each.
    pub(crate) fn pause(&self) -> Duration {
        pause(self.made)
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    pub(crate) fn are_in_time(&self) -> bool {
        Instant::now() < self.deadline
    }

    /// Counts an attempt. Returns `None` after a conflict.
    pub(crate) fn record(
        &mut self,
        appended: Result<Option<Appended>, Error>,
    ) -> Result<Option<Decided>, Error> {
        match appended {
            Ok(appended) => Ok(Some(self.decided(appended))),
            Err(Error::Conflict { position, .. }) => self.again(Some(position)).map(|()| None),
            // Never retry `OutcomeUnknown`: a new decision may generate new ids, so the log could
            // get the events of both attempts.
            Err(error) => Err(self.failed(error)),
        }
    }

    /// The error of an append, or of the decision if it had less time than an append.
    fn failed(&self, error: Error) -> Error {
        match error {
            Error::Fault(Fault::TimedOut { .. }) if !self.are_in_time() => self.exhausted(),
            error => error,
        }
    }

    /// Waits for the outcome of a decision in a lane, and counts the attempt. `None` if it must be
    /// made again. A decision without an answer is valid already.
    pub(crate) async fn outcome(
        &mut self,
        store: &impl EventStore,
        answer: Option<Answer>,
        has_events: bool,
    ) -> Result<Option<Decided>, Error> {
        let outcome = match answer {
            // The store ends its append in time.
            Some(answer) if has_events => answer.await,
            Some(answer) => self.in_time(store, async { Ok(answer.await) }).await?,
            None => Ok(Outcome::Committed(None)),
        };
        self.concluded(outcome)
    }

    /// Counts the attempt with this outcome. `None` if it must be made again.
    pub(crate) fn concluded(
        &mut self,
        outcome: Result<Outcome, RecvError>,
    ) -> Result<Option<Decided>, Error> {
        match outcome {
            Ok(Outcome::Committed(appended)) => Ok(Some(self.decided(appended))),
            Ok(Outcome::Again(conflict)) => self.again(conflict).map(|()| None),
            Ok(Outcome::Outdated) => self.again_uncounted().map(|()| None),
            Ok(Outcome::Failed(error)) => Err(self.failed(error)),
            // A lane answers every member before it ends.
            Err(_) => Err(Fault::Closed.into()),
        }
    }

    /// Counts an attempt that must be repeated.
    ///
    /// # Errors
    /// [`Error::RetriesExhausted`] or [`Fault::TimedOut`] if it must not.
    pub(crate) fn again(&mut self, conflict: Option<Position>) -> Result<(), Error> {
        self.made += 1;
        self.conflict = conflict.or(self.conflict);
        let is_last = self.max.is_some_and(|max| self.made >= max);
        match is_last || !self.are_in_time() {
            true => Err(self.exhausted()),
            false => {
                self.metrics.decides_again();
                Ok(())
            }
        }
    }

    /// The attempt does not count, because it was made on what was known before the call.
    ///
    /// # Errors
    /// As [`Attempts::again`], if no time is left.
    fn again_uncounted(&self) -> Result<(), Error> {
        match self.are_in_time() {
            true => {
                self.metrics.decides_again();
                Ok(())
            }
            false => Err(self.exhausted()),
        }
    }

    fn decided(&mut self, appended: Option<Appended>) -> Decided {
        self.made += 1;
        self.metrics.decided(appended.is_some());
        Decided {
            appended,
            attempts: self.made,
        }
    }

    pub(crate) fn exhausted(&self) -> Error {
        self.metrics.gave_up();
        match self.conflict {
            Some(position) => Error::RetriesExhausted {
                attempts: self.made,
                position,
            },
            None => Error::Fault(Fault::TimedOut {
                operation: "decide",
                limit: self.limit,
            }),
        }
    }
}
