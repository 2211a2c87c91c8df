use super::{Db, Inner};
use crate::journal::Ticket;
use crate::shard::{Key, Shard};
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
        let entries = inner.index.read().select(matchers);
        for entry in entries {
            let ticket = inner.delete(entry.key, from_ms, to_ms, &mut deleted)?;
            newest = newest.max(ticket);
        }
        inner.settle(newest)?;
        Ok(deleted)
    }
}

impl Inner {
    pub(super) fn delete(
        &self,
        key: Key,
        from_ms: i64,
        to_ms: i64,
        deleted: &mut Deleted,
    ) -> Result<Option<Ticket>, Error> {
        let place = key.shard as usize;
        let mut shard = self.lock(place);
        let Some(data) = shard.get_mut(key.slot, key.id) else {
            return Ok(None);
        };
        let ticket = match &self.journal {
            Some(journal) => Some(journal.delete(place, key.id, from_ms, to_ms)?),
            None => None,
        };
        let before = data.size_bytes();
        deleted.samples += data.delete(from_ms, to_ms);
        self.usage.resize(before, data.size_bytes());
        if data.is_empty() {
            deleted.series += 1;
            self.end(&mut shard, place, key.slot);
        }
        Ok(ticket)
    }

    /// Forgets a series of which no sample is left.
    pub(super) fn end(&self, shard: &mut Shard, place: usize, slot: u32) {
        let data = shard.remove(slot);
        let key = Key {
            id: data.id,
            shard: place as u32,
            slot,
        };
        if let Some(journal) = &self.journal {
            journal.end(place, key.id);
        }
        self.index.write().remove(&data.labels, key);
        self.usage.end(&data.labels);
    }
}
