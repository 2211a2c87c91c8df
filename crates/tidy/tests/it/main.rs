//! Checks the workspace's rules that no compiler checks.

mod errors;
mod events;
mod map;
mod packages;
mod results;
