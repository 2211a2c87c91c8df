/// One measured value.
///
/// Every bit pattern of `value` is stored as it is: infinities, `-0.0`, and each NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Milliseconds since the Unix epoch; negative before it.
    pub timestamp_ms: i64,
    /// The measured value.
    pub value: f64,
}

impl Sample {
    /// The sample of `value` at `timestamp_ms`.
    pub const fn new(timestamp_ms: i64, value: f64) -> Self {
        Self {
            timestamp_ms,
            value,
        }
    }

    /// Whether the value is [`STALE_MARKER`].
    pub fn is_stale(&self) -> bool {
        is_stale(self.value)
    }
}

/// The NaN by which Prometheus says that a series has ended for now.
///
/// It is a sample as any other to reads; aggregates leave it out.
pub const STALE_MARKER: f64 = f64::from_bits(0x7ff0_0000_0000_0002);

/// Whether `value` is [`STALE_MARKER`], by its bits.
pub fn is_stale(value: f64) -> bool {
    value.to_bits() == STALE_MARKER.to_bits()
}
