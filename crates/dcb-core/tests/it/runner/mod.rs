//! Read models. Runners handle each event exactly once, even if processes and servers are killed.

mod catch_up;
mod kept;
pub(crate) mod killed;
mod outage;
mod silent;
pub(crate) mod sqlite;
pub(crate) mod tally;
