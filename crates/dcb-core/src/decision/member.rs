use std::time::Instant;

use tokio::time::sleep;

use super::own::read_in_crowd;
use crate::attempts::Attempts;
use crate::kept_states::StoredState;
use crate::lane::{
    Decider, Decision, Folded, Lanes, Next, Purpose, Seat, Start, StateOutcome, Unfolded, drive,
};
use crate::projection::{ProjectionPermit, Reads, events};
use crate::{
    Bookmark, Decided, Error, EventStore, EventStream, Projection, SequencedEvent, StoredFold,
};

/// A member of a lane before its turn.
pub(crate) struct Member<'d, P: Projection, S> {
    pub(crate) projection: &'d P,
    pub(crate) reads: &'d Reads,
    pub(crate) store: &'d S,
    pub(crate) state: P::State,
    pub(crate) folded: Folded,
    /// The bookmark of the state that the database had, once it was looked for.
    loaded: Option<Option<Bookmark>>,
}

impl<'d, P: Projection, S> Member<'d, P, S> {
    pub(crate) fn new(projection: &'d P, reads: &'d Reads, store: &'d S) -> Self {
        Self {
            projection,
            reads,
            store,
            state: projection.initial(),
            folded: Folded::default(),
            loaded: None,
        }
    }

    /// Returns false, with an unusable state, if the projection can't start from the kept state.
    pub(crate) fn fold(&mut self, unfolded: Unfolded) -> Result<bool, Error> {
        let Unfolded {
            events,
            base,
            from_the_start,
            ..
        } = unfolded;
        if from_the_start {
            let kept = base.map(|kept| self.projection.kept(&kept));
            let Some(start) = kept.unwrap_or_else(|| Some(self.projection.initial())) else {
                self.folded = Folded::default();
                return Ok(false);
            };
            self.state = start;
        }
        for event in events.iter() {
            self.projection.apply_read(&mut self.state, event)?;
        }
        Ok(true)
    }

    /// Gives the lane the state of a read that found `read` events, too many to keep.
    pub(crate) fn end_large_read(
        &self,
        turn: &Decider<'_>,
        begun: Instant,
        head: Option<Bookmark>,
        read: usize,
    ) {
        match self.projection.keep(&self.state) {
            Some(state) => turn.start_from(begun, state, head, read),
            None => turn.read_alone(begun, head),
        }
    }

    /// The fold of the state to load from the database, before the member reads the whole boundary. `None`
    /// if there is none to load, or if it was loaded before.
    pub(crate) fn fold_to_load(&mut self, start: Option<&Start>) -> Option<StoredFold> {
        let is_whole = matches!(start, Some(Start::Read { after: None, .. }));
        if !is_whole || self.loaded.is_some() {
            return None;
        }
        self.loaded = Some(None);
        self.projection.stored()
    }

    /// Gives the lane the state that was loaded.
    pub(crate) fn resume_from(
        &mut self,
        turn: &Decider<'_>,
        fold: &StoredFold,
        loaded: Result<Option<StoredState>, Error>,
    ) {
        let decoded = match loaded {
            Ok(None) => return,
            Ok(Some(stored)) => stored.decode(fold).ok_or(StateOutcome::Discarded),
            // The read that follows meets the fault too, if it lasts.
            Err(_) => Err(StateOutcome::Failed),
        };
        match decoded {
            Ok((state, bookmark)) => {
                self.loaded = Some(Some(bookmark));
                turn.resume_from(state, bookmark);
            }
            Err(outcome) => turn.count_state(outcome),
        }
    }

    /// Counts whether the state that was loaded is one of this log, after a read from its bookmark.
    pub(crate) fn count_loaded(&mut self, turn: &Decider<'_>, is_of_this_log: bool) {
        if self.loaded.replace(None).flatten().is_some() {
            turn.count_state(match is_of_this_log {
                true => StateOutcome::Loaded,
                false => StateOutcome::Discarded,
            });
        }
    }

    /// The log does not have the event up to which the lane knows it. The member reads it from the start.
    pub(crate) fn forget(&mut self, turn: &Decider<'_>) {
        turn.forget();
        self.count_loaded(turn, false);
    }
}

