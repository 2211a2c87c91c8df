//! Values in answers: the shortest decimal that reads back as the same f64.

use super::decimal::{ZEROS, to_eight_digits};

/// Appends values of one series, which tend to have the same number of decimals.
#[derive(Debug, Default)]
pub(super) struct ValueWriter {
    /// How many decimals the last value had.
    decimals: usize,
}

/// More decimals are left to the general algorithm.
const MAX_DECIMALS: usize = 4;
const POWERS: [f64; MAX_DECIMALS + 1] = [1.0, 10.0, 100.0, 1_000.0, 10_000.0];

impl ValueWriter {
    /// The most bytes of a value.
    pub(super) const LONGEST: usize = "-2.2250738585072014e-308".len();

    /// Appends a value; as a text where JSON has no number for it.
    pub(super) fn push(&mut self, out: &mut Vec<u8>, value: f64) {
        if let Some(scaled) = self.as_decimal(value) {
            let decimals = self.decimals;
            match u64::try_from(scaled) {
                Ok(size @ ..100_000_000) if size % 10 > 0 || decimals == 0 => {
                    push_short(out, size, decimals);
                }
                _ => self.push_decimal(out, scaled),
            }
        } else if value.is_finite() {
            let mut buffer = zmij::Buffer::new();
            let text = buffer.format_finite(value);
            out.extend_from_slice(text.strip_suffix(".0").unwrap_or(text).as_bytes());
        } else {
            out.extend_from_slice(match value {
                f64::INFINITY => b"\"+Inf\"",
                f64::NEG_INFINITY => b"\"-Inf\"",
                _ => b"\"NaN\"",
            });
        }
    }

    /// The value times a power of ten, if it is the quotient of such an integer and that power; the
    /// power is remembered.
    ///
    /// With an integer of at most 15 digits this decimal is the shortest for the value, once its
    /// trailing zeros are gone: no two decimals of 15 digits are the same f64.
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

/// Appends a number of up to eight digits, `decimals` of them behind the point.
fn push_short(out: &mut Vec<u8>, size: u64, decimals: usize) {
    let digits = to_eight_digits(size);
    let zeros = (digits.trailing_zeros() as usize / 8).min(7 - decimals);
    let text = (digits | ZEROS) >> (8 * zeros);
    let whole = 8 - zeros - decimals;
    let (before, after) = (
        u128::from(text) & !(u128::MAX << (8 * whole)),
        text.unbounded_shr(8 * whole as u32),
    );
    let text = before | (u128::from(b'.') | (u128::from(after) << 8)) << (8 * whole);
    let length = whole + if decimals > 0 { 1 + decimals } else { 0 };
    // Sixteen bytes at once cost less than as many as there are.
    let end = out.len() + length;
    out.extend_from_slice(&text.to_le_bytes());
    out.truncate(end);
}

/// The value times a power of ten, if the quotient of that integer and the power is the value.
fn scaled(value: f64, decimals: usize) -> Option<i64> {
    /// 1.5 × 2^52: added to a number below 2^51, it leaves none of its fraction.
    const ROUNDER: f64 = 6_755_399_441_055_744.0;
    let scaled = value * POWERS[decimals] + ROUNDER - ROUNDER;
    let exact = scaled / POWERS[decimals] == value && scaled.abs() < 1e15;
    let minus_zero = scaled == 0.0 && value.is_sign_negative();
    (exact && !minus_zero).then_some(scaled as i64)
}
