//! The store in PostgreSQL: the SQL interface of Message DB, and an engine beside it.
//!
//! Services in any language write through the interface's functions while this engine writes to
//! the same tables; each sees the other's messages in one global order.
//!
//! Writes of one process share commits: whoever finds the writer free commits at once, those who
//! arrive meanwhile are the next batch. A batch is one round trip and one durable commit. It takes
//! the locks of its categories, as every SQL writer does, and passes over those that another
//! transaction holds: only the writes that need them wait, on a connection of their own.
//!
//! Reads use connections of their own and never wait for a writer.

mod batch;
mod checkpoint;
mod column;
mod config;
mod connection;
mod counters;
mod error;
mod import;
mod json;
mod listen;
mod listing;
mod namespaces;
mod plan;
mod pools;
mod read;
mod replica;
mod request;
mod retention;
mod row;
mod schema;
mod session;
mod statements;
mod store;
mod write;
mod writer;

pub use config::Config;
pub use namespaces::PostgresNamespaces;
pub use store::PostgresStore;
