//! Bytes that a query writes as escapes: `"\xc3\xa9"` and `"\303\251"` are `"é"`. The parser takes
//! each escape for a character, so the bytes are decoded before it sees the text.

use std::borrow::Cow;

use super::durations::token;
use crate::QueryError;

/// The text, with the escapes of bytes beyond ASCII replaced by the characters that they encode.
///
/// # Errors
/// [`QueryError::Syntax`] if the bytes of a string are not UTF-8. No label could contain them.
pub(super) fn decoded(text: &str) -> Result<Cow<'_, str>, QueryError> {
    if !text.contains('\\') {
        return Ok(Cow::Borrowed(text));
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (token, after) = rest.split_at(token(rest, first));
        match first {
            '"' | '\'' => push_decoded(&mut out, token)?,
            _ => out.push_str(token),
        }
        rest = after;
    }
    Ok(Cow::Owned(out))
}

/// Appends a quoted string with its bytes decoded.
fn push_decoded(out: &mut String, mut string: &str) -> Result<(), QueryError> {
    let mut bytes = Vec::new();
    while let Some(first) = string.chars().next() {
        if let Some((byte, after)) = escaped_byte(string) {
            bytes.push(byte);
            string = after;
            continue;
        }
        push_bytes(out, &mut bytes)?;
        // A backslash and the character after it stay together, so that `\\x80` does not count as a
        // byte.
        let length = match first {
            '\\' => 1 + string[1..].chars().next().map_or(0, char::len_utf8),
            _ => first.len_utf8(),
        };
        let (token, after) = string.split_at(length);
        out.push_str(token);
        string = after;
    }
    push_bytes(out, &mut bytes)
}

fn push_bytes(out: &mut String, bytes: &mut Vec<u8>) -> Result<(), QueryError> {
    let characters = str::from_utf8(bytes).map_err(|_| QueryError::Syntax {
        reason: "a string is not valid UTF-8".into(),
    })?;
    out.push_str(characters);
    bytes.clear();
    Ok(())
}

/// The byte beyond ASCII that an escape at the start of the text stands for, and the text after it.
fn escaped_byte(text: &str) -> Option<(u8, &str)> {
    let escape = text.strip_prefix('\\')?;
    let (digits, radix) = match escape.strip_prefix('x') {
        Some(digits) => (digits.get(..2)?, 16),
        None => (escape.get(..3)?, 8),
    };
    let is_number = digits
        .bytes()
        .all(|digit| char::from(digit).is_digit(radix));
    let byte = u8::from_str_radix(digits, radix).ok()?;
    // Both forms have four characters: `\xff` and `\377`.
    (is_number && !byte.is_ascii()).then(|| (byte, &text[4..]))
}
