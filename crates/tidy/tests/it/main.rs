//! The rules of the workspace that no compiler checks.

mod map;
mod prose;
mod results;
