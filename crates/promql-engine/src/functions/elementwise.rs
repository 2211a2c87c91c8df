//! Functions of single values.

use super::calendar;

/// A function of one value and of scalar parameters. `None` drops the series at this step.
pub(crate) type Elementwise = fn(f64, &[f64]) -> Option<f64>;

/// The function of this name.
pub(crate) fn named(name: &str) -> Option<Elementwise> {
    Some(match name {
        "abs" => |value, _| Some(value.abs()),
        "ceil" => |value, _| Some(value.ceil()),
        "floor" => |value, _| Some(value.floor()),
        "exp" => |value, _| Some(value.exp()),
        "sqrt" => |value, _| Some(value.sqrt()),
        "ln" => |value, _| Some(value.ln()),
        "log2" => |value, _| Some(value.log2()),
        "log10" => |value, _| Some(value.log10()),
        "sgn" => |value, _| Some(sign(value)),
        "deg" => |value, _| Some(value * (180.0 / std::f64::consts::PI)),
        "rad" => |value, _| Some(value * (std::f64::consts::PI / 180.0)),
        "round" => |value, parameters| Some(round(value, parameters)),
        "clamp" => |value, limits| clamp(value, limits[0], limits[1]),
        "clamp_min" => |value, limits| Some(greater(value, limits[0])),
        "clamp_max" => |value, limits| Some(lesser(value, limits[0])),
        // These read native histograms, and skip other samples, so there is nothing left.
        "histogram_avg" | "histogram_count" | "histogram_stddev" | "histogram_stdvar"
        | "histogram_sum" => |_, _| None,
        // No sample has a start timestamp.
        "start_timestamp" => |_, _| None,
        _ => return trigonometric(name).or_else(|| calendar::named(name)),
    })
}

fn trigonometric(name: &str) -> Option<Elementwise> {
    Some(match name {
        "sin" => |value, _| Some(value.sin()),
        "cos" => |value, _| Some(value.cos()),
        "tan" => |value, _| Some(value.tan()),
        "asin" => |value, _| Some(value.asin()),
        "acos" => |value, _| Some(value.acos()),
        "atan" => |value, _| Some(value.atan()),
        "sinh" => |value, _| Some(value.sinh()),
        "cosh" => |value, _| Some(value.cosh()),
        "tanh" => |value, _| Some(value.tanh()),
        "asinh" => |value, _| Some(value.asinh()),
        "acosh" => |value, _| Some(value.acosh()),
        "atanh" => |value, _| Some(value.atanh()),
        _ => return None,
    })
}

/// 1, 0 or -1; NaN and a signed zero stay what they are.
fn sign(value: f64) -> f64 {
    if value == 0.0 || value.is_nan() {
        value
    } else {
        value.signum()
    }
}

/// Rounds to the nearest multiple of the parameter, halves upwards.
fn round(value: f64, parameters: &[f64]) -> f64 {
    // Prometheus multiplies by the inverse too, so the results agree to the last digit.
    let inverse = 1.0 / parameters.first().copied().unwrap_or(1.0);
    (value * inverse + 0.5).floor() / inverse
}

/// Moves the value into the limits. `None` if the limits exclude every value.
fn clamp(value: f64, min: f64, max: f64) -> Option<f64> {
    let impossible = max < min;
    (!impossible).then(|| greater(min, lesser(max, value)))
}

/// The greater number. Unlike `f64::max`, the result is NaN if either number is NaN.
pub(crate) fn greater(one: f64, other: f64) -> f64 {
    if one.is_nan() || other.is_nan() {
        f64::NAN
    } else {
        one.max(other)
    }
}

/// The lesser number. Unlike `f64::min`, the result is NaN if either number is NaN.
pub(crate) fn lesser(one: f64, other: f64) -> f64 {
    if one.is_nan() || other.is_nan() {
        f64::NAN
    } else {
        one.min(other)
    }
}
