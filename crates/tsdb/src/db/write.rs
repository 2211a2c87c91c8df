//! Writes samples.
//!
//! There are two ways. [`Inner::try_append_unchecked`] serves the common case under the lock of the
//! series alone: one sample, newer than all others, with room in the head. Everything else goes
//! through [`Inner::append_checked`], which finds or begins the series and ends in
//! [`Inner::check_and_apply`].
//!
//! Invariant: a write is logged before it is applied, both under the lock of its series. So the log
//! has the entries of a series in the order in which they were applied, and a write that the log
//! refuses changes nothing. `tests/it/wal/full_disk.rs` fails without it.

use std::sync::Arc;

use super::{Db, Inner};
use crate::data::SeriesData;
use crate::journal::{FlushDemand, SeriesId};
use crate::key::Key;
use crate::series_cell::SeriesCell;
use crate::shard::{Shard, shard_of};
use crate::sync::Ordering;
use crate::{Batch, Error, Labels, LabelsRef, Refused, Sample, WriteReport};

/// An accepted write.
struct Written {
    demand: Option<FlushDemand>,
    /// Whether the write allocated memory.
    grew: bool,
}

/// A refused write.
enum Refusal {
    /// These samples were refused, in ascending order of their index.
    Samples(Vec<(usize, Error)>),
    /// The whole write was refused.
    All(Error),
}

impl Db {
    /// Writes one sample to the series with `labels`, and begins the series if it does not exist.
    ///
    /// To write to the same series often, use a handle: see [`Db::series`].
    ///
    /// # Errors
    /// - [`Error::OutOfOrder`], [`Error::BeyondRetention`] or [`Error::DuplicateTimestamp`] if the
    ///   options refuse the sample.
    /// - [`Error::MissingMetric`], [`Error::Label`], [`Error::TooManyLabels`] or
    ///   [`Error::TooManySeries`] if the series would begin.
    /// - [`Error::MemoryFull`] at [`Limits::bytes`](crate::Limits::bytes).
    /// - For a database with files: [`Error::DiskFull`], [`Error::Storage`], [`Error::NotDurable`]
    ///   or [`Error::Closed`].
    ///
    /// ```
    /// use tsdb::{Db, DbOptions, Labels, Sample};
    ///
    /// # let db = Db::new(DbOptions::default());
    /// let requests = Labels::new("requests_total", [("host", "web-1"), ("code", "200")])?;
    /// db.append(&requests, Sample::new(1_700_000_000_000, 1027.0))?;
    /// # Ok::<(), tsdb::Error>(())
    /// ```
    pub fn append(&self, labels: &Labels, sample: Sample) -> Result<(), Error> {
        self.append_by_labels(labels.borrowed(), sample)
    }

    pub(crate) fn append_by_labels(
        &self,
        labels: LabelsRef<'_>,
        sample: Sample,
    ) -> Result<(), Error> {
        let inner = &*self.inner;
        let shard = inner.lock_shard(shard_of(labels.hash_code()));
        let appended = shard
            .find(labels)
            .and_then(|cell| inner.try_append_unchecked(cell, sample));
        // Settling may wait for the disk, so release the lock first.
        drop(shard);
        let settled = match appended {
            Some(demand) => inner.settle(demand),
            None => inner.finish_unlocked(inner.append_checked(None, labels, &[sample], &mut None)),
        };
        inner.meters.appended(1, &settled);
        settled
    }

    /// Appends to the series of a handle. Stores the cell in `known`, so that the next call needs
    /// no lookup.
    #[inline]
    pub(crate) fn append_with_handle(
        &self,
        known: &mut Option<Arc<SeriesCell>>,
        labels: &Labels,
        samples: &[Sample],
    ) -> Result<(), Error> {
        let inner = &*self.inner;
        if let (Some(cell), [sample]) = (&known, samples)
            && let Some(demand) = inner.try_append_unchecked(cell, *sample)
        {
            let settled = inner.settle(demand);
            inner.meters.appended(1, &settled);
            return settled;
        }
        if samples.is_empty() {
            // A series must not begin without a sample.
            return Ok(());
        }
        let mut found = None;
        let written =
            inner.append_checked(known.as_deref(), labels.borrowed(), samples, &mut found);
        if found.is_some() {
            *known = found;
        }
        let finished = inner.finish_unlocked(written);
        inner.meters.appended(samples.len(), &finished);
        finished
    }

