//! Sliced projections: each event once and in the order of its key, however members come, go and die.

mod failing;
mod fenced;
pub(crate) mod ground;
mod idle;
mod keys;
mod killed;
mod leaving;
mod members;
mod metrics;
mod postgres;
mod resized;
mod sqlite;
mod taken_over;
mod versions;
