//! Helpers that the tests share.

pub(crate) mod backend;
pub(crate) mod events;
pub(crate) mod postgres;
pub(crate) mod sqlite;
pub(crate) mod tasks;
pub(crate) mod wait;
pub(crate) mod workers;
