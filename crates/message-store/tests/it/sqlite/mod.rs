//! The SQLite store.

mod busy;
mod columns;
mod crash;
mod durability;
mod events;
mod file;
mod log_length;
mod memory;
mod moved;
mod namespaces;
mod ndjson;
mod payloads;
#[cfg(unix)]
mod read_only;
mod restored;
mod schema;
mod subscriptions;
mod two_processes;
