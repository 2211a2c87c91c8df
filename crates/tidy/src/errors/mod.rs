//! The public error types of the crates, and the table of them in `crates/ERRORS.md`.

mod source;
mod table;

pub use source::public_types;
pub use table::{Row, Section, sections};

/// A public error type as its source file declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorType {
    /// The file, relative to the folder of the crates.
    pub file: String,
    /// The name without its module.
    pub name: String,
    /// The variants in order. A struct counts as its only variant.
    pub variants: Vec<Variant>,
}

/// A variant of an error type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The name.
    pub name: String,
    /// The doc comment as one line, without link targets.
    pub doc: String,
}

/// The text with each run of white space as one space.
pub fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}
