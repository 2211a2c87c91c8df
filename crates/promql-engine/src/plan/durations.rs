//! A bound on the durations in a query: the parser panics on one that is too large.

use crate::QueryError;

/// The longest duration, in seconds: 2^63 milliseconds.
const MAX_SECONDS: f64 = 9_223_372_036_854_775.0;

/// Rejects a text in which a number in brackets or after `offset` is too large for a duration. The
/// parser reports unbalanced brackets and quotes.
pub(super) fn check(text: &str) -> Result<(), QueryError> {
    let mut rest = text;
    let (mut brackets, mut after_offset) = (0_u32, false);
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '"' | '\'' | '`' => quoted(rest, first),
            _ if is_word_char(first) => word(rest),
            _ => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        match first {
            '[' => brackets += 1,
            ']' => brackets = brackets.saturating_sub(1),
            _ if is_word_char(first) => {
                if (brackets > 0 || after_offset) && !can_be_a_duration(token) {
                    let reason = "duration out of range".to_owned();
                    return Err(QueryError::Syntax { reason });
                }
                // Only a word changes this flag, because a sign may precede the number.
                after_offset = token.eq_ignore_ascii_case("offset");
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_word_char(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '_' | '.')
}

/// The length of the word at the start, including the sign of an exponent.
fn word(text: &str) -> usize {
    let mut before = ' ';
    // `1e+3` is one word, but `a+3` is three tokens.
    let is_number = text.starts_with(|first: char| first.is_ascii_digit() || first == '.');
    let end = text.find(|char| {
        let is_exponent_sign =
            is_number && matches!(before, 'e' | 'E') && matches!(char, '+' | '-');
        before = char;
        !is_word_char(char) && !is_exponent_sign
    });
    end.unwrap_or(text.len())
}

/// The length of the quoted text at the start.
pub(super) fn quoted(text: &str, quote: char) -> usize {
    let mut chars = text.char_indices().skip(1);
    while let Some((index, char)) = chars.next() {
        if char == quote {
            return index + 1;
        }
        if char == '\\' && quote != '`' {
            chars.next();
        }
    }
    text.len()
}

/// Whether the word is within the bound. A word that is not a decimal number always passes.
fn can_be_a_duration(word: &str) -> bool {
    word.parse()
        // NaN fails the comparison, so it is rejected too.
        .map_or(true, |seconds: f64| seconds <= MAX_SECONDS)
}
