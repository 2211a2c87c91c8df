//! Stored times: whole microseconds since 1970-01-01 UTC.

use std::time::{Duration, SystemTime};

/// Converts a time to microseconds, rounded down.
pub(crate) fn to_us(time: SystemTime) -> i64 {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
        Err(before) => {
            // Before the epoch, rounding down means rounding the distance up.
            let us = before.duration().as_nanos().div_ceil(1000);
            i64::try_from(us).map_or(i64::MIN, |us| -us)
        }
    }
}

/// Converts microseconds to a time.
pub(crate) fn from_us(time_us: i64) -> SystemTime {
    let distance = Duration::from_micros(time_us.unsigned_abs());
    if time_us < 0 {
        SystemTime::UNIX_EPOCH - distance
    } else {
        SystemTime::UNIX_EPOCH + distance
    }
}
