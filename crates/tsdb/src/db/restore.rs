//! Applies to an empty database what its files say.

use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::{Deleted, Inner};
use crate::data::SeriesData;
use crate::journal::SeriesId;
use crate::series_cell::SeriesCell;
use crate::shard::shard_of;
use crate::sync::Ordering;
use crate::wal::Entry;
use crate::{Labels, Limits, Sample};

/// Puts back what was accepted once, whatever the limits and windows are now.
pub(crate) struct Restorer<'d> {
    db: &'d Inner,
    series: HashMap<SeriesId, Restored, RandomState>,
    greatest_id: u64,
}

enum Restored {
    /// No sample yet. One that was refused may have begun the series, so it need not come.
    Named(Labels),
    Begun(Arc<SeriesCell>),
}

impl<'d> Restorer<'d> {
    /// `db` has no journal yet, and nobody else knows it.
    pub(super) fn new(db: &'d Inner) -> Self {
        Self {
            db,
            series: HashMap::default(),
            greatest_id: 0,
        }
    }

    /// Series that begin from now on have other ids than all in the files.
    pub(super) fn finish(self) {
        self.db
            .next_id
            .store(self.greatest_id + 1, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn samples(&mut self, id: SeriesId, samples: &[Sample]) -> Result<(), &'static str> {
        let restored = self.series.get_mut(&id).ok_or(UNKNOWN)?;
        match restored {
            Restored::Begun(cell) => {
                let mut data = cell.data.lock();
                match samples {
                    [sample] if data.has_place_for(*sample) => data.push_in_place(*sample),
                    _ if data.has_ended() => return Err(UNKNOWN),
                    _ => insert(self.db, &mut data, samples),
                }
            }
            Restored::Named(labels) => {
                *restored = Restored::Begun(begin(self.db, id, labels, samples)?);
            }
        }
        Ok(())
    }

    /// Applies any entry but samples.
    pub(crate) fn apply(&mut self, entry: Entry<'_>) -> Result<(), &'static str> {
        match entry {
            Entry::Begin(id, labels) => self.name(id, labels),
            Entry::Delete(id, from_ms, to_ms) => self.delete(id, from_ms, to_ms),
            Entry::End(id) => self.end(id),
            Entry::Metadata(metric, metadata) => {
                let mut all = self.db.metadata.write();
                self.db.describe(&mut all, metric, metadata);
                Ok(())
            }
            Entry::Samples(id, samples) => self.samples(id, samples),
            Entry::Closed => Ok(()),
        }
    }

    fn name(&mut self, id: SeriesId, labels: Labels) -> Result<(), &'static str> {
        if id.0 == u64::MAX {
            return Err("a series has the id of none");
        }
        self.greatest_id = self.greatest_id.max(id.0);
        match self.series.insert(id, Restored::Named(labels)) {
            None => Ok(()),
            Some(_) => Err("two series have one id"),
        }
    }

    fn delete(&mut self, id: SeriesId, from_ms: i64, to_ms: i64) -> Result<(), &'static str> {
        if let Restored::Begun(cell) = self.series.get(&id).ok_or(UNKNOWN)? {
            let mut deleted = Deleted::default();
            self.db
                .delete(cell, from_ms, to_ms, &mut deleted)
                .map_err(|_| "a deletion is refused without a journal")?;
        }
        Ok(())
    }

    /// A deletion may have ended the series already; retention may have while it held samples.
    fn end(&mut self, id: SeriesId) -> Result<(), &'static str> {
        if let Restored::Begun(cell) = self.series.remove(&id).ok_or(UNKNOWN)? {
            let mut shard = self.db.lock(cell.key.shard as usize);
            let mut data = cell.data.lock();
            if !data.has_ended() {
                self.db.end(&mut shard, &cell, &mut data);
            }
        }
        Ok(())
    }
}

const UNKNOWN: &str = "an entry is of no series";

fn begin(
    db: &Inner,
    id: SeriesId,
    labels: &Labels,
    samples: &[Sample],
) -> Result<Arc<SeriesCell>, &'static str> {
    let place = shard_of(labels.hash_code());
    let mut shard = db.lock(place);
    if shard.find(labels.borrowed()).is_some() {
        return Err("two series have the same labels");
    }
    // One that the limits allow; what was accepted once stays.
    let unlimited = Limits {
        series: None,
        bytes: None,
        ..db.options.limits
    };
    let begun = db.usage.begin(labels, &unlimited);
    begun.map_err(|_| "there are too many series")?;
    let mut data = SeriesData::new(db.options.duplicates);
    insert(db, &mut data, samples);
    let key = shard.take_key(id, place);
    let cell = Arc::new(SeriesCell::new(key, labels.clone(), data));
    shard.insert(Arc::clone(&cell));
    db.index.write().insert(Arc::clone(&cell));
    Ok(cell)
}

fn insert(db: &Inner, data: &mut SeriesData, samples: &[Sample]) {
    let before = data.size_bytes();
    data.insert(samples);
    db.usage.resize(before, data.size_bytes());
}
