//! A store in SQLite from its start to its end: what it installs and checks, the bounds that it
//! keeps, and how it closes.

mod bounds;
mod closing;
mod install;
mod keys;
#[path = "../sqlite_support/mod.rs"]
mod support;
mod timeouts;
mod verify;
