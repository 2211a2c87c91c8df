//! The SQLite backend.

mod crash;
mod events;
mod log_length;
mod races;
mod schema;
mod suite;
