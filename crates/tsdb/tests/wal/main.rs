//! The log: what it keeps, what a crash leaves of it, what it refuses.

#[path = "../support/mod.rs"]
mod support;

mod damage;
mod formats;
mod full_disk;
mod modes;
mod reopen;
