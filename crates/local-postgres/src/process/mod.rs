//! A server that this crate starts: its folder, user, port and processes.

pub(crate) mod account;
pub(crate) mod cluster;
pub(crate) mod folder;
pub(crate) mod place;
pub(crate) mod port;
pub(crate) mod postmaster;
pub(crate) mod shared_memory;
pub(crate) mod supervised;
pub(crate) mod table;
pub(crate) mod watchdog;
