//! The store in SQLite: in memory or in a file, for threads and for async callers.
//!
//! A file is in WAL mode: readers never wait for the writer, nor it for them. Several processes may
//! use one file; each write takes the file's lock first and reads what it builds on under it.

mod apply;
mod backup;
mod blocking;
mod config;
mod connection;
mod counters;
mod error;
mod health;
mod import;
mod insert;
mod list;
mod namespaces;
mod one_or_many;
mod payload;
mod read;
mod readers;
mod request;
mod retention;
mod row;
mod schema;
mod statements;
mod store;
mod transaction;
mod writer;

pub use blocking::BlockingSqliteStore;
pub use config::{Config, Durability, Location};
pub use namespaces::SqliteNamespaces;
pub use store::SqliteStore;
