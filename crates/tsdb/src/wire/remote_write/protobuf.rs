//! The part of the protocol buffers wire format that remote write and OTLP need.

/// A message ends early or does not have the form of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::wire) struct Truncated;

/// A field of a message.
pub(in crate::wire) enum Value<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32,
}

/// Reads the fields of a message one after another.
pub(in crate::wire) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(in crate::wire) fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// The bytes that were not read yet.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The number and the value of the next field; `None` at the end.
    #[inline]
    pub(in crate::wire) fn next(&mut self) -> Result<Option<(u64, Value<'a>)>, Truncated> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Value::Varint(self.varint()?),
            1 => Value::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => Value::Bytes(self.bytes()?),
            5 => {
                self.array::<4>()?;
                Value::Fixed32
            }
            // Groups, which no sender uses any more, or an unknown type.
            _ => return Err(Truncated),
        };
        Ok(Some((key >> 3, value)))
    }

    fn bytes(&mut self) -> Result<&'a [u8], Truncated> {
        let length = usize::try_from(self.varint()?).map_err(|_| Truncated)?;
        self.take(length)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Truncated> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Truncated> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(Truncated)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// An integer of variable length, without a key.
    #[inline]
    pub(super) fn varint(&mut self) -> Result<u64, Truncated> {
        // Nearly all keys and lengths are a single byte.
        if let [byte @ ..0x80, rest @ ..] = self.rest {
            self.rest = rest;
            return Ok(u64::from(*byte));
        }
        self.long_varint()
    }

    fn long_varint(&mut self) -> Result<u64, Truncated> {
        let mut value = 0;
        // 64 bits take at most ten bytes.
        for (index, &byte) in self.rest.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                self.rest = &self.rest[index + 1..];
                return Ok(value);
            }
        }
        Err(Truncated)
    }
}

/// Appends an integer of variable length.
pub(super) fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The bytes that [`push_varint`] appends.
pub(super) fn varint_length(value: u64) -> usize {
    // Seven bits per byte, rounded up, and one byte for 0.
    (70 - (value | 1).leading_zeros() as usize) / 7
}
