//! Installing and checking the log's schema, what each setting does, and how a store ends.

mod bounds;
mod closing;
mod install;
mod keys;
mod logs;
mod names;
#[path = "../support/mod.rs"]
mod support;
mod timeouts;
mod verify;
