use hashbrown::HashTable;

use crate::{Error, Labels, Sample};

/// Points of any series, to be written by [`Db::write`](crate::Db::write) in one call.
///
/// Keeps its buffers when it is written or cleared.
#[derive(Debug, Default)]
pub struct Batch {
    /// The series of the points, in the order in which they were first named.
    series: Vec<Labels>,
    by_labels: HashTable<u32>,
    /// For each point the place of its series in `series`.
    places: Vec<u32>,
    samples: Vec<Sample>,
    scratch: Scratch,
}

/// The points in the order of their series.
#[derive(Debug, Default)]
struct Scratch {
    /// For each series the end of its group.
    ends: Vec<u32>,
    samples: Vec<Sample>,
    /// For each sample the place of its point in the batch.
    points: Vec<u32>,
}

/// The points of one series of a batch, in their order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group<'a> {
    pub(crate) labels: &'a Labels,
    pub(crate) samples: &'a [Sample],
    /// For each sample its place in the batch; `None` where they are all of the batch.
    points: Option<&'a [u32]>,
}

/// What became of a batch.
#[derive(Clone, Debug, Default)]
#[must_use = "points may have been refused"]
pub struct WriteReport {
    /// How many points were accepted.
    pub written: usize,
    /// The others, by series.
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

    /// Adds a point.
    pub fn push(&mut self, labels: &Labels, sample: Sample) {
        let place = self.place(labels);
        self.places.push(place);
        self.samples.push(sample);
    }

    fn place(&mut self, labels: &Labels) -> u32 {
        if let Some(&last) = self.places.last()
            && self.series[last as usize] == *labels
        {
            return last;
        }
        let Self {
            series, by_labels, ..
        } = self;
        let hash = labels.hash_code();
        *by_labels
            .entry(
                hash,
                |place| series[*place as usize] == *labels,
                |place| series[*place as usize].hash_code(),
            )
            .or_insert_with(|| {
                let place = series.len() as u32;
                series.push(labels.clone());
                place
            })
            .get()
    }

    /// How many points there are.
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// Forgets the points.
    pub fn clear(&mut self) {
        self.series.clear();
        self.by_labels.clear();
        self.places.clear();
        self.samples.clear();
    }

    /// The points by series; series in the order in which they were first named.
    pub(crate) fn groups(&mut self) -> impl Iterator<Item = Group<'_>> {
        let several = self.series.len() > 1;
        if several {
            self.scratch
                .sort(self.series.len(), &self.places, &self.samples);
        }
        let Self {
            series,
            samples,
            scratch,
            ..
        } = &*self;
        series.iter().enumerate().map(move |(place, labels)| {
            if several {
                scratch.group(place, labels)
            } else {
                Group {
                    labels,
                    samples,
                    points: None,
                }
            }
        })
    }
}

impl Scratch {
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

    fn group<'a>(&'a self, place: usize, labels: &'a Labels) -> Group<'a> {
        let start = match place {
            0 => 0,
            _ => self.ends[place - 1] as usize,
        };
        let range = start..self.ends[place] as usize;
        Group {
            labels,
            samples: &self.samples[range.clone()],
            points: Some(&self.points[range]),
        }
    }
}

impl Group<'_> {
    /// The place in the batch of the `index`th sample.
    pub(crate) fn point(&self, index: usize) -> usize {
        self.points.map_or(index, |points| points[index] as usize)
    }
}
