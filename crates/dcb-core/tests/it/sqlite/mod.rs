//! The SQLite backend.

mod crash;
mod races;
mod schema;
mod suite;
