//! The database's part of a sliced projection.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::share::Share;
use super::standing::{Meet, Standing, limits};
use crate::{Bookmark, Error, Position, SequencedEvent};

/// A member without a sign of life for this time loses its slices, by the database's clock.
pub(crate) const LEASE: Duration = Duration::from_millis(1200);
/// The pause between two signs of life.
pub(crate) const BEAT: Duration = Duration::from_millis(300);

/// The database's part of a [`SlicedModel`](super::SlicedModel).
pub trait Model: Clone + Send + Sync + 'static {
    /// The name of the projection, and the version.
    fn name_and_version(&self) -> (&str, u32);

    /// Makes the projection's version known, with this number of slices, unless it is.
    fn open(&mut self, slices: u32) -> impl Future<Output = Result<(), Error>> + Send;

    /// Gives a sign of life, and takes slices that are free or whose member is dead.
    ///
    /// # Errors
    /// [`Error::Superseded`] if the version is retired.
    fn beat(&mut self, member: Uuid) -> impl Future<Output = Result<Held, Error>> + Send;

    /// Gives all slices but `keep` of them back.
    fn give_back(
        &mut self,
        member: Uuid,
        keep: usize,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Handles the events of a share and moves the checkpoints of its slices, in one transaction.
    ///
    /// # Errors
    /// [`Error::CheckpointMoved`] if a slice has another epoch or position than the share says.
    fn apply(&mut self, share: Arc<Share>) -> impl Future<Output = Result<(), Error>> + Send;

    /// Records the only event of a share, and moves the checkpoint over it.
    fn set_aside(
        &mut self,
        share: Arc<Share>,
        parked: bool,
        error: &str,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Stops the only slice of a share before its first event.
    fn stop(
        &mut self,
        share: Arc<Share>,
        error: &str,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Makes this version the current one if the slices of both versions meet. Returns whether it is the
    /// current one.
    fn try_to_promote(&mut self, meet: Meet) -> impl Future<Output = Result<bool, Error>> + Send;

    /// Deletes the version and empties its tables.
    fn throw_away(&mut self) -> impl Future<Output = Result<(), Error>> + Send;

    /// The first parked event of a key.
    fn next_parked(
        &mut self,
        key: &str,
    ) -> impl Future<Output = Result<Option<Position>, Error>> + Send;

    /// Handles a parked event. Returns whether it was still parked.
    fn replay_one(
        &mut self,
        event: SequencedEvent,
    ) -> impl Future<Output = Result<bool, Error>> + Send;
}

/// The slices that a member holds, at its last sign of life.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Those that work, by number.
    pub(crate) slices: Vec<HeldSlice>,
    /// The number of slices that the member should hold at most, for others to have theirs.
    pub(crate) quota: usize,
    /// The number of slices of the projection.
    pub(crate) total: u32,
    /// All slices of the projection have handled the events up to here.
    pub(crate) floor: Option<Position>,
    /// No slice may pass this event for now.
    pub(crate) stop_at: Option<Bookmark>,
}

impl Held {
    /// Lets the slices follow those of the current version. Slices that have reached them rest, and the
    /// others go on to the next place at which one of them rests.
    pub(crate) fn stay_behind(&mut self, current: &[Standing]) {
        let limits = limits(current, self.total);
        let limit = |slice: &HeldSlice| limits[slice.slice as usize];
        self.slices.retain(|slice| {
            Bookmark::position_of(slice.stored) < Bookmark::position_of(limit(slice))
        });
        let places = self.slices.iter().filter_map(limit).chain(self.stop_at);
        self.stop_at = places.min_by_key(|at| at.position);
    }
}

/// A slice and its holder's right to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeldSlice {
    pub(crate) slice: u32,
    pub(crate) epoch: i64,
    /// The checkpoint in the database.
    pub(crate) stored: Option<Bookmark>,
}

/// The number of slices that a member should hold at most.
pub(crate) fn share_of(slices: u32, members: i64) -> u32 {
    let members = u32::try_from(members.max(1)).unwrap_or(u32::MAX);
    slices.div_ceil(members)
}

/// A version of a projection, as `list` returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProjectionStatus {
    /// The name of the projection.
    pub name: String,
    /// The version.
    pub version: u32,
    /// Whether readers use this version.
    pub state: ProjectionState,
    /// The number of slices.
    pub slices: u32,
    /// The number of members that gave a sign of life lately.
    pub members: u32,
    /// All slices have handled the events up to this position. `None` at the beginning.
    pub position: Option<Position>,
    /// The events that are parked.
    pub parked: u64,
    /// The slices that have stopped, each with its error.
    pub stopped: Vec<(u32, String)>,
}

impl ProjectionStatus {
    /// The positions that the version has passed in a second, since `earlier`, a time of `elapsed` ago.
    pub fn rate(&self, earlier: &Self, elapsed: Duration) -> f64 {
        let number = |status: &Self| Position::number_or_zero(status.position);
        let passed = number(self).saturating_sub(number(earlier));
        passed as f64 / elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// The time until the version reaches `head` at a [rate](ProjectionStatus::rate). `None` if it does
    /// not move.
    pub fn time_left(&self, head: Position, rate: f64) -> Option<Duration> {
        let left = head
            .get()
            .saturating_sub(Position::number_or_zero(self.position));
        Duration::try_from_secs_f64(left as f64 / rate).ok()
    }
}

/// The state of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProjectionState {
    /// It is built beside the current version.
    Building,
    /// Readers use it.
    Current,
    /// A later version has taken its place.
    Retired,
}

impl ProjectionState {
    /// The state with this name in the database.
    pub(crate) fn of(name: &str) -> Self {
        match name {
            "current" => Self::Current,
            "retired" => Self::Retired,
            _ => Self::Building,
        }
    }
}

/// An event that a projection did not handle.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SetAside {
    /// The position of the event.
    pub position: Position,
    /// Its key.
    pub key: String,
    /// Whether the event waits to be replayed; else it is skipped.
    pub is_parked: bool,
    /// The error of the handler. `None` if the event is parked behind an earlier one.
    pub error: Option<String>,
}

/// An event and its key.
pub(crate) type Keyed = (SequencedEvent, String);

/// Events of a share that the model handles, and those that are parked behind earlier ones.
pub(crate) fn divide(
    share: &Share,
    is_parked: impl Fn(&str) -> bool,
) -> Result<(Vec<SequencedEvent>, Vec<Keyed>), Error> {
    let (mut handled, mut parked) = (Vec::new(), Vec::new());
    for event in &share.events {
        let key = share.key.key(event)?;
        if is_parked(&key) {
            parked.push((event.clone(), key));
        } else {
            handled.push(event.clone());
        }
    }
    Ok((handled, parked))
}
