/// One measured value.
///
/// The engine stores every bit pattern of `value` unchanged: infinities, `-0.0`, and each NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Milliseconds since the Unix epoch; negative before it.
    pub timestamp_ms: i64,
    /// The measured value.
    pub value: f64,
}

impl Sample {
    /// A sample with this timestamp and value.
    pub const fn new(timestamp_ms: i64, value: f64) -> Self {
        Self {
            timestamp_ms,
            value,
        }
    }

    /// Returns `true` if the value is [`STALE_MARKER`].
    pub fn is_stale(&self) -> bool {
        is_stale(self.value)
    }
}

/// The NaN that Prometheus writes to mark a series as stale.
///
/// Reads return it like any other sample. Aggregates leave it out.
pub const STALE_MARKER: f64 = f64::from_bits(0x7ff0_0000_0000_0002);

/// Returns `true` if `value` has the bits of [`STALE_MARKER`].
pub fn is_stale(value: f64) -> bool {
    value.to_bits() == STALE_MARKER.to_bits()
}
