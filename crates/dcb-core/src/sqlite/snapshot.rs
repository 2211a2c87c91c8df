//! A snapshot of the log as one connection sees it, including the keys that the tag index in the file
//! does not have yet.
//!
//! The tag index has two parts, divided at a position that is read together with the head. Up to that
//! position only the keys in the file count; after it only the keys in memory do. The file may also
//! have rows after that position, which another process is moving or a crashed process left there.
//! They don't count, so no key is seen twice or missed. `tests/it/sqlite/races/indexing.rs` fails
//! without this.

use std::collections::VecDeque;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _, Result, Row};
use uuid::Uuid;

use super::key_set::KeySet;
use super::statements::{ID_AT, INDEX_END_AND_HEAD, ROLLBACK};
use super::unindexed_keys::{Generation, IndexEnd, UnindexedKeys};
use crate::bounds::Bounds;
use crate::{Bookmark, Position};

pub(super) struct Snapshot<'c> {
    pub(super) connection: &'c Connection,
    /// The number of the last position, 0 if the log is empty.
    pub(super) head: i64,
    /// The last committed event.
    pub(super) last: Option<Bookmark>,
    pub(super) index_end: IndexEnd,
    pub(super) unindexed: Arc<Generation>,
    /// The keys of events that the current transaction has written. Other connections must not see
    /// them before the commit.
    pub(super) uncommitted: KeySet,
}

/// Runs `work` in one read snapshot. SQLite holds the snapshot while the statement that read the head
/// stays open.
pub(super) fn with_snapshot<T>(
    connection: &Connection,
    unindexed_keys: &UnindexedKeys,
    work: impl FnOnce(&Snapshot<'_>) -> Result<T>,
) -> Result<T> {
    // A panic may have left a transaction open.
    if !connection.is_autocommit() {
        connection.prepare_cached(ROLLBACK)?.execute([])?;
    }
    let mut statement = connection.prepare_cached(INDEX_END_AND_HEAD)?;
    let mut rows = statement.query([])?;
    let Some(row) = rows.next()? else {
        return Err(rusqlite::Error::QueryReturnedNoRows);
    };
    let (index_end, last) = index_end_and_last(row)?;
    let unindexed = unindexed_keys.through(connection, index_end, number(last))?;
    // `rows` must live until `work` returns, because dropping it ends the snapshot.
    work(&Snapshot::new(connection, index_end, last, unindexed))
}

fn index_end_and_last(row: &Row<'_>) -> Result<(IndexEnd, Option<Bookmark>)> {
    let index_end = IndexEnd {
        through: row.get(0)?,
        clearings: row.get(1)?,
    };
    let head: Option<i64> = row.get(2)?;
    let position = head.map(i64::unsigned_abs).and_then(Position::new);
    let event_id = row.get::<_, Option<[u8; 16]>>(3)?.map(Uuid::from_bytes);
    let last = position.map(|position| Bookmark { position, event_id });
    Ok((index_end, last))
}

/// The number of the position, 0 for `None`.
fn number(last: Option<Bookmark>) -> i64 {
    Position::number_or_zero(Bookmark::position_of(last)).cast_signed()
}

impl<'c> Snapshot<'c> {
    fn new(
        connection: &'c Connection,
        index_end: IndexEnd,
        last: Option<Bookmark>,
        unindexed: Arc<Generation>,
    ) -> Self {
        Self {
            connection,
            head: number(last),
            last,
            index_end,
            unindexed,
            uncommitted: KeySet::default(),
        }
    }

    /// The log as seen by a transaction that holds the file's write lock.
    pub(super) fn for_writer(
        connection: &'c Connection,
        unindexed_keys: &UnindexedKeys,
    ) -> Result<Self> {
        let (index_end, last) = connection
            .prepare_cached(INDEX_END_AND_HEAD)?
            .query_row([], index_end_and_last)?;
        let head = number(last);
        unindexed_keys.discard_if_ahead(index_end, head);
        let unindexed = unindexed_keys.through(connection, index_end, head)?;
        Ok(Self::new(connection, index_end, last, unindexed))
    }

    /// The bookmark of the event at this position.
    pub(super) fn bookmark_at(&self, position: Position) -> Result<Bookmark> {
        let event_id = self.id_at(position)?;
        Ok(Bookmark { position, event_id })
    }

    /// The id of the event at this position.
    pub(super) fn id_at(&self, position: Position) -> Result<Option<Uuid>> {
        if let Some(last) = self.last.filter(|last| last.position == position) {
            return Ok(last.event_id);
        }
        let mut statement = self.connection.prepare_cached(ID_AT)?;
        let number = i64::try_from(position.get()).unwrap_or(i64::MAX);
        let id = statement.query_row([number], |row| row.get::<_, [u8; 16]>(0));
        Ok(id.optional()?.map(Uuid::from_bytes))
    }

    /// Adds the keys of one more event, and returns its position.
    pub(super) fn add_event(&mut self, keys: impl Iterator<Item = i64>) -> i64 {
        self.head += 1;
        for key in keys {
            self.uncommitted.add(key, self.head);
        }
        self.head
    }

    /// Makes the transaction's keys visible to the other connections. Call it after the commit.
    pub(super) fn publish(self) {
        self.unindexed.extend(&self.uncommitted, self.head);
    }

    /// The part of the bounds that the index in the file covers.
    pub(super) fn indexed_part(&self, bounds: Bounds) -> Bounds {
        Bounds {
            below: bounds.below.min(self.index_end.through + 1),
            ..bounds
        }
    }

    /// The part of the bounds whose keys are in memory. It ends at the head, because the shared keys
    /// may already contain later commits.
    pub(super) fn unindexed_part(&self, bounds: Bounds) -> Bounds {
        Bounds {
            above: bounds.above.max(self.index_end.through),
            below: bounds.below.min(self.head + 1),
            ..bounds
        }
    }

    /// The first position of a key within the bounds, among the keys in memory.
    pub(super) fn first_unindexed(&self, key: i64, bounds: Bounds) -> Option<i64> {
        let bounds = self.unindexed_part(bounds);
        if bounds.is_empty() {
            return None;
        }
        // Uncommitted events come after all committed ones.
        if bounds.backwards {
            let uncommitted = self.uncommitted.first(key, bounds);
            uncommitted.or_else(|| self.unindexed.read().keys.first(key, bounds))
        } else {
            let committed = self.unindexed.read().keys.first(key, bounds);
            committed.or_else(|| self.uncommitted.first(key, bounds))
        }
    }

    /// Appends positions of a key within the bounds, among the keys in memory, until `found` has
    /// `limit` entries.
    pub(super) fn collect_unindexed(
        &self,
        key: i64,
        bounds: Bounds,
        limit: usize,
        found: &mut VecDeque<i64>,
    ) {
        let bounds = self.unindexed_part(bounds);
        if bounds.is_empty() {
            return;
        }
        let committed = self.unindexed.read();
        if bounds.backwards {
            self.uncommitted.collect(key, bounds, limit, found);
            committed.keys.collect(key, bounds, limit, found);
        } else {
            committed.keys.collect(key, bounds, limit, found);
            self.uncommitted.collect(key, bounds, limit, found);
        }
    }

    /// The smallest key from `least` to `most` in memory.
    pub(super) fn first_unindexed_key(&self, least: i64, most: i64) -> Option<i64> {
        let committed = self.unindexed.read().keys.first_key(least, most);
        let uncommitted = self.uncommitted.first_key(least, most);
        committed.into_iter().chain(uncommitted).min()
    }
}
