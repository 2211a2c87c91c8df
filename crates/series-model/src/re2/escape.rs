//! Escapes that stand for one character.

/// Appends a character that stands for itself.
pub(super) fn push_literal(char: char, out: &mut String) {
    regex_syntax::escape_into(char.encode_utf8(&mut [0; 4]), out);
}

/// The character of an escape, and the text behind it; `text` is what follows the backslash.
pub(super) fn escaped_char(text: &str) -> Result<(char, &str), String> {
    let unknown = || format!("\\{} is no escape", text.chars().next().unwrap_or_default());
    let first = text.chars().next().ok_or("trailing backslash")?;
    let rest = &text[first.len_utf8()..];
    let char = match first {
        '0' => return Ok(octal(text, 3)),
        // One digit would be a reference to a group, which RE2 doesn't know.
        '1'..='7' if rest.starts_with(|next| matches!(next, '0'..='7')) => {
            return Ok(octal(text, 3));
        }
        'x' => return hexadecimal(rest).ok_or_else(unknown),
        'a' => '\u{7}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        _ if first.is_ascii() && !first.is_ascii_alphanumeric() => first,
        _ => return Err(unknown()),
    };
    Ok((char, rest))
}

/// The character of at most `most` octal digits.
fn octal(text: &str, most: usize) -> (char, &str) {
    let digits = text
        .bytes()
        .take(most)
        .take_while(|byte| matches!(byte, b'0'..=b'7'));
    let length = digits.clone().count();
    let code = digits.fold(0, |code, digit| code * 8 + u32::from(digit - b'0'));
    (char::from_u32(code).unwrap_or_default(), &text[length..])
}

/// The character of `7F` or `{10FFFF}`.
fn hexadecimal(text: &str) -> Option<(char, &str)> {
    let (digits, rest) = match text.strip_prefix('{') {
        Some(text) => text.split_once('}')?,
        None => text.split_at_checked(2)?,
    };
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    Some((char::from_u32(u32::from_str_radix(digits, 16).ok()?)?, rest))
}
