//! Checks the workspace's rules that no compiler checks.

mod map;
mod prose;
mod results;
