//! The log in SQLite, in a file or in memory: the embedded default, without a server.
//!
//! Appends of one process share commits: whoever finds the writer free commits at once, those who
//! arrive meanwhile are the next batch. A batch is one transaction and one fsync. It is
//! `BEGIN IMMEDIATE`, so that whatever other processes committed to the file before is seen, and
//! reads the head inside: positions are contiguous and in commit order whichever process writes,
//! and no process keeps any state that correctness needs. What is in memory, the keys by which tags of
//! the newest events are found, follows from the file, and is brought up to date before each use.
//!
//! The requests of a batch are decided one after the other inside the transaction. Each sees what
//! those before it wrote, so a batch means what its requests would mean one by one.
//!
//! Reads of a file use connections of their own beside the writer (WAL), and neither waits for the
//! other. A log in memory has one connection, which reads and appends share.
//!
//! # Threads
//!
//! Two faces on one log:
//!
//! - [`blocking::SqliteStore`] works on the caller's thread. A caller that finds the writer free
//!   commits right there: no hop to another thread, which would cost several times the work.
//! - [`SqliteStore`] is async, and never blocks a thread of the runtime on the disk or on the lock
//!   of another process: a batch, a page of a read and every other call to a file is one hop to
//!   tokio's blocking pool. Callers share the hop of a batch as they share its fsync. A log in
//!   memory has nothing to wait for, and works in the calling task.

mod admission;
mod alternatives;
mod background;
pub mod blocking;
mod committer;
mod config;
#[cfg(test)]
mod costs;
mod counters;
mod error;
mod first_match;
mod health;
mod indexing;
mod insert;
mod key_set;
mod keys;
mod log;
mod merge;
mod moment;
mod pages;
mod read;
mod read_model;
mod readers;
mod request;
mod row;
mod scan;
mod schema;
mod session;
mod statements;
mod store;
mod tag_index;
mod tail;
mod text_form;
mod writer;

pub use config::{Config, Synchronous};
pub use counters::Stats;
pub use health::Health;
pub use read_model::{Handler, SqliteReadModel};
pub use rusqlite::Transaction;
pub use store::SqliteStore;
