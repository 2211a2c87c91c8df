use std::cell::OnceCell;

use super::exact_sums::ExactSums;

/// The samples of a series in the range that belongs to a step. There is at least one sample, and
/// none is a stale marker.
pub(crate) struct Window<'a> {
    pub(crate) timestamps: &'a [i64],
    pub(crate) values: &'a [f64],
    /// The range, in ms: after `start`, up to `end`.
    pub(crate) start: i64,
    pub(crate) end: i64,
    /// The time of the step. It differs from `end` if `offset` or `@` moves the range.
    pub(crate) step_time: i64,
    /// The index of the first sample in the series.
    pub(crate) first: usize,
    pub(crate) series: &'a SeriesFacts<'a>,
}

/// Facts about a whole series that make its windows cheap: neighbouring windows share most of their
/// samples. Each fact is found when the first window needs it.
pub(crate) struct SeriesFacts<'a> {
    values: &'a [f64],
    /// Whether windows share samples.
    overlap: bool,
    falls: OnceCell<Vec<usize>>,
    sums: OnceCell<Option<ExactSums>>,
}

impl<'a> SeriesFacts<'a> {
    pub(crate) fn new(values: &'a [f64], overlap: bool) -> Self {
        Self {
            values,
            overlap,
            falls: OnceCell::new(),
            sums: OnceCell::new(),
        }
    }

    /// The indexes of the values that are followed by a lower one.
    fn falls(&self) -> &[usize] {
        self.falls.get_or_init(|| {
            let pairs = self.values.array_windows().enumerate();
            let falls = pairs.filter(|(_, [value, next])| next < value);
            falls.map(|(index, _)| index).collect()
        })
    }

    fn sums(&self) -> Option<&ExactSums> {
        // For a single window, the direct sum is cheaper.
        if !self.overlap {
            return None;
        }
        self.sums
            .get_or_init(|| ExactSums::new(self.values))
            .as_ref()
    }
}

impl<'a> Window<'a> {
    /// The values that are followed by a lower one, in order.
    pub(super) fn before_falls(&self) -> impl ExactSizeIterator<Item = f64> + use<'a> {
        let (series, falls) = (self.series, self.series.falls());
        let last = self.first + self.values.len() - 1;
        let from = falls.partition_point(|index| *index < self.first);
        let count = falls[from..].partition_point(|index| *index < last);
        let falls = &falls[from..from + count];
        falls.iter().map(move |index| series.values[*index])
    }

    /// The sum of the values, bit for bit that of [`statistics::sum`](super::statistics::sum).
    /// `None` if it has to be computed from the values.
    pub(super) fn sum(&self) -> Option<f64> {
        let part = self.first..self.first + self.values.len();
        self.series.sums()?.sum(part)
    }
}

/// Unix time in seconds.
pub(super) fn seconds(timestamp_ms: i64) -> f64 {
    timestamp_ms as f64 / 1000.0
}
