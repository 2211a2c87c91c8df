//! The state of the log after the server or a connection has died.
//!
//! A killed process loses nothing that it wrote, because the operating system keeps the data, so these
//! tests say nothing about fsync. `durability` checks the settings that make the server flush.

mod connection;
mod durability;
mod load;
mod readers;
mod server;
mod sessions;
mod silence;