impl<P: Projection, S: EventStore> Member<'_, P, S> {
    /// Waits for the turn. Returns it with the state that everything decided before it leads to;
    /// `None` if the turn was lost.
    pub(super) async fn reach_turn<'s>(
        mut self,
        seat: &'s Seat,
        purpose: Purpose,
    ) -> Result<Option<(Decider<'s>, P::State)>, Error> {
        // Most events are folded while other members have their turn.
        let committed = seat.committed(&mut self.folded);
        // After a kept state that can't be used, the loop below folds from the start.
        self.fold(committed)?;
        let turn = seat.turn(purpose).await;
        loop {
            let start = turn.begin(&mut self.folded);
            if let Some(fold) = self.fold_to_load(start.as_ref())
                && let Some(states) = self.store.kept_states()
            {
                let loaded = states.load(self.reads).await;
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
                Some(Start::Read { is_alone: true, .. }) => {
                    let begun = Instant::now();
                    let projected = read_in_crowd(self.store, self.projection).await?;
                    turn.read_alone(begun, projected.condition.after);
                    return Ok(Some((turn, projected.state)));
                }
                Some(Start::Read { after, pause, .. }) => {
                    if !pause.is_zero() {
                        sleep(pause).await;
                    }
                    let committed = seat.committed(&mut self.folded);
                    if !self.fold(committed)? {
                        turn.forget();
                        continue;
                    }
                    if !self.read(&turn, after).await? {
                        return Ok(Some((turn, self.state)));
                    }
                }
            }
        }
    }

    /// Reads the events after `after` for the lane. Returns false if there are too many to keep.
    /// Then they are folded.
    async fn read(&mut self, turn: &Decider<'_>, after: Option<Bookmark>) -> Result<bool, Error> {
        let _permit = self.permit().await;
        let begun = Instant::now();
        let mut events = match events(self.store, self.reads, after).await {
            Err(failed) if failed.is_of_another_past() => {
                self.forget(turn);
                return Ok(true);
            }
            opened => opened?,
        };
        self.count_loaded(turn, true);
        let mut read = Vec::new();
        let mut bytes = 0;
        while let Some(event) = events.next().await {
            let event = event?;
            bytes += event.size_bytes();
            read.push(event);
            if !Lanes::can_keep(read.len(), bytes) {
                let folded = self.fold_rest(turn, &read, &mut events).await?;
                self.end_large_read(turn, begun, events.head(), read.len() + folded);
                return Ok(false);
            }
        }
        turn.add_read(begun, after, read, events.head());
        Ok(true)
    }

    /// Folds what was read and the rest. Returns the number of events of the rest.
    async fn fold_rest(
        &mut self,
        turn: &Decider<'_>,
        read: &[SequencedEvent],
        rest: &mut EventStream,
    ) -> Result<usize, Error> {
        /// The number of events after which the turn is extended.
        const PAGE: usize = 1000;
        for event in read {
            self.projection.apply_read(&mut self.state, event)?;
        }
        let mut folded = 0;
        while let Some(event) = rest.next().await {
            self.projection.apply_read(&mut self.state, &event?)?;
            folded += 1;
            if folded % PAGE == 0 {
                turn.extend(Lanes::READ_LIMIT);
            }
        }
        Ok(folded)
    }

    /// Waits for a permit to project. A crowd must not be refused.
    async fn permit(&self) -> ProjectionPermit {
        loop {
            match self.store.projection_limit().acquire() {
                Ok(permit) => return permit,
                Err(_) => sleep(Attempts::PERMIT_PAUSE).await,
            }
        }
    }
}

/// Records the decision and waits for its outcome. `None` if it must be made again; then the member
/// has its place in the line.
pub(super) async fn conclude<S>(
    store: &S,
    turn: Decider<'_>,
    decision: Decision,
    attempts: &mut Attempts,
) -> Result<Option<Decided>, Error>
where
    S: EventStore + Clone + 'static,
{
    let seat = turn.seat();
    let has_events = !decision.events.is_empty();
    let answer = match turn.decide(decision) {
        Ok(Next::Done) => None,
        Ok(Next::Wait(answer)) => Some(answer),
        Ok(Next::Commit(append, answer)) => Some(drive(store, &seat.lane, append, answer).await),
        Ok(Next::Again(others)) => {
            // The outcome does not matter: the member reads again in each case.
            let others = async { Ok(others.await) };
            let _ = attempts.in_time(store, others).await?;
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
    let decided = attempts.outcome(store, answer, has_events).await?;
    if decided.is_none() {
        seat.decide_again();
    }
    Ok(decided)
}
