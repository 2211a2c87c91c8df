//! Finding positions in the tag index, in the file and in memory: the one place that walks it.

use std::collections::VecDeque;

use rusqlite::{CachedStatement, Result};

use super::alternatives::{Alternative, Bounds, Trail};
use super::keys::{TYPE_BITS, tag_bits};
use super::moment::Moment;
use super::row::position;
use super::statements::{FIRST_KEY, POSITIONS_OF_KEY};

/// The tag index, read in one direction.
pub(super) struct TagIndex<'m> {
    moment: &'m Moment<'m>,
    positions: CachedStatement<'m>,
    first_key: CachedStatement<'m>,
}

impl<'m> TagIndex<'m> {
    pub(super) fn new(moment: &'m Moment<'_>, backwards: bool) -> Result<Self> {
        let connection = moment.connection;
        Ok(Self {
            moment,
            positions: connection.prepare_cached(POSITIONS_OF_KEY.towards(backwards))?,
            first_key: connection.prepare_cached(FIRST_KEY)?,
        })
    }

    /// The first position within the bounds that all keys of the trail lead to.
    ///
    /// The keys are walked in step: each descends to the first position that is not before the
    /// candidate, until all agree on one. So there are at most as many rounds as the rarest has
    /// positions.
    pub(super) fn meet(&mut self, trail: Trail<'_>, mut bounds: Bounds) -> Result<Option<i64>> {
        let (mut candidate, mut agreed, mut turn) = (None, 0, 0);
        loop {
            let Some(reached) = self.first(trail.key(turn), bounds)? else {
                return Ok(None);
            };
            agreed = if candidate == Some(reached) {
                agreed + 1
            } else {
                1
            };
            if agreed == trail.len() {
                return Ok(Some(reached));
            }
            candidate = Some(reached);
            bounds = bounds.from(reached);
            turn = (turn + 1) % trail.len();
        }
    }

    /// Adds the first positions of a trail of one key, at most `count`.
    pub(super) fn collect(
        &mut self,
        trail: Trail<'_>,
        bounds: Bounds,
        count: usize,
        positions: &mut VecDeque<i64>,
    ) -> Result<()> {
        let (key, most) = (trail.key(0), positions.len() + count);
        if bounds.backwards {
            self.moment.collect_recent(key, bounds, most, positions);
        }
        let indexed = self.moment.indexed(bounds);
        if !indexed.is_empty() {
            let mut rows = self.positions.query((indexed.above, indexed.below, key))?;
            while positions.len() < most {
                let Some(row) = rows.next()? else { break };
                positions.push_back(position(row)?);
            }
        }
        if !bounds.backwards {
            self.moment.collect_recent(key, bounds, most, positions);
        }
        Ok(())
    }

    /// Calls `visit` with each trail that may lead to events of the alternative: the one of its
    /// type, or one for each type that all of its tags occur with.
    pub(super) fn for_each_trail<'q>(
        &mut self,
        alternative: Alternative<'q>,
        mut visit: impl FnMut(&mut Self, Trail<'q>) -> Result<()>,
    ) -> Result<()> {
        let tags = alternative.tags;
        if let Some(event_type) = alternative.event_type {
            return visit(self, Trail::typed(tags, event_type));
        }
        let mut least = 0;
        while let Some(type_bits) = self.common_type(tags, least)? {
            visit(self, Trail::new(tags, type_bits))?;
            least = type_bits + 1;
        }
        Ok(())
    }

    /// The first bits of a type, from `least` on, that all of the tags occur with. As `meet`.
    fn common_type(&mut self, tags: &[crate::Tag], mut least: i64) -> Result<Option<i64>> {
        let (mut candidate, mut agreed, mut turn) = (None, 0, 0);
        while least <= TYPE_BITS {
            let tag = tag_bits(tags[turn].as_str());
            let Some(key) = self.key(tag | least, tag | TYPE_BITS)? else {
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

    fn first(&mut self, key: i64, bounds: Bounds) -> Result<Option<i64>> {
        if bounds.backwards {
            return match self.moment.first_recent(key, bounds) {
                None => self.first_indexed(key, bounds),
                recent => Ok(recent),
            };
        }
        match self.first_indexed(key, bounds)? {
            None => Ok(self.moment.first_recent(key, bounds)),
            indexed => Ok(indexed),
        }
    }

    fn first_indexed(&mut self, key: i64, bounds: Bounds) -> Result<Option<i64>> {
        let bounds = self.moment.indexed(bounds);
        if bounds.is_empty() {
            return Ok(None);
        }
        let mut rows = self.positions.query((bounds.above, bounds.below, key))?;
        rows.next()?.map(position).transpose()
    }

    fn key(&mut self, least: i64, most: i64) -> Result<Option<i64>> {
        let recent = self.moment.first_recent_key(least, most);
        if self.moment.indexed.through == 0 {
            return Ok(recent);
        }
        let mut rows = self.first_key.query((least, most))?;
        let indexed: Option<i64> = rows.next()?.map(|row| row.get(0)).transpose()?;
        Ok(indexed.into_iter().chain(recent).min())
    }
}
