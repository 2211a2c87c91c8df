#![doc = include_str!("../README.md")]

mod callers;
mod case;
mod effort;
mod greatest;
pub mod held;
mod random;

pub use callers::at_once;
pub use case::{Case, Run, run, runtime};
pub use effort::{EFFORT, effort, effort_up_to, stride};
pub use greatest::assert_greatest;
pub use held::poll_once;
pub use random::Random;
