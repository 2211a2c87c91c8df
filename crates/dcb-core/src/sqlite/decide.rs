use std::thread;
use std::time::Instant;

use super::blocking::BlockingSqliteStore;
use crate::attempts::Attempts;
use crate::decision::Member;
use crate::lane::{
    Decider, Decision, Lanes, Next, Outcome, Purpose, Seat, Start, drive_blocking, wait_for_answer,
};
use crate::projection::ProjectionPermit;
use crate::{
    Append, Appended, Bookmark, Decided, DecisionModel, Error, Event, Projection, ReadOptions,
};

impl BlockingSqliteStore {
    /// Projects the state, decides, and appends under the projection's condition. After a conflict it
    /// starts over. See [`DecisionModel::decide`].
    ///
    /// Decisions on the same boundary follow each other in the lanes of the async store, and share commits
    /// with it. If others have decided meanwhile, a thread commits their events.
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
        model.projection.check()?;
        let mut attempts = model.attempts(self.log.counters.metrics.clone());
        let reads = model.projection.reads();
        let seat = self.log.lanes.enter(&reads);
        loop {
            let member = Member::new(&model.projection, &reads, self);
            let purpose = model.purpose();
            let reached = member.reach_turn_blocking(&seat, purpose, &attempts)?;
            let Some((turn, state)) = reached else {
                attempts.again(None)?;
                seat.go_to_the_end();
                continue;
            };
            if let Some(storing) = turn.begin_storing() {
                self.refresh_in_background(storing, model.projection.stored());
            }
            let (events, refused) = match decide(state) {
                Ok(events) => (events.into(), None),
                Err(refused) => (Vec::new(), Some(refused)),
            };
            let decision = Decision {
                events,
                conditions: Vec::new(),
                command: model.command.clone(),
                deadline: attempts.deadline(),
            };
            if let Some(decided) = self.conclude(turn, decision, &mut attempts)? {
                return refused.map_or(Ok(decided), Err);
            }
        }
    }

    /// Records the decision and waits for its outcome. `None` if it must be made again; then the member
    /// has its place in the line.
    fn conclude(
        &self,
        turn: Decider<'_>,
        decision: Decision,
        attempts: &mut Attempts,
    ) -> Result<Option<Decided>, Error> {
        let seat = turn.seat();
        // The store ends an append in time.
        let deadline = decision.events.is_empty().then(|| attempts.deadline());
        let answer = match turn.decide(decision) {
            Ok(Next::Done) => None,
            Ok(Next::Wait(answer)) => Some(answer),
            Ok(Next::Commit(append, answer)) => {
                let store = self.clone();
                drive_blocking(&seat.lane, append, move |append| {
                    store.commit_or_check(append)
                });
                Some(answer)
            }
            Ok(Next::Again(_)) => {
                attempts.again(None)?;
                seat.decide_again();
                return Ok(None);
            }
            Err(lost) => {
                attempts.again(None)?;
                seat.rejoin(&lost);
                return Ok(None);
            }
        };
        let outcome = match answer {
            None => Ok(Outcome::Committed(None)),
            Some(answer) => {
                wait_for_answer(answer, deadline).ok_or_else(|| attempts.exhausted())?
            }
        };
        let decided = attempts.concluded(outcome)?;
        if decided.is_none() {
            seat.decide_again();
        }
        Ok(decided)
    }

    /// Appends; without events, only checks the condition.
    fn commit_or_check(&self, append: Append) -> Result<Option<Appended>, Error> {
        if !append.events.is_empty() {
            return self.submit(append).map(Some);
        }
        for (condition, is) in append.conditions.iter().enumerate() {
            let next = ReadOptions::new().after(is.after).limit(1);
            let found = self.query(&is.fail_if_events_match, next)?;
            if let Some(event) = found.events.first() {
                let position = event.position();
                return Err(Error::Conflict {
                    position,
                    condition,
                });
            }
        }
        Ok(None)
    }
}

impl<P: Projection> Member<'_, P, BlockingSqliteStore> {
    /// `reach_turn` for a thread.
    fn reach_turn_blocking<'s>(
        mut self,
        seat: &'s Seat,
        purpose: Purpose,
        attempts: &Attempts,
    ) -> Result<Option<(Decider<'s>, P::State)>, Error> {
        let turn = seat.turn_blocking(purpose, attempts.deadline());
        let turn = turn.ok_or_else(|| attempts.exhausted())?;
        loop {
            let start = turn.begin(&mut self.folded);
            if let Some(fold) = self.fold_to_load(start.as_ref())
                && let Some(loaded) = self.store.log.load_state(self.reads)
            {
                self.resume_from(&turn, &fold, loaded);
                continue;
            }
            match start {
                None => return Ok(None),
                Some(Start::Fold(events)) => {
                    let is_committed = events.is_committed;
                    if !self.fold(events)? {
                        turn.forget();
                        continue;
                    }
                    // The commit may have ended meanwhile, but the fold has the estimates.
                    if is_committed {
                        turn.keep(|| self.projection.keep(&self.state));
                    }
                    return Ok(Some((turn, self.state)));
                }
                Some(Start::Read { after, pause, .. }) => {
                    thread::sleep(pause);
                    let committed = seat.committed(&mut self.folded);
                    if !self.fold(committed)? {
                        turn.forget();
                        continue;
                    }
                    if !self.read_blocking(&turn, after, attempts)? {
                        return Ok(Some((turn, self.state)));
                    }
                }
            }
        }
    }

    /// Reads the events after `after` for the lane. Returns false if there are too many to keep. Then they
    /// are folded.
    fn read_blocking(
        &mut self,
        turn: &Decider<'_>,
        after: Option<Bookmark>,
        attempts: &Attempts,
    ) -> Result<bool, Error> {
        /// The number of events after which the turn is extended.
        const PAGE: usize = 1000;
        let _permit = self.permit_blocking(attempts)?;
        let begun = Instant::now();
        let (mut events, head) = match self.store.events(self.reads, after) {
            Err(failed) if failed.is_of_another_past() => {
                self.forget(turn);
                return Ok(true);
            }
            opened => opened?,
        };
        self.count_loaded(turn, true);
        let (mut read, mut bytes) = (Vec::new(), 0);
        while let Some(event) = events.next().transpose()? {
            bytes += event.size_bytes();
            read.push(event);
            if !Lanes::can_keep(read.len(), bytes) {
                let mut folded = 0;
                for event in read.into_iter().map(Ok).chain(events) {
                    self.projection.apply_read(&mut self.state, &event?)?;
                    folded += 1;
                    if folded % PAGE == 0 {
                        turn.extend(Lanes::READ_LIMIT);
                    }
                }
                self.end_large_read(turn, begun, head, folded);
                return Ok(false);
            }
        }
        turn.add_read(begun, after, read, head);
        Ok(true)
    }

    /// Waits for a permit to project. A crowd must not be refused.
    fn permit_blocking(&self, attempts: &Attempts) -> Result<ProjectionPermit, Error> {
        loop {
            match self.store.log.projections.acquire() {
                Err(Error::TooManyProjections { .. }) if attempts.are_in_time() => {
                    thread::sleep(Attempts::PERMIT_PAUSE);
                }
                permit => return permit,
            }
        }
    }
}