    /// Writes the points of `batch` and empties it.
    ///
    /// Either all points of a series are written, or none: if one is refused, the others of its
    /// series are refused with [`Error::Withheld`]. Different series do not affect each other.
    ///
    /// ```
    /// use tsdb::{Batch, Db, DbOptions, Labels, Sample};
    ///
    /// # let db = Db::new(DbOptions::default());
    /// let mut batch = Batch::new();
    /// for (host, load) in [("web-1", 0.42), ("web-2", 0.17)] {
    ///     batch.push(&Labels::new("cpu_load", [("host", host)])?, Sample::new(1000, load));
    /// }
    /// let report = db.write(&mut batch);
    /// assert_eq!(report.written, 2);
    /// if let Some(refused) = report.refused.into_iter().next() {
    ///     return Err(refused.error);
    /// }
    /// # Ok::<(), tsdb::Error>(())
    /// ```
    pub fn write(&self, batch: &mut Batch) -> WriteReport {
        let report = self.write_keeping_points(batch);
        batch.clear();
        report
    }

    /// Does the same as [`Db::write`], but leaves the points in the batch.
    pub(crate) fn write_keeping_points(&self, batch: &mut Batch) -> WriteReport {
        let inner = &*self.inner;
        let mut report = WriteReport::default();
        let (mut greatest, mut grew) = (None, false);
        for series in 0..batch.group_by_series(&self.inner) {
            let group = batch.group(series);
            if group.samples.is_empty() {
                continue;
            }
            if let (Some(cell), [sample]) = (group.known(), group.samples)
                && let Some(demand) = inner.try_append_unchecked(cell, *sample)
            {
                report.written += 1;
                greatest = greatest.max(demand);
                continue;
            }
            let mut found = None;
            match inner.append_checked(group.known(), group.labels(), group.samples, &mut found) {
                Ok(written) => {
                    report.written += group.samples.len();
                    greatest = greatest.max(written.demand);
                    grew |= written.grew;
                }
                Err(refusal) => refusal.report(group.samples.len(), |index, error| {
                    let index = group.point_index(index);
                    report.refused.push(Refused { index, error });
                }),
            }
            if found.is_some() {
                batch.remember(series, found);
            }
        }
        if grew {
            inner.retain();
        }
        // Settle once for the whole batch: one sync makes all its points durable.
        if let Err(error) = inner.settle(greatest) {
            report.refuse_others(batch.len(), &error);
        }
        inner.meters.wrote(&report);
        report
    }
}

impl Inner {
    /// Logs and appends a sample that no option can refuse and that needs no memory. Returns `None`
    /// and changes nothing for any other sample, if the series has ended, or if the log refuses the
    /// write.
    #[inline]
    fn try_append_unchecked(
        &self,
        cell: &SeriesCell,
        sample: Sample,
    ) -> Option<Option<FlushDemand>> {
        let mut data = cell.data.lock();
        if sample.timestamp_ms < self.clock.recent_oldest_ms() || !data.can_push(sample) {
            return None;
        }
        let demand = match &self.journal {
            Some(journal) => {
                let Key { id, shard, .. } = cell.key;
                // After an error, the caller calls `append_checked`, which returns the log's error.
                Some(journal.sample(shard as usize, id, sample).ok()?)
            }
            None => None,
        };
        data.push(sample);
        Some(demand)
    }

    /// Checks, logs and inserts samples of the series with `labels`.
    ///
    /// Uses the cell `known`, unless there is none or its series has ended. Then it looks the
    /// series up, or begins it, and stores the cell in `found`.
    fn append_checked(
        &self,
        known: Option<&SeriesCell>,
        labels: LabelsRef<'_>,
        samples: &[Sample],
        found: &mut Option<Arc<SeriesCell>>,
    ) -> Result<Written, Refusal> {
        if let Some(cell) = known {
            let mut data = cell.data.lock();
            if !data.has_ended() {
                return self.check_and_apply(cell.key, &mut data, samples);
            }
            // The lock of the series is released here, before the shard's is taken.
        }
        let shard_index = shard_of(labels.hash_code());
        let mut shard = self.lock_shard(shard_index);
        if let Some(cell) = shard.find(labels) {
            *found = Some(Arc::clone(cell));
            // The series can't have ended, because ending it needs the shard's lock.
            return self.check_and_apply(cell.key, &mut cell.data.lock(), samples);
        }
        let (cell, written) = self.begin_series(&mut shard, shard_index, labels, samples)?;
        *found = Some(cell);
        Ok(written)
    }

    /// Enforces retention and settles with the log after a write. The caller must hold no lock.
    #[inline]
    fn finish_unlocked(&self, written: Result<Written, Refusal>) -> Result<(), Error> {
        let written = written.map_err(Refusal::into_first)?;
        if written.grew {
            self.retain();
        }
        self.settle(written.demand)
    }

