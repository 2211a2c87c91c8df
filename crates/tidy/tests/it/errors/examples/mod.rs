//! An error of each variant of each type.

mod events;
mod faults;
mod messages;
mod others;
mod series;

use std::error::Error;
use std::sync::Arc;

use tidy::errors::one_line;

/// An error as a caller meets it.
pub(super) struct Example {
    /// The type's public path.
    pub(super) path: &'static str,
    pub(super) variant: String,
    pub(super) text: String,
    /// The answer of `is_transient`, if the type has it.
    pub(super) is_transient: Option<bool>,
}

impl Example {
    fn new(path: &'static str, error: &impl Error, is_transient: Option<bool>) -> Self {
        // A derived `Debug` begins with the variant's name.
        let debug = format!("{error:?}");
        let end = debug.find(|char: char| !char.is_alphanumeric());
        Self {
            path,
            variant: debug[..end.unwrap_or(debug.len())].to_owned(),
            text: one_line(&error.to_string()),
            is_transient,
        }
    }

    /// The start of the row for this error.
    pub(super) fn row(&self) -> String {
        let kind = match self.is_transient {
            Some(true) => super::YES,
            Some(false) => super::NO,
            None => "?",
        };
        format!("| `{}` | `{}` | {kind} |", self.variant, self.text)
    }
}

/// The errors, in the order of each type's rows.
pub(super) async fn all() -> Vec<Example> {
    let mut all = events::all();
    all.extend(faults::all());
    all.extend(messages::all());
    all.extend(series::all());
    all.extend(others::all().await);
    all
}

/// A text as the source of an error.
fn source(text: &str) -> Arc<dyn Error + Send + Sync> {
    Box::<dyn Error + Send + Sync>::from(text).into()
}
