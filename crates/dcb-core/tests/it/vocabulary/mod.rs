//! Events, queries, positions and errors, without a store.

mod bounds;
mod conversions;
mod error_text;
mod events;
mod queries;
