use crate::{Labels, Sample};

/// The answer to a query.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Value {
    /// One number and the time of the evaluation.
    Scalar(Sample),
    /// A string and the time of the evaluation.
    String {
        /// The time of the evaluation, in ms.
        timestamp_ms: i64,
        /// The text.
        text: String,
    },
    /// One value per series, all at one time. Sorted by labels, unless the query sorts by value.
    Vector(Vec<InstantSeries>),
    /// Samples for each series, sorted by labels.
    Matrix(Vec<RangeSeries>),
}

/// A series of an instant vector.
#[derive(Clone, Debug)]
pub struct InstantSeries {
    /// Its labels.
    pub labels: Labels,
    /// Its value, with the time of the evaluation.
    pub sample: Sample,
}

/// A series of a range.
#[derive(Clone, Debug)]
pub struct RangeSeries {
    /// Its labels.
    pub labels: Labels,
    /// Its samples in ascending order of time, at least one.
    pub samples: Vec<Sample>,
}
