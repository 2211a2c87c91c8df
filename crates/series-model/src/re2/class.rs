//! Classes of characters.

use super::escape::{escaped_char, push_literal};

const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];

/// Appends a class; `text` is what follows its `[`. Returns the text behind it.
pub(super) fn push_class<'a>(text: &'a str, out: &mut String) -> Result<&'a str, String> {
    let mut rest = text.strip_prefix('^').unwrap_or(text);
    out.push_str(if rest.len() < text.len() { "[^" } else { "[" });
    let mut is_first = true;
    loop {
        // A bracket that comes first stands for itself.
        if let Some(behind) = rest.strip_prefix(']').filter(|_| !is_first) {
            out.push(']');
            return Ok(behind);
        }
        is_first = false;
        rest = push_item(rest, out)?;
    }
}

/// Appends a named class, a character or a range.
fn push_item<'a>(text: &'a str, out: &mut String) -> Result<&'a str, String> {
    if let Some((name, rest)) = text
        .strip_prefix("[:")
        .and_then(|name| name.split_once(":]"))
    {
        if !POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
            return Err(format!("[:{name}:] is no class"));
        }
        out.extend(["[:", name, ":]"]);
        return Ok(rest);
    }
    if let Some(escape) = text.strip_prefix('\\')
        && escape.starts_with(is_named)
    {
        return push_named(escape, out);
    }
    let (low, rest) = character(text)?;
    push_literal(low, out);
    // A hyphen that comes last stands for itself.
    match rest.strip_prefix('-') {
        Some(after) if !after.is_empty() && !after.starts_with(']') => {
            let (high, rest) = character(after)?;
            out.push('-');
            push_literal(high, out);
            Ok(rest)
        }
        _ => Ok(rest),
    }
}

fn character(text: &str) -> Result<(char, &str), String> {
    let first = text.chars().next().ok_or("a class has no end")?;
    match text.strip_prefix('\\') {
        Some(escape) => escaped_char(escape),
        None => Ok((first, &text[first.len_utf8()..])),
    }
}

/// Whether an escape that begins so is a class: `\d`, `\pL`.
pub(super) fn is_named(first: char) -> bool {
    matches!(first, 'd' | 'D' | 's' | 'S' | 'w' | 'W' | 'p' | 'P')
}

/// Appends the class of an escape; `text` is what follows its backslash. Returns the text behind it.
pub(super) fn push_named<'a>(text: &'a str, out: &mut String) -> Result<&'a str, String> {
    out.push_str(match &text[..1] {
        "d" => "[0-9]",
        "D" => "[^0-9]",
        "s" => r"[\t\n\f\r ]",
        "S" => r"[^\t\n\f\r ]",
        "w" => "[0-9A-Za-z_]",
        "W" => "[^0-9A-Za-z_]",
        _ => return push_unicode(text, out),
    });
    Ok(&text[1..])
}

/// Appends `pL`, `PL`, `p{Greek}` or `p{^Greek}`.
fn push_unicode<'a>(text: &'a str, out: &mut String) -> Result<&'a str, String> {
    let (mut is_negated, name) = (text.starts_with('P'), &text[1..]);
    let (mut name, rest) = match name.strip_prefix('{') {
        Some(name) => name
            .split_once('}')
            .ok_or("the name of a class has no end")?,
        None => {
            let length = name.chars().next().map_or(0, char::len_utf8);
            name.split_at(length)
        }
    };
    if let Some(inner) = name.strip_prefix('^') {
        (is_negated, name) = (!is_negated, inner);
    }
    if name.is_empty()
        || !name
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || char == '_')
    {
        return Err(format!("{name:?} is no class"));
    }
    out.extend([if is_negated { r"\P{" } else { r"\p{" }, name, "}"]);
    Ok(rest)
}
