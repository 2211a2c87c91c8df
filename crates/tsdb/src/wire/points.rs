use std::ops::Range;
use std::sync::Arc;

use super::{Fault, Ingested, PointError};
use crate::series_cell::SeriesCell;
use crate::{Batch, Db, LabelsRef, Sample};

/// The points of a body that will be written, and the errors of the points that are refused.
#[derive(Default)]
pub(super) struct Points {
    batch: Batch,
    refused: usize,
    /// The errors of the first refused points.
    errors: Vec<PointError>,
    /// The index of the next point, which is the last index so far plus one.
    seen: usize,
    /// For each point of the batch, its index in the body. Empty while each point has the same
    /// index in both.
    body_indexes: Vec<usize>,
    not_numbers: usize,
    in_1970: usize,
}

impl Points {
    /// A list without points, for points that will be written to `db`.
    pub(super) fn within(db: &Db) -> Self {
        Self {
            batch: db.batch(),
            ..Self::default()
        }
    }

    /// The index after that of the last point.
    pub(super) fn seen(&self) -> usize {
        self.seen
    }

    /// Allocates memory for this many points, each of a different series.
    pub(super) fn reserve(&mut self, points: usize) {
        self.batch.reserve(points);
    }

    /// The bytes of the labels of all points so far, counted once per series.
    pub(super) fn label_bytes(&self) -> usize {
        self.batch.label_bytes()
    }

    /// Whether the points take so much memory that a large body should write them before it goes on.
    pub(super) fn are_many(&self) -> bool {
        const SAMPLES: usize = 1 << 16;
        const LABEL_BYTES: usize = 4 << 20;
        self.batch.len() >= SAMPLES || self.label_bytes() >= LABEL_BYTES
    }

    /// Adds the next point.
    pub(super) fn push(&mut self, labels: LabelsRef<'_>, sample: Sample) {
        self.push_at(self.seen, labels, sample);
    }

    /// Adds a point with this index. Several points may have the same index.
    pub(super) fn push_at(&mut self, index: usize, labels: LabelsRef<'_>, sample: Sample) {
        self.record(index..index + 1);
        self.in_1970 += usize::from(Ingested::is_in_1970(sample.timestamp_ms));
        self.batch.push_ref(labels, sample);
    }

    /// Adds the next points, all of one series. See [`Batch::push_series`].
    pub(super) fn push_series(
        &mut self,
        labels: LabelsRef<'_>,
        known: Option<&Arc<SeriesCell>>,
        samples: &[Sample],
    ) -> u32 {
        self.record(self.seen..self.seen + samples.len());
        let times = samples.iter().map(|sample| sample.timestamp_ms);
        self.in_1970 += times.filter(|time| Ingested::is_in_1970(*time)).count();
        self.batch.push_series(labels, known, samples)
    }

    /// Records the indexes of the next points of the batch.
    #[inline]
    fn record(&mut self, indexes: Range<usize>) {
        self.seen = indexes.end;
        // The first refused point shifts the indexes, so they are recorded from here on.
        if self.body_indexes.is_empty() && indexes.start != self.batch.len() {
            self.body_indexes.extend(0..self.batch.len());
        }
        if !self.body_indexes.is_empty() || indexes.start != self.batch.len() {
            self.body_indexes.extend(indexes);
        }
    }

    /// Leaves out a value that is no number.
    pub(super) fn leave_out(&mut self) {
        self.not_numbers += 1;
    }

    /// Refuses the next point.
    pub(super) fn refuse(&mut self, fault: Fault) {
        self.refuse_at(self.seen, fault);
    }

    /// Refuses a point with this index.
    pub(super) fn refuse_at(&mut self, index: usize, fault: Fault) {
        self.refused += 1;
        if self.errors.len() < Ingested::MAX_ERRORS {
            self.errors.push(PointError { index, fault });
        }
        self.seen = index + 1;
    }

    /// Writes the points.
    pub(super) fn write(self, db: &Db) -> Ingested {
        self.write_then(db, |_| {})
    }

    /// Writes the points, then calls `show` with the written batch.
    pub(super) fn write_then(mut self, db: &Db, show: impl FnOnce(&Batch)) -> Ingested {
        let report = db.write_keeping_points(&mut self.batch);
        show(&self.batch);
        self.refused += report.refused.len();
        for refused in report.refused {
            // The list is empty while the batch has all points of the body.
            let index = self
                .body_indexes
                .get(refused.index)
                .copied()
                .unwrap_or(refused.index);
            self.errors.push(PointError {
                index,
                fault: refused.error.into(),
            });
        }
        // Faults of the form were added first, those of the engine at the end.
        self.errors.sort_by_key(|error| error.index);
        self.errors.truncate(Ingested::MAX_ERRORS);
        Ingested {
            written: report.written,
            refused: self.refused,
            errors: self.errors,
            not_numbers: self.not_numbers,
            in_1970: self.in_1970,
        }
    }
}
