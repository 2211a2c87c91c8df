//! The event store in PostgreSQL: for production, correct with any number of processes.
//!
//! Appends of one process share commits. A batch of appends takes one round trip and one durable
//! commit. Reads use separate connections and never wait for the writer.
//!
//! # The life of one append
//!
//! 1. `append`, `request`: `EventStore::append_if` checks the events against the limits, gives each
//!    an id, and hashes the tags of the events and of the condition.
//! 2. `group_commit::Queue::submit_until`: if the writer is free, the caller's task commits a batch
//!    of one. If recent batches had several callers, it yields first, so that others can join. If
//!    the writer is busy, the request waits in the queue. When the current commit ends, all waiting
//!    requests form the next batch.
//! 3. `plan`: a request that conflicts with an earlier one of its batch is deferred. The batch
//!    carries its conditions, but not its events.
//! 4. `batch`: `Batch::fill` encodes events, tag keys and the keys of the conditions into array
//!    parameters, in reused buffers. `recent_tags` marks the conditions that it can't settle from
//!    memory as open.
//! 5. `writer`, `writer_connection`, `statements`: one round trip.
//!    - Usually the writer sends `SELECT … FROM dcb.append(…)`. The function takes the log's lock,
//!      reads the head, and checks each open condition with one index descent, by the tag that is
//!      likely the rarest. If that does not settle a condition, the function examines it in detail.
//!      It inserts the accepted events from head + 1 on. The whole batch costs one fsync.
//!    - After 16 uncontended batches in a row the writer sends a plain INSERT instead, which puts
//!      the events behind the last event that the writer knows. If the INSERT fails, the writer
//!      sends `dcb.append` in another round trip, and keeps to `dcb.append` until 16 batches in a
//!      row were uncontended again. While the server runs the INSERT, `recent_tags` notes the new
//!      tags. It removes them again if the INSERT fails.
//! 6. `plan`: `Plan::settle` turns the head and the refusals into a result for each request: its
//!    positions, the first conflicting position, or "submit again" for a deferred request whose
//!    obstacle was refused itself.
//! 7. `append`: each caller wakes with its result. A request with an id that was stored before is
//!    compared with the stored events, and gets their positions or `DuplicateEventId`.
//!
//! A read goes from `selection` and `statements` to `read` or `stream`, and `row` decodes it.
//! `shared_read` lets short reads share a statement when no connection is free.
//!
//! # Invariants
//!
//! Invariants that hold across the modules:
//!
//! - Positions are dense from 1 and in commit order. No SQL sequence assigns them, and there is no
//!   gap, not even a temporary one. `PRIMARY KEY (position)` backs up the lock. Tested by the
//!   conformance suite (`suite.rs`), `processes.rs` and `foreign_transactions.rs`.
//! - `dcb.append` takes the lock before the statement that reads the head, under READ COMMITTED. In
//!   the other order, or in a snapshot older than the lock, it would miss conflicts. Tested by
//!   `isolation.rs` and `processes.rs`.
//! - The process keeps no state that correctness needs. Tested by `processes.rs`.
//!
//! The other invariants are stated where they are kept: in `writer` (lost connections),
//! `writer_connection` (fencing), `statements` (the optimistic append), `recent_tags`, `tag_key`,
//! `read`, `shared_read`, `stream`, `listen`, `read_model` and `readers`.

mod append;
mod batch;
mod checkpoint;
mod column;
mod commands;
mod config;
mod counters;
mod error;
mod import_go;
mod listen;
mod plan;
mod pooled;
mod read;
mod read_model;
mod readers;
mod recent_tags;
mod request;
mod row;
mod schema;
mod selection;
mod session;
mod shared_read;
mod statements;
mod store;
mod stream;
mod tag_key;
mod text_form;
mod transaction;
mod wait_queue;
mod writer;
mod writer_connection;

pub use config::Config;
pub use import_go::{GoImported, GoLog};
pub use read_model::{Handler, PostgresReadModel};
pub use sqlx::PgConnection;
pub use store::PostgresStore;
pub use tag_key::tag_key;
