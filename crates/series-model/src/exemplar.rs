use crate::{Labels, Sample};

/// A sample that stands for many, with labels that lead to its origin, for example a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Exemplar {
    /// The labels of the exemplar itself, without a metric name.
    pub labels: Labels,
    /// The value and the time.
    pub sample: Sample,
}
