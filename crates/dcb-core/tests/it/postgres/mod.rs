//! The PostgreSQL backend.

mod append_statements;
mod backup;
mod crash;
mod disk_full;
mod events;
mod held;
mod outages;
mod plans;
mod pooled;
mod races;
mod replica;
mod roles;
mod schema;
mod streams;
mod subscription;
mod suite;
mod transaction;
