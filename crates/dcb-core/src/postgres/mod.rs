//! The log in PostgreSQL: for production, correct with any number of processes.
//!
//! Appends of one process share commits: whoever finds the writer free commits at once, those who
//! arrive meanwhile are the next batch. A batch is one round trip and one durable commit. Each
//! takes an advisory lock of the log and reads the head after it, so positions are contiguous and
//! in commit order whichever process writes; no process keeps any state that correctness needs.
//!
//! Reads use connections of their own and never wait for the writer.

mod append;
mod batch;
mod column;
mod config;
mod counters;
mod error;
mod health;
mod liveness;
mod plan;
mod read;
mod request;
mod row;
mod schema;
mod selection;
mod session;
mod statements;
mod store;
mod stream;
mod text_form;
mod writer;

pub use config::Config;
pub use counters::Stats;
pub use health::Health;
pub use store::PostgresStore;
