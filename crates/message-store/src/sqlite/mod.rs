//! The store in SQLite, in memory or in a file, for blocking and for async callers.
//!
//! A file is in WAL mode, so readers and the writer never wait for each other. Several processes
//! may use one file: each write takes the file's lock before it reads anything.
//!
//! Codemap:
//! - `blocking` implements all operations; `store` calls them from async code.
//! - A write passes `request` (validate, compress), a commit queue, `writer` (one transaction per
//!   batch), `apply` (one request) and `insert` (one row).
//! - `opening` opens a store, and `access` tells how its file can be opened. `columns` checks what is
//!   derived from the messages.
//! - A read passes `readers` (a connection), `place` (the check of the reader's bookmark), `read` (the
//!   query) and `row` (decode).
//! - Only `payload` uses zstd. SQLite's result codes are known to the crate `sqlite-store` alone.
//! - `statements` contains the SQL; its tests check the query plans. `schema` installs and verifies
//!   the files of `schema/message_store/sqlite`.

mod apply;
mod blocking;
mod columns;
mod config;
mod connection;
mod counters;
mod error;
mod import;
mod insert;
mod list;
mod namespaces;
mod one_or_many;
mod open_stores;
mod opening;
mod payload;
mod place;
mod read;
mod request;
mod retention;
mod row;
mod schema;
mod statements;
mod store;
mod transaction;
mod writer;

pub use blocking::BlockingSqliteStore;
pub use columns::{ColumnCheck, check_columns, rebuild_columns};
pub use config::Config;
pub use namespaces::SqliteNamespaces;
pub use sqlite_store::{Durability, FileConfig, Location};
pub use store::SqliteStore;
