//! Installing and verifying the schema, the settings of a store, and closing it.

mod bounds;
mod closing;
mod install;
mod keys;
mod timeouts;
mod verify;
