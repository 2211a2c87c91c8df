//! The event store in PostgreSQL: for production, correct with any number of processes.
//!
//! Appends of one process share commits. A batch of appends takes one round trip and one durable
//! commit. Reads use separate connections and never wait for the writer.
//!
//! # The life of one append
//!
//! 1. `append.rs`: the call checks the events against the limits and makes a request (`request.rs`): it
//!    gives each event an id, and hashes the tags of the events and of the condition (`tag_key.rs`).
//! 2. `group_commit::Queue`: if no commit runs, the caller's task starts the commit of a batch of
//!    one, and a spawned task finishes it. If recent batches had several callers, that task yields
//!    first, so that others can join. During a commit, requests wait in the queue, and all of them
//!    form the next batch.
//! 3. `plan/mod.rs`: a request that conflicts with an earlier one of its batch is deferred. The batch
//!    carries its conditions, but not its events.
//! 4. `parameters.rs`: encodes the batch in columns, in reused buffers. Each condition becomes
//!    probes, one for each type of each item. A probe that `recent_tags/mod.rs` can't settle from memory
//!    is open, and looks up one key, of the tag that is likely the rarest.
//! 5. `writer.rs` sends one of two statements, in one round trip with one fsync.
//!    - `insert.sql` or `insert_by_key.sql` of `schema/dcb/postgres/queries/` (at the root of the
//!      repository), if the last 16 batches met no
//!      other writer: puts the events after the last event that the writer knows, unless an open
//!      probe's key occurs after its position. If it inserts nothing, `dcb.append` follows.
//!    - `append.sql` of `schema/dcb/postgres/functions/` otherwise, and for ids that callers chose, tracked
//!      positions, commands and conditions without tags: takes the log's lock, reads the head,
//!      looks up the open probes' keys, examines the probes whose key occurs (`refusals.sql`), and
//!      inserts the events of the accepted requests from head + 1 on.
//! 6. `plan/mod.rs`: turns the head and the refusals into a verdict on each request: its positions, the
//!    error, "stored" if an id is in the log already, or "again" for a deferred request whose
//!    obstacle was refused. `recent_tags/mod.rs` notes the tags of the appended events. For an INSERT it
//!    does so while the server works, and undoes it if nothing was inserted.
//! 7. `append.rs`: each caller wakes with its verdict. It submits the request again, or compares the
//!    events with the stored ones and gets their positions or `DuplicateId`.
//!
//! If the connection is lost, `postgres_store` fences the old session, and `writer.rs` looks
//! the events up by id.
//!
//! No caller does work that others wait for: a future of the store can be held without being
//! polled. Appends are committed by the queue's task. A read or another call that holds a
//! connection or a lock runs in a task (`postgres_store::Task`).
//!
//! `postgres_store` has what this store shares with other stores: settings, connections, the choice
//! between the primary and its replicas, fencing, and the listener for appends of other processes.
//!
//! A read goes from `selection` and `statements` to `read` or `stream`, and `row` decodes it.
//! `coalesce` joins identical short reads that wait for a connection, and `shared_read` sends several
//! unlike ones in one statement.
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
//! `postgres_store` (fencing), `statements` (the INSERT), `recent_tags`, `tag_key`,
//! `read`, `coalesce`, `shared_read`, `stream`, `read_model` and `readers`.

mod answer;
mod append;
mod checkpoint;
mod coalesce;
mod commands;
mod config;
mod counters;
mod design;
mod error;
mod event_keys;
mod handler_session;
mod import_go;
mod kept_states;
mod parameters;
mod plan;
mod read;
mod read_model;
mod readers;
mod recent_tags;
mod replica;
mod request;
mod row;
mod schema;
mod selection;
mod shared_read;
mod slices;
mod statements;
mod states_by_key;
mod store;
mod stream;
mod tag_key;
mod text_form;
mod transaction;
mod writer;

pub use config::Config;
pub use event_keys::{check_keys, rebuild_keys};
pub use import_go::{GoImported, GoLog};
pub use postgres_store::{ConnectError, ConnectErrorKind, HostError, ServerConfig};
pub use read_model::{Handler, PostgresReadModel};
pub use schema::{check_schema, install_schema, schema_sql};
pub use slices::{Projections, SlicedReadModel};
pub use sqlx::PgConnection;
pub use store::PostgresStore;
pub use tag_key::tag_key;
