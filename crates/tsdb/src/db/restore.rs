//! Applies the entries of the files to an empty database.

use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::{Deleted, Inner};
use crate::data::SeriesData;
use crate::journal::SeriesId;
use crate::series_cell::SeriesCell;
use crate::shard::shard_of;
use crate::sync::Ordering;
use crate::wal::{Entry, Replay};
use crate::{Labels, Limits, Sample};

/// Restores every accepted entry. Limits and windows don't apply: the current options may be
/// narrower than those under which a sample was accepted.
pub(super) struct Restorer<'d> {
    db: &'d Inner,
    series: HashMap<SeriesId, Restored, RandomState>,
    greatest_id: u64,
}

enum Restored {
    /// The series has no sample yet. It may never get one: a write may have been refused after it
    /// logged the beginning of the series.
    WithoutSamples(Labels),
    WithSamples(Arc<SeriesCell>),
}

impl<'d> Restorer<'d> {
    /// Restores into `db`, which must have no journal yet and must not be shared.
    pub(super) fn new(db: &'d Inner) -> Self {
        Self {
            db,
            series: HashMap::default(),
            greatest_id: 0,
        }
    }

    /// Makes new series use ids greater than all ids in the files.
    pub(super) fn finish(self) {
        self.db
            .next_id
            .store(self.greatest_id + 1, Ordering::Relaxed);
    }

    /// Remembers the labels of a series. The series enters the database with its first sample.
    fn begin(&mut self, id: SeriesId, labels: Labels) -> Result<(), &'static str> {
        if id.0 == u64::MAX {
            // `finish` adds one to the greatest id, which would overflow.
            return Err("a series has an id out of range");
        }
        self.greatest_id = self.greatest_id.max(id.0);
        match self.series.insert(id, Restored::WithoutSamples(labels)) {
            None => Ok(()),
            Some(_) => Err("two series have the same id"),
        }
    }

    fn delete(&mut self, id: SeriesId, from_ms: i64, to_ms: i64) -> Result<(), &'static str> {
        if let Restored::WithSamples(cell) = self.series.get(&id).ok_or(UNKNOWN)? {
            let mut deleted = Deleted::default();
            self.db
                .delete(cell, from_ms, to_ms, &mut deleted)
                .map_err(|_| "a deletion fails")?;
        }
        Ok(())
    }

    /// Ends a series. Replaying a deletion may have ended it already. If retention ended it before
    /// the restart, it still has samples here, because the log does not record what retention
    /// deletes.
    fn end(&mut self, id: SeriesId) -> Result<(), &'static str> {
        if let Restored::WithSamples(cell) = self.series.remove(&id).ok_or(UNKNOWN)? {
            let mut shard = self.db.lock_shard(cell.key.shard as usize);
            let mut data = cell.data.lock();
            if !data.has_ended() {
                self.db.end(&mut shard, &cell, &mut data);
            }
        }
        Ok(())
    }
}

impl Replay for Restorer<'_> {
    #[inline]
    fn samples(&mut self, id: SeriesId, samples: &[Sample]) -> Result<(), &'static str> {
        let restored = self.series.get_mut(&id).ok_or(UNKNOWN)?;
        match restored {
            Restored::WithSamples(cell) => {
                let mut data = cell.data.lock();
                match samples {
                    // The common case. It can come before the check for an ended series, because
                    // `can_push` is `false` for one.
                    [sample] if data.can_push(*sample) => data.push(*sample),
                    _ if data.has_ended() => return Err(UNKNOWN),
                    _ => insert(self.db, &mut data, samples),
                }
            }
            Restored::WithoutSamples(labels) => {
                *restored = Restored::WithSamples(begin_series(self.db, id, labels, samples)?);
            }
        }
        Ok(())
    }

    fn apply(&mut self, entry: Entry<'_>) -> Result<(), &'static str> {
        match entry {
            Entry::Begin(id, labels) => self.begin(id, labels),
            Entry::Delete(id, from_ms, to_ms) => self.delete(id, from_ms, to_ms),
            Entry::End(id) => self.end(id),
            Entry::Metadata(metric, metadata) => {
                let mut all = self.db.metadata.write();
                self.db.put_metadata(&mut all, metric, metadata);
                Ok(())
            }
            Entry::Samples(id, samples) => self.samples(id, samples),
            Entry::Closed => Ok(()),
        }
    }
}

/// The series of samples has not begun, or has ended.
pub(super) const UNKNOWN: &str = "an entry refers to an unknown series";
/// The series that has these labels has not ended.
pub(super) const SAME_LABELS: &str = "two series have the same labels";

fn begin_series(
    db: &Inner,
    id: SeriesId,
    labels: &Labels,
    samples: &[Sample],
) -> Result<Arc<SeriesCell>, &'static str> {
    let shard_index = shard_of(labels.hash_code());
    let mut shard = db.lock_shard(shard_index);
    if shard.find(labels.borrowed()).is_some() {
        return Err(SAME_LABELS);
    }
    // The current limits may be lower than those under which the series was accepted.
    let unlimited = Limits {
        series: None,
        bytes: None,
        new_series: None,
        ..db.options.limits
    };
    let begun = db.usage.begin(labels, &unlimited);
    begun.map_err(|_| "there are too many series")?;
    let mut data = SeriesData::new(db.options.duplicates);
    insert(db, &mut data, samples);
    let key = shard.take_key(id, shard_index);
    let cell = Arc::new(SeriesCell::new(key, labels.clone(), data));
    shard.insert(Arc::clone(&cell));
    db.add_to_index(&cell);
    Ok(cell)
}

fn insert(db: &Inner, data: &mut SeriesData, samples: &[Sample]) {
    db.usage.change(data, |data| data.insert_unchecked(samples));
}
