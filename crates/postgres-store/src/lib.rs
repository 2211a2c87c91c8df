#![doc = include_str!("../README.md")]

mod backend;
mod channel;
mod column;
mod config;
mod connect;
mod connect_error;
mod encryption;
mod failure;
mod hearing;
mod hosts;
mod limiter;
mod listener;
mod listening;
mod lock_wait;
mod losses;
mod pool;
mod readers;
mod replicas;
mod routed;
mod schema;
mod server;
mod sign_of_life;
mod statement;
mod store_error;
mod task;
mod turns;
mod watch;
mod writer_connection;
mod writing;

pub use channel::Channel;
pub use column::{Column, Element};
pub use config::{HEALTH_LIMIT, ServerConfig, Servers};
pub use connect::connect;
pub use connect_error::{ConnectError, ConnectErrorKind, HostError, connect_error};
pub use failure::{
    Failure, INSUFFICIENT_PRIVILEGE, code_and_message, failure, fault, violated_constraint,
};
pub use hosts::{Hosts, url_of_writable_host};
pub use listener::Listener;
pub use listening::{Heard, ListeningSession};
pub use pool::{Lease, Limits, Pool, Process};
pub use readers::Readers;
pub use replicas::{Replica, Replicas, Watching};
pub use routed::{Progress, Reads, Routed, answer};
pub use schema::{Design, Schema, SchemaError, explain_denial, require_utf8};
pub use server::{BEGIN, Server, SessionSettings, send_before};
pub use statement::{Bound, deadline_after, execute, in_time, rows};
pub use store_error::StoreError;
pub use task::{Task, close, in_task, to_its_end};
pub use watch::Watch;
pub use writer_connection::WriterConnection;
pub use writing::{Writes, Writing};
