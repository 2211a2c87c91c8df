//! The SQLite store.

mod backup;
mod columns;
mod crash;
mod file;
mod limits;
mod memory;
mod namespaces;
mod ndjson;
mod payloads;
mod restored;
mod schema;
mod subscriptions;
mod two_processes;
