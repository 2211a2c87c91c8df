//! The JSON that a `jsonb` column can't store and give back, found before it is sent.

use crate::text::{check_size, malformed};
use crate::{Message, Problem, StreamWrite};

/// The first field with a [`problem`], as its path from `messages` on.
pub(super) fn unstorable(writes: &[StreamWrite], max_bytes: usize) -> Option<(Place, Problem)> {
    writes.iter().enumerate().find_map(|(stream, write)| {
        let mut messages = write.messages.iter().enumerate();
        messages.find_map(|(message, content)| {
            let (field, problem) = unstorable_field(content, max_bytes)?;
            Some((
                Place {
                    stream,
                    message,
                    field,
                },
                problem,
            ))
        })
    })
}

/// Where a field is in a write.
pub(super) struct Place {
    pub(super) stream: usize,
    pub(super) message: usize,
    pub(super) field: &'static str,
}

fn unstorable_field(message: &Message, max_bytes: usize) -> Option<(&'static str, Problem)> {
    let data = problem(message.data_json(), max_bytes).map(|problem| ("data", problem));
    let metadata = || Some(("metadata", problem(message.metadata_json()?, max_bytes)?));
    data.or_else(metadata)
}

/// An escape that `jsonb` refuses, or numbers that it would give back as more than `max_bytes`: a
/// text that is too long for the server would keep everybody from reading its category.
pub(super) fn problem(json: &str, max_bytes: usize) -> Option<Problem> {
    refused_escape(json).or_else(|| check_size(zeros(json), max_bytes).err())
}

/// About how many zeros `jsonb` writes where the numbers of a text have exponents.
fn zeros(json: &str) -> usize {
    let bytes = json.as_bytes();
    let begins_exponent = |pair: &[u8]| pair[0].is_ascii_digit() && matches!(pair[1], b'e' | b'E');
    if !bytes.windows(2).any(begins_exponent) {
        return 0;
    }
    let (mut zeros, mut in_string, mut at) = (0_usize, false, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => in_string = !in_string,
            b'\\' => at += 1,
            b'0'..=b'9' if !in_string && bytes[at..].get(..2).is_some_and(begins_exponent) => {
                zeros = zeros.saturating_add(exponent(&bytes[at + 2..]));
            }
            _ => {}
        }
        at += 1;
    }
    zeros
}

/// The size of the exponent at the start of a text.
fn exponent(text: &[u8]) -> usize {
    let digits = text.strip_prefix(b"+").or(text.strip_prefix(b"-"));
    let digits = digits.unwrap_or(text).iter();
    digits
        .take_while(|digit| digit.is_ascii_digit())
        .fold(0, |number: usize, digit| {
            number
                .saturating_mul(10)
                .saturating_add((digit - b'0').into())
        })
}

/// What `jsonb` refuses: a `\u0000`, or half of a surrogate pair. In valid JSON a backslash stands in
/// strings only, and has its second character behind it; the rest of other texts is passed over.
fn refused_escape(json: &str) -> Option<Problem> {
    let mut rest = json;
    let mut high_surrogate = false;
    while let Some(at) = rest.find('\\') {
        if high_surrogate && at > 0 {
            return Some(half_a_pair());
        }
        rest = &rest[at + 1..];
        let unit = rest.strip_prefix('u').and_then(|digits| digits.get(..4));
        let unit = unit.and_then(|digits| u16::from_str_radix(digits, 16).ok());
        match unit {
            Some(0) => return Some(Problem::ContainsNul),
            Some(0xD800..=0xDBFF) if !high_surrogate => high_surrogate = true,
            Some(0xDC00..=0xDFFF) if high_surrogate => high_surrogate = false,
            Some(0xD800..=0xDFFF) => return Some(half_a_pair()),
            _ if high_surrogate => return Some(half_a_pair()),
            _ => {}
        }
        // Behind the second character, which is a single byte.
        let behind = if unit.is_some() { 5 } else { 1 };
        rest = rest.get(behind..).unwrap_or_default();
    }
    high_surrogate.then(half_a_pair)
}

fn half_a_pair() -> Problem {
    malformed("an escape is half of a surrogate pair")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escape_that_stands_for_nul_is_told_from_a_backslash_before_u0000() {
        for (json, refused) in [
            (r#""a""#, false),
            (r#""\u0000""#, true),
            (r#"{"\u0000":1}"#, true),
            (r#""\\u0000""#, false),
            (r#""\\\u0000""#, true),
            (r#""\u0001\"\n\\""#, false),
        ] {
            assert_eq!(refused_escape(json).is_some(), refused, "{json}");
        }
    }

    #[test]
    fn surrogates_stand_in_pairs() {
        for (json, refused) in [
            (r#""\ud83d\ude00""#, false),
            (r#""\ud83d""#, true),
            (r#""\ude00""#, true),
            (r#""\ud83d \ude00""#, true),
            (r#""\ud83d\n""#, true),
            (r#""\ud83d\ud83d\ude00""#, true),
        ] {
            assert_eq!(refused_escape(json).is_some(), refused, "{json}");
        }
    }

    #[test]
    fn zeros_of_exponents_are_counted_outside_strings() {
        for (json, expected) in [
            ("[1, true, 2.5]", 0),
            ("[1e3, -2.5E+10,1e-7]", 20),
            (r#"{"1e5":"2e5 \" 3e5","a":4e5}"#, 5),
            ("1e99999999999999999999999", usize::MAX),
        ] {
            assert_eq!(zeros(json), expected, "{json}");
        }
    }
}
