//! Checks the workspace's rules that no compiler checks.

mod errors;
mod map;
mod prose;
mod results;
