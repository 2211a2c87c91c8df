//! Exact conversion of decimal digits to numbers.

/// Counts the leading digits of `word`, whose lowest byte comes first.
fn leading_digits(word: u64) -> usize {
    const EACH: u64 = u64::MAX / 0xff;
    // Sets the high bit of each byte that is not a digit: the subtraction sets it below '0', the
    // addition above '9'. A borrow or carry can spoil later bytes, but never an earlier byte.
    let others = (word.wrapping_sub(EACH * 0x30) | word.wrapping_add(EACH * 0x46)) & (EACH * 0x80);
    others.trailing_zeros() as usize / 8
}

/// The number with these eight digits, the lowest byte first. Joins single digits to pairs, pairs
/// to fours, and fours to the number.
fn eight_digits(word: u64) -> u64 {
    let digits = word & 0x0f0f_0f0f_0f0f_0f0f;
    let pairs = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours * 10_000 + (fours >> 32)) & 0xffff_ffff
}

/// The eight digits of a number below 10^8 as bytes from 0 to 9, the lowest byte first. The inverse
/// of [`eight_digits`].
pub(super) fn to_eight_digits(number: u64) -> u64 {
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    // Multiplies by the inverse instead of dividing. This is exact for so few digits.
    let hundreds = ((fours * 5_243) >> 19) & 0x0000_007f_0000_007f;
    let pairs = hundreds | ((fours - hundreds * 100) << 16);
    let tens = ((pairs * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((pairs - tens * 10) << 8)
}

/// Eight characters '0'. A bitwise or turns the result of [`to_eight_digits`] into characters.
pub(super) const ZEROS: u64 = u64::MAX / 0xff * b'0' as u64;

/// Appends the leading digits of `bytes` to the digits of `number`. The number wraps if it exceeds
/// 64 bits. Also returns how many digits were read.
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
    let mut position = 0;
    while let Some(word) = bytes[position..].first_chunk() {
        let word = u64::from_le_bytes(*word);
        let count = leading_digits(word);
        // The shift leaves leading zeros, which do not change the number.
        let digits = word
            .checked_shl(64 - 8 * count as u32)
            .map_or(0, eight_digits);
        number = number.wrapping_mul(POWERS[count]).wrapping_add(digits);
        position += count;
        if count < 8 {
            return (number, position);
        }
    }
    while let Some(digit @ b'0'..=b'9') = bytes.get(position) {
        number = number
            .wrapping_mul(10)
            .wrapping_add(u64::from(digit - b'0'));
        position += 1;
    }
    (number, position)
}

/// A number in its written form.
pub(super) struct Number<'a> {
    pub(super) text: &'a str,
    pub(super) negative: bool,
    /// All digits as an integer, which has wrapped if there are more than 19.
    pub(super) digits: u64,
    /// The number of digits.
    pub(super) count: usize,
    /// The number of digits after the point.
    pub(super) scale: usize,
    pub(super) exponent: bool,
}

/// The powers of ten that an f64 holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

impl Number<'_> {
    /// The nearest f64; `None` if the number is too large.
    pub(super) fn float(&self) -> Option<f64> {
        const EXACT: u64 = 1 << 53;
        let few = self.count <= 19 && self.digits < EXACT && !self.exponent;
        if few && let Some(power) = POWERS.get(self.scale) {
            // Both operands are exact, so the quotient is the nearest f64.
            let size = self.digits as f64 / power;
            return Some(if self.negative { -size } else { size });
        }
        self.text
            .parse()
            .ok()
            .filter(|value: &f64| value.is_finite())
    }

    /// The number as an integer; `None` if it has a point or an exponent, or doesn't fit.
    pub(super) fn integer(&self) -> Option<i64> {
        if self.scale > 0 || self.exponent {
            return None;
        }
        // With more than 19 digits, `digits` may have wrapped.
        if self.count > 19 {
            return None;
        }
        let size = self.digits;
        if self.negative {
            // This also yields `i64::MIN`, whose magnitude does not fit into an i64.
            0_i64.checked_sub_unsigned(size)
        } else {
            i64::try_from(size).ok()
        }
    }
}
