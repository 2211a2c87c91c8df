use super::{Db, Inner};
use crate::data::SeriesData;
use crate::journal::{SeriesId, Ticket};
use crate::labels::LabelsRef;
use crate::shard::{Key, Shard, shard_of};
use crate::sync::Ordering;
use crate::{Batch, Error, Labels, Refused, Sample, WriteReport};

/// A write that was accepted.
struct Written {
    key: Key,
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
    /// As [`Db::series`] and [`Series::append`](crate::Series::append); [`Error::TooManySeries`].
    pub fn append(&self, labels: &Labels, sample: Sample) -> Result<(), Error> {
        self.append_ref(labels.borrowed(), sample)
    }

    pub(crate) fn append_ref(&self, labels: LabelsRef<'_>, sample: Sample) -> Result<(), Error> {
        let inner = &*self.inner;
        let place = shard_of(labels.hash_code());
        let mut shard = inner.lock(place);
        let slot = shard.find(labels);
        if let Some(slot) = slot
            && let Some(ticket) = inner.push_in_place(shard.at(slot), place, sample)
        {
            drop(shard);
            return inner.settle(ticket);
        }
        let written = inner.write(&mut shard, place, slot, labels, &[sample]);
        drop(shard);
        inner.finish(written).map(|_| ())
    }

    /// [`Db::append`] where the place of the series is known, at least from before.
    #[inline]
    pub(crate) fn append_at(
        &self,
        key: &mut Key,
        labels: &Labels,
        samples: &[Sample],
    ) -> Result<(), Error> {
        let inner = &*self.inner;
        let place = key.shard as usize;
        let mut shard = inner.lock(place);
        let known = shard.get_mut(key.slot, key.id);
        if let (Some(data), [sample]) = (known, samples)
            && let Some(ticket) = inner.push_in_place(data, place, *sample)
        {
            drop(shard);
            return inner.settle(ticket);
        }
        let slot = match shard.get(key.slot, key.id) {
            Some(_) => Some(key.slot),
            None => shard.find(labels.borrowed()),
        };
        let written = inner.write(&mut shard, place, slot, labels.borrowed(), samples);
        drop(shard);
        *key = inner.finish(written)?;
        Ok(())
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
        let mut locked = None;
        for rank in 0..batch.arrange(&self.inner) {
            let group = batch.group(rank);
            if group.samples.is_empty() {
                continue;
            }
            let place = group.shard();
            let shard = match &mut locked {
                Some((shard, at)) if *at == place => shard,
                other => {
                    // Before the next: no writer has two.
                    *other = None;
                    &mut other.insert((inner.lock(place), place)).0
                }
            };
            let known = group.key().and_then(|key| shard.get_mut(key.slot, key.id));
            if let (Some(data), [sample]) = (known, group.samples)
                && let Some(ticket) = inner.push_in_place(data, place, *sample)
            {
                report.written += 1;
                newest = newest.max(ticket);
                continue;
            }
            let labels = group.labels();
            let slot = match group.key() {
                Some(key) if shard.get(key.slot, key.id).is_some() => Some(key.slot),
                _ => shard.find(labels),
            };
            match inner.write(shard, place, slot, labels, group.samples) {
                Ok(written) => {
                    report.written += group.samples.len();
                    newest = newest.max(written.ticket);
                    grew |= written.grew;
                    batch.remember(rank, written.key);
                }
                Err(refusal) => refusal.report(group.samples.len(), |index, error| {
                    let index = group.point(index);
                    report.refused.push(Refused { index, error });
                }),
            }
        }
        drop(locked);
        if grew {
            inner.retain();
        }
        let settled = inner.settle(newest);
        settled.map_or_else(
            |error| WriteReport::failed(batch.len(), &error),
            |()| report,
        )
    }
}

impl Inner {
    /// Writes down and takes a sample, if there is nothing to decide, to refuse or to allocate.
    #[inline]
    fn push_in_place(
        &self,
        data: &mut SeriesData,
        place: usize,
        sample: Sample,
    ) -> Option<Option<Ticket>> {
        if sample.timestamp_ms < self.clock.recent_oldest_ms() || !data.has_place_for(sample) {
            return None;
        }
        let ticket = match &self.journal {
            Some(journal) => Some(journal.sample(place, data.id, sample).ok()?),
            None => None,
        };
        data.push_in_place(sample);
        Some(ticket)
    }

    /// Checks, writes down and applies a write to the series in `slot`, or to a new one.
    fn write(
        &self,
        shard: &mut Shard,
        place: usize,
        slot: Option<u32>,
        labels: LabelsRef<'_>,
        samples: &[Sample],
    ) -> Result<Written, Refusal> {
        let Some(slot) = slot else {
            return self.begin(shard, place, labels, samples);
        };
        let data = shard.at(slot);
        let (ticket, grew) = self.apply(data, place, samples)?;
        let key = data.key(place, slot);
        Ok(Written { key, ticket, grew })
    }

    /// What remains to do of a write when its lock is released.
    fn finish(&self, written: Result<Written, Refusal>) -> Result<Key, Error> {
        let written = written.map_err(Refusal::into_first)?;
        if written.grew {
            self.retain();
        }
        self.settle(written.ticket)?;
        Ok(written.key)
    }

    fn apply(
        &self,
        data: &mut SeriesData,
        place: usize,
        samples: &[Sample],
    ) -> Result<(Option<Ticket>, bool), Refusal> {
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
        let grows = !data.has_room(samples.len());
        if grows {
            self.usage.check_room(1, &self.options.limits)?;
        }
        let ticket = match &self.journal {
            Some(journal) => Some(journal.samples(place, data.id, samples)?),
            None => None,
        };
        let before = data.size_bytes();
        data.insert(samples);
        self.usage.resize(before, data.size_bytes());
        Ok((ticket, grows))
    }

    fn begin(
        &self,
        shard: &mut Shard,
        place: usize,
        labels: LabelsRef<'_>,
        samples: &[Sample],
    ) -> Result<Written, Refusal> {
        let labels = &labels.to_labels();
        self.options.limits.check_labels(labels)?;
        self.usage.begin(labels, &self.options.limits)?;
        let id = SeriesId(self.next_id.fetch_add(1, Ordering::Relaxed));
        let mut data = SeriesData::new(id, labels.clone(), self.options.duplicates);
        let first = self.write_first(&mut data, place, samples);
        let ticket = first.inspect_err(|_| self.usage.end(labels))?;
        let key = Key {
            id,
            shard: place as u32,
            slot: shard.insert(data),
        };
        self.index.write().insert(labels, key);
        Ok(Written {
            key,
            ticket,
            grew: true,
        })
    }

    fn write_first(
        &self,
        data: &mut SeriesData,
        place: usize,
        samples: &[Sample],
    ) -> Result<Option<Ticket>, Refusal> {
        if let Some(journal) = &self.journal {
            journal.begin_series(place, data.id, &data.labels)?;
        }
        let (ticket, _) = self.apply(data, place, samples)?;
        Ok(ticket)
    }
}

impl WriteReport {
    /// None of `points` points can be said to be written.
    fn failed(points: usize, error: &Error) -> Self {
        let refused = |index| Refused {
            index,
            error: error.clone(),
        };
        Self {
            written: 0,
            refused: (0..points).map(refused).collect(),
        }
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
