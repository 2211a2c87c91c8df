//! The log: what it keeps, what a crash leaves of it, what it refuses.

mod damage;
mod formats;
mod full_disk;
mod modes;
mod reopen;
