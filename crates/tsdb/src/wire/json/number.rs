//! Values in answers: the shortest decimal that parses back to the same f64.

use super::decimal::{ZEROS, to_eight_digits};

/// Appends values. Values of one series tend to have the same number of decimals, so the writer
/// first tries the number of decimals of the last value.
#[derive(Debug, Default)]
pub(super) struct ValueWriter {
    /// The number of decimals of the last value.
    decimals: usize,
}

/// Values with more decimals take the general algorithm.
const MAX_DECIMALS: usize = 4;
const POWERS: [f64; MAX_DECIMALS + 1] = [1.0, 10.0, 100.0, 1_000.0, 10_000.0];

impl ValueWriter {
    /// The maximum length of a value.
    pub(super) const LONGEST: usize = "-2.2250738585072014e-308".len();

    /// Appends a value, as a string if JSON has no number for it.
    pub(super) fn push(&mut self, out: &mut Vec<u8>, value: f64) {
        if let Some(scaled) = self.as_decimal(value) {
            let decimals = self.decimals;
            match u64::try_from(scaled) {
                // The fast path: up to eight digits without trailing zeros.
                Ok(size @ ..100_000_000) if size % 10 > 0 || decimals == 0 => {
                    push_short(out, size, decimals);
                }
                _ => self.push_decimal(out, scaled),
            }
        } else if value.is_finite() {
            let mut buffer = zmij::Buffer::new();
            let text = buffer.format_finite(value);
            // A JSON number needs no fraction.
            out.extend_from_slice(text.strip_suffix(".0").unwrap_or(text).as_bytes());
        } else {
            out.extend_from_slice(match value {
                f64::INFINITY => b"\"+Inf\"",
                f64::NEG_INFINITY => b"\"-Inf\"",
                _ => b"\"NaN\"",
            });
        }
    }

    /// The value times a power of ten, if the product is an integer that gives the value again when
    /// it is divided by the power. Remembers the power.
    ///
    /// The integer has at most 15 digits, and no two decimals of 15 digits are the same f64. So
    /// this decimal without its trailing zeros is the shortest text for the value.
    fn as_decimal(&mut self, value: f64) -> Option<i64> {
        if let Some(scaled) = scaled(value, self.decimals) {
            return Some(scaled);
        }
        let (decimals, scaled) =
            (0..=MAX_DECIMALS).find_map(|decimals| Some((decimals, scaled(value, decimals)?)))?;
        self.decimals = decimals;
        Some(scaled)
    }

    fn push_decimal(&self, out: &mut Vec<u8>, scaled: i64) {
        let mut decimals = self.decimals;
        let mut size = scaled.unsigned_abs();
        while decimals > 0 && size.is_multiple_of(10) {
            size /= 10;
            decimals -= 1;
        }
        if scaled < 0 {
            out.push(b'-');
        }
        let mut buffer = itoa::Buffer::new();
        let digits = buffer.format(size).as_bytes();
        if decimals == 0 {
            out.extend_from_slice(digits);
            return;
        }
        let whole = digits.len().saturating_sub(decimals);
        out.extend_from_slice(if whole == 0 { b"0" } else { &digits[..whole] });
        out.push(b'.');
        for _ in digits.len()..decimals {
            out.push(b'0');
        }
        out.extend_from_slice(&digits[whole..]);
    }
}

/// Appends a number of up to eight digits, `decimals` of them after the point.
fn push_short(out: &mut Vec<u8>, size: u64, decimals: usize) {
    let digits = to_eight_digits(size);
    // Keeps at least one digit before the point.
    let zeros = (digits.trailing_zeros() as usize / 8).min(7 - decimals);
    let text = (digits | ZEROS) >> (8 * zeros);
    let whole = 8 - zeros - decimals;
    let (before, after) = (
        u128::from(text) & !(u128::MAX << (8 * whole)),
        text.unbounded_shr(8 * whole as u32),
    );
    let text = before | (u128::from(b'.') | (u128::from(after) << 8)) << (8 * whole);
    let length = whole + if decimals > 0 { 1 + decimals } else { 0 };
    // Appending 16 bytes and truncating is cheaper than appending a variable number.
    let end = out.len() + length;
    out.extend_from_slice(&text.to_le_bytes());
    out.truncate(end);
}

/// The value times a power of ten, if the product is an integer that gives the value again when it
/// is divided by the power.
fn scaled(value: f64, decimals: usize) -> Option<i64> {
    /// 1.5 × 2^52: adding and subtracting it rounds a number below 2^51 to an integer.
    const ROUNDER: f64 = 6_755_399_441_055_744.0;
    let scaled = value * POWERS[decimals] + ROUNDER - ROUNDER;
    let exact = scaled / POWERS[decimals] == value && scaled.abs() < 1e15;
    let minus_zero = scaled == 0.0 && value.is_sign_negative();
    // An integer can't represent minus zero.
    (exact && !minus_zero).then_some(scaled as i64)
}
