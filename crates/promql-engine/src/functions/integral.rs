//! The integral of a range over time.

use super::Window;
use super::statistics::added;

/// How the value between two samples is approximated.
#[derive(Clone, Copy)]
enum Rule {
    /// The earlier value.
    Left,
    /// The later value.
    Right,
    /// The mean of both.
    Trapezoid,
}

impl Rule {
    /// The rule of a number: 0, 1 or 2. All others stand for the trapezoid, as in Prometheus.
    fn of(number: Option<f64>) -> Self {
        match number {
            Some(0.0) => Self::Left,
            Some(1.0) => Self::Right,
            _ => Self::Trapezoid,
        }
    }

    /// The value between two samples, as a sum and its rounding error.
    fn value(self, before: f64, after: f64) -> (f64, f64) {
        match self {
            Self::Left => (before, 0.0),
            Self::Right => (after, 0.0),
            Self::Trapezoid => {
                let (sum, lost) = added(before, after, 0.0);
                if sum.is_finite() {
                    (sum / 2.0, lost / 2.0)
                } else {
                    added(before / 2.0, after / 2.0, 0.0)
                }
            }
        }
    }
}

/// The integral in value times seconds, between the first and the last sample. NaN counts as 0.
pub(super) fn integral(window: &Window<'_>, rule: Option<f64>) -> Option<f64> {
    let rule = Rule::of(rule);
    let number = |value: f64| if value.is_nan() { 0.0 } else { value };
    let times = window.timestamps.array_windows();
    let (mut sum, mut lost) = (0.0, 0.0);
    for ([from, to], [before, after]) in times.zip(window.values.array_windows()) {
        let (value, error) = rule.value(number(*before), number(*after));
        let seconds = to.saturating_sub(*from) as f64 / 1000.0;
        (sum, lost) = added(sum, value * seconds, lost + error * seconds);
    }
    Some(sum + lost)
}
