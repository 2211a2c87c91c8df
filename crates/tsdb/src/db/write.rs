use std::sync::Arc;

use super::{Db, Inner};
use crate::data::SeriesData;
use crate::journal::{SeriesId, Ticket};
use crate::labels::LabelsRef;
use crate::series_cell::SeriesCell;
use crate::shard::{Key, Shard, shard_of};
use crate::sync::Ordering;
use crate::{Batch, Error, Labels, Refused, Sample, WriteReport};

/// A write that was accepted.
struct Written {
    ticket: Option<Ticket>,
    /// Whether memory was taken.
    grew: bool,
}

/// A write that was refused.
enum Refusal {
    /// For these of its samples, in order.
    Samples(Vec<(usize, Error)>),
    /// As a whole.
    All(Error),
}

impl Db {
    /// Writes one sample of the series of `labels`, which begins if there is none.
    ///
    /// # Errors
    /// As [`Db::series`] and [`Series::append`](crate::Series::append).
    pub fn append(&self, labels: &Labels, sample: Sample) -> Result<(), Error> {
        self.append_ref(labels.borrowed(), sample)
    }

    pub(crate) fn append_ref(&self, labels: LabelsRef<'_>, sample: Sample) -> Result<(), Error> {
        let inner = &*self.inner;
        let shard = inner.lock(shard_of(labels.hash_code()));
        let pushed = shard
            .find(labels)
            .and_then(|cell| inner.push_in_place(cell, sample));
        drop(shard);
        if let Some(ticket) = pushed {
            return inner.settle(ticket);
        }
        inner.finish(inner.write(None, labels, &[sample], &mut None))
    }

    /// [`Db::append`] to a series that was known before, if there was one; afterwards it is.
    #[inline]
    pub(crate) fn append_at(
        &self,
        known: &mut Option<Arc<SeriesCell>>,
        labels: &Labels,
        samples: &[Sample],
    ) -> Result<(), Error> {
        let inner = &*self.inner;
        if let (Some(cell), [sample]) = (&known, samples)
            && let Some(ticket) = inner.push_in_place(cell, *sample)
        {
            return inner.settle(ticket);
        }
        if samples.is_empty() {
            // With its first sample a series begins.
            return Ok(());
        }
        let mut found = None;
        let written = inner.write(known.as_deref(), labels.borrowed(), samples, &mut found);
        if found.is_some() {
            *known = found;
        }
        inner.finish(written)
    }

    /// Writes the points of `batch` and empties it.
    ///
    /// Of each series all points are written or none: where one is refused, the others of its
    /// series are refused with [`Error::Withheld`]. Series do not depend on each other.
    pub fn write(&self, batch: &mut Batch) -> WriteReport {
        let report = self.write_points(batch);
        batch.clear();
        report
    }

    /// [`Db::write`] that leaves the points in the batch.
    pub(crate) fn write_points(&self, batch: &mut Batch) -> WriteReport {
        let inner = &*self.inner;
        let mut report = WriteReport::default();
        let (mut newest, mut grew) = (None, false);
        for place in 0..batch.arrange(&self.inner) {
            let group = batch.group(place);
            if group.samples.is_empty() {
                continue;
            }
            if let (Some(cell), [sample]) = (group.known(), group.samples)
                && let Some(ticket) = inner.push_in_place(cell, *sample)
            {
                report.written += 1;
                newest = newest.max(ticket);
                continue;
            }
            let mut found = None;
            match inner.write(group.known(), group.labels(), group.samples, &mut found) {
                Ok(written) => {
                    report.written += group.samples.len();
                    newest = newest.max(written.ticket);
                    grew |= written.grew;
                }
                Err(refusal) => refusal.report(group.samples.len(), |index, error| {
                    let index = group.point(index);
                    report.refused.push(Refused { index, error });
                }),
            }
            if found.is_some() {
                batch.remember(place, found);
            }
        }
        if grew {
            inner.retain();
        }
        if let Err(error) = inner.settle(newest) {
            report.refuse_others(batch.len(), &error);
        }
        report
    }
}

