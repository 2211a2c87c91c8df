//! The PostgreSQL backend.

mod crash;
mod plans;
mod pooled;
mod races;
mod replica;
mod schema;
mod subscription;
mod suite;
mod transaction;
