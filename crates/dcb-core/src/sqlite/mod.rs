//! An event store in SQLite, in a file or in memory. It is embedded and needs no server.
//!
//! Appends of one process share commits. A caller that finds the writer free commits at once, and the
//! callers that arrive during a commit form the next batch. A batch is one transaction with one fsync.
//!
//! Reads of a file use separate connections in WAL mode, so readers and the writer don't block each
//! other. A log in memory has a single connection, which reads and appends share.
//!
//! # Several processes
//!
//! Several processes may append to one file. Correctness depends only on the file: a batch starts with
//! `BEGIN IMMEDIATE`, which takes SQLite's write lock, and then reads the head. So it sees the commits
//! of all processes, and positions are dense and in commit order. A process keeps the index keys of
//! the newest events in memory. It derives them from the file and brings them up to date before
//! each use. `tests/it/backends/processes.rs` and `tests/it/sqlite/races/foreign_transactions.rs`
//! fail without this.
//!
//! # Threads
//!
//! Two stores work on the same log:
//!
//! - [`BlockingSqliteStore`] works on the caller's thread. A caller that finds the writer free
//!   commits right there. Handing the batch to another thread would cost several times as much.
//! - [`SqliteStore`] is async. A batch is committed in the task that leads it, while commits take less
//!   than a millisecond and wait for no other connection; then the way to another thread and back would
//!   cost nearly as much as the commit. Other commits, each page of a read and each other call are one
//!   task each on tokio's blocking pool. A log in memory never waits, so it works in the calling task.

mod admission;
mod alternatives;
mod background;
mod blocking;
mod committer;
mod config;
#[cfg(test)]
mod costs;
mod counters;
mod decide;
mod error;
mod event_keys;
mod first_match;
mod indexing;
mod insert;
mod kept_states;
mod key_set;
mod keys;
mod late_statement;
mod log;
mod merge;
mod pages;
mod read;
mod read_model;
mod request;
mod row;
mod scan;
mod schema;
mod session;
mod slices;
mod snapshot;
mod statements;
mod states_by_key;
mod store;
mod tag_index;
mod text_form;
mod unindexed_keys;
mod writer;

pub use blocking::{BlockingEventStream, BlockingSqliteStore};
pub use config::Config;
pub use event_keys::{check_keys, rebuild_keys};
pub use read_model::{Handler, SqliteReadModel};
pub use rusqlite::Transaction;
pub use slices::{Projections, SlicedReadModel};
pub use sqlite_store::{Durability, FileConfig, Location};
pub use store::SqliteStore;
