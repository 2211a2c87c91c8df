//! The SQLite backend.

mod crash;
mod events;
mod races;
mod schema;
mod suite;
