//! The integration tests. They are one executable, because every further one takes time to link and
//! starts its own PostgreSQL server.

mod any_store;
mod append_until_known;
mod backends;
mod given_when_then;
mod lone_decision;
mod memory;
mod metrics;
mod ndjson;
mod postgres;
mod projection;
mod restored;
mod runner;
mod slices;
mod sqlite;
mod states_by_key;
mod stored;
mod support;
mod transient;
mod upcasting;
mod vocabulary;

/// The entry point of the child processes that other tests start. Environment variables select the
/// work; without them the test does nothing.
#[test]
#[ignore = "runs in child processes that other tests start"]
fn worker() {
    support::workers::serve();
    runner::killed::serve();
    runner::sqlite::serve();
    slices::ground::serve();
}
