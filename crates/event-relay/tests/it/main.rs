//! Relays between real stores, in all four combinations of SQLite and PostgreSQL.

mod concurrent;
mod ids;
mod killed;
mod order;
mod outage;
mod refused;
mod replica;
mod restored;
mod support;

/// The entry point of the processes that other tests start. Without the variable it does nothing.
#[test]
#[ignore = "runs in the processes that other tests start"]
fn worker() {
    killed::serve();
}
