//! The log: its guarantees by mode, recovery after crashes and damage, and failing disks.

mod damage;
mod events;
mod formats;
mod full_disk;
mod modes;
mod reopen;
mod repair;
