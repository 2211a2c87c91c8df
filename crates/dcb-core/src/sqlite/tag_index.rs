//! Searching the tag index, in the file and in memory. No other module walks it.

use std::collections::VecDeque;

use rusqlite::Result;

use super::alternatives::{Alternative, Conjunction};
use super::keys::{TYPE_BITS, tag_bits};
use super::late_statement::LateStatement;
use super::row::position;
use super::snapshot::Snapshot;
use super::statements::{FIRST_KEY, POSITIONS_OF_KEY};
use crate::bounds::Bounds;

/// The tag index, for a search within bounds.
pub(super) struct TagIndex<'s> {
    snapshot: &'s Snapshot<'s>,
    /// Whether all events within the bounds have their keys in memory.
    is_in_memory: bool,
    positions: LateStatement<'s>,
    first_key: LateStatement<'s>,
}

impl<'s> TagIndex<'s> {
    pub(super) fn new(snapshot: &'s Snapshot<'_>, bounds: Bounds) -> Self {
        let connection = snapshot.connection;
        let positions = POSITIONS_OF_KEY.towards(bounds.backwards);
        Self {
            snapshot,
            is_in_memory: snapshot.indexed_part(bounds).is_empty(),
            positions: LateStatement::new(connection, positions),
            first_key: LateStatement::new(connection, FIRST_KEY),
        }
    }

    /// The first position within the bounds that occurs under all keys of the conjunction.
    ///
    /// This is a leapfrog intersection: the keys take turns to seek the first position at or after
    /// the current candidate, until all keys agree on a position. The number of rounds is at most
    /// the number of positions of the rarest key.
    pub(super) fn first_common_position(
        &mut self,
        conjunction: Conjunction<'_>,
        mut bounds: Bounds,
    ) -> Result<Option<i64>> {
        let (mut candidate, mut agreed, mut turn) = (None, 0, 0);
        loop {
            let Some(reached) = self.first(conjunction.key(turn), bounds)? else {
                return Ok(None);
            };
            agreed = if candidate == Some(reached) {
                agreed + 1
            } else {
                1
            };
            if agreed == conjunction.len() {
                return Ok(Some(reached));
            }
            candidate = Some(reached);
            bounds = bounds.from(reached);
            turn = (turn + 1) % conjunction.len();
        }
    }

    /// Appends the first positions of a conjunction of one key, at most `count`.
    pub(super) fn collect(
        &mut self,
        conjunction: Conjunction<'_>,
        bounds: Bounds,
        count: usize,
        positions: &mut VecDeque<i64>,
    ) -> Result<()> {
        let (key, limit) = (conjunction.key(0), positions.len() + count);
        // The keys in memory belong to the newest events, so they come first when reading backwards.
        if bounds.backwards {
            self.snapshot
                .collect_unindexed(key, bounds, limit, positions);
        }
        let indexed = self.snapshot.indexed_part(bounds);
        if !indexed.is_empty() {
            let statement = self.positions.get()?;
            let mut rows = statement.query((indexed.above, indexed.below, key))?;
            while positions.len() < limit {
                let Some(row) = rows.next()? else { break };
                positions.push_back(position(row)?);
            }
        }
        if !bounds.backwards {
            self.snapshot
                .collect_unindexed(key, bounds, limit, positions);
        }
        Ok(())
    }

    /// Calls `visit` with each conjunction that may select events of the alternative within the bounds. If the
    /// alternative has a type, there is one conjunction. If it allows any type, there is one for
    /// each type that occurs with all of its tags.
    pub(super) fn for_each_conjunction<'q>(
        &mut self,
        alternative: Alternative<'q>,
        mut visit: impl FnMut(&mut Self, Conjunction<'q>) -> Result<()>,
    ) -> Result<()> {
        let tags = alternative.tags;
        if let Some(event_type) = alternative.event_type {
            return visit(self, Conjunction::typed(tags, event_type));
        }
        // `tags` is not empty: an item without types and tags turns the query into `Query::all`.
        let mut least = 0;
        while let Some(type_bits) = self.next_common_type(tags, least)? {
            visit(self, Conjunction::new(tags, type_bits))?;
            least = type_bits + 1;
        }
        Ok(())
    }

    /// The first type bits, from `least` on, that occur with all of the tags. It intersects the types
    /// of the tags like [`TagIndex::first_common_position`] intersects positions.
    fn next_common_type(&mut self, tags: &[crate::Tag], mut least: i64) -> Result<Option<i64>> {
        let (mut candidate, mut agreed, mut turn) = (None, 0, 0);
        while least <= TYPE_BITS {
            let tag = tag_bits(tags[turn].as_str());
            let Some(key) = self.first_key(tag | least, tag | TYPE_BITS)? else {
                break;
            };
            let reached = key & TYPE_BITS;
            agreed = if candidate == Some(reached) {
                agreed + 1
            } else {
                1
            };
            if agreed == tags.len() {
                return Ok(Some(reached));
            }
            (candidate, least) = (Some(reached), reached);
            turn = (turn + 1) % tags.len();
        }
        Ok(None)
    }

    /// The first position of a key within the bounds. A forward read searches the older part of the
    /// index first, in the file; a backward read searches the newer part first, in memory. Both
    /// search the other part only if they find nothing.
    fn first(&mut self, key: i64, bounds: Bounds) -> Result<Option<i64>> {
        if bounds.backwards {
            return match self.snapshot.first_unindexed(key, bounds) {
                None => self.first_indexed(key, bounds),
                unindexed => Ok(unindexed),
            };
        }
        match self.first_indexed(key, bounds)? {
            None => Ok(self.snapshot.first_unindexed(key, bounds)),
            indexed => Ok(indexed),
        }
    }

    fn first_indexed(&mut self, key: i64, bounds: Bounds) -> Result<Option<i64>> {
        let bounds = self.snapshot.indexed_part(bounds);
        if bounds.is_empty() {
            return Ok(None);
        }
        let statement = self.positions.get()?;
        let mut rows = statement.query((bounds.above, bounds.below, key))?;
        rows.next()?.map(position).transpose()
    }

    fn first_key(&mut self, least: i64, most: i64) -> Result<Option<i64>> {
        let unindexed = self.snapshot.first_unindexed_key(least, most);
        // A condition after a recent event needs no look-up in the file.
        if self.is_in_memory {
            return Ok(unindexed);
        }
        let mut rows = self.first_key.get()?.query((least, most))?;
        let indexed: Option<i64> = rows.next()?.map(|row| row.get(0)).transpose()?;
        Ok(indexed.into_iter().chain(unindexed).min())
    }
}
