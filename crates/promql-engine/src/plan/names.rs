//! Names with dots or letters beyond ASCII, and `anchored` and `smoothed` as names: the parser reads them only in quotes.

use std::borrow::Cow;

use super::durations::{gap, token};
use super::extent;

/// The words before a list of label names.
const BEFORE_LABELS: [&str; 6] = [
    "by",
    "without",
    "on",
    "ignoring",
    "group_left",
    "group_right",
];

/// Puts such names in quotes, and that of a metric in braces: `http.requests` becomes `{"http.requests"}`.
pub(super) fn quoted(text: &str) -> Cow<'_, str> {
    let (mut out, mut copied) = (String::new(), 0);
    let (mut at, mut in_braces, mut in_labels, mut before_labels) = (0, false, false, false);
    // Whether an operand has just ended, so that `smoothed` is no name.
    let mut after_operand = false;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let name = name(rest);
        let end = at + name.max(token(rest, first));
        let word = &text[at..end];
        let is_reserved = extent::modifier(word).is_some() && (in_braces || !after_operand);
        let is_hidden = word.contains(|char: char| char == '.' || !char.is_ascii());
        if name > 0 && (is_hidden || is_reserved) {
            out.push_str(&text[copied..at]);
            copied = end;
            let brace = end + gap(&text[end..]);
            match text[brace..].starts_with('{') {
                _ if in_braces || in_labels => out.push_str(&format!("\"{word}\"")),
                true => {
                    out.push_str(&format!("{{\"{word}\", "));
                    copied = brace + 1;
                    in_braces = true;
                }
                false => out.push_str(&format!("{{\"{word}\"}}")),
            }
        }
        match first {
            '{' => in_braces = true,
            '}' => in_braces = false,
            '(' => in_labels = before_labels,
            ')' => in_labels = false,
            _ => {}
        }
        if first != '#' && !first.is_whitespace() {
            let word = word.to_ascii_lowercase();
            before_labels = BEFORE_LABELS.contains(&&*word);
            after_operand = matches!(first, '}' | ']' | ')' | '"' | '\'' | '`')
                || first.is_ascii_digit()
                || name > 0 && !["and", "or", "unless", "bool"].contains(&&*word);
        }
        at = end.max(copied);
    }
    match copied {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(out + &text[copied..]),
    }
}

/// The length of the name at the start.
pub(super) fn name(text: &str) -> usize {
    if !text.starts_with(|first: char| first.is_alphabetic() || first == '_') {
        return 0;
    }
    let end = text.find(|char: char| !char.is_alphanumeric() && !"_.:".contains(char));
    end.unwrap_or(text.len())
}
