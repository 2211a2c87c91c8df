use std::ops::Range;
use std::sync::{Arc, Weak};

use hashbrown::HashTable;

use crate::db::Inner;
use crate::labels::LabelsRef;
use crate::series_cell::SeriesCell;
use crate::{Error, Labels, Sample};

/// Points of any series, to be written by [`Db::write`](crate::Db::write) in one call.
///
/// Keeps its buffers when it is written or cleared, and remembers the series: points of the same
/// ones, best in the same order, cost the next batch about half. So what a dropped database held of
/// them stays in memory until the batch is written to another, or dropped.
#[derive(Debug, Default)]
pub struct Batch {
    /// The texts of the series, one after the other: to count a reference to each set would cost
    /// more.
    texts: String,
    /// The series of the points, and those of the batch before, in the order in which they were
    /// first named.
    series: Vec<Named>,
    by_labels: HashTable<u32>,
    /// For each point the place of its series in `series`.
    places: Vec<u32>,
    samples: Vec<Sample>,
    scratch: Scratch,
    /// Where the batch was written last. While this stands, no other has its address.
    db: Weak<Inner>,
}

/// A series of a batch.
#[derive(Debug)]
struct Named {
    hash: u64,
    /// What it was in `db`; it may have ended since.
    known: Option<Arc<SeriesCell>>,
    /// Where its text begins and ends.
    start: usize,
    end: usize,
}

impl Named {
    fn labels<'a>(&self, texts: &'a str) -> LabelsRef<'a> {
        LabelsRef::with_hash(&texts[self.start..self.end], self.hash)
    }

    /// Whether the series is that of `labels`.
    #[inline]
    fn is(&self, labels: LabelsRef<'_>, texts: &str) -> bool {
        self.hash == labels.hash_code()
            && texts.as_bytes()[self.start..self.end] == *labels.text().as_bytes()
    }
}

/// The points in the order of their series.
#[derive(Debug, Default)]
struct Scratch {
    /// Whether they are so in the batch: then only the ends stand here.
    sorted: bool,
    /// For each series the end of its group.
    ends: Vec<u32>,
    samples: Vec<Sample>,
    /// For each sample the place of its point in the batch.
    points: Vec<u32>,
}

/// The points of one series of a batch, in their order; there may be none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group<'a> {
    texts: &'a str,
    named: &'a Named,
    pub(crate) samples: &'a [Sample],
    points: Places<'a>,
}

/// For each sample of a group its place in the batch.
#[derive(Clone, Copy, Debug)]
enum Places<'a> {
    /// They follow each other.
    From(usize),
    Each(&'a [u32]),
}

/// What became of a batch.
#[derive(Clone, Debug, Default)]
#[must_use = "points may have been refused"]
pub struct WriteReport {
    /// How many points were accepted.
    pub written: usize,
    /// The others: series by series, and behind them those that the log refused.
    pub refused: Vec<Refused>,
}

/// A point that was not written.
#[derive(Clone, Debug)]
pub struct Refused {
    /// Its place in the batch, from zero.
    pub index: usize,
    /// Why.
    pub error: Error,
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty batch that knows where it will be written.
    pub(crate) fn within(db: &Arc<Inner>) -> Self {
        Self {
            db: Arc::downgrade(db),
            ..Self::default()
        }
    }

    /// Takes the memory for so many points of as many series.
    pub(crate) fn reserve(&mut self, points: usize) {
        /// About the text of a series.
        const TEXT: usize = 64;
        self.texts.reserve(points * TEXT);
        self.series.reserve(points);
        let series = &self.series;
        self.by_labels
            .reserve(points, |place| series[*place as usize].hash);
        self.places.reserve(points);
        self.samples.reserve(points);
    }

    /// Adds a point.
    pub fn push(&mut self, labels: &Labels, sample: Sample) {
        self.push_ref(labels.borrowed(), sample);
    }

    #[inline]
    pub(crate) fn push_ref(&mut self, labels: LabelsRef<'_>, sample: Sample) {
        let place = self.place(labels, None);
        self.places.push(place);
        self.samples.push(sample);
    }

    /// Adds points of a series, which may be known in the database that the batch is
    /// [`within`](Self::within). Returns the place of the series.
    pub(crate) fn push_series(
        &mut self,
        labels: LabelsRef<'_>,
        known: Option<&Arc<SeriesCell>>,
        samples: &[Sample],
    ) -> u32 {
        let place = self.place(labels, known);
        self.places.extend(samples.iter().map(|_| place));
        self.samples.extend_from_slice(samples);
        place
    }

    /// The series of a place, and what it was when it was written last.
    pub(crate) fn series(&self, place: u32) -> (LabelsRef<'_>, Option<&Arc<SeriesCell>>) {
        let named = &self.series[place as usize];
        (named.labels(&self.texts), named.known.as_ref())
    }

