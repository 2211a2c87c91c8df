//! The end of the log, whose keys the tag index does not have yet.
//!
//! A key is anywhere in the index, so an event with three keys would write three pages of it. The
//! keys of new events stay in memory instead, until there are so many that a page takes several
//! (see [`indexing`](super::indexing)). Nothing is lost with them: they are made from the events,
//! which are in the file. So a process that opens the log reads its end once, and whatever other
//! processes append it reads when it looks at the log next.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rusqlite::{Connection, Result};

use super::key_set::KeySet;
use super::row;
use super::statements::TYPES_AND_TAGS;

/// How far the tag index goes. It only grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Indexed {
    /// How often the log was emptied before.
    pub(super) clearings: i64,
    /// The last position whose keys are in the index, and those before it.
    pub(super) through: i64,
}

/// The tail as the process knows it, for all of its connections.
#[derive(Debug, Default)]
pub(super) struct Tail(Mutex<Arc<Stretch>>);

/// The keys of the committed events from where the index ends. Events are added, none is taken out:
/// who looks at a moment of the log may keep it while the index, and the tail with it, moves on.
#[derive(Debug, Default)]
pub(super) struct Stretch {
    after: Indexed,
    recent: RwLock<Recent>,
}

#[derive(Debug, Default)]
pub(super) struct Recent {
    /// The last position whose keys are here.
    pub(super) through: i64,
    pub(super) keys: KeySet,
}

impl Tail {
    /// The tail at the moment that the connection sees, where the index and the log end here. Reads
    /// the events that are missing.
    pub(super) fn at(
        &self,
        connection: &Connection,
        indexed: Indexed,
        head: i64,
    ) -> Result<Arc<Stretch>> {
        let mut newest = self.newest();
        if indexed < newest.after {
            // Another connection has seen the index move on since.
            let older = Stretch::new(indexed, KeySet::default(), indexed.through);
            older.catch_up(connection, head)?;
            return Ok(Arc::new(older));
        }
        if newest.after < indexed {
            *newest = Arc::new(newest.cut(indexed));
        }
        newest.catch_up(connection, head)?;
        Ok(Arc::clone(&newest))
    }

    /// Forgets a tail that the file has not come to, where an older copy was put back into it. To be
    /// asked under the file's write lock alone: a reader's moment may be older than the tail.
    pub(super) fn forget_beyond(&self, indexed: Indexed, head: i64) {
        let mut newest = self.newest();
        if indexed < newest.after || head < newest.recent().through {
            *newest = Arc::default();
        }
    }

    /// Poisoned or not: what is missing in a tail is read from where it ends.
    fn newest(&self) -> MutexGuard<'_, Arc<Stretch>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stretch {
    fn new(after: Indexed, keys: KeySet, through: i64) -> Self {
        Self {
            after,
            recent: RwLock::new(Recent { through, keys }),
        }
    }

    /// What is left of it where the index has moved on.
    fn cut(&self, indexed: Indexed) -> Self {
        let recent = self.recent();
        if self.after.clearings == indexed.clearings && indexed.through <= recent.through {
            Self::new(indexed, recent.keys.after(indexed.through), recent.through)
        } else {
            Self::new(indexed, KeySet::default(), indexed.through)
        }
    }

    fn catch_up(&self, connection: &Connection, head: i64) -> Result<()> {
        if self.recent().through >= head {
            return Ok(());
        }
        let mut recent = self.recent_mut();
        let mut events = connection.prepare_cached(TYPES_AND_TAGS)?;
        let mut rows = events.query((recent.through, head))?;
        while let Some(row) = rows.next()? {
            let position = row::position(row)?;
            row::for_each_key(row, 1, 2, |key| recent.keys.add(key, position))?;
        }
        recent.through = recent.through.max(head);
        Ok(())
    }

    /// Takes in the keys of a commit, whose last position is `through`. Another connection may have
    /// read some of them already.
    pub(super) fn extend(&self, keys: &KeySet, through: i64) {
        let mut recent = self.recent_mut();
        recent.keys.add_all(keys);
        recent.through = recent.through.max(through);
    }

    pub(super) fn recent(&self) -> RwLockReadGuard<'_, Recent> {
        self.recent.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn recent_mut(&self) -> RwLockWriteGuard<'_, Recent> {
        self.recent.write().unwrap_or_else(PoisonError::into_inner)
    }
}
