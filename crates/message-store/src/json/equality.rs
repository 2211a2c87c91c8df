use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::MAX_DEPTH;

/// Whether two texts are the same JSON value. White space, the order of keys, escapes and the
/// notation of numbers make no difference; if a key is repeated, the last value counts. Numbers of
/// any size are compared exactly.
///
/// Texts that are not JSON, or nested deeper than a message may be, are compared byte for byte.
pub fn same_json(a: &str, b: &str) -> bool {
    a == b || same(a, b, MAX_DEPTH + 1)
}

fn same(a: &str, b: &str, levels: usize) -> bool {
    let (a, b) = (a.trim(), b.trim());
    // Most equal values have equal texts. `true`, `false` and `null` always do.
    if a == b {
        return true;
    }
    match (a.as_bytes().first(), b.as_bytes().first()) {
        (Some(b'{'), Some(b'{')) if levels > 0 => same_objects(a, b, levels),
        (Some(b'['), Some(b'[')) if levels > 0 => same_arrays(a, b, levels),
        (Some(b'"'), Some(b'"')) => parsed::<String>(a)
            .zip(parsed::<String>(b))
            .is_some_and(|(a, b)| a == b),
        _ => Decimal::parse(a)
            .zip(Decimal::parse(b))
            .is_some_and(|(a, b)| a == b),
    }
}

fn parsed<'a, T: serde::Deserialize<'a>>(text: &'a str) -> Option<T> {
    serde_json::from_str(text).ok()
}

fn same_objects(a: &str, b: &str, levels: usize) -> bool {
    type Object<'a> = BTreeMap<String, &'a RawValue>;
    let (Some(a), Some(b)) = (parsed::<Object<'_>>(a), parsed::<Object<'_>>(b)) else {
        return false;
    };
    a.len() == b.len()
        && a.iter().zip(&b).all(|((key, value), (other_key, other))| {
            key == other_key && same(value.get(), other.get(), levels - 1)
        })
}

fn same_arrays(a: &str, b: &str, levels: usize) -> bool {
    type Array<'a> = Vec<&'a RawValue>;
    let (Some(a), Some(b)) = (parsed::<Array<'_>>(a), parsed::<Array<'_>>(b)) else {
        return false;
    };
    a.len() == b.len()
        && a.iter()
            .zip(&b)
            .all(|(value, other)| same(value.get(), other.get(), levels - 1))
}

/// A number in canonical form: its digits without leading and trailing zeros, and the exponent of
/// the last digit. `f64` would not do, because it can't tell large integers apart.
#[derive(PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    /// `None` if the text is not a number, or its exponent has more than 18 digits.
    fn parse(text: &str) -> Option<Self> {
        let (negative, magnitude) = match text.strip_prefix('-') {
            Some(magnitude) => (true, magnitude),
            None => (false, text),
        };
        if !magnitude.starts_with(|first: char| first.is_ascii_digit()) {
            return None;
        }
        let (mantissa, exponent) = match magnitude.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (magnitude, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let trimmed = all.trim_end_matches('0');
        let dropped = (all.len() - trimmed.len()) as i64;
        let digits = trimmed.trim_start_matches('0').to_owned();
        // Zeros of any sign and exponent are equal.
        let is_zero = digits.is_empty();
        Some(Self {
            negative: negative && !is_zero,
            digits,
            exponent: if is_zero {
                0
            } else {
                exponent - fraction.len() as i64 + dropped
            },
        })
    }
}

fn parse_exponent(text: &str) -> Option<i64> {
    let number: i64 = text.parse().ok()?;
    // Below this limit, adding the length of a text to the exponent can't overflow.
    (number.unsigned_abs() < 1_000_000_000_000_000_000).then_some(number)
}
