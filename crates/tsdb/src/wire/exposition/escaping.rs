use std::borrow::Cow;
use std::fmt::Write as _;

use super::out::is_plain;

/// How a text writes names with characters that were not allowed before Prometheus 3. Such a name has
/// other characters than ASCII letters, digits, `_` and, in metrics' names, `:`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Escaping {
    /// Such a name is quoted: `{"cost.usage","user.id"="1"} 2`. Readers before Prometheus 3 refuse the
    /// whole text.
    AllowUtf8,
    /// `_` replaces each such character. Different names can become the same.
    #[default]
    Underscores,
    /// `_dot_` replaces each dot, and `__` every underscore and other character.
    Dots,
    /// `U__` precedes such a name, `__` replaces each underscore, and `_2e_` each dot, by its code.
    Values,
}

impl Escaping {
    /// The escaping that a client asks for by `escaping=` in its `Accept`, otherwise
    /// [`Underscores`](Self::Underscores), as in Prometheus. The first one that is known counts.
    pub fn accepted(accept: &str) -> Self {
        let parameters = accept.split([',', ';']).map(str::trim);
        let mut known = parameters.filter_map(|parameter| {
            let name = parameter.strip_prefix("escaping=")?;
            let all = [Self::AllowUtf8, Self::Underscores, Self::Dots, Self::Values];
            all.into_iter().find(|escaping| escaping.name() == name)
        });
        known.next().unwrap_or_default()
    }

    /// Its name in `Accept` and `Content-Type`.
    pub fn name(self) -> &'static str {
        match self {
            Self::AllowUtf8 => "allow-utf-8",
            Self::Underscores => "underscores",
            Self::Dots => "dots",
            Self::Values => "values",
        }
    }

    /// The name as the text has it, before quotes.
    pub(super) fn escaped(self, name: &str, is_allowed: fn(&str) -> bool) -> Cow<'_, str> {
        // Dots escape every underscore, so that the names can be read back.
        if self == Self::AllowUtf8 || (is_allowed(name) && self != Self::Dots) {
            return Cow::Borrowed(name);
        }
        let mut out = String::with_capacity(name.len() + 8);
        if self == Self::Values {
            out.push_str("U__");
        }
        for (index, char) in name.char_indices() {
            let digit = char.is_ascii_digit() && index > 0;
            let stays = digit || is_allowed(char.encode_utf8(&mut [0; 4]));
            match (self, char) {
                (Self::Dots | Self::Values, '_') => out.push_str("__"),
                (Self::Dots, '.') => out.push_str("_dot_"),
                _ if stays => out.push(char),
                (Self::Dots, _) => out.push_str("__"),
                (Self::Values, _) => {
                    // Writing to a String doesn't fail.
                    let _ = write!(out, "_{:x}_", u32::from(char));
                }
                _ => out.push('_'),
            }
        }
        Cow::Owned(out)
    }
}

/// Whether a label's name needs no quotes.
pub(super) fn is_plain_label(name: &str) -> bool {
    is_plain(name) && !name.contains(':')
}

/// The name that [`Escaping::Values`] has escaped: `user.id` for `U__user_2e_id`. A name that is not
/// escaped in this way stays as it is.
pub fn unescaped(name: &str) -> Cow<'_, str> {
    let decoded = name.strip_prefix("U__").and_then(decoded);
    decoded.map_or(Cow::Borrowed(name), Cow::Owned)
}

fn decoded(mut rest: &str) -> Option<String> {
    let mut out = String::with_capacity(rest.len());
    while let Some((plain, escape)) = rest.split_once('_') {
        let (code, after) = escape.split_once('_')?;
        out.push_str(plain);
        match code {
            "" => out.push('_'),
            _ if code.len() <= 6 && code.bytes().all(|digit| digit.is_ascii_hexdigit()) => {
                out.push(char::from_u32(u32::from_str_radix(code, 16).ok()?)?);
            }
            _ => return None,
        }
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}