    /// Checks, logs and inserts samples of a locked series. All writes come through here, except
    /// those of [`try_append_unchecked`](Self::try_append_unchecked).
    fn check_and_apply(
        &self,
        key: Key,
        data: &mut SeriesData,
        samples: &[Sample],
    ) -> Result<Written, Refusal> {
        let mut refused = Vec::new();
        let oldest_ms = self.clock.recent_oldest_ms();
        data.check(samples, oldest_ms, &self.options, |index, error| {
            refused.push((index, error));
        });
        if !refused.is_empty() {
            // The checks run one after the other, so a sample may have failed two of them. The
            // stable sort keeps the first error.
            refused.sort_by_key(|(index, _)| *index);
            refused.dedup_by_key(|(index, _)| *index);
            return Err(Refusal::Samples(refused));
        }
        let grew = !data.has_room(samples);
        if grew {
            self.usage.check_room(1, &self.options.limits)?;
        }
        let demand = match &self.journal {
            Some(journal) => Some(journal.samples(key.shard as usize, key.id, samples)?),
            None => None,
        };
        self.usage
            .change(data, |data| data.insert_unchecked(samples));
        Ok(Written { demand, grew })
    }

    /// Begins a series in a locked shard with its first samples. If they are refused, the series
    /// does not begin.
    fn begin_series(
        &self,
        shard: &mut Shard,
        shard_index: usize,
        labels: LabelsRef<'_>,
        samples: &[Sample],
    ) -> Result<(Arc<SeriesCell>, Written), Refusal> {
        let labels = &labels.to_labels();
        self.options.limits.check_labels(labels)?;
        self.usage.begin(labels, &self.options.limits)?;
        let id = SeriesId(self.next_id.fetch_add(1, Ordering::Relaxed));
        let key = shard.take_key(id, shard_index);
        let mut data = SeriesData::new(self.options.duplicates);
        let first = self.log_begin_and_apply(key, labels, &mut data, samples);
        let written = first.inspect_err(|_| {
            shard.free_key(key);
            self.usage.end(labels, 0);
        })?;
        // Publish the series only now that it has samples: a series without one must not be
        // visible.
        let cell = Arc::new(SeriesCell::new(key, labels.clone(), data));
        shard.insert(Arc::clone(&cell));
        self.add_to_index(&cell);
        Ok((cell, written))
    }

    /// Adds a series of a locked shard to the index.
    pub(super) fn add_to_index(&self, cell: &Arc<SeriesCell>) {
        let mut index = self.index.write();
        let grown = index.insert(Arc::clone(cell));
        // Count under the lock: another series may give the same bytes back as soon as it is
        // released.
        self.usage.index_grew(grown);
    }

    fn log_begin_and_apply(
        &self,
        key: Key,
        labels: &Labels,
        data: &mut SeriesData,
        samples: &[Sample],
    ) -> Result<Written, Refusal> {
        if let Some(journal) = &self.journal {
            journal.begin_series(key.shard as usize, key.id, labels)?;
        }
        self.check_and_apply(key, data, samples)
    }
}

impl WriteReport {
    /// Marks all other points of a batch of `points` as refused with `error`, because the log could
    /// not make them durable. Points refused before keep their errors.
    fn refuse_others(&mut self, points: usize, error: &Error) {
        // The points share one flush, and its failure says nothing about single points.
        let mut others = vec![true; points];
        for refused in &self.refused {
            others[refused.index] = false;
        }
        let others = (0..points).filter(|index| others[*index]);
        self.refused.extend(others.map(|index| Refused {
            index,
            error: error.clone(),
        }));
        self.written = 0;
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::All(error)
    }
}

impl Refusal {
    fn into_first(self) -> Error {
        match self {
            Self::Samples(mut refused) => refused.swap_remove(0).1,
            Self::All(error) => error,
        }
    }

    /// Calls `report` with an error for each of `samples` samples, because none was written.
    fn report(self, samples: usize, mut report: impl FnMut(usize, Error)) {
        match self {
            Self::All(error) => (0..samples).for_each(|index| report(index, error.clone())),
            Self::Samples(refused) => {
                let mut refused = refused.into_iter().peekable();
                for index in 0..samples {
                    let cause = refused.next_if(|(refused_index, _)| *refused_index == index);
                    report(index, cause.map_or(Error::Withheld, |(_, error)| error));
                }
            }
        }
    }
}
