//! Followers of both stores, and what they must have got.

mod events;
mod kept;
mod messages;
mod seen;

pub(crate) use events::EventFollowers;
pub(crate) use kept::{Positions, kept_positions, runner};
pub(crate) use messages::MessageFollowers;
