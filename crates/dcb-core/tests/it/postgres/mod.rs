//! The PostgreSQL backend.

mod append_statements;
mod crash;
mod plans;
mod pooled;
mod races;
mod replica;
mod schema;
mod subscription;
mod suite;
mod transaction;
