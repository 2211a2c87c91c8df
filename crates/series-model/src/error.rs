/// Why labels or a matcher can't be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LabelError {
    /// A label has an empty name. Name the label.
    #[error("a label has no name")]
    EmptyName,
    /// A label name occurs twice. Give each label once.
    #[error("label {name} occurs twice")]
    Duplicate {
        /// The label's name.
        name: String,
    },
    /// A label's name or value is longer than the limit. Shorten it.
    #[error("label {name} has a name or value of {actual} bytes, the limit is {max}")]
    TooLong {
        /// The label's name, shortened to 64 characters.
        name: String,
        /// The limit, in bytes.
        max: usize,
        /// The length of the name or value, in bytes.
        actual: usize,
    },
    /// A matcher's pattern is not a regular expression, or is too large. Correct it.
    #[error("{pattern} is not a usable regular expression: {reason}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// The reason.
        reason: String,
    },
}
