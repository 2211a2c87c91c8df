#![doc = include_str!("../README.md")]

mod effort;

pub use effort::{EFFORT, effort, effort_up_to, stride};
