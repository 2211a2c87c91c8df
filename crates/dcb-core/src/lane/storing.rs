//! When the state of a boundary is stored in the database.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Decider, Lane};
use crate::kept_states::Refreshed;
use crate::{Error, Reads};

/// The right to store the state of a lane's boundary. There is one for each lane. Dropping it ends the work.
pub(crate) struct Storing {
    lane: Arc<Lane>,
}

/// A use of a stored state.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StateOutcome {
    /// A decision began with it.
    Loaded,
    Stored,
    /// It could not be used, and the whole boundary was read.
    Discarded,
    /// The database could not read or write it.
    Failed,
}

impl Decider<'_> {
    /// The right to store the state, if enough events have come since the last time.
    pub(crate) fn begin_storing(&self) -> Option<Storing> {
        let lane = &self.seat().lane;
        let options = lane.reads.kept.as_ref()?.stored?;
        if !lane.state().known.is_unstored(options) || lane.is_storing.swap(true, Ordering::Acquire)
        {
            return None;
        }
        lane.state().known.expect_stored();
        Some(Storing {
            lane: Arc::clone(lane),
        })
    }

    /// Counts what became of a stored state.
    pub(crate) fn count_state(&self, outcome: StateOutcome) {
        self.seat().lane.count_state(outcome);
    }
}

impl Storing {
    /// The boundary and the name of the state.
    pub(crate) fn reads(&self) -> &Reads {
        &self.lane.reads
    }

    /// The work has ended.
    pub(crate) fn end(self, refreshed: &Result<Refreshed, Error>) {
        match refreshed {
            Ok(Refreshed::Stored) => self.lane.count_state(StateOutcome::Stored),
            Ok(Refreshed::Superseded) => {}
            // Each try would read the whole boundary.
            Ok(Refreshed::NotStorable) => self.lane.state().known.store_no_more(),
            Err(_) => self.lane.count_state(StateOutcome::Failed),
        }
    }
}

impl Drop for Storing {
    fn drop(&mut self) {
        self.lane.is_storing.store(false, Ordering::Release);
    }
}

impl Lane {
    fn count_state(&self, outcome: StateOutcome) {
        if let Some(cache) = self.cache.upgrade() {
            cache.count_state(outcome);
        }
    }
}
