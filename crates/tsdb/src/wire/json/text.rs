use std::borrow::Cow;

/// The text between the quotes of a string, with its escape sequences, which the scanner has
/// checked.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    raw: &'a str,
    escaped: bool,
}

impl<'a> Text<'a> {
    pub(super) fn new(raw: &'a str, escaped: bool) -> Self {
        Self { raw, escaped }
    }

    /// The unescaped text. A lone half of a surrogate pair becomes U+FFFD.
    pub(super) fn decoded(self) -> Cow<'a, str> {
        if self.escaped {
            Cow::Owned(unescape(self.raw))
        } else {
            Cow::Borrowed(self.raw)
        }
    }
}

fn unescape(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((plain, escape)) = rest.split_once('\\') {
        out.push_str(plain);
        let (char, length) = sequence(escape);
        out.push(char);
        rest = &escape[length..];
    }
    out.push_str(rest);
    out
}

/// The character of an escape sequence after its backslash, and the length of the sequence.
fn sequence(escape: &str) -> (char, usize) {
    let simple = match escape.as_bytes().first() {
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode(escape),
        Some(&other) => char::from(other),
        // Unreachable: the scanner has checked the sequence.
        None => return (char::REPLACEMENT_CHARACTER, 0),
    };
    (simple, 1)
}

fn unicode(escape: &str) -> (char, usize) {
    let first = code_unit(&escape[1..]);
    let second = escape[5..].strip_prefix("\\u").map(code_unit);
    if let (0xD800..=0xDBFF, Some(low @ 0xDC00..=0xDFFF)) = (first, second) {
        let code = 0x10000 + ((first - 0xD800) << 10) + (low - 0xDC00);
        return (
            char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER),
            11,
        );
    }
    (
        char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER),
        5,
    )
}

/// The value of four hexadecimal digits, which the scanner has checked.
fn code_unit(digits: &str) -> u32 {
    digits
        .get(..4)
        .and_then(|digits| u32::from_str_radix(digits, 16).ok())
        .unwrap_or(0xFFFD)
}
