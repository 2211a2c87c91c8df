//! The log in PostgreSQL: for production, correct with any number of processes.
//!
//! Appends of one process share commits: whoever finds the writer free commits at once, those who
//! arrive meanwhile are the next batch. A batch is one round trip and one durable commit. Each
//! takes an advisory lock of the log and reads the head after it, so positions are contiguous and
//! in commit order whichever process writes; no process keeps any state that correctness needs.
//!
//! A writer that nothing was in the way of for sixteen batches does not ask for the head: it inserts
//! behind the last event it knows, and the primary key refuses a position that is taken. Then the
//! batch takes a second round trip, and the next sixteen ask.
//!
//! Reads use connections of their own and never wait for the writer. Short ones that have to wait for
//! a connection share a statement on the next.

mod append;
mod batch;
mod checkpoint;
mod column;
mod commands;
mod config;
mod counters;
mod error;
mod health;
mod import_go;
mod line;
mod link;
mod listen;
mod plan;
mod pooled;
mod read;
mod read_model;
mod readers;
mod recent;
mod request;
mod row;
mod schema;
mod selection;
mod session;
mod short_read;
mod statements;
mod store;
mod stream;
mod tag_key;
mod text_form;
mod transaction;
mod writer;

pub use config::Config;
pub use counters::Stats;
pub use health::Health;
pub use import_go::{GoImported, GoLog};
pub use read_model::{Handler, PostgresReadModel};
pub use sqlx::PgConnection;
pub use store::PostgresStore;
pub use tag_key::of as tag_key;