impl Inner {
    /// Writes down and takes a sample, if there is nothing to decide, to refuse or to allocate; the
    /// series has not ended then.
    #[inline]
    fn push_in_place(&self, cell: &SeriesCell, sample: Sample) -> Option<Option<Ticket>> {
        let mut data = cell.data.lock();
        if sample.timestamp_ms < self.clock.recent_oldest_ms() || !data.has_place_for(sample) {
            return None;
        }
        let ticket = match &self.journal {
            Some(journal) => {
                let Key { id, shard, .. } = cell.key;
                Some(journal.sample(shard as usize, id, sample).ok()?)
            }
            None => None,
        };
        data.push_in_place(sample);
        Some(ticket)
    }

    /// A write to the series that was `known` to have these labels; if it has ended, or none was, to
    /// the one that has them now, which is then `found`, or begins.
    fn write(
        &self,
        known: Option<&SeriesCell>,
        labels: LabelsRef<'_>,
        samples: &[Sample],
        found: &mut Option<Arc<SeriesCell>>,
    ) -> Result<Written, Refusal> {
        if let Some(cell) = known {
            let mut data = cell.data.lock();
            if !data.has_ended() {
                return self.apply(cell.key, &mut data, samples);
            }
        }
        let place = shard_of(labels.hash_code());
        let mut shard = self.lock(place);
        if let Some(cell) = shard.find(labels) {
            *found = Some(Arc::clone(cell));
            // In a shard that is locked no series ends.
            return self.apply(cell.key, &mut cell.data.lock(), samples);
        }
        let (cell, written) = self.begin(&mut shard, place, labels, samples)?;
        *found = Some(cell);
        Ok(written)
    }

    /// What remains to do of a write when its lock is released.
    #[inline]
    fn finish(&self, written: Result<Written, Refusal>) -> Result<(), Error> {
        let written = written.map_err(Refusal::into_first)?;
        if written.grew {
            self.retain();
        }
        self.settle(written.ticket)
    }

    /// Checks, writes down and takes samples.
    fn apply(
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
            refused.sort_by_key(|(index, _)| *index);
            refused.dedup_by_key(|(index, _)| *index);
            return Err(Refusal::Samples(refused));
        }
        let grew = !data.has_room(samples);
        if grew {
            self.usage.check_room(1, &self.options.limits)?;
        }
        let ticket = match &self.journal {
            Some(journal) => Some(journal.samples(key.shard as usize, key.id, samples)?),
            None => None,
        };
        let before = data.size_bytes();
        data.insert(samples);
        self.usage.resize(before, data.size_bytes());
        Ok(Written { ticket, grew })
    }

    fn begin(
        &self,
        shard: &mut Shard,
        place: usize,
        labels: LabelsRef<'_>,
        samples: &[Sample],
    ) -> Result<(Arc<SeriesCell>, Written), Refusal> {
        let labels = &labels.to_labels();
        self.options.limits.check_labels(labels)?;
        self.usage.begin(labels, &self.options.limits)?;
        let id = SeriesId(self.next_id.fetch_add(1, Ordering::Relaxed));
        let key = shard.take_key(id, place);
        let mut data = SeriesData::new(self.options.duplicates);
        let first = self.write_first(key, labels, &mut data, samples);
        let written = first.inspect_err(|_| {
            shard.free_key(key);
            self.usage.end(labels);
        })?;
        let cell = Arc::new(SeriesCell::new(key, labels.clone(), data));
        shard.insert(Arc::clone(&cell));
        self.index.write().insert(Arc::clone(&cell));
        Ok((cell, written))
    }

    fn write_first(
        &self,
        key: Key,
        labels: &Labels,
        data: &mut SeriesData,
        samples: &[Sample],
    ) -> Result<Written, Refusal> {
        if let Some(journal) = &self.journal {
            journal.begin_series(key.shard as usize, key.id, labels)?;
        }
        self.apply(key, data, samples)
    }
}

impl WriteReport {
    /// None of `points` points can be said to be written; those that were refused keep their errors.
    fn refuse_others(&mut self, points: usize, error: &Error) {
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

    /// Tells of each of `samples` samples why it was not written.
    fn report(self, samples: usize, mut tell: impl FnMut(usize, Error)) {
        match self {
            Self::All(error) => (0..samples).for_each(|index| tell(index, error.clone())),
            Self::Samples(refused) => {
                let mut refused = refused.into_iter().peekable();
                for index in 0..samples {
                    let own = refused.next_if(|(at, _)| *at == index);
                    tell(index, own.map_or(Error::Withheld, |(_, error)| error));
                }
            }
        }
    }
}
