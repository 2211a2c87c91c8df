//! Numbers as Prometheus prints them.

use std::fmt::Write;

/// Appends the shortest digits that parse back to this value. Values outside 1e-6..1e21 get an
/// exponent of at least two digits. Values that are not finite are `NaN`, `+Inf` and `-Inf`.
pub(super) fn push_number(out: &mut String, value: f64) {
    let size = value.abs();
    if value.is_nan() {
        out.push_str("NaN");
    } else if value.is_infinite() {
        out.push_str(if value > 0.0 { "+Inf" } else { "-Inf" });
    } else if size != 0.0 && !(1e-6..1e21).contains(&size) {
        push_scientific(out, value);
    } else {
        push_plain(out, value);
    }
}

/// Appends the shortest digits that parse back to this finite value, never with an exponent.
pub(super) fn push_plain(out: &mut String, value: f64) {
    // This library is several times as fast as `Display`, but writes exponents at smaller sizes.
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(value);
    if text.contains('e') {
        // Writing to a String doesn't fail.
        let _ = write!(out, "{value}");
    } else {
        out.push_str(text.strip_suffix(".0").unwrap_or(text));
    }
}

fn push_scientific(out: &mut String, value: f64) {
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    // At least two digits, as Go prints an exponent.
    let _ = write!(out, "{digits}e{sign}{exponent:0>2}");
}
