//! The straight line through a window, by least squares.

use super::Window;

struct Line {
    slope: f64,
    intercept: f64,
}

/// The slope of the line, per second.
pub(super) fn derivative(window: &Window<'_>) -> Option<f64> {
    Some(fit(window, *window.timestamps.first()?)?.slope)
}

/// The value of the line `seconds` after the time of the step.
pub(super) fn predict(window: &Window<'_>, seconds: f64) -> Option<f64> {
    let line = fit(window, window.step_time)?;
    Some(line.slope * seconds + line.intercept)
}

/// The line, with its intercept at `origin`; `None` for fewer than two samples.
fn fit(window: &Window<'_>, origin: i64) -> Option<Line> {
    let (&first, count) = (window.values.first()?, window.values.len() as f64);
    if window.values.len() < 2 {
        return None;
    }
    // For a constant series this result is exact. The sums below would round.
    if window.values.iter().all(|value| *value == first) {
        let line = Line {
            slope: 0.0,
            intercept: first,
        };
        return Some(if first.is_finite() {
            line
        } else {
            Line {
                slope: f64::NAN,
                intercept: f64::NAN,
            }
        });
    }
    let (mut sum_x, mut sum_y, mut sum_xy, mut sum_xx) = (0.0, 0.0, 0.0, 0.0);
    for (&time, &y) in window.timestamps.iter().zip(window.values) {
        // The time is relative to `origin`, because the squares of Unix times would lose digits.
        let x = time.saturating_sub(origin) as f64 / 1000.0;
        sum_x += x;
        sum_y += y;
        sum_xy += x * y;
        sum_xx += x * x;
    }
    let covariance = sum_xy - sum_x * sum_y / count;
    let variance = sum_xx - sum_x * sum_x / count;
    let slope = covariance / variance;
    Some(Line {
        slope,
        intercept: sum_y / count - slope * sum_x / count,
    })
}
