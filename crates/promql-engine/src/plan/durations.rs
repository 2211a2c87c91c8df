//! The durations of a query's text: their bound, because the parser panics on one that is too large, and
//! arithmetic with durations, which the parser does not read. Its value takes the place of the expression.

use std::borrow::Cow;
use std::ops::Range;

use super::computed_duration;
use crate::{QueryError, TimeRange};

/// The longest duration, in seconds: 2^63 milliseconds.
const MAX_SECONDS: f64 = 9_223_372_036_854_775.0;

/// A text in which every duration is a literal.
pub(super) struct Literal<'a> {
    pub(super) text: Cow<'a, str>,
    /// Whether a duration is made of `step()` or `range()`.
    pub(super) needs_times: bool,
}

/// Replaces each expression in brackets or after `offset` by its value. Without the times of the query,
/// one second stands for an expression that needs them. The parser reports unbalanced brackets and quotes.
///
/// # Errors
/// [`QueryError::Syntax`] for a duration that is too large, and for an expression without a value.
pub(super) fn literal(text: &str, times: Option<TimeRange>) -> Result<Literal<'_>, QueryError> {
    let (mut out, mut copied, mut needs_times) = (String::new(), 0, false);
    for place in places(text) {
        let duration = &text[place.range.clone()];
        let literal = match place.is_offset {
            true => duration.trim_start_matches(['+', '-']).trim_start(),
            false => duration,
        };
        if word(literal) == literal.len() {
            check(literal)?;
            continue;
        }
        let computed = computed_duration::of(duration)?;
        needs_times |= computed.needs_times;
        out.push_str(&text[copied..place.range.start]);
        out.push_str(&computed.literal(times, place.is_offset)?);
        copied = place.range.end;
    }
    let text = match copied {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(out + &text[copied..]),
    };
    Ok(Literal { text, needs_times })
}

/// The place of a duration in a text.
struct Place {
    range: Range<usize>,
    is_offset: bool,
}

fn places(text: &str) -> Vec<Place> {
    let mut places = Vec::new();
    // Whether an operand of the language has just ended, so that `offset` is no metric's name.
    let (mut at, mut after_operand) = (0, false);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let mut length = token(rest, first);
        match first {
            '[' => {
                let inside = &rest[1..rest.find(']').unwrap_or(rest.len())];
                let mut start = at + 1;
                for part in inside.splitn(2, ':') {
                    let from = start + part.len() - part.trim_start().len();
                    let range = from..from + part.trim().len();
                    start += part.len() + 1;
                    // The parser reports a lack of the range. That of the step is allowed.
                    if !range.is_empty() {
                        places.push(Place {
                            range,
                            is_offset: false,
                        });
                    }
                }
                length += inside.len();
            }
            _ if after_operand && rest[..length].eq_ignore_ascii_case("offset") => {
                let from = at + length + gap(&rest[length..]);
                let range = from..from + operand(&text[from..]);
                length = range.end - at;
                places.push(Place {
                    range,
                    is_offset: true,
                });
            }
            _ => {}
        }
        let token = &text[at..at + length];
        after_operand = match first {
            '#' => after_operand,
            _ if first.is_whitespace() => after_operand,
            '}' | ']' | ')' | '"' | '\'' | '`' => true,
            _ => is_word_char(first) && !["and", "or", "unless", "bool"].contains(&token),
        };
        at += length;
    }
    places
}

/// The length of a duration after `offset`: its signs, and a literal, a call or an expression in parentheses.
/// An operator after it works on the whole selector.
fn operand(text: &str) -> usize {
    let mut at = 0;
    while text[at..].starts_with(['+', '-']) {
        at += 1 + gap(&text[at + 1..]);
    }
    let name = word(&text[at..]);
    let arguments = at + name + gap(&text[at + name..]);
    let is_call = name == 0 || computed_duration::is_function(&text[at..at + name]);
    if !is_call || !text[arguments..].starts_with('(') {
        return at + name;
    }
    let mut depth = 0;
    let end = text[arguments..].find(|char| {
        depth += i32::from(char == '(') - i32::from(char == ')');
        depth == 0
    });
    end.map_or(text.len(), |end| arguments + end + 1)
}

/// The length of the spaces and comments at the start.
pub(super) fn gap(text: &str) -> usize {
    let mut at = 0;
    loop {
        at = text.len() - text[at..].trim_start().len();
        if !text[at..].starts_with('#') {
            return at;
        }
        at += token(&text[at..], '#');
    }
}

/// The length of the token, the comment or the quoted text at the start, before which `first` was read.
pub(super) fn token(text: &str, first: char) -> usize {
    match first {
        '#' => text.find('\n').unwrap_or(text.len()),
        '"' | '\'' | '`' => quoted(text, first),
        _ if is_word_char(first) => word(text),
        _ => first.len_utf8(),
    }
}

/// Rejects a literal that is too large for a duration.
fn check(word: &str) -> Result<(), QueryError> {
    let fits = match word.parse::<f64>() {
        // NaN fails the comparison, so it is rejected too.
        Ok(seconds) => seconds <= MAX_SECONDS,
        // The parser takes a greater number of a unit for none.
        Err(_) => word
            .split(|char: char| !char.is_ascii_digit())
            .all(|number| number.is_empty() || number.parse::<u32>().is_ok()),
    };
    if fits {
        return Ok(());
    }
    Err(out_of_range())
}

pub(super) fn out_of_range() -> QueryError {
    let reason = "duration out of range".to_owned();
    QueryError::Syntax { reason }
}

pub(super) fn is_word_char(char: char) -> bool {
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
fn quoted(text: &str, quote: char) -> usize {
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
