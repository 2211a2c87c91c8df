/// The type and the help text of a metric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// The type of the metric.
    pub kind: MetricKind,
    /// A sentence that describes the metric.
    pub help: String,
}

/// The type of a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetricKind {
    /// The type was not given.
    #[default]
    Unknown,
    /// Only grows, and starts at zero again when its source restarts.
    Counter,
    /// Goes up and down, like a temperature.
    Gauge,
    /// Counts by upper bound (label `le`), with a sum and a count.
    Histogram,
    /// Quantiles (label `quantile`), with a sum and a count.
    Summary,
}
