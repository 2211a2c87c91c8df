//! Finds JSON that a `jsonb` column can't store and return, before it is sent. If sent, one such
//! message would make its whole batch fail.

use super::numbers;
use crate::{Message, Problem, StreamWrite};

/// The first field with a [`problem`].
pub(super) fn find_unstorable(
    writes: &[StreamWrite],
    max_bytes: usize,
) -> Option<(FieldPath, Problem)> {
    writes.iter().enumerate().find_map(|(stream, write)| {
        let mut messages = write.messages.iter().enumerate();
        messages.find_map(|(message, content)| {
            let (field, problem) = unstorable_field(content, max_bytes)?;
            Some((
                FieldPath {
                    stream,
                    message,
                    field,
                },
                problem,
            ))
        })
    })
}

/// The path of a field within a write: the index of the stream, the index of the message, the name.
pub(super) struct FieldPath {
    pub(super) stream: usize,
    pub(super) message: usize,
    pub(super) field: &'static str,
}

fn unstorable_field(message: &Message, max_bytes: usize) -> Option<(&'static str, Problem)> {
    let data = problem(message.data_json(), max_bytes).map(|problem| ("data", problem));
    let metadata = || Some(("metadata", problem(message.metadata_json()?, max_bytes)?));
    data.or_else(metadata)
}

/// Why `jsonb` can't store a text: an escape or a number that it rejects, or numbers that it would
/// print with more than `max_bytes` zeros.
pub(super) fn problem(json: &str, max_bytes: usize) -> Option<Problem> {
    rejected_escape(json).or_else(|| numbers::problem(json, max_bytes))
}

/// Finds an escape that `jsonb` rejects: `\u0000`, or half of a surrogate pair. The text is valid
/// JSON, so backslashes occur only in strings and another character follows each one. So it is
/// enough to search for backslashes.
fn rejected_escape(json: &str) -> Option<Problem> {
    let mut rest = json;
    let mut high_surrogate = false;
    while let Some(backslash) = rest.find('\\') {
        // The low surrogate must follow immediately.
        if high_surrogate && backslash > 0 {
            return Some(unpaired_surrogate());
        }
        rest = &rest[backslash + 1..];
        let unit = rest.strip_prefix('u').and_then(|digits| digits.get(..4));
        let unit = unit.and_then(|digits| u16::from_str_radix(digits, 16).ok());
        match unit {
            Some(0) => return Some(Problem::ContainsNul),
            Some(0xD800..=0xDBFF) if !high_surrogate => high_surrogate = true,
            Some(0xDC00..=0xDFFF) if high_surrogate => high_surrogate = false,
            Some(0xD800..=0xDFFF) => return Some(unpaired_surrogate()),
            _ if high_surrogate => return Some(unpaired_surrogate()),
            _ => {}
        }
        // Skip the `u` and its four digits, or the escaped character, which is a single byte.
        let escape_bytes = if unit.is_some() { 5 } else { 1 };
        rest = rest.get(escape_bytes..).unwrap_or_default();
    }
    high_surrogate.then(unpaired_surrogate)
}

fn unpaired_surrogate() -> Problem {
    Problem::malformed("an escape is half of a surrogate pair")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_nul_is_rejected_and_escaped_backslash_before_u0000_is_not() {
        for (json, rejected) in [
            (r#""a""#, false),
            (r#""\u0000""#, true),
            (r#"{"\u0000":1}"#, true),
            (r#""\\u0000""#, false),
            (r#""\\\u0000""#, true),
            (r#""\u0001\"\n\\""#, false),
        ] {
            assert_eq!(rejected_escape(json).is_some(), rejected, "{json}");
        }
    }

    #[test]
    fn unpaired_surrogate_is_rejected() {
        for (json, rejected) in [
            (r#""\ud83d\ude00""#, false),
            (r#""\ud83d""#, true),
            (r#""\ude00""#, true),
            (r#""\ud83d \ude00""#, true),
            (r#""\ud83d\n""#, true),
            (r#""\ud83d\ud83d\ude00""#, true),
        ] {
            assert_eq!(rejected_escape(json).is_some(), rejected, "{json}");
        }
    }
}
