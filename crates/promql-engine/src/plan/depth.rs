//! Bounds on a query's text, so that the recursive passes over its tree fit on any thread's stack.

use promql_parser::parser::Expr;

use crate::QueryError;

const MAX_BYTES: usize = 64 * 1024;
const MAX_TOKENS: usize = 2_000;
const MAX_LEVELS: usize = 250;

/// Rejects a text that is too long, or that may nest too deeply for the parser. The depth of a tree
/// is at most the number of tokens in its text.
pub(super) fn check(text: &str) -> Result<(), QueryError> {
    if text.len() > MAX_BYTES {
        return Err(QueryError::TooLarge {
            max: MAX_BYTES,
            unit: "bytes",
        });
    }
    if tokens(text) > MAX_TOKENS {
        return Err(QueryError::TooLarge {
            max: MAX_TOKENS,
            unit: "tokens",
        });
    }
    Ok(())
}

/// Rejects a tree that is too deep for the recursive passes after parsing.
pub(super) fn check_levels(tree: &Expr) -> Result<(), QueryError> {
    if levels(tree) > MAX_LEVELS {
        return Err(QueryError::TooLarge {
            max: MAX_LEVELS,
            unit: "levels",
        });
    }
    Ok(())
}

fn levels(tree: &Expr) -> usize {
    1 + match tree {
        Expr::Paren(inner) => levels(&inner.expr),
        Expr::Unary(negated) => levels(&negated.expr),
        Expr::Subquery(subquery) => levels(&subquery.expr),
        Expr::Binary(operation) => levels(&operation.lhs).max(levels(&operation.rhs)),
        Expr::Aggregate(aggregation) => {
            let parameter = aggregation.param.as_deref().map_or(0, levels);
            parameter.max(levels(&aggregation.expr))
        }
        Expr::Call(call) => call
            .args
            .args
            .iter()
            .map(|argument| levels(argument))
            .max()
            .unwrap_or(0),
        _ => 0,
    }
}

/// An upper bound on the lexer's tokens: words, quoted texts and other single characters.
fn tokens(text: &str) -> usize {
    let mut count = 0;
    let mut in_word = false;
    let mut quote = None;
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match quote {
            Some(b'`') if byte == b'`' => quote = None,
            // Between backticks, a backslash does not escape.
            Some(b'`') => {}
            Some(_) if byte == b'\\' => {
                bytes.next();
            }
            Some(open) if byte == open => quote = None,
            Some(_) => {}
            None if byte == b'#' => {
                // A comment is not a token, but it ends a word.
                bytes.find(|byte| *byte == b'\n');
                in_word = false;
            }
            None => {
                let word = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'.');
                let continues = byte.is_ascii_whitespace() || (word && in_word);
                count += usize::from(!continues);
                in_word = word;
                if matches!(byte, b'"' | b'\'' | b'`') {
                    quote = Some(byte);
                }
            }
        }
    }
    count
}
