//! Installing and checking the log's schema, what each setting does, and how a store ends.

mod bounds;
mod closing;
mod install;
mod logs;
#[path = "../support/mod.rs"]
mod support;
mod timeouts;
mod verify;
