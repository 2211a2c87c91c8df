//! From decimal digits to numbers, exactly.

/// How many of the first bytes of `word`, the first lowest, are digits.
fn leading_digits(word: u64) -> usize {
    const EACH: u64 = u64::MAX / 0xff;
    // What is not a digit sets the high bit of its byte: below '0' by the borrow, above '9' by the
    // carry. Either can spoil the bytes after it, never one before.
    let others = (word.wrapping_sub(EACH * 0x30) | word.wrapping_add(EACH * 0x46)) & (EACH * 0x80);
    others.trailing_zeros() as usize / 8
}

/// The number that eight digits say, the first lowest: neighbours are joined, then pairs, then
/// fours.
fn eight_digits(word: u64) -> u64 {
    let digits = word & 0x0f0f_0f0f_0f0f_0f0f;
    let pairs = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours * 10_000 + (fours >> 32)) & 0xffff_ffff
}

/// The eight digits of a number below 10^8, the first lowest, each less '0'; the way back of
/// [`eight_digits`].
pub(super) fn to_eight_digits(number: u64) -> u64 {
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    // Products with the inverses, which are exact for so few digits.
    let hundreds = ((fours * 5_243) >> 19) & 0x0000_007f_0000_007f;
    let pairs = hundreds | ((fours - hundreds * 100) << 16);
    let tens = ((pairs * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((pairs - tens * 10) << 8)
}

/// The digits of [`to_eight_digits`] as characters.
pub(super) const ZEROS: u64 = u64::MAX / 0xff * b'0' as u64;

/// Reads the digits that `bytes` begin with and appends them to those of `number`, which wraps.
/// Returns also how many there are.
pub(super) fn read_digits(bytes: &[u8], mut number: u64) -> (u64, usize) {
    const POWERS: [u64; 9] = [
        1,
        10,
        100,
        1_000,
        10_000,
        100_000,
        1_000_000,
        10_000_000,
        100_000_000,
    ];
    let mut at = 0;
    while let Some(word) = bytes[at..].first_chunk() {
        let word = u64::from_le_bytes(*word);
        let count = leading_digits(word);
        // Zeros in front, which the shift leaves, say nothing.
        let digits = word
            .checked_shl(64 - 8 * count as u32)
            .map_or(0, eight_digits);
        number = number.wrapping_mul(POWERS[count]).wrapping_add(digits);
        at += count;
        if count < 8 {
            return (number, at);
        }
    }
    while let Some(digit @ b'0'..=b'9') = bytes.get(at) {
        number = number
            .wrapping_mul(10)
            .wrapping_add(u64::from(digit - b'0'));
        at += 1;
    }
    (number, at)
}

/// A number as it is written.
pub(super) struct Number<'a> {
    pub(super) text: &'a str,
    pub(super) negative: bool,
    /// All digits as an integer, which is right if they are at most 19.
    pub(super) digits: u64,
    /// How many there are.
    pub(super) count: usize,
    /// How many of them follow the point.
    pub(super) scale: usize,
    pub(super) exponent: bool,
}

/// The powers of ten that an f64 holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

impl Number<'_> {
    /// The nearest f64; `None` beyond the greatest.
    pub(super) fn float(&self) -> Option<f64> {
        const EXACT: u64 = 1 << 53;
        let few = self.count <= 19 && self.digits < EXACT && !self.exponent;
        if few && let Some(power) = POWERS.get(self.scale) {
            // Both are exact, so the quotient is the nearest to the decimal number.
            let size = self.digits as f64 / power;
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
        if self.count > 19 {
            return None;
        }
        let size = self.digits;
        if self.negative {
            0_i64.checked_sub_unsigned(size)
        } else {
            i64::try_from(size).ok()
        }
    }
}
