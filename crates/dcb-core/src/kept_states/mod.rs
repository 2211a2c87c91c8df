//! The states of decisions that a store keeps in its database, so that a process that starts is warm.
//!
//! If the store knows nothing of a boundary, a decision loads the state, and reads the events after its
//! bookmark. Decisions never write one: after every [`StateOptions::every`](crate::StateOptions::every)
//! events, one of them begins a task ([`refresh`]) that reads from the log what the stored state lacks,
//! folds it, and stores the new state. So a stored state is always the fold of events as a read returns
//! them, and never of a decision that is not committed.
//!
//! A wrong state is never used:
//!
//! - Its [`StateKey`] has everything that the fold depends on, in full and not as a hash alone.
//! - The read after its bookmark fails if the log has another event there. A bookmark without an id of an
//!   event is not used, because it would accept any.
//! - A task stores a state only into the row that it opened, and only if no other task has stored one since.
//!   So what `clear` and `rebuild_keys` delete stays deleted, although a task has read before.
//!
//! Tested by `stored/` of the integration tests.

mod refresh;

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::json;

#[cfg(feature = "sqlite")]
pub(crate) use refresh::to_store;
pub(crate) use refresh::{Refreshed, refresh_in_background};

use crate::{Bookmark, Error, KeptState, Query, Reads, StateOptions, StoredFold, Upcasts};

/// The table in which a store keeps the states of [`Projector::keep_stored`](crate::Projector::keep_stored).
/// Cheap to clone.
///
/// A store returns it from [`EventStore::kept_states`](crate::EventStore::kept_states). Stores that wrap
/// another one forward it, unless they change the events that reads return.
#[derive(Clone)]
pub struct KeptStates {
    table: Arc<dyn StateTable>,
    /// The versions of the upcasts through which the events pass, one text for each layer.
    upcasts: Vec<String>,
}

impl KeptStates {
    #[cfg_attr(
        not(any(feature = "postgres", feature = "sqlite")),
        expect(dead_code, reason = "a store in memory has nothing to keep")
    )]
    pub(crate) fn new(table: impl StateTable + 'static) -> Self {
        Self {
            table: Arc::new(table),
            upcasts: Vec::new(),
        }
    }

    /// The states of the events that pass through `upcasts`.
    pub(crate) fn upcast(mut self, upcasts: &Upcasts) -> Self {
        self.upcasts.push(upcasts.versions());
        self
    }

    /// The state of this boundary, if the table has one.
    pub(crate) async fn load(&self, reads: &Reads) -> Result<Option<StoredState>, Error> {
        match StateKey::new(reads, &self.upcasts) {
            Some(key) => self.table.load(key).await,
            None => Ok(None),
        }
    }
}

impl fmt::Debug for KeptStates {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("KeptStates")
            .field("upcasts", &self.upcasts)
            .finish_non_exhaustive()
    }
}

/// The rows of a backend.
pub(crate) trait StateTable: Send + Sync {
    /// The state in the row with this key; `None` without a row, or if no state was stored in it yet.
    fn load(&self, key: StateKey) -> BoxFuture<'_, Result<Option<StoredState>, Error>>;

    /// The row with this key, which is inserted if it is missing. `None` if it can't be used now.
    fn open(&self, key: StateKey) -> BoxFuture<'_, Result<Option<StateRow>, Error>>;

    /// Stores the state in the row, if it is as it was when it was opened. Then deletes some states of
    /// lower versions. Returns whether it was stored.
    fn store(
        &self,
        key: StateKey,
        row: StateRow,
        state: StoredState,
    ) -> BoxFuture<'_, Result<bool, Error>>;
}

/// Everything on which a stored state depends, and how it is stored.
#[derive(Clone, Debug)]
pub(crate) struct StateKey {
    pub(crate) name: String,
    pub(crate) version: i64,
    /// The type of the state, the queries and the versions of upcasts, as JSON.
    pub(crate) boundary: String,
    pub(crate) options: StateOptions,
}

impl StateKey {
    /// The number of rows of lower versions that storing one state deletes.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) const DELETED_ROWS: i64 = 1_000;

    /// `None` if the state is not stored.
    pub(crate) fn new(reads: &Reads, upcasts: &[String]) -> Option<Self> {
        let kept = reads.kept.as_ref()?;
        let options = kept.stored?;
        let items = |query: &Query| {
            let texts = |item: &crate::QueryItem| {
                let types = item.types().iter().map(crate::EventType::as_str);
                let tags = item.tags().iter().map(crate::Tag::as_str);
                json!([types.collect::<Vec<_>>(), tags.collect::<Vec<_>>()])
            };
            query.items().iter().map(texts).collect::<Vec<_>>()
        };
        let boundary = json!({
            "type": kept.type_name,
            "every": reads.every.as_ref().map(items),
            "last": reads.last.iter().map(items).collect::<Vec<_>>(),
            "upcasts": upcasts,
        });
        Some(Self {
            name: kept.name.clone(),
            version: kept.version.into(),
            boundary: boundary.to_string(),
            options,
        })
    }
}

/// A state, and the bookmark up to which its events are folded, as a row has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredState {
    pub(crate) bookmark: String,
    pub(crate) text: String,
}

impl StoredState {
    /// `None` if the row does not have what this library stores.
    pub(crate) fn decode(&self, fold: &StoredFold) -> Option<(KeptState, Bookmark)> {
        Some((fold.decode(&self.text)?, self.bookmark()?))
    }

    fn bookmark(&self) -> Option<Bookmark> {
        let bookmark = self.bookmark.parse::<Bookmark>().ok();
        // Without an id, it would accept any event.
        bookmark.filter(|bookmark| bookmark.event_id.is_some())
    }
}

/// A row, as it was when it was opened.
#[derive(Clone, Debug)]
pub(crate) struct StateRow {
    /// Differs if the row was deleted and inserted again.
    pub(crate) generation: String,
    /// `None` until a state is stored.
    pub(crate) state: Option<StoredState>,
}
