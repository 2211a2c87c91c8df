//! An array parameter, encoded element by element in PostgreSQL's binary format:
//!
//! ```text
//! dimensions i32 | has NULLs i32 | element type u32 | count i32 | first subscript i32 | elements
//! element: length i32, -1 for NULL | bytes
//! ```
//!
//! Columns reuse their buffers from batch to batch, so encoding a batch does not allocate.

use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{PgArgumentBuffer, PgTypeInfo};
use sqlx::{Encode, Postgres, Type};

/// The type of a column's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    Int4,
    Int8,
    Text,
    Timestamp,
    Uuid,
}

impl Element {
    /// The object ids of the type and of its array type, from PostgreSQL's `pg_type.dat`.
    const fn oids(self) -> (u32, u32) {
        match self {
            Self::Int4 => (23, 1007),
            Self::Int8 => (20, 1016),
            Self::Text => (25, 1009),
            Self::Timestamp => (1114, 1115),
            Self::Uuid => (2950, 2951),
        }
    }
}

#[derive(Debug)]
pub(super) struct Column {
    element: Element,
    count: i32,
    elements: Vec<u8>,
}

impl Column {
    pub(super) const fn new(element: Element) -> Self {
        Self {
            element,
            count: 0,
            elements: Vec::new(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.count = 0;
        self.elements.clear();
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.count += 1;
        // Messages are far smaller than 2 GiB. The server rejects a longer parameter anyway.
        let length = i32::try_from(bytes.len()).unwrap_or(i32::MAX);
        self.elements.extend_from_slice(&length.to_be_bytes());
        self.elements.extend_from_slice(bytes);
    }

    pub(super) fn push_int4(&mut self, number: i32) {
        self.push(&number.to_be_bytes());
    }

    pub(super) fn push_int8(&mut self, number: i64) {
        self.push(&number.to_be_bytes());
    }

    pub(super) fn push_optional(&mut self, value: Option<&[u8]>) {
        match value {
            Some(bytes) => self.push(bytes),
            None => {
                self.count += 1;
                self.elements.extend_from_slice(&(-1_i32).to_be_bytes());
            }
        }
    }
}

impl Type<Postgres> for Column {
    // Required by the trait, but unused: `produces` gives the actual type.
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(Oid(Element::Text.oids().1))
    }
}

impl Encode<'_, Postgres> for Column {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        const MAY_HAVE_NULLS: i32 = 1;
        const FIRST_SUBSCRIPT: i32 = 1;
        // An empty array has no dimensions, so no count and no subscript follow.
        let dimensions = i32::from(self.count > 0);
        buffer.extend_from_slice(&dimensions.to_be_bytes());
        buffer.extend_from_slice(&MAY_HAVE_NULLS.to_be_bytes());
        buffer.extend_from_slice(&self.element.oids().0.to_be_bytes());
        if self.count > 0 {
            buffer.extend_from_slice(&self.count.to_be_bytes());
            buffer.extend_from_slice(&FIRST_SUBSCRIPT.to_be_bytes());
            buffer.extend_from_slice(&self.elements);
        }
        Ok(IsNull::No)
    }

    fn produces(&self) -> Option<PgTypeInfo> {
        Some(PgTypeInfo::with_oid(Oid(self.element.oids().1)))
    }
}
