//! Double exponential smoothing, also called Holt's linear method.

/// The last smoothed value; `None` for fewer than two values. The greater a factor, the less the
/// smoothed value, or its trend, depends on earlier values.
pub(super) fn smooth(values: &[f64], smoothing: f64, trend: f64) -> Option<f64> {
    let [first, second, ..] = values else {
        return None;
    };
    let (mut smoothed, mut slope) = (*first, second - first);
    for value in &values[1..] {
        let before = smoothed;
        smoothed = smoothing * value + (1.0 - smoothing) * (smoothed + slope);
        slope = trend * (smoothed - before) + (1.0 - trend) * slope;
    }
    Some(smoothed)
}
