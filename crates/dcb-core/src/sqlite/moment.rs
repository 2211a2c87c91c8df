//! The log at one moment: what a connection sees, with the part of the tag index that is in memory.

use std::collections::VecDeque;
use std::sync::Arc;

use rusqlite::{Connection, Result, Row};

use super::alternatives::Bounds;
use super::key_set::KeySet;
use super::statements::{INDEXED_AND_HEAD, ROLLBACK};
use super::tail::{Indexed, Stretch, Tail};

pub(super) struct Moment<'c> {
    pub(super) connection: &'c Connection,
    /// The number of the last position, 0 of an empty log.
    pub(super) head: i64,
    pub(super) indexed: Indexed,
    pub(super) tail: Arc<Stretch>,
    /// The keys of what the transaction that looks has written itself.
    pub(super) own: KeySet,
}

/// Calls `work` while all that it reads is of one moment: the statement that found the head is not
/// reset before, and until then SQLite keeps what it reads.
pub(super) fn at_one_moment<T>(
    connection: &Connection,
    tail: &Tail,
    work: impl FnOnce(&Moment<'_>) -> Result<T>,
) -> Result<T> {
    // Left behind by a panic.
    if !connection.is_autocommit() {
        connection.prepare_cached(ROLLBACK)?.execute([])?;
    }
    let mut statement = connection.prepare_cached(INDEXED_AND_HEAD)?;
    let mut rows = statement.query([])?;
    let Some(row) = rows.next()? else {
        return Err(rusqlite::Error::QueryReturnedNoRows);
    };
    let (indexed, head) = ends(row)?;
    let tail = tail.at(connection, indexed, head)?;
    work(&Moment::new(connection, indexed, head, tail))
}

/// Where the index and the log end.
fn ends(row: &Row<'_>) -> Result<(Indexed, i64)> {
    let indexed = Indexed {
        through: row.get(0)?,
        clearings: row.get(1)?,
    };
    let head: Option<i64> = row.get(2)?;
    Ok((indexed, head.unwrap_or(0)))
}

impl<'c> Moment<'c> {
    fn new(connection: &'c Connection, indexed: Indexed, head: i64, tail: Arc<Stretch>) -> Self {
        Self {
            connection,
            head,
            indexed,
            tail,
            own: KeySet::default(),
        }
    }

    /// The log as a transaction that holds the file's write lock finds it.
    pub(super) fn of_writer(connection: &'c Connection, tail: &Tail) -> Result<Self> {
        let (indexed, head) = connection
            .prepare_cached(INDEXED_AND_HEAD)?
            .query_row([], ends)?;
        tail.forget_beyond(indexed, head);
        let tail = tail.at(connection, indexed, head)?;
        Ok(Self::new(connection, indexed, head, tail))
    }

    /// Takes in the keys of one more event, and returns its position.
    pub(super) fn add(&mut self, keys: impl Iterator<Item = i64>) -> i64 {
        self.head += 1;
        for key in keys {
            self.own.add(key, self.head);
        }
        self.head
    }

    /// Shares what the transaction wrote, now that it is committed.
    pub(super) fn keep_own(self) {
        self.tail.extend(&self.own, self.head);
    }

    /// The part of the bounds that the index in the file covers.
    pub(super) fn indexed(&self, bounds: Bounds) -> Bounds {
        Bounds {
            below: bounds.below.min(self.indexed.through + 1),
            ..bounds
        }
    }

    /// The part of the bounds that is in memory.
    pub(super) fn recent(&self, bounds: Bounds) -> Bounds {
        Bounds {
            above: bounds.above.max(self.indexed.through),
            below: bounds.below.min(self.head + 1),
            ..bounds
        }
    }

    /// The first position of a key within the bounds, of what is in memory.
    pub(super) fn first_recent(&self, key: i64, bounds: Bounds) -> Option<i64> {
        let bounds = self.recent(bounds);
        if bounds.is_empty() {
            return None;
        }
        if bounds.backwards {
            let own = self.own.first(key, bounds);
            own.or_else(|| self.tail.recent().keys.first(key, bounds))
        } else {
            let committed = self.tail.recent().keys.first(key, bounds);
            committed.or_else(|| self.own.first(key, bounds))
        }
    }

    /// Adds the first positions of a key within the bounds, of what is in memory, until there are
    /// `most`.
    pub(super) fn collect_recent(
        &self,
        key: i64,
        bounds: Bounds,
        most: usize,
        found: &mut VecDeque<i64>,
    ) {
        let bounds = self.recent(bounds);
        if bounds.is_empty() {
            return;
        }
        if bounds.backwards {
            self.own.collect(key, bounds, most, found);
            self.tail.recent().keys.collect(key, bounds, most, found);
        } else {
            self.tail.recent().keys.collect(key, bounds, most, found);
            self.own.collect(key, bounds, most, found);
        }
    }

    /// The first key from `least` to `most` in memory.
    pub(super) fn first_recent_key(&self, least: i64, most: i64) -> Option<i64> {
        let committed = self.tail.recent().keys.first_key(least, most);
        let own = self.own.first_key(least, most);
        committed.into_iter().chain(own).min()
    }
}
