//! Installing and verifying the schema, the settings of a store, and closing it.

mod backup;
mod bounds;
mod closing;
mod install;
mod keys;
mod moved;
mod timeouts;
mod verify;
