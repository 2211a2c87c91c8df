//! A server of our own: where it lives, who it runs as, how it starts, and what ends it.

pub(crate) mod account;
pub(crate) mod cluster;
pub(crate) mod folder;
pub(crate) mod place;
pub(crate) mod port;
pub(crate) mod postmaster;
pub(crate) mod shared_memory;
pub(crate) mod table;
pub(crate) mod watchdog;
