use std::ops::Range;
use std::sync::{Arc, Weak};

use hashbrown::HashTable;

use crate::db::Inner;
use crate::series_cell::SeriesCell;
use crate::{Error, Labels, LabelsRef, Sample};

/// Points of any number of series, to be written with one call of [`Db::write`](crate::Db::write).
///
/// Reusing a batch is about twice as fast as building a new one, because it keeps its buffers and
/// its series when it is written or cleared. Push the series in the same order each time.
///
/// After the database is dropped, the batch still keeps the memory of these series, until you write
/// it to another database or drop it.
#[derive(Debug, Default)]
pub struct Batch {
    /// The label texts of `series`, concatenated. A batch copies the labels, because cloning a
    /// [`Labels`], which counts references, costs more.
    texts: String,
    /// The series of the points, and those kept from earlier points, in the order of their first
    /// point.
    series: Vec<BatchSeries>,
    by_labels: HashTable<u32>,
    /// For each point, the index of its series in `series`.
    point_series: Vec<u32>,
    samples: Vec<Sample>,
    grouping: Grouping,
    /// The database that the batch was written to last, compared by address. The weak reference
    /// keeps the address from being reused.
    db: Weak<Inner>,
}

/// A series of a batch.
#[derive(Debug)]
struct BatchSeries {
    hash: u64,
    /// The cell in `db`, if it is known. The series may have ended since the cell was found.
    known: Option<Arc<SeriesCell>>,
    /// The range of the label text in `texts`.
    start: usize,
    end: usize,
}

impl BatchSeries {
    fn labels<'a>(&self, texts: &'a str) -> LabelsRef<'a> {
        LabelsRef::with_hash(&texts[self.start..self.end], self.hash)
    }

    #[inline]
    fn has_labels(&self, labels: LabelsRef<'_>, texts: &str) -> bool {
        self.hash == labels.hash_code()
            && texts.as_bytes()[self.start..self.end] == *labels.text().as_bytes()
    }
}

/// The points of a batch, grouped by series.
#[derive(Debug, Default)]
struct Grouping {
    /// Whether the batch holds the points in the order of their series. Then only `ends` is filled,
    /// and groups borrow the samples of the batch.
    sorted: bool,
    /// For each series, the end of its group.
    ends: Vec<u32>,
    samples: Vec<Sample>,
    /// For each sample, the index of its point in the batch.
    points: Vec<u32>,
}

/// The points of one series of a batch, in the order in which they were pushed. May be empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group<'a> {
    texts: &'a str,
    series: &'a BatchSeries,
    pub(crate) samples: &'a [Sample],
    points: PointIndexes<'a>,
}

/// For each sample of a group, the index of its point in the batch.
#[derive(Clone, Copy, Debug)]
enum PointIndexes<'a> {
    /// Consecutive indexes that start at this one.
    From(usize),
    Each(&'a [u32]),
}

/// The result of writing a batch.
#[derive(Clone, Debug, Default)]
#[must_use = "points may have been refused"]
pub struct WriteReport {
    /// The number of points accepted.
    pub written: usize,
    /// The refused points, series by series; then the points that the log could not make durable.
    pub refused: Vec<Refused>,
}

/// A point that was not written.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The index of the point in the batch, from zero.
    pub index: usize,
    /// The reason.
    pub error: Error,
}

impl Batch {
    /// Creates an empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty batch for `db`. The caller may add series together with their cells in
    /// `db`.
    #[cfg(feature = "wire")]
    pub(crate) fn for_db(db: &Arc<Inner>) -> Self {
        Self {
            db: Arc::downgrade(db),
            ..Self::default()
        }
    }

    /// Reserves memory for a number of points, each of a different series.
    #[cfg(feature = "wire")]
    pub(crate) fn reserve(&mut self, points: usize) {
        /// Typical length of the label text of a series.
        const TEXT_BYTES: usize = 64;
        self.texts.reserve(points * TEXT_BYTES);
        self.series.reserve(points);
        let series = &self.series;
        self.by_labels
            .reserve(points, |index| series[*index as usize].hash);
        self.point_series.reserve(points);
        self.samples.reserve(points);
    }

    /// Adds a point.
    pub fn push(&mut self, labels: &Labels, sample: Sample) {
        self.push_ref(labels.borrowed(), sample);
    }

    #[inline]
    pub(crate) fn push_ref(&mut self, labels: LabelsRef<'_>, sample: Sample) {
        let index = self.series_index(labels, None);
        self.point_series.push(index);
        self.samples.push(sample);
    }

    /// Adds points of a series. `known` is its cell in the database that the batch is
    /// [for](Self::for_db), if the caller knows it. Returns the index of the series.
    #[cfg(feature = "wire")]
    pub(crate) fn push_series(
        &mut self,
        labels: LabelsRef<'_>,
        known: Option<&Arc<SeriesCell>>,
        samples: &[Sample],
    ) -> u32 {
        let index = self.series_index(labels, known);
        self.point_series.extend(samples.iter().map(|_| index));
        self.samples.extend_from_slice(samples);
        index
    }

    /// Returns the labels of a series, and its cell if it is known.
    #[cfg(feature = "wire")]
    pub(crate) fn series(&self, index: u32) -> (LabelsRef<'_>, Option<&Arc<SeriesCell>>) {
        let series = &self.series[index as usize];
        (series.labels(&self.texts), series.known.as_ref())
    }

