/// The problem of a field, and how to correct it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The field is empty. Give it a value.
    #[error("is empty")]
    Empty,
    /// A text has too many characters. Shorten it.
    #[error("has {actual} characters, {max} are allowed")]
    TooLong {
        /// The limit, in characters.
        max: usize,
        /// The length, in characters.
        actual: usize,
    },
    /// The text contains a NUL character, or the JSON contains an escaped one. PostgreSQL can't
    /// store either. Remove it.
    #[error("contains a NUL character")]
    ContainsNul,
    /// A list has too many entries. Give fewer.
    #[error("has {actual} entries, {max} are allowed")]
    TooMany {
        /// The limit.
        max: usize,
        /// The number of entries.
        actual: usize,
    },
    /// A number, or a size in bytes, is too large. Give a smaller one.
    #[error("is {actual}, at most {max} is allowed")]
    TooLarge {
        /// The limit.
        max: u64,
        /// The value.
        actual: u64,
    },
    /// A number is too small. Give a greater one.
    #[error("is {actual}, at least {min} is required")]
    TooSmall {
        /// The limit.
        min: i64,
        /// The value.
        actual: i64,
    },
    /// The JSON contains a number that PostgreSQL can't store. SQLite stores it, so a store that has
    /// such a message can't move to PostgreSQL. Give a number with fewer digits.
    #[error(
        "contains a number with more than 131,072 digits before or 16,383 digits after the decimal point"
    )]
    TooManyDigits,
    /// A list contains an entry twice, or a key that must be unique. Give it once.
    #[error("contains {key} twice")]
    Duplicate {
        /// The repeated entry, or its key.
        key: String,
    },
    /// The text does not have the expected form. Give it the form that the reason names.
    #[error("is malformed: {reason}")]
    Malformed {
        /// The expected form, or the parser's message.
        reason: String,
    },
}

impl Problem {
    /// A [`Problem::Malformed`] with this reason.
    pub fn malformed(reason: impl Into<String>) -> Self {
        Self::Malformed {
            reason: reason.into(),
        }
    }
}
