//! The SQLite store.

mod busy;
mod crash;
mod durability;
mod file;
mod memory;
mod moved;
mod namespaces;
mod ndjson;
mod payloads;
mod restored;
mod schema;
mod subscriptions;
mod two_processes;