    /// Finds the series with `labels`, or adds it, and returns its index.
    fn series_index(&mut self, labels: LabelsRef<'_>, known: Option<&Arc<SeriesCell>>) -> u32 {
        let Self {
            texts,
            series,
            by_labels,
            ..
        } = self;
        // Callers usually push the points of a series together, or the series in the same order as
        // in the previous batch. Neither case needs a lookup in the table.
        let next = match self.point_series.last() {
            Some(&last) if series[last as usize].has_labels(labels, texts) => return last,
            Some(&last) => last + 1,
            None => 0,
        };
        if let Some(series) = series.get(next as usize)
            && series.has_labels(labels, texts)
        {
            return next;
        }
        let hash = labels.hash_code();
        *by_labels
            .entry(
                hash,
                |index| series[*index as usize].has_labels(labels, texts),
                |index| series[*index as usize].hash,
            )
            .or_insert_with(|| {
                let index = series.len() as u32;
                let start = texts.len();
                texts.push_str(labels.text());
                let end = texts.len();
                series.push(BatchSeries {
                    hash,
                    known: known.cloned(),
                    start,
                    end,
                });
                index
            })
            .get()
    }

    /// Returns the bytes of the labels of all series.
    #[cfg(feature = "wire")]
    pub(crate) fn label_bytes(&self) -> usize {
        self.texts.len()
    }

    /// Returns the number of points.
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// Returns `true` if the batch has no points.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// Removes the points, and keeps their series for later points.
    ///
    /// Removes the series too if there are more than twice as many series as points: then most of
    /// them are no longer used.
    pub fn clear(&mut self) {
        if self.series.len() > 2 * self.point_series.len() {
            self.texts.clear();
            self.series.clear();
            self.by_labels.clear();
        }
        self.point_series.clear();
        self.samples.clear();
    }

    /// Groups the points by series for a write to `db`. Returns the number of series.
    pub(crate) fn group_by_series(&mut self, db: &Arc<Inner>) -> usize {
        if !std::ptr::eq(self.db.as_ptr(), Arc::as_ptr(db)) {
            // The known cells belong to another database.
            self.db = Arc::downgrade(db);
            self.series
                .iter_mut()
                .for_each(|series| series.known = None);
        }
        let series = self.series.len();
        self.grouping.sorted = self.grouping.is_sorted(series, &self.point_series);
        if !self.grouping.sorted {
            self.grouping
                .sort(series, &self.point_series, &self.samples);
        }
        series
    }

    /// Returns the points of a series.
    #[inline]
    pub(crate) fn group(&self, index: usize) -> Group<'_> {
        let series = &self.series[index];
        let range = self.grouping.range(index);
        let (samples, points) = if self.grouping.sorted {
            (
                &self.samples[range.clone()],
                PointIndexes::From(range.start),
            )
        } else {
            let points = &self.grouping.points[range.clone()];
            (&self.grouping.samples[range], PointIndexes::Each(points))
        };
        Group {
            texts: &self.texts,
            series,
            samples,
            points,
        }
    }

    /// Remembers the cell of a series in the database that the batch is written to.
    pub(crate) fn remember(&mut self, index: usize, cell: Option<Arc<SeriesCell>>) {
        self.series[index].known = cell;
    }
}

impl Grouping {
    /// Returns `true` if the points are in the order of their series. In that case fills `ends`.
    fn is_sorted(&mut self, series: usize, point_series: &[u32]) -> bool {
        self.ends.clear();
        for (point, &index) in (0..).zip(point_series) {
            let index = index as usize;
            if index < self.ends.len() {
                return false;
            }
            // Series without points get an empty group.
            while self.ends.len() < index {
                self.ends.push(point);
            }
        }
        self.ends.resize(series, point_series.len() as u32);
        true
    }

    /// Sorts the points by series with a counting sort. This sort is stable, so the points of a
    /// series stay in order of arrival.
    fn sort(&mut self, series: usize, point_series: &[u32], samples: &[Sample]) {
        self.ends.clear();
        self.ends.resize(series, 0);
        for &index in point_series {
            self.ends[index as usize] += 1;
        }
        // Turn each count into the start of the group. The last loop advances it to the end.
        let mut start = 0;
        for end in &mut self.ends {
            (start, *end) = (start + *end, start);
        }
        self.samples.resize(samples.len(), Sample::new(0, 0.0));
        self.points.resize(samples.len(), 0);
        for (point, (&index, &sample)) in point_series.iter().zip(samples).enumerate() {
            let end = &mut self.ends[index as usize];
            self.samples[*end as usize] = sample;
            self.points[*end as usize] = point as u32;
            *end += 1;
        }
    }

    /// Returns the range of the samples of a series.
    fn range(&self, index: usize) -> Range<usize> {
        let start = match index {
            0 => 0,
            _ => self.ends[index - 1],
        };
        start as usize..self.ends[index] as usize
    }
}

impl<'a> Group<'a> {
    pub(crate) fn labels(&self) -> LabelsRef<'a> {
        self.series.labels(self.texts)
    }

    /// Returns the cell of the series if it is known. The series may have ended.
    #[inline]
    pub(crate) fn known(&self) -> Option<&'a SeriesCell> {
        self.series.known.as_deref()
    }

    /// Returns the index in the batch of a sample of the group.
    pub(crate) fn point_index(&self, index: usize) -> usize {
        match self.points {
            PointIndexes::From(first) => first + index,
            PointIndexes::Each(points) => points[index] as usize,
        }
    }
}
