//! A pool of connections to one PostgreSQL server. It takes connections back without a round trip.
#![doc = include_str!("../README.md")]

mod connect;
mod lease;
mod limits;
mod open;
mod pool;

pub use lease::Lease;
pub use limits::Limits;
pub use pool::Pool;
