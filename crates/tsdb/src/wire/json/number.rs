//! Values in answers: the shortest decimal that reads back as the same f64.

/// Appends values of one series, which tend to have the same number of decimals.
pub(super) struct ValueWriter {
    /// How many decimals the last value had.
    decimals: usize,
    integers: itoa::Buffer,
    floats: zmij::Buffer,
}

/// More decimals are left to the general algorithm.
const MAX_DECIMALS: usize = 4;
const POWERS: [f64; MAX_DECIMALS + 1] = [1.0, 10.0, 100.0, 1_000.0, 10_000.0];

impl ValueWriter {
    pub(super) fn new() -> Self {
        Self {
            decimals: 0,
            integers: itoa::Buffer::new(),
            floats: zmij::Buffer::new(),
        }
    }

    /// Appends a value; as a text where JSON has no number for it.
    pub(super) fn push(&mut self, out: &mut String, value: f64) {
        if let Some(scaled) = self.as_decimal(value) {
            self.push_decimal(out, scaled);
        } else if value.is_finite() {
            let text = self.floats.format_finite(value);
            out.push_str(text.strip_suffix(".0").unwrap_or(text));
        } else {
            out.push_str(match value {
                f64::INFINITY => "\"+Inf\"",
                f64::NEG_INFINITY => "\"-Inf\"",
                _ => "\"NaN\"",
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

    fn push_decimal(&mut self, out: &mut String, scaled: i64) {
        let mut decimals = self.decimals;
        let mut size = scaled.unsigned_abs();
        while decimals > 0 && size.is_multiple_of(10) {
            size /= 10;
            decimals -= 1;
        }
        if scaled < 0 {
            out.push('-');
        }
        let digits = self.integers.format(size);
        if decimals == 0 {
            out.push_str(digits);
            return;
        }
        let whole = digits.len().saturating_sub(decimals);
        out.push_str(if whole == 0 { "0" } else { &digits[..whole] });
        out.push('.');
        for _ in digits.len()..decimals {
            out.push('0');
        }
        out.push_str(&digits[whole..]);
    }
}

/// The value times a power of ten, if the quotient of that integer and the power is the value.
fn scaled(value: f64, decimals: usize) -> Option<i64> {
    let scaled = (value * POWERS[decimals]).round_ties_even();
    let exact = scaled / POWERS[decimals] == value && scaled.abs() < 1e15 && scaled != 0.0;
    exact.then_some(scaled as i64)
}
