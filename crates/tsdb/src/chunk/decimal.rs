//! Stores doubles that were decimal numbers as the integers of their digits (ALP: Afroozeh, Kuffó,
//! Boncz, "ALP: Adaptive Lossless floating-Point Compression", SIGMOD 2024).
//!
//! With the exponent (14, 12), `12.34` becomes the integer `1234`: it is multiplied by 10^14, then
//! by 10^-12, then rounded. The detour over a large power makes encoding and decoding exact for
//! nearly all decimals. The encoder decodes each value again. A value that differs in any bit is an
//! exception.

use super::FRAME;

/// The index of a pair (e, f) in [`PAIRS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exponent(pub(crate) u8);

const MAX_E: usize = 18;

const POWERS: [f64; MAX_E + 1] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18,
];

const INVERSES: [f64; MAX_E + 1] = [
    1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14,
    1e-15, 1e-16, 1e-17, 1e-18,
];

const fn count_pairs() -> usize {
    (MAX_E + 1) * (MAX_E + 2) / 2
}

const PAIRS: [(u8, u8); count_pairs()] = {
    let mut pairs = [(0, 0); count_pairs()];
    let (mut e, mut next) = (0, 0);
    while e <= MAX_E as u8 {
        let mut f = 0;
        while f <= e {
            pairs[next] = (e, f);
            next += 1;
            f += 1;
        }
        e += 1;
    }
    pairs
};

/// 1.5 × 2^52. Adding it to a number below 2^51 leaves the rounded number in the low bits: one
/// addition rounds and converts.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// The four factors of a pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Factors {
    up: f64,
    down: f64,
    back_up: f64,
    back_down: f64,
}

impl Exponent {
    pub(crate) fn new(e: usize, f: usize) -> Self {
        Self((e * (e + 1) / 2 + f) as u8)
    }

    pub(crate) fn factors(self) -> Option<Factors> {
        let (e, f) = PAIRS.get(self.0 as usize).copied()?;
        let (e, f) = (e as usize, f as usize);
        Some(Factors {
            up: POWERS[e],
            down: INVERSES[f],
            back_up: POWERS[f],
            back_down: INVERSES[e],
        })
    }
}

impl Factors {
    /// Returns the digits of `value`. The result is arbitrary if `value` is not a short decimal.
    #[inline(always)]
    pub(crate) fn digits(self, value: f64) -> i64 {
        let rounded = value * self.up * self.down + ROUNDER;
        rounded
            .to_bits()
            .wrapping_sub(ROUNDER.to_bits())
            .cast_signed()
    }

    #[inline(always)]
    pub(crate) fn value(self, digits: i64) -> f64 {
        let bits = ROUNDER.to_bits().wrapping_add(digits.cast_unsigned());
        (f64::from_bits(bits) - ROUNDER) * self.back_up * self.back_down
    }

    /// Writes the digits of `values`. Returns the number of values that don't decode bit for bit.
    pub(crate) fn encode(self, values: &[f64], digits: &mut [i64; FRAME]) -> usize {
        let mut wrong = 0;
        for (value, digits) in values.iter().zip(digits) {
            *digits = self.digits(*value);
            wrong += u64::from(self.value(*digits).to_bits() != value.to_bits());
        }
        wrong as usize
    }

    fn misses(self, values: &[f64]) -> usize {
        values
            .iter()
            .filter(|value| self.value(self.digits(**value)).to_bits() != value.to_bits())
            .count()
    }
}

/// The number of values that a search samples.
const PROBES: usize = 32;

/// Searches for the exponent with the fewest exceptions among a sample of `values`. Returns `None`
/// if the values are not decimals.
pub(crate) fn search(values: &[f64]) -> Option<Exponent> {
    let mut probes = [0.0; PROBES];
    let stride = (values.len() / PROBES).max(1);
    let found = values.iter().step_by(stride).zip(&mut probes);
    let count = found.map(|(value, probe)| *probe = *value).count();
    let probes = &probes[..count];
    // Find the number of decimals with a plain division. Then try only the exponents (e, f) in
    // which e - f is this number, instead of all 190.
    let decimals = (0..POWERS.len()).find(|decimals| has_decimals(probes, *decimals))?;
    let pairs = (decimals..=MAX_E).map(|e| Exponent::new(e, e - decimals));
    pairs.min_by_key(|pair| {
        pair.factors()
            .map_or(count, |factors| factors.misses(probes))
    })
}

/// Returns `true` if at least 15 of 16 `values` are integers divided by 10^decimals.
fn has_decimals(values: &[f64], decimals: usize) -> bool {
    let power = POWERS[decimals];
    let is_decimal = |value: f64| {
        let digits = (value * power).round_ties_even();
        // `ROUNDER` is exact only below 2^51.
        digits.abs() < 2f64.powi(51) && digits / power == value
    };
    let misses = values.iter().filter(|value| !is_decimal(**value)).count();
    misses * 16 <= values.len()
}
