#![doc = include_str!("../README.md")]

mod column;
mod failure;
mod pool;
mod schema;
mod server;
mod statement;
mod task;
mod writer_connection;

pub use column::{Column, Element};
pub use failure::{
    Failure, INSUFFICIENT_PRIVILEGE, LOCK_NOT_AVAILABLE, code_and_message, failure,
    violated_constraint,
};
pub use pool::{Lease, Limits, Pool};
pub use schema::{Design, Schema, SchemaError, require_utf8};
pub use server::{BEGIN, Server, Session, deadline_after};
pub use statement::{Bound, execute, in_time, rows};
pub use task::Task;
pub use writer_connection::WriterConnection;
