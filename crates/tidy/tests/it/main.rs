//! Checks the workspace's rules that no compiler checks.

mod errors;
mod events;
mod links;
mod map;
mod packages;
mod results;
