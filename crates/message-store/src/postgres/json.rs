//! The JSON that a `jsonb` column can't store, found before it is sent.

use crate::text::malformed;
use crate::{Message, Problem, StreamWrite};

/// The first field with an escape that `jsonb` refuses, as its path from `messages` on, and what is
/// wrong with it.
pub(super) fn unstorable(writes: &[StreamWrite]) -> Option<(Place, Problem)> {
    writes.iter().enumerate().find_map(|(stream, write)| {
        let mut messages = write.messages.iter().enumerate();
        messages.find_map(|(message, content)| {
            let (field, problem) = unstorable_field(content)?;
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

fn unstorable_field(message: &Message) -> Option<(&'static str, Problem)> {
    let data = problem(message.data_json()).map(|problem| ("data", problem));
    let metadata = || Some(("metadata", problem(message.metadata_json()?)?));
    data.or_else(metadata)
}

/// A `\u0000`, or half of a surrogate pair. The text is valid JSON: a backslash stands in strings
/// only, and has its second character behind it.
fn problem(json: &str) -> Option<Problem> {
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
        rest = &rest[if unit.is_some() { 5 } else { 1 }..];
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
            assert_eq!(problem(json).is_some(), refused, "{json}");
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
            assert_eq!(problem(json).is_some(), refused, "{json}");
        }
    }
}
