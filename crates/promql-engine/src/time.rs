//! Times and durations: parameters of Prometheus' HTTP interface, converted to ms.

use std::time::Duration;

/// The first and the last time that Prometheus knows, as its clients write them, and their ms.
const BOUNDARIES: [(&str, i64); 2] = [
    ("-292273086-05-16T16:47:06Z", -9_223_309_901_257_974_000),
    (
        "292277025-08-18T07:12:54.999999999Z",
        9_223_309_901_257_974_999,
    ),
];

/// Parses Unix seconds with an optional fraction, or RFC 3339, to ms. `None` if the text is
/// neither, or if the ms don't fit into 64 bits. Years have four digits, except those of the first and
/// the last time that Prometheus knows.
pub fn parse_time(text: &str) -> Option<i64> {
    if let Ok(seconds) = text.parse::<f64>() {
        return milliseconds(seconds);
    }
    let boundary = BOUNDARIES.iter().find(|(boundary, _)| *boundary == text);
    match boundary {
        Some((_, time_ms)) => Some(*time_ms),
        None => Some(text.parse::<jiff::Timestamp>().ok()?.as_millisecond()),
    }
}

/// Parses seconds with an optional fraction, or Prometheus' notation (`5m`, `1h30m`, `500ms`), to
/// ms. `None` if the text is neither.
pub fn parse_duration(text: &str) -> Option<i64> {
    match text.parse::<f64>() {
        Ok(seconds) => milliseconds(seconds),
        Err(_) => {
            let duration = promql_parser::util::parse_duration(text).ok()?;
            Some(whole_milliseconds(duration))
        }
    }
}

fn milliseconds(seconds: f64) -> Option<i64> {
    let milliseconds = (seconds * 1000.0).round();
    // The comparison is false for NaN. i64::MAX as f64 is 2^63, the first value that doesn't fit.
    let fits = milliseconds >= i64::MIN as f64 && milliseconds < i64::MAX as f64;
    fits.then_some(milliseconds as i64)
}

/// The whole ms of a duration, at most `i64::MAX`.
pub(super) fn whole_milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