    fn place(&mut self, labels: LabelsRef<'_>, known: Option<&Arc<SeriesCell>>) -> u32 {
        let Self {
            texts,
            series,
            by_labels,
            ..
        } = self;
        let next = match self.places.last() {
            Some(&last) if series[last as usize].is(labels, texts) => return last,
            Some(&last) => last + 1,
            None => 0,
        };
        if let Some(named) = series.get(next as usize)
            && named.is(labels, texts)
        {
            return next;
        }
        let hash = labels.hash_code();
        *by_labels
            .entry(
                hash,
                |place| series[*place as usize].is(labels, texts),
                |place| series[*place as usize].hash,
            )
            .or_insert_with(|| {
                let place = series.len() as u32;
                let start = texts.len();
                texts.push_str(labels.text());
                let end = texts.len();
                series.push(Named {
                    hash,
                    known: known.cloned(),
                    start,
                    end,
                });
                place
            })
            .get()
    }

    /// The bytes of the labels of its series.
    pub(crate) fn label_bytes(&self) -> usize {
        self.texts.len()
    }

    /// How many points there are.
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// Forgets the points; also the series, if those are more than twice as many.
    pub fn clear(&mut self) {
        if self.series.len() > 2 * self.places.len() {
            self.texts.clear();
            self.series.clear();
            self.by_labels.clear();
        }
        self.places.clear();
        self.samples.clear();
    }

    /// Makes ready to be written to `db`; returns how many groups there are.
    pub(crate) fn arrange(&mut self, db: &Arc<Inner>) -> usize {
        if !std::ptr::eq(self.db.as_ptr(), Arc::as_ptr(db)) {
            self.db = Arc::downgrade(db);
            self.series.iter_mut().for_each(|named| named.known = None);
        }
        let series = self.series.len();
        self.scratch.sorted = self.scratch.is_sorted(series, &self.places);
        if !self.scratch.sorted {
            self.scratch.sort(series, &self.places, &self.samples);
        }
        series
    }

    /// The points of the series of a place.
    #[inline]
    pub(crate) fn group(&self, place: usize) -> Group<'_> {
        let named = &self.series[place];
        let range = self.scratch.range(place);
        let (samples, points) = if self.scratch.sorted {
            (&self.samples[range.clone()], Places::From(range.start))
        } else {
            let points = &self.scratch.points[range.clone()];
            (&self.scratch.samples[range], Places::Each(points))
        };
        Group {
            texts: &self.texts,
            named,
            samples,
            points,
        }
    }

    /// Remembers what the series of a place is, in the database that the batch is written to.
    pub(crate) fn remember(&mut self, place: usize, cell: Option<Arc<SeriesCell>>) {
        self.series[place].known = cell;
    }
}

impl Scratch {
    /// Whether the points are in the order of their series; if so, finds the ends.
    fn is_sorted(&mut self, series: usize, places: &[u32]) -> bool {
        self.ends.clear();
        for (point, &place) in (0..).zip(places) {
            let place = place as usize;
            if place < self.ends.len() {
                return false;
            }
            while self.ends.len() < place {
                self.ends.push(point);
            }
        }
        self.ends.resize(series, places.len() as u32);
        true
    }

    /// A counting sort: stable, two passes.
    fn sort(&mut self, series: usize, places: &[u32], samples: &[Sample]) {
        self.ends.clear();
        self.ends.resize(series, 0);
        for &place in places {
            self.ends[place as usize] += 1;
        }
        let mut start = 0;
        for end in &mut self.ends {
            (start, *end) = (start + *end, start);
        }
        self.samples.resize(samples.len(), Sample::new(0, 0.0));
        self.points.resize(samples.len(), 0);
        for (point, (&place, &sample)) in places.iter().zip(samples).enumerate() {
            let end = &mut self.ends[place as usize];
            self.samples[*end as usize] = sample;
            self.points[*end as usize] = point as u32;
            *end += 1;
        }
    }

    /// The samples of a series.
    fn range(&self, place: usize) -> Range<usize> {
        let start = match place {
            0 => 0,
            _ => self.ends[place - 1],
        };
        start as usize..self.ends[place] as usize
    }
}

impl<'a> Group<'a> {
    pub(crate) fn labels(&self) -> LabelsRef<'a> {
        self.named.labels(self.texts)
    }

    /// What the series was when it was written last.
    #[inline]
    pub(crate) fn known(&self) -> Option<&'a SeriesCell> {
        self.named.known.as_deref()
    }

    /// The place in the batch of the `index`th sample.
    pub(crate) fn point(&self, index: usize) -> usize {
        match self.points {
            Places::From(first) => first + index,
            Places::Each(points) => points[index] as usize,
        }
    }
}
