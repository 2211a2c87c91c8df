//! The PostgreSQL store, on a real server.

mod clients;
mod conformance;
mod crash;
mod interface;
mod namespaces;
mod order;
mod plans;
mod pooled;
mod replica;
mod schema;
mod sessions;
mod write_until_known;
mod writes;
