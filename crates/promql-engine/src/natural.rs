//! Natural order of texts, in which `host-9` comes before `host-10`.

use std::cmp::Ordering;

/// Compares the texts piece by piece. A piece is a number, or the text up to the next number.
pub(super) fn compare(mut one: &str, mut other: &str) -> Ordering {
    let texts = (one, other);
    while !one.is_empty() && !other.is_empty() {
        let (piece, other_piece) = (piece(&mut one), piece(&mut other));
        let order = match (number(piece), number(other_piece)) {
            // Without leading zeros, the longer number is the greater one.
            (Some(one), Some(other)) => (one.len(), one).cmp(&(other.len(), other)),
            _ => piece.cmp(other_piece),
        };
        if order.is_ne() {
            return order;
        }
    }
    // Texts that differ only in leading zeros are not equal.
    one.len().cmp(&other.len()).then(texts.0.cmp(texts.1))
}

/// Removes the first piece of a text that is not empty.
fn piece<'a>(text: &mut &'a str) -> &'a str {
    let starts_with_digit = text.starts_with(|char: char| char.is_ascii_digit());
    let end = text.find(|char: char| char.is_ascii_digit() != starts_with_digit);
    let (piece, rest) = text.split_at(end.unwrap_or(text.len()));
    *text = rest;
    piece
}

/// The digits of a number, without leading zeros.
fn number(piece: &str) -> Option<&str> {
    let is_number = piece.starts_with(|char: char| char.is_ascii_digit());
    is_number.then(|| piece.trim_start_matches('0'))
}
