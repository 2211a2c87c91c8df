//! Installing and verifying the schema, the settings of a store, and closing it.

mod bounds;
mod closing;
mod event_keys;
mod install;
mod keys;
mod logs;
mod names;
mod timeouts;
mod verify;
