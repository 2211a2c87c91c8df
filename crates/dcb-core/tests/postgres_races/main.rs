//! What must not happen on PostgreSQL however many processes write, and whatever else the server
//! does. The conformance suite shows the same for the callers of one store.

mod batches;
mod clearing;
mod foreign_transactions;
mod isolation;
mod optimistic;
mod recent;
mod short_ranges;
mod short_reads;
#[path = "../support/mod.rs"]
mod support;
mod two_processes;

#[test]
#[ignore = "the other tests run it as a process of its own"]
fn worker() {
    support::workers::serve();
}
