#![doc = include_str!("../README.md")]

mod fault;
mod reason;

pub use fault::Fault;
pub use reason::Reason;
