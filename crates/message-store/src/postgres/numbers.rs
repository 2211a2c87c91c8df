//! Numbers that PostgreSQL can't store. A `jsonb` column keeps a number as a `numeric`, which has
//! a largest number of digits, and prints it without an exponent: `1e3` becomes `1000`.

use crate::Problem;
use crate::text::check_size;

/// The most digits of a `numeric` before the decimal point.
const MAX_INTEGER_DIGITS: i64 = 131_072;
/// The most digits of a `numeric` after the decimal point.
const MAX_FRACTION_DIGITS: i64 = 16_383;
/// PostgreSQL refuses this exponent and larger ones, even of zero.
const EXPONENT_LIMIT: i64 = 1_073_741_823;

/// Why `jsonb` can't store the numbers of a JSON text: one has too many digits, or together they
/// would be printed with more than `max_bytes` zeros. A value too long to print would make its whole
/// category unreadable.
pub(super) fn problem(json: &str, max_bytes: usize) -> Option<Problem> {
    let json = json.as_bytes();
    // Most texts have neither and need no second pass.
    if !has_exponent(json) && !has_long_number(json) {
        return None;
    }
    let mut zeros = 0_usize;
    let mut rest = json;
    while let Some(number) = next_number(&mut rest) {
        if !number.is_storable() {
            return Some(Problem::TooManyDigits);
        }
        let new_zeros = usize::try_from(number.exponent.unsigned_abs()).unwrap_or(usize::MAX);
        zeros = zeros.saturating_add(new_zeros);
    }
    check_size(zeros, max_bytes).err()
}

fn has_exponent(json: &[u8]) -> bool {
    json.windows(2)
        .any(|pair| pair[0].is_ascii_digit() && matches!(pair[1], b'e' | b'E'))
}

/// Whether a part of a number may have more than [`MAX_FRACTION_DIGITS`]. It would fill one of these
/// chunks, and a chunk that begins with other text is left at its first byte.
fn has_long_number(json: &[u8]) -> bool {
    let mut chunks = json.chunks_exact(MAX_FRACTION_DIGITS as usize / 2);
    chunks.any(|chunk| chunk.iter().all(u8::is_ascii_digit))
}

/// A number of a JSON text.
#[derive(Debug, PartialEq, Eq)]
struct Number<'a> {
    integer: &'a [u8],
    fraction: &'a [u8],
    exponent: i64,
}

impl Number<'_> {
    fn is_storable(&self) -> bool {
        let fraction_digits = length(self.fraction) - self.exponent;
        self.exponent.abs() < EXPONENT_LIMIT
            && self.integer_digits() <= MAX_INTEGER_DIGITS
            && fraction_digits <= MAX_FRACTION_DIGITS
    }

    /// The digits before the decimal point once the exponent is applied, without leading zeros.
    fn integer_digits(&self) -> i64 {
        let mut digits = self.integer.iter().chain(self.fraction);
        match digits.position(|digit| *digit != b'0') {
            None => 0,
            Some(leading_zeros) => {
                length(self.integer) + self.exponent - i64::try_from(leading_zeros).unwrap_or(0)
            }
        }
    }
}

fn length(digits: &[u8]) -> i64 {
    i64::try_from(digits.len()).unwrap_or(i64::MAX / 4)
}

/// Takes the text up to the end of its next number. The text is valid JSON, so a digit outside of
/// strings begins a number.
fn next_number<'a>(rest: &mut &'a [u8]) -> Option<Number<'a>> {
    loop {
        match rest.split_first()? {
            (b'"', string) => *rest = after_string(string),
            (b'0'..=b'9', _) => break,
            (_, after) => *rest = after,
        }
    }
    let integer = take_digits(rest);
    let fraction = match rest.split_first() {
        Some((b'.', after)) => {
            *rest = after;
            take_digits(rest)
        }
        _ => &[],
    };
    let exponent = match rest.split_first() {
        Some((b'e' | b'E', after)) => {
            *rest = after;
            take_exponent(rest)
        }
        _ => 0,
    };
    Some(Number {
        integer,
        fraction,
        exponent,
    })
}

/// The text after a string whose first quote is already taken.
fn after_string(mut text: &[u8]) -> &[u8] {
    loop {
        match text {
            [b'"', after @ ..] => return after,
            // Skip the escaped character, which may be a quote.
            [b'\\', _, after @ ..] | [_, after @ ..] => text = after,
            [] => return text,
        }
    }
}

fn take_digits<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let end = rest.iter().position(|byte| !byte.is_ascii_digit());
    let (digits, after) = rest.split_at(end.unwrap_or(rest.len()));
    *rest = after;
    digits
}

fn take_exponent(rest: &mut &[u8]) -> i64 {
    let (sign, digits) = match rest.split_first() {
        Some((b'-', digits)) => (-1, digits),
        Some((b'+', digits)) => (1, digits),
        _ => (1, *rest),
    };
    *rest = digits;
    let digits = take_digits(rest).iter();
    // Capped, so that sums with lengths can't overflow.
    sign * digits.fold(0, |number: i64, digit| {
        (number * 10 + i64::from(digit - b'0')).min(i64::MAX / 1000)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_outside_strings_count_as_zeros() {
        for (json, zeros) in [
            ("[1, true, 2.5]", 0),
            ("[1e3, -2.5E+10,1e-7]", 20),
            (r#"{"1e5":"2e5 \" 3e5","a":4e5}"#, 5),
            (r#"["\\", 1e3]"#, 3),
        ] {
            assert_eq!(problem(json, zeros), None, "{json}");
            if let Some(fewer) = zeros.checked_sub(1) {
                let refused = problem(json, fewer);
                assert!(matches!(refused, Some(Problem::TooLarge { .. })), "{json}");
            }
        }
    }

    /// Each was tried as `SELECT '…'::jsonb`.
    #[test]
    fn number_beyond_numeric_is_refused() {
        let digits = |count: usize| "7".repeat(count);
        for (number, is_storable) in [
            ("1e131071".to_owned(), true),
            ("1e131072".to_owned(), false),
            ("-99.5E+131070".to_owned(), true),
            ("-99.5E+131071".to_owned(), false),
            ("0.001e131074".to_owned(), true),
            ("0.001e131075".to_owned(), false),
            ("1e-16383".to_owned(), true),
            ("1e-16384".to_owned(), false),
            ("1.25e-16381".to_owned(), true),
            ("1.25e-16382".to_owned(), false),
            ("0e200000".to_owned(), true),
            ("0e-16384".to_owned(), false),
            ("0e1073741822".to_owned(), true),
            ("0e1073741823".to_owned(), false),
            ("1e99999999999999999999999".to_owned(), false),
            ("1e-99999999999999999999999".to_owned(), false),
            (digits(131_072), true),
            (digits(131_073), false),
            (format!("0.{}", digits(16_383)), true),
            (format!("0.{}", digits(16_384)), false),
            (format!("0.{}1", "0".repeat(16_383)), false),
        ] {
            let json = format!(r#"{{"a":[1,{number}]}}"#);
            let refused = problem(&json, usize::MAX) == Some(Problem::TooManyDigits);
            let shown = &number[..number.len().min(40)];
            assert_eq!(!refused, is_storable, "{shown}");
        }
        let in_string = format!(r#"{{"1e200000":"{} 1e200000"}}"#, digits(200_000));
        assert_eq!(problem(&in_string, 0), None);
    }
}
