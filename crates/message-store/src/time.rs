//! Times as they are stored: whole microseconds since 1970-01-01 UTC.

use std::time::{Duration, SystemTime};

/// The longest that anything waits: as long as SQLite and PostgreSQL can be told to. Longer limits
/// mean "for ever", and no clock ends before this one is over.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) const LONGEST_WAIT: Duration = Duration::from_millis(i32::MAX as u64);

/// The microsecond that a time is in.
#[cfg(any(feature = "conformance", feature = "sqlite"))]
pub(crate) fn to_us(time: SystemTime) -> i64 {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
        Err(before) => {
            let us = before.duration().as_nanos().div_ceil(1000);
            i64::try_from(us).map_or(i64::MIN, |us| -us)
        }
    }
}

/// The beginning of a microsecond.
pub(crate) fn from_us(time_us: i64) -> SystemTime {
    let distance = Duration::from_micros(time_us.unsigned_abs());
    if time_us < 0 {
        SystemTime::UNIX_EPOCH - distance
    } else {
        SystemTime::UNIX_EPOCH + distance
    }
}
