//! A scanner over the text of a JSON document. "To pass" a part of the text means to move the
//! scanner's position past it. The scanner checks the grammar of everything that it passes, and
//! copies nothing.

use std::ops::Range;

use super::decimal::{Number, read_digits};
use super::text::Text;

/// The position at which a body stops being JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed JSON: expected {expected} at byte {at}")]
pub(super) struct Malformed {
    /// The token or part that the grammar requires there.
    pub(super) expected: &'static str,
    /// The index of the byte, from zero.
    pub(super) at: usize,
}

/// The maximum depth of values that are skipped. Each level takes one bit of a `u128`.
const MAX_DEPTH: u32 = 128;

/// A text and the position up to which it was read.
#[derive(Clone, Copy)]
pub(super) struct Scanner<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, position: 0 }
    }

    /// The index of the next byte.
    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// The text from `start` to the current position.
    pub(super) fn since(&self, start: usize) -> &'a str {
        self.part(start..self.position)
    }

    /// The text in a byte range.
    pub(super) fn part(&self, range: Range<usize>) -> &'a str {
        &self.text[range]
    }

    /// Skips white space and returns the next byte without passing it.
    pub(super) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.position) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.position += 1;
        }
        None
    }

    /// Passes this byte if it is next after white space.
    pub(super) fn accept(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.position += usize::from(found);
        found
    }

    /// Passes this byte, which must be next after white space.
    pub(super) fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), Malformed> {
        if self.accept(byte) {
            Ok(())
        } else {
            Err(self.malformed(expected))
        }
    }

    /// Passes this text if it is next, without skipping white space.
    pub(super) fn accept_text(&mut self, text: &str) -> bool {
        let found = self.text.as_bytes()[self.position..].starts_with(text.as_bytes());
        self.position += if found { text.len() } else { 0 };
        found
    }

    /// Checks that nothing but white space follows.
    pub(super) fn end(&mut self) -> Result<(), Malformed> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.malformed("the end")),
        }
    }

    /// The error at the current position.
    pub(super) fn malformed(&self, expected: &'static str) -> Malformed {
        Malformed {
            expected,
            at: self.position,
        }
    }

    /// Passes a string, whose opening quote is next.
    pub(super) fn string(&mut self) -> Result<Text<'a>, Malformed> {
        self.expect(b'"', "a string")?;
        let bytes = self.text.as_bytes();
        let start = self.position;
        let mut escaped = false;
        loop {
            match bytes.get(self.position) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(0x20..) => self.position += 1,
                // The end of the text, or a control character, which must be escaped.
                _ => return Err(self.malformed("the end of the string")),
            }
        }
        let raw = self.since(start);
        self.position += 1;
        Ok(Text::new(raw, escaped))
    }

    /// Passes an escape sequence.
    fn escape(&mut self) -> Result<(), Malformed> {
        const SEQUENCE: &str = "an escape sequence";
        let bytes = self.text.as_bytes();
        match bytes.get(self.position + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.position += 2,
            Some(b'u') => {
                let digits = bytes.get(self.position + 2..self.position + 6);
                if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                    return Err(self.malformed(SEQUENCE));
                }
                self.position += 6;
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
        let start = self.position;
        let negative = bytes.get(self.position) == Some(&b'-');
        self.position += usize::from(negative);
        let (mut digits, mut count) = match bytes.get(self.position) {
            // Only a point or an exponent may follow a leading zero. The zero is not counted as a
            // digit.
            Some(b'0') => {
                self.position += 1;
                (0, 0)
            }
            Some(b'1'..=b'9') => self.digits(0),
            _ => return Err(self.malformed("a digit")),
        };
        let mut scale = 0;
        if bytes.get(self.position) == Some(&b'.') {
            self.position += 1;
            (digits, scale) = self.digits(digits);
            count += scale;
            if scale == 0 {
                return Err(self.malformed("a digit"));
            }
        }
        let exponent = matches!(bytes.get(self.position), Some(b'e' | b'E'));
        if exponent {
            self.position += 1;
            self.position += usize::from(matches!(bytes.get(self.position), Some(b'+' | b'-')));
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

    /// Passes digits and appends them to `number`. Also returns how many there are.
    fn digits(&mut self, number: u64) -> (u64, usize) {
        let (number, count) = read_digits(&self.text.as_bytes()[self.position..], number);
        self.position += count;
        (number, count)
    }

    /// Passes a value of any kind.
    pub(super) fn skip(&mut self) -> Result<(), Malformed> {
        // A stack without recursion or allocation: one bit for each open bracket, which is set for
        // an object. The innermost bracket has the lowest bit.
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

    /// Passes a scalar or empty value, or the beginning of an array or object. In the latter case
    /// returns true, and its first element is next.
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
        self.position += 1;
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
