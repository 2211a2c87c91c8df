//! From decimal digits to numbers, exactly.

/// Up to 19 digits of a number as an integer.
#[derive(Clone, Copy, Default)]
pub(super) struct Digits {
    value: u64,
    /// How many, leading zeros aside.
    count: u32,
}

impl Digits {
    /// The next digit.
    pub(super) fn push(&mut self, digit: u8) {
        self.value = self.value.wrapping_mul(10).wrapping_add(u64::from(digit));
        self.count += u32::from(self.count > 0 || digit > 0);
    }
}

/// A number as it is written.
pub(super) struct Number<'a> {
    pub(super) text: &'a str,
    negative: bool,
    pub(super) digits: Digits,
    /// How many digits follow the point.
    pub(super) scale: usize,
    pub(super) exponent: bool,
}

/// The powers of ten that an f64 holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

impl Number<'_> {
    /// A number of which the digits before the point were read.
    pub(super) fn new(negative: bool, digits: Digits) -> Self {
        Self {
            text: "",
            negative,
            digits,
            scale: 0,
            exponent: false,
        }
    }

    /// The nearest f64; `None` beyond the greatest.
    pub(super) fn float(&self) -> Option<f64> {
        const EXACT: u64 = 1 << 53;
        let few = self.digits.count <= 19 && self.digits.value < EXACT && !self.exponent;
        if few && let Some(power) = POWERS.get(self.scale) {
            // Both are exact, so the quotient is the nearest to the decimal number.
            let size = self.digits.value as f64 / power;
            return Some(if self.negative { -size } else { size });
        }
        self.text
            .parse()
            .ok()
            .filter(|value: &f64| value.is_finite())
    }

    /// The number as an integer; `None` if it is written otherwise, or doesn't fit.
    pub(super) fn integer(&self) -> Option<i64> {
        if self.scale > 0 || self.exponent {
            return None;
        }
        if self.digits.count > 19 {
            return None;
        }
        let size = self.digits.value;
        if self.negative {
            0_i64.checked_sub_unsigned(size)
        } else {
            i64::try_from(size).ok()
        }
    }
}
