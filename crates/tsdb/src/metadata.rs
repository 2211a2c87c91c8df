/// What is known of a metric beyond its samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// What its values mean.
    pub kind: MetricKind,
    /// A sentence for people.
    pub help: String,
}

/// What the values of a metric mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetricKind {
    /// Not said.
    #[default]
    Unknown,
    /// Grows, and begins at zero again when its source restarts.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts by upper bound (label `le`), with a sum and a count.
    Histogram,
    /// Quantiles (label `quantile`), with a sum and a count.
    Summary,
}
