//! Deletes samples, and ends series.
//!
//! Invariant: every series has a sample. A series that loses its last one leaves its shard, the
//! index and the counters before its locks are released. `tests/it/engine.rs` and `tests/model`
//! fail without it.

use super::{Db, Inner};
use crate::data::SeriesData;
use crate::journal::FlushDemand;
use crate::series_cell::SeriesCell;
use crate::shard::Shard;
use crate::{Error, Matcher};

/// The result of a deletion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deleted {
    /// The number of samples deleted.
    pub samples: usize,
    /// The number of series that ended because they lost their last sample.
    pub series: usize,
}

impl Db {
    /// Deletes the samples from `from_ms` to `to_ms`, both inclusive, of the series that match all
    /// of `matchers`. A series that loses its last sample ends, and its memory is freed.
    ///
    /// # Errors
    /// For a database with files: [`Error::DiskFull`], [`Error::Storage`], [`Error::NotDurable`] or
    /// [`Error::Closed`]. The samples deleted before the error stay deleted.
    ///
    /// ```
    /// use tsdb::{Db, DbOptions, Labels, Matcher, Sample};
    ///
    /// # let db = Db::new(DbOptions::default());
    /// let load = Labels::new("cpu_load", [("host", "web-1")])?;
    /// db.append(&load, Sample::new(1000, 0.42))?;
    /// db.append(&load, Sample::new(2000, 0.45))?;
    ///
    /// let deleted = db.delete(&[Matcher::equal("host", "web-1")], 0, 1999)?;
    /// assert_eq!((deleted.samples, deleted.series), (1, 0));
    /// # Ok::<(), tsdb::Error>(())
    /// ```
    pub fn delete(&self, matchers: &[Matcher], from_ms: i64, to_ms: i64) -> Result<Deleted, Error> {
        let inner = &*self.inner;
        let mut deleted = Deleted::default();
        let mut newest = None;
        let series = inner.index.read().select(matchers);
        for cell in series {
            let demand = inner.delete(&cell, from_ms, to_ms, &mut deleted)?;
            newest = newest.max(demand);
        }
        // Settle once: one sync serves all series.
        inner.settle(newest)?;
        if deleted.series > 0 {
            inner.forget_aliases();
        }
        Ok(deleted)
    }
}

impl Inner {
    pub(super) fn delete(
        &self,
        cell: &SeriesCell,
        from_ms: i64,
        to_ms: i64,
        deleted: &mut Deleted,
    ) -> Result<Option<FlushDemand>, Error> {
        let key = cell.key;
        let shard_index = key.shard as usize;
        // The series may end, which needs the shard's lock. In the lock order the shard comes
        // first.
        let mut shard = self.lock_shard(shard_index);
        let mut data = cell.data.lock();
        if data.has_ended() {
            // It ended after the index was searched.
            return Ok(None);
        }
        let demand = match &self.journal {
            Some(journal) => Some(journal.delete(shard_index, key.id, from_ms, to_ms)?),
            None => None,
        };
        let change = |data: &mut SeriesData| data.delete(from_ms, to_ms);
        deleted.samples += self.usage.change(&mut data, change);
        if data.is_empty() {
            deleted.series += 1;
            self.end(&mut shard, cell, &mut data);
        }
        Ok(demand)
    }

    /// Ends a series and drops any remaining samples. `data` is the locked content of `cell`.
    /// Handles still hold the cell; they see from `data` that the series has ended.
    pub(super) fn end(&self, shard: &mut Shard, cell: &SeriesCell, data: &mut SeriesData) {
        let SeriesCell { key, labels, .. } = cell;
        self.usage.change(data, SeriesData::end);
        shard.remove(cell);
        if let Some(journal) = &self.journal {
            journal.end(key.shard as usize, key.id);
        }
        let shrunk = self.index.write().remove(cell);
        self.usage.end(labels, shrunk);
    }
}
