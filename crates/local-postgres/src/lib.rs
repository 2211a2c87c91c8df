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

/// SQL that ends the sessions of `pg_stat_activity` that satisfy `condition`, and waits up to 10 s until
/// they are gone. On any supported version: the form of `pg_terminate_backend` that waits came with 14.
pub fn end_sessions(condition: &str) -> String {
    format!(
        "DO $$ DECLARE ended int[]; BEGIN \
           SELECT array_agg(pid) INTO ended FROM pg_stat_activity WHERE {condition}; \
           PERFORM pg_terminate_backend(pid) FROM unnest(ended) pid; \
           FOR i IN 1..1000 LOOP \
             PERFORM pg_stat_clear_snapshot(); \
             EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = ANY (ended)); \
             PERFORM pg_sleep(0.01); \
           END LOOP; \
         END $$"
    )
}
