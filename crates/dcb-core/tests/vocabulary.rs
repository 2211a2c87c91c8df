//! What the vocabulary accepts and refuses, and what it makes of it.

#[path = "vocabulary/bounds.rs"]
mod bounds;
#[path = "vocabulary/error_text.rs"]
mod error_text;
#[path = "vocabulary/events.rs"]
mod events;
#[path = "vocabulary/queries.rs"]
mod queries;
