//! The PostgreSQL backend.

mod append_statements;
mod crash;
mod encryption;
mod held;
mod hosts;
mod plans;
mod pooled;
mod races;
mod replica;
mod schema;
mod streams;
mod subscription;
mod suite;
mod transaction;
