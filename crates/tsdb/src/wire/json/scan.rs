//! A scanner over the text of a JSON document. It checks the grammar of all that it passes, and
//! copies nothing.

use std::ops::Range;

use super::decimal::{Number, read_digits};
use super::text::Text;

/// The place where a body ceases to be JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed JSON: {expected} is missing at byte {at}")]
pub(super) struct Malformed {
    /// What was expected there.
    pub(super) expected: &'static str,
    /// The byte, from zero.
    pub(super) at: usize,
}

/// How deeply values may be nested that nothing asks for.
const MAX_DEPTH: u32 = 128;

/// A text and how far it was read.
#[derive(Clone, Copy)]
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The place of the next byte.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The text from a place to here.
    pub(super) fn since(&self, start: usize) -> &'a str {
        self.part(start..self.at)
    }

    /// The text between two places.
    pub(super) fn part(&self, places: Range<usize>) -> &'a str {
        &self.text[places]
    }

    /// The next byte of a token, which stays.
    pub(super) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    /// Passes this byte, if it is the next one of a token.
    pub(super) fn accept(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Passes this byte, which must be the next one of a token.
    pub(super) fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), Malformed> {
        if self.accept(byte) {
            Ok(())
        } else {
            Err(self.malformed(expected))
        }
    }

    /// Passes this text, if it comes next.
    pub(super) fn accept_text(&mut self, text: &str) -> bool {
        let found = self.text.as_bytes()[self.at..].starts_with(text.as_bytes());
        self.at += if found { text.len() } else { 0 };
        found
    }

    /// Nothing but white space may follow.
    pub(super) fn end(&mut self) -> Result<(), Malformed> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.malformed("the end")),
        }
    }

    /// The error at this place.
    pub(super) fn malformed(&self, expected: &'static str) -> Malformed {
        Malformed {
            expected,
            at: self.at,
        }
    }

    /// Passes a string, whose opening quote is next.
    pub(super) fn string(&mut self) -> Result<Text<'a>, Malformed> {
        self.expect(b'"', "a string")?;
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut escaped = false;
        loop {
            match bytes.get(self.at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(0x20..) => self.at += 1,
                _ => return Err(self.malformed("the end of the string")),
            }
        }
        let raw = self.since(start);
        self.at += 1;
        Ok(Text::new(raw, escaped))
    }

    /// Passes an escape sequence.
    fn escape(&mut self) -> Result<(), Malformed> {
        const SEQUENCE: &str = "an escape sequence";
        let bytes = self.text.as_bytes();
        match bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => {
                let digits = bytes.get(self.at + 2..self.at + 6);
                if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                    return Err(self.malformed(SEQUENCE));
                }
                self.at += 6;
            }
            _ => return Err(self.malformed(SEQUENCE)),
        }
        Ok(())
    }

    /// Whether a number is next.
    pub(super) fn is_number(&mut self) -> bool {
        matches!(self.peek(), Some(b'-' | b'0'..=b'9'))
    }

    /// Passes a number, whose first character is next.
    pub(super) fn number(&mut self) -> Result<Number<'a>, Malformed> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let negative = bytes.get(self.at) == Some(&b'-');
        self.at += usize::from(negative);
        let (mut digits, mut count) = match bytes.get(self.at) {
            Some(b'0') => {
                self.at += 1;
                (0, 0)
            }
            Some(b'1'..=b'9') => self.digits(0),
            _ => return Err(self.malformed("a digit")),
        };
        let mut scale = 0;
        if bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            (digits, scale) = self.digits(digits);
            count += scale;
            if scale == 0 {
                return Err(self.malformed("a digit"));
            }
        }
        let exponent = matches!(bytes.get(self.at), Some(b'e' | b'E'));
        if exponent {
            self.at += 1;
            self.at += usize::from(matches!(bytes.get(self.at), Some(b'+' | b'-')));
            if self.digits(0).1 == 0 {
                return Err(self.malformed("a digit"));
            }
        }
        Ok(Number {
            text: self.since(start),
            negative,
            digits,
            count,
            scale,
            exponent,
        })
    }

    /// Passes digits, which follow those of `number`; how many there are is the second.
    fn digits(&mut self, number: u64) -> (u64, usize) {
        let (number, count) = read_digits(&self.text.as_bytes()[self.at..], number);
        self.at += count;
        (number, count)
    }

    /// Passes a value of any kind.
    pub(super) fn skip(&mut self) -> Result<(), Malformed> {
        // A bit for each open bracket, the innermost lowest: set for an object.
        let (mut open, mut depth) = (0_u128, 0);
        loop {
            let opened = self.skip_start(&mut open, &mut depth)?;
            if opened {
                continue;
            }
            loop {
                if depth == 0 {
                    return Ok(());
                }
                let object = open & 1 == 1;
                if self.accept(b',') {
                    if object {
                        self.key()?;
                    }
                    break;
                }
                let close = if object { b'}' } else { b']' };
                self.expect(close, "a comma or a closing bracket")?;
                open >>= 1;
                depth -= 1;
            }
        }
    }

    /// Passes a value without parts, or the beginning of one: then true, and a part is next.
    fn skip_start(&mut self, open: &mut u128, depth: &mut u32) -> Result<bool, Malformed> {
        let object = match self.peek() {
            Some(b'"') => return self.string().map(|_| false),
            Some(b'-' | b'0'..=b'9') => return self.number().map(|_| false),
            Some(b'{') => true,
            Some(b'[') => false,
            _ => return self.literal().map(|()| false),
        };
        if *depth == MAX_DEPTH {
            return Err(self.malformed("less nesting"));
        }
        self.at += 1;
        if self.accept(if object { b'}' } else { b']' }) {
            return Ok(false);
        }
        *open = *open << 1 | u128::from(object);
        *depth += 1;
        if object {
            self.key()?;
        }
        Ok(true)
    }

    fn literal(&mut self) -> Result<(), Malformed> {
        let found = ["null", "true", "false"]
            .iter()
            .any(|literal| self.accept_text(literal));
        if found {
            Ok(())
        } else {
            Err(self.malformed("a value"))
        }
    }

    /// Passes the key of a member and its colon.
    pub(super) fn key(&mut self) -> Result<Text<'a>, Malformed> {
        let key = self.string()?;
        self.expect(b':', "a colon")?;
        Ok(key)
    }
}
