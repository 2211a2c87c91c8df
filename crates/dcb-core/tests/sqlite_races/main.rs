//! What must not happen on SQLite however many processes write to a file, and whatever else is done
//! with it. The conformance suite shows the same for the callers of one store.

mod batches;
mod blocking;
#[path = "../postgres_races/clearing.rs"]
mod clearing;
mod foreign_transactions;
mod indexing;
#[path = "../sqlite_support/mod.rs"]
mod support;
#[path = "../postgres_races/two_processes.rs"]
mod two_processes;

#[test]
#[ignore = "the other tests run it as a process of its own"]
fn worker() {
    support::workers::serve();
}
