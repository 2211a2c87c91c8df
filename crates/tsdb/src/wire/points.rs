use std::ops::Range;
use std::sync::Arc;

use super::{Fault, Ingested, PointError};
use crate::labels::LabelsRef;
use crate::series_cell::SeriesCell;
use crate::{Batch, Db, Sample};

/// The points of a body on their way into a database, with the places of those that can't go.
#[derive(Default)]
pub(super) struct Points {
    batch: Batch,
    refused: usize,
    /// Of the first that were refused.
    errors: Vec<PointError>,
    /// How many points were seen: the place of the next one.
    seen: usize,
    /// For each point of the batch its place; empty as long as they are the same.
    places: Vec<usize>,
}

impl Points {
    /// Points that will be written to `db`.
    pub(super) fn within(db: &Db) -> Self {
        Self {
            batch: db.batch(),
            ..Self::default()
        }
    }

    /// Takes the memory for so many points of as many series.
    pub(super) fn reserve(&mut self, points: usize) {
        self.batch.reserve(points);
    }

    /// The bytes of the labels of the points so far, those of a series once.
    pub(super) fn label_bytes(&self) -> usize {
        self.batch.label_bytes()
    }

    /// The next point, to be written.
    pub(super) fn push(&mut self, labels: LabelsRef<'_>, sample: Sample) {
        self.push_at(self.seen, labels, sample);
    }

    /// A point of this place, which may have several.
    pub(super) fn push_at(&mut self, place: usize, labels: LabelsRef<'_>, sample: Sample) {
        self.see(place..place + 1);
        self.batch.push_ref(labels, sample);
    }

    /// The next points, to be written; see [`Batch::push_series`].
    pub(super) fn push_series(
        &mut self,
        labels: LabelsRef<'_>,
        known: Option<&Arc<SeriesCell>>,
        samples: &[Sample],
    ) -> u32 {
        self.see(self.seen..self.seen + samples.len());
        self.batch.push_series(labels, known, samples)
    }

    /// The next points of the batch have these places.
    #[inline]
    fn see(&mut self, places: Range<usize>) {
        self.seen = places.end;
        if self.places.is_empty() && places.start != self.batch.len() {
            self.places.extend(0..self.batch.len());
        }
        if !self.places.is_empty() || places.start != self.batch.len() {
            self.places.extend(places);
        }
    }

    /// The next point can't be written.
    pub(super) fn refuse(&mut self, fault: Fault) {
        self.refuse_at(self.seen, fault);
    }

    /// A point of this place can't be written.
    pub(super) fn refuse_at(&mut self, place: usize, fault: Fault) {
        self.refused += 1;
        if self.errors.len() < Ingested::MAX_ERRORS {
            self.errors.push(PointError {
                index: place,
                fault,
            });
        }
        self.seen = place + 1;
    }

    /// Writes them.
    pub(super) fn write(self, db: &Db) -> Ingested {
        self.write_then(db, |_| {})
    }

    /// Writes them, and shows the batch as it was written.
    pub(super) fn write_then(mut self, db: &Db, show: impl FnOnce(&Batch)) -> Ingested {
        let report = db.write_points(&mut self.batch);
        show(&self.batch);
        self.refused += report.refused.len();
        for refused in report.refused {
            let index = self
                .places
                .get(refused.index)
                .copied()
                .unwrap_or(refused.index);
            self.errors.push(PointError {
                index,
                fault: refused.error.into(),
            });
        }
        self.errors.sort_by_key(|error| error.index);
        self.errors.truncate(Ingested::MAX_ERRORS);
        Ingested {
            written: report.written,
            refused: self.refused,
            errors: self.errors,
        }
    }
}
