/// The samples of a series in the range that belongs to a step. There is at least one sample, and
/// none is a stale marker.
pub(in crate::promql) struct Window<'a> {
    pub(in crate::promql) timestamps: &'a [i64],
    pub(in crate::promql) values: &'a [f64],
    /// The range, in ms: after `start`, up to `end`.
    pub(in crate::promql) start: i64,
    pub(in crate::promql) end: i64,
    /// The time of the step. It differs from `end` if `offset` or `@` moves the range.
    pub(in crate::promql) step_time: i64,
}

/// Unix time in seconds.
pub(super) fn seconds(timestamp_ms: i64) -> f64 {
    timestamp_ms as f64 / 1000.0
}
