#![doc = include_str!("../README.md")]

mod fault;
mod kind;

pub use fault::Fault;
pub use kind::FaultKind;
