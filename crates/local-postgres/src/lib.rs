#![doc = include_str!("../README.md")]

#[cfg(not(unix))]
compile_error!("local-postgres runs on Linux and macOS; on Windows, use it inside WSL");

mod certificates;
mod connection;
mod database;
mod error;
mod options;
mod pgbouncer;
mod process;
mod server;
mod session_proxy;
mod shared;
mod source;
mod url;

pub use certificates::Certificates;
pub use connection::{NEWEST_VERSION, OLDEST_VERSION};
pub use database::Database;
pub use error::{Error, Missing};
pub use options::{Durability, Options, Source};
pub use pgbouncer::PgBouncer;
pub use server::LocalPostgres;
pub use session_proxy::SessionProxy;
pub use shared::{shared, shared_with};
