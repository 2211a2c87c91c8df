//! What is left after a process has died, and after a machine has.
//!
//! Killing a process shows nothing about fsync: the operating system keeps what was written. That
//! commits are flushed is told by the settings, in `durability`; what a machine's death can leave
//! of the write-ahead log is made by hand, in `torn`.

#[path = "../postgres_crash/client.rs"]
mod client;
mod durability;
mod processes;
#[path = "../sqlite_support/mod.rs"]
mod support;
mod torn;

#[test]
#[ignore = "the other tests run it as a process of its own"]
fn worker() {
    support::workers::serve();
}
