#![doc = include_str!("../README.md")]

#[cfg(not(unix))]
compile_error!("local-postgres runs on Linux and macOS; on Windows, use it inside WSL");

mod certificates;
mod connection;
mod database;
mod error;
mod haproxy;
mod options;
mod patroni;
mod pgbouncer;
mod process;
mod server;
mod session_proxy;
mod shared;
mod source;
mod url;
mod wire;

pub use certificates::Certificates;
pub use connection::{NEWEST_VERSION, OLDEST_VERSION};
pub use database::Database;
pub use error::{Error, Missing};
pub use haproxy::HaProxy;
pub use options::{Durability, Options, Source};
pub use patroni::{Member, Patroni};
pub use pgbouncer::PgBouncer;
pub use server::LocalPostgres;
pub use session_proxy::SessionProxy;
pub use shared::{shared, shared_with};
pub use wire::Wire;

/// SQL after which new sessions of the database find the server's queue of notifications full, so that
/// a transaction that notifies fails at its COMMIT. `UPDATE full_queue.state SET usage = 0` empties it.
pub const FULL_NOTIFICATION_QUEUE: &str = include_str!("full_notification_queue.sql");
