//! Array parameters, written element by element in PostgreSQL's binary format.
//!
//! An array without values (empty, or all NULL) is sent as NULL. `unnest` of several arrays fills
//! the shorter ones with NULL anyway, and a NULL array costs the server nothing.
//!
//! Columns keep their buffers, so that a batch allocates nothing for its values.

use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{PgArgumentBuffer, PgTypeInfo};
use sqlx::{Encode, Postgres, Type};

/// The type of a column's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// `integer`.
    Int4,
    /// `bigint`.
    Int8,
    /// `text`.
    Text,
    /// `bytea`.
    Bytea,
    /// `timestamp` without time zone: microseconds since 2000-01-01.
    Timestamp,
    /// `timestamp with time zone`: microseconds since 2000-01-01 in UTC.
    Timestamptz,
    /// `uuid`.
    Uuid,
}

impl Element {
    /// The object ids of the type and of arrays of it, as in `pg_type.dat`.
    const fn oids(self) -> (u32, u32) {
        match self {
            Self::Int4 => (23, 1007),
            Self::Int8 => (20, 1016),
            Self::Text => (25, 1009),
            Self::Bytea => (17, 1001),
            Self::Timestamp => (1114, 1115),
            Self::Timestamptz => (1184, 1185),
            Self::Uuid => (2950, 2951),
        }
    }
}

/// An array parameter.
#[derive(Debug)]
pub struct Column {
    element: Element,
    count: i32,
    nulls: i32,
    /// Each element is its length in bytes (4 bytes, big-endian, -1 for NULL), then its bytes.
    elements: Vec<u8>,
}

impl Column {
    /// An empty array.
    pub const fn new(element: Element) -> Self {
        Self {
            element,
            count: 0,
            nulls: 0,
            elements: Vec::new(),
        }
    }

    /// Removes all elements, and keeps the buffer.
    pub fn clear(&mut self) {
        self.count = 0;
        self.nulls = 0;
        self.elements.clear();
    }

    /// The number of elements, NULLs included.
    pub fn count(&self) -> i32 {
        self.count
    }

    /// The number of NULL elements.
    pub fn nulls(&self) -> i32 {
        self.nulls
    }

    /// Adds an element in the type's binary format. For a text that is its bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.push_with(|elements| elements.extend_from_slice(bytes));
    }

    /// Adds an [`Element::Int4`].
    pub fn push_int4(&mut self, number: i32) {
        self.push(&number.to_be_bytes());
    }

    /// Adds an [`Element::Int8`] or an [`Element::Timestamp`].
    pub fn push_int8(&mut self, number: i64) {
        self.push(&number.to_be_bytes());
    }

    /// Adds an [`Element::Int8`] or NULL.
    pub fn push_optional_int8(&mut self, number: Option<i64>) {
        match number {
            Some(number) => self.push_int8(number),
            None => self.push_null(),
        }
    }

    /// Adds an [`Element::Text`] or NULL.
    pub fn push_optional_text(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.push(text.as_bytes()),
            None => self.push_null(),
        }
    }

    /// Adds NULL.
    pub fn push_null(&mut self) {
        self.count += 1;
        self.nulls += 1;
        self.elements.extend_from_slice(&(-1_i32).to_be_bytes());
    }

    /// Adds the element that `write` appends to the buffer.
    pub fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.count += 1;
        // The length comes first, but is known only after `write`.
        let length_at = self.elements.len();
        self.elements.extend_from_slice(&[0; 4]);
        write(&mut self.elements);
        // If the cast wraps, the append fails: an element is shorter than 4 GiB, and the server
        // refuses a parameter that is longer than 1 GiB.
        let length = (self.elements.len() - length_at - 4) as i32;
        self.elements[length_at..length_at + 4].copy_from_slice(&length.to_be_bytes());
    }
}

impl Type<Postgres> for Column {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(Oid(Element::Text.oids().1))
    }
}

impl Encode<'_, Postgres> for Column {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        const DIMENSIONS: i32 = 1;
        const HAS_NULLS: i32 = 1;
        const FIRST_SUBSCRIPT: i32 = 1;
        if self.nulls == self.count {
            return Ok(IsNull::Yes);
        }
        buffer.extend_from_slice(&DIMENSIONS.to_be_bytes());
        buffer.extend_from_slice(&HAS_NULLS.to_be_bytes());
        buffer.extend_from_slice(&self.element.oids().0.to_be_bytes());
        buffer.extend_from_slice(&self.count.to_be_bytes());
        buffer.extend_from_slice(&FIRST_SUBSCRIPT.to_be_bytes());
        buffer.extend_from_slice(&self.elements);
        Ok(IsNull::No)
    }

    fn produces(&self) -> Option<PgTypeInfo> {
        Some(PgTypeInfo::with_oid(Oid(self.element.oids().1)))
    }
}
