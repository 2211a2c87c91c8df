use super::{Db, Inner};
use crate::data::SeriesData;
use crate::journal::Ticket;
use crate::series_cell::SeriesCell;
use crate::shard::Shard;
use crate::{Error, Matcher};

/// What was deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deleted {
    /// Samples.
    pub samples: usize,
    /// Series of which no sample is left.
    pub series: usize,
}

impl Db {
    /// Deletes the samples from `from_ms` to `to_ms`, both included, of the series that fulfil all
    /// of `matchers`. A series that has none left has ended, and its memory is free.
    ///
    /// # Errors
    /// Those of the log, if there is one; what was deleted before stays deleted.
    pub fn delete(&self, matchers: &[Matcher], from_ms: i64, to_ms: i64) -> Result<Deleted, Error> {
        let inner = &*self.inner;
        let mut deleted = Deleted::default();
        let mut newest = None;
        let series = inner.index.read().select(matchers);
        for cell in series {
            let ticket = inner.delete(&cell, from_ms, to_ms, &mut deleted)?;
            newest = newest.max(ticket);
        }
        inner.settle(newest)?;
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
    ) -> Result<Option<Ticket>, Error> {
        let key = cell.key;
        let place = key.shard as usize;
        // Before the samples' lock: the series may end.
        let mut shard = self.lock(place);
        let mut data = cell.data.lock();
        if data.has_ended() {
            return Ok(None);
        }
        let ticket = match &self.journal {
            Some(journal) => Some(journal.delete(place, key.id, from_ms, to_ms)?),
            None => None,
        };
        let before = data.size_bytes();
        deleted.samples += data.delete(from_ms, to_ms);
        self.usage.resize(before, data.size_bytes());
        if data.is_empty() {
            deleted.series += 1;
            self.end(&mut shard, cell, &mut data);
        }
        Ok(ticket)
    }

    /// Forgets a series of which no sample is left. `data` is that of `cell`: handles have the cell
    /// too, and learn from it that the series has ended.
    pub(super) fn end(&self, shard: &mut Shard, cell: &SeriesCell, data: &mut SeriesData) {
        let SeriesCell { key, labels, .. } = cell;
        let before = data.size_bytes();
        data.end();
        self.usage.resize(before, data.size_bytes());
        shard.remove(cell);
        if let Some(journal) = &self.journal {
            journal.end(key.shard as usize, key.id);
        }
        self.index.write().remove(cell);
        self.usage.end(labels);
    }
}
