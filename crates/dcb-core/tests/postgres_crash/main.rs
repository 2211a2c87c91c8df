//! What is left after the server, a client or a connection has died.
//!
//! Killing a process shows nothing about fsync: the operating system keeps what was written. That
//! commits are flushed is told by the settings, in `durability`.

mod client;
mod connection;
mod durability;
mod load;
mod readers;
mod server;
mod silence;
#[path = "../support/mod.rs"]
mod support;

#[test]
#[ignore = "the other tests run it as a process of its own"]
fn worker() {
    support::workers::serve();
}
