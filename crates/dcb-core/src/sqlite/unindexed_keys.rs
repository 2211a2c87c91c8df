//! The keys of the newest events, which the tag index in the file does not have yet.
//!
//! Keys are hashes, so the keys of an event belong to random pages of the index: an event with three
//! keys would write three pages. Instead, the keys of new events stay in memory until enough have
//! accumulated that each page receives several (see [`indexing`](super::indexing)). A crash loses
//! nothing, because the keys are derived from the events in the file. A process reads the unindexed
//! end of the log when it opens it, and later the events that other processes have appended.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rusqlite::{Connection, Result};

use super::key_set::KeySet;
use super::row;
use super::statements::TYPES_AND_TAGS;

/// The end of the tag index in the file. It only grows.
///
/// The number of clearings is compared first, because positions start at 1 again when the log is
/// emptied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct IndexEnd {
    /// How many times the log has been emptied.
    pub(super) clearings: i64,
    /// The index contains the keys of all events up to this position.
    pub(super) through: i64,
}

/// The newest generation of unindexed keys, shared by all connections of a process.
///
/// Lock order: this mutex, then the lock inside a [`Generation`].
#[derive(Debug, Default)]
pub(super) struct UnindexedKeys(Mutex<Arc<Generation>>);

/// The keys of the committed events that come after a given end of the index.
///
/// Keys are added but never removed. When the index advances, a new generation replaces this one, and
/// snapshots that use this one keep it.
#[derive(Debug, Default)]
pub(super) struct Generation {
    after: IndexEnd,
    committed: RwLock<CommittedKeys>,
}

#[derive(Debug, Default)]
pub(super) struct CommittedKeys {
    /// The last position whose keys are included.
    pub(super) through: i64,
    pub(super) keys: KeySet,
}

impl UnindexedKeys {
    /// The unindexed keys of a snapshot with this index end and head. If the keys of the newest
    /// events are missing in memory, reads these events from the file first.
    pub(super) fn through(
        &self,
        connection: &Connection,
        index_end: IndexEnd,
        head: i64,
    ) -> Result<Arc<Generation>> {
        let mut newest = self.newest();
        if index_end < newest.after {
            // Another connection has a newer snapshot, in which the index has advanced. Give this one
            // a private generation, and leave the newest in place.
            let older = Generation::new(index_end, KeySet::default(), index_end.through);
            older.catch_up(connection, head)?;
            return Ok(Arc::new(older));
        }
        if newest.after < index_end {
            *newest = Arc::new(newest.advanced_to(index_end));
        }
        newest.catch_up(connection, head)?;
        Ok(Arc::clone(&newest))
    }

    /// Discards keys that are ahead of the file, which happens if an older copy of the file was
    /// restored.
    ///
    /// Call it only under the file's write lock. A reader's snapshot may legitimately be older than
    /// the keys.
    pub(super) fn discard_if_ahead(&self, index_end: IndexEnd, head: i64) {
        let mut newest = self.newest();
        if index_end < newest.after || head < newest.read().through {
            *newest = Arc::default();
        }
    }

    /// Ignoring poison is safe: if a panic left keys out, `catch_up` reads them again from the
    /// file.
    fn newest(&self) -> MutexGuard<'_, Arc<Generation>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Generation {
    fn new(after: IndexEnd, keys: KeySet, through: i64) -> Self {
        Self {
            after,
            committed: RwLock::new(CommittedKeys { through, keys }),
        }
    }

    /// The generation that replaces this one, without the keys that the index now has.
    fn advanced_to(&self, index_end: IndexEnd) -> Self {
        let committed = self.read();
        if self.after.clearings == index_end.clearings && index_end.through <= committed.through {
            let keys = committed.keys.after(index_end.through);
            Self::new(index_end, keys, committed.through)
        } else {
            // The log was emptied, or the index has overtaken these keys: start empty.
            Self::new(index_end, KeySet::default(), index_end.through)
        }
    }

    fn catch_up(&self, connection: &Connection, head: i64) -> Result<()> {
        if self.read().through >= head {
            return Ok(());
        }
        let mut committed = self.write();
        let mut events = connection.prepare_cached(TYPES_AND_TAGS)?;
        let mut rows = events.query((committed.through, head))?;
        while let Some(row) = rows.next()? {
            let position = row::position(row)?;
            row::for_each_key(row, 1, 2, |key| committed.keys.add(key, position))?;
        }
        // Advance only after the last event, so that the read is repeated after a failure. Adding a
        // key twice is harmless.
        committed.through = committed.through.max(head);
        Ok(())
    }

    /// Adds the keys of a commit whose last position is `through`. Another connection may already
    /// have read some of them from the file.
    pub(super) fn extend(&self, keys: &KeySet, through: i64) {
        let mut committed = self.write();
        committed.keys.add_all(keys);
        committed.through = committed.through.max(through);
    }

    pub(super) fn read(&self) -> RwLockReadGuard<'_, CommittedKeys> {
        self.committed
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, CommittedKeys> {
        self.committed
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
