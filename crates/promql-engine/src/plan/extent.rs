//! The modifiers `anchored` and `smoothed`, which the parser does not know. A matcher that no user can write marks their
//! selector in the text.

use std::borrow::Cow;

use promql_parser::label::Matcher;
use promql_parser::parser::VectorSelector;

use super::durations::{gap, is_word_char, token};
use super::names::name;
use crate::QueryError;

/// Which samples a range has besides those inside of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// None.
    Inside,
    /// The last one before its start.
    Anchored,
    /// The last one before its start, and the first one after its end.
    Smoothed,
}

/// The label of the matcher: a private character.
const MARK: &str = "\u{F8FE}";

const MODIFIERS: [(&str, Extent); 2] = [
    ("anchored", Extent::Anchored),
    ("smoothed", Extent::Smoothed),
];

/// The modifier that a word is, in any case.
pub(super) fn modifier(word: &str) -> Option<&'static str> {
    let mut words = MODIFIERS.iter().map(|(modifier, _)| *modifier);
    words.find(|modifier| word.eq_ignore_ascii_case(modifier))
}

/// Whether a matcher is the mark of a modifier.
pub(super) fn is_mark(matcher: &Matcher) -> bool {
    matcher.name == MARK
}

/// Whether a text has the mark of a modifier.
pub(crate) fn is_marked(text: &str) -> bool {
    text.contains(MARK)
}

/// The extent that the mark of a selector names.
pub(super) fn of(selector: &VectorSelector) -> Extent {
    let mark = selector.matchers.matchers.iter().find(|it| is_mark(it));
    let named = mark.and_then(|mark| MODIFIERS.iter().find(|(word, _)| *word == mark.value));
    named.map_or(Extent::Inside, |(_, extent)| *extent)
}

/// The place of a selector in a text: where the mark goes, and what stands before and after it.
#[derive(Clone, Copy)]
struct Selected {
    mark_at: usize,
    has_braces: bool,
    is_subquery: bool,
    modifier: Option<&'static str>,
}

/// Replaces each modifier by a mark of its selector. The parser reports a modifier that follows anything else.
///
/// # Errors
/// [`QueryError::Syntax`] for a modifier of a sub-query, and for both modifiers of one selector.
pub(super) fn marked(text: &str) -> Result<Cow<'_, str>, QueryError> {
    let (mut out, mut copied) = (String::new(), 0);
    let (mut at, mut selected, mut braces) = (0, None::<Selected>, None);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let start = at;
        at += token(rest, first).max(name(rest));
        let word = &text[start..at];
        match first {
            '#' => {}
            _ if first.is_whitespace() => {}
            '{' => {
                // The braces of a metric are a part of its selector.
                braces = Some(at);
                selected = None;
            }
            '}' => {
                selected = braces.take().map(|mark_at| Selected {
                    mark_at,
                    has_braces: true,
                    is_subquery: false,
                    modifier: None,
                });
            }
            _ if braces.is_some() => {}
            '[' => {
                let inside = &rest[..rest.find(']').map_or(rest.len(), |end| end + 1)];
                at = start + inside.len();
                if let Some(selected) = &mut selected {
                    selected.is_subquery |= inside.contains(':');
                }
            }
            '@' if selected.is_some() => at += time(&text[at..]),
            _ if selected.is_some() && word.eq_ignore_ascii_case("offset") => {
                at += signed(&text[at..]);
            }
            _ if !is_word_char(first) && name(rest) == 0 => selected = None,
            _ => {
                let (Some(target), Some(modifier)) = (&mut selected, modifier(word)) else {
                    selected = (!first.is_ascii_digit()).then_some(Selected {
                        mark_at: at,
                        has_braces: false,
                        is_subquery: false,
                        modifier: None,
                    });
                    continue;
                };
                if target.is_subquery {
                    return Err(wrong(format!("`{modifier}` does not apply to a sub-query")));
                }
                match target.modifier {
                    None => {
                        out.push_str(&text[copied..target.mark_at]);
                        out.push_str(&match target.has_braces {
                            true => format!("\"{MARK}\"=\"{modifier}\","),
                            false => format!("{{\"{MARK}\"=\"{modifier}\"}}"),
                        });
                        out.push_str(&text[target.mark_at..start]);
                    }
                    Some(before) if before == modifier => out.push_str(&text[copied..start]),
                    Some(_) => {
                        return Err(wrong("`anchored` and `smoothed` exclude each other".into()));
                    }
                }
                target.modifier = Some(modifier);
                copied = at;
            }
        }
    }
    Ok(match copied {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(out + &text[copied..]),
    })
}

/// The length of the time after `@`: a number, `start()` or `end()`.
fn time(text: &str) -> usize {
    let word = signed(text);
    let open = word + gap(&text[word..]);
    if !text[open..].starts_with('(') || !text[..word].ends_with(char::is_alphabetic) {
        return word;
    }
    let close = open + 1 + gap(&text[open + 1..]);
    close + usize::from(text[close..].starts_with(')'))
}

/// The length of signs and a word, and of the gaps before them.
fn signed(text: &str) -> usize {
    let mut at = gap(text);
    while text[at..].starts_with(['+', '-']) {
        at += 1 + gap(&text[at + 1..]);
    }
    let first = text[at..].chars().next();
    at + first.map_or(0, |first| token(&text[at..], first))
}

fn wrong(reason: String) -> QueryError {
    QueryError::Syntax { reason }
}
