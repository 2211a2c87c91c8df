//! A server that this crate starts: its folder, its user, its start and its end.

pub(crate) mod account;
pub(crate) mod cluster;
pub(crate) mod folder;
pub(crate) mod place;
pub(crate) mod port;
pub(crate) mod postmaster;
pub(crate) mod shared_memory;
pub(crate) mod table;
pub(crate) mod watchdog;
