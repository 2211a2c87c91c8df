//! Installing and verifying the schema, the settings of a store, and closing it.

mod backup;
mod bounds;
mod closing;
mod event_keys;
mod install;
mod keys;
mod timeouts;
mod verify;
