//! Stores, a server and its clients.

mod events;
mod log;
mod served;

pub(crate) use events::{all, append, condition, error_type, event, query, tagged, with_id};
pub(crate) use log::Log;
pub(crate) use served::Served;
