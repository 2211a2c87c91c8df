//! Stores the state of a boundary, folded from the log.

use tokio::runtime::Handle;
use tokio::time::sleep;

use super::{KeptStates, StateKey, StateRow, StoredState};
use crate::attempts::Attempts;
use crate::lane::Storing;
use crate::projection::{Folding, events};
use crate::{Bookmark, Error, EventStore, Reads, StateOptions, StoredFold};

/// The result of storing a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refreshed {
    Stored,
    /// Another task has stored one, the row was deleted meanwhile, or the log is empty.
    Superseded,
    /// It is too large, its text does not tell all of it, or there is no table for it.
    NotStorable,
}

/// Begins a task that stores the state of the lane's boundary.
pub(crate) fn refresh_in_background<S>(store: &S, storing: Storing, fold: Option<StoredFold>)
where
    S: EventStore + Clone + 'static,
{
    let table = fold.zip(store.kept_states());
    let (Some((fold, states)), Ok(runtime)) = (table, Handle::try_current()) else {
        return storing.end(&Ok(Refreshed::NotStorable));
    };
    let store = store.clone();
    runtime.spawn(async move {
        let refreshed = refresh(&store, &states, storing.reads(), &fold).await;
        storing.end(&refreshed);
    });
}

async fn refresh<S: EventStore>(
    store: &S,
    states: &KeptStates,
    reads: &Reads,
    fold: &StoredFold,
) -> Result<Refreshed, Error> {
    let Some(key) = StateKey::new(reads, &states.upcasts) else {
        return Ok(Refreshed::NotStorable);
    };
    let Some(row) = states.table.open(key.clone()).await? else {
        return Ok(Refreshed::Superseded);
    };
    let _permit = loop {
        match store.projection_limit().acquire() {
            Ok(permit) => break permit,
            Err(_) => sleep(Attempts::PERMIT_PAUSE).await,
        }
    };
    let (mut folding, after) = row.resume(fold);
    let mut events = match events(store, reads, after).await {
        Err(failed) if failed.is_of_another_past() => {
            folding = fold.begin();
            events(store, reads, None).await?
        }
        opened => opened?,
    };
    while let Some(event) = events.next().await {
        folding.apply(&event?)?;
    }
    match to_store(&*folding, events.head(), key.options) {
        Ok(state) => Refreshed::of(states.table.store(key, row, state).await),
        Err(refreshed) => Ok(refreshed),
    }
}

impl Refreshed {
    /// The result for an answer of [`StateTable::store`](super::StateTable::store).
    pub(crate) fn of(stored: Result<bool, Error>) -> Result<Self, Error> {
        Ok(match stored? {
            true => Self::Stored,
            false => Self::Superseded,
        })
    }
}

impl StateRow {
    /// Continues from the state in the row, after its bookmark; or begins, if it has none that can be used.
    pub(crate) fn resume(&self, fold: &StoredFold) -> (Box<dyn Folding>, Option<Bookmark>) {
        let stored = self.state.as_ref();
        let resumed =
            stored.and_then(|stored| Some((fold.resume(&stored.text)?, stored.bookmark()?)));
        match resumed {
            Some((folding, after)) => (folding, Some(after)),
            None => (fold.begin(), None),
        }
    }
}

/// The state of all events up to `head`.
pub(crate) fn to_store(
    folding: &dyn Folding,
    head: Option<Bookmark>,
    options: StateOptions,
) -> Result<StoredState, Refreshed> {
    let text = folding.text().and_then(|text| options.limit(text));
    let text = text.ok_or(Refreshed::NotStorable)?;
    let head = head.filter(|head| head.event_id.is_some());
    let bookmark = head.ok_or(Refreshed::Superseded)?.to_string();
    Ok(StoredState { bookmark, text })
}
